"""Nearest neighbours of points: `search.py`."""
