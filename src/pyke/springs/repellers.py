"""Repellers N(x): random particles y ≠ x with σ(x, y) = 0, drawn once.

The particles of a block draw from one pool of random particles. All pairs are equally likely, and
the simulation gathers the pool of a block once instead of scattered rows. A hub, which is similar
to nearly all particles, may find too few in its pool. It draws from all particles, and these are
added to the pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyke.core import random
from pyke.core.arrays import BLOCK_ROWS, Ids, Matrix, Repellers
from pyke.core.parallel import parallel_for
from pyke.springs import _selection

# The positions of a pool nearly fit the first-level cache; 64 scored lower on held-out types.
POOL = 128


def pool_size(particles: int, wanted: int) -> int:
    """Size of a pool: several times as many particles as a particle draws from it."""
    return min(particles, max(POOL, 4 * wanted)) if wanted else 0


def draw_repellers(similar: Matrix, wanted: int, seed: int, threads: int) -> Repellers:
    """Repellers of each particle: `wanted` of those with similarity 0, or all if fewer."""
    repellers = draw_from_pools(similar, similar.rows, 0, wanted, seed, threads)
    hubs = rows_with_too_few(repellers, similar.rows)
    drawn = [draw_anywhere(similar.of(x), similar.rows, x, wanted, seed) for x in hubs]
    return with_hubs(repellers, hubs, drawn)


def draw_from_pools(
    similar: Matrix, particles: int, first: int, wanted: int, seed: int, threads: int
) -> Repellers:
    """Repellers of the particles first, first + 1, …, from the pools of their blocks.

    Row 0 of `similar` is that of `first`, which begins a block. It may lack particles that are not
    in the pool. Hubs find too few.
    """
    blocks = -(-similar.rows // BLOCK_ROWS)
    pools = np.empty((blocks, pool_size(particles, wanted)), np.int32)
    kind = _position_type(pools.shape[1], wanted)
    members = np.zeros((similar.rows, min(wanted, particles)), kind)
    counts = np.zeros(similar.rows, np.uint16)
    which = _selection.Draw(np.uint64(seed), particles, first, BLOCK_ROWS)

    def draw(begin: int, end: int) -> None:
        _selection.draw_repellers(
            which, similar.offsets, similar.columns, begin, end, pools, members, counts
        )

    parallel_for(threads, blocks, draw)
    offsets = np.arange(blocks + 1, dtype=np.int64) * pools.shape[1]
    return Repellers(offsets, pools.ravel(), members, counts)


def _position_type(pool: int, wanted: int) -> type[np.unsignedinteger[Any]]:
    """The type of positions in a pool; each row of the block may add `wanted` particles to it."""
    return np.uint16 if pool + BLOCK_ROWS * wanted < 2**16 else np.uint32


def rows_with_too_few(repellers: Repellers, particles: int) -> list[int]:
    """Rows of hubs: they found too few repellers in their pool, and there are others."""
    wanted = repellers.members.shape[1]
    if not wanted or pool_size(particles, wanted) == particles:
        return []
    rows: list[int] = np.flatnonzero(repellers.counts < wanted).tolist()
    return rows


def with_hubs(repellers: Repellers, hubs: Sequence[int], drawn: Sequence[Ids]) -> Repellers:
    """Add what hubs drew from all particles to the pools of their blocks; hubs ascend."""
    if not hubs:
        return repellers
    members, counts = repellers.members, repellers.counts
    sizes = np.diff(repellers.pool_offsets)
    pools = np.split(repellers.pool, repellers.pool_offsets[1:-1])
    for row, found in zip(hubs, drawn, strict=True):
        block = row // BLOCK_ROWS
        members[row, : len(found)] = sizes[block] + np.arange(len(found))
        counts[row] = len(found)
        pools[block] = np.append(pools[block], found)
        sizes[block] += len(found)
    return Repellers(
        np.append(np.int64(0), np.cumsum(sizes)), np.concatenate(pools), members, counts
    )


def draw_anywhere(similar: Ids, particles: int, x: int, wanted: int, seed: int) -> Ids:
    """`wanted` of all particles with σ(x, y) = 0, all equally likely; `similar` are the others."""
    free = np.ones(particles, bool)
    free[similar] = False
    free[x] = False
    candidates = np.flatnonzero(free).astype(np.int32)
    if len(candidates) <= wanted:
        return candidates
    bits = np.empty(len(candidates), np.uint64)
    random.random_keys(np.uint64(seed), random.HUB, x, candidates, bits)
    return np.sort(candidates[np.argsort(bits, kind="stable")[:wanted]])
