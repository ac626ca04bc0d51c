"""Coarse contexts: two terms are alike if they have alike objects, not only if they share one.

A coarse context is (predicate, side, cluster of the other term). A triple (s, p, o) is two events:

- s occurs in the context (p, subject side, cluster of o);
- o occurs in the context (p, object side, cluster of s).

Triples with literals and triples that state a type do not count, and neither do other terms without
a cluster. σ(term, context) is half of the PPMI over these events.
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


def group_similarities(
    graph: Graph, clusters: Ids, type_predicate: str, around: Around | None = None
) -> Similarities:
    """Similarity of each term and each of its coarse contexts; `clusters` has one for each term."""
    keys, _ = _group_keys(graph, clusters, type_predicate)
    return similarities_of_keys(keys, len(graph.terms), WEIGHT, around)


def group_roles(graph: Graph, clusters: Ids, type_predicate: str) -> Ids:
    """The role (see graph/roles.py) of each coarse context, in the order of the particles."""
    keys, number = _group_keys(graph, clusters, type_predicate)
    members = np.unique(keys) >> np.uint64(32)  # the context of each member, ascending
    contexts, sizes = np.unique(members, return_counts=True)
    roles: Ids = (contexts[sizes > 1] // np.uint64(number)).astype(np.int32)
    return roles


def _group_keys(graph: Graph, clusters: Ids, type_predicate: str) -> tuple[NDArray[np.uint64], int]:
    """The events in coarse contexts, and the number of clusters."""
    if len(clusters) != len(graph.terms):
        raise UsageError(f"there are {len(clusters):,} clusters for {len(graph.terms):,} terms")
    number = int(clusters.max(initial=0)) + 1
    if 2 * len(graph.predicates) * number > MAX_CONTEXTS:
        raise OverBudget(
            f"the graph has too many predicates ({len(graph.predicates):,}) for {number:,} "
            f"clusters. Use `clusters={MAX_CONTEXTS // (2 * len(graph.predicates))}` or fewer."
        )
    counted = (graph.objects != LITERAL) & ~states_type(graph, type_predicate)
    keys = np.empty(2 * int(np.count_nonzero(counted)), np.uint64)
    columns = (graph.subjects, graph.predicate_positions, graph.objects)
    return keys[: _events.group_keys(*columns, counted, clusters, number, keys)], number
