"""Springs compared with the oracle."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import GRAPHS, TYPED, WAYS, as_meant, as_text, graph_of, many, particles_of
from oracle import Triple
from pyke.config import Config
from pyke.core.arrays import Matrix
from pyke.errors import UsageError
from pyke.graph.graph import NO_CLUSTERS
from pyke.springs import contexts
from pyke.springs.find import find_similarities
from pyke.springs.similarity import registered
from pyke.springs.similarity import similarity as similarity_named
from pyke.springs.strongest import springs_around, strongest_springs, symmetric_matrix


def entries(matrix: Matrix) -> dict[tuple[int, int], float]:
    """All entries as {(row, column): value}."""
    rows = np.repeat(np.arange(matrix.rows), np.diff(matrix.offsets)).tolist()
    return dict(
        zip(zip(rows, matrix.columns.tolist(), strict=True), matrix.values.tolist(), strict=True)
    )


@pytest.mark.parametrize("similarity", registered())
@given(triples=GRAPHS, way=st.sampled_from(WAYS), k=st.integers(1, 12))
@many(1000)
def test_similarities_and_strongest_springs_equal_the_oracle(
    similarity: str, triples: list[Triple], way: dict[str, Any], k: int
) -> None:
    graph = graph_of(as_text(triples), **way)
    truth = oracle.counted(as_meant(triples), **way)
    names = particles_of(graph, truth, similarity)
    number = {name: i for i, name in enumerate(names)}
    named = oracle.SIMILARITIES[similarity](truth)
    rows = [
        {number[other]: float(sigma) for other, sigma in named.get(name, {}).items()}
        for name in names
    ]

    pairs = similarity_named(similarity)(graph, 1, None)
    similar = symmetric_matrix(pairs)
    assert pairs.particles == similar.rows == len(names)
    found, expected = (
        entries(similar),
        {(x, y): sigma for x, row in enumerate(rows) for y, sigma in row.items()},
    )
    assert found.keys() == expected.keys()
    assert len(found) == len(similar.columns) == 2 * len(pairs.values), "each pair once"
    np.testing.assert_array_max_ulp(
        similar.values, np.array([expected[pair] for pair in found], np.float32), maxulp=2
    )

    strongest = entries(strongest_springs(similar, k))
    assert strongest.keys() == {
        (x, y) for x, row in enumerate(rows) for y in oracle.attractors(row, k)
    }
    assert strongest.items() <= found.items()


@pytest.mark.parametrize("similarity", registered())
@given(triples=GRAPHS, way=st.sampled_from(WAYS), threads=st.integers(2, 4))
@many(100)
def test_springs_do_not_depend_on_the_number_of_threads(
    similarity: str, triples: list[Triple], way: dict[str, Any], threads: int
) -> None:
    graph = graph_of(as_text(triples), **way)

    def all_springs(threads: int) -> list[Any]:
        similar = symmetric_matrix(similarity_named(similarity)(graph, threads, None), threads)
        return [
            array.tolist()
            for matrix in (similar, strongest_springs(similar, 3, threads))
            for array in vars(matrix).values()
        ]

    undivided = all_springs(1)
    with patch.object(contexts, "MIN_ROWS", 1):  # tasks may begin at any row, also inside a context
        assert all_springs(threads) == undivided


@pytest.mark.parametrize("similarity", registered())
@given(triples=GRAPHS, way=st.sampled_from(WAYS), k=st.integers(1, 5), data=st.data())
@many(1000)
def test_springs_around_some_terms_equal_those_of_the_complete_graph(
    similarity: str, triples: list[Triple], way: dict[str, Any], k: int, data: Any
) -> None:
    graph, config = graph_of(as_text(triples), **way), Config(similarity=similarity, k=k, threads=2)
    chosen = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(graph.terms), max_size=len(graph.terms))),
        bool,
    )
    whole = strongest_springs(symmetric_matrix(similarity_named(similarity)(graph, 1, None)), k)
    with patch.object(contexts, "MIN_ROWS", data.draw(st.sampled_from([1, 1 << 15]))):
        around = springs_around(graph, chosen, config)
    assert around.rows == whole.rows
    expected, rows = entries(whole), set(np.flatnonzero(chosen).tolist())
    rows |= {y for x, y in expected if x in rows}  # the terms and the particles linked to them
    assert {pair: value for pair, value in entries(around).items() if pair[0] in rows} == {
        pair: value for pair, value in expected.items() if pair[0] in rows
    }


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.sampled_from([0.25, 0.5, 1.0])),
        unique_by=lambda pair: pair[0],
    ),
    st.integers(1, 12),
)
@many(300)
def test_the_smaller_id_wins_ties_in_any_row_order(pairs: list[tuple[int, float]], k: int) -> None:
    columns, values = (
        np.array([y for y, _ in pairs], np.int32),
        np.array([sigma for _, sigma in pairs], np.float32),
    )
    strongest = strongest_springs(
        Matrix(np.array([0, 0, len(pairs), len(pairs)], np.int64), columns, values), k
    )
    assert strongest.offsets.tolist() == [0, 0, min(k, len(pairs)), min(k, len(pairs))], (
        "empty rows around it stay empty"
    )
    assert set(strongest.columns.tolist()) == set(oracle.attractors(dict(pairs), k))


def test_ppmi_similarities_equal_values_computed_by_hand() -> None:
    """Of four triples, a is in three and p in four; b and c are in one each, with a and p."""
    graph = graph_of(
        as_text(
            [
                ("e:a", "e:p", "e:b"),
                ("e:a", "e:p", "e:c"),
                ("e:a", "e:p", "e:a"),
                ("e:d", "e:p", "e:d"),
            ]
        )
    )
    pairs = similarity_named("ppmi")(graph, 1, None)
    found = {
        (graph.terms[x], graph.terms[y]): sigma
        for x, y, sigma in zip(pairs.first, pairs.second, pairs.values, strict=True)
    }
    assert found == {
        ("e:a", "e:b"): np.float32(np.log(4 / 3)),
        ("e:a", "e:c"): np.float32(np.log(4 / 3)),
    }


def test_an_unknown_similarity_is_refused_with_the_known_names() -> None:
    with pytest.raises(UsageError, match="context, ppmi"):
        similarity_named("cosine")


# -- a weight for the contexts of types ------------------------------------------------------------

WEIGHTS = st.sampled_from([0.25, 2.0, 8.0])  # powers of two: no rounding


@given(triples=GRAPHS, way=st.sampled_from(WAYS), weight=WEIGHTS, threads=st.integers(1, 3))
@many(400)
def test_weighted_springs_equal_the_oracle(
    triples: list[Triple], way: dict[str, Any], weight: float, threads: int
) -> None:
    graph = graph_of(as_text(triples + TYPED), **way)
    truth = oracle.counted(as_meant(triples + TYPED), **way)
    names = particles_of(graph, truth)
    rows = oracle.with_type_weight(oracle.context_similarities(truth), weight)
    expected = {
        (names.index(x), names.index(y)): float(sigma)
        for x, row in rows.items()
        for y, sigma in row.items()
    }
    config = Config(type_weight=weight, threads=threads)
    with patch.object(contexts, "MIN_ROWS", 1):
        found = entries(symmetric_matrix(find_similarities(graph, config, NO_CLUSTERS)))
    assert found.keys() == expected.keys()
    assert list(found.values()) == pytest.approx([expected[pair] for pair in found], rel=1e-6)


@given(triples=GRAPHS, k=st.integers(1, 5), weight=WEIGHTS, data=st.data())
@many(200)
def test_weighted_springs_around_some_terms_equal_those_of_the_complete_graph(
    triples: list[Triple], k: int, weight: float, data: st.DataObject
) -> None:
    graph = graph_of(as_text(triples + TYPED))
    config = Config(k=k, threads=2, type_weight=weight)
    number = len(graph.terms)
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=number, max_size=number)), bool)
    pairs = find_similarities(graph, config, NO_CLUSTERS)
    expected = entries(strongest_springs(symmetric_matrix(pairs), k))
    rows = set(np.flatnonzero(chosen).tolist())
    rows |= {y for x, y in expected if x in rows}
    around = entries(springs_around(graph, chosen, config))
    assert {pair: value for pair, value in around.items() if pair[0] in rows} == {
        pair: value for pair, value in expected.items() if pair[0] in rows
    }


def test_a_graph_without_the_type_predicate_keeps_its_springs() -> None:
    graph = graph_of(as_text([("e:a", "e:p", "e:c"), ("e:b", "e:p", "e:c")]))
    plain, weighted = (
        find_similarities(graph, Config(type_weight=weight), NO_CLUSTERS) for weight in (1.0, 8.0)
    )
    assert len(plain.values)
    assert np.array_equal(plain.values, weighted.values)


def test_another_predicate_can_state_the_types() -> None:
    triples = [("e:a", "e:kind", "e:c"), ("e:b", "e:kind", "e:c"), ("e:a", "e:p", "e:b")]
    graph = graph_of(as_text(triples))
    plain = find_similarities(graph, Config(), NO_CLUSTERS)
    config = Config(type_predicate="e:kind", type_weight=2.0)
    weighted = find_similarities(graph, config, NO_CLUSTERS)
    assert sorted(set((weighted.values / plain.values).tolist())) == [1.0, 2.0]


@pytest.mark.parametrize("similarity", ["ppmi", "links"])
def test_a_weight_of_types_needs_contexts(similarity: str) -> None:
    with pytest.raises(UsageError, match="`type_weight` is 8, but `similarity` is"):
        Config(similarity=similarity, type_weight=8.0)
