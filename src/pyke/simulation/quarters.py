"""The simulation on quarters of the dimensions, for graphs whose complete rows do not fit.

Quarter j holds the columns j, j + 4, j + 8, … of all particles. An iteration needs all quarters
twice: to find the distances of repellers, and to move. Only one quarter is needed at a time. Its
new positions go to a buffer of the same size, or slab by slab to the scratch file of the quarter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import BLOCK_ROWS, Floats
from pyke.core.parallel import parallel_for
from pyke.core.scratch import Scratch, ScratchFile
from pyke.simulation import _quarters
from pyke.simulation.forces import System
from pyke.simulation.layouts import QUARTERS
from pyke.simulation.rows import at_energy, bounds_of, rescale
from pyke.simulation.slabs import Arrays, Slab, Slabs

ROWS_AT_ONCE = 1 << 12  # complete rows, of positions that are read or written
_MOVES: dict[str, Callable[..., None]] = {
    "radial": _quarters.move_radial,
    "elementwise": _quarters.move_elementwise,
}
# What a part of a step reads of a slab on disk.
_POOLS = ("pool_offsets", "pool", "members", "counts")
_FORCES = (*_POOLS, "offsets", "columns", "sigma", "inverse_inertia", "lengths", "squares", "moved")
_SUMS = ("offsets", "lengths", "counts", "squares", "moved")


class Quarters:
    """Positions in quarters, in memory or in scratch files."""

    def __init__(self, particles: int, stride: int, in_memory: int, scratch: Scratch) -> None:
        self.shape = (particles, stride)
        shape, nothing = (particles, stride // QUARTERS), (0, stride // QUARTERS)
        self._places: list[Floats | ScratchFile] = [
            np.empty(shape, np.float32)
            if number < in_memory
            else scratch.file(4 * shape[0] * shape[1])
            for number in range(QUARTERS)
        ]
        self.following = np.empty(shape if in_memory else nothing, np.float32)
        self._loaded = np.empty(shape if in_memory < QUARTERS else nothing, np.float32)
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

    def room(self, number: int, begin: int, end: int) -> Floats:
        """Space for the new rows begin … end of a quarter."""
        if isinstance(self._places[number], np.ndarray):
            return self.following[begin:end]
        return np.empty((end - begin, self.following.shape[1]), np.float32)

    def put(self, number: int, begin: int, rows: Floats) -> None:
        """Keep new rows that are in their room; `load` still gives the old ones."""
        if isinstance(place := self._places[number], ScratchFile):
            place.write(rows, begin * rows.shape[1] * rows.itemsize)

    def replace(self, number: int) -> None:
        """Make the rows that were put the new ones of a quarter."""
        place = self._places[number]
        if isinstance(place, np.ndarray):
            self._places[number], self.following = self.following, place
        else:
            self._number = -1

    def release(self) -> None:
        """Free the buffers, which no step needs any more."""
        self.following = self._loaded = self.following[:0].copy()
        self._number = -1

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


class QuarterCloud:
    """Particles whose positions are in quarters."""

    def __init__(self, slabs: Slabs, quarters: Quarters, config: Config) -> None:
        self._slabs, self.positions = slabs, quarters
        self._move, self._threads = _MOVES[config.repulsion], config.threads
        self._omega, self._repel_above = np.float32(config.omega), config.repel_above
        self._odds: dict[int, Floats] = {}  # of slabs in memory, by their first particle

    def overwrites(self, positions: object) -> bool:
        """Whether the next step writes to these positions: there is one copy of them only."""
        return positions is self.positions

    def step(self, moves: NDArray[np.bool_], energy: float) -> NDArray[np.float64]:
        """Move particles at the same time; J and displacement of each block."""
        for number in range(QUARTERS - 1, -1, -1):  # ends with the one that moves first
            self._find_squares(number, moves, energy)
        for number in range(QUARTERS):
            self._move_quarter(number, moves, energy)
        sums = np.zeros((-(-len(moves) // BLOCK_ROWS), 2), np.float64)
        for slab in self._slabs:
            arrays = slab.read(*_SUMS)
            system, work = self._system(slab, arrays, moves, energy), _work(slab, arrays)
            self._for_blocks(
                slab, _quarters.sum_up, (system, work), (sums[slab.begin // BLOCK_ROWS :],)
            )
            slab.write(arrays, "lengths", "moved")
        return sums

    def _find_squares(self, number: int, moves: NDArray[np.bool_], energy: float) -> None:
        """d² of each particle and its repellers: (0 + 2) + (1 + 3) of the quarters."""
        quarter, name = self.positions.load(number), "odd_squares" if number % 2 else "squares"
        self.positions.expect(max(number - 1, 0))
        for slab in self._slabs:
            arrays = slab.read(*_POOLS, *(() if number > 1 else (name,)))
            if not slab.on_disk:
                arrays = arrays | {"odd_squares": self._odd(slab, arrays["squares"].shape)}
            elif number > 1:
                arrays[name] = np.empty(arrays["members"].shape, np.float32)
            out, own = arrays[name], quarter[slab.begin : slab.end]
            if number > 1:
                out.fill(0)
            system = self._system(slab, arrays, moves, energy)
            self._for_blocks(slab, _quarters.add_squares, (system,), (quarter, own, out))
            if number == 0:
                odd = slab.read("odd_squares") if slab.on_disk else arrays
                out += odd["odd_squares"]
            slab.write(arrays, name)

    def _move_quarter(self, number: int, moves: NDArray[np.bool_], energy: float) -> None:
        quarter, positions = self.positions.load(number), self.positions
        positions.expect(min(number + 1, QUARTERS - 1))
        for slab in self._slabs:
            arrays = slab.read(*_FORCES)
            out = positions.room(number, slab.begin, slab.end)
            system, work = self._system(slab, arrays, moves, energy), _work(slab, arrays)
            own = quarter[slab.begin : slab.end]
            before = (system, work, np.float32(energy))
            self._for_blocks(slab, self._move, before, (quarter, own, out))
            slab.write(arrays, "lengths", "moved")
            positions.put(number, slab.begin, out)
        positions.replace(number)

    def _system(
        self, slab: Slab, arrays: Arrays, moves: NDArray[np.bool_], energy: float
    ) -> System:
        """The arrays of a slab for the kernels."""
        fields = {name: arrays[name] for name in System._fields if name in arrays}
        system = System(
            **fields, block_rows=BLOCK_ROWS, omega=self._omega, moves=moves[slab.begin : slab.end]
        )
        return at_energy(system, energy, self._repel_above)

    def _for_blocks(
        self,
        slab: Slab,
        kernel: Callable[..., None],
        before: tuple[Any, ...],
        after: tuple[Any, ...],
    ) -> None:
        """Call kernel(*before, begin, end, *after) for the blocks begin … end of a slab."""
        blocks = -(-(slab.end - slab.begin) // BLOCK_ROWS)
        parallel_for(self._threads, blocks, lambda begin, end: kernel(*before, begin, end, *after))

    def _odd(self, slab: Slab, shape: tuple[int, ...]) -> Floats:
        """Space for the squares of the odd quarters: the buffer of new positions, if possible."""
        free = self.positions.following
        if shape[1] <= free.shape[1] and len(free):
            return free[slab.begin : slab.end].reshape(-1)[: shape[0] * shape[1]].reshape(shape)
        if slab.begin not in self._odds:
            self._odds[slab.begin] = np.empty(shape, np.float32)
        return self._odds[slab.begin]

    def end(self) -> Quarters:
        """The final positions."""
        self.positions.release()
        return self.positions

    def rescale(self) -> None:
        """Rescale each dimension to [0, 1]."""
        for number in range(QUARTERS):
            quarter = self.positions.load(number)
            rescale(quarter, bounds_of(quarter), self._threads)
            self.positions.put(number, 0, quarter)


def _work(slab: Slab, arrays: Arrays) -> _quarters.Work:
    """What a step adds up for a slab."""
    return _quarters.Work(slab.first_spring, arrays["lengths"], arrays["squares"], arrays["moved"])
