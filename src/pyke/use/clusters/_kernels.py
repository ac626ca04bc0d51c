"""Compiled minimum spanning trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import float_kernel, kernel
from pyke.use.neighbours._kernels import TILE, tile_squares


class Growth(NamedTuple):
    """A least spanning tree that grows: the points that are not in it yet stand first. state = (their number, which of them came last)."""

    points: NDArray[np.float32]  # (d, n)
    core: NDArray[np.float32]  # (n,): squared core distances
    names: NDArray[np.int64]  # (n,): which point stands there
    best: NDArray[
        np.float32
    ]  # (n,): the weight of the best edge to the tree, and where in the tree it begins
    source: NDArray[np.int64]
    state: NDArray[np.int64]


@float_kernel
def grow_tree(
    growth: Growth,
    begin: int,
    end: int,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    weights: NDArray[np.float32],
) -> None:
    """Edges begin:end of the least spanning tree, squared weights; all that is in `growth` changes.

    Prim's algorithm under mutual reachability, max(core(x), core(y), d(x, y)); points in the tree are swapped out behind the rest.
    """
    points, core, names, best, source = (
        growth.points,
        growth.core,
        growth.names,
        growth.best,
        growth.source,
    )
    tile = np.empty(TILE, np.float32)
    query = np.empty((1, points.shape[0]), np.float32)
    rest, newest = growth.state[0], growth.state[1]
    for edge in range(begin, end):
        query[0] = points[:, newest]
        name, reach = names[newest], core[newest]
        rest -= 1
        points[:, newest] = points[:, rest]
        names[newest], core[newest], best[newest], source[newest] = (
            names[rest],
            core[rest],
            best[rest],
            source[rest],
        )
        newest, least = 0, np.float32(np.inf)
        for first in range(0, rest, TILE):
            size = min(TILE, rest - first)
            tile_squares(points, np.uintp(first), np.uintp(size), query, np.uintp(0), tile)
            for t in range(size):
                x = first + t
                value = max(tile[t], core[x], reach)
                if value < best[x]:
                    best[x], source[x] = value, name
                if best[x] < least:
                    newest, least = x, best[x]
        left[edge], right[edge], weights[edge] = source[newest], names[newest], least
    growth.state[0], growth.state[1] = rest, newest


@kernel
def _root(parents: NDArray[np.int64], x: int) -> int:
    while parents[x] != x:
        parents[x] = parents[parents[x]]
        x = parents[x]
    return x


@kernel
def spanning_forest(
    near: NDArray[np.int64],
    far: NDArray[np.int64],
    ascending: NDArray[np.float32],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    weights: NDArray[np.float32],
) -> None:
    """Edges by ascending weight → n − 1 edges of the least tree (Kruskal); parts that no edge joins are joined at infinity."""
    n = left.shape[0] + 1
    parents, used = np.arange(n), 0
    for edge in range(near.shape[0]):
        a, b = _root(parents, near[edge]), _root(parents, far[edge])
        if a != b:
            parents[b] = a
            left[used], right[used], weights[used] = near[edge], far[edge], ascending[edge]
            used += 1
    for x in range(1, n):
        a, b = _root(parents, 0), _root(parents, x)
        if a != b:
            parents[b] = a
            left[used], right[used], weights[used] = 0, x, np.float32(np.inf)
            used += 1
