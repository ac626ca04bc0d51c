"""Nearest neighbours by Euclidean distance: vectors in, ids and distances out. Exact, or by an index with its recall measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats, Ids
from pyke.core.parallel import parallel_for
from pyke.core.progress import Progress
from pyke.errors import DataError, MissingLibrary

if TYPE_CHECKING:
    from pyke.use.neighbours._kernels import Tiles

ROWS_AT_ONCE = 1 << 16
ROWS_PER_PRODUCT = 64  # so few that BLAS takes one thread; several wait for one another by spinning, for seconds on a busy machine
EXACT_UP_TO = 600_000  # points among which as many queries are answered exactly: a few minutes on two cores, less than an index takes
FEW = 100  # queries that are answered one by one: looking at all points once for each takes less than putting them in order
GROUPS_AT_ONCE = 64  # of queries, between two looks at the clock
TILE = 512  # points or queries in a group, at most; not more than _kernels.TILE
LEADING = 32  # coordinates that are looked at first
RECALL_SAMPLE = 1_000  # queries asked again exactly

LEAST_SIZE, GREATEST_SIZE = 1e-15, 1e15  # of the largest coordinate

# HNSW, as its authors name them: links per node, candidates while building and while searching.
CONNECTIVITY, EXPANSION_ADD, EXPANSION_SEARCH = 16, 128, 128
BUILDING_THREADS = 1  # several link points in the order in which they happen to come, and the neighbours found differ from run to run


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
    """The k points nearest to each query; own[q] is the row of a point to be passed over (−1: none). Without k others, −1 and infinity follow.

    Exact, or by usearch where queries × points are too many, unless `exact` says which; equally distant points come by id if exact.
    """
    own = np.full(len(queries), -1, np.int64) if own is None else own
    size = max(
        float(part)
        for rows in (points, queries)
        for part in (rows.max(initial=0), -rows.min(initial=0))
    )
    if not (size == 0 or LEAST_SIZE < size < GREATEST_SIZE):
        raise DataError(
            f"the largest coordinate is {size:.3g}: squared distances would leave the range of 32-bit numbers. Scale the vectors."
        )
    if k >= len(points) or (exact is None and len(queries) <= FEW):
        return _one_by_one(points, queries, k, own)
    search = (
        _exactly
        if (len(queries) * len(points) <= EXACT_UP_TO**2 if exact is None else exact)
        else _by_index
    )
    return search(points, queries, k, own, threads, progress or Progress())


def _one_by_one(points: Floats, queries: Floats, k: int, own: NDArray[np.int64]) -> Neighbours:
    ids, squares = (
        np.full((len(queries), k), -1, np.int32),
        np.full((len(queries), k), np.inf, np.float32),
    )
    for query, passed_over, found, far in zip(queries, own.tolist(), ids, squares, strict=True):
        near, distances = nearest(points, query, k, passed_over)
        found[: len(near)], far[: len(near)] = near, distances**2
    return Neighbours(ids, squares, True, 1.0)


def _exactly(
    points: Floats,
    queries: Floats,
    k: int,
    own: NDArray[np.int64],
    threads: int,
    progress: Progress,
) -> Neighbours:
    """Compares every query with every point, but for those whose leading coordinates alone show that they are too far."""
    from pyke.use.neighbours._kernels import nearest_in_tiles  # loads Numba: half a second

    queries = np.ascontiguousarray(queries, np.float32)
    middle, axes = principal_axes(points, min(LEADING, points.shape[1]))
    tiles = _tiles(np.ascontiguousarray(points, np.float32), middle, axes)
    leading = project_on(queries, middle, axes)
    groups = _leaves(leading)
    slack = np.float32(
        1e-6 * np.sqrt(max(_greatest_square(points, middle), _greatest_square(queries, middle)))
    )
    ids, squares = np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.float32)

    def some(begin: int, end: int) -> None:
        for asked in groups[begin:end]:
            low, high = leading[asked].min(axis=0), leading[asked].max(axis=0)
            gaps = np.maximum(0, np.maximum(tiles.low - high, low - tiles.high))
            visits = np.argsort(np.einsum("ij,ij->i", gaps, gaps), kind="stable")
            nearest_in_tiles(tiles, visits, queries, leading, own, asked, slack, ids, squares)

    for begin in range(0, len(groups), GROUPS_AT_ONCE):
        progress.advance(min(begin * TILE, len(queries) - 1))
        size = min(GROUPS_AT_ONCE, len(groups) - begin)
        parallel_for(threads, size, lambda first, last, at=begin: some(at + first, at + last))  # type: ignore[misc]
    return Neighbours(ids, squares, True, 1.0)


def _tiles(points: Floats, middle: NDArray[np.float64], axes: NDArray[np.float64]) -> Tiles:
    """Points in tiles that lie close together."""
    from pyke.use.neighbours._kernels import Tiles

    leading = project_on(points, middle, axes)
    leaves = _leaves(leading)
    order = np.concatenate(leaves)
    starts = np.append(np.int64(0), np.cumsum([len(leaf) for leaf in leaves], dtype=np.int64))
    low, high = (
        np.array([extreme(leading[leaf], axis=0) for leaf in leaves], np.float32)
        for extreme in (np.min, np.max)
    )
    return Tiles(
        points[order],
        np.ascontiguousarray(leading[order].T),
        order.astype(np.int32),
        starts,
        low,
        high,
    )


def principal_axes(
    points: Floats, dimensions: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The middle of the points, and the directions in which they differ most, as columns; zeros where there are no more.

    The sign of each direction is fixed, so that a figure looks the same every time.
    """
    middle = points.mean(axis=0, dtype=np.float64)
    spread = np.zeros((len(middle), len(middle)))
    rows = max(ROWS_PER_PRODUCT, len(middle))
    for begin in range(0, len(points), rows):
        centred = points[begin : begin + rows] - middle
        spread += centred.T @ centred
    axes = np.linalg.eigh(spread)[1][:, ::-1][:, :dimensions]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    return middle, np.pad(axes, ((0, 0), (0, dimensions - axes.shape[1])))


