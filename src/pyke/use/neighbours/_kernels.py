"""Compiled exact nearest-neighbour search over tiles of points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import float_kernel, kernel

TILE = 512  # points compared at a time: their distances stay in the first-level cache


@float_kernel
def tile_squares(
    points: NDArray[np.float32],
    first: np.uintp,
    size: np.uintp,
    query: NDArray[np.float32],
    row: np.uintp,
    out: NDArray[np.float32],
) -> None:
    """points (d, n), query (m, d) → out[t] = |points[:, first + t] − query[row]|².

    Points are columns: the loop over them uses vector instructions.
    """
    dimensions = np.uintp(points.shape[0])
    for t in range(size):
        out[np.uintp(t)] = np.float32(0)
    j = np.uintp(0)
    # Four dimensions at a time: the sums are loaded and stored a quarter as often.
    while j + np.uintp(4) <= dimensions:
        a, b = query[row, j], query[row, j + np.uintp(1)]
        c, d = query[row, j + np.uintp(2)], query[row, j + np.uintp(3)]
        for t in range(size):
            at = first + np.uintp(t)
            u, v = points[j, at] - a, points[j + np.uintp(1), at] - b
            w, z = points[j + np.uintp(2), at] - c, points[j + np.uintp(3), at] - d
            out[np.uintp(t)] += (u * u + v * v) + (w * w + z * z)
        j += np.uintp(4)
    while j < dimensions:
        a = query[row, j]
        for t in range(size):
            u = points[j, first + np.uintp(t)] - a
            out[np.uintp(t)] += u * u
        j += np.uintp(1)


class Tiles(NamedTuple):
    """Points in groups that lie close together.

    `leading` are the coordinates in which points differ most. They only serve to exclude points.
    """

    rows: NDArray[np.float32]  # (n, d)
    leading: NDArray[np.float32]  # (l, n)
    names: NDArray[np.int32]  # (n,): number of the point before it was sorted into tiles
    starts: NDArray[np.int64]  # (tiles + 1,)
    low: NDArray[np.float32]  # (tiles, l): the box around a tile's leading coordinates
    high: NDArray[np.float32]


@float_kernel
def _outside(
    low: NDArray[np.float32],
    high: NDArray[np.float32],
    tile: int,
    leading: NDArray[np.float32],
    q: int,
) -> np.float32:
    """Squared distance of query q from the box of a tile."""
    total = np.float32(0)
    for j in range(low.shape[1]):
        gap = max(low[tile, j] - leading[q, j], leading[q, j] - high[tile, j], np.float32(0))
        total += gap * gap
    return total


@float_kernel
def _square(a: NDArray[np.float32], i: int, b: NDArray[np.float32], j: int) -> np.float32:
    """|a[i] − b[j]|²."""
    total = np.float32(0)
    x, y = np.uintp(i), np.uintp(j)
    for c in range(np.uintp(a.shape[1])):
        u = a[x, np.uintp(c)] - b[y, np.uintp(c)]
        total += u * u
    return total


@kernel
def _insert(
    square: np.float32, name: int, filled: int, ids: NDArray[np.int32], squares: NDArray[np.float32]
) -> int:
    """Insert a neighbour among the `filled` nearest, ties by name; return how many there are."""
    k = ids.shape[0]
    if filled == k and (
        square > squares[k - 1] or (square == squares[k - 1] and name > ids[k - 1])
    ):
        return filled
    at = min(filled, k - 1)
    while at > 0 and (
        squares[at - 1] > square or (squares[at - 1] == square and ids[at - 1] > name)
    ):
        squares[at], ids[at] = squares[at - 1], ids[at - 1]
        at -= 1
    squares[at], ids[at] = square, name
    return min(filled + 1, k)


@float_kernel
def nearest_in_tiles(
    tiles: Tiles,
    visits: NDArray[np.int64],
    queries: NDArray[np.float32],
    leading: NDArray[np.float32],
    own: NDArray[np.int64],
    group: NDArray[np.int64],
    slack: np.float32,
    ids: NDArray[np.int32],
    squares: NDArray[np.float32],
) -> None:
    """Tiles, queries (m, d) → rows `group` of ids and squares (m, k): the k nearest points.

    Nearest first, ties by name; the point own[q] is skipped. Tiles are visited in the given order.
    Points are excluded if their leading coordinates alone make them more distant than the k-th
    neighbour so far. `slack` is larger than the rounding errors of these coordinates.
    """
    rows, columns, names, starts, low, high = (
        tiles.rows,
        tiles.leading,
        tiles.names,
        tiles.starts,
        tiles.low,
        tiles.high,
    )
    k = ids.shape[1]
    partial = np.empty(TILE, np.float32)
    filled = np.zeros(group.shape[0], np.int64)
    limits = np.full(group.shape[0], np.float32(np.inf))
    for tile in visits:
        first, size = starts[tile], starts[tile + 1] - starts[tile]
        for i in range(group.shape[0]):
            q = group[i]
            if _outside(low, high, tile, leading, q) > limits[i]:
                continue
            tile_squares(columns, np.uintp(first), np.uintp(size), leading, np.uintp(q), partial)
            count, limit = filled[i], limits[i]
            for t in range(size):
                if partial[t] > limit or names[first + t] == own[q]:
                    continue
                square = _square(rows, first + t, queries, q)
                if count < k or square <= squares[q, k - 1]:
                    count = _insert(square, names[first + t], count, ids[q], squares[q])
                    if count == k:
                        reach = np.sqrt(squares[q, k - 1]) * np.float32(1.00001) + slack
                        limit = reach * reach
            filled[i], limits[i] = count, limit
