"""Why a term should be of a class: which typed neighbours vote for it, and what it has in common with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.embedding.embedding import Embedding
from pyke.errors import NothingToScore
from pyke.graph.graph import LITERAL
from pyke.use.neighbours.search import nearest
from pyke.use.types.votes import REFERENCE_MU, TypeTable, usable_mu

MOST_SHARED = 20  # things in common that are told
TRIPLES_AT_ONCE = 1 << 18

# A context of a term: predicate, other term (or none: the role, whatever the other term is), and whether the term is the subject.
# As one number, 2 · ((terms + 1) · predicate + other + 1) + is_subject, with −1 for no other.
Contexts = NDArray[np.int64]


@dataclass(frozen=True)
class Voter:
    """A typed neighbour; it votes if it has anything in common with the term."""

    term: str
    label: str | None
    distance: float
    types: tuple[str, ...]
    shared: int  # roles and contexts in common with the term


@dataclass(frozen=True)
class Vote:
    """A class, how many voters are of it, and whether the graph says so already."""

    type: str
    label: str | None
    votes: int
    stated: bool


@dataclass(frozen=True)
class Shared:
    """What the term has in common with some voters; `other` is None if only the predicate and the side are."""

    predicate: str
    other: str | None
    label: str | None  # of the other
    is_subject: bool  # the term stands before the predicate
    voters: int
    terms: int  # of the graph that have it


@dataclass(frozen=True)
class Explanation:
    """Who votes for which classes, and what speaks for it, the most telling first."""

    term: str
    label: str | None
    votes: tuple[Vote, ...]
    voters: tuple[Voter, ...]
    shared: tuple[Shared, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def explain(embedding: Embedding, term: str, mu: int = REFERENCE_MU) -> Explanation:
    """Explains the predicted types of a term, given by IRI, prefixed name or label."""
    e, own = embedding, embedding.lookup().find(term)
    table = TypeTable.of(e.types)
    if not len(table):
        raise NothingToScore("no subject has a type, so that no type can be predicted")
    position = int(np.searchsorted(table.subjects, own))
    is_typed = position < len(table) and int(table.subjects[position]) == own
    usable_mu([mu], len(table) - is_typed)
    rows, distances = nearest(
        e.vectors[table.subjects], e.vectors[own], mu, position if is_typed else -1
    )
    voters = table.subjects[rows].tolist()
    types_of = {
        int(s): tuple(
            table.class_ids[table.classes[table.offsets[r] : table.offsets[r + 1]]].tolist()
        )
        for s, r in zip(voters, rows, strict=True)
    }
    stated = set(e.types[e.types[:, 0] == own, 1].tolist())
    of_own = np.unique(
        np.concatenate(
            [contexts[terms == own] for terms, contexts in _contexts(e, _beside(e, [own]))]
        )
    )
    at, who = _having(e, _beside(e, voters), of_own)
    of_voters = np.isin(who, voters)
    shared = Counter(who[of_voters].tolist())
    counts = Counter(kind for voter in voters if shared[voter] for kind in types_of[voter])
    return Explanation(
        e.terms[own],
        e.label(own),
        tuple(
            Vote(e.terms[kind], e.label(kind), votes, kind in stated)
            for kind, votes in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        ),
        tuple(
            Voter(
                e.terms[voter],
                e.label(voter),
                float(distance),
                tuple(e.terms[kind] for kind in types_of[voter]),
                shared[voter],
            )
            for voter, distance in zip(voters, distances, strict=True)
        ),
        _most_telling(e, of_own, np.bincount(at[of_voters], minlength=len(of_own))),
    )


def _beside(e: Embedding, terms: list[int]) -> Ids:
    """The triples that some terms are subjects or objects of."""
    return e.triples[np.isin(e.triples[:, 0], terms) | np.isin(e.triples[:, 2], terms)]


def _contexts(e: Embedding, triples: Ids) -> Iterator[tuple[Ids, Contexts]]:
    """Terms and a context of each: all that there are in some triples, but for the giving of types."""
    typing = e.terms.find(e.config().type_predicate)
    for begin in range(0, max(1, len(triples)), TRIPLES_AT_ONCE):
        subjects, predicates, objects = triples[begin : begin + TRIPLES_AT_ONCE].T
        linked = objects != LITERAL
        counted = (predicates != typing) | ~linked
        for chosen, terms, others, is_subject in (
            (counted, subjects, objects, 1),
            (counted & linked, objects, subjects, 0),
        ):
            roles = 2 * (len(e) + 1) * predicates[chosen].astype(np.int64) + is_subject
            yield terms[chosen], roles
            yield terms[chosen], roles + 2 * (others[chosen].astype(np.int64) + 1)


def _having(e: Embedding, triples: Ids, wanted: Contexts) -> tuple[Contexts, Contexts]:
    """Which terms of some triples have which of the wanted contexts: positions of these, and terms, each pair once."""
    pairs = []
    for terms, contexts in _contexts(e, triples):
        at = np.searchsorted(wanted, contexts)
        found = np.append(wanted, -1)[at] == contexts
        pairs.append(at[found] * len(e) + terms[found])
    return np.divmod(np.unique(np.concatenate(pairs)), len(e))


def _most_telling(e: Embedding, contexts: Contexts, voters: Contexts) -> tuple[Shared, ...]:
    """What many voters have and few others."""
    likely = np.sort(
        np.lexsort((contexts, -voters))[: min(5 * MOST_SHARED, np.count_nonzero(voters))]
    )
    contexts, voters = contexts[likely], voters[likely]
    with_predicates = np.isin(e.triples[:, 1], contexts // (2 * (len(e) + 1)))
    terms = np.bincount(
        _having(e, e.triples[with_predicates], contexts)[0], minlength=len(contexts)
    )
    first = np.lexsort((contexts, -voters * np.log(2 * len(e) / terms)))[:MOST_SHARED]
    return tuple(
        _shared(e, *(int(column[at]) for column in (contexts, voters, terms))) for at in first
    )


def _shared(e: Embedding, context: int, voters: int, terms: int) -> Shared:
    rest, is_subject = divmod(context, 2)
    predicate, other = divmod(rest, len(e) + 1)
    name, label = (e.terms[other - 1], e.label(other - 1)) if other else (None, None)
    return Shared(e.terms[predicate], name, label, bool(is_subject), voters, terms)
