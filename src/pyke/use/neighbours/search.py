"""Nearest neighbours by Euclidean distance: vectors in, ids and distances out.

The search is exact, or approximate with a measured recall.
"""

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
# BLAS uses one thread for so few rows. On a busy machine several threads wait for each other.
ROWS_PER_PRODUCT = 64
# An exact search of this many queries among as many points takes a few minutes on two cores.
MAX_EXACT = 600_000
MAX_SINGLE = 100  # queries that are answered one by one, without sorting the points into tiles
GROUPS_PER_THREAD = 8  # groups of queries between two reports of progress
TILE = 512  # maximum number of points or queries in a group; at most _kernels.TILE
LEADING = 32  # coordinates that are compared first
RECALL_SAMPLE = 1_000  # queries of an approximate search that are repeated exactly

MIN_COORDINATE, MAX_COORDINATE = 1e-15, 1e15  # range of the largest coordinate

# HNSW, in the words of its authors: links per node, candidates while building and searching.
CONNECTIVITY, EXPANSION_ADD, EXPANSION_SEARCH = 16, 128, 128
# With several threads the links depend on their timing, and neighbours differ from run to run.
BUILDING_THREADS = 1


def nearest(vectors: Floats, query: Floats, k: int, without: int = -1) -> tuple[Ids, Floats]:
    """Ids and distances of the k rows nearest to a query, nearest first, ties by id.

    Row `without` is skipped.

    Examples
    --------
    >>> ids, distances = nearest(np.eye(3, dtype=np.float32), np.ones(3, np.float32), k=2)
    >>> ids.tolist()
    [0, 1]
    """
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
    """The k nearest points of each query, nearest first."""

    ids: Ids  # (queries, k)
    squares: Floats  # (queries, k): squared distances
    exact: bool
    recall: float  # the share of the true neighbours that was found; 1 if exact


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
    """Find the k points nearest to each query.

    Parameters
    ----------
    points, queries
        Arrays of shape (number, dimensions).
    k
        Number of neighbours. If there are fewer, ids are −1 and distances infinite.
    own
        Row of the point to skip for each query, −1 for none.
    exact
        True for an exact search, False for an approximate one with usearch; by default the numbers
        of queries and points decide. An exact search sorts equally distant points by id.
    threads
        Number of threads. The result does not depend on it.
    progress
        Receives progress reports.

    Examples
    --------
    >>> points = np.arange(10, dtype=np.float32)[:, None]
    >>> nearest_of_many(points, points[:2], k=2, own=np.arange(2)).ids.tolist()
    [[1, 2], [0, 2]]
    """
    own = np.full(len(queries), -1, np.int64) if own is None else own
    size = max(
        float(part)
        for rows in (points, queries)
        for part in (rows.max(initial=0), -rows.min(initial=0))
    )
    if not (size == 0 or MIN_COORDINATE < size < MAX_COORDINATE):
        raise DataError(
            f"the largest coordinate is {size:.3g}: squared distances are outside the range of "
            "32-bit numbers. Scale the vectors."
        )
    if k >= len(points) or (exact is None and len(queries) <= MAX_SINGLE):
        return _one_by_one(points, queries, k, own)
    if exact is None:
        exact = len(queries) * len(points) <= MAX_EXACT**2
    search = _exact_search if exact else _approximate_search
    return search(points, queries, k, own, threads, progress or Progress())


def _one_by_one(points: Floats, queries: Floats, k: int, own: NDArray[np.int64]) -> Neighbours:
    """Compare each query with all points, without compiled code."""
    ids = np.full((len(queries), k), -1, np.int32)
    squares = np.full((len(queries), k), np.inf, np.float32)
    for row, (query, without) in enumerate(zip(queries, own.tolist(), strict=True)):
        near, distances = nearest(points, query, k, without)
        ids[row, : len(near)], squares[row, : len(near)] = near, distances**2
    return Neighbours(ids, squares, True, 1.0)


