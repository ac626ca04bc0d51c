"""Explain predicted types: which neighbours vote, and what they have in common with the term."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.notebook import html_table
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.graph.roles import (
    ANY,
    SIDES,
    SUBJECT,
    Numbers,
    contexts,
    decode_context,
    have_type_predicate,
    occurrences,
)
from pyke.use.types.calibration import Calibration, Like
from pyke.use.types.predict import Predictor, prepare
from pyke.use.types.votes import ClassVotes, Queries, Voters

MAX_SHARED = 20  # roles and contexts in an explanation
TRIPLES_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Voter:
    """A typed neighbour. It votes if it shares a role with the term."""

    term: str
    label: str | None
    distance: float
    overlap: float  # of its roles and those of the term, from 0 to 1; see votes.py
    weight: float  # of its vote, among all neighbours; 0 if it does not vote
    types: tuple[str, ...]
    shared: int  # roles and contexts in common with the term


@dataclass(frozen=True)
class Vote:
    """A class and its votes.

    `alike` are the measured predictions that the confidence comes from: all with a similar share
    of the votes, those of this class, and those for terms of the same kind.
    """

    type: str
    label: str | None
    votes: int
    share: float  # of the weight of all neighbours
    confidence: float
    alike: tuple[Like, ...]
    stated: bool  # the graph states this type


@dataclass(frozen=True)
class Shared:
    """A role or context that the term shares with voters."""

    predicate: str
    other: str | None  # the term on the other side; None for a role
    label: str | None  # label of the other term
    is_subject: bool  # the explained term is the subject
    voters: int  # voters that have it
    terms: int  # terms of the graph that have it


@dataclass(frozen=True)
class Explanation:
    """The votes for the types of a term, and what the term has in common with the voters.

    `shared` is sorted by how much more often voters have it than other terms.
    """

    term: str
    label: str | None
    status: str  # measured, new namespace, no twins (see kinds.py) or no evidence
    votes: tuple[Vote, ...]
    voters: tuple[Voter, ...]
    shared: tuple[Shared, ...]
    power: int = 0  # of the overlap of roles, in the weights of the voters; 0 without voters
    # Whether numbers of triples count only as far as they tell classes apart.
    informative_numbers: bool = False

    def __repr__(self) -> str:
        votes = ", ".join(
            f"{vote.label or vote.type} ({vote.votes} of {len(self.voters)} votes)"
            for vote in self.votes
        )
        return f"<Explanation of {self.term}: {votes or 'no votes'}>"

    def _repr_html_(self) -> str:
        """For notebooks: votes, voters, and what they have in common with the term."""
        name = f"{self.label} <{self.term}>" if self.label else f"<{self.term}>"
        votes = [
            (
                vote.type,
                vote.label,
                vote.votes,
                f"{vote.share:.3f}",
                f"{vote.confidence:.3f}",
                "yes" if vote.stated else "",
            )
            for vote in self.votes
        ]
        voters = [
            (
                voter.term,
                voter.label,
                f"{voter.distance:.3f}",
                f"{voter.overlap:.3f}",
                f"{voter.weight:.3f}",
                voter.shared,
                ", ".join(voter.types),
            )
            for voter in self.voters
        ]
        shared = [
            (*_sides(one), one.predicate, one.voters, f"{one.terms:,}") for one in self.shared
        ]
        return (
            html_table(
                ["type", "label", "votes", "share", "confidence", "in the graph"],
                votes,
                title=f"Votes for {name}",
            )
            + html_table(
                ["term", "label", "distance", "overlap", "weight", "in common", "types"],
                voters,
                title="Nearest typed neighbours; those that share a role vote",
            )
            + html_table(
                ["subject", "object", "predicate", "neighbours", "terms"],
                shared,
                title="What the neighbours have in common with it",
            )
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def _sides(shared: Shared) -> tuple[str, str]:
    """Subject and object of the triples that a role or context stands for."""
    other = shared.label or shared.other or "…"
    return ("this term", other) if shared.is_subject else (other, "this term")


def explain(
    embedding: Embedding,
    term: str,
    mu: int | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Explanation:
    """Explain the predicted types of a term: as long as predicting those of all terms.

    Parameters
    ----------
    embedding
        The embedding, with its graph.
    term
        IRI, prefixed name or label.
    mu
        Number of nearest typed subjects that vote (μ); 30 by default, if there are as many.
    threads
        Number of threads; by default all cores.
    progress
        Receives progress reports.

    Examples
    --------
    >>> import pyke
    >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
    >>> explain(e, "http://example.com/father#anna", mu=3).term
    'http://example.com/father#anna'
    """
    e, own = embedding, embedding.lookup().find(term)
    progress = progress or Progress()
    return explain_with(prepare(e, own, mu, True, None, threads, progress), e, own, progress)


def explain_with(
    predictor: Predictor, embedding: Embedding, own: int, progress: Progress
) -> Explanation:
    """Explain the predicted types of a term, given by id, with what was prepared for it."""
    e = embedding
    if own not in predictor.kinds.asked:
        return Explanation(e.terms[own], e.label(own), "no evidence", (), (), ())
    kind, status = predictor.kinds.kind_of(own)
    voters = predictor.voters(own)

    def votes(counted: ClassVotes) -> tuple[Vote, ...]:
        classes = counted.classes.astype(np.int64)
        stated = e.types[e.types[:, 0] == own, 1]
        class_ids = voters.known.class_ids
        kinds = np.full(len(classes), kind)
        return vote_list(e, predictor.calibration, counted, classes, kinds, class_ids, stated)

    query = voters.queries(np.array([own], np.int32))
    name = status.name.lower().replace("_", " ")
    return explain_query(e, voters, query, votes, name, progress)


def explain_query(
    e: Embedding,
    voters: Voters,
    query: Queries,
    votes: Callable[[ClassVotes], tuple[Vote, ...]],
    status: str,
    progress: Progress,
) -> Explanation:
    """Explain the votes on one query."""
    own = int(query.own[0])
    counted, found = voters.votes(query, progress)
    overlaps = voters.overlaps(query, found)
    weights = voters.weights(found, overlaps)
    there = np.flatnonzero(found.ids[0] >= 0)
    neighbours = voters.known.subjects[found.ids[0, there]].tolist()
    own_contexts = _contexts_of(e, own)
    held, holders = _holders(e, _triples_of(e, neighbours), own_contexts)
    by_voters = np.isin(holders, neighbours)
    shared = Counter(holders[by_voters].tolist())
    voters_with = np.bincount(held[by_voters], minlength=len(own_contexts))
    rows = [voters.known.rows(found.ids[0, at : at + 1]) for at in there.tolist()]
    return Explanation(
        e.terms[own],
        e.label(own),
        status,
        votes(counted),
        tuple(
            Voter(
                e.terms[neighbour],
                e.label(neighbour),
                float(np.sqrt(square)),
                float(overlap),
                float(weight),
                tuple(e.terms[c] for c in row.class_ids[row.classes].tolist()),
                shared[neighbour],
            )
            for neighbour, square, overlap, weight, row in zip(
                neighbours,
                found.squares[0, there],
                overlaps[0, there],
                weights[0, there],
                rows,
                strict=True,
            )
        ),
        _most_specific(e, own_contexts, voters_with),
        voters.power,
        voters.counting is not None,
    )


def vote_list(
    e: Embedding,
    calibration: Calibration,
    counted: ClassVotes,
    classes: Numbers,
    kinds: Numbers,
    class_ids: Ids,
    stated: Ids,
) -> tuple[Vote, ...]:
    """Votes by descending share. `classes` and `kinds` of each are those of the calibration."""
    confidences = calibration.confidences(counted.shares, classes, kinds)
    found = []
    for at in np.lexsort((counted.classes, -counted.shares)).tolist():
        share, term = float(counted.shares[at]), int(class_ids[counted.classes[at]])
        found.append(
            Vote(
                e.terms[term],
                e.label(term),
                int(counted.votes[at]),
                share,
                float(confidences[at]),
                calibration.like(share, int(classes[at]), int(kinds[at])),
                term in stated,
            )
        )
    return tuple(found)


def _triples_of(e: Embedding, terms: list[int]) -> Ids:
    """Triples that have one of these terms as subject or object."""
    return e.triples[np.isin(e.triples[:, 0], terms) | np.isin(e.triples[:, 2], terms)]


def _occurrences(e: Embedding, triples: Ids) -> Iterator[tuple[Ids, Numbers]]:
    """Terms, and a role or context of each: all that occur in some triples."""
    type_predicate = e.terms.find(e.config().type_predicate)
    for begin in range(0, max(1, len(triples)), TRIPLES_AT_ONCE):
        some = triples[begin : begin + TRIPLES_AT_ONCE]
        some = some[~have_type_predicate(some[:, 1], some[:, 2], type_predicate)]
        subjects, predicates, objects = some.T
        for side in SIDES:
            terms, roles, others = occurrences(
                (subjects, predicates.astype(np.int64), objects), side
            )
            yield terms, contexts(roles, ANY, len(e))
            yield terms, contexts(roles, others, len(e))


def _contexts_of(e: Embedding, term: int) -> Numbers:
    """Roles and contexts of a term, ascending."""
    found = [numbers[terms == term] for terms, numbers in _occurrences(e, _triples_of(e, [term]))]
    return np.unique(np.concatenate(found))


def _holders(e: Embedding, triples: Ids, wanted: Numbers) -> tuple[Numbers, Numbers]:
    """Which terms have which of the wanted contexts: positions in `wanted`, and terms.

    Each pair occurs once.
    """
    pairs = []
    for terms, numbers in _occurrences(e, triples):
        at = np.searchsorted(wanted, numbers)
        found = np.append(wanted, -1)[at] == numbers
        pairs.append(at[found] * len(e) + terms[found])
    positions, holders = np.divmod(np.unique(np.concatenate(pairs)), len(e))
    return positions, holders


def _most_specific(e: Embedding, numbers: Numbers, voters: NDArray[np.int64]) -> tuple[Shared, ...]:
    """Roles and contexts that many voters and few other terms have."""
    frequent = np.lexsort((numbers, -voters))[: min(5 * MAX_SHARED, np.count_nonzero(voters))]
    frequent.sort()
    numbers, voters = numbers[frequent], voters[frequent]
    predicates = np.unique(decode_context(numbers, len(e)).predicate)
    triples = e.triples[np.isin(e.triples[:, 1], predicates)]
    terms = np.bincount(_holders(e, triples, numbers)[0], minlength=len(numbers))
    order = np.lexsort((numbers, -voters * np.log(2 * len(e) / terms)))[:MAX_SHARED]
    return tuple(_shared(e, int(numbers[at]), int(voters[at]), int(terms[at])) for at in order)


def _shared(e: Embedding, context: int, voters: int, terms: int) -> Shared:
    predicate, side, other = decode_context(context, len(e))
    name, label = (None, None) if other == ANY else (e.terms[other], e.label(other))
    return Shared(e.terms[predicate], name, label, side == SUBJECT, voters, terms)
