"""Nearest neighbours by Euclidean distance: vectors in, ids and distances out. Exact, or by an index with its recall measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyke import kernels
from pyke.errors import MissingLibrary
from pyke.graph import Floats, Ids
from pyke.parallel import in_parts
from pyke.progress import Progress

ROWS_AT_ONCE = 1 << 16
EXACT_UP_TO = 200_000  # points among which many queries are answered exactly: work grows with points times queries
QUERIES_AT_ONCE = 1 << 12
RECALL_SAMPLE = 1_000  # queries asked again exactly

# HNSW, as its authors name them: links per node, candidates while building and while searching.
CONNECTIVITY, EXPANSION_ADD, EXPANSION_SEARCH = 16, 128, 128


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


@dataclass(frozen=True)
class Neighbours:
    """The k nearest points of each query, nearest first. `recall` is the part of the true ones that is among them."""

    ids: Ids  # (queries, k)
    squares: Floats  # (queries, k): squared distances
    exact: bool
    recall: float


def nearest_of_many(
    points: Floats,
    queries: Floats,
    k: int,
    own: NDArray[np.int64] | None = None,
    *,
    exact: bool | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Neighbours:
    """The k points nearest to each query; own[q] is the row of a point to be passed over (−1: none), there must be k others.

    Exact among few points, by usearch among many, unless `exact` says which; equally distant points come by id if exact.
    """
    own = np.full(len(queries), -1, np.int64) if own is None else own
    if len(points) <= EXACT_UP_TO if exact is None else exact:
        return _exactly(points, queries, k, own, threads, progress or Progress())
    return _by_index(points, queries, k, own, threads, progress or Progress())


def _exactly(points: Floats, queries: Floats, k: int, own: NDArray[np.int64], threads: int, progress: Progress) -> Neighbours:
    columns = np.ascontiguousarray(points.T)
    queries = np.ascontiguousarray(queries)
    ids, squares = np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.float32)
    for begin in range(0, len(queries), QUERIES_AT_ONCE):
        progress.advance(begin)
        size = min(QUERIES_AT_ONCE, len(queries) - begin)

        def some(first: int, last: int, at: int = begin) -> None:
            kernels.nearest_rows(columns, queries, own, at + first, at + last, ids, squares)

        in_parts(threads, size, some)
    return Neighbours(ids, squares, True, 1.0)


def _by_index(points: Floats, queries: Floats, k: int, own: NDArray[np.int64], threads: int, progress: Progress) -> Neighbours:
    try:
        from usearch.index import Index
    except ImportError:
        raise MissingLibrary("usearch", "approximate search among many points", "evaluate") from None
    index = Index(ndim=points.shape[1], metric="l2sq", dtype="f32", connectivity=CONNECTIVITY,
                  expansion_add=EXPANSION_ADD, expansion_search=max(EXPANSION_SEARCH, k + 1))  # fmt: skip
    for begin in range(0, len(points), ROWS_AT_ONCE):
        progress.advance(begin * len(queries) // (2 * len(points)))  # building takes about as long as asking
        rows = np.ascontiguousarray(points[begin : begin + ROWS_AT_ONCE])
        index.add(np.arange(begin, begin + len(rows), dtype=np.uint64), rows, threads=threads)
    ids, squares = np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.float32)
    for begin in range(0, len(queries), ROWS_AT_ONCE):
        progress.advance((len(queries) + begin) // 2)
        part = slice(begin, begin + ROWS_AT_ONCE)
        found = index.search(np.ascontiguousarray(queries[part]), k + 1, threads=threads)
        ids[part], squares[part] = _without_own(found.keys.astype(np.int32), found.distances, own[part])
    asked = np.linspace(0, len(queries) - 1, min(RECALL_SAMPLE, len(queries)), dtype=np.int64)
    truth = _exactly(points, queries[asked], k, own[asked], threads, Progress()).ids
    return Neighbours(ids, squares, False, float(np.mean([np.isin(a, b).mean() for a, b in zip(truth, ids[asked], strict=True)])))


def _without_own(ids: Ids, squares: Floats, own: NDArray[np.int64]) -> tuple[Ids, Floats]:
    """k + 1 columns → k: without the query's own point, or without the last."""
    is_own = ids == own[:, None]
    is_own[:, -1] |= ~is_own.any(axis=1)
    return ids[~is_own].reshape(len(ids), -1), squares[~is_own].reshape(len(ids), -1)
