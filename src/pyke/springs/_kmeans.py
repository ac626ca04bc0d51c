"""Compiled loops of k-means: assign points to centroids, move centroids to the mean of theirs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import float_kernel, kernel


@float_kernel
def nearest_centroids(
    points: NDArray[np.float32],
    centroids: NDArray[np.float32],
    squares: NDArray[np.float32],
    begin: int,
    end: int,
    out: NDArray[np.int32],
) -> None:
    """float32 points (n, d), centroids (d, k), squares |c|² → int32 out[begin:end]: the nearest.

    It minimises |c|² − 2 x·c = |x − c|² − |x|². The smaller number wins ties.
    """
    distances = np.empty(centroids.shape[1], np.float32)
    for x in range(begin, end):
        for c in range(centroids.shape[1]):
            distances[c] = squares[c]
        for i in range(centroids.shape[0]):
            factor = np.float32(-2) * points[x, i]
            for c in range(centroids.shape[1]):
                distances[c] += factor * centroids[i, c]
        out[x] = np.argmin(distances)


@kernel
def move_to_means(
    points: NDArray[np.float32], clusters: NDArray[np.int32], out: NDArray[np.float32]
) -> None:
    """float32 points (n, d) → out (k, d): the mean of each cluster; one without points stays."""
    sums, sizes = np.zeros(out.shape, np.float64), np.zeros(out.shape[0], np.int64)
    for x in range(points.shape[0]):
        sizes[clusters[x]] += 1
        for i in range(out.shape[1]):
            sums[clusters[x], i] += points[x, i]
    for c in range(out.shape[0]):
        for i in range(out.shape[1]):
            if sizes[c] > 0:
                out[c, i] = sums[c, i] / sizes[c]
