"""Coarse contexts: two terms are alike if they have alike objects, not only if they share one.

A coarse context is (predicate, side, group of the other term). A triple (s, p, o) is two events:

- s occurs in the context (p, subject side, group of o);
- o occurs in the context (p, object side, group of s).

A group is a cluster, of which a term has at most one, or a class, of which it has any number.
Triples with literals and triples that state a type do not count, and neither do other terms without
a group. σ(term, context) is half of the PPMI over the events of clusters, or of classes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.errors import OverBudget, UsageError
from pyke.graph.graph import LITERAL, Graph
from pyke.graph.roles import states_type
from pyke.springs import _events
from pyke.springs.events import similarities_of_keys
from pyke.springs.similarity import Around, Similarities

WEIGHT = 0.5  # of these similarities; those of the other contexts have 1
MAX_CONTEXTS = 1 << 32  # numbers of contexts have 32 bits

Keys = NDArray[np.uint64]


def group_similarities(
    graph: Graph, clusters: Ids, type_predicate: str, around: Around | None = None
) -> Similarities:
    """Similarity of each term and each of its coarse contexts; `clusters` has one for each term."""
    keys, _ = _group_keys(graph, clusters, type_predicate)
    return similarities_of_keys(keys, len(graph.terms), WEIGHT, around)


def group_roles(graph: Graph, clusters: Ids, type_predicate: str) -> Ids:
    """The role (see graph/roles.py) of each coarse context, in the order of the particles."""
    return _roles(*_group_keys(graph, clusters, type_predicate))


def class_similarities(graph: Graph, types: Ids, type_predicate: str) -> Similarities:
    """The same with classes instead of clusters; `types` are sorted pairs of term and class."""
    keys, _ = _class_keys(graph, types, type_predicate)
    return similarities_of_keys(keys, len(graph.terms), WEIGHT)


def class_roles(graph: Graph, types: Ids, type_predicate: str) -> Ids:
    """The role of each coarse context of a class, in the order of the particles."""
    return _roles(*_class_keys(graph, types, type_predicate))


def _group_keys(graph: Graph, clusters: Ids, type_predicate: str) -> tuple[Keys, int]:
    """The events in coarse contexts, and the number of clusters."""
    if len(clusters) != len(graph.terms):
        raise UsageError(f"there are {len(clusters):,} clusters for {len(graph.terms):,} terms")
    number = int(clusters.max(initial=0)) + 1
    if 2 * len(graph.predicates) * number > MAX_CONTEXTS:
        raise OverBudget(
            f"the graph has too many predicates ({len(graph.predicates):,}) for {number:,} "
            f"clusters. Use `clusters={MAX_CONTEXTS // (2 * len(graph.predicates))}` or fewer."
        )
    counted = _counted(graph, type_predicate)
    keys = np.empty(2 * int(np.count_nonzero(counted)), np.uint64)
    columns = (graph.subjects, graph.predicate_positions, graph.objects)
    return keys[: _events.group_keys(*columns, counted, clusters, number, keys)], number


def _class_keys(graph: Graph, types: Ids, type_predicate: str) -> tuple[Keys, int]:
    """The events in coarse contexts of classes, and the number of classes.

    If there are too many predicates and classes, the most frequent classes count.
    """
    class_ids, classes, sizes = np.unique(types[:, 1], return_inverse=True, return_counts=True)
    number = min(len(class_ids), MAX_CONTEXTS // (2 * max(1, len(graph.predicates))))
    ranks = np.empty(len(class_ids), np.int32)
    ranks[np.argsort(-sizes, kind="stable")] = np.arange(len(class_ids), dtype=np.int32)
    kept = ranks[classes] < number
    offsets = np.searchsorted(types[kept, 0], np.arange(len(graph.terms) + 1))
    counted, degrees = _counted(graph, type_predicate), np.diff(offsets)
    events = degrees[graph.subjects[counted]].sum() + degrees[graph.objects[counted]].sum()
    keys = np.empty(int(events), np.uint64)
    columns = (graph.subjects, graph.predicate_positions, graph.objects)
    found = _events.class_keys(*columns, counted, offsets, ranks[classes[kept]], number, keys)
    return keys[:found], number


def _counted(graph: Graph, type_predicate: str) -> NDArray[np.bool_]:
    """Triples that give events."""
    counted: NDArray[np.bool_] = graph.objects != LITERAL
    return counted & ~states_type(graph, type_predicate)


def _roles(keys: Keys, number: int) -> Ids:
    """The role of each context with at least two members; there are `number` groups."""
    members = np.unique(keys) >> np.uint64(32)  # the context of each member, ascending
    contexts, sizes = np.unique(members, return_counts=True)
    roles: Ids = (contexts[sizes > 1] // np.uint64(max(1, number))).astype(np.int32)
    return roles
