"""Clusters of an embedding with a description: size, classes, exemplar, and a name.

The name says what members have in common and other terms do not: a class, and a context such as
`livesIn Oslo` (the members live in Oslo) or `← hasStreet Oslo` (they are streets of Oslo).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from pyke.config import thread_count
from pyke.core.arrays import Ids
from pyke.core.notebook import html_table
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import DataError
from pyke.use.clusters.hdbscan import NOISE, Clustering, hdbscan
from pyke.use.clusters.traits import (
    MAX_TYPES,
    MIN_COMMON_SHARE,
    Counts,
    Trait,
    context_traits,
    short,
    type_traits,
)

ROWS_AT_ONCE = 1 << 16
SHOWN = 20  # clusters in a notebook


@dataclass(frozen=True)
class Cluster:
    """A cluster with its description."""

    number: int
    name: str  # unique in a table
    size: int
    types: tuple[Trait, ...]  # the most frequent classes
    context: Trait | None  # the most specific context
    exemplar: str  # the member nearest to the mean of all members


@dataclass(frozen=True, eq=False)
class ClusterTable:
    """Clusters by descending size; labels[i] is the cluster of the term ids[i], −1 for noise.

    Examples
    --------
    >>> import pyke
    >>> pyke.embed("examples/father.ttl", dimensions=10).clusters(2, 2, typed=True).noise >= 0
    True
    """

    ids: Ids
    labels: Ids
    clusters: Sequence[Cluster]
    exact: bool

    @property
    def noise(self) -> int:
        """Number of terms that are in no cluster."""
        return int((self.labels == NOISE).sum())

    def __repr__(self) -> str:
        return (
            f"<ClusterTable: {len(self.clusters):,} {'' if self.exact else 'approximate '}clusters "
            f"of {len(self.ids):,} terms, {self.noise:,} of them noise>"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the largest clusters."""
        rows = [
            (
                one.number,
                f"{one.size:,}",
                one.name,
                ", ".join(f"{trait.text} {trait.share:.0%}" for trait in one.types),
                f"{one.context.text} {one.context.share:.0%}" if one.context else "",
                one.exemplar,
            )
            for one in self.clusters[:SHOWN]
        ]
        headers = ["cluster", "size", "name", "types", "context", "exemplar"]
        return html_table(headers, rows, title=repr(self), more=len(self.clusters) - SHOWN)


def cluster(
    embedding: Embedding,
    min_cluster_size: int = 26,
    min_samples: int = 29,
    *,
    typed: bool = False,
    exact: bool | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> ClusterTable:
    """Cluster the entities of an embedding (neither predicates nor classes) with HDBSCAN.

    Parameters
    ----------
    embedding
        The embedding, with its graph.
    min_cluster_size
        Minimum number of members of a cluster, at least 2.
    min_samples
        Number of neighbours that determine the density around a term. A larger number gives more
        noise.
    typed
        Cluster only entities that have a type.
    exact
        True or False; by default clusters are exact for up to 200,000 terms.
    threads
        Number of threads; by default all cores. The result does not depend on it.
    progress
        Receives progress reports.

    Examples
    --------
    >>> import pyke
    >>> e = pyke.embed("examples/father.ttl", dimensions=10)
    >>> cluster(e)  # six people are too few for a cluster of 26
    <ClusterTable: 0 clusters of 6 terms, 6 of them noise>
    """
    progress = progress or Progress()
    ids = embedding.entities
    if typed:
        ids = np.intersect1d(ids, embedding.types[:, 0])
    if len(ids) == 0:
        kind = "typed entities" if typed else "entities"
        raise DataError(f"there are no {kind} to cluster; predicates and classes are not clustered")
    found = hdbscan(
        embedding.vectors[ids],
        min_cluster_size,
        min_samples,
        exact=exact,
        threads=thread_count(threads),
        progress=progress,
    )
    return describe(embedding, ids, found)


def describe(embedding: Embedding, ids: Ids, found: Clustering) -> ClusterTable:
    """Describe clusters of the terms `ids`."""
    labels, sizes = _by_size(found.labels)
    # One more entry for literals. Terms that were not clustered are not noise.
    cluster_of = np.full(len(embedding) + 1, NOISE - 1, np.int32)
    cluster_of[ids] = labels
    types = type_traits(embedding, cluster_of, sizes)
    contexts = context_traits(embedding, cluster_of, sizes)
    exemplars = ids[_exemplars(embedding, ids, labels, len(sizes) - 1)].tolist()
    readable = embedding.lookup().title
    names = _unique(
        [_name(*traits) for traits in zip(types, contexts, strict=True)],
        [short(readable(term)) for term in exemplars],
    )
    clusters = [
        Cluster(
            number,
            name,
            int(sizes[number]),
            tuple(sorted(types[number], key=lambda trait: -trait.share)[:MAX_TYPES]),
            contexts[number],
            embedding.terms[exemplars[number]],
        )
        for number, name in enumerate(names)
    ]
    return ClusterTable(ids, labels, clusters, found.exact)


def _by_size(labels: Ids) -> tuple[Ids, Counts]:
    """Labels renumbered by descending size, ties by first member; and the sizes, noise last."""
    numbers, first, sizes = np.unique(
        labels[labels != NOISE], return_index=True, return_counts=True
    )
    order = np.lexsort((first, -sizes))
    new = np.full(len(numbers) + 1, NOISE, np.int32)
    new[numbers[order]] = np.arange(len(numbers), dtype=np.int32)
    return new[labels], np.append(sizes[order], (labels == NOISE).sum())


def _exemplars(embedding: Embedding, ids: Ids, labels: Ids, clusters: int) -> NDArray[np.int64]:
    """Row of the member nearest to the mean of each cluster, ties by id."""
    if not clusters:
        return np.zeros(0, np.int64)
    inside = np.flatnonzero(labels != NOISE)
    members, cluster = ids[inside], labels[inside]
    sizes = np.bincount(cluster, minlength=clusters)
    sums = [
        np.bincount(cluster, weights=embedding.vectors[members, dimension], minlength=clusters)
        for dimension in range(embedding.vectors.shape[1])
    ]
    means = (np.array(sums) / sizes).T
    squares = np.empty(len(members))
    for begin in range(0, len(members), ROWS_AT_ONCE):
        part = slice(begin, begin + ROWS_AT_ONCE)
        squares[part] = ((embedding.vectors[members[part]] - means[cluster[part]]) ** 2).sum(axis=1)
    order = np.lexsort((squares, cluster))
    first_of_cluster = np.append(0, np.cumsum(sizes)[:-1])
    rows: NDArray[np.int64] = inside[order[first_of_cluster]]
    return rows


def _name(types: Sequence[Trait], context: Trait | None) -> str:
    """A class that most members have, and a context, as far as the cluster has them."""
    parts = []
    if types and types[0].share > MIN_COMMON_SHARE:
        parts.append(types[0].text)
    if context:
        parts.append(context.text)
    return " · ".join(parts)


def _unique(names: Sequence[str], exemplars: Sequence[str]) -> list[str]:
    """Add the exemplar to names that are empty or occur twice, and a number if needed."""
    often = Counter(names)
    unique: dict[str, None] = {}
    for name, exemplar in zip(names, exemplars, strict=True):
        full = name
        if not name or often[name] > 1:
            full = " · ".join(filter(None, (name, f"like {exemplar}")))
        candidates = chain([full], (f"{full} ({number})" for number in count(2)))
        unique[next(text for text in candidates if text not in unique)] = None
    return list(unique)
