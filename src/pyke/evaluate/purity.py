"""Purity of clusters by the paper's formula, in linear time.

Σ over x, y ∈ ζ of cos(type(x), type(y)) = ‖Σ over x ∈ ζ of type(x)/‖type(x)‖‖²: the sum over all
pairs of a cluster ζ needs only the sum over its members.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.use.clusters.hdbscan import NOISE, Clustering
from pyke.use.types.votes import TypeTable


@dataclass(frozen=True)
class Purity:
    """Purity of a clustering.

    The purity of a cluster is the mean cosine between the types of its members, over all pairs.
    The paper's formula is a sum over clusters. Its published code takes the mean, and counts
    noise as a cluster. This mean is high even if almost all points are noise and a few small
    clusters are pure; the mean weighted by size is not.
    """

    mean: float  # over clusters, with noise as one cluster: the published code
    mean_without_noise: float
    weighted: float  # by size, with noise as one cluster
    weighted_without_noise: float
    clusters: int
    noise: float  # fraction of the points that are in no cluster
    exact: bool

    @property
    def total(self) -> float:
        """The paper's formula: a sum, which can exceed 1."""
        return self.mean * (self.clusters + (self.noise > 0))


def cluster_purities(labels: Ids, table: TypeTable) -> tuple[Ids, NDArray[np.float64]]:
    """The sizes of the clusters and their purities. Noise comes first, if there is any."""
    counts = np.diff(table.offsets)
    cluster, sizes = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    classes = max(1, len(table.class_ids))
    keys = np.repeat(cluster.astype(np.int64), counts) * classes + table.classes
    cells, cell = np.unique(keys, return_inverse=True)
    sums = np.bincount(
        cell, weights=np.repeat(1 / np.sqrt(np.maximum(1, counts)), counts), minlength=len(cells)
    )
    squares = np.bincount(cells // classes, weights=sums**2, minlength=len(sizes))
    return sizes.astype(np.int32), squares / sizes.astype(np.float64) ** 2


def purity(clustering: Clustering, table: TypeTable) -> Purity:
    """Purity of a clustering of the subjects in a table of types."""
    sizes, purities = cluster_purities(clustering.labels, table)
    has_noise = bool((clustering.labels == NOISE).any())
    inner_sizes, inner = (sizes[1:], purities[1:]) if has_noise else (sizes, purities)
    return Purity(
        mean=float(purities.mean()),
        mean_without_noise=float(inner.mean()) if len(inner) else 0.0,
        weighted=float(np.average(purities, weights=sizes)),
        weighted_without_noise=float(np.average(inner, weights=inner_sizes)) if len(inner) else 0.0,
        clusters=clustering.clusters,
        noise=float((clustering.labels == NOISE).mean()),
        exact=clustering.exact,
    )
