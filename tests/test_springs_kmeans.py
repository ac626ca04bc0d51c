"""k-means compared with the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import many
from pyke.core.arrays import Floats
from pyke.springs import kmeans


def normal(rows: int, dimensions: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(rows, dimensions)).astype(np.float32)


# Whole numbers: distances are exact, and many are equal.
POINTS = st.lists(st.tuples(*[st.integers(-3, 3)] * 2), min_size=1, max_size=30)


@given(points=POINTS, centroids=POINTS)
@many(300)
def test_a_step_of_lloyds_algorithm_equals_the_oracle(
    points: list[tuple[int, int]], centroids: list[tuple[int, int]]
) -> None:
    there, here = np.array(points, np.float32), np.array(centroids, np.float32)
    nearest = kmeans.nearest_centroids(there, here, threads=2)
    assert nearest.tolist() == [
        oracle.nearest_centroid(here.tolist(), point) for point in there.tolist()
    ]
    means = kmeans.means(there, nearest, len(here))
    zeros = [[0.0, 0.0]] * len(here)
    expected = oracle.moved_centroids(there.tolist(), nearest.tolist(), zeros)
    np.testing.assert_allclose(means, np.array(expected), rtol=1e-6)


def test_the_centroids_are_those_of_lloyds_algorithm_from_the_same_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = normal(200, 3)
    monkeypatch.setattr(kmeans, "ROUNDS", 0)
    start = kmeans.find_centroids(points, 5, 7, 1)
    monkeypatch.setattr(kmeans, "ROUNDS", 4)
    expected = start.tolist()
    for _ in range(4):
        nearest = [oracle.nearest_centroid(expected, point) for point in points.tolist()]
        expected = oracle.moved_centroids(points.tolist(), nearest, expected)
    np.testing.assert_allclose(kmeans.find_centroids(points, 5, 7, 1), expected, rtol=1e-5)


def test_the_centroids_start_at_different_random_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kmeans, "ROUNDS", 0)
    points = np.arange(100, dtype=np.float32)[:, None]
    one, other = (kmeans.find_centroids(points, 60, seed, 1)[:, 0].tolist() for seed in (1, 2))
    assert len(set(one)) == len(set(other)) == 60
    assert one != other


def test_the_number_of_threads_changes_no_bit() -> None:
    points = normal(3000, 50)
    found = [kmeans.clusters_of(points, 20, 3, threads).tolist() for threads in (1, 2, 3, 8)]
    assert found.count(found[0]) == len(found)


def test_separate_groups_of_points_never_share_a_cluster() -> None:
    groups = np.repeat(np.arange(8), 100)
    points = 100 * normal(8, 5, seed=1)[groups] + normal(800, 5)
    found = kmeans.clusters_of(points, 40, 0, 2)
    assert all(len(set(groups[found == c])) == 1 for c in np.unique(found))
    assert len(np.unique(found)) > 30


def test_each_of_few_points_is_a_cluster() -> None:
    points = normal(4, 2)
    assert sorted(kmeans.clusters_of(points, 10, 0, 1).tolist()) == [0, 1, 2, 3]


def test_the_centroids_are_found_in_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample does not grow with the points: the time is linear in them."""
    monkeypatch.setattr(kmeans, "SAMPLE_PER_CLUSTER", 2)
    sizes = []
    real = kmeans.nearest_centroids

    def recorded(points: Any, centroids: Any, threads: int) -> Any:
        sizes.append(len(points))
        return real(points, centroids, threads)

    monkeypatch.setattr(kmeans, "nearest_centroids", recorded)
    kmeans.clusters_of(normal(1000, 4), 3, 0, 1)
    assert sizes == [6] * kmeans.ROUNDS + [1000]
