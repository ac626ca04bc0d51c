"""HDBSCAN: points → clusters.

1. A minimum spanning tree under mutual reachability: of all edges (exact), or of the edges to the
   nearest neighbours (approximate, for many points).
2. The hierarchy of clusters in this tree, from which the most stable clusters are selected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats, Ids
from pyke.core.progress import Progress
from pyke.errors import UsageError
from pyke.use.clusters import _kernels
from pyke.use.neighbours.search import nearest_of_many

NOISE = -1
ROWS_AT_ONCE = 1 << 14
EDGES_AT_ONCE = 1_000  # edges between two reports of progress
MAX_EXACT = 200_000  # points: the work grows with their square


@dataclass(frozen=True)
class Clustering:
    """labels[i] is the cluster of point i, counted from 0, or NOISE."""

    labels: Ids
    exact: bool

    @property
    def clusters(self) -> int:
        """Number of clusters, without noise."""
        return int(self.labels.max(initial=NOISE)) + 1


class SpanningTree(NamedTuple):
    """The n − 1 edges of a tree over n points, with their lengths."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    distances: NDArray[np.float64]


def hdbscan(
    points: Floats,
    min_cluster_size: int = 26,
    min_samples: int = 29,
    *,
    exact: bool | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Clustering:
    """Cluster points by density. The defaults are those of the code published with the paper.

    Parameters
    ----------
    points
        Array of shape (points, dimensions).
    min_cluster_size
        Minimum number of points in a cluster, at least 2.
    min_samples
        The core distance of a point is the distance to its `min_samples`-th neighbour. The point
        itself is the first, as in scikit-learn.
    exact
        True or False; by default clusters are exact for up to 200,000 points.
    threads
        Number of threads. The result does not depend on it.
    progress
        Receives progress reports.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.repeat(np.eye(2, dtype=np.float32), 40, axis=0)
    >>> hdbscan(points).clusters
    2
    """
    if min_cluster_size < 2:
        raise UsageError(f"`min_cluster_size` is {min_cluster_size}; it must be at least 2")
    if min_samples < 1:
        raise UsageError(f"`min_samples` is {min_samples}; it must be at least 1")
    if len(points) <= max(min_cluster_size, min_samples):  # too few for one cluster
        return Clustering(np.full(len(points), NOISE, np.int32), True)
    exact = len(points) <= MAX_EXACT if exact is None else exact
    points = np.ascontiguousarray(points, np.float32)
    find_tree = exact_tree if exact else neighbour_tree
    tree = find_tree(points, min_samples, threads, progress or Progress())
    return Clustering(clusters_of_tree(tree, min_cluster_size), exact)


def exact_tree(points: Floats, min_samples: int, threads: int, progress: Progress) -> SpanningTree:
    """Minimum spanning tree of all edges under mutual reachability."""
    n = len(points)
    progress.stage("neighbours", n, "terms")
    found = nearest_of_many(
        points,
        points,
        max(1, min_samples - 1),
        np.arange(n),
        exact=True,
        threads=threads,
        progress=progress,
    )
    growth = _kernels.Growth(
        points=points.T.copy(),
        core=_core_squares(found.squares, min_samples),
        names=np.arange(n),
        best=np.full(n, np.inf, np.float32),
        source=np.zeros(n, np.int64),
        state=np.array([n, 0]),
    )
    progress.stage("clusters", n - 1, "edges")
    edges = _empty_edges(n - 1)
    for begin in range(0, n - 1, EDGES_AT_ONCE):
        progress.advance(begin)
        _kernels.grow_tree(growth, begin, min(begin + EDGES_AT_ONCE, n - 1), *edges)
    return _tree(*edges)


def neighbour_tree(
    points: Floats, min_samples: int, threads: int, progress: Progress
) -> SpanningTree:
    """Minimum spanning tree of the edges to the 2 · `min_samples` nearest neighbours.

    Parts that no edge connects are joined by edges of infinite length.
    """
    n = len(points)
    k = min(2 * min_samples, n - 1)
    progress.stage("neighbours", n, "terms")
    found = nearest_of_many(points, points, k, np.arange(n), threads=threads, progress=progress)
    progress.stage("clusters")
    core, ids, squares = _core_squares(found.squares, min_samples), found.ids, found.squares
    for begin in range(0, n, ROWS_AT_ONCE):
        rows = slice(begin, begin + ROWS_AT_ONCE)
        reach = np.maximum(core[rows, None], core[ids[rows]])
        np.maximum(squares[rows], reach, out=squares[rows])
    edges = _empty_edges(n - 1)
    _kernels.spanning_forest(ids, squares, np.argsort(squares, axis=None, kind="stable"), *edges)
    return _tree(*edges)


def _core_squares(squares: Floats, min_samples: int) -> Floats:
    """Squared core distance of each point."""
    if min_samples == 1:
        return np.zeros(len(squares), np.float32)
    return np.ascontiguousarray(squares[:, min_samples - 2])


def _empty_edges(size: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    return np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.float32)


def _tree(left: NDArray[np.int64], right: NDArray[np.int64], squares: Floats) -> SpanningTree:
    return SpanningTree(left, right, np.sqrt(squares.astype(np.float64)))


def clusters_of_tree(tree: SpanningTree, min_cluster_size: int) -> Ids:
    """Spanning tree → hierarchy → tree of clusters → the cluster of each point."""
    order = np.lexsort((tree.right, tree.left, tree.distances))
    points, nodes = len(order) + 1, 2 * len(order) + 1
    children, sizes = np.empty((points - 1, 2), np.int64), np.empty(nodes, np.int64)
    _kernels.link_points(tree.left[order], tree.right[order], children, sizes)

    hierarchy = _kernels.Hierarchy(children, tree.distances[order], sizes)
    cluster_of, parents = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    scores = np.empty(nodes, np.float32)
    clusters = _kernels.condense(hierarchy, min_cluster_size, cluster_of, parents, scores)

    labels = np.empty(clusters, np.int64)
    _kernels.select_clusters(parents[:clusters], scores[:clusters], labels)
    return np.append(labels, NOISE)[cluster_of[:points]].astype(np.int32)
