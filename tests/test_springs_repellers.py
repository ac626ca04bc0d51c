"""Repellers: the oracle allows each of them, and all allowed particles are equally likely."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import oracle
from graphs import many
from pyke.core.arrays import BLOCK_ROWS, Matrix, Repellers
from pyke.springs.repellers import POOL, draw_repellers


def matrix_of(similar: NDArray[np.bool_]) -> Matrix:
    """A symmetric table of similar pairs as a sparse matrix."""
    rows, columns = np.nonzero(similar)
    offsets = np.searchsorted(rows, np.arange(len(similar) + 1)).astype(np.int64)
    return Matrix(offsets, columns.astype(np.int32), np.ones(len(columns), np.float32))


def chosen(repellers: Repellers, x: int) -> list[int]:
    return repellers.of(x, BLOCK_ROWS).tolist()  # type: ignore[no-any-return]


def assert_valid(similar: NDArray[np.bool_], wanted: int, seed: int = 0) -> None:
    repellers = draw_repellers(matrix_of(similar), wanted, seed, 1)
    for x in range(len(similar)):
        assert oracle.may_repel(
            x, chosen(repellers, x), np.flatnonzero(similar[x]).tolist(), len(similar), wanted
        ), x


def with_hubs(particles: int, seed: int) -> NDArray[np.bool_]:
    """Few similar pairs, and three hubs, similar to all others, to all but 3, and to all but 20."""
    drawn = np.random.default_rng(seed)
    similar = drawn.random((particles, particles)) < 0.01
    for hub, strangers in ((0, 0), (1, 3), (particles - 2, 20)):
        similar[hub] = True
        similar[:, hub] = False
        similar[hub, drawn.permutation(np.arange(2, particles - 2))[:strangers]] = False
    similar |= similar.T
    np.fill_diagonal(similar, False)
    return similar


@given(st.integers(0, 12), st.integers(0, 15), st.integers(0, 2**64 - 1), st.data())
@many(300)
def test_repellers_are_valid_in_small_graphs(
    particles: int, wanted: int, seed: int, data: st.DataObject
) -> None:
    similar = np.zeros((particles, particles), bool)
    for x, y in (
        data.draw(st.lists(st.tuples(*[st.integers(0, particles - 1)] * 2))) if particles else []
    ):
        similar[x, y] = similar[y, x] = x != y
    assert_valid(similar, wanted, seed)


@pytest.mark.parametrize("particles", [POOL, POOL + 1, 2 * BLOCK_ROWS + 76])
@pytest.mark.parametrize("wanted", [0, 1, 8, 45, 10_000])
def test_repellers_are_valid_around_hubs(particles: int, wanted: int) -> None:
    similar = with_hubs(particles, 1)
    assert [particles - 1 - int(similar[hub].sum()) for hub in (0, 1, particles - 2)] == [0, 3, 20]
    assert_valid(similar, wanted)


def test_repellers_are_valid_if_a_complete_block_draws_outside_its_pool() -> None:
    """1,200 particles on a ring, dissimilar to their 190 neighbours only.

    A block draws more than 65,536 particles in total.
    """
    apart = np.abs(np.subtract.outer(np.arange(1200), np.arange(1200)))
    similar = np.minimum(apart, 1200 - apart) > 95
    assert_valid(similar, 200)


def deviation(counts: Counter[int], eligible: list[int], wanted: int, rounds: int) -> float:
    """χ² of the counts under equal chances, as deviations from its mean."""
    m = len(eligible)
    share = wanted / m
    # Each is drawn or not in a round, so the variance of a count is rounds · share · (1 − share).
    squares = sum((counts[y] - rounds * share) ** 2 for y in eligible) / (
        rounds * share * (1 - share)
    )
    return float((squares * (m - 1) / m - (m - 1)) / (2 * (m - 1)) ** 0.5)


@pytest.mark.parametrize(
    ("particles", "x", "wanted"),
    [(40, 7, 8), (600, 7, 8), (600, 598, 8), (600, 1, 2), (300, 7, 45)],
)
def test_all_eligible_particles_are_equally_likely(particles: int, x: int, wanted: int) -> None:
    """With a pool of all particles, with smaller pools, and for hubs.

    Outside their pool, hub 598 draws from 20 particles, hub 1 from 3.
    """
    table = with_hubs(particles, 2)
    similar = matrix_of(table)
    seeds = 1200  # one of 600 particles is missing in one of 10,000 such tests
    drawn = [chosen(draw_repellers(similar, wanted, seed, 1), x) for seed in range(seeds)]
    counts = Counter(y for row in drawn for y in row)
    eligible = [y for y in range(particles) if y != x and not table[x, y]]
    assert set(counts) == set(eligible)
    assert abs(deviation(counts, eligible, wanted, seeds)) < 4


def test_repellers_do_not_depend_on_the_number_of_threads() -> None:
    similar = matrix_of(with_hubs(2 * BLOCK_ROWS + 76, 3))
    first, *others = [draw_repellers(similar, 8, 1, threads) for threads in (1, 2, 3)]
    for other in others:
        assert all(
            np.array_equal(a, b)
            for a, b in zip(vars(first).values(), vars(other).values(), strict=True)
        )


def test_rows_and_seeds_draw_different_repellers() -> None:
    similar = matrix_of(np.zeros((600, 600), bool))
    first, second = (draw_repellers(similar, 8, seed, 1) for seed in (1, 2))
    assert len({tuple(sorted(chosen(first, x))) for x in range(600)}) == 600
    assert all(sorted(chosen(first, x)) != sorted(chosen(second, x)) for x in range(600))
