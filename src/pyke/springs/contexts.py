"""Context springs: terms are tied to what they have in common, instead of to one another.

Besides the terms there is a particle for every role (predicate, side) and for every context (predicate, side, other term) that
two or more terms share. Each triple (s, p, o) is six events: s and p in the role (p, subject side); o and p in (p, object side);
s in the context (p, subject side, o); o in (p, object side, s). A triple with a literal is two: s and p in (p, subject side).
σ(term, context) is the PPMI over all events. Events in contexts of a single term count, though they make no particle.
"""

from __future__ import annotations

import numpy as np

from pyke import kernels
from pyke.graph import LITERAL, Graph, Ids, Offsets, Similarities
from pyke.ids import require_ids, sorted_columns


def context_similarities(graph: Graph) -> Similarities:
    """PPMI(x, c) = max(0, ln(n(x, c) N / (n(x) n(c)))) for every term x and role or context c it occurs in."""
    terms, predicates = len(graph.terms), len(graph.predicates)
    resource = graph.objects != LITERAL
    by_subject = (graph.subjects, graph.predicates_of, graph.objects)
    links = by_subject if resource.all() else tuple(column[resource] for column in by_subject)
    by_object = sorted_columns([links[2], links[1], links[0]], predicates, terms)

    triples_of = np.bincount(graph.predicates_of, minlength=predicates)
    links_of = np.bincount(links[1], minlength=predicates)
    occurrences = _event_counts(graph, links, triples_of + links_of)
    total = int(occurrences.sum())

    runs, contexts, members = kernels.count_contexts(*by_subject)
    object_runs, object_contexts, object_members = kernels.count_contexts(*by_object)
    base = terms + 2 * predicates
    require_ids(base + contexts + object_contexts)
    size = runs + members + object_runs + object_members + 2 * predicates
    events = kernels.Events(np.zeros(1, np.int64), np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.float32))
    kernels.role_events(*by_subject[:2], graph.predicates, triples_of, occurrences, total, terms, events)
    kernels.role_events(*by_object[:2], graph.predicates, links_of, occurrences, total, terms + predicates, events)
    kernels.context_events(*by_subject, occurrences, total, base, events)
    kernels.context_events(*by_object, occurrences, total, base + contexts, events)
    n = int(events.size[0])
    return Similarities(base + contexts + object_contexts, events.terms[:n], events.contexts[:n], events.values[:n])


def _event_counts(graph: Graph, links: tuple[Ids, ...], predicate_events: Offsets) -> Offsets:
    """n(x): the events that each term is in, whether or not their context is a particle."""
    terms = len(graph.terms)
    counts = np.bincount(graph.subjects, minlength=terms) + np.bincount(links[0], minlength=terms)
    counts += 2 * np.bincount(links[2], minlength=terms)
    counts[graph.predicates] += predicate_events
    return counts
