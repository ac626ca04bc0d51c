"""Nearest neighbours, beside a plain double loop."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import many
from pyke.core.arrays import Floats
from pyke.core.progress import Progress
from pyke.errors import Interrupted, MissingLibrary
from pyke.use.neighbours import _kernels, search

# Small whole numbers: their distances are exact, and many are equal.
NUMBERS = st.integers(-2, 2)
VECTORS = st.integers(1, 3).flatmap(
    lambda n: st.lists(st.lists(NUMBERS, min_size=n, max_size=n), min_size=1, max_size=20)
)


@pytest.mark.parametrize("at_once", [1, 3, 1 << 16])
@given(drawn=VECTORS, k=st.integers(1, 25), own=st.booleans())
@many(150)
def test_nearest_equals_a_plain_double_loop(
    at_once: int, drawn: list[list[float]], k: int, own: bool
) -> None:
    query, *vectors = drawn
    without = len(vectors) // 2 if own and vectors else -1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "ROWS_AT_ONCE", at_once)
        ids, distances = search.nearest(
            np.array(vectors, np.float32).reshape(-1, len(query)),
            np.array(query, np.float32),
            k,
            without,
        )
    assert ids.tolist() == oracle.nearest(vectors, query, k, without)
    assert distances.tolist() == pytest.approx(
        [oracle.distance(vectors[y], query) for y in ids], rel=1e-6
    )


def test_nearest_equals_a_full_sort_of_many_vectors() -> None:
    vectors = np.random.default_rng(1).normal(size=(500, 20)).astype(np.float32)
    plain = vectors.tolist()
    for x in range(0, 500, 50):
        ids, distances = search.nearest(vectors, vectors[x], 10, x)
        assert ids.tolist() == oracle.nearest(plain, plain[x], 10, x)
        assert (np.diff(distances) >= 0).all()


def test_the_oracle_predicts_types_as_computed_by_hand() -> None:
    """Four typed subjects on a line: the first two are nearest neighbours, and the last two."""
    vectors, types = [[0.0], [1.0], [10.0], [11.0]], [{"a"}, {"a", "b"}, {"c"}, {"a"}]
    assert oracle.type_prediction(vectors, types, 1) == pytest.approx((2 * 0.5**0.5 + 0 + 0) / 4)
    # All three others: 2a + b + c, 2a + c, 3a + b, 2a + b + c.
    cosines = [2 / 6**0.5, 2 / 10**0.5, 0, 2 / 6**0.5]
    assert oracle.type_prediction(vectors, types, 3) == pytest.approx(sum(cosines) / 4)


# --------------------------------------------------------------------------------------------------
# Many queries
# --------------------------------------------------------------------------------------------------


def points_of(rows: list[list[float]]) -> Floats:
    return np.array(rows, np.float32).reshape(len(rows), -1)


@given(drawn=VECTORS.filter(lambda rows: len(rows) > 1), data=st.data())
@many(120)
def test_many_queries_equal_a_plain_double_loop(
    drawn: list[list[float]], data: st.DataObject
) -> None:
    queries = data.draw(st.lists(st.sampled_from(drawn), min_size=1, max_size=6))
    own = [data.draw(st.integers(-1, len(drawn) - 1)) for _ in queries]
    k = data.draw(st.integers(1, len(drawn) - 1))
    found = search.nearest_of_many(
        points_of(drawn), points_of(queries), k, np.array(own), exact=True
    )
    assert found.ids.tolist() == [
        oracle.nearest(drawn, query, k, without)
        for query, without in zip(queries, own, strict=True)
    ]
    squares = [
        [oracle.distance(drawn[y], query) ** 2 for y in ids]
        for query, ids in zip(queries, found.ids, strict=True)
    ]
    assert found.squares.tolist() == [pytest.approx(row, abs=1e-9) for row in squares]
    assert (found.exact, found.recall) == (True, 1.0)


@pytest.mark.parametrize("points", [511, 512, 513, 1100])
def test_equally_distant_points_are_sorted_by_id_across_tiles(points: int) -> None:
    """A tile has 512 points."""
    rows = np.random.default_rng(points).integers(-1, 2, (points, 3)).astype(np.float32)
    plain = rows.tolist()
    found = search.nearest_of_many(rows, rows[:12], 60, np.arange(12), exact=True)
    assert found.ids.tolist() == [oracle.nearest(plain, plain[x], 60, x) for x in range(12)]


@pytest.mark.parametrize("dimensions", [1, 3, 4, 7, 50])
def test_equal_points_have_equal_distances_at_any_position(dimensions: int) -> None:
    """Unrolled loops and their remainders must round alike, or ties would depend on position."""
    rng = np.random.default_rng(dimensions)
    for points in (5, 30, 511, 1029):
        rows = np.repeat(rng.normal(size=(1, dimensions)).astype(np.float32), points, axis=0)
        found = search.nearest_of_many(
            rows, rng.normal(size=(4, dimensions)).astype(np.float32), 5, exact=True
        )
        assert found.ids.tolist() == [[0, 1, 2, 3, 4]] * 4
        assert (found.squares == found.squares[:, :1]).all()


def cloud(points: int, dimensions: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).normal(size=(points, dimensions)).astype(np.float32)


@pytest.mark.parametrize("dimensions", [1, 2, 16, 17, 40])
@pytest.mark.parametrize("apart", [0, 30, 300])
def test_skipped_points_are_too_distant(dimensions: int, apart: int) -> None:
    """Heaps of points with integer coordinates: distances are exact, and many are equal."""
    rng = np.random.default_rng(dimensions + apart)
    heaps = apart * rng.integers(-1, 2, (7, dimensions))
    points = (heaps[rng.integers(0, 7, 1500)] + rng.integers(-2, 3, (1500, dimensions))).astype(
        np.float32
    )
    asked = np.arange(0, 1500, 5)
    found = search.nearest_of_many(points, points[asked], 25, asked, exact=True)
    squares = (
        (points[asked, None, :].astype(np.int64) - points[None, :, :].astype(np.int64)) ** 2
    ).sum(axis=2)
    squares[np.arange(len(asked)), asked] = 2**40
    order = np.argsort(squares, axis=1, kind="stable")[:, :25]
    assert found.ids.tolist() == order.tolist()
    assert found.squares.tolist() == np.take_along_axis(squares, order, axis=1).tolist()


def test_queries_far_from_all_points_find_their_neighbours() -> None:
    vectors = cloud(1200, 6)
    far = cloud(3, 6) + np.float32(1000)
    found = search.nearest_of_many(vectors, far, 4, exact=True)
    squares = ((far[:, None, :].astype(np.float64) - vectors[None, :, :]) ** 2).sum(axis=2)
    assert found.squares.tolist() == [
        pytest.approx(row[:4].tolist(), rel=1e-5) for row in np.sort(squares, axis=1)
    ]


def test_threads_and_group_sizes_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = cloud(700, 9)
    results = []
    for tile, groups, threads in (
        (512, 64, 1),
        (512, 64, 2),
        (512, 64, 8),
        (100, 3, 3),
        (10, 1, 2),
    ):
        monkeypatch.setattr(search, "TILE", tile)
        monkeypatch.setattr(search, "GROUPS_PER_THREAD", groups)
        found = search.nearest_of_many(
            vectors, vectors, 12, np.arange(700), exact=True, threads=threads
        )
        results.append(found.ids.tobytes() + found.squares.tobytes())
    assert len(set(results)) == 1


def test_the_numbers_of_points_and_queries_decide_whether_the_search_is_exact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = cloud(50, 3)
    monkeypatch.setattr(search, "MAX_SINGLE", 1)
    monkeypatch.setattr(search, "MAX_EXACT", 50)
    assert search.nearest_of_many(vectors, vectors, 3).exact
    monkeypatch.setattr(search, "MAX_EXACT", 49)
    assert not search.nearest_of_many(vectors, vectors, 3).exact
    assert search.nearest_of_many(vectors, vectors[:48], 3).exact
    assert search.nearest_of_many(vectors, vectors, 3, exact=True).exact


def test_a_few_queries_are_answered_exactly_among_any_number_of_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "MAX_EXACT", 1)
    vectors = cloud(120, 3)
    plain = vectors.tolist()
    found = search.nearest_of_many(vectors, vectors[:100], 3, np.arange(100))
    assert (found.exact, found.recall) == (True, 1.0)
    assert found.ids.tolist() == [oracle.nearest(plain, plain[x], 3, x) for x in range(100)]
    assert not search.nearest_of_many(vectors, vectors[:101], 3, np.arange(101)).exact


@pytest.mark.parametrize("exact", [None, True, False])
def test_missing_neighbours_have_id_minus_1_and_infinite_distance(
    exact: bool | None,
) -> None:
    vectors = np.arange(3, dtype=np.float32)[:, None]
    found = search.nearest_of_many(vectors, vectors[:2], 4, np.array([0, -1]), exact=exact)
    assert found.ids.tolist() == [[1, 2, -1, -1], [1, 0, 2, -1]]
    assert found.squares.tolist() == [[1, 4, np.inf, np.inf], [0, 1, 1, np.inf]]


def test_an_index_finds_nearly_all_neighbours_and_never_the_query_itself() -> None:
    vectors = cloud(2000, 10)
    found = search.nearest_of_many(vectors, vectors, 10, np.arange(2000), exact=False, threads=2)
    assert not (found.ids == np.arange(2000)[:, None]).any()
    assert (np.diff(found.squares, axis=1) >= 0).all()
    assert found.squares[7].tolist() == pytest.approx(
        ((vectors[found.ids[7]] - vectors[7]) ** 2).sum(axis=1).tolist(), rel=1e-5
    )
    assert not found.exact
    assert found.recall > 0.98


def test_threads_do_not_change_what_an_index_finds() -> None:
    vectors = cloud(3000, 30)
    one, three = (
        search.nearest_of_many(vectors, vectors, 10, np.arange(3000), exact=False, threads=threads)
        for threads in (1, 3)
    )
    assert one.ids.tolist() == three.ids.tolist()
    assert one.recall == three.recall < 1  # two that find everything would agree, too


@pytest.mark.parametrize("queries", [0, 1, 5])
def test_an_index_answers_a_single_query_like_many(
    queries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last of five blocks has one query."""
    monkeypatch.setattr(search, "ROWS_AT_ONCE", 4)
    vectors = cloud(300, 5)
    found = search.nearest_of_many(vectors, vectors[:queries], 3, np.arange(queries), exact=False)
    assert (
        found.ids.tolist()
        == search.nearest_of_many(
            vectors, vectors[:queries], 3, np.arange(queries), exact=True
        ).ids.tolist()
    )


