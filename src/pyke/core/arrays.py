"""Array types, and the sparse containers that stages exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

Ids = NDArray[np.int32]

Offsets = NDArray[np.int64]

Floats = NDArray[np.float32]

Keys = NDArray[np.uint64]


def positions(ids: NDArray[np.integer[Any]], among: NDArray[np.integer[Any]]) -> Offsets:
    """The position of each id in an ascending array, or −1."""
    at = np.minimum(np.searchsorted(among, ids), len(among) - 1)
    return np.where(among[at] == ids, at, -1) if len(among) else at


def ranges(starts: NDArray[np.integer[Any]], sizes: NDArray[np.integer[Any]]) -> Offsets:
    """start, start + 1, … of each range, concatenated."""
    ends = np.cumsum(sizes, dtype=np.int64)
    moved = np.repeat(starts - (ends - sizes), sizes)
    return moved + np.arange(len(moved))


def keys_of_sets(members: NDArray[np.integer[Any]], offsets: Offsets, number: int) -> Keys:
    """A key for each set members[offsets[i] : offsets[i + 1]], where members are below `number`.

    It is the sum of a random number per member. So equal sets have equal keys, and two different
    ones hardly ever have. The two lowest bits are 0.
    """
    rng = np.random.default_rng(2013)
    codes = rng.integers(1 << 62, size=number, dtype=np.uint64) << np.uint64(2)
    sums = np.append(np.uint64(0), np.cumsum(codes[members]))
    keys: Keys = sums[offsets[1:]] - sums[offsets[:-1]]
    return keys


@dataclass(frozen=True)
class Matrix:
    """A sparse matrix in CSR form: row x has columns[offsets[x] : offsets[x + 1]]."""

    offsets: Offsets
    columns: Ids
    values: Floats

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    def of(self, row: int) -> Ids:
        """The columns of a row."""
        columns: Ids = self.columns[self.offsets[row] : self.offsets[row + 1]]
        return columns


@dataclass(frozen=True)
class Repellers:
    """Repelling particles N(x). Blocks of BLOCK_ROWS particles share a pool to draw from.

    The first counts[x] entries of members[x] are positions in the pool of x's block.
    """

    pool_offsets: Offsets
    pool: Ids
    members: NDArray[np.unsignedinteger[Any]]  # (particles, maximum count)
    counts: NDArray[np.uint16]

    def of(self, particle: int, block_rows: int) -> Ids:
        """The particles that repel a particle."""
        start = self.pool_offsets[particle // block_rows]
        members: Ids = self.pool[
            start + self.members[particle, : self.counts[particle]].astype(np.int64)
        ]
        return members


BLOCK_ROWS = 512


class GrowingArray:
    """An array that grows at its end, in place where the operating system allows it."""

    def __init__(self, dtype: Any, columns: int = 0) -> None:
        self._shape = (columns,) if columns else ()
        self.array: NDArray[Any] = np.empty((1024, *self._shape), dtype)
        self.used = 0

    def reserve(self, more: int) -> NDArray[Any]:
        """The array, enlarged to hold `more` rows after the used ones."""
        needed = self.used + more
        if needed > len(self.array):
            # Small steps: NumPy fills what is reserved with zeros, so it takes memory at once.
            self.array.resize((max(needed, len(self.array) * 9 // 8), *self._shape), refcheck=False)
        return self.array

    def take(self, count: int) -> NDArray[Any]:
        """The next `count` rows, for the caller to fill."""
        room = self.reserve(count)[self.used : self.used + count]
        self.used += count
        return room

    @property
    def rows(self) -> NDArray[Any]:
        """The used rows, until the array grows."""
        return self.array[: self.used]

    def finish(self) -> NDArray[Any]:
        """The used rows; the object is empty afterwards."""
        array, self.array = self.array, np.empty((0, *self._shape), self.array.dtype)
        array.resize((self.used, *self._shape), refcheck=False)
        return array
