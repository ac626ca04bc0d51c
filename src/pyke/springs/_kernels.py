"""Compiled loops that count co-occurrences and turn counts into spring constants σ.

Sorted columns (first, middle, last) are triples from one side: (subject, predicate, object) or
(object, predicate, subject). A run is a stretch of rows with equal (first, middle).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import kernel
from pyke.springs._selection import sink


@kernel
def ppmi(joint: int, x: int, y: int, total: int) -> np.float32:
    """Counts → float32 σ: positive pointwise mutual information.

    σ = max(0, ln(P(x, y) / (P(x) P(y)))). A single division gives equal ratios equal values.
    """
    return _sigma(_ratio(joint, x, y, total))


@kernel
def _sigma(ratio: float) -> np.float32:
    return np.float32(max(0.0, np.log(ratio)))


@kernel
def _ratio(joint: int, x: int, y: int, total: int) -> np.float64:
    return np.float64((np.float64(joint) * np.float64(total)) / (np.float64(x) * np.float64(y)))


@kernel
def count_occurrences(
    subjects: NDArray[np.int32],
    predicates: NDArray[np.int32],
    objects: NDArray[np.int32],
    out: NDArray[np.int64],
) -> None:
    """int32 columns of term ids (−1: literal) → out[x] = number of triples that contain x."""
    for i in range(subjects.shape[0]):
        s, p, o = subjects[i], predicates[i], objects[i]
        out[s] += 1
        if p != s:
            out[p] += 1
        if o >= 0 and o != s and o != p:
            out[o] += 1


@kernel
def pair_keys(
    subjects: NDArray[np.int32],
    predicates: NDArray[np.int32],
    objects: NDArray[np.int32],
    out: NDArray[np.uint64],
) -> int:
    """int32 columns → uint64 keys of the pairs of different terms in each triple; their number.

    key = min << 32 | max. A pair counts once per triple.
    """
    n = 0
    for i in range(subjects.shape[0]):
        s, p, o = subjects[i], predicates[i], objects[i]
        if s != p:
            out[n] = np.uint64(min(s, p)) << np.uint64(32) | np.uint64(max(s, p))
            n += 1
        if o >= 0 and o != s and o != p:
            out[n] = np.uint64(min(s, o)) << np.uint64(32) | np.uint64(max(s, o))
            n += 1
        if o >= 0 and o != s and o != p and s != p:
            out[n] = np.uint64(min(p, o)) << np.uint64(32) | np.uint64(max(p, o))
            n += 1
    return n


@kernel
def pair_similarities(
    keys: NDArray[np.uint64],
    occurrences: NDArray[np.int64],
    total: int,
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    values: NDArray[np.float32],
) -> int:
    """Sorted pair keys → the pairs with positive PPMI and their values; their number."""
    n = 0
    start = 0
    for i in range(1, keys.shape[0] + 1):
        if i == keys.shape[0] or keys[i] != keys[start]:
            x, y = (
                np.int64(keys[start] >> np.uint64(32)),
                np.int64(keys[start] & np.uint64(0xFFFFFFFF)),
            )
            sigma = ppmi(i - start, occurrences[x], occurrences[y], total)
            if sigma > 0:
                first[n], second[n], values[n] = x, y, sigma
                n += 1
            start = i
    return n


@kernel
def _run_from(first: NDArray[np.int32], middle: NDArray[np.int32], i: int) -> int:
    """The first row at or after i that begins a run."""
    while 0 < i < first.shape[0] and first[i] == first[i - 1] and middle[i] == middle[i - 1]:
        i += 1
    return i


@kernel
def count_contexts(
    first: NDArray[np.int32],
    middle: NDArray[np.int32],
    last: NDArray[np.int32],
    begin: int,
    end: int,
) -> tuple[int, int, int]:
    """Sorted columns → number of runs that begin in begin … end, of contexts, and of their members.

    A context is a run with at least two different terms in `last`, its members.
    """
    runs = contexts = members = 0
    i = _run_from(first, middle, begin)
    while i < end:
        different = 0
        start = i
        while i < first.shape[0] and first[i] == first[start] and middle[i] == middle[start]:
            if last[i] >= 0 and (i == start or last[i] != last[i - 1]):
                different += 1
            i += 1
        runs += 1
        if different > 1:
            contexts += 1
            members += different
    return runs, contexts, members


@kernel
def context_predicates(
    first: NDArray[np.int32],
    middle: NDArray[np.int32],
    last: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Sorted columns → the predicate of each context that `count_contexts` counts, in order."""
    i = n = 0
    while i < first.shape[0]:
        different = 0
        start = i
        while i < first.shape[0] and first[i] == first[start] and middle[i] == middle[start]:
            if last[i] >= 0 and (i == start or last[i] != last[i - 1]):
                different += 1
            i += 1
        if different > 1:
            out[n] = middle[start]
            n += 1


class Events(NamedTuple):
    """Pairs (term, context) with their σ; size[0] of them are filled."""

    size: NDArray[np.int64]
    terms: NDArray[np.int32]
    contexts: NDArray[np.int32]
    values: NDArray[np.float32]


@kernel
def _add_event(events: Events, term: int, context: int, sigma: np.float32) -> None:
    if sigma > 0:
        n = events.size[0]
        events.terms[n], events.contexts[n], events.values[n] = term, context, sigma
        events.size[0] = n + 1


class Counts(NamedTuple):
    """The counts that σ is computed from."""

    occurrences: NDArray[np.int64]  # n(x), events of each term
    total: int  # N, all events
    predicates: NDArray[np.int32]  # term ids
    triples_of: NDArray[np.int64]  # triples of each predicate that have this side