def project_on(points: Floats, middle: NDArray[np.float64], axes: NDArray[np.float64]) -> Floats:
    """The points, seen along some axes."""
    parts = [
        ((points[at : at + ROWS_AT_ONCE] - middle) @ axes).astype(np.float32)
        for at in range(0, len(points), ROWS_AT_ONCE)
    ]
    return np.concatenate(parts) if parts else np.zeros((0, axes.shape[1]), np.float32)


def _greatest_square(points: Floats, middle: NDArray[np.float64]) -> float:
    return max(
        (
            float(((points[at : at + ROWS_AT_ONCE] - middle) ** 2).sum(axis=1).max())
            for at in range(0, len(points), ROWS_AT_ONCE)
        ),
        default=0.0,
    )


def _leaves(leading: Floats) -> list[NDArray[np.int64]]:
    """Rows in groups of at most TILE: halves along the coordinate that varies most, and halves of these."""
    leaves, waiting = [], [np.arange(len(leading))] if len(leading) else []
    while waiting:
        rows = waiting.pop()
        if len(rows) <= TILE:
            leaves.append(rows)
            continue
        some = leading[rows]
        order = np.argpartition(some[:, some.var(axis=0).argmax()], len(rows) // 2)
        waiting += [rows[order[len(rows) // 2 :]], rows[order[: len(rows) // 2]]]
    return leaves


def _by_index(
    points: Floats,
    queries: Floats,
    k: int,
    own: NDArray[np.int64],
    threads: int,
    progress: Progress,
) -> Neighbours:
    try:
        from usearch.index import Index
    except ImportError:
        raise MissingLibrary(
            "usearch", "approximate search among many points", "evaluate"
        ) from None
    index = Index(ndim=points.shape[1], metric="l2sq", dtype="f32", connectivity=CONNECTIVITY,
                  expansion_add=EXPANSION_ADD, expansion_search=max(EXPANSION_SEARCH, k + 1))  # fmt: skip
    for begin in range(0, len(points), ROWS_AT_ONCE):
        progress.advance(
            begin * len(queries) // (2 * len(points))
        )  # building takes about as long as asking
        rows = np.ascontiguousarray(points[begin : begin + ROWS_AT_ONCE])
        index.add(
            np.arange(begin, begin + len(rows), dtype=np.uint64), rows, threads=BUILDING_THREADS
        )
    ids, squares = np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.float32)
    for begin in range(0, len(queries), ROWS_AT_ONCE):
        progress.advance((len(queries) + begin) // 2)
        part = slice(begin, begin + ROWS_AT_ONCE)
        found = index.search(np.ascontiguousarray(queries[part]), k + 1, threads=threads)
        keys, far = (
            np.atleast_2d(found.keys),
            np.atleast_2d(found.distances),
        )  # of one query, usearch gives one row
        counts: Any = getattr(found, "counts", keys.shape[1])
        if np.min(counts) < min(k + 1, len(points)):
            raise DataError(
                "the index found fewer neighbours than asked for; ask for exact ones (--exact)"
            )
        ids[part], squares[part] = _without_own(keys.astype(np.int32), far, own[part])
    asked = np.linspace(0, len(queries) - 1, min(RECALL_SAMPLE, len(queries)), dtype=np.int64)
    furthest = _exactly(points, queries[asked], k, own[asked], threads, Progress()).squares[:, -1:]
    as_near = squares[asked] <= furthest * 1.00001  # another of equally near points is as good
    return Neighbours(ids, squares, False, float(as_near.mean()) if len(asked) else 1.0)


def _without_own(ids: Ids, squares: Floats, own: NDArray[np.int64]) -> tuple[Ids, Floats]:
    """k + 1 columns → k: without the query's own point, or without the last."""
    is_own = ids == own[:, None]
    is_own[:, -1] |= ~is_own.any(axis=1)
    return ids[~is_own].reshape(len(ids), -1), squares[~is_own].reshape(len(ids), -1)
