"""k-means of many points: centroids from a random sample, then one pass over all points.

The time is linear in the points. Each point is assigned on its own and the sample is summed in its
order, so the number of threads cannot change a bit.
"""

from __future__ import annotations

import numpy as np

from pyke.core import random
from pyke.core.arrays import Floats, Ids
from pyke.core.parallel import parallel_for
from pyke.springs import _kmeans

SAMPLE_PER_CLUSTER = 64  # points to learn the centroids from
ROUNDS = 5


def clusters_of(points: Floats, number: int, seed: int, threads: int) -> Ids:
    """Cluster of each point, 0 … number − 1; fewer clusters if there are fewer points."""
    return nearest_centroids(points, find_centroids(points, number, seed, threads), threads)


def find_centroids(points: Floats, number: int, seed: int, threads: int) -> Floats:
    """Centroids (number, dimensions): Lloyd's algorithm on a random sample of the points."""
    keys = np.empty(len(points), np.uint64)
    rows = np.arange(len(points), dtype=np.int32)
    random.random_keys(np.uint64(seed), random.CENTROID, 0, rows, keys)
    order = np.argsort(keys, kind="stable")[: SAMPLE_PER_CLUSTER * number]
    sample = np.ascontiguousarray(points[order])
    centroids = sample[:number].copy()
    for _ in range(ROUNDS):
        nearest = nearest_centroids(sample, centroids, threads)
        _kmeans.move_to_means(sample, nearest, centroids)
    return centroids


def means(points: Floats, clusters: Ids, number: int) -> Floats:
    """The mean of the points of each cluster, 0 … number − 1; 0 for one without points."""
    centroids = np.zeros((number, points.shape[1]), np.float32)
    _kmeans.move_to_means(points, clusters, centroids)
    return centroids


def nearest_centroids(points: Floats, centroids: Floats, threads: int) -> Ids:
    """The nearest centroid of each point; the smaller number wins ties."""
    transposed = np.ascontiguousarray(centroids.T)
    squares = np.square(centroids).sum(axis=1, dtype=np.float32)
    nearest = np.empty(len(points), np.int32)
    parallel_for(
        threads,
        len(points),
        lambda begin, end: _kmeans.nearest_centroids(
            points, transposed, squares, begin, end, nearest
        ),
    )
    return nearest
