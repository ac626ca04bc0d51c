"""Types of subjects, and the votes of their neighbours.

The nearest typed subjects of a term vote for their own classes. Near ones count more, and so do
those with the same roles (predicate and side, see graph/roles.py) as the term, about as often. A
neighbour that shares no role does not vote: a home page lies near a person, but has none of a
person's roles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats, Ids, Offsets, positions, ranges
from pyke.core.parallel import parallel_for
from pyke.core.progress import Progress
from pyke.errors import NothingToScore, UsageError
from pyke.use.neighbours.search import Neighbours, nearest_of_many
from pyke.use.types.evidence import Evidence, Roles

MU = (1, 3, 5, 10, 15, 30, 50, 100)  # the values in the paper
REFERENCE_MU = 10  # the value at which ties, top-1 and F1 of plain vectors are measured
VOTERS = 30  # neighbours that vote in a prediction, if there are as many
# The weight of a vote is o^p / (d² / d_last² + NEARNESS), where o is the overlap of the roles, d
# the distance, and d_last that of the last voter. From 0.01 to 0.1 the held-out scores of iswc,
# codex-m and wikipathways differ by at most .003. folds.py chooses p, if there are enough subjects.
NEARNESS, OVERLAP_POWER = 0.02, 3

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class TypeTable:
    """Classes of typed subjects.

    Subject i has the classes classes[offsets[i] : offsets[i + 1]], which are positions in
    `class_ids`.
    """

    subjects: Ids  # term ids
    offsets: Offsets
    classes: Ids
    class_ids: Ids  # term ids

    @classmethod
    def of(cls, types: Ids) -> TypeTable:
        """From sorted pairs (subject, class), as in `Graph.types` and `Embedding.types`."""
        subjects, counts = np.unique(types[:, 0], return_counts=True)
        class_ids, classes = np.unique(types[:, 1], return_inverse=True)
        offsets = np.append(np.int64(0), np.cumsum(counts, dtype=np.int64))
        return cls(
            subjects.astype(np.int32), offsets, classes.astype(np.int32), class_ids.astype(np.int32)
        )

    def __len__(self) -> int:
        return len(self.subjects)

    def rows(self, chosen: NDArray[np.integer]) -> TypeTable:
        """Some of the subjects, in the given order."""
        counts = np.diff(self.offsets)[chosen]
        offsets = np.append(np.int64(0), np.cumsum(counts, dtype=np.int64))
        return TypeTable(
            self.subjects[chosen],
            offsets,
            self.classes[ranges(self.offsets[:-1][chosen], counts)],
            self.class_ids,
        )


def usable_mu(wanted: Sequence[int] | None, others: int) -> tuple[int, ...]:
    """Numbers of neighbours (μ) to use, ascending.

    By default these are the values in the paper, up to the number of other typed subjects.
    """
    if wanted is None:
        usable = tuple(mu for mu in MU if mu <= others)
        if not usable:
            raise NothingToScore(
                "there is only one typed subject; types are predicted from those of other subjects"
            )
        return usable
    if not wanted or min(wanted) < 1:
        raise UsageError(f"`mu` is {min(wanted, default='missing')}; it must be at least 1")
    if max(wanted) > others:
        raise NothingToScore(
            f"`mu` is {max(wanted)}, but only {others:,} typed subjects can be neighbours; "
            "use a smaller `mu`"
        )
    return tuple(sorted(set(wanted)))


def require_classes(table: TypeTable) -> None:
    """Raise NothingToScore unless subjects have at least two different classes."""
    if len(table) == 0:
        raise NothingToScore(
            "no subject has a type, so no types can be predicted. If another predicate states "
            "types, embed the graph with this `type_predicate`."
        )
    if len(table.class_ids) == 1:
        raise NothingToScore(
            f"all {len(table):,} typed subjects have the same class, so there is nothing to predict"
        )


class ClassVotes(NamedTuple):
    """Votes for classes: one entry for each query and class that has votes, in this order."""

    queries: Counts  # positions of the queries
    classes: Ids  # positions in the class_ids of the voters
    votes: Counts  # neighbours that vote for the class
    shares: NDArray[np.float64]  # their part of the weight of all neighbours


def vote(ids: Ids, known: TypeTable, weights: NDArray[np.float64] | None = None) -> ClassVotes:
    """Count the classes of neighbours: ids (queries, μ) are rows of `known`.

    Neighbours with a weight of 0 do not vote. The weights of a query add up to at most 1; by
    default they are equal.
    """
    if weights is None:
        weights = np.full(ids.shape, 1 / max(1, ids.shape[1]))
    number = len(known.class_ids)
    queries, columns = np.nonzero(weights)
    voters = known.rows(ids[queries, columns])
    times = np.diff(voters.offsets)
    pairs, which, votes = np.unique(
        np.repeat(queries, times) * number + voters.classes, return_inverse=True, return_counts=True
    )
    weight = np.repeat(weights[queries, columns], times)
    shares = np.minimum(np.bincount(which, weight, len(pairs)), 1.0)  # rounding may give more
    return ClassVotes(pairs // number, (pairs % number).astype(np.int32), votes, shares)


@dataclass(frozen=True)
class Queries:
    """Vectors to predict types for."""

    vectors: Floats
    own: Ids  # the term of each query, which does not vote on it
    roles: Roles

    def __len__(self) -> int:
        return len(self.own)


@dataclass(frozen=True)
class Voters:
    """The typed subjects of a graph that have a vector, and how they vote."""

    evidence: Evidence
    known: TypeTable
    mu: int
    threads: int
    exact: bool | None = None
    points: Floats | None = None  # vectors of the known subjects, if not those of the evidence
    power: int = OVERLAP_POWER  # of the overlap; 0: all that share a role count alike
    # How much the number of triples in each role counts, 0 to 1 (numbers.py); None: all of it.
    counting: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        evidence: Evidence,
        table: TypeTable,
        mu: int | None,
        threads: int,
        exact: bool | None = None,
    ) -> Voters:
        """Voters among the subjects of a table; `mu` is 30 by default, if there are as many."""
        known = table.rows(np.flatnonzero(evidence.has_vector(table.subjects)))
        if not len(known):
            raise NothingToScore(
                "typed subjects occur only in triples that state their types, so their types "
                "cannot be predicted from other triples"
            )
        others = len(known) - 1
        if not others:
            raise NothingToScore(
                "only one typed subject occurs in triples that do not state its types; types are "
                "predicted from those of other subjects"
            )
        mu = min(VOTERS, others) if mu is None else usable_mu([mu], others)[0]
        return cls(evidence, known, mu, threads, exact)

    def without_places(self) -> Voters:
        """All that voting needs."""
        return replace(self, evidence=self.evidence.without_places())

    def queries(self, terms: Ids) -> Queries:
        """Terms as queries: a typed subject does not vote on itself."""
        return Queries(self.evidence.vectors[terms], terms, self.evidence.roles_of(terms))

    def votes(self, queries: Queries, progress: Progress) -> tuple[ClassVotes, Neighbours]:
        """Votes of the μ nearest subjects of each query, and these neighbours."""
        found = self.nearest(queries, progress)
        weights = self.weights(found, self.overlaps(queries, found))
        return vote(found.ids, self.known, weights), found

    def nearest(self, queries: Queries, progress: Progress) -> Neighbours:
        """The μ nearest subjects of each query."""
        points = self.points
        return nearest_of_many(
            self.evidence.vectors[self.known.subjects] if points is None else points,
            queries.vectors,
            self.mu,
            positions(queries.own, self.known.subjects),
            exact=self.exact,
            threads=self.threads,
            progress=progress,
        )

    def overlaps(self, queries: Queries, found: Neighbours) -> NDArray[np.float64]:
        """(queries, μ): how much the roles of a query and a neighbour overlap, from 0 to 1.

        A role counts with ln(1 + its triples). So 1 means the same roles, as often. If `counting`
        is given, the part above ln 2 is multiplied by it.
        """
        from pyke.use.types._kernels import role_overlaps  # loads Numba

        e, neighbours = self.evidence, self.known.subjects[found.ids]
        overlaps = np.empty(found.ids.shape, np.float64)
        own = (*queries.roles[:2], self._sizes(queries.roles.roles, queries.roles.sizes))
        known = (e.role_offsets, e.roles, self._sizes(e.roles, e.role_sizes))

        def compare(begin: int, end: int) -> None:
            role_overlaps(*own, *known, neighbours, begin, end, overlaps)

        parallel_for(self.threads, len(queries), compare)
        return overlaps

    def _sizes(self, roles: Ids, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sizes of roles, with the part above ln 2 multiplied by `counting`."""
        if self.counting is None:
            return sizes
        one = np.log(2)
        counted: NDArray[np.float64] = one + self.counting[roles] * (sizes - one)
        return counted

    def weights(self, found: Neighbours, overlaps: NDArray[np.float64]) -> NDArray[np.float64]:
        """(queries, μ): the weight of each neighbour among all μ; 0 if it shares no role.

        The weights of a query add up to the part that near neighbours with a shared role have. So a
        term among others that are unlike it gets small shares.
        """
        is_there = found.ids >= 0  # a subject that is asked about itself may have no neighbour
        squares = np.where(is_there, found.squares, 0).astype(np.float64)
        last = np.maximum(squares[:, -1:], np.finfo(np.float32).tiny)
        near = 1 / (squares / last + NEARNESS)
        near /= near.sum(axis=1, keepdims=True)
        voting = np.where(is_there & (overlaps > 0), near, 0.0)
        weights: NDArray[np.float64] = voting * overlaps**self.power
        total = weights.sum(axis=1, keepdims=True)
        weights *= voting.sum(axis=1, keepdims=True) / np.where(total > 0, total, 1)
        return weights


def agreement(found: ClassVotes, truth: TypeTable) -> float:
    """Mean cosine between the shares of the votes and the true types: query i is row i."""
    right = found.shares * has_class(truth, found.queries, found.classes)
    dots, squares = (np.bincount(found.queries, x, len(truth)) for x in (right, found.shares**2))
    lengths = np.sqrt(squares * np.diff(truth.offsets))
    return float((dots / np.where(lengths > 0, lengths, 1)).mean())


def has_class(truth: TypeTable, rows: Counts, classes: Ids) -> NDArray[np.bool_]:
    """Whether the subject in row rows[i] has the class classes[i]."""
    number = len(truth.class_ids)
    true_pairs = np.repeat(np.arange(len(truth)), np.diff(truth.offsets)) * number + truth.classes
    return np.isin(rows * number + classes, true_pairs, assume_unique=True)
