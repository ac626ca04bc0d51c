"""Which classes get a colour: superclasses, and the classes that distinguish most points."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.embedding.embedding import Embedding

SUBCLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
MAX_CANDIDATES = 63  # classes to consider for the colours: each is a bit of a mask
MAX_PATTERNS = 20_000  # sets of classes, the most frequent ones, that decide about the colours

Masks = NDArray[np.int64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassTree:
    """The types of all subjects, and the superclasses of their classes.

    Attributes
    ----------
    types
        (subject, class), sorted by subject.
    above
        (class of some subject, the same class or one of its superclasses).
    """

    types: Ids
    above: Ids

    @classmethod
    def of(cls, embedding: Embedding) -> ClassTree:
        """The classes of an embedding; superclasses by rdfs:subClassOf, also indirect ones."""
        triples = embedding.triples
        found = embedding.terms.find(SUBCLASS) if len(triples) else -1
        parents: dict[int, list[int]] = defaultdict(list)
        if found >= 0:
            for child, _, parent in triples[triples[:, 1] == found].tolist():
                parents[child].append(parent)
        pairs = [
            (kind, above)
            for kind in np.unique(embedding.types[:, 1]).tolist()
            for above in _reachable(kind, parents)
        ]
        return cls(embedding.types, np.array(pairs, np.int32).reshape(-1, 2))

    def with_superclasses(self) -> Ids:
        """(subject, class) as in `types`, and a row (-1, class) for each superclass."""
        extra = self.above[self.above[:, 0] != self.above[:, 1], 1]
        return np.concatenate([self.types, np.column_stack([np.full_like(extra, -1), extra])])

    def largest(self) -> list[int]:
        """The classes with most subjects; a subject of several subclasses counts several times."""
        direct = np.bincount(self.types[:, 1])
        counts = np.bincount(self.above[:, 1], weights=direct[self.above[:, 0]])
        size = min(np.count_nonzero(counts), MAX_CANDIDATES)
        order: list[int] = np.argsort(-counts, kind="stable")[:size].tolist()
        return order

    def masks(self, classes: Sequence[int], terms: int) -> Masks:
        """For each term a number whose bit i says whether it has the class classes[i].

        It is −1, all bits, for a term without a type.
        """
        of_class = np.zeros(int(self.above.max(initial=0)) + 1, np.int64)
        for bit, kind in enumerate(classes):
            of_class[self.above[self.above[:, 1] == kind, 0]] |= 1 << bit
        masks = np.full(terms, -1, np.int64)
        if len(self.types):
            subjects, first = np.unique(self.types[:, 0], return_index=True)
            masks[subjects] = np.bitwise_or.reduceat(of_class[self.types[:, 1]], first)
        return masks


def _reachable(start: int, parents: dict[int, list[int]]) -> list[int]:
    """A class and all its superclasses; a cycle is followed once."""
    found, at = {start: None}, [start]
    while at:
        for parent in parents.get(at.pop(), ()):
            if parent >= 0 and parent not in found:
                found[parent] = None
                at.append(parent)
    return list(found)


@dataclass(frozen=True, eq=False)
class Patterns:
    """The different masks of points, and how many points have each; untyped points are not in it.

    `points` is the number of all points, `candidates` the number of bits.
    """

    masks: Masks
    counts: Counts
    points: int
    candidates: int

    @classmethod
    def of(cls, masks: Masks, candidates: int) -> Patterns:
        """The patterns of the points with these masks."""
        patterns, counts = np.unique(masks[masks >= 0], return_counts=True)
        most = np.argsort(-counts, kind="stable")[:MAX_PATTERNS]
        return cls(patterns[most], counts[most], len(masks), candidates)

    def sizes(self) -> Counts:
        """The number of points of each candidate."""
        return np.array(
            [self.counts[self.masks >> bit & 1 == 1].sum() for bit in range(self.candidates)],
            np.int64,
        )


def most_distinctive(patterns: Patterns, colours: int) -> list[int]:
    """The candidates that get a colour, those with most points first.

    A point has the colour of its smallest class with a colour. The chosen classes have the largest

        Σ n · ln(N / n) · n / m,

    where n of the N points have the colour of a class of m points. Such classes are large and
    overlap little. They are chosen one by one; then each is exchanged for a better one, if any.
    """
    sizes = patterns.sizes()
    chosen: list[int] = []
    while len(chosen) < colours:
        best = _best_addition(patterns, sizes, chosen)
        if best is None:
            break
        chosen.append(best)
    for number, old in enumerate(chosen):
        others = chosen[:number] + chosen[number + 1 :]
        best = _best_addition(patterns, sizes, others)
        if best is not None and _sum(patterns, sizes, [*others, best]) > _sum(
            patterns, sizes, [*others, old]
        ):
            chosen[number] = best
    used = [bit for bit, n in zip(chosen, _points(patterns, sizes, chosen), strict=True) if n]
    return sorted(used, key=lambda bit: (-sizes[bit], bit))


def _best_addition(patterns: Patterns, sizes: Counts, chosen: Sequence[int]) -> int | None:
    """The class that adds most to the sum, the smallest of equal ones; None if all add nothing."""
    base = _sum(patterns, sizes, chosen)
    free = [bit for bit in range(patterns.candidates) if bit not in chosen and sizes[bit]]
    values = {bit: round(_sum(patterns, sizes, [*chosen, bit]) - base, 6) for bit in free}
    best = max(free, key=lambda bit: (values[bit], -sizes[bit], -bit), default=None)
    return best if best is not None and values[best] > 0 else None


def _sum(patterns: Patterns, sizes: Counts, chosen: Sequence[int]) -> float:
    points = _points(patterns, sizes, chosen)
    some = points > 0
    n, m = points[some], sizes[list(chosen)][some]
    return float((n * np.log((patterns.points + 1) / n) * n / m).sum())


def _points(patterns: Patterns, sizes: Counts, chosen: Sequence[int]) -> Counts:
    """The number of points in the colour of each chosen class."""
    if not chosen:
        return np.zeros(0, np.int64)
    colour = smallest(patterns.masks, sizes, chosen)
    counts = np.bincount(colour + 1, weights=patterns.counts, minlength=len(chosen) + 1)
    points: Counts = counts[1:].astype(np.int64)
    return points


def smallest(masks: Masks, sizes: Counts, chosen: Sequence[int]) -> NDArray[np.int64]:
    """For each mask the position in `chosen` of its smallest class, −1 if it has none."""
    colour = np.full(len(masks), -1, np.int64)
    for at in sorted(range(len(chosen)), key=lambda at: (-sizes[chosen[at]], chosen[at])):
        colour[masks >> chosen[at] & 1 == 1] = at
    return colour
