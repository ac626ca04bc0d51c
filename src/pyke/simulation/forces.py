"""The force law: springs attract (Hooke), repellers push away (its inverse), one step moves all particles.

Letters as in the paper: x, y particles; σ spring constant; ω repulsive constant; E system energy;
P(x) the particles that attract x; N(x) those that repel it; J the objective; d Euclidean distance.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import float_kernel

_TINY = np.float32(
    1e-24
)  # below a distance of 1e-12 repulsion stops growing; two particles at one place do not repel


class System(NamedTuple):
    """The particles' springs and repellers, and the laws' constants."""

    offsets: NDArray[np.int64]
    columns: NDArray[np.int32]
    sigma: NDArray[np.float32]
    inverse_inertia: NDArray[np.float32]  # one over a particle's inertia against its springs
    pool_offsets: NDArray[np.int64]
    pool: NDArray[np.int32]
    members: NDArray[np.unsignedinteger[Any]]
    counts: NDArray[np.uint16]
    block_rows: int
    omega: np.float32


# The helpers take arrays, not the System: taking it apart counts references, and threads that count the same ones wait for one another.
@float_kernel
def _attract(
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    sigma: NDArray[np.float32],
    inverse_inertia: np.float32,
    x: int,
    positions: NDArray[np.float32],
    force: NDArray[np.float32],
) -> np.float32:
    """force = inverse_inertia · Σ σ(x, y) (y − x) over P(x), Hooke's law; returns Σ d(x, y)."""
    stride = positions.shape[1]
    distances = np.float32(0)
    for i in range(stride):
        force[i] = 0
    for j in range(offsets[x], offsets[x + 1]):
        y = columns[j]
        square = np.float32(0)
        for i in range(stride):
            difference = positions[y, i] - positions[x, i]
            square += difference * difference
            force[i] += sigma[j] * difference
        distances += np.sqrt(square)
    for i in range(stride):
        force[i] *= inverse_inertia
    return distances


@float_kernel
def _repel_radial(
    members: NDArray[np.unsignedinteger[Any]],
    count: int,
    omega: np.float32,
    x: int,
    positions: NDArray[np.float32],
    pool: NDArray[np.float32],
    force: NDArray[np.float32],
) -> np.float32:
    """force −= Σ ω (y − x) / d² over N(x), each of size ω / d along the line between the two; returns Σ d(x, y)."""
    stride = positions.shape[1]
    distances = np.float32(0)
    for j in range(count):
        m = members[x, j]
        square = np.float32(0)
        for i in range(stride):
            difference = pool[m, i] - positions[x, i]
            square += difference * difference
        strength = omega / max(square, _TINY)
        for i in range(stride):
            force[i] -= strength * (pool[m, i] - positions[x, i])
        distances += np.sqrt(square)
    return distances


@float_kernel
def _repel_elementwise(
    members: NDArray[np.unsignedinteger[Any]],
    count: int,
    omega: np.float32,
    x: int,
    positions: NDArray[np.float32],
    pool: NDArray[np.float32],
    force: NDArray[np.float32],
) -> np.float32:
    """force −= Σ ω / (y − x) in each dimension over N(x), as the paper's Algorithm 1 is printed; returns Σ d(x, y)."""
    distances = np.float32(0)
    for j in range(count):
        m = members[x, j]
        square = np.float32(0)
        for i in range(positions.shape[1]):
            difference = pool[m, i] - positions[x, i]
            squared = difference * difference
            square += squared
            force[i] -= omega * difference / max(squared, _TINY)
        distances += np.sqrt(square)
    return distances


@float_kernel
def _gather_pool(system: System, block: int, positions: NDArray[np.float32]) -> NDArray[np.float32]:
    """The positions of a block's pool, together where the cache keeps them."""
    first = system.pool_offsets[block]
    pool = np.empty((system.pool_offsets[block + 1] - first, positions.shape[1]), np.float32)
    for m in range(pool.shape[0]):
        for i in range(positions.shape[1]):
            pool[m, i] = positions[system.pool[first + m], i]
    return pool


@float_kernel
def _move(
    x: int,
    energy: np.float32,
    force: NDArray[np.float32],
    positions: NDArray[np.float32],
    out: NDArray[np.float32],
) -> float:
    """x ← x + E · force; returns how far it moved."""
    square = np.float32(0)
    for i in range(positions.shape[1]):
        change = energy * force[i]
        square += change * change
        out[x, i] = positions[x, i] + change
    return np.sqrt(square)


@float_kernel
def step_radial(
    system: System,
    energy: np.float32,
    begin: int,
    end: int,
    positions: NDArray[np.float32],
    out: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> None:
    """float32 (particles, stride) positions → out, for the blocks begin … end; sums[block] = (J, displacement) of its rows.

    x ← x + E · ( Σ σ (y − x) / inertia − ω Σ (y − x) / d² ), all from the positions before.
    """
    offsets, columns, sigma, inverse_inertia = (
        system.offsets,
        system.columns,
        system.sigma,
        system.inverse_inertia,
    )
    members, counts, omega = system.members, system.counts, system.omega
    force = np.empty(positions.shape[1], np.float32)
    for block in range(begin, end):
        pool = _gather_pool(system, block, positions)
        objective = displacement = 0.0
        for x in range(
            block * system.block_rows, min(positions.shape[0], (block + 1) * system.block_rows)
        ):
            objective += _attract(offsets, columns, sigma, inverse_inertia[x], x, positions, force)
            objective -= _repel_radial(members, counts[x], omega, x, positions, pool, force)
            displacement += _move(x, energy, force, positions, out)
        sums[block, 0], sums[block, 1] = objective, displacement


@float_kernel
def step_elementwise(
    system: System,
    energy: np.float32,
    begin: int,
    end: int,
    positions: NDArray[np.float32],
    out: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> None:
    """As step_radial, with the paper's element-wise reciprocal: x ← x + E · ( Σ σ (y − x) / inertia − ω Σ 1 / (y − x) )."""
    offsets, columns, sigma, inverse_inertia = (
        system.offsets,
        system.columns,
        system.sigma,
        system.inverse_inertia,
    )
    members, counts, omega = system.members, system.counts, system.omega
    force = np.empty(positions.shape[1], np.float32)
    for block in range(begin, end):
        pool = _gather_pool(system, block, positions)
        objective = displacement = 0.0
        for x in range(
            block * system.block_rows, min(positions.shape[0], (block + 1) * system.block_rows)
        ):
            objective += _attract(offsets, columns, sigma, inverse_inertia[x], x, positions, force)
            objective -= _repel_elementwise(members, counts[x], omega, x, positions, pool, force)
            displacement += _move(x, energy, force, positions, out)
        sums[block, 0], sums[block, 1] = objective, displacement
