"""Who repels whom: N(x), particles y ≠ x with σ(x, y) = 0, drawn once.

The rows of a block draw from one pool of random particles: each pair is as likely as any other, and the simulation gathers a
block's pool once instead of scattered rows. A particle that is similar to nearly everything may find too few in its pool; it
draws from all the rest, and what it draws joins the pool.
"""

from __future__ import annotations

import numpy as np

from pyke import kernels
from pyke.graph import Ids, Matrix, Repellers
from pyke.parallel import in_parts

BLOCK_ROWS = 512
POOL = 256


def pool_size(particles: int, wanted: int) -> int:
    """Particles in a pool: several times as many as a row draws from it."""
    return min(particles, max(POOL, 4 * wanted)) if wanted else 0


def draw_repellers(similar: Matrix, wanted: int, seed: int, threads: int) -> Repellers:
    """N(x) of every particle: `wanted` of those with similarity 0, or all of them where there are fewer."""
    particles = similar.rows
    blocks = -(-particles // BLOCK_ROWS)
    pools = np.empty((blocks, pool_size(particles, wanted)), np.int32)
    members = np.zeros((particles, min(wanted, particles)), np.uint16)
    count = np.zeros(particles, np.uint16)

    def draw(begin: int, end: int) -> None:
        kernels.draw_repellers(np.uint64(seed), similar.offsets, similar.columns, BLOCK_ROWS, begin, end, pools, members, count)

    in_parts(threads, blocks, draw)
    short = np.flatnonzero(count < members.shape[1]) if pools.shape[1] < particles else np.zeros(0, np.int64)
    return _with_hubs(similar, short, seed, pools, members, count)


def _with_hubs(similar: Matrix, short: Ids, seed: int, pools: Ids, members: Ids, count: Ids) -> Repellers:
    """Gives the particles that found too few in their pool the rest of what there is."""
    joined: dict[int, list[Ids]] = {}
    for x in short:
        block = x // BLOCK_ROWS
        free = np.ones(similar.rows, bool)
        free[similar.columns[similar.offsets[x] : similar.offsets[x + 1]]] = False
        free[x] = False
        drawn = _draw(np.flatnonzero(free), members.shape[1], seed, int(x))
        more = joined.setdefault(block, [])
        first = pools.shape[1] + sum(len(part) for part in more)
        members[x, : len(drawn)] = np.arange(first, first + len(drawn))
        count[x] = len(drawn)
        more.append(drawn)
    lengths = np.full(len(pools), pools.shape[1], np.int64)
    for block, parts in joined.items():
        lengths[block] += sum(len(part) for part in parts)
    offsets = np.zeros(len(pools) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if not joined:
        return Repellers(offsets, pools.ravel(), members, count)
    pieces = [piece for block in range(len(pools)) for piece in (pools[block], *joined.get(block, ()))]
    return Repellers(offsets, np.concatenate(pieces), members, count)


def _draw(candidates: Ids, wanted: int, seed: int, x: int) -> Ids:
    """`wanted` of the candidates, all equally likely."""
    if len(candidates) > wanted:
        bits = np.array([kernels.random_bits(np.uint64(seed), kernels.HUB, x, int(y)) for y in candidates])
        candidates = np.sort(candidates[np.argsort(bits, kind="stable")[:wanted]])
    return candidates.astype(np.int32)
