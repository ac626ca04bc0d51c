"""Kernels that are tested on their own."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import oracle
from graphs import many
from pyke.core import hashing, random
from pyke.core.arrays import Ids, Offsets
from pyke.graph import _kernels as graph_kernels
from pyke.simulation import _kernels as simulation_kernels
from pyke.springs import _kernels as springs_kernels
from pyke.use.types import _kernels as types_kernels

SIZES = st.integers(1, 2**31)


def dictionary(slots: int, terms: int = 64) -> hashing.Dictionary:
    empty = (
        np.zeros(2, np.int64),
        np.full(slots, -1, np.int64),
        np.empty(terms, np.uint64),
        np.zeros(terms + 1, np.int64),
        np.empty(4096, np.uint8),
    )
    return hashing.Dictionary(*empty)


def add(terms: hashing.Dictionary, word: str, h: int) -> int:
    text = np.frombuffer(bytearray(word.encode()), np.uint8)
    return int(hashing.find_or_add(terms, text, 0, len(text), np.uint64(h)))


@pytest.mark.parametrize("h", [0, 7, 2**63, 2**64 - 1])
def test_terms_with_equal_hashes_get_different_ids(h: int) -> None:
    """Also at the end of the table, and if one word is a prefix of another."""
    terms = dictionary(16)
    words = ["aa", "ab", "a", "aab", "b"]
    assert [add(terms, word, h) for word in words] == [0, 1, 2, 3, 4]
    assert [add(terms, word, h) for word in words] == [0, 1, 2, 3, 4]
    assert terms.blob[: terms.size[1]].tobytes() == b"aa\nab\na\naab\nb\n"


def test_terms_keep_their_ids_in_a_larger_table() -> None:
    terms = dictionary(16)
    hashes = {
        "a": 5,
        "b": 5,
        "c": 21,
        "d": 2**64 - 1,
        "e": 15,
    }  # 5 and 21, and the last two, collide in a table of 16
    before = {word: add(terms, word, h) for word, h in hashes.items()}
    larger = terms._replace(table=np.full(64, -1, np.int64))
    hashing.rehash(larger)
    assert {word: add(larger, word, h) for word, h in hashes.items()} == before


@given(st.lists(st.sampled_from([0, 1, 2, 3, 2**64 - 1])))
@many(100)
def test_repeated_keys_are_dropped(values: list[int]) -> None:
    keys = np.sort(np.array(values, np.uint64))
    n = graph_kernels.drop_repeated(keys)
    assert keys[:n].tolist() == sorted(set(values))


@given(SIZES, SIZES, SIZES, SIZES)
@many(500)
def test_ppmi_equals_that_of_exact_fractions(joint: int, x: int, y: int, total: int) -> None:
    assert springs_kernels.ppmi(joint, x, y, total) == pytest.approx(
        float(oracle.ppmi(joint, x, y, total)), rel=2e-7, abs=1e-15
    )


def test_ppmi_of_independent_events_is_zero() -> None:
    assert springs_kernels.ppmi(3, 6, 21, 42) == 0
    assert springs_kernels.ppmi(1, 6, 21, 42) == 0
    assert springs_kernels.ppmi(4, 6, 21, 42) > 0


# All ways in which the nodes of a triple can be equal; −1 is a literal.
@pytest.mark.parametrize(
    "triple",
    [(0, 1, 2), (0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 0, 0), (0, 1, -1), (0, 0, -1)],
    ids=str,
)
def test_a_self_loop_counts_once(triple: tuple[int, int, int]) -> None:
    s, p, o = (np.array([node], np.int32) for node in triple)
    occurrences = np.zeros(3, np.int64)
    springs_kernels.count_occurrences(s, p, o, occurrences)
    terms = {node for node in triple if node >= 0}
    assert occurrences.tolist() == [int(node in terms) for node in range(3)]
    keys = np.zeros(3, np.uint64)
    n = springs_kernels.pair_keys(s, p, o, keys)
    assert Counter((int(key) >> 32, int(key) & 0xFFFFFFFF) for key in keys[:n]) == Counter(
        combinations(sorted(terms), 2)
    )


# -- Random numbers ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 2**31 - 1, 2**32 - 1])
def test_random_numbers_are_below_their_bound(n: int) -> None:
    assert random.random_below(np.uint64(0), n) == 0
    assert random.random_below(np.uint64(2**64 - 1), n) == n - 1


def test_random_numbers_differ_by_seed_purpose_row_and_counter() -> None:
    """Neighbouring and swapped arguments give different numbers."""
    arguments = [
        (seed, purpose, row, counter)
        for seed in (0, 1, 2, 2**64 - 1)
        for purpose in (1, 2, 3, 4)
        for row in range(8)
        for counter in range(8)
    ]
    assert len({random.random_bits(np.uint64(seed), *rest) for seed, *rest in arguments}) == len(
        arguments
    )


@pytest.mark.parametrize("bit", [0, 31, 32, 63])
def test_random_bits_are_fair(bit: int) -> None:
    """The sum of 6,400 bits is within five deviations of one half."""
    heads = sum(
        int(random.random_bits(np.uint64(1), 2, row, counter)) >> bit & 1
        for row in range(80)
        for counter in range(80)
    )
    assert abs(heads - 3200) < 5 * 40


@pytest.mark.parametrize("dimensions", [1, 2, 7])
def test_a_start_fills_exactly_its_dimensions(dimensions: int) -> None:
    for start, mean, deviation in (
        (simulation_kernels.normal_start, 0.0, 1.0),
        (simulation_kernels.uniform_start, 0.5, 12**-0.5),
    ):
        positions = np.zeros((4000, 16), np.float32)
        start(np.uint64(3), dimensions, 0, 0, len(positions), positions)
        drawn = positions[:, :dimensions]
        assert not positions[:, dimensions:].any()
        assert len(np.unique(drawn)) > 0.99 * drawn.size
        assert abs(drawn.mean(axis=0) - mean).max() < 5 * deviation / 4000**0.5
        assert abs(drawn.std(axis=0) - deviation).max() < 0.06 * deviation
        correlation = np.corrcoef(drawn.T).reshape(dimensions, dimensions) - np.eye(dimensions)
        assert abs(correlation).max() < 5 / 4000**0.5
        again = np.zeros_like(positions)
        for begin in range(0, 4000, 1000):
            start(np.uint64(3), dimensions, 0, begin, begin + 1000, again)
        assert (again == positions).all(), "a row does not depend on other rows"
        start(np.uint64(3), dimensions, 1000, 0, 3000, again)
        assert (again[:3000] == positions[1000:]).all(), "rows of a part are those of the whole"


# -- Overlap of roles -------------------------------------------------------------------------

ROLES = st.lists(
    st.dictionaries(st.integers(0, 6), st.sampled_from([0.5, 1.0, 2.0]), max_size=4),
    min_size=1,
    max_size=6,
)


def overlap(one: dict[int, float], other: dict[int, float]) -> float:
    every = {*one, *other}
    shared = sum(min(one.get(role, 0), other.get(role, 0)) for role in every)
    united = sum(max(one.get(role, 0), other.get(role, 0)) for role in every)
    return shared / united if shared else 0.0


@given(ROLES, st.data())
@many(200)
def test_roles_of_two_terms_overlap_by_what_they_share_of_all_that_they_have(
    roles: list[dict[int, float]], data: st.DataObject
) -> None:
    k = data.draw(st.integers(0, 4))
    pairs = data.draw(st.lists(st.tuples(*[st.integers(0, len(roles) - 1)] * (k + 1)), max_size=5))
    table = np.array(pairs, np.int32).reshape(len(pairs), k + 1)
    asked, others = table[:, 0].copy(), table[:, 1:].copy()

    def rows(terms: list[dict[int, float]]) -> tuple[Offsets, Ids, NDArray[np.float64]]:
        entries = [(role, own[role]) for own in terms for role in sorted(own)]
        return (
            np.append(0, np.cumsum([len(own) for own in terms], dtype=np.int64)),
            np.array([role for role, _ in entries], np.int32),
            np.array([size for _, size in entries], np.float64),
        )

    out = np.full(others.shape, -1.0)
    types_kernels.role_overlaps(
        *rows([roles[one] for one in asked.tolist()]),
        *rows(roles),
        others,
        0,
        len(asked),
        out,
    )
    assert out.tolist() == [
        [overlap(roles[one], roles[other]) for other in row]
        for one, row in zip(asked.tolist(), others.tolist(), strict=True)
    ]
