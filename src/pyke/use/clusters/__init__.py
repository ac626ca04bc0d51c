"""Clusters of an embedding.

`hdbscan.py` finds dense groups of points. `describe.py` makes the table of clusters, with the
classes and contexts that `traits.py` finds in common.
"""

from __future__ import annotations


def warm_up() -> None:
    """Compile the kernels of clustering, which takes some seconds, by clustering a few points."""
    from pyke.use.clusters.hdbscan import warm_up

    warm_up()
