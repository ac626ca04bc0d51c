"""Compiled loops that turn events into spring constants σ.

An event is a term in a context, as one key: context << 32 | term. Sorted keys hold the events of a
context together, and the repeated events of a term in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import kernel
from pyke.springs._kernels import ppmi


@kernel
def pack(terms: NDArray[np.int32], contexts: NDArray[np.int32], out: NDArray[np.uint64]) -> None:
    """int32 columns (term, context) → uint64 out = context << 32 | term."""
    for i in range(terms.shape[0]):
        out[i] = np.uint64(contexts[i]) << np.uint64(32) | np.uint64(terms[i])


@kernel
def group_keys(
    subjects: NDArray[np.int32],
    predicates: NDArray[np.int32],
    objects: NDArray[np.int32],
    counted: NDArray[np.bool_],
    clusters: NDArray[np.int32],
    number: int,
    out: NDArray[np.uint64],
) -> int:
    """Columns of counted triples → uint64 keys of the events in coarse contexts; their number.

    context = (2 · predicate + side) · number + cluster of the other term; −1 gives no event.
    """
    n = 0
    for i in range(subjects.shape[0]):
        if counted[i]:
            for side in range(2):
                x, other = (subjects[i], objects[i]) if side == 0 else (objects[i], subjects[i])
                if clusters[other] >= 0:
                    context = (2 * np.int64(predicates[i]) + side) * number + clusters[other]
                    out[n] = np.uint64(context) << np.uint64(32) | np.uint64(x)
                    n += 1
    return n


@kernel
def class_keys(
    subjects: NDArray[np.int32],
    predicates: NDArray[np.int32],
    objects: NDArray[np.int32],
    counted: NDArray[np.bool_],
    offsets: NDArray[np.int64],
    classes: NDArray[np.int32],
    number: int,
    out: NDArray[np.uint64],
) -> int:
    """The same for each class of the other term x: classes[offsets[x] : offsets[x + 1]].

    A triple whose subject is its object gives no event: it would tell a term its own classes.
    """
    n = 0
    for i in range(subjects.shape[0]):
        if counted[i] and subjects[i] != objects[i]:
            for side in range(2):
                x, other = (subjects[i], objects[i]) if side == 0 else (objects[i], subjects[i])
                for c in classes[offsets[other] : offsets[other + 1]]:
                    context = (2 * np.int64(predicates[i]) + side) * number + c
                    out[n] = np.uint64(context) << np.uint64(32) | np.uint64(x)
                    n += 1
    return n


@kernel
def _term(key: np.uint64) -> int:
    return np.int64(key & np.uint64(0xFFFFFFFF))


@kernel
def _end_of_context(keys: NDArray[np.uint64], start: int) -> int:
    """The first row after the events of the context of row `start`."""
    context, i = keys[start] >> np.uint64(32), start
    while i < keys.shape[0] and keys[i] >> np.uint64(32) == context:
        i += 1
    return i


@kernel
def _members(keys: NDArray[np.uint64], start: int, end: int) -> int:
    """Number of different terms in the events start … end of one context."""
    members = 1
    for i in range(start + 1, end):
        members += keys[i] != keys[i - 1]
    return members


@kernel
def count_members(keys: NDArray[np.uint64], occurrences: NDArray[np.int64]) -> tuple[int, int]:
    """Sorted keys → number of contexts with at least two members, and of all their members.

    occurrences[x] += events of term x, also those in contexts with a single member.
    """
    contexts = pairs = i = 0
    while i < keys.shape[0]:
        start, i = i, _end_of_context(keys, i)
        members = _members(keys, start, i)
        if members > 1:
            contexts += 1
            pairs += members
        for j in range(start, i):
            occurrences[_term(keys[j])] += 1
    return contexts, pairs


@kernel
def weigh_events(
    keys: NDArray[np.uint64],
    occurrences: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    weight: np.float32,
    base: int,
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    values: NDArray[np.float32],
) -> int:
    """Sorted keys → pairs of term and context with positive σ; their number.

    σ = weight · max(0, ln(n(x, c) N / (n(x) n(c)))). A context has at least two members; the id of
    the first is base. Contexts without a chosen member have an id, but no pairs.
    """
    n = i = 0
    context = base
    while i < keys.shape[0]:
        start, i = i, _end_of_context(keys, i)
        if _members(keys, start, i) < 2:
            continue
        near = False
        for j in range(start, i):
            near |= chosen[_term(keys[j])]
        j = start if near else i
        while j < i:
            k, x = j, _term(keys[j])
            while j < i and keys[j] == keys[k]:
                j += 1
            sigma = weight * ppmi(j - k, occurrences[x], i - start, keys.shape[0])
            if sigma > 0:
                first[n], second[n], values[n] = x, context, sigma
                n += 1
        context += 1
    return n