@pytest.mark.parametrize("sample", [100, 5000])
def test_the_recall_of_an_index_is_measured(sample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A poor index misses some neighbours."""
    for name, value in (
        ("CONNECTIVITY", 3),
        ("EXPANSION_ADD", 4),
        ("EXPANSION_SEARCH", 4),
        ("RECALL_SAMPLE", sample),
    ):
        monkeypatch.setattr(search, name, value)
    vectors = cloud(1500, 30)
    found = search.nearest_of_many(vectors, vectors, 5, np.arange(1500), exact=False)
    truth = search.nearest_of_many(vectors, vectors, 5, np.arange(1500), exact=True)
    recall = np.mean(
        [
            len(set(a) & set(b)) / 5
            for a, b in zip(truth.ids.tolist(), found.ids.tolist(), strict=True)
        ]
    )
    assert recall < 0.9
    assert found.recall == pytest.approx(recall, abs=1e-9 if sample > 1500 else 0.1)


def test_a_neighbour_at_the_same_distance_as_the_true_one_counts_as_found() -> None:
    """All points are equal: every neighbour is correct."""
    vectors = np.zeros((400, 4), np.float32)
    assert search.nearest_of_many(vectors, vectors, 5, np.arange(400), exact=False).recall == 1.0


@pytest.mark.parametrize("own", [True, False])
def test_an_index_can_return_all_points(own: bool) -> None:
    vectors = cloud(12, 3)
    k = 11 if own else 12
    found, truth = (
        search.nearest_of_many(vectors, vectors, k, np.arange(12) if own else None, exact=exact)
        for exact in (False, True)
    )
    assert found.ids.tolist() == truth.ids.tolist()


@pytest.mark.parametrize("exact", [True, False])
def test_no_queries_give_an_empty_result_without_warnings(exact: bool) -> None:
    found = search.nearest_of_many(cloud(30, 3), np.zeros((0, 3), np.float32), 5, exact=exact)
    assert found.ids.shape == found.squares.shape == (0, 5)
    assert not np.isnan(found.recall)


def test_a_missing_index_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(MissingLibrary, match=r"usearch.*\[evaluate\]"):
        search.nearest_of_many(cloud(30, 3), cloud(3, 3), 5, exact=False)


class Counted(Progress):
    """Records the reported progress."""

    def __init__(self) -> None:
        self.heard: list[int] = []

    def advance(self, done: int) -> None:
        self.heard.append(done)


@pytest.mark.parametrize("exact", [True, False])
def test_a_search_reports_its_progress(exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("TILE", 10), ("GROUPS_PER_THREAD", 1), ("ROWS_AT_ONCE", 10)):
        monkeypatch.setattr(search, name, value)
    vectors, progress = cloud(50, 3), Counted()
    search.nearest_of_many(vectors, vectors, 3, np.arange(50), exact=exact, progress=progress)
    assert progress.heard == sorted(progress.heard)
    assert len(set(progress.heard)) >= 5
    assert 0 <= min(progress.heard) <= max(progress.heard) < 50


def test_a_search_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "TILE", 10)
    monkeypatch.setattr(search, "GROUPS_PER_THREAD", 1)

    class Stop(Progress):
        def advance(self, done: int) -> None:
            if done >= 20:
                raise Interrupted(2)

    with pytest.raises(Interrupted):
        search.nearest_of_many(cloud(50, 3), cloud(50, 3), 3, exact=True, progress=Stop())


def test_groups_are_not_larger_than_the_kernel_has_room_for() -> None:
    assert search.TILE <= _kernels.TILE
