"""Purity in linear time, compared with a sum over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import many
from pyke.evaluate.purity import Purity, cluster_purities, purity
from pyke.use.clusters.hdbscan import NOISE, Clustering
from pyke.use.types.votes import TypeTable

CLASSES = "abcdef"
# The cluster, or noise, and the types of each member.
MEMBERS = st.lists(
    st.tuples(st.integers(NOISE, 4), st.sets(st.sampled_from(CLASSES), min_size=1)),
    min_size=1,
    max_size=25,
)


def purity_of(labels: list[int], types: list[set[str]]) -> Purity:
    return purity(Clustering(np.array(labels, np.int32), True), table_of(types))


def table_of(types: list[set[str]]) -> TypeTable:
    return TypeTable.of(
        np.array(
            sorted((x, 100 + CLASSES.index(name)) for x, own in enumerate(types) for name in own),
            np.int32,
        )
    )


def without_gaps(labels: list[int]) -> list[int]:
    names = sorted(set(labels) - {NOISE})
    return [NOISE if label == NOISE else names.index(label) for label in labels]


@given(MEMBERS)
@many(200)
def test_purity_in_linear_time_equals_the_sum_over_all_pairs(
    members: list[tuple[int, set[str]]],
) -> None:
    labels, types = without_gaps([label for label, _ in members]), [own for _, own in members]
    found = purity_of(labels, types)
    with_noise, without_noise = (oracle.purity(labels, types, noise) for noise in (True, False))
    assert (found.mean, found.weighted, found.total) == pytest.approx(
        (with_noise.mean, with_noise.weighted, with_noise.total), abs=1e-9
    )
    assert (found.mean_without_noise, found.weighted_without_noise) == pytest.approx(
        (without_noise.mean, without_noise.weighted), abs=1e-9
    )
    assert found.clusters == len(set(labels) - {NOISE})
    assert found.noise == labels.count(NOISE) / len(labels)


@given(MEMBERS)
@many(50)
def test_purity_does_not_depend_on_the_order_of_members_or_the_names_of_clusters(
    members: list[tuple[int, set[str]]],
) -> None:
    labels, types = without_gaps([label for label, _ in members]), [own for _, own in members]
    found = purity_of(labels, types)
    maximum = max(labels)
    permuted = purity_of(
        [label if label == NOISE else maximum - label for label in reversed(labels)], types[::-1]
    )
    assert vars(permuted) == pytest.approx(vars(found), abs=1e-12)


def test_purity_equals_a_computation_by_hand() -> None:
    """{a} {a} are pure; of {a} {b} half of the pairs are; {a} {a, b} have cosines 1, 1, √½, √½."""
    found = purity_of([0, 0, 1, 1, NOISE, NOISE], [{"a"}, {"a"}, {"a"}, {"b"}, {"a"}, {"a", "b"}])
    noise = (2 + 2 * 0.5**0.5) / 4
    assert found.mean == found.weighted == pytest.approx((1 + 0.5 + noise) / 3)
    assert found.mean_without_noise == found.weighted_without_noise == pytest.approx(0.75)
    assert found.total == pytest.approx(1 + 0.5 + noise)
    assert (found.clusters, found.noise, found.exact) == (2, 1 / 3, True)


def test_noise_is_weighted_by_its_size() -> None:
    """In the plain mean, one small pure cluster hides a large group of noise."""
    found = purity_of(
        [0, 0, *[NOISE] * 6], [{"a"}, {"a"}, {"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}]
    )
    assert found.mean == pytest.approx((1 + 1 / 6) / 2)
    assert found.weighted == pytest.approx((2 + 1) / 8)
    assert found.weighted_without_noise == 1


def test_purity_without_noise_is_zero_if_all_points_are_noise() -> None:
    found = purity_of([NOISE, NOISE], [{"a"}, {"b"}])
    assert (
        found.mean,
        found.mean_without_noise,
        found.weighted_without_noise,
        found.clusters,
        found.noise,
    ) == (0.5, 0.0, 0.0, 0, 1.0)


def test_noise_comes_first_among_the_sizes() -> None:
    sizes, each = cluster_purities(
        np.array([1, NOISE, 0, 0], np.int32), table_of([{"a"}, {"a"}, {"a"}, {"b"}])
    )
    assert sizes.tolist() == [1, 2, 1]
    assert each.tolist() == [1, 0.5, 1]


def test_approximate_clusters_are_reported() -> None:
    assert not purity(Clustering(np.zeros(2, np.int32), False), table_of([{"a"}, {"b"}])).exact
