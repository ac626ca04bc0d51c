"""The simulation on quarters of the dimensions, for graphs whose complete rows do not fit.

Quarter j holds the columns j, j + 4, j + 8, … of all particles. An iteration needs all quarters
twice: to find the distances of repellers, and to move. Only one quarter is needed at a time, and
its new positions go to a buffer of the same size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import BLOCK_ROWS, Floats, Matrix
from pyke.core.parallel import parallel_for
from pyke.core.scratch import Scratch, ScratchFile
from pyke.simulation import _quarters
from pyke.simulation.forces import System
from pyke.simulation.layouts import QUARTERS, SPRINGS_AT_ONCE
from pyke.simulation.rows import at_energy, bounds_of, rescale

ROWS_AT_ONCE = 1 << 14  # complete rows, of positions that are read or written
_MOVES: dict[str, Callable[..., None]] = {
    "radial": _quarters.move_radial,
    "elementwise": _quarters.move_elementwise,
}


class Quarters:
    """Positions in quarters, in memory or in scratch files; one buffer for new positions."""

    def __init__(self, particles: int, stride: int, in_memory: int, scratch: Scratch) -> None:
        self.shape = (particles, stride)
        shape = (particles, stride // QUARTERS)
        self._places: list[Floats | ScratchFile] = [
            np.empty(shape, np.float32)
            if number < in_memory
            else scratch.file(4 * shape[0] * shape[1])
            for number in range(QUARTERS)
        ]
        self.following = np.empty(shape, np.float32)
        self._loaded = np.empty(shape if in_memory < QUARTERS else (0, shape[1]), np.float32)
        self._number = -1  # of the loaded quarter

    def load(self, number: int) -> Floats:
        """A quarter of all positions, which stays valid until another one is loaded."""
        place = self._places[number]
        if isinstance(place, np.ndarray):
            return place
        if self._number != number:
            place.read(self._loaded)
            self._number = number
        return self._loaded

    def expect(self, number: int) -> None:
        """Say that a quarter will be loaded next."""
        if isinstance(place := self._places[number], ScratchFile):
            place.expect()

    def replace(self, number: int) -> None:
        """Make the positions in `following` the new ones of a quarter."""
        place = self._places[number]
        if isinstance(place, np.ndarray):
            self._places[number], self.following = self.following, place
        else:
            place.write(self.following)
            self._loaded, self.following = self.following, self._loaded
            self._number = number

    def __getitem__(self, wanted: slice) -> Floats:
        """Complete rows, as of an array."""
        begin, end, _ = wanted.indices(self.shape[0])
        rows = np.empty((end - begin, self.shape[1]), np.float32)
        for number, place in enumerate(self._places):
            if isinstance(place, np.ndarray):
                part = place[begin:end]
            else:
                part = np.empty((end - begin, self.shape[1] // QUARTERS), np.float32)
                place.read(part, begin * part.shape[1] * part.itemsize)
            rows[:, number::QUARTERS] = part
        return rows

    def set_rows(self, begin: int, rows: Floats) -> None:
        """Replace complete rows from `begin`."""
        self._number = -1
        for number, place in enumerate(self._places):
            part = np.ascontiguousarray(rows[:, number::QUARTERS])
            if isinstance(place, np.ndarray):
                place[begin : begin + len(part)] = part
            else:
                place.write(part, begin * part.shape[1] * part.itemsize)

    def blocks(self) -> Iterator[Floats]:
        """All rows in order, some at a time."""
        for begin in range(0, self.shape[0], ROWS_AT_ONCE):
            yield self[begin : begin + ROWS_AT_ONCE]


class Springs:
    """Columns, σ and lengths of all springs, in memory or in scratch files."""

    def __init__(self, springs: Matrix, in_memory: bool, scratch: Scratch) -> None:
        self._offsets = springs.offsets
        self._arrays: list[NDArray[Any]] = [springs.columns, springs.values]
        size = len(springs.columns)
        if in_memory:
            self._arrays.append(np.zeros(size, np.float32))
            self._files: list[ScratchFile] = []
            return
        self._files = [scratch.file(4 * size) for _ in range(3)]
        for file, array in zip(self._files, self._arrays, strict=False):
            file.write(array)
        zeros = np.zeros(min(size, SPRINGS_AT_ONCE), np.float32)
        for begin in range(0, size, SPRINGS_AT_ONCE):
            self._files[2].write(zeros[: size - begin], 4 * begin)
        self._arrays = []

    def parts(self) -> Iterator[tuple[int, int, int, list[NDArray[Any]]]]:
        """Blocks begin … end of particles, their first spring, and the arrays of their springs.

        Changes of the lengths are kept.
        """
        blocks = -(-(len(self._offsets) - 1) // BLOCK_ROWS)
        if not self._files:
            yield 0, blocks, 0, list(self._arrays)
            return
        ends = self._offsets[
            np.minimum(np.arange(1, blocks + 1) * BLOCK_ROWS, len(self._offsets) - 1)
        ]
        begin = 0
        while begin < blocks:
            first = int(self._offsets[begin * BLOCK_ROWS])
            end = max(begin + 1, int(np.searchsorted(ends, first + SPRINGS_AT_ONCE, "right")))
            size = int(ends[end - 1]) - first
            arrays: list[NDArray[Any]] = [
                np.empty(size, kind) for kind in (np.int32, np.float32, np.float32)
            ]
            for file, array in zip(self._files, arrays, strict=True):
                file.read(array, 4 * first)
            yield begin, end, first, arrays
            self._files[2].write(arrays[2], 4 * first)
            begin = end


_Part = tuple[System, _quarters.Work]  # of some blocks of particles


class QuarterCloud:
    """Particles whose positions are in quarters."""

    def __init__(
        self, system: System, springs: Springs, quarters: Quarters, config: Config
    ) -> None:
        self._system, self._springs, self.positions = system, springs, quarters
        self._move, self._threads = _MOVES[config.repulsion], config.threads
        self._repel_above = config.repel_above
        self._squares = np.empty(system.members.shape, np.float32)
        self._moved = np.zeros(len(system.moves), np.float32)

    def overwrites(self, positions: object) -> bool:
        """Whether the next step writes to these positions: there is one copy of them only."""
        return positions is self.positions

    def step(self, moves: NDArray[np.bool_], energy: float) -> NDArray[np.float64]:
        """Move particles at the same time; J and displacement of each block."""
        system = at_energy(self._system._replace(moves=moves), energy, self._repel_above)
        self._find_squares(system)
        for number in range(QUARTERS):
            move = partial(self._move_blocks, np.float32(energy), self.positions.load(number))
            self.positions.expect(min(number + 1, QUARTERS - 1))
            self._for_all_springs(system, move)
            self.positions.replace(number)
        sums = np.zeros((len(system.pool_offsets) - 1, 2), np.float64)
        self._for_all_springs(
            system, lambda part, begin, end: _quarters.sum_up(*part, begin, end, sums)
        )
        return sums

    def _move_blocks(
        self, energy: np.float32, quarter: Floats, part: _Part, begin: int, end: int
    ) -> None:
        self._move(*part, energy, begin, end, quarter, self.positions.following)

    def _for_all_springs(self, system: System, work: Callable[[_Part, int, int], None]) -> None:
        """Call work(part, begin, end) for blocks begin … end of all particles."""
        for first, last, before, (columns, sigma, lengths) in self._springs.parts():
            part = (
                system._replace(columns=columns, sigma=sigma),
                _quarters.Work(before, lengths, self._squares, self._moved),
            )
            parallel_for(
                self._threads,
                last - first,
                lambda begin, end, f=first, p=part: work(p, f + begin, f + end),  # type: ignore[misc]
            )

    def _find_squares(self, system: System) -> None:
        """d² of each particle and its repellers: (0 + 2) + (1 + 3) of the quarters."""
        even, odd = self._squares, self._buffer(self._squares.shape)
        even.fill(0)
        odd.fill(0)
        for number in range(QUARTERS - 1, -1, -1):  # ends with the one that moves first
            quarter, out = self.positions.load(number), odd if number % 2 else even
            self.positions.expect(max(number - 1, 0))
            parallel_for(
                self._threads,
                len(system.pool_offsets) - 1,
                lambda begin, end, q=quarter, o=out: _quarters.add_squares(  # type: ignore[misc]
                    system, begin, end, q, o
                ),
            )
        even += odd

    def _buffer(self, shape: tuple[int, ...]) -> Floats:
        """Space for an array, in the buffer of new positions if it is large enough."""
        size, free = shape[0] * shape[1], self.positions.following.reshape(-1)
        return free[:size].reshape(shape) if size <= len(free) else np.empty(shape, np.float32)

    def rescale(self) -> None:
        """Rescale each dimension to [0, 1]."""
        for number in range(QUARTERS):
            np.copyto(self.positions.following, self.positions.load(number))
            following = self.positions.following
            rescale(following, bounds_of(following), self._threads)
            self.positions.replace(number)
