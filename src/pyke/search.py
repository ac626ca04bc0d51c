"""Nearest neighbours, exact: vectors in, ids and distances out."""

from __future__ import annotations

import numpy as np

from pyke.graph import Floats, Ids

ROWS_AT_ONCE = 1 << 16


def nearest(vectors: Floats, query: Floats, k: int, without: int = -1) -> tuple[Ids, Floats]:
    """The k rows closest to a query by Euclidean distance, nearest first, equals by id; row `without` is passed over."""
    query = np.asarray(query, np.float32)
    ids: Ids = np.zeros(0, np.int64)
    squares: Floats = np.zeros(0, np.float32)
    for begin in range(0, len(vectors), ROWS_AT_ONCE):
        differences = vectors[begin : begin + ROWS_AT_ONCE] - query
        block = np.einsum("ij,ij->i", differences, differences)
        if begin <= without < begin + len(block):
            block[without - begin] = np.inf
        ids = np.concatenate([ids, np.arange(begin, begin + len(block))])
        squares = np.concatenate([squares, block])
        if len(squares) > k:
            limit = np.partition(squares, k - 1)[k - 1]
            kept = np.flatnonzero(squares <= limit)
            kept = kept[np.lexsort((ids[kept], squares[kept]))[:k]]
            ids, squares = ids[kept], squares[kept]
    order = np.lexsort((ids, squares))
    order = order[np.isfinite(squares[order])][:k]
    return ids[order].astype(np.int32), np.sqrt(squares[order])
