"""Repellers N(x): random particles y ≠ x with σ(x, y) = 0, drawn once.

The particles of a block draw from one pool of random particles. All pairs are equally likely, and
the simulation gathers the pool of a block once instead of scattered rows. A hub, which is similar
to nearly all particles, may find too few in its pool. It draws from all particles, and these are
added to the pool.
"""

from __future__ import annotations

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
    particles = similar.rows
    blocks = -(-particles // BLOCK_ROWS)
    pools = np.empty((blocks, pool_size(particles, wanted)), np.int32)
    members = np.zeros((particles, min(wanted, particles)), _position_type(pools.shape[1], wanted))
    counts = np.zeros(particles, np.uint16)

    def draw(begin: int, end: int) -> None:
        _selection.draw_repellers(
            np.uint64(seed),
            similar.offsets,
            similar.columns,
            BLOCK_ROWS,
            begin,
            end,
            pools,
            members,
            counts,
        )

    parallel_for(threads, blocks, draw)
    offsets = np.arange(blocks + 1, dtype=np.int64) * pools.shape[1]
    repellers = Repellers(offsets, pools.ravel(), members, counts)
    return _with_hubs(similar, repellers, seed) if pools.shape[1] < particles else repellers


def _position_type(pool: int, wanted: int) -> type[np.unsignedinteger[Any]]:
    """The type of positions in a pool; each row of the block may add `wanted` particles to it."""
    return np.uint16 if pool + BLOCK_ROWS * wanted < 2**16 else np.uint32


def _with_hubs(similar: Matrix, repellers: Repellers, seed: int) -> Repellers:
    """Draw from all particles for those that found too few in their pool."""
    members, counts, wanted = repellers.members, repellers.counts, repellers.members.shape[1]
    sizes = np.diff(repellers.pool_offsets)
    pools = np.split(repellers.pool, repellers.pool_offsets[1:-1])
    for x in np.flatnonzero(counts < wanted).tolist():
        block = x // BLOCK_ROWS
        drawn = _draw_anywhere(similar, x, wanted, seed)
        members[x, : len(drawn)] = sizes[block] + np.arange(len(drawn))
        counts[x] = len(drawn)
        pools[block] = np.append(pools[block], drawn)
        sizes[block] += len(drawn)
    return Repellers(
        np.append(np.int64(0), np.cumsum(sizes)), np.concatenate(pools), members, counts
    )


def _draw_anywhere(similar: Matrix, x: int, wanted: int, seed: int) -> Ids:
    """`wanted` of all particles with σ(x, y) = 0, all equally likely."""
    free = np.ones(similar.rows, bool)
    free[similar.columns[similar.offsets[x] : similar.offsets[x + 1]]] = False
    free[x] = False
    candidates = np.flatnonzero(free).astype(np.int32)
    if len(candidates) <= wanted:
        return candidates
    bits = np.empty(len(candidates), np.uint64)
    random.random_keys(np.uint64(seed), random.HUB, x, candidates, bits)
    return np.sort(candidates[np.argsort(bits, kind="stable")[:wanted]])
