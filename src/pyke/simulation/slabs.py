"""Springs and repellers in slabs: some blocks of particles at a time, in memory or on disk.

A step needs positions of particles anywhere, but everything else of a particle only when it is its
turn. So what does not fit into memory is read from the first slab to the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import BLOCK_ROWS, Matrix, Repellers
from pyke.core.scratch import Scratch, ScratchFile
from pyke.simulation.forces import System
from pyke.simulation.layouts import ROWS_OF_SLAB, SPRINGS_AT_ONCE

Arrays = dict[str, NDArray[Any]]


class Slab:
    """Springs and repellers of the particles begin … end, and what a step adds up for them.

    The arrays are those of a System, and `lengths`, `squares`, `moved`, and on disk `odd_squares`.
    """

    def __init__(
        self, begin: int, first_spring: int, arrays: Arrays, file: ScratchFile | None
    ) -> None:
        self.begin, self.end = begin, begin + len(arrays["counts"])
        self.first_spring = first_spring  # number of the first spring in `columns`
        self.on_disk = file is not None
        self._arrays, self._file = arrays, file
        if file:
            self._places = {name: (file.append(one), one.shape) for name, one in arrays.items()}
            self._arrays = {name: one[:0].copy() for name, one in arrays.items()}

    def read(self, *names: str) -> Arrays:
        """All arrays by name; if they are on disk, those that are not asked for are empty."""
        if not self._file:
            return self._arrays
        found = dict(self._arrays)
        for name in names:
            at, shape = self._places[name]
            found[name] = np.empty(shape, found[name].dtype)
            self._file.read(found[name], at)
        return found

    def write(self, arrays: Arrays, *names: str) -> None:
        """Keep arrays that have changed."""
        for name in names if self._file else ():
            self._file.write(arrays[name], self._places[name][0])  # type: ignore[union-attr]


class Slabs:
    """The slabs of all particles, in their order."""

    def __init__(
        self,
        parts: Iterable[tuple[Matrix, Repellers]],
        config: Config,
        in_memory: bool,
        scratch: Scratch,
    ) -> None:
        self._slabs: list[Slab] = []
        self.particles = 0
        file = None if in_memory else scratch.file(0)
        for springs, repellers in parts:  # the particles of each begin with a block
            system = system_of(springs, repellers, config)
            lengths = np.zeros(len(springs.columns) if in_memory else 0, np.float32)
            for begin, end in _cut(springs.offsets):
                arrays = _arrays_of(system, begin, end)
                first = 0 if in_memory else int(springs.offsets[begin])
                arrays = arrays | {"lengths": lengths} if in_memory else _separate(arrays)
                self._slabs.append(Slab(self.particles + begin, first, arrays, file))
            self.particles += springs.rows

    def __iter__(self) -> Iterator[Slab]:
        return iter(self._slabs)


def _cut(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Rows begin … end of each slab: whole blocks with not too many springs."""
    rows = len(offsets) - 1
    borders = np.append(np.arange(0, rows, BLOCK_ROWS), rows)
    begin = 0
    while borders[begin] < rows:
        most = offsets[borders[begin]] + SPRINGS_AT_ONCE
        end = int(np.searchsorted(offsets[borders], most, "right")) - 1
        end = min(max(begin + 1, end), begin + max(1, ROWS_OF_SLAB // BLOCK_ROWS), len(borders) - 1)
        yield int(borders[begin]), int(borders[end])
        begin = end


def _arrays_of(system: System, begin: int, end: int) -> Arrays:
    """The arrays of some rows; springs and pools are those of all rows."""
    blocks = slice(begin // BLOCK_ROWS, -(-end // BLOCK_ROWS) + 1)
    return {
        "offsets": system.offsets[begin : end + 1],
        "columns": system.columns,
        "sigma": system.sigma,
        "inverse_inertia": system.inverse_inertia[begin:end],
        "pool_offsets": system.pool_offsets[blocks],
        "pool": system.pool,
        "members": system.members[begin:end],
        "counts": system.counts[begin:end],
        "squares": np.zeros(system.members[begin:end].shape, np.float32),
        "moved": np.zeros(end - begin, np.float32),
    }


def _separate(arrays: Arrays) -> Arrays:
    """The same with springs and pools of these rows only, and space for what memory shares."""
    first, last = arrays["offsets"][[0, -1]]
    pools = arrays["pool_offsets"]
    return arrays | {
        "columns": arrays["columns"][first:last],
        "sigma": arrays["sigma"][first:last],
        "pool_offsets": pools - pools[0],
        "pool": arrays["pool"][pools[0] : pools[-1]],
        "lengths": np.zeros(last - first, np.float32),
        "odd_squares": arrays["squares"],
    }


def system_of(springs: Matrix, repellers: Repellers, config: Config) -> System:
    """The arrays for the kernels. The inertia of a particle is the sum of its σ, or 1."""
    stiffness = np.zeros(springs.rows, np.float64)
    rows = np.flatnonzero(np.diff(springs.offsets))
    stiffness[rows] = (
        np.add.reduceat(springs.values, springs.offsets[rows], dtype=np.float64) if len(rows) else 0
    )
    inverse_inertia = np.ones(springs.rows, np.float32)
    if config.mass == "stiffness":
        inverse_inertia[rows] = 1.0 / stiffness[rows]
    return System(
        offsets=springs.offsets,
        columns=springs.columns,
        sigma=springs.values,
        inverse_inertia=inverse_inertia,
        pool_offsets=repellers.pool_offsets,
        pool=repellers.pool,
        members=repellers.members,
        counts=repellers.counts,
        block_rows=BLOCK_ROWS,
        omega=np.float32(config.omega),
        moves=np.ones(springs.rows, bool),
    )
