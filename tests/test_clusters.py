"""HDBSCAN: the spanning tree beside plain loops, the clusters beside scikit-learn's."""

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
from pyke.errors import MissingLibrary, UsageError
from pyke.use.clusters import _kernels as clusters_kernels
from pyke.use.clusters import hdbscan as hdbscan_module
from pyke.use.clusters.hdbscan import NOISE, hdbscan

# Small whole numbers: their distances are exact, and many are equal.
POINTS = st.integers(1, 5).flatmap(
    lambda d: st.lists(
        st.lists(st.integers(-3, 3), min_size=d, max_size=d), min_size=2, max_size=20
    )
)


def is_tree(edges: Floats, points: int) -> bool:
    """Whether n − 1 edges join n points."""
    part = list(range(points))
    for x, y in edges[:, :2].astype(int).tolist():
        gone = part[y]
        part = [part[x] if p == gone else p for p in part]
    return len(edges) == points - 1 and len(set(part)) == 1


def blobs(
    points: int, seed: int, dimensions: int = 3, spread: float = 1.0, centres: int = 5
) -> Floats:
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(centres, dimensions)) * 5
    return (
        centre[rng.integers(0, centres, points)] + spread * rng.normal(size=(points, dimensions))
    ).astype(np.float32)


def renamed(labels: np.ndarray[tuple[int], np.dtype[np.int32]]) -> list[int]:
    """Clusters numbered in the order of their first points."""
    names: dict[int, int] = {}
    return [
        NOISE if label == NOISE else names.setdefault(label, len(names))
        for label in labels.tolist()
    ]


# ---------------------------------------------------------------------------------------------------------------------
# The spanning tree
# ---------------------------------------------------------------------------------------------------------------------


@given(points=POINTS, data=st.data())
@many(150)
def test_the_tree_weighs_what_kruskals_weighs(
    points: list[list[float]], data: st.DataObject
) -> None:
    min_samples = data.draw(st.integers(1, len(points)))
    tree = hdbscan_module._exact_tree(np.array(points, np.float32), min_samples, 1, Progress())
    assert is_tree(tree, len(points))
    assert sorted(tree[:, 2].tolist()) == oracle.spanning_tree_weights(points, min_samples)
    core = [oracle.core_distance(points, x, min_samples) for x in range(len(points))]
    for left, right, weight in tree.tolist():
        x, y = int(left), int(right)
        assert weight == max(core[x], core[y], oracle.distance(points[x], points[y])), (
            "an edge weighs what its ends say"
        )


def test_the_tree_is_the_same_where_points_fill_several_blocks() -> None:
    """Points are looked at in blocks of 512."""
    points = np.random.default_rng(1).integers(-4, 5, (530, 2)).astype(np.float32)
    tree = hdbscan_module._exact_tree(points, 4, 2, Progress())
    assert sorted(tree[:, 2].tolist()) == oracle.spanning_tree_weights(points.tolist(), 4)


@given(points=POINTS, data=st.data())
@many(100)
def test_kruskal_over_all_edges_gives_the_tree_and_over_some_a_forest_joined_at_infinity(
    points: list[list[float]], data: st.DataObject
) -> None:
    every = sorted(
        (oracle.distance(points[x], points[y]), x, y) for x in range(len(points)) for y in range(x)
    )
    chosen = (
        every
        if data.draw(st.booleans())
        else data.draw(st.lists(st.sampled_from(every), unique=True).map(sorted))
    )
    weights, near, far = (
        (np.array(column) for column in zip(*chosen, strict=True)) if chosen else (np.zeros(0),) * 3
    )
    left, right = np.empty(len(points) - 1, np.int64), np.empty(len(points) - 1, np.int64)
    out = np.empty(len(points) - 1, np.float32)
    clusters_kernels.spanning_forest(
        near.astype(np.int64), far.astype(np.int64), weights.astype(np.float32), left, right, out
    )
    assert is_tree(np.column_stack([left, right, out]), len(points))
    part = list(range(len(points)))
    joined = []
    for weight, x, y in chosen:
        if part[x] != part[y]:
            part = [part[x] if p == part[y] else p for p in part]
            joined.append(np.float32(weight))
    assert out.tolist() == [*joined, *[np.inf] * (len(set(part)) - 1)]


