"""Typed subjects as if they had no types.

The own types of a subject are not among its contexts, but they are contexts of the terms linked to
it. So the types of a twentieth of the typed subjects, a fold, are withheld at a time. The evidence
is read out again without them. Then these subjects are predicted from the others, exactly as if
they had no types. The simulation is not repeated: it knows no types.

Two settings are chosen by withheld types: how much more a neighbour counts that has the same roles
about as often (the power of the overlap, see votes.py), and whether all numbers of triples count,
or only as far as they tell classes apart (numbers.py). In some graphs, how often a term has a role
decides its class; in others it hardly matters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import Ids, positions
from pyke.core.progress import Progress
from pyke.graph.graph import Graph
from pyke.graph.roles import Numbers
from pyke.use.neighbours.search import Neighbours
from pyke.use.types.evidence import Typeless
from pyke.use.types.numbers import informative_numbers
from pyke.use.types.votes import (
    OVERLAP_POWER,
    ClassVotes,
    TypeTable,
    Voters,
    agreement,
    vote,
)

# With 5 folds, a fifth of the neighbours of each twin had no types, so its predictions were worse
# than those of untyped terms, and classes of wordnet30 were stated up to .14 too low.
FOLDS = 20
POWERS = (OVERLAP_POWER, 1, 6, 12, 24, 48, 96)  # to try; the first one is the usual one
# Another choice must be better than the usual one by this much. On codex-m and iswc the best one of
# all is less than .001 better, another one with each seed, and no better on other subjects.
MIN_GAIN = 0.001
TRIED_FOLDS = 4  # folds whose types are withheld to choose how overlaps count
# Typed subjects of these folds to choose by. With fewer, overlaps count as usual.
MIN_TRIED, MAX_TRIED = 500, 10_000
# With more typed subjects, folds with half of this number are enough to measure confidence.
MAX_MEASURED = 1 << 17


@dataclass(frozen=True)
class Folds:
    """The voters for untyped terms, and those for each fold of the typed subjects."""

    typeless: Typeless
    types: Ids  # pairs of term and class
    voters: Voters  # with all types
    of_voters: Numbers  # the fold of each of them

    @classmethod
    def of(
        cls, graph: Graph, config: Config, mu: int | None, exact: bool | None, progress: Progress
    ) -> Folds:
        """Embed a graph without its types. The seed decides the folds; types do not matter."""
        typeless = Typeless.of(graph, config, progress)
        evidence = typeless.evidence(graph.types).without_places()
        table = TypeTable.of(graph.types)
        voters = Voters.of(evidence, table, mu, config.threads, exact)
        order = np.random.default_rng([config.seed, 5]).permutation(len(voters.known))
        folds = cls(typeless, graph.types, voters, order % FOLDS)
        return replace(folds, voters=folds._best_voters())

    def _best_voters(self) -> Voters:
        """The voters, with the overlaps that bring votes on withheld types closest to them."""
        is_tried = self.of_voters < TRIED_FOLDS
        rows = np.flatnonzero(is_tried)
        if len(rows) < MIN_TRIED:
            return self.voters
        tried = self.voters.known.rows(rows[:: -(-len(rows) // MAX_TRIED)])
        voters = self._without(is_tried).without_places()
        queries = voters.queries(tried.subjects)
        near = voters.nearest(queries, Progress())
        scores: dict[tuple[bool, int], float] = {}
        for is_counting in (False, True):
            counted = _counted(voters, is_counting)
            overlaps = counted.overlaps(queries, near)
            for power in POWERS:
                weights = replace(counted, power=power).weights(near, overlaps)
                found = agreement(vote(near.ids, voters.known, weights), tried)
                scores[is_counting, power] = found
        best, usual = max(scores, key=lambda one: scores[one]), (False, OVERLAP_POWER)
        is_counting, power = best if scores[best] >= scores[usual] + MIN_GAIN else usual
        return replace(_counted(self.voters, is_counting), power=power)

    @property
    def candidates(self) -> Ids:
        """Typed subjects to measure confidence on."""
        subjects = self.voters.known.subjects
        if len(subjects) <= MAX_MEASURED:
            return subjects
        return subjects[self.of_voters < -(-FOLDS * MAX_MEASURED // (2 * len(subjects)))]

    def fold_of(self, terms: Ids) -> Numbers:
        """The fold of each term; −1 if it is not a typed subject with a vector."""
        rows = positions(terms, self.voters.known.subjects)
        return np.where(rows >= 0, self.of_voters[rows], -1)

    def voters_for(self, fold: int) -> Voters:
        """The voters for a fold: subjects of other folds, without its types; −1: all."""
        return self.voters if fold < 0 else self.withheld(fold).without_places()

    def withheld(self, fold: int) -> Voters:
        """The voters for a fold, with the places of their contexts."""
        return self._without(self.of_voters == fold)

    def _without(self, withheld: NDArray[np.bool_]) -> Voters:
        """The voters without some of them. Their types do not count in anything."""
        known = self.voters.known.rows(np.flatnonzero(~withheld))
        is_left = positions(self.types[:, 0], self.voters.known.subjects[withheld]) < 0
        left = replace(
            self.voters,
            evidence=self.typeless.evidence(self.types[is_left]),
            known=known,
            mu=min(self.voters.mu, len(known)),
        )
        return _counted(left, self.voters.counting is not None)

    def votes(self, terms: Ids, progress: Progress) -> tuple[ClassVotes, Neighbours]:
        """Votes on terms, and how the neighbours of the fold with the lowest recall were found."""
        folds, parts, searches = self.fold_of(terms), [], []
        for fold in np.unique(folds).tolist() or [-1]:  # also without terms
            voters, at = self.voters_for(fold), np.flatnonzero(folds == fold)
            votes, neighbours = voters.votes(voters.queries(terms[at]), progress)
            parts.append(votes._replace(queries=at[votes.queries]))
            searches.append(neighbours)
        joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.lexsort((joined[1], joined[0]))
        lowest = min(searches, key=lambda one: (one.exact, one.recall))
        return ClassVotes(*(column[order] for column in joined)), lowest


def _counted(voters: Voters, as_it_tells: bool) -> Voters:
    """Voters that count numbers of triples fully, or only as far as they tell classes apart."""
    counting = informative_numbers(voters.evidence, voters.known) if as_it_tells else None
    return replace(voters, counting=counting)
