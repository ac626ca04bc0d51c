"""Features of literals in graphs that change, and in files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import many
from pyke.graph.batches import literal_events
from pyke.graph.features import NO_FEATURES, Features, check_features
from pyke.graph.literals import BINS, FeatureCollector, merge_features, select_features

TERMS = 6
SAME = np.arange(TERMS, dtype=np.int32)
EVENTS = st.lists(st.tuples(st.integers(0, TERMS - 1), st.integers(0, 4)), max_size=20)
NUMBERS = st.lists(
    st.tuples(st.integers(0, TERMS - 1), st.integers(0, 2), st.integers(-3, 3).map(float)),
    max_size=30,
)
Event = tuple[int, int]
Number = tuple[int, int, float]


def collected(
    events: list[Event],
    numbers: list[Number] | None = None,
    known: Features = NO_FEATURES,
    minimum: int = 2,
) -> Features:
    """The features of (term, key) and of (term, group, value)."""
    numbers = numbers or []
    space = literal_events(2 * len(events), max(len(events), len(numbers)), 0)
    space.size[:] = len(events), len(numbers)
    for i, (term, key) in enumerate(events):
        space.subjects[i], space.keys[i] = term, key + 100
    for i, (term, group, value) in enumerate(numbers):
        space.number_subjects[i], space.groups[i], space.values[i] = term, group, value
    collector = FeatureCollector()
    collector.add(space, SAME)
    return collector.finish(SAME, known, minimum)


def members(features: Features) -> dict[int, set[int]]:
    """The terms of each feature, by its key."""
    found: dict[int, set[int]] = {}
    for term, feature in features.rows.tolist():
        found.setdefault(int(features.keys[feature]), set()).add(term)
    return found


def shared(found: dict[int, set[int]]) -> dict[int, set[int]]:
    return {key: terms for key, terms in found.items() if len(terms) > 1}


@given(events=EVENTS)
@many(200)
def test_features_have_all_their_terms_once(events: list[Event]) -> None:
    truth: dict[int, set[int]] = {}
    for term, key in events:
        truth.setdefault(key + 100, set()).add(term)
    assert members(collected(events, minimum=1)) == truth
    assert members(collected(events)) == shared(truth)


@given(events=EVENTS, numbers=NUMBERS, gone=st.sets(st.integers(0, TERMS - 1)))
@many(200)
def test_removing_terms_equals_collecting_without_them(
    events: list[Event], numbers: list[Number], gone: set[int]
) -> None:
    """Ranges of numbers stay: an update must not move them."""
    left = np.array([-1 if x in gone else x for x in range(TERMS)], np.int32)
    found = select_features(collected(events, numbers), left)
    truth = members(collected(events, numbers))
    assert members(found) == shared({key: terms - gone for key, terms in truth.items()})
    check_features(found, TERMS)


@given(first=EVENTS, second=EVENTS)
@many(200)
def test_merged_features_are_those_of_both_graphs(first: list[Event], second: list[Event]) -> None:
    """Features of a single term of the first graph are forgotten."""
    both = merge_features(collected(first), collected(second, minimum=1), SAME)
    truth = members(collected(first))
    for term, key in second:
        truth.setdefault(key + 100, set()).add(term)
    assert members(both) == shared(truth)
    check_features(both, TERMS)


@given(first=NUMBERS, second=NUMBERS)
@many(200)
def test_known_ranges_of_numbers_stay(first: list[Number], second: list[Number]) -> None:
    known = collected([], first)
    more = collected([], second, known, minimum=1)
    both = merge_features(known, more, SAME)
    for group in {group for _, group, _ in first}:
        edges = [known.edges[known.bins[:, 0] == group], both.edges[both.bins[:, 0] == group]]
        assert np.array_equal(*edges)
    again = collected([], first + second, known, minimum=1)
    repeated = collected([], first, known, minimum=1)
    assert members(again).keys() == members(repeated).keys() | members(more).keys()
    check_features(both, TERMS)


def test_equal_values_are_in_one_range() -> None:
    numbers = [(i % TERMS, 7, float(i // 40)) for i in range(40 * 3)]
    features = collected([], numbers)
    assert features.edges.tolist() == [0, 1, 2]
    assert len(features) == 3 < BINS


FORGED: list[Callable[[Features], Features]] = [
    lambda f: replace(f, rows=f.rows + 2**20),
    lambda f: replace(f, rows=f.rows - 2**20),
    lambda f: replace(f, rows=f.rows[::-1]),
    lambda f: replace(f, rows=np.repeat(f.rows, 2, axis=0)),
    lambda f: replace(f, keys=f.keys[:1]),
    lambda f: replace(f, bins=np.full((1, 2), 2**64 - 1, np.uint64)),
    lambda f: replace(f, bins=f.bins[::-1]),
]


@pytest.mark.parametrize("change", FORGED)
def test_forged_features_are_refused(change: Callable[[Features], Any]) -> None:
    features = collected([(0, 0), (1, 0), (1, 1), (2, 1)], [(0, 7, 1.0), (1, 7, 2.0)])
    check_features(features, TERMS)
    with pytest.raises(ValueError, match=r"id|sorted|twice|number"):
        check_features(change(features), TERMS)
