"""Context springs link terms to what they have in common, instead of to one another.

Besides the terms there is a particle for each role (predicate, side) and for each context
(predicate, side, other term) that at least two terms share. A triple (s, p, o) is six events:

- s and p occur in the role (p, subject side);
- o and p occur in the role (p, object side);
- s occurs in the context (p, subject side, o);
- o occurs in the context (p, object side, s).

A triple with a literal is two events: s and p occur in the role (p, subject side). σ(term, context)
is the PPMI over all events. Events in contexts with a single term count, but those contexts are not
particles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats, Ids, Offsets
from pyke.core.counts import count_rows
from pyke.core.parallel import run_tasks, split_range
from pyke.graph.build import require_ids, sorted_columns
from pyke.graph.graph import LITERAL, Graph
from pyke.graph.roles import OBJECT, SUBJECT
from pyke.springs import _kernels
from pyke.springs.similarity import Around, Similarities

MIN_ROWS = 1 << 15  # per task; smaller tasks are not worth a thread

Finder = Callable[[_kernels.Events], None]


def context_similarities(
    graph: Graph, threads: int = 1, around: Around | None = None
) -> Similarities:
    """Similarity of each term and each of its roles and contexts, or of those around some terms.

    σ(x, c) = max(0, ln(n(x, c) N / (n(x) n(c)))) for a term x in a role or context c.
    """
    terms, predicates = len(graph.terms), len(graph.predicates)
    resource = graph.objects != LITERAL
    by_subject = (graph.subjects, graph.predicate_positions, graph.objects)
    links = by_subject if resource.all() else tuple(column[resource] for column in by_subject)
    by_object = sorted_columns([links[2], links[1], links[0]], predicates, terms)

    triples_of = np.bincount(graph.predicate_positions, minlength=predicates)
    links_of = np.bincount(links[1], minlength=predicates)
    occurrences = _event_counts(graph, links, triples_of + links_of)
    total = int(occurrences.sum())

    chosen, k = (around.terms, min(around.k, terms)) if around else (np.ones(terms, bool), 1)
    roles: list[tuple[int, Finder]] = []  # with the maximum number of events that each can find
    contexts: list[tuple[int, Finder]] = []
    context = terms + 2 * predicates
    for columns, number_of, role in (
        (by_subject, triples_of, terms),
        (by_object, links_of, terms + predicates),
    ):
        counts = _kernels.Counts(occurrences, total, graph.predicates, number_of)
        borders = split_range(threads, len(columns[0]), MIN_ROWS)
        tasks = [partial(_kernels.count_contexts, *columns, *border) for border in borders]
        sizes = run_tasks(threads, tasks)
        strongest = _choice(chosen, predicates, k)
        find_roles = partial(_kernels.role_events, *columns[:2], counts, strongest, role)
        if around:  # the strongest members of a role can be in any part
            runs = sum(runs for runs, _, _ in sizes)
            roles.append((runs, partial(find_roles, 0, len(columns[0]))))
        for border, (runs, number, members) in zip(borders, sizes, strict=True):
            if not around:
                roles.append((runs, partial(find_roles, *border)))
            strongest = _choice(chosen, 1, k)
            find = partial(_kernels.context_events, *columns, counts, strongest, context, *border)
            contexts.append((members, find))
            context += number
        roles.append((predicates, partial(_kernels.predicate_events, *columns[:2], counts, role)))
    require_ids(context)
    return Similarities(context, *_find_events(roles + contexts, threads))


def context_roles(graph: Graph) -> Ids:
    """The role (see graph/roles.py) of each particle after the terms, in their order.

    Predicates are positions in `graph.predicates`.
    """
    predicates = len(graph.predicates)
    linked = graph.objects != LITERAL
    links = [c[linked] for c in (graph.objects, graph.predicate_positions, graph.subjects)]
    by_subject = (graph.subjects, graph.predicate_positions, graph.objects)
    by_object = sorted_columns(links, predicates, len(graph.terms))
    every = np.arange(predicates, dtype=np.int32)
    roles = [2 * every + SUBJECT, 2 * every + OBJECT]
    # Triples sorted by subject give the contexts of objects, and the other way round.
    for columns, side in ((by_subject, OBJECT), (by_object, SUBJECT)):
        size = len(columns[0])
        _, contexts, _ = _kernels.count_contexts(*columns, 0, size)
        found = np.empty(contexts, np.int32)
        _kernels.context_predicates(*columns, found)
        roles.append(2 * found + side)
    return np.concatenate(roles)


def weigh_types(graph: Graph, type_predicate: str, weight: float, found: Similarities) -> None:
    """Multiply σ of terms and contexts of the type predicate by a weight, in place.

    Its roles keep σ: a term that lacks a type would otherwise be far from all that have one.
    """
    states_types = graph.predicates == graph.terms.find(type_predicate)
    if not states_types.any():
        return
    chosen = states_types[context_roles(graph) // 2]
    chosen[: 2 * len(graph.predicates)] = False  # the roles come first
    weights = np.ones(found.particles, np.float32)
    weights[len(graph.terms) :][chosen] = weight
    np.multiply(found.values, weights[found.second], out=found.values)


def _choice(chosen: NDArray[np.bool_], contexts: int, k: int) -> _kernels.Choice:
    """The chosen terms, and room for the k strongest other members of each context."""
    members, values = np.empty((contexts, k), np.int32), np.empty((contexts, k), np.float32)
    return _kernels.Choice(
        chosen,
        # A ratio of 1 is σ = 0.
        _kernels.Strongest(np.zeros(contexts, np.int64), members, values, np.ones(contexts)),
    )


def _find_events(finders: list[tuple[int, Finder]], threads: int) -> tuple[Ids, Ids, Floats]:
    """The events of all finders in their order: each fills a stretch, then the gaps are closed."""
    borders = np.append(np.int64(0), np.cumsum([room for room, _ in finders]))
    size = int(borders[-1])
    events = _kernels.Events(
        np.zeros(1, np.int64),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.empty(size, np.float32),
    )

    def find(number: int) -> int:
        stretch = slice(borders[number], borders[number + 1])
        own = _kernels.Events(
            np.zeros(1, np.int64),
            events.terms[stretch],
            events.contexts[stretch],
            events.values[stretch],
        )
        finders[number][1](own)
        return int(own.size[0])

    sizes = np.array(run_tasks(threads, [partial(find, number) for number in range(len(finders))]))
    _kernels.close_gaps(borders[:-1], sizes, events)
    n = int(events.size[0])
    return events.terms[:n], events.contexts[:n], events.values[:n]


def _event_counts(graph: Graph, links: tuple[Ids, ...], predicate_events: Offsets) -> Offsets:
    """n(x): number of events of each term, including those in contexts that are not particles."""
    counts = np.zeros(len(graph.terms), np.int64)
    for column in (graph.subjects, links[0], links[2], links[2]):
        count_rows(column, counts)
    counts[graph.predicates] += predicate_events
    return counts
