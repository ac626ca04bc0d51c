"""Compiled search for the rows of a sparse matrix with the largest cosines."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import kernel


class Sparse(NamedTuple):
    """A sparse matrix: line x has others[offsets[x] : offsets[x + 1]] with their values."""

    offsets: NDArray[np.int64]
    others: NDArray[np.int32]
    values: NDArray[np.float32]


@kernel
def largest_products(
    queries: Sparse,
    points: Sparse,
    own: NDArray[np.int64],
    begin: int,
    end: int,
    ids: NDArray[np.int32],
    products: NDArray[np.float32],
) -> None:
    """Queries by rows, points by columns → rows begin … end of ids and products (m, k).

    The largest products of a query with all points come first, ties by id. Only positive products
    count; other places keep id −1. Point own[q] is skipped.
    """
    k = ids.shape[1]
    size = 0
    for y in points.others:
        size = max(size, y + 1)
    sums = np.zeros(size, np.float32)
    for q in range(begin, end):
        for at in range(queries.offsets[q], queries.offsets[q + 1]):
            column, value = queries.others[at], queries.values[at]
            for i in range(points.offsets[column], points.offsets[column + 1]):
                sums[points.others[i]] += value * points.values[i]
        filled = 0
        for y in range(size):
            product = sums[y]
            sums[y] = np.float32(0)
            if product <= 0 or y == own[q]:
                continue
            if filled == k and product <= products[q, k - 1]:
                continue
            place = min(filled, k - 1)
            while place > 0 and products[q, place - 1] < product:
                products[q, place], ids[q, place] = products[q, place - 1], ids[q, place - 1]
                place -= 1
            products[q, place], ids[q, place] = product, y
            filled = min(filled + 1, k)
