"""Who owns which terms and particles: ranges of ids that begin at multiples of a block.

A partition owns a range of terms, the contexts of these terms, and some roles. The members of a
context are often near its term, because terms are numbered in the order of the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import BLOCK_ROWS, Offsets

AnyIds = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Layout:
    """Ids 0 … size in ranges, each with an owner. Ranges of an owner need not be neighbours."""

    borders: Offsets  # from 0 to size
    owners: Offsets  # of each range

    @property
    def size(self) -> int:
        """The number of ids."""
        return int(self.borders[-1])

    def owners_of(self, ids: AnyIds) -> Offsets:
        """The owner of each id."""
        owners: Offsets = self.owners[np.searchsorted(self.borders, ids, "right") - 1]
        return owners

    def ranges_of(self, owner: int) -> list[tuple[int, int]]:
        """The ranges of an owner, ascending."""
        mine = np.flatnonzero(self.owners == owner)
        return [(int(self.borders[i]), int(self.borders[i + 1])) for i in mine]

    def count_of(self, owner: int) -> int:
        """The number of ids of an owner."""
        return sum(end - begin for begin, end in self.ranges_of(owner))

    def rows_of(self, ids: AnyIds, owner: int) -> Offsets:
        """The row of each id among the ids of its owner."""
        ranges = self.ranges_of(owner)
        begins = np.array([begin for begin, _ in ranges], np.int64)
        starts = np.cumsum([0, *(end - begin for begin, end in ranges)])[:-1]
        number = np.searchsorted(begins, ids, "right") - 1
        rows: Offsets = ids - begins[number] + starts[number]
        return rows

    def split(self, ids: AnyIds, partitions: int) -> list[Offsets]:
        """The positions of the ids of each owner, in their order."""
        owners = self.owners_of(ids).astype(np.int16 if partitions < 1 << 15 else np.int64)
        order = np.argsort(owners, kind="stable")  # numbers of 16 bits are sorted by their digits
        return np.split(order, np.searchsorted(owners[order], np.arange(1, partitions)))


def layout_of_terms(terms: int, partitions: int) -> Layout:
    """Terms in ranges of the same number of blocks."""
    blocks = -(-terms // BLOCK_ROWS)
    wanted = [min(terms, BLOCK_ROWS * (blocks * p // partitions)) for p in range(partitions)]
    return _layout(wanted, list(range(partitions)), terms)


def layout_of_particles(
    terms: Layout, roles: int, contexts: Sequence[Sequence[int]], partitions: int
) -> Layout:
    """Particles: terms, roles, and contexts of each side; `contexts` has their number by owner.

    A border between owners moves to the block that it is in.
    """
    wanted = [int(border) for border in terms.borders[:-1]]
    owners = terms.owners.tolist()
    base = terms.size
    wanted += [base + roles * p // partitions for p in range(partitions)]
    base += roles
    for side in contexts:
        wanted += (base + np.cumsum([0, *side])[:-1]).tolist()
        base += sum(side)
    owners += 3 * list(range(partitions))
    return _layout([border // BLOCK_ROWS * BLOCK_ROWS for border in wanted], owners, base)


def _layout(begins: list[int], owners: list[int], size: int) -> Layout:
    """Ranges that begin there; empty ones are dropped."""
    ends = [*begins[1:], size]
    kept = [(b, o) for b, e, o in zip(begins, ends, owners, strict=True) if b < e]
    return Layout(
        np.array([*(b for b, _ in kept), size], np.int64),
        np.array([o for _, o in kept], np.int64),
    )
