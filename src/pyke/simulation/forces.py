"""The force law.

    x ← x + E · ( Σ σ (y − x) / Σ σ − ω Σ (y − x) / d² )

The first sum is over P(x): springs attract, by Hooke's law. The second is over N(x): repellers push
away, with the inverse of the distance. `step_radial` applies it to many particles at the same time.

Letters as in the paper:

    x, y    particles           d       Euclidean distance of x and y
    P(x)    attract x           σ       spring constant of x and y
    N(x)    repel x             ω       strength of repulsion
    E       energy, 1 → 0       J       objective: Σ d over P − Σ d over N
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import exact_kernel
from pyke.simulation._lanes import WIDE, total, total_in_turn

_squares, _pull, _push, _shift = WIDE.squares, WIDE.pull, WIDE.push, WIDE.move

# Repulsion stops growing below a distance of 1e-12. Particles at the same position do not repel.
MIN_SQUARE = np.float32(1e-24)


class System(NamedTuple):
    """Springs and repellers of all particles, and the constants of the law."""

    offsets: NDArray[np.int64]
    columns: NDArray[np.int32]
    sigma: NDArray[np.float32]
    inverse_inertia: NDArray[np.float32]  # of each particle: 1 / Σ σ, or 1
    pool_offsets: NDArray[np.int64]
    pool: NDArray[np.int32]
    members: NDArray[np.unsignedinteger[Any]]
    counts: NDArray[np.uint16]
    block_rows: int
    omega: np.float32
    moves: NDArray[np.bool_]  # whether a particle moves; others stay


# These kernels take arrays instead of the System: reading a field counts references, and threads
# that count references of the same array wait for one another.
@exact_kernel
def _attract(
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    sigma: NDArray[np.float32],
    inverse_inertia: np.float32,
    x: int,
    positions: NDArray[np.float32],
    force: NDArray[np.float32],
) -> np.float32:
    """Attraction of x by its springs; returns Σ d over P(x).

    force = inverse_inertia · Σ σ (y − x) over P(x)
    """
    distances = np.float32(0)
    force[:] = 0
    for j in range(offsets[x], offsets[x + 1]):
        quarters = _pull(sigma[j], positions, columns[j], positions, x, force)
        distances += np.sqrt(total_in_turn(quarters))
    force *= inverse_inertia
    return distances


@exact_kernel
def _repel_radial(
    members: NDArray[np.unsignedinteger[Any]],
    count: int,
    omega: np.float32,
    x: int,
    positions: NDArray[np.float32],
    pool: NDArray[np.float32],
    force: NDArray[np.float32],
) -> np.float32:
    """Repulsion of x along the lines to its repellers, each of size ω / d; returns Σ d over N(x).

    force −= Σ ω (y − x) / d² over N(x)
    """
    distances = np.float32(0)
    for j in range(count):
        m = members[x, j]
        square = total(_squares(pool, m, positions, x))
        _push(omega, max(square, MIN_SQUARE), pool, m, positions, x, force)
        distances += np.sqrt(square)
    return distances


@exact_kernel
def _repel_elementwise(
    members: NDArray[np.unsignedinteger[Any]],
    count: int,
    omega: np.float32,
    x: int,
    positions: NDArray[np.float32],
    pool: NDArray[np.float32],
    force: NDArray[np.float32],
) -> np.float32:
    """Repulsion of x as printed in the paper's Algorithm 1; returns Σ d over N(x).

    force −= Σ ω / (y − x) over N(x), in each dimension
    """
    distances = np.float32(0)
    for j in range(count):
        m = members[x, j]
        for i in range(positions.shape[1]):
            difference = pool[m, i] - positions[x, i]
            force[i] -= omega * difference / max(difference * difference, MIN_SQUARE)
        distances += np.sqrt(total(_squares(pool, m, positions, x)))
    return distances


@exact_kernel
def gather_pool(system: System, block: int, positions: NDArray[np.float32]) -> NDArray[np.float32]:
    """The positions of a block's pool, copied to contiguous memory that fits the cache."""
    first = system.pool_offsets[block]
    pool = np.empty((system.pool_offsets[block + 1] - first, positions.shape[1]), np.float32)
    for m in range(pool.shape[0]):
        for i in range(positions.shape[1]):
            pool[m, i] = positions[system.pool[first + m], i]
    return pool


@exact_kernel
def _move(
    x: int,
    energy: np.float32,
    force: NDArray[np.float32],
    positions: NDArray[np.float32],
    out: NDArray[np.float32],
) -> np.float32:
    """x ← x + E · force; returns the distance moved."""
    quarters = _shift(energy, force, positions, x, out)
    return np.float32(np.sqrt(total_in_turn(quarters)))


@exact_kernel
def step_radial(
    system: System,
    energy: np.float32,
    begin: int,
    end: int,
    positions: NDArray[np.float32],
    out: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> None:
    """float32 positions (particles, stride) → out, for the blocks begin … end.

    x ← x + E · ( Σ σ (y − x) / inertia − ω Σ (y − x) / d² ), all from the previous positions.
    sums[block] = (J, displacement) of the particles of the block that move.
    """
    offsets, columns, sigma, inverse_inertia = (
        system.offsets,
        system.columns,
        system.sigma,
        system.inverse_inertia,
    )
    members, counts, omega, moves = system.members, system.counts, system.omega, system.moves
    force = np.empty(positions.shape[1], np.float32)
    for block in range(begin, end):
        pool = gather_pool(system, block, positions)
        objective = displacement = 0.0
        for x in range(
            block * system.block_rows, min(positions.shape[0], (block + 1) * system.block_rows)
        ):
            if not moves[x]:
                out[x] = positions[x]
                continue
            objective += _attract(offsets, columns, sigma, inverse_inertia[x], x, positions, force)
            objective -= _repel_radial(members, counts[x], omega, x, positions, pool, force)
            displacement += _move(x, energy, force, positions, out)
        sums[block, 0], sums[block, 1] = objective, displacement


@exact_kernel
def step_elementwise(
    system: System,
    energy: np.float32,
    begin: int,
    end: int,
    positions: NDArray[np.float32],
    out: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> None:
    """float32 positions (particles, stride) → out, for the blocks begin … end.

    x ← x + E · ( Σ σ (y − x) / inertia − ω Σ 1 / (y − x) ), all from the previous positions.
    sums[block] = (J, displacement) of the particles of the block that move.
    """
    offsets, columns, sigma, inverse_inertia = (
        system.offsets,
        system.columns,
        system.sigma,
        system.inverse_inertia,
    )
    members, counts, omega, moves = system.members, system.counts, system.omega, system.moves
    force = np.empty(positions.shape[1], np.float32)
    for block in range(begin, end):
        pool = gather_pool(system, block, positions)
        objective = displacement = 0.0
        for x in range(
            block * system.block_rows, min(positions.shape[0], (block + 1) * system.block_rows)
        ):
            if not moves[x]:
                out[x] = positions[x]
                continue
            objective += _attract(offsets, columns, sigma, inverse_inertia[x], x, positions, force)
            objective -= _repel_elementwise(members, counts[x], omega, x, positions, pool, force)
            displacement += _move(x, energy, force, positions, out)
        sums[block, 0], sums[block, 1] = objective, displacement
