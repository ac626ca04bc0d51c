"""HDBSCAN: points → clusters. Exact among few points; among many by a graph of nearest neighbours, and said to be approximate."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

import numpy as np

from pyke.core.arrays import Floats, Ids
from pyke.core.progress import Progress
from pyke.errors import MissingLibrary, UsageError
from pyke.use.clusters import _kernels
from pyke.use.neighbours.search import nearest_of_many

NOISE = -1
EDGES_AT_ONCE = 1_000  # of the tree, between two looks at signals
EXACT_UP_TO = 200_000  # points: the work grows with their square


@dataclass(frozen=True)
class Clustering:
    """labels[i] is the cluster of point i, from 0, or NOISE."""

    labels: Ids
    exact: bool

    @property
    def clusters(self) -> int:
        """How many there are, noise not counted."""
        return int(self.labels.max(initial=NOISE)) + 1


def hdbscan(
    points: Floats,
    min_cluster_size: int = 26,
    min_samples: int = 29,
    *,
    exact: bool | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Clustering:
    """Clusters by density; the defaults are those of the paper's published code.

    The core distance of a point is that to its min_samples-th neighbour, the point itself being the first, as in scikit-learn.
    """
    if min_cluster_size < 2 or min_samples < 1:
        raise UsageError(
            f"min_cluster_size is {min_cluster_size} and min_samples {min_samples}; they must be at least 2 and 1"
        )
    if len(points) <= max(min_cluster_size, min_samples):  # too few for a single cluster
        return Clustering(np.full(len(points), NOISE, np.int32), True)
    if importlib.util.find_spec("fast_hdbscan") is None:  # before the long part
        raise _no_library()
    exact = len(points) <= EXACT_UP_TO if exact is None else exact
    points = np.ascontiguousarray(points, np.float32)
    tree = _exact_tree if exact else _neighbour_tree
    return Clustering(
        _labels(tree(points, min_samples, threads, progress or Progress()), min_cluster_size), exact
    )


def _core_squares(squares: Floats, min_samples: int) -> Floats:
    return (
        np.zeros(len(squares), np.float32)
        if min_samples == 1
        else np.ascontiguousarray(squares[:, min_samples - 2])
    )


def _exact_tree(points: Floats, min_samples: int, threads: int, progress: Progress) -> Floats:
    """The least spanning tree under mutual reachability: rows (point, point, distance)."""
    found = nearest_of_many(
        points,
        points,
        max(1, min_samples - 1),
        np.arange(len(points)),
        exact=True,
        threads=threads,
        progress=progress,
    )
    n = len(points)
    left, right, weights = (
        np.empty(n - 1, np.int64),
        np.empty(n - 1, np.int64),
        np.empty(n - 1, np.float32),
    )
    growth = _kernels.Growth(
        points.T.copy(),
        _core_squares(found.squares, min_samples),
        np.arange(n),
        np.full(n, np.inf, np.float32),
        np.zeros(n, np.int64),
        np.array([n, 0]),
    )
    for begin in range(0, n - 1, EDGES_AT_ONCE):
        progress.advance(begin)
        _kernels.grow_tree(growth, begin, min(begin + EDGES_AT_ONCE, n - 1), left, right, weights)
    return np.column_stack([left, right, np.sqrt(weights.astype(np.float64))])


def _neighbour_tree(points: Floats, min_samples: int, threads: int, progress: Progress) -> Floats:
    """The same over the edges to nearest neighbours only; parts that no edge joins are joined at an infinite distance."""
    reach = min(2 * min_samples, len(points) - 1)
    found = nearest_of_many(
        points, points, reach, np.arange(len(points)), threads=threads, progress=progress
    )
    core = _core_squares(found.squares, min_samples)
    near, far = np.repeat(np.arange(len(points)), reach), found.ids.ravel().astype(np.int64)
    weights = np.maximum(found.squares.ravel(), np.maximum(core[near], core[far]))
    order = np.argsort(weights, kind="stable")
    left, right = np.empty(len(points) - 1, np.int64), np.empty(len(points) - 1, np.int64)
    joined = np.empty(len(points) - 1, np.float32)
    _kernels.spanning_forest(near[order], far[order], weights[order], left, right, joined)
    return np.column_stack([left, right, np.sqrt(joined.astype(np.float64))])


def _labels(tree: Floats, min_cluster_size: int) -> Ids:
    """Spanning tree → condensed tree → clusters by excess of mass."""
    try:
        from fast_hdbscan.hdbscan import clusters_from_spanning_tree
    except ImportError:
        raise _no_library() from None
    labels: Ids = np.asarray(
        clusters_from_spanning_tree(tree, min_cluster_size=min_cluster_size)[0], np.int32
    )
    return labels


def _no_library() -> MissingLibrary:
    return MissingLibrary("fast_hdbscan", "clustering", "evaluate")
