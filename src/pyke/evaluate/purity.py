"""How pure clusters are: the paper's formula, in linear time.

Σ over x, y ∈ ζ of cos(type(x), type(y)) = ‖Σ over x ∈ ζ of type(x)/‖type(x)‖‖², so no pair is ever looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyke.core.arrays import Ids
from pyke.use.clusters.hdbscan import NOISE, Clustering
from pyke.use.types.votes import TypeTable


@dataclass(frozen=True)
class Purity:
    """The purity of a cluster is the mean cosine between the types of its members, over all pairs.

    The paper's formula is a sum over clusters, without 1/L; its published code takes the mean and counts noise as a cluster. The mean
    rewards a clustering that leaves nearly all in one heap of noise beside a few small clusters: size-weighted, it does not.
    """

    mean: float  # over clusters, noise counted as one: the published code
    mean_without_noise: float
    weighted: float  # by size, noise counted as one
    weighted_without_noise: float
    clusters: int
    noise: float  # the part of the points in no cluster
    exact: bool

    @property
    def total(self) -> float:
        """The formula as printed: a sum, which can exceed 1."""
        return self.mean * (self.clusters + (self.noise > 0))


def each_purity(
    labels: Ids, table: TypeTable
) -> tuple[Ids, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """The sizes of the clusters, noise first if there is any, and the purity of each."""
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
    """The purity of a clustering of the subjects in a table of types."""
    sizes, each = each_purity(clustering.labels, table)
    has_noise = bool((clustering.labels == NOISE).any())
    inner_sizes, inner = (sizes[1:], each[1:]) if has_noise else (sizes, each)
    return Purity(
        mean=float(each.mean()),
        mean_without_noise=float(inner.mean()) if len(inner) else 0.0,
        weighted=float(np.average(each, weights=sizes)),
        weighted_without_noise=float(np.average(inner, weights=inner_sizes)) if len(inner) else 0.0,
        clusters=clustering.clusters,
        noise=float((clustering.labels == NOISE).mean()),
        exact=clustering.exact,
    )
