"""Density-based clusters and their descriptions."""
