"""The force law on one quarter of the dimensions at a time (see forces.py for the letters).

Attraction is separate in every dimension. Repulsion needs d² of a particle and its few repellers,
which is the sum over all quarters. So an iteration has three parts: `add_squares` of each quarter,
a move of each quarter, and `sum_up`. The bits are those of `forces.step_…`.

A kernel gets a quarter of all positions, and everything else of one slab: rows and blocks are
counted from its first particle. `own` are the rows of the quarter that belong to the slab.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import exact_kernel
from pyke.simulation._lanes import NARROW
from pyke.simulation.forces import MIN_SQUARE, System, gather_pool

_squares, _pull, _push, _shift = NARROW.squares, NARROW.pull, NARROW.push, NARROW.move


class Work(NamedTuple):
    """What the quarters of an iteration add up for a slab."""

    first_spring: int  # number of the first of its springs
    lengths: NDArray[np.float32]  # d² of each of its springs, so far
    squares: NDArray[np.float32]  # (rows, repellers): d² of particle and repeller
    moved: NDArray[np.float32]  # of each particle: the square of its move, so far


@exact_kernel
def add_squares(
    system: System,
    begin: int,
    end: int,
    quarter: NDArray[np.float32],
    own: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """float32 quarter (particles, columns) → out (rows, repellers) += Σ (y − x)²."""
    members, counts = system.members, system.counts
    for block in range(begin, end):
        pool = gather_pool(system, block, quarter)
        for x in range(
            block * system.block_rows, min(own.shape[0], (block + 1) * system.block_rows)
        ):
            for j in range(counts[x]):
                out[x, j] += _squares(pool, members[x, j], own, x)


@exact_kernel
def _attract(
    first: int,
    end: int,
    columns: NDArray[np.int32],
    sigma: NDArray[np.float32],
    inverse_inertia: np.float32,
    x: int,
    quarter: NDArray[np.float32],
    own: NDArray[np.float32],
    lengths: NDArray[np.float32],
    force: NDArray[np.float32],
) -> None:
    """force = inverse_inertia · Σ σ (y − x) over the springs first … end, and their lengths."""
    force[:] = 0
    for j in range(first, end):
        lengths[j] += _pull(sigma[j], quarter, columns[j], own, x, force)
    force *= inverse_inertia


@exact_kernel
def move_radial(
    system: System,
    work: Work,
    energy: np.float32,
    begin: int,
    end: int,
    quarter: NDArray[np.float32],
    own: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """float32 quarter (particles, columns) → out (rows, columns), for the blocks begin … end.

    x ← x + E · ( Σ σ (y − x) / inertia − ω Σ (y − x) / d² )
    """
    members, counts, omega, moves = system.members, system.counts, system.omega, system.moves
    offsets, columns, sigma, inertia = (
        system.offsets,
        system.columns,
        system.sigma,
        system.inverse_inertia,
    )
    before, lengths, squares, moved = work.first_spring, work.lengths, work.squares, work.moved
    force = np.empty(quarter.shape[1], np.float32)
    for block in range(begin, end):
        pool = gather_pool(system, block, quarter)
        for x in range(
            block * system.block_rows, min(own.shape[0], (block + 1) * system.block_rows)
        ):
            if not moves[x]:
                out[x] = own[x]
                continue
            first, last = offsets[x] - before, offsets[x + 1] - before
            _attract(first, last, columns, sigma, inertia[x], x, quarter, own, lengths, force)
            for j in range(counts[x]):
                square = max(squares[x, j], MIN_SQUARE)
                _push(omega, square, pool, members[x, j], own, x, force)
            moved[x] += _shift(energy, force, own, x, out)


@exact_kernel
def move_elementwise(
    system: System,
    work: Work,
    energy: np.float32,
    begin: int,
    end: int,
    quarter: NDArray[np.float32],
    own: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """float32 quarter (particles, columns) → out (rows, columns), for the blocks begin … end.

    x ← x + E · ( Σ σ (y − x) / inertia − ω Σ 1 / (y − x) )
    """
    members, counts, omega, moves = system.members, system.counts, system.omega, system.moves
    offsets, columns, sigma, inertia = (
        system.offsets,
        system.columns,
        system.sigma,
        system.inverse_inertia,
    )
    before, lengths, moved = work.first_spring, work.lengths, work.moved
    force = np.empty(quarter.shape[1], np.float32)
    for block in range(begin, end):
        pool = gather_pool(system, block, quarter)
        for x in range(
            block * system.block_rows, min(own.shape[0], (block + 1) * system.block_rows)
        ):
            if not moves[x]:
                out[x] = own[x]
                continue
            first, last = offsets[x] - before, offsets[x + 1] - before
            _attract(first, last, columns, sigma, inertia[x], x, quarter, own, lengths, force)
            for j in range(counts[x]):
                m = members[x, j]
                for i in range(quarter.shape[1]):
                    difference = pool[m, i] - own[x, i]
                    force[i] -= omega * difference / max(difference * difference, MIN_SQUARE)
            moved[x] += _shift(energy, force, own, x, out)


@exact_kernel
def sum_up(system: System, work: Work, begin: int, end: int, sums: NDArray[np.float64]) -> None:
    """sums[block] = (J, displacement) of the particles that moved; then lengths and moves are 0."""
    counts, moves, squares, moved = system.counts, system.moves, work.squares, work.moved
    offsets, lengths, first_spring = system.offsets, work.lengths, work.first_spring
    for block in range(begin, end):
        objective = displacement = 0.0
        for x in range(
            block * system.block_rows, min(moves.shape[0], (block + 1) * system.block_rows)
        ):
            if not moves[x]:
                continue
            attracted, repelled = np.float32(0), np.float32(0)
            for j in range(offsets[x] - first_spring, offsets[x + 1] - first_spring):
                attracted += np.sqrt(lengths[j])
                lengths[j] = 0
            for j in range(counts[x]):
                repelled += np.sqrt(squares[x, j])
            objective += float(attracted)
            objective -= float(repelled)
            displacement += float(np.sqrt(moved[x]))
            moved[x] = 0
        sums[block, 0], sums[block, 1] = objective, displacement
