"""HDBSCAN: spanning trees and clusters compared with plain loops and with scikit-learn."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import oracle
from graphs import many
from pyke.core.arrays import Floats
from pyke.core.progress import Progress
from pyke.errors import UsageError
from pyke.use.clusters import _kernels as clusters_kernels
from pyke.use.clusters import hdbscan as hdbscan_module
from pyke.use.clusters.hdbscan import (
    NOISE,
    SpanningTree,
    clusters_of_tree,
    exact_tree,
    hdbscan,
)

# Small integers: their distances are exact, and many are equal.
POINTS = st.integers(1, 5).flatmap(
    lambda d: st.lists(
        st.lists(st.integers(-3, 3), min_size=d, max_size=d), min_size=2, max_size=20
    )
)


def is_tree(edges: list[tuple[int, int]], points: int) -> bool:
    """Whether n − 1 edges connect n points."""
    part = list(range(points))
    for x, y in edges:
        part = [part[x] if p == part[y] else p for p in part]
    return len(edges) == points - 1 and len(set(part)) == 1


def pairs(left: NDArray[np.int64], right: NDArray[np.int64]) -> list[tuple[int, int]]:
    return list(zip(left.tolist(), right.tolist(), strict=True))


def blobs(
    points: int, seed: int, dimensions: int = 3, spread: float = 1.0, centres: int = 5
) -> Floats:
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(centres, dimensions)) * 5
    return (
        centre[rng.integers(0, centres, points)] + spread * rng.normal(size=(points, dimensions))
    ).astype(np.float32)


def renamed(labels: NDArray[np.int32]) -> list[int]:
    """Clusters numbered in the order of their first points."""
    names: dict[int, int] = {}
    return [
        NOISE if label == NOISE else names.setdefault(label, len(names))
        for label in labels.tolist()
    ]


# --------------------------------------------------------------------------------------------------
# The spanning tree
# --------------------------------------------------------------------------------------------------


@given(points=POINTS, data=st.data())
@many(150)
def test_the_exact_tree_is_a_minimum_spanning_tree(
    points: list[list[float]], data: st.DataObject
) -> None:
    min_samples = data.draw(st.integers(1, len(points)))
    tree = exact_tree(np.array(points, np.float32), min_samples, 1, Progress())
    assert is_tree(pairs(tree.left, tree.right), len(points))
    assert sorted(tree.distances.tolist()) == oracle.spanning_tree_weights(points, min_samples)
    core = [oracle.core_distance(points, x, min_samples) for x in range(len(points))]
    for (x, y), distance in zip(pairs(tree.left, tree.right), tree.distances.tolist(), strict=True):
        assert distance == max(core[x], core[y], oracle.distance(points[x], points[y]))


def test_the_exact_tree_is_minimal_across_several_tiles() -> None:
    """A tile has 512 points."""
    points = np.random.default_rng(1).integers(-4, 5, (530, 2)).astype(np.float32)
    tree = exact_tree(points, 4, 2, Progress())
    assert sorted(tree.distances.tolist()) == oracle.spanning_tree_weights(points.tolist(), 4)


@given(points=POINTS, data=st.data())
@many(100)
def test_kruskal_joins_unconnected_parts_by_edges_of_infinite_weight(
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
    number = len(points)
    neighbours = np.tile(np.arange(number, dtype=np.int32), (number, 1))
    squares = np.zeros((number, number), np.float32)
    for weight, x, y in chosen:
        squares[x, y] = weight
    ascending = np.array([x * number + y for _, x, y in chosen], np.int64)
    left, right = np.empty(len(points) - 1, np.int64), np.empty(len(points) - 1, np.int64)
    out = np.empty(len(points) - 1, np.float32)
    clusters_kernels.spanning_forest(neighbours, squares, ascending, left, right, out)
    assert is_tree(pairs(left, right), len(points))
    part = list(range(len(points)))
    joined = []
    for weight, x, y in chosen:
        if part[x] != part[y]:
            part = [part[x] if p == part[y] else p for p in part]
            joined.append(np.float32(weight))
    assert out.tolist() == [*joined, *[np.inf] * (len(set(part)) - 1)]


# --------------------------------------------------------------------------------------------------
# Clusters
# --------------------------------------------------------------------------------------------------


Edge = tuple[float, int, int]  # length, point, point


def reachable(edges: list[Edge], start: int) -> set[int]:
    found, waiting = {start}, [start]
    while waiting:
        x = waiting.pop()
        beyond = {b if a == x else a for _, a, b in edges if x in (a, b)} - found
        found |= beyond
        waiting += beyond
    return found


def best_clusters(
    part: set[int], edges: list[Edge], min_size: int, birth: float | None = None
) -> tuple[float, list[set[int]]]:
    """HDBSCAN by definition: cut the longest edges until a part falls into two large ones.

    Returns the highest score of clusters within a part, and these clusters. The part of all
    points, which has no density of birth, is not a cluster.
    """
    score, rest = 0.0, sorted(edges)
    while rest:
        length, x, y = rest.pop()
        sides = [reachable(rest, x), reachable(rest, y)]
        gained = 1 / length - (birth or 0.0)
        large = [side for side in sides if len(side) >= min_size]
        if len(large) == 2:
            score += gained * len(sides[0] | sides[1])
            below = [
                best_clusters(side, [e for e in rest if e[1] in side], min_size, 1 / length)
                for side in sides
            ]
            total = sum(found for found, _ in below)
            if birth is None or total > score:
                return total, [cluster for _, clusters in below for cluster in clusters]
            return score, [part]
        score += gained * sum(len(side) for side in sides if len(side) < min_size)
        rest = [edge for edge in rest if large and edge[1] in large[0]]
    return score, [] if birth is None else [part]


@given(data=st.data())
@many(300)
def test_clusters_of_a_tree_are_those_of_the_definition(data: st.DataObject) -> None:
    """Lengths are powers of two: their sums are exact, and many are equal."""
    n = data.draw(st.integers(4, 40))
    left = [data.draw(st.integers(0, x - 1)) for x in range(1, n)]
    lengths = [2.0 ** data.draw(st.integers(-3, 3)) for _ in left]
    min_size = data.draw(st.integers(2, 6))
    tree = SpanningTree(np.array(left), np.arange(1, n), np.array(lengths))
    labels = clusters_of_tree(tree, min_size).tolist()
    edges = list(zip(lengths, left, range(1, n), strict=True))
    _, expected = best_clusters(set(range(n)), edges, min_size)
    found = {label: {x for x in range(n) if labels[x] == label} for label in set(labels) - {NOISE}}
    assert set(found) == set(range(len(expected)))
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, expected))


def test_points_beyond_an_infinite_edge_are_noise_or_in_a_cluster_of_their_own() -> None:
    """Three parts that nothing connects: two of four points, and one of two."""
    lengths = [1.0, 1.0, 1.0, np.inf, 1.0, 1.0, 1.0, np.inf, 1.0]
    tree = SpanningTree(np.arange(9), np.arange(1, 10), np.array(lengths))
    assert renamed(clusters_of_tree(tree, 3)) == [0, 0, 0, 0, 1, 1, 1, 1, NOISE, NOISE]


@pytest.mark.parametrize(
    ("min_cluster_size", "min_samples"), [(2, 2), (5, 1), (5, 5), (10, 3), (15, 15), (26, 29)]
)
def test_clusters_equal_those_of_scikit_learn(min_cluster_size: int, min_samples: int) -> None:
    """Edges of equal weight: their order can move a point, in scikit-learn as well."""
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
def test_each_heap_of_equal_points_is_one_cluster(heaps: int, exact: bool) -> None:
    """A single heap is noise: HDBSCAN does not select the cluster of all points."""
    points = np.repeat(10 * np.eye(heaps, 7, dtype=np.float32), 40, axis=0)
    found = hdbscan(points, exact=exact)
    assert found.clusters == (heaps if heaps > 1 else 0)
    assert renamed(found.labels) == (
        [number // 40 for number in range(40 * heaps)] if heaps > 1 else [NOISE] * 40
    )


def test_the_number_of_threads_does_not_change_the_clusters() -> None:
    points = blobs(400, 3)
    assert (
        len(
            {hdbscan(points, exact=True, threads=threads).labels.tobytes() for threads in (1, 2, 5)}
        )
        == 1
    )


def test_approximate_clusters_are_close_to_exact_ones_and_reported_as_approximate() -> None:
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
    monkeypatch.setattr(hdbscan_module, "MAX_EXACT", 100)
    assert hdbscan(points).exact
    monkeypatch.setattr(hdbscan_module, "MAX_EXACT", 99)
    assert not hdbscan(points).exact


@pytest.mark.parametrize("points", [0, 1, 5, 29])
def test_too_few_points_for_a_cluster_are_noise(points: int) -> None:
    found = hdbscan(blobs(points, 1))
    assert found.labels.tolist() == [NOISE] * points
    assert found.clusters == 0


@pytest.mark.parametrize("points", [30, 31, 53])
def test_fewer_points_than_two_clusters_need_are_noise(points: int) -> None:
    found = hdbscan(blobs(points, 1, centres=2, spread=0.1))
    assert len(found.labels) == points
    assert found.clusters in ((0,) if points < 52 else (0, 2))


@pytest.mark.parametrize(
    ("min_cluster_size", "min_samples", "message"),
    [
        (1, 5, "`min_cluster_size` is 1; it must be at least 2"),
        (0, 5, "`min_cluster_size` is 0; it must be at least 2"),
        (5, 0, "`min_samples` is 0; it must be at least 1"),
        (-1, -1, "`min_cluster_size` is -1; it must be at least 2"),
    ],
)
def test_invalid_sizes_are_refused(min_cluster_size: int, min_samples: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        hdbscan(blobs(50, 1), min_cluster_size, min_samples)


def test_clusters_work_without_optional_libraries() -> None:
    """Neither scikit-learn nor another implementation of HDBSCAN is imported."""
    code = "import sys, numpy as np; from pyke.use.clusters.hdbscan import hdbscan"
    code += "; assert hdbscan(np.repeat(np.eye(2, dtype=np.float32), 60, axis=0)).clusters == 2"
    code += "; assert not {'sklearn', 'hdbscan', 'fast_hdbscan'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