def _exact_search(
    points: Floats,
    queries: Floats,
    k: int,
    own: NDArray[np.int64],
    threads: int,
    progress: Progress,
) -> Neighbours:
    """Compare every query with all points that are not excluded by their leading coordinates."""
    return ExactIndex(points).search(queries, k, own, threads, progress)


class ExactIndex:
    """Points in tiles, for exact searches of some queries at a time; several threads may search.

    Examples
    --------
    >>> points = np.arange(10, dtype=np.float32)[:, None]
    >>> ExactIndex(points).search(points[:2], 2, np.arange(2)).ids.tolist()
    [[1, 2], [0, 2]]
    """

    def __init__(self, points: Floats) -> None:
        self._middle, self._axes = principal_axes(points, min(LEADING, points.shape[1]))
        self._tiles = _tiles(np.ascontiguousarray(points, np.float32), self._middle, self._axes)
        self._largest = _largest_square(points, self._middle)

    def search(
        self,
        queries: Floats,
        k: int,
        own: NDArray[np.int64],
        threads: int = 1,
        progress: Progress | None = None,
    ) -> Neighbours:
        """Find the k points nearest to each query; `k` is at most the number of points."""
        from pyke.use.neighbours._kernels import nearest_in_tiles  # loads Numba: half a second

        tiles, progress = self._tiles, progress or Progress()
        queries = np.ascontiguousarray(queries, np.float32)
        leading = project_on(queries, self._middle, self._axes)
        groups = _leaves(leading)
        largest = max(self._largest, _largest_square(queries, self._middle))
        slack = np.float32(1e-6 * np.sqrt(largest))
        ids = np.full((len(queries), k), -1, np.int32)
        squares = np.full((len(queries), k), np.inf, np.float32)

        def search(begin: int, end: int) -> None:
            for group in groups[begin:end]:
                low, high = leading[group].min(axis=0), leading[group].max(axis=0)
                gaps = np.maximum(0, np.maximum(tiles.low - high, low - tiles.high))
                visits = np.argsort(np.einsum("ij,ij->i", gaps, gaps), kind="stable")
                nearest_in_tiles(tiles, visits, queries, leading, own, group, slack, ids, squares)

        at_once, done = GROUPS_PER_THREAD * threads, 0
        for begin in range(0, len(groups), at_once):
            progress.advance(done)
            size = min(at_once, len(groups) - begin)
            done += sum(len(group) for group in groups[begin : begin + size])
            parallel_for(threads, size, lambda first, last, at=begin: search(at + first, at + last))  # type: ignore[misc]
        return Neighbours(ids, squares, True, 1.0)


def _tiles(points: Floats, middle: NDArray[np.float64], axes: NDArray[np.float64]) -> Tiles:
    """Group points that lie close together."""
    from pyke.use.neighbours._kernels import Tiles

    leading = project_on(points, middle, axes)
    leaves = _leaves(leading)
    order = np.concatenate(leaves)
    starts = np.append(np.int64(0), np.cumsum([len(leaf) for leaf in leaves], dtype=np.int64))
    low, high = (
        np.array([extreme(leading[leaf], axis=0) for leaf in leaves], np.float32)
        for extreme in (np.min, np.max)
    )
    columns = np.empty(leading.shape[::-1], np.float32)
    for begin in range(0, len(order), ROWS_AT_ONCE):
        rows = order[begin : begin + ROWS_AT_ONCE]
        columns[:, begin : begin + len(rows)] = leading[rows].T
    del leading, leaves  # releases memory before the largest array
    return Tiles(points[order], columns, order.astype(np.int32), starts, low, high)


