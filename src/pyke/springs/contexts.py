"""Context springs: terms are tied to what they have in common, instead of to one another.

Besides the terms there is a particle for every role (predicate, side) and for every context (predicate, side, other term) that
two or more terms share. Each triple (s, p, o) is six events: s and p in the role (p, subject side); o and p in (p, object side);
s in the context (p, subject side, o); o in (p, object side, s). A triple with a literal is two: s and p in (p, subject side).
σ(term, context) is the PPMI over all events. Events in contexts of a single term count, though they make no particle.
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
from pyke.springs import _kernels
from pyke.springs.similarity import Around, Similarities

MIN_ROWS = 1 << 15  # of a part: threads are not worth less

Finder = Callable[[_kernels.Events], None]


def context_similarities(
    graph: Graph, threads: int = 1, around: Around | None = None
) -> Similarities:
    """PPMI(x, c) = max(0, ln(n(x, c) N / (n(x) n(c)))) for every term x and role or context c it occurs in, or for those around some terms."""
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
    roles: list[tuple[int, Finder]] = []  # with the most events that each can find
    contexts: list[tuple[int, Finder]] = []
    context = terms + 2 * predicates
    for columns, number_of, role in (
        (by_subject, triples_of, terms),
        (by_object, links_of, terms + predicates),
    ):
        counts, all_roles = (
            _kernels.Counts(occurrences, total, graph.predicates, number_of),
            _choice(chosen, predicates, k),
        )
        borders = split_range(threads, len(columns[0]), MIN_ROWS)
        found = run_tasks(
            threads, [partial(_kernels.count_contexts, *columns, *border) for border in borders]
        )
        for border, (runs, number, members) in zip(borders, found, strict=True):
            if not around:
                roles.append(
                    (
                        runs,
                        partial(
                            _kernels.role_events, *columns[:2], counts, all_roles, role, *border
                        ),
                    )
                )
            contexts.append(
                (
                    members,
                    partial(
                        _kernels.context_events,
                        *columns,
                        counts,
                        _choice(chosen, 1, k),
                        context,
                        *border,
                    ),
                )
            )
            context += number
        if around:  # the strongest of a role may be anywhere
            runs = sum(runs for runs, _, _ in found)
            roles.append(
                (
                    runs,
                    partial(
                        _kernels.role_events,
                        *columns[:2],
                        counts,
                        all_roles,
                        role,
                        0,
                        len(columns[0]),
                    ),
                )
            )
        roles.append((predicates, partial(_kernels.predicate_events, *columns[:2], counts, role)))
    require_ids(context)
    return Similarities(context, *_find_events(roles + contexts, threads))


def _choice(chosen: NDArray[np.bool_], contexts: int, k: int) -> _kernels.Choice:
    """The terms whose events are all wanted, and room for the k strongest others of some contexts. A ratio of 1 is σ = 0."""
    members, values = np.empty((contexts, k), np.int32), np.empty((contexts, k), np.float32)
    return _kernels.Choice(
        chosen, _kernels.Strongest(np.zeros(contexts, np.int64), members, values, np.ones(contexts))
    )


def _find_events(finders: list[tuple[int, Finder]], threads: int) -> tuple[Ids, Ids, Floats]:
    """The events of all finders, in their order: each writes into a stretch of its own, then the stretches are moved together."""
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
    """n(x): the events that each term is in, whether or not their context is a particle."""
    counts = np.zeros(len(graph.terms), np.int64)
    for column in (graph.subjects, links[0], links[2], links[2]):
        count_rows(column, counts)
    counts[graph.predicates] += predicate_events
    return counts
