"""What the members of a cluster have in common: classes, contexts and roles.

The share of a trait is the part of a cluster's members that have it. The usual share is the part of
all clustered terms that have it. The most specific trait of a cluster has the largest

    share · ln(share / usual share)

Many members and few other terms have it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.text import cut
from pyke.embedding.embedding import Embedding
from pyke.graph.build import sorted_columns
from pyke.graph.roles import ANY, OBJECT, SIDES, decode_role, have_type_predicate, occurrences
from pyke.use.clusters.hdbscan import NOISE

MAX_TYPES = 3  # classes that are listed for a cluster …
MIN_LISTED_SHARE = 0.05  # … if at least this share of the members has them
MIN_COMMON_SHARE = 0.5  # share from which a class or a context can name a cluster
MAX_LETTERS = 40  # letters of a term in a name

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Trait:
    """A class, or a context or role, of the members of a cluster."""

    text: str  # as people read it
    share: float
    usual: float  # the share among all clustered terms
    term: str = ""  # IRI of a class


def type_traits(embedding: Embedding, cluster_of: Ids, sizes: Counts) -> list[list[Trait]]:
    """Classes of each cluster; the first can name the cluster.

    cluster_of[x] is the cluster of term x, NOISE, or less if the term was not clustered. `sizes`
    are those of the clusters, and of noise as the last one.
    """
    clustered = cluster_of[embedding.types[:, 0]] >= NOISE
    subjects, classes = (embedding.types[:, column][clustered] for column in (0, 1))
    found = _Shares.of(
        [np.zeros_like(classes), classes, cluster_of[subjects]], sizes, len(embedding)
    )
    best = found.most_specific(len(sizes) - 1)
    is_other = np.isin(np.arange(len(found.others)), best, invert=True)
    readable = embedding.lookup().title
    traits: list[list[Trait]] = [[] for _ in best]
    order = np.lexsort((found.usual, -found.shares, is_other, found.clusters))
    for cell in order.tolist():
        listed, share = traits[found.clusters[cell]], float(found.shares[cell])
        if len(listed) <= MAX_TYPES and share >= MIN_LISTED_SHARE:
            kind = int(found.others[cell])
            usual = float(found.usual[cell])
            listed.append(Trait(readable(kind), share, usual, embedding.terms[kind]))
    return traits


def context_traits(embedding: Embedding, cluster_of: Ids, sizes: Counts) -> list[Trait | None]:
    """The most specific context of each cluster; if none is common, the most specific role."""
    predicates, clusters = embedding.predicates, len(sizes) - 1
    (contexts, roles), (object_contexts, object_roles) = (
        _shared(embedding, predicates, cluster_of, sizes, side) for side in SIDES
    )
    contexts, roles = contexts + object_contexts, roles + object_roles

    def trait(found: _Shares, cell: int) -> Trait | None:
        if cell < 0 or found.shares[cell] <= found.usual[cell]:
            return None
        predicate, side = decode_role(int(found.roles[cell]))
        other = int(found.others[cell]) if found is contexts else ANY
        text = _context_text(embedding, int(predicates[predicate]), side, other)
        return Trait(text, float(found.shares[cell]), float(found.usual[cell]))

    best = zip(
        contexts.most_specific(clusters).tolist(),
        roles.most_specific(clusters).tolist(),
        strict=True,
    )
    return [trait(contexts, context) or trait(roles, role) for context, role in best]


def short(text: str) -> str:
    """A text of at most 40 letters."""
    return cut(text, MAX_LETTERS)


def _context_text(embedding: Embedding, predicate: int, side: int, other: int) -> str:
    """`livesIn Oslo` for subjects, `← hasStreet Oslo` for objects."""
    readable = embedding.lookup().title
    other_name = "" if other == ANY else short(readable(other))
    return f"{'← ' if side == OBJECT else ''}{readable(predicate)} {other_name}".rstrip()


def _shared(
    embedding: Embedding, predicates: Ids, cluster_of: Ids, sizes: Counts, side: int
) -> tuple[_Shares, _Shares]:
    """Shares of contexts, and of roles, on one side of the triples."""
    triples, terms = embedding.triples, len(embedding)
    type_predicate = embedding.terms.find(embedding.config().type_predicate)
    counted = ~have_type_predicate(triples[:, 1], triples[:, 2], type_predicate)
    counted &= cluster_of[triples[:, 2 if side == OBJECT else 0]] >= NOISE
    counted[1:] &= (triples[1:] != triples[:-1]).any(axis=1)  # sorted: duplicates are adjacent
    subjects, used, objects = (triples[:, column][counted] for column in range(3))
    positions = np.searchsorted(predicates, used).astype(np.int32)
    members, roles, others = occurrences((subjects, positions, objects), side)
    roles = roles.astype(np.int32, copy=False)
    del subjects, used, positions, objects
    clusters, linked = cluster_of[members], others != ANY
    contexts = _Shares.of(
        [roles[linked], others[linked], clusters[linked]], sizes, terms, MIN_COMMON_SHARE
    )
    roles, members, clusters = sorted_columns(
        [roles, members, clusters], terms, max(len(sizes), 2 * len(predicates))
    )
    first = _changes(roles) | _changes(members)
    rows = [roles[first], np.zeros_like(members[first]), clusters[first]]  # of any other term
    return contexts, _Shares.of(rows, sizes, terms, MIN_COMMON_SHARE)


@dataclass(frozen=True)
class _Shares:
    """Shares of traits in clusters: a cell for each cluster and trait of some of its members.

    A trait is a role and another term. Noise has no cells.
    """

    clusters: Ids
    roles: Ids
    others: Ids
    counts: Counts
    shares: NDArray[np.float64]
    usual: NDArray[np.float64]

    @classmethod
    def of(cls, rows: list[Ids], sizes: Counts, terms: int, min_share: float = 0.0) -> _Shares:
        """From columns (role, other term, cluster) with each trait of a member once.

        Cells below `min_share` are dropped. The list is emptied to free memory.
        """
        roles, others, clusters = sorted_columns(
            rows, terms, max(len(sizes), int(rows[0].max(initial=0)) + 1)
        )
        new_trait = _changes(roles) | _changes(others)
        traits, cells = np.flatnonzero(new_trait), np.flatnonzero(new_trait | _changes(clusters))
        counts = np.diff(cells, append=len(roles))
        cells, counts = (column[clusters[cells] != NOISE] for column in (cells, counts))
        shares = counts / sizes[clusters[cells]]
        cells, counts, shares = (column[shares >= min_share] for column in (cells, counts, shares))
        in_all = np.diff(traits, append=len(roles))[np.searchsorted(traits, cells, "right") - 1]
        return cls(
            clusters[cells], roles[cells], others[cells], counts, shares, in_all / sizes.sum()
        )

    def __add__(self, other: _Shares) -> _Shares:
        columns = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Shares(*map(np.concatenate, columns))

    def most_specific(self, clusters: int) -> Counts:
        """For each cluster the most specific cell with a common trait, or −1.

        Among equals the one with the larger share, then the one with the smaller usual share.
        """
        common = np.flatnonzero((self.shares >= MIN_COMMON_SHARE) & (self.counts > 1))
        score = self.shares * np.log(self.shares / self.usual)
        columns = (self.others, self.roles, self.usual, -self.shares, -score, self.clusters)
        order = common[np.lexsort([column[common] for column in columns])]
        found, first = np.unique(self.clusters[order], return_index=True)
        best = np.full(clusters, -1, np.int64)
        best[found] = order[first]
        return best


def _changes(column: Ids) -> NDArray[np.bool_]:
    """Where a value differs from the one before; True for the first."""
    changed = np.ones(len(column), bool)
    changed[1:] = column[1:] != column[:-1]
    return changed