def principal_axes(
    points: Floats, dimensions: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean of the points, and the directions in which they differ most, as columns.

    The sign of each direction is fixed: a figure looks the same every time. Columns beyond the
    number of dimensions are zero.
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
    """Coordinates of the points along some axes."""
    found = np.empty((len(points), axes.shape[1]), np.float32)
    for at in range(0, len(points), ROWS_AT_ONCE):
        found[at : at + ROWS_AT_ONCE] = (points[at : at + ROWS_AT_ONCE] - middle) @ axes
    return found


def _largest_square(points: Floats, middle: NDArray[np.float64]) -> float:
    """Largest squared distance of a point from the middle."""
    return max(
        (
            float(((points[at : at + ROWS_AT_ONCE] - middle) ** 2).sum(axis=1).max())
            for at in range(0, len(points), ROWS_AT_ONCE)
        ),
        default=0.0,
    )


def _leaves(leading: Floats) -> list[NDArray[np.int64]]:
    """Rows in groups of at most TILE: halved along the coordinate with the largest variance."""
    leaves, waiting = [], [np.arange(len(leading))] if len(leading) else []
    while waiting:
        rows = waiting.pop()
        if len(rows) <= TILE:
            leaves.append(rows)
            continue
        coordinates = leading[rows]
        half = len(rows) // 2
        order = np.argpartition(coordinates[:, coordinates.var(axis=0).argmax()], half)
        waiting += [rows[order[half:]], rows[order[:half]]]
    return leaves


def _approximate_search(
    points: Floats,
    queries: Floats,
    k: int,
    own: NDArray[np.int64],
    threads: int,
    progress: Progress,
) -> Neighbours:
    """Search with an HNSW index of usearch, and measure the recall on some queries."""
    index = _index(points, k, len(queries), progress)
    ids, squares = np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.float32)
    for begin in range(0, len(queries), ROWS_AT_ONCE):
        progress.advance((len(queries) + begin) // 2)
        part = slice(begin, begin + ROWS_AT_ONCE)
        found = index.search(np.ascontiguousarray(queries[part]), k + 1, threads=threads)
        # For a single query usearch returns one row.
        keys, distances = np.atleast_2d(found.keys), np.atleast_2d(found.distances)
        counts: Any = getattr(found, "counts", keys.shape[1])
        if np.min(counts) < min(k + 1, len(points)):
            raise DataError(
                "the approximate search found fewer neighbours than it should; use `exact=True`"
            )
        ids[part], squares[part] = _without_own(keys.astype(np.int32), distances, own[part])
    sample = np.linspace(0, len(queries) - 1, min(RECALL_SAMPLE, len(queries)), dtype=np.int64)
    true = _exact_search(points, queries[sample], k, own[sample], threads, Progress())
    # Another point at the same distance is as good.
    is_near = squares[sample] <= true.squares[:, -1:] * 1.00001
    return Neighbours(ids, squares, False, float(is_near.mean()) if len(sample) else 1.0)


def _index(points: Floats, k: int, queries: int, progress: Progress) -> Any:
    """Build the index. This takes about as long as the search and is half of the progress."""
    try:
        from usearch.index import Index
    except ImportError:
        raise MissingLibrary(
            "usearch", "approximate search among many points", "evaluate"
        ) from None
    index = Index(
        ndim=points.shape[1],
        metric="l2sq",
        dtype="f32",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=max(EXPANSION_SEARCH, k + 1),
    )
    for begin in range(0, len(points), ROWS_AT_ONCE):
        progress.advance(begin * queries // (2 * len(points)))
        rows = np.ascontiguousarray(points[begin : begin + ROWS_AT_ONCE])
        keys = np.arange(begin, begin + len(rows), dtype=np.uint64)
        index.add(keys, rows, threads=BUILDING_THREADS)
    return index


def _without_own(ids: Ids, squares: Floats, own: NDArray[np.int64]) -> tuple[Ids, Floats]:
    """k + 1 columns → k: drop the query's own point, or else the last one."""
    is_own = ids == own[:, None]
    is_own[:, -1] |= ~is_own.any(axis=1)
    return ids[~is_own].reshape(len(ids), -1), squares[~is_own].reshape(len(ids), -1)