# ---------------------------------------------------------------------------------------------------------------------
# Clusters
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("min_cluster_size", "min_samples"), [(2, 2), (5, 1), (5, 5), (10, 3), (15, 15), (26, 29)]
)
def test_clusters_are_those_of_scikit_learn(min_cluster_size: int, min_samples: int) -> None:
    """Where edges weigh the same, their order can move a point: scikit-learn's own clusters change as much with the order of points."""
    from sklearn import cluster as sklearn

    same = 0
    for seed in range(8):
        points = blobs(250, seed)
        ours = hdbscan(points, min_cluster_size, min_samples, exact=True)
        theirs = (
            sklearn.HDBSCAN(min_cluster_size=min_cluster_size, min_samples=min_samples, copy=True)
            .fit(points.astype(np.float64))
            .labels_
        )
        moved = sum(a != b for a, b in zip(renamed(ours.labels), renamed(theirs), strict=True))
        assert (ours.clusters, ours.exact) == (theirs.max() + 1, True)
        assert moved <= 1
        same += not moved
    assert same >= 5


@pytest.mark.parametrize("heaps", [1, 2, 7])
@pytest.mark.parametrize("exact", [True, False])
def test_points_that_are_all_the_same_are_one_cluster_each_heap(heaps: int, exact: bool) -> None:
    """One heap alone is noise: nothing tells it from what is around."""
    points = np.repeat(10 * np.eye(heaps, 7, dtype=np.float32), 40, axis=0)
    found = hdbscan(points, exact=exact)
    assert found.clusters == (heaps if heaps > 1 else 0)
    assert renamed(found.labels) == (
        [number // 40 for number in range(40 * heaps)] if heaps > 1 else [NOISE] * 40
    )


def test_threads_change_no_bit() -> None:
    points = blobs(400, 3)
    assert (
        len(
            {hdbscan(points, exact=True, threads=threads).labels.tobytes() for threads in (1, 2, 5)}
        )
        == 1
    )


def test_the_approximation_is_close_and_says_what_it_is() -> None:
    points = blobs(3000, 5, dimensions=8, centres=12)
    exact, approximate = (
        hdbscan(points, exact=True, threads=2),
        hdbscan(points, exact=False, threads=2),
    )
    assert (exact.exact, approximate.exact) == (True, False)
    assert exact.clusters == approximate.clusters == 12
    different = sum(
        a != b for a, b in zip(renamed(exact.labels), renamed(approximate.labels), strict=True)
    )
    assert different < 30


def test_the_number_of_points_decides_whether_clusters_are_exact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = blobs(100, 1)
    monkeypatch.setattr(hdbscan_module, "EXACT_UP_TO", 100)
    assert hdbscan(points).exact
    monkeypatch.setattr(hdbscan_module, "EXACT_UP_TO", 99)
    assert not hdbscan(points).exact


@pytest.mark.parametrize("points", [0, 1, 5, 29])
def test_too_few_points_for_a_cluster_are_noise(points: int) -> None:
    found = hdbscan(blobs(points, 1))
    assert found.labels.tolist() == [NOISE] * points
    assert found.clusters == 0


@pytest.mark.parametrize("points", [30, 31, 53])
def test_few_points_are_clustered_by_the_same_rule_as_many(points: int) -> None:
    """Below two clusters' worth of points there is at most noise."""
    found = hdbscan(blobs(points, 1, centres=2, spread=0.1))
    assert len(found.labels) == points
    assert found.clusters in ((0,) if points < 52 else (0, 2))


@pytest.mark.parametrize(("min_cluster_size", "min_samples"), [(1, 5), (0, 5), (5, 0), (-1, -1)])
def test_sizes_that_cannot_be_are_refused(min_cluster_size: int, min_samples: int) -> None:
    with pytest.raises(UsageError, match="at least 2 and 1"):
        hdbscan(blobs(50, 1), min_cluster_size, min_samples)


def test_a_missing_library_is_noticed_before_the_long_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("pyke.use.clusters.hdbscan.nearest_of_many", None)  # is not come to
    with pytest.raises(MissingLibrary, match="fast_hdbscan"):
        hdbscan(blobs(50, 1))
    assert hdbscan(blobs(50, 1)[:5]).clusters == 0  # so few need no library


def test_a_library_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fast_hdbscan.hdbscan", None)
    with pytest.raises(MissingLibrary, match=r"fast_hdbscan.*pyke-embeddings\[evaluate\]"):
        hdbscan(blobs(50, 1))
