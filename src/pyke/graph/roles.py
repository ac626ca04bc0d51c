"""Roles and contexts of terms: what two terms can have in common.

A role is a predicate and a side: the subjects of `knows` have one role, its objects another.

    role = 2 · predicate + side                   side: SUBJECT or OBJECT

A context is a role and the term on the other side: the subjects of `knows anna` share a context.

    context = role · (terms + 1) + other + 1      other: a term, or ANY for the role alone

`predicate` is a term id or a position in a list of predicates, as the caller likes. A literal on
the other side counts as ANY. Triples that state a type are not roles: types are what roles predict.

The springs of springs/contexts.py connect terms with particles for the same roles and contexts.
Particles have numbers of their own, one side after the other, in the order of the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids, Offsets
from pyke.graph.graph import LITERAL, Graph

SIDES = SUBJECT, OBJECT = 0, 1
ANY = LITERAL

Roles = NDArray[Any]
Numbers = NDArray[np.int64]


class Occurrences(NamedTuple):
    """Terms on one side of some triples, with their roles and the terms on the other side."""

    terms: Ids
    roles: Roles
    others: Ids  # ANY for a literal


class Context(NamedTuple):
    """A decoded context, or arrays of them."""

    predicate: Any
    side: Any
    other: Any  # ANY for a role alone


def states_type(graph: Graph, type_predicate: str) -> NDArray[np.bool_]:
    """Which triples of a graph state a type.

    Examples
    --------
    >>> import pyke
    >>> graph = pyke.embed("examples/father.ttl", dimensions=10).graph()
    >>> int(states_type(graph, "http://www.w3.org/1999/02/22-rdf-syntax-ns#type").sum())
    10
    """
    found = np.flatnonzero(graph.predicates == graph.terms.find(type_predicate))
    position = int(found[0]) if len(found) else -1
    return have_type_predicate(graph.predicate_positions, graph.objects, position)


def have_type_predicate(predicates: Ids, objects: Ids, type_predicate: int) -> NDArray[np.bool_]:
    """Which triples have the type predicate (−1: there is none) and an object that is a term."""
    stated: NDArray[np.bool_] = (predicates == type_predicate) & (objects != LITERAL)
    return stated


def occurrences(columns: Sequence[NDArray[Any]], side: int) -> Occurrences:
    """Terms on one side of triples, in the order of the triples; literals are not terms.

    `columns` are subjects, predicates and objects. Roles have the dtype of the predicates.
    """
    subjects, predicates, objects = columns
    if side == SUBJECT:
        return Occurrences(subjects, 2 * predicates + side, objects)
    linked = objects != LITERAL
    return Occurrences(objects[linked], 2 * predicates[linked] + side, subjects[linked])


def roles_by_term(graph: Graph, type_predicate: str) -> tuple[Offsets, Ids]:
    """Roles of every term: term x has roles[offsets[x] : offsets[x + 1]], ascending.

    Predicates are positions in `graph.predicates`.
    """
    offsets, roles, _ = role_counts_by_term(graph, type_predicate)
    return offsets, roles


def role_counts_by_term(graph: Graph, type_predicate: str) -> tuple[Offsets, Ids, Numbers]:
    """Roles of every term as `roles_by_term` gives them, and in how many triples it has each."""
    counted, roles = ~states_type(graph, type_predicate), 2 * len(graph.predicates)
    columns = [
        column[counted] for column in (graph.subjects, graph.predicate_positions, graph.objects)
    ]
    found = [occurrences(columns, side) for side in SIDES]
    keys, counts = np.unique(
        np.concatenate([one.terms.astype(np.int64) * roles + one.roles for one in found]),
        return_counts=True,
    )
    offsets = np.searchsorted(keys, np.arange(len(graph.terms) + 1) * roles)
    return offsets, (keys % roles).astype(np.int32), counts


def contexts(roles: Roles, others: Ids | int, terms: int) -> Numbers:
    """Number of each context of a role and another term; `terms` is the number of all terms."""
    return roles.astype(np.int64) * (terms + 1) + (np.asarray(others, np.int64) + 1)


def decode_role(role: Any) -> tuple[Any, Any]:
    """Predicate and side of a role, or of an array of them."""
    return role >> 1, role & 1


def decode_context(context: Any, terms: int) -> Context:
    """Predicate, side and other term of a context, or of an array of them.

    Examples
    --------
    >>> decode_context(contexts(np.array([2 * 7 + OBJECT]), 3, terms=10)[0].item(), terms=10)
    Context(predicate=7, side=1, other=3)
    """
    role, other = context // (terms + 1), context % (terms + 1) - 1
    return Context(*decode_role(role), other)