class Strongest(NamedTuple):
    """The strongest members of some contexts: a heap for each, with the weakest at its root."""

    sizes: NDArray[np.int64]
    members: NDArray[np.int32]  # (contexts, k)
    values: NDArray[np.float32]  # (contexts, k)
    refused: NDArray[np.float64]  # ratios up to this are too small; saves logarithms


@kernel
def _consider(strongest: Strongest, c: int, x: int, ratio: float) -> None:
    """Add x to the strongest members of context c if it is one of them.

    Members arrive in ascending order of ids. Of equal values the first ones stay.
    """
    if ratio <= strongest.refused[c]:
        return
    sigma, k = np.float32(np.log(ratio)), strongest.members.shape[1]
    members, values, size = strongest.members[c], strongest.values[c], strongest.sizes[c]
    if size < k:
        members[size], values[size] = x, sigma
        strongest.sizes[c] = size + 1
        if size + 1 == k:
            for i in range(k // 2, -1, -1):
                sink(values, members, k, i)
    elif sigma > values[0]:
        members[0], values[0] = x, sigma
        sink(values, members, k, 0)
    else:
        strongest.refused[c] = ratio


@kernel
def _add_strongest(strongest: Strongest, c: int, context: int, events: Events) -> None:
    for i in range(strongest.sizes[c]):
        _add_event(events, strongest.members[c, i], context, strongest.values[c, i])


class Choice(NamedTuple):
    """Chosen terms, and the strongest other members of their contexts; others are skipped."""

    terms: NDArray[np.bool_]
    others: Strongest


@kernel
def role_events(
    first: NDArray[np.int32],
    middle: NDArray[np.int32],
    counts: Counts,
    choice: Choice,
    base: int,
    begin: int,
    end: int,
    events: Events,
) -> None:
    """Sorted columns (term, predicate) → σ(term, role), for the runs that begin in begin … end.

    The role of predicate p has the id base + p. It means "is on this side of p". The predicate
    itself is a member too, as often as all others together, which makes n(role) = 2 n(p).
    """
    chosen, others = choice.terms, choice.others
    tied = np.zeros(counts.predicates.shape[0], np.bool_)
    i = _run_from(first, middle, begin)
    while i < end:
        start, x, p = i, first[i], middle[i]
        while i < first.shape[0] and first[i] == x and middle[i] == p:
            i += 1
        joint = i - start + (counts.triples_of[p] if x == counts.predicates[p] else 0)
        ratio = _ratio(joint, counts.occurrences[x], 2 * counts.triples_of[p], counts.total)
        if chosen[x]:
            tied[p] = True
            _add_event(events, x, base + p, _sigma(ratio))
        else:
            _consider(others, p, x, ratio)
    for p in range(counts.predicates.shape[0]):
        if tied[p] or chosen[counts.predicates[p]]:
            _add_strongest(others, p, base + p, events)


@kernel
def predicate_events(
    first: NDArray[np.int32], middle: NDArray[np.int32], counts: Counts, base: int, events: Events
) -> None:
    """σ of predicates in their own roles, except those that `role_events` has found.

    It finds predicates that are also the term of a triple with themselves as predicate.
    """
    for p in range(counts.predicates.shape[0]):
        x, n = counts.predicates[p], counts.triples_of[p]
        i = np.searchsorted(first, x)
        while i < first.shape[0] and first[i] == x and middle[i] < p:
            i += 1
        seen = i < first.shape[0] and first[i] == x and middle[i] == p
        if n > 0 and not seen:
            _add_event(events, x, base + p, ppmi(n, counts.occurrences[x], 2 * n, counts.total))


@kernel
def context_events(
    first: NDArray[np.int32],
    middle: NDArray[np.int32],
    last: NDArray[np.int32],
    counts: Counts,
    choice: Choice,
    base: int,
    begin: int,
    end: int,
    events: Events,
) -> None:
    """Sorted columns → σ(term, context), for the runs that begin in begin … end.

    A context means "is linked by this predicate to this other term". It has at least two members.
    The id of the first context is base.
    """
    context, chosen, others = base, choice.terms, choice.others
    i = _run_from(first, middle, begin)
    while i < end:
        start = i
        different = literals = 0
        near = False
        while i < first.shape[0] and first[i] == first[start] and middle[i] == middle[start]:
            if last[i] < 0:
                literals += 1
            elif i == start or last[i] != last[i - 1]:
                different += 1
                near |= chosen[last[i]]
            i += 1
        if different < 2:
            continue
        others.sizes[0], others.refused[0] = 0, 1
        few, size = different <= others.members.shape[1], i - start - literals
        j = start + literals if near else i
        while j < i:
            x, k = last[j], j
            while j < i and last[j] == x:
                j += 1
            ratio = _ratio(j - k, counts.occurrences[x], size, counts.total)
            if few or chosen[x]:
                _add_event(events, x, context, _sigma(ratio))
            else:
                _consider(others, 0, x, ratio)
        if near:
            _add_strongest(others, 0, context, events)
        context += 1


@kernel
def close_gaps(starts: NDArray[np.int64], sizes: NDArray[np.int64], events: Events) -> None:
    """Move the filled part of each stretch of events to the front, in order."""
    n = 0
    for stretch in range(starts.shape[0]):
        start = starts[stretch]
        for i in range(sizes[stretch]):
            events.terms[n], events.contexts[n], events.values[n] = (
                events.terms[start + i],
                events.contexts[start + i],
                events.values[start + i],
            )
            n += 1
    events.size[0] = n
