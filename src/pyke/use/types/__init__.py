"""Predict missing types, with a measured confidence and an explanation."""
