"""Compiled loops that select springs (the K strongest) and repellers (random, with σ = 0)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import kernel
from pyke.core.random import MEMBER, POOL, random_below, random_bits


@kernel
def fill_rows(
    rows: NDArray[np.int32],
    others: NDArray[np.int32],
    values: NDArray[np.float32],
    ends: NDArray[np.int64],
    columns: NDArray[np.int32],
    out: NDArray[np.float32],
) -> None:
    """Append y and its value to row x for each pair (x, y); ends[x] is the end of row x."""
    for i in range(rows.shape[0]):
        end = ends[rows[i]]
        columns[end], out[end] = others[i], values[i]
        ends[rows[i]] = end + 1


@kernel
def _weaker(value: float, column: int, other_value: float, other_column: int) -> bool:
    """Whether a spring ranks after another in P(x): smaller σ, or equal σ and a larger id."""
    return value < other_value or (value == other_value and column > other_column)


@kernel
def sink(
    heap_values: NDArray[np.float32], heap_columns: NDArray[np.int32], size: int, i: int
) -> None:
    """Restore a heap below position i; the weakest spring is at the root."""
    while True:
        weakest = i
        for child in (2 * i + 1, 2 * i + 2):
            if child < size and _weaker(
                heap_values[child], heap_columns[child], heap_values[weakest], heap_columns[weakest]
            ):
                weakest = child
        if weakest == i:
            return
        heap_values[i], heap_values[weakest] = heap_values[weakest], heap_values[i]
        heap_columns[i], heap_columns[weakest] = heap_columns[weakest], heap_columns[i]
        i = weakest


@kernel
def keep_strongest(
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.float32],
    k: int,
    begin_row: int,
    end_row: int,
    new_offsets: NDArray[np.int64],
    new_columns: NDArray[np.int32],
    new_values: NDArray[np.float32],
) -> None:
    """Rows begin_row … end_row → P(x): the k largest σ of each row; smaller ids win ties.

    The order within a row stays. The time is linear in the length of the row for constant k.
    """
    heap_values, heap_columns = np.empty(k, np.float32), np.empty(k, np.int32)
    for x in range(begin_row, end_row):
        begin, end, at = offsets[x], offsets[x + 1], new_offsets[x]
        cut = end - begin > k
        if cut:
            for i in range(k):
                heap_values[i], heap_columns[i] = values[begin + i], columns[begin + i]
            for i in range(k // 2, -1, -1):
                sink(heap_values, heap_columns, k, i)
            for i in range(begin + k, end):
                if _weaker(heap_values[0], heap_columns[0], values[i], columns[i]):
                    heap_values[0], heap_columns[0] = values[i], columns[i]
                    sink(heap_values, heap_columns, k, 0)
        for i in range(begin, end):
            if not cut or not _weaker(values[i], columns[i], heap_values[0], heap_columns[0]):
                new_columns[at], new_values[at] = columns[i], values[i]
                at += 1


@kernel
def _draw_pool(
    seed: np.uint64, block: int, particles: int, pool: NDArray[np.int32], slots: NDArray[np.int32]
) -> None:
    """Fill a pool with different particles, all equally likely.

    `slots` becomes a hash table from particles to positions in the pool.
    """
    mask = slots.shape[0] - 1
    slots[:] = -1
    size = pool.shape[0]
    n = counter = 0
    while n < size:
        y = (
            n
            if size == particles
            else random_below(random_bits(seed, POOL, block, counter), particles)
        )
        counter += 1
        slot = y & mask
        while slots[slot] >= 0 and pool[slots[slot]] != y:
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = n
            pool[n] = y
            n += 1


class Draw(NamedTuple):
    """Whose repellers are drawn: those of some blocks of particles, in rows of their own."""

    seed: np.uint64
    particles: int  # of the whole graph
    first: int  # id of the particle in row 0, which begins a block
    block_rows: int


@kernel
def draw_repellers(
    draw: Draw,
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    begin: int,
    end: int,
    pools: NDArray[np.int32],
    members: NDArray[np.unsignedinteger[Any]],
    count: NDArray[np.uint16],
) -> None:
    """Blocks begin … end → int32 pools (blocks, size), and members of N(x) as positions in them.

    N(x) = random y ≠ x of the pool with σ(x, y) = 0. offsets and columns are all positive
    similarities, not only the K that are kept.
    """
    seed, rows = draw.seed, offsets.shape[0] - 1
    size, wanted = pools.shape[1], members.shape[1]
    slots_size = 16
    while slots_size < 4 * size:
        slots_size *= 2
    slots = np.empty(slots_size, np.int32)
    free = np.empty(size, np.bool_)
    choice = np.empty(size, np.int32)
    for block in range(begin, end):
        pool = pools[block]
        _draw_pool(seed, draw.first // draw.block_rows + block, draw.particles, pool, slots)
        for row in range(block * draw.block_rows, min(rows, (block + 1) * draw.block_rows)):
            x = draw.first + row
            free[:] = True
            for i in range(offsets[row] - 1, offsets[row + 1]):
                y = x if i < offsets[row] else columns[i]
                slot = y & (slots_size - 1)
                while slots[slot] >= 0:
                    if pool[slots[slot]] == y:
                        free[slots[slot]] = False
                        break
                    slot = (slot + 1) & (slots_size - 1)
            n = 0
            for i in range(size):
                if free[i]:
                    choice[n] = i
                    n += 1
            taken = min(n, wanted)
            for i in range(taken):
                j = i + random_below(random_bits(seed, MEMBER, x, i), n - i)
                choice[i], choice[j] = choice[j], choice[i]
                members[row, i] = choice[i]
            count[row] = taken
