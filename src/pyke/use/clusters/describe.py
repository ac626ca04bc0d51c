"""Clusters of an embedding as people read them: size, types, an exemplar, and a name that tells what is special about each.

A share is the part of a cluster's members with a class or a context; the usual share is that among all terms that were clustered. What
tells most of a cluster has the largest share · ln(share / usual share): members have it often, and others seldom. A context of a term
is a predicate and what it leads to, `livesIn Oslo`, or where it comes from, `← hasStreet Oslo`; if no context is common, the predicate alone.
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
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import DataError
from pyke.graph.build import sorted_columns
from pyke.graph.graph import LITERAL
from pyke.use.clusters.hdbscan import NOISE, Clustering, hdbscan

MOST_TYPES = 3  # that are listed of a cluster,
LEAST_LISTED = 0.05  # and the share from which on they are
COMMON = 0.5  # the share from which on a class or a context may name a cluster
LONGEST = 40  # letters of a term in a name
ROWS_AT_ONCE = 1 << 16

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Trait:
    """A class or a context of the members of a cluster."""

    text: str  # as people read it
    share: float
    usual: float  # the share among all terms that were clustered
    term: str = ""  # of a class


@dataclass(frozen=True)
class Cluster:
    """What is to be known of a cluster."""

    number: int
    name: str  # no two of a table are the same
    size: int
    types: tuple[Trait, ...]  # the most frequent ones
    context: Trait | None  # the most telling one
    exemplar: str  # the member nearest to the mean of all


@dataclass(frozen=True, eq=False)
class ClusterTable:
    """Clusters by size, the largest being number 0. labels[i] is the cluster of the term ids[i], −1 for noise."""

    ids: Ids
    labels: Ids
    clusters: Sequence[Cluster]
    exact: bool

    @property
    def noise(self) -> int:
        """How many terms are in no cluster."""
        return int((self.labels == NOISE).sum())


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
    """Clusters the terms that are no predicates and no classes; of these only the typed ones, if so wished."""
    progress = progress or Progress()
    ids = _clustered(embedding, typed)
    if len(ids) == 0:
        raise DataError(
            "no term is left to be clustered: all are predicates or classes"
            + (" or have no type" if typed else "")
        )
    progress.stage("clusters", len(ids), "terms")
    found = hdbscan(
        embedding.vectors[ids],
        min_cluster_size,
        min_samples,
        exact=exact,
        threads=thread_count(threads),
        progress=progress,
    )
    return describe(embedding, ids, found)


def _clustered(embedding: Embedding, typed: bool) -> Ids:
    entities = embedding.entities
    return np.intersect1d(entities, embedding.types[:, 0]) if typed else entities


def describe(embedding: Embedding, ids: Ids, found: Clustering) -> ClusterTable:
    """What there is to say of clusters of some terms."""
    labels, sizes = _by_size(found.labels)
    cluster_of = np.full(
        len(embedding) + 1, NOISE - 1, np.int32
    )  # of every term and LITERAL; what was not clustered is not noise either
    cluster_of[ids] = labels
    readable = embedding.lookup().readable
    kinds = _type_traits(embedding, cluster_of, sizes)
    contexts = _context_traits(embedding, cluster_of, sizes)
    exemplars = [int(ids[row]) for row in _exemplars(embedding, ids, labels, len(sizes) - 1)]
    names = _unique(
        [_name(*traits) for traits in zip(kinds, contexts, strict=True)],
        [_short(readable(term)) for term in exemplars],
    )
    frequent = [
        tuple(sorted(types, key=lambda trait: -trait.share)[:MOST_TYPES]) for types in kinds
    ]
    rows = zip(
        range(len(names)),
        names,
        sizes[:-1].tolist(),
        frequent,
        contexts,
        (embedding.terms[term] for term in exemplars),
        strict=True,
    )
    described = [Cluster(*row) for row in rows]
    return ClusterTable(ids, labels, described, found.exact)


def _by_size(labels: Ids) -> tuple[Ids, Counts]:
    """The labels renamed, largest cluster first, equals by their first member; and the sizes, that of noise last."""
    numbers, first, sizes = np.unique(
        labels[labels != NOISE], return_index=True, return_counts=True
    )
    order = np.lexsort((first, -sizes))
    new = np.full(len(numbers) + 1, NOISE, np.int32)
    new[numbers[order]] = np.arange(len(numbers), dtype=np.int32)
    return new[labels], np.append(sizes[order], (labels == NOISE).sum())


def _exemplars(embedding: Embedding, ids: Ids, labels: Ids, clusters: int) -> NDArray[np.int64]:
    """For each cluster the row of the member nearest to the mean, equals by id."""
    inside = np.flatnonzero(labels != NOISE)
    members, cluster = ids[inside], labels[inside]
    dimensions = embedding.vectors.shape[1]
    sizes = np.bincount(cluster, minlength=clusters)
    sums = [
        np.bincount(cluster, weights=embedding.vectors[members, dimension], minlength=clusters)
        for dimension in range(dimensions)
    ]
    means = (np.array(sums) / sizes).T
    squares = np.empty(len(members))
    for begin in range(0, len(members), ROWS_AT_ONCE):
        part = slice(begin, begin + ROWS_AT_ONCE)
        squares[part] = ((embedding.vectors[members[part]] - means[cluster[part]]) ** 2).sum(axis=1)
    order = np.lexsort((squares, cluster))
    return inside[order[np.append(0, np.cumsum(sizes)[:-1])]] if clusters else np.zeros(0, np.int64)


@dataclass(frozen=True)
class _Shares:
    """What part of each cluster has each trait, a role with another term, in cells that are not empty; noise is left out."""

    clusters: Ids
    roles: Ids
    others: Ids
    counts: Counts
    shares: NDArray[np.float64]
    usual: NDArray[np.float64]

    @classmethod
    def of(cls, rows: list[Ids], sizes: Counts, terms: int, least: float = 0.0) -> _Shares:
        """From columns (role, other term, cluster), each trait of a member once; without cells of a lesser share. Empties the list it is given."""
        roles, others, clusters = sorted_columns(
            rows, terms, max(len(sizes), int(rows[0].max(initial=0)) + 1)
        )
        new_trait = _changes(roles) | _changes(others)
        traits, cells = np.flatnonzero(new_trait), np.flatnonzero(new_trait | _changes(clusters))
        counts = np.diff(cells, append=len(roles))
        cells, counts = (column[clusters[cells] != NOISE] for column in (cells, counts))
        shares = counts / sizes[clusters[cells]]
        cells, counts, shares = (column[shares >= least] for column in (cells, counts, shares))
        in_all = np.diff(traits, append=len(roles))[np.searchsorted(traits, cells, "right") - 1]
        return cls(
            clusters[cells], roles[cells], others[cells], counts, shares, in_all / sizes.sum()
        )

    def __add__(self, other: _Shares) -> _Shares:
        return _Shares(
            *(
                np.concatenate(columns)
                for columns in zip(vars(self).values(), vars(other).values(), strict=True)
            )
        )

    def best(self, clusters: int) -> Counts:
        """For each cluster the common cell that tells most of it, among equals the more frequent and then the rarer elsewhere; −1 for none."""
        able = np.flatnonzero((self.shares >= COMMON) & (self.counts > 1))
        telling = self.shares * np.log(self.shares / self.usual)
        columns = (self.others, self.roles, self.usual, -self.shares, -telling, self.clusters)
        order = able[np.lexsort([column[able] for column in columns])]
        found, first = np.unique(self.clusters[order], return_index=True)
        best = np.full(clusters, -1, np.int64)
        best[found] = order[first]
        return best


def _changes(column: Ids) -> NDArray[np.bool_]:
    """Where another value begins; the first does."""
    changed = np.ones(len(column), bool)
    changed[1:] = column[1:] != column[:-1]
    return changed


def _type_traits(embedding: Embedding, cluster_of: Ids, sizes: Counts) -> list[list[Trait]]:
    """The classes of each cluster; the first is the one that names it."""
    clustered = cluster_of[embedding.types[:, 0]] >= NOISE
    subjects, classes = (embedding.types[:, column][clustered] for column in (0, 1))
    found = _Shares.of(
        [np.zeros_like(classes), classes, cluster_of[subjects]], sizes, len(embedding)
    )
    best = found.best(len(sizes) - 1)
    readable = embedding.lookup().readable
    traits: list[list[Trait]] = [[] for _ in best]
    order = np.lexsort(
        (
            found.usual,
            -found.shares,
            np.isin(np.arange(len(found.others)), best, invert=True),
            found.clusters,
        )
    )
    for cell in order.tolist():
        of_cluster = traits[found.clusters[cell]]
        if not of_cluster or (len(of_cluster) <= MOST_TYPES and found.shares[cell] >= LEAST_LISTED):
            kind = int(found.others[cell])
            of_cluster.append(
                Trait(
                    readable(kind),
                    float(found.shares[cell]),
                    float(found.usual[cell]),
                    embedding.terms[kind],
                )
            )
    return traits


def _context_traits(embedding: Embedding, cluster_of: Ids, sizes: Counts) -> list[Trait | None]:
    """What the members of each cluster have in common and others have not, beside types."""
    predicates = embedding.predicates
    contexts, alone = (
        one + other
        for one, other in zip(
            *(_common(embedding, predicates, cluster_of, sizes, side) for side in (0, 2)),
            strict=True,
        )
    )

    def trait(found: _Shares, cell: int) -> Trait | None:
        if cell < 0 or found.shares[cell] <= found.usual[cell]:
            return None
        predicate, is_object = divmod(int(found.roles[cell]), 2)
        other = int(found.others[cell]) if found is contexts else LITERAL
        text = _context_text(embedding, int(predicates[predicate]), bool(is_object), other)
        return Trait(text, float(found.shares[cell]), float(found.usual[cell]))

    cells = zip(
        contexts.best(len(sizes) - 1).tolist(), alone.best(len(sizes) - 1).tolist(), strict=True
    )
    return [trait(contexts, context) or trait(alone, role) for context, role in cells]


def _common(
    embedding: Embedding, predicates: Ids, cluster_of: Ids, sizes: Counts, side: int
) -> tuple[_Shares, _Shares]:
    """What members on one side of triples share: roles with another term, and roles alone. A role is 2 · place of its predicate + side / 2."""
    triples, terms = embedding.triples, len(embedding)
    chosen = (triples[:, 1] != embedding.terms.find(embedding.config().type_predicate)) & (
        cluster_of[triples[:, side]] >= NOISE
    )
    chosen[1:] &= (triples[1:] != triples[:-1]).any(
        axis=1
    )  # sorted: a triple that is kept twice stands behind itself
    members, used, others = (triples[:, column][chosen] for column in (side, 1, 2 - side))
    roles = (2 * np.searchsorted(predicates, used) + side // 2).astype(np.int32)
    clusters, linked = cluster_of[members], others != LITERAL
    contexts = _Shares.of([roles[linked], others[linked], clusters[linked]], sizes, terms, COMMON)
    roles, members, clusters = sorted_columns(
        [roles, members, clusters], terms, max(len(sizes), 2 * len(predicates))
    )
    first = _changes(roles) | _changes(members)
    return contexts, _Shares.of(
        [roles[first], np.zeros_like(members[first]), clusters[first]], sizes, terms, COMMON
    )


def _context_text(embedding: Embedding, predicate: int, is_object: bool, other: int) -> str:
    readable = embedding.lookup().readable
    other_name = "" if other == LITERAL else _short(readable(other))
    return f"{'← ' if is_object else ''}{readable(predicate)} {other_name}".rstrip()


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"


def _name(types: Sequence[Trait], context: Trait | None) -> str:
    parts = []
    if types:
        parts.append(types[0].text if types[0].share >= COMMON else f"{types[0].text} and others")
    if context:
        parts.append(context.text)
    return " · ".join(parts)


def _unique(names: Sequence[str], exemplars: Sequence[str]) -> list[str]:
    """Names that occur twice get the exemplar added, and if that is not enough, a number."""
    often = Counter(names)
    unique: dict[str, None] = {}
    for name, like in zip(names, exemplars, strict=True):
        whole = (
            name if name and often[name] == 1 else " · ".join(filter(None, (name, f"like {like}")))
        )
        unique[
            next(
                text
                for text in chain([whole], (f"{whole} ({number})" for number in count(2)))
                if text not in unique
            )
        ] = None
    return list(unique)
