"""Coarse contexts compared with the oracle."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import GRAPHS, WAYS, as_meant, as_text, graph_of, many
from oracle import Particle, Triple
from pyke.config import RDF_TYPE, Config
from pyke.errors import OverBudget, UsageError
from pyke.springs import groups
from pyke.springs.find import find_similarities
from pyke.springs.groups import group_similarities
from pyke.springs.similarity import Similarities

CLUSTERS = st.integers(-1, 2)  # −1: none


def draw_clusters(data: st.DataObject, terms: int) -> Any:
    return np.array(data.draw(st.lists(CLUSTERS, min_size=terms, max_size=terms)), np.int32)


def pairs_of(found: Similarities) -> dict[tuple[int, int], float]:
    pairs = zip(found.first.tolist(), found.second.tolist(), strict=True)
    return dict(zip(pairs, found.values.tolist(), strict=True))


@given(triples=GRAPHS, way=st.sampled_from(WAYS), data=st.data())
@many(500)
def test_coarse_contexts_equal_the_oracle(
    triples: list[Triple], way: dict[str, Any], data: st.DataObject
) -> None:
    graph, truth = graph_of(as_text(triples), **way), oracle.counted(as_meant(triples), **way)
    clusters = draw_clusters(data, len(graph.terms))
    named = {term: int(c) for term, c in zip(graph.terms, clusters, strict=True) if c >= 0}
    events = oracle.coarse_events(truth, named)
    rows = oracle.similarities_of(events, oracle.shared_contexts(events))
    number = {graph.terms[p]: i for i, p in enumerate(graph.predicates)}

    def order(context: Particle) -> tuple[int, str, str]:
        return number[context[1]], {"subject": "0", "object": "1"}[context[2]], context[3]

    shared = sorted(oracle.shared_contexts(events), key=order)
    expected = {
        (x, len(graph.terms) + shared.index(context)): np.float32(0.5) * sigma
        for x, term in enumerate(graph.terms)
        for context, sigma in rows.get(term, {}).items()
    }
    found = group_similarities(graph, clusters, RDF_TYPE)
    assert found.particles == len(graph.terms) + len(shared)
    assert pairs_of(found).keys() == expected.keys()
    values = np.array([expected[pair] for pair in pairs_of(found)], np.float32)
    np.testing.assert_array_max_ulp(found.values, values, maxulp=2)


@given(triples=GRAPHS, data=st.data())
@many(50)
def test_the_other_similarities_keep_their_values(
    triples: list[Triple], data: st.DataObject
) -> None:
    graph, config = graph_of(as_text(triples)), Config(threads=1)
    plain = find_similarities(graph, config, np.empty(0, np.int32))
    if len(graph):
        clusters = draw_clusters(data, len(graph.terms))
        both = find_similarities(graph, config, clusters)
        assert pairs_of(plain).items() <= pairs_of(both).items()
        coarse = group_similarities(graph, clusters, RDF_TYPE)
        assert both.particles - plain.particles == coarse.particles - len(graph.terms)


def test_subjects_of_alike_objects_share_a_coarse_context() -> None:
    """a and b like different cats; c likes a dog, as d does."""
    likes = [("e:a", "e:likes", "e:tom"), ("e:b", "e:likes", "e:felix")]
    likes += [("e:c", "e:likes", "e:rex"), ("e:d", "e:likes", "e:rex")]
    graph = graph_of(as_text(likes))
    cluster = {"e:tom": 0, "e:felix": 0, "e:rex": 1}
    clusters = np.array([cluster.get(term, -1) for term in graph.terms], np.int32)
    found = group_similarities(graph, clusters, RDF_TYPE)
    members = [(graph.terms[x], context) for x, context in pairs_of(found)]
    first = len(graph.terms)
    assert members == [("e:a", first), ("e:b", first), ("e:c", first + 1), ("e:d", first + 1)]
    assert found.values.tolist() == [np.float32(0.5 * np.log(2))] * 4


def test_too_many_contexts_are_refused_with_a_smaller_number_of_clusters() -> None:
    graph = graph_of(as_text([("e:a", "e:p", "e:b"), ("e:a", "e:q", "e:b")]))
    clusters = np.arange(len(graph.terms), dtype=np.int32)
    with (
        patch.object(groups, "MAX_CONTEXTS", 12),
        pytest.raises(OverBudget, match=r"2\) for 4 clusters. Use `clusters=3` or fewer"),
    ):
        group_similarities(graph, clusters, RDF_TYPE)


def test_clusters_of_another_graph_are_refused() -> None:
    graph = graph_of(as_text([("e:a", "e:p", "e:b")]))
    with pytest.raises(UsageError, match="2 clusters for 3 terms"):
        group_similarities(graph, np.zeros(2, np.int32), RDF_TYPE)
