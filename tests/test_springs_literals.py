"""Springs of literals compared with the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import many
from pyke.config import Config
from pyke.graph.features import NO_FEATURES, Features
from pyke.graph.graph import NO_CLUSTERS, Census, Graph
from pyke.graph.literals import select_features
from pyke.graph.terms import Terms, Texts
from pyke.springs.find import find_similarities
from pyke.springs.literals import WEIGHT, literal_similarities

TERMS = 6
ROWS = st.sets(st.tuples(st.integers(0, TERMS - 1), st.integers(0, 4)))


def graph_with(rows: set[tuple[int, int]]) -> Graph:
    """A graph of one triple whose terms have some features."""
    none = np.zeros(0, np.int32)
    table = Features(
        np.array(sorted(rows), np.int32).reshape(-1, 2), np.arange(5, dtype=np.uint64),
        NO_FEATURES.bins,
    )  # fmt: skip
    features = select_features(table, np.arange(TERMS, dtype=np.int32))
    one = np.zeros(1, np.int32)
    return Graph(
        Terms.of(f"e:{i}" for i in range(TERMS)), one, one, one + 1, one + 2,
        none.reshape(0, 2), Texts.of([]), none, Census(), features,
    )  # fmt: skip


@given(rows=ROWS)
@many(300)
def test_springs_of_features_equal_the_oracle(rows: set[tuple[int, int]]) -> None:
    graph = graph_with(rows)
    shared = oracle.members_of((f"e:{x}", (feature,)) for x, feature in rows)
    truth = oracle.literal_similarities(shared)
    number = {feature: TERMS + i for i, feature in enumerate(sorted(shared, key=str))}
    found = literal_similarities(graph)
    pairs = zip(found.first.tolist(), found.second.tolist(), strict=True)
    values = dict(zip(pairs, found.values.tolist(), strict=True))
    assert found.particles == TERMS + len(shared)
    assert values == pytest.approx(
        {(int(x[2:]), number[feature]): WEIGHT * float(s) for (x, feature), s in truth.items()},
        rel=1e-6,
    )


@given(rows=ROWS)
@many(50)
def test_literals_do_not_change_the_other_springs(rows: set[tuple[int, int]]) -> None:
    graph = graph_with(rows)
    plain = find_similarities(graph, Config(), NO_CLUSTERS)
    both = find_similarities(graph, Config(literals="values"), NO_CLUSTERS)
    n = len(plain.first)
    for name in ("first", "second", "values"):
        assert np.array_equal(getattr(both, name)[:n], getattr(plain, name))
    assert both.particles == plain.particles + len(graph.features)
