"""Why a term should be of a class: which typed neighbours vote for it, and what it has in common with them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pyke.embedding import Embedding
from pyke.errors import NothingToScore
from pyke.evaluate.type_prediction import REFERENCE_MU, TypeTable, usable_mu
from pyke.graph import LITERAL
from pyke.search import nearest

MOST_SHARED = 20  # things in common that are told

# A context: predicate, other term (ANY: the role, whatever the other term is), and whether the member is the subject.
Context = tuple[int, int, bool]
ANY = -1


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
    rows, distances = nearest(e.vectors[table.subjects], e.vectors[own], mu, position if is_typed else -1)
    voters = table.subjects[rows].tolist()
    types_of = {
        int(s): tuple(table.class_ids[table.classes[table.offsets[r] : table.offsets[r + 1]]].tolist()) for s, r in zip(voters, rows, strict=True)
    }
    stated = set(e.types[e.types[:, 0] == own, 1].tolist())
    contexts = _contexts(e, [own, *voters])
    common = {voter: contexts[voter] & contexts[own] for voter in voters}
    counts = Counter(kind for voter in voters if common[voter] for kind in types_of[voter])
    return Explanation(
        e.terms[own],
        e.label(own),
        tuple(
            Vote(e.terms[kind], e.label(kind), votes, kind in stated) for kind, votes in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        ),
        tuple(
            Voter(e.terms[voter], e.label(voter), float(distance), tuple(e.terms[kind] for kind in types_of[voter]), len(common[voter]))
            for voter, distance in zip(voters, distances, strict=True)
        ),
        _most_telling(e, Counter(context for voter in voters for context in common[voter])),
    )


def _contexts(e: Embedding, members: list[int]) -> dict[int, set[Context]]:
    """All that each member occurs in, but for the giving of types."""
    typing = e.terms.find(e.config().type_predicate)
    found: dict[int, set[Context]] = {member: set() for member in members}
    for side, is_subject in ((0, True), (2, False)):
        rows = e.triples[np.isin(e.triples[:, side], members)]
        for triple in rows[(rows[:, 1] != typing) | (rows[:, 2] == LITERAL)].tolist():
            member, other = triple[side], triple[2 - side]
            found[member].add((triple[1], ANY, is_subject))
            if other != LITERAL:
                found[member].add((triple[1], other, is_subject))
    return found


def _most_telling(e: Embedding, voters: Counter[Context]) -> tuple[Shared, ...]:
    """What many voters have and few others."""
    likely = sorted(voters, key=lambda context: (-voters[context], context))[: 5 * MOST_SHARED]
    terms = {context: _members(e, context) for context in likely}
    weight = {context: voters[context] * math.log(2 * len(e) / terms[context]) for context in likely}
    first = sorted(likely, key=lambda context: (-weight[context], context))[:MOST_SHARED]
    return tuple(_shared(e, context, voters[context], terms[context]) for context in first)


def _shared(e: Embedding, context: Context, voters: int, terms: int) -> Shared:
    predicate, other, is_subject = context
    name, label = (None, None) if other == ANY else (e.terms[other], e.label(other))
    return Shared(e.terms[predicate], name, label, is_subject, voters, terms)


def _members(e: Embedding, context: Context) -> int:
    """How many terms of the graph have a context."""
    predicate, other, is_subject = context
    has = e.triples[:, 1] == predicate
    if other != ANY:
        has &= e.triples[:, 2 if is_subject else 0] == other
    return len(np.unique(e.triples[has, 0 if is_subject else 2]))
