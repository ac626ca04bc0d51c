"""An embedded graph, and the two questions that it answers.

- Which predicates does an entity lack that similar entities have? The nearest entities vote for the
  predicates that they are subjects of.
- Which objects has a subject? The nearest subjects of the predicate vote for their objects. All are
  compared without their own objects of this predicate. Terms that another predicate links with the
  subject are candidates, too (see links.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import Ids, Offsets, positions
from pyke.core.progress import Progress
from pyke.graph.graph import LITERAL, Graph
from pyke.graph.roles import SUBJECT, Numbers, states_type
from pyke.use.facts.links import Linked, Links
from pyke.use.types.evidence import Evidence, evidence_of
from pyke.use.types.votes import ClassVotes, Counts, Queries, TypeTable, Voters

ENTITIES_AT_ONCE = 1 << 18
VOTERS = 20  # neighbours that vote, if there are as many
# Subjects are unlike in the roles to predict, so the overlap of roles does not weigh their votes.
OVERLAP_POWER = 0
MIN_SHARE = 0.1  # of the votes, for a predicate that an entity may have


class Lacking(NamedTuple):
    """Entities and predicates that they lack, sorted by entity: one entry for each pair."""

    entities: Ids  # term ids
    predicates: Ids  # positions in `graph.predicates`
    votes: Counts  # nearest entities that have the predicate
    shares: NDArray[np.float64]  # their part of the weight of all


class ObjectVotes(NamedTuple):
    """Objects that subjects may have, sorted by subject: one entry for each pair."""

    subjects: Ids
    objects: Ids
    votes: Counts
    shares: NDArray[np.float64]
    links: NDArray[np.float64]  # strength of the strongest link between the two; 0 without

    @property
    def scores(self) -> NDArray[np.float64]:
        """The higher, the better."""
        scores: NDArray[np.float64] = 1 - (1 - self.shares) * (1 - self.links)
        return scores

    def at(self, kept: Offsets) -> ObjectVotes:
        """The votes at some positions."""
        votes, shares, links = self.votes[kept], self.shares[kept], self.links[kept]
        return ObjectVotes(self.subjects[kept], self.objects[kept], votes, shares, links)

    def first(self) -> Offsets:
        """The position of the best object of each subject."""
        order = np.lexsort((self.objects, -self.scores, self.subjects))
        return order[np.unique(self.subjects[order], return_index=True)[1]]


class Groups:
    """Positions of equal numbers."""

    def __init__(self, numbers: NDArray[np.integer]) -> None:
        self._order = np.argsort(numbers, kind="stable")
        self._sorted = numbers[self._order]

    def of(self, number: int) -> Offsets:
        """The positions of a number, ascending."""
        begin, end = np.searchsorted(self._sorted, [number, number + 1])
        return self._order[begin:end]


@dataclass(frozen=True)
class Space:
    """An embedded graph: who has which predicates, and which objects."""

    graph: Graph
    evidence: Evidence
    entities: Ids  # those with a vector, ascending
    type_predicate: str
    mu: int
    threads: int
    exact: bool | None

    @classmethod
    def of(
        cls,
        graph: Graph,
        entities: Ids,
        config: Config,
        mu: int | None,
        exact: bool | None,
        progress: Progress,
    ) -> Space:
        """Embed a graph; `entities` may lack predicates and vote for them."""
        evidence = evidence_of(graph, config, progress)
        entities = entities[evidence.has_vector(entities)]
        mu = VOTERS if mu is None else mu
        return cls(graph, evidence, entities, config.type_predicate, mu, config.threads, exact)

    @cached_property
    def properties(self) -> TypeTable:
        """The predicates of each entity but the type predicate: positions in `graph.predicates`."""
        graph, number = self.graph, len(self.graph.predicates)
        counted = ~states_type(graph, self.type_predicate)
        rows = positions(graph.subjects[counted], self.entities)
        keys = np.unique(rows[rows >= 0] * number + graph.predicate_positions[counted][rows >= 0])
        offsets = np.searchsorted(keys, np.arange(len(self.entities) + 1) * number)
        return TypeTable(self.entities, offsets, (keys % number).astype(np.int32), graph.predicates)

    @property
    def voters(self) -> int:
        """Number of nearest entities that vote for their predicates."""
        return self._mu(len(self.entities))

    def lacking(self, entities: Ids, progress: Progress) -> Lacking:
        """Predicates that some of the nearest entities have, but the entity itself lacks."""
        table = self.properties
        voters = Voters(
            self.evidence, table, self.voters, self.threads, self.exact, power=OVERLAP_POWER
        )
        found = []
        for begin in range(0, len(entities), ENTITIES_AT_ONCE):
            some = entities[begin : begin + ENTITIES_AT_ONCE]
            votes, _ = voters.votes(voters.queries(some), progress)
            asked = some[votes.queries]
            kept = (votes.shares >= MIN_SHARE) & ~self.has(asked, votes.classes)
            found.append(
                Lacking(asked[kept], votes.classes[kept], votes.votes[kept], votes.shares[kept])
            )
        return Lacking(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def has(self, subjects: Ids, predicates: Ids) -> NDArray[np.bool_]:
        """Whether each subject has the predicate beside it."""
        keys, known = self._key(subjects, predicates), self._subject_keys
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        found: NDArray[np.bool_] = known[at] == keys
        return found

    @cached_property
    def _subject_keys(self) -> Numbers:
        return np.unique(self._key(self.graph.subjects, self.graph.predicate_positions))

    def _key(self, subjects: Ids, predicates: Ids) -> Numbers:
        return subjects.astype(np.int64) * len(self.graph.predicates) + predicates

    def _mu(self, known: int) -> int:
        return min(self.mu, max(1, known - 1))

    @cached_property
    def by_predicate(self) -> Groups:
        """Rows of the triples by predicate."""
        return Groups(self.graph.predicate_positions)

    def objects(self, predicate: int) -> TypeTable:
        """The objects of each subject of a predicate (a position in `graph.predicates`)."""
        rows = self.by_predicate.of(predicate)
        rows = rows[self.graph.objects[rows] != LITERAL]
        terms = len(self.graph.terms)
        keys = np.unique(
            self.graph.subjects[rows].astype(np.int64) * terms + self.graph.objects[rows]
        )
        return TypeTable.of(np.column_stack(np.divmod(keys, terms)).astype(np.int32))

    def object_voters(self, predicate: int) -> Voters | None:
        """The subjects of a predicate, placed without their objects; None if there is none."""
        table = self.objects(predicate)
        points, usable = self.evidence.vectors_without(2 * predicate + SUBJECT, table.subjects)
        known = table.rows(np.flatnonzero(usable))
        if not len(known):
            return None
        mu = self._mu(len(known))
        options = (self.threads, self.exact, points[usable], OVERLAP_POWER)
        return Voters(self.evidence, known, mu, *options)

    def queries(self, predicate: int, subjects: Ids) -> Queries:
        """Subjects as queries for their objects of a predicate."""
        vectors, _ = self.evidence.vectors_without(2 * predicate + SUBJECT, subjects)
        return Queries(vectors, subjects, self.evidence.roles_of(subjects))

    @cached_property
    def links(self) -> Links:
        """Pairs of terms that a predicate links."""
        return Links(self.graph, self.type_predicate)

    def vote_objects(
        self, predicate: int, subjects: Ids, only_best: bool, progress: Progress
    ) -> ObjectVotes:
        """Objects that subjects may have; with `only_best` the first object of each.

        `subjects` is ascending. Neighbours vote for their objects, and links for the terms that
        they link. The score of an object is 1 − (1 − share of the votes) (1 − strength of the
        link).
        """
        voters = self.object_voters(predicate)
        if voters is None or not len(subjects):
            nothing = np.zeros(0, np.int32)
            return ObjectVotes(nothing, nothing, nothing.astype(np.int64), *np.zeros((2, 0)))
        votes, _ = voters.votes(self.queries(predicate, subjects), progress)
        found = self.with_links(predicate, voters, subjects, votes)
        return found.at(found.first()) if only_best else found

    def linked(self, predicate: int, subjects: Ids) -> Linked:
        """Terms that other predicates link with subjects, as objects of a predicate."""
        strengths = self.links.strengths(predicate, self.objects(predicate).subjects)
        return self.links.linked(strengths, subjects)

    def with_links(
        self, predicate: int, voters: Voters, subjects: Ids, votes: ClassVotes
    ) -> ObjectVotes:
        """The votes on subjects, and the terms that are linked with them; no subject itself."""
        linked = self.linked(predicate, subjects)
        terms = len(self.graph.terms)
        objects = voters.known.class_ids[votes.classes]
        pairs, at = np.unique(
            np.concatenate(
                [
                    subjects[votes.queries].astype(np.int64) * terms + objects,
                    linked.subjects.astype(np.int64) * terms + linked.objects,
                ]
            ),
            return_inverse=True,
        )
        counts, (shares, links) = np.zeros(len(pairs), np.int64), np.zeros((2, len(pairs)))
        voted, by_link = at[: len(objects)], at[len(objects) :]
        counts[voted], shares[voted], links[by_link] = votes.votes, votes.shares, linked.strengths
        found = ObjectVotes(
            (pairs // terms).astype(np.int32),
            (pairs % terms).astype(np.int32),
            counts,
            shares,
            links,
        )
        return found.at(np.flatnonzero(found.subjects != found.objects))
