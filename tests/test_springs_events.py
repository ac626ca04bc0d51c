"""Similarities from events compared with the oracle, and similarities that are joined."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import many
from oracle import Particle
from pyke.springs.events import event_similarities, join
from pyke.springs.similarity import Around, Similarities

TERMS = 8
Event = tuple[int, int]
EVENTS = st.lists(st.tuples(st.integers(0, TERMS - 1), st.sampled_from([0, 3, 4, 2**31 - 1])))


def similarities(
    events: list[Event], weight: float = 1.0, chosen: set[int] | None = None
) -> Similarities:
    terms, contexts = np.array(events, np.int32).reshape(-1, 2).T.copy()
    mask = np.array([x in chosen for x in range(TERMS)], bool) if chosen is not None else None
    around = None if mask is None else Around(mask, k=1)
    return event_similarities(terms, contexts, TERMS, weight, around)


def pairs_of(found: Similarities) -> dict[Event, float]:
    """{(first, second): value}."""
    pairs = zip(found.first.tolist(), found.second.tolist(), strict=True)
    return dict(zip(pairs, found.values.tolist(), strict=True))


@given(events=EVENTS, weight=st.sampled_from([0.5, 1.0]))
@many(500)
def test_similarities_of_events_equal_the_oracle(events: list[Event], weight: float) -> None:
    found = similarities(events, weight)
    named: Counter[tuple[Particle, Particle]] = Counter(
        (str(x), ("context", f"{c:010}")) for x, c in events
    )
    shared = sorted(oracle.shared_contexts(named))
    number = {context: TERMS + i for i, context in enumerate(shared)}
    rows = oracle.similarities_of(named, shared)
    expected = {
        (x, number[context]): np.float32(weight) * sigma
        for x in range(TERMS)
        for context, sigma in rows.get(str(x), {}).items()
    }
    assert found.particles == TERMS + len(shared)
    assert pairs_of(found).keys() == expected.keys()
    assert len(found.values) == len(expected), "each pair once"
    values = np.array([expected[pair] for pair in pairs_of(found)], np.float32)
    np.testing.assert_array_max_ulp(found.values, values, maxulp=2)


@given(events=EVENTS, data=st.data())
@many(100)
def test_the_order_of_events_does_not_matter(events: list[Event], data: st.DataObject) -> None:
    shuffled = similarities(data.draw(st.permutations(events)))
    assert pairs_of(shuffled) == pairs_of(similarities(events))


@given(events=EVENTS, chosen=st.sets(st.integers(0, TERMS - 1)))
@many(200)
def test_contexts_of_chosen_terms_keep_all_their_members(
    events: list[Event], chosen: set[int]
) -> None:
    whole, part = similarities(events), similarities(events, chosen=chosen)
    near = {context for x, context in pairs_of(whole) if x in chosen}
    assert part.particles == whole.particles
    assert {pair: sigma for pair, sigma in pairs_of(part).items() if pair[1] in near} == {
        pair: sigma for pair, sigma in pairs_of(whole).items() if pair[1] in near
    }
    touched = {context for x, context in events if x in chosen}
    assert len({context for _, context in pairs_of(part)}) <= len(touched)


@given(first=EVENTS, second=EVENTS)
@many(100)
def test_joined_similarities_keep_their_values_and_get_particles_of_their_own(
    first: list[Event], second: list[Event]
) -> None:
    one, two = similarities(first), similarities(second)
    both = join(TERMS, one, two)
    assert both.particles == one.particles + two.particles - TERMS
    assert pairs_of(both) == pairs_of(one) | {
        (x, context + one.particles - TERMS): sigma for (x, context), sigma in pairs_of(two).items()
    }


def test_pairs_of_terms_keep_their_ids_when_they_are_joined() -> None:
    """Also pairs of two particles that are not terms."""
    ids = np.array([0, 2, 4], np.int32), np.array([1, 4, 5], np.int32)
    pairs = Similarities(6, *ids, np.ones(3, np.float32))
    both = join(3, pairs, pairs)
    assert both.particles == 9
    assert both.first.tolist() == [0, 2, 4, 0, 2, 7]
    assert both.second.tolist() == [1, 4, 5, 1, 7, 8]
