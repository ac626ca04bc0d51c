"""Similarities from events: a term occurs in a context.

The similarity of a term and a context is the PPMI over the given events alone. The similarities of
other events do not change if these are joined to them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.graph.build import require_ids
from pyke.springs import _events
from pyke.springs.similarity import Around, Similarities


def event_similarities(
    terms: Ids, contexts: Ids, number: int, weight: float = 1.0, around: Around | None = None
) -> Similarities:
    """Similarity of terms and contexts, each pair of them one event, in any order.

    σ(x, c) = weight · max(0, ln(n(x, c) N / (n(x) n(c)))) over these events. Contexts with at least
    two different terms become particles, in the order of their numbers, after the `number` terms.

    Examples
    --------
    >>> terms, contexts = np.array([0, 1, 2, 2], np.int32), np.array([7, 7, 9, 9], np.int32)
    >>> found = event_similarities(terms, contexts, number=3)
    >>> found.particles, found.first.tolist(), found.second.tolist(), found.values.tolist()
    (4, [0, 1], [3, 3], [0.6931471824645996, 0.6931471824645996])
    """
    keys = np.empty(len(terms), np.uint64)
    _events.pack(terms, contexts, keys)
    return similarities_of_keys(keys, number, weight, around)


def similarities_of_keys(
    keys: NDArray[np.uint64], number: int, weight: float = 1.0, around: Around | None = None
) -> Similarities:
    """The same for events as keys: context << 32 | term. It sorts the keys in place."""
    keys.sort()
    occurrences = np.zeros(number, np.int64)
    shared, pairs = _events.count_members(keys, occurrences)
    require_ids(number + shared)
    first, second = np.empty(pairs, np.int32), np.empty(pairs, np.int32)
    values = np.empty(pairs, np.float32)
    chosen = np.ones(number, bool) if around is None else around.terms
    n = _events.weigh_events(
        keys, occurrences, chosen, np.float32(weight), number, first, second, values
    )
    return Similarities(number + shared, first[:n], second[:n], values[:n])


def join(terms: int, *parts: Similarities) -> Similarities:
    """Several similarities of the same terms. The other particles of each follow one another.

    Examples
    --------
    >>> one = event_similarities(np.arange(2, dtype=np.int32), np.zeros(2, np.int32), number=5)
    >>> join(5, one, one).particles
    7
    """
    particles = terms
    moved: list[list[Ids]] = [[], []]
    for part in parts:
        for ids, out in zip((part.first, part.second), moved, strict=True):
            out.append(np.where(ids < terms, ids, ids + np.int32(particles - terms)))
        particles += part.particles - terms
        require_ids(particles)
    first, second = map(np.concatenate, moved)
    return Similarities(particles, first, second, np.concatenate([part.values for part in parts]))
