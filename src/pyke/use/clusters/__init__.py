"""Clusters of an embedding.

`hdbscan.py` finds dense groups of points. `describe.py` makes the table of clusters, with the
classes and contexts that `traits.py` finds in common.
"""
