"""Coarse contexts compared with the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import GRAPHS, TYPE, WAYS, as_meant, as_text, graph_of, many
from oracle import Particle, Triple
from pyke.config import RDF_TYPE, Config
from pyke.errors import OverBudget, UsageError
from pyke.graph.graph import Graph
from pyke.springs import groups
from pyke.springs.find import find_similarities
from pyke.springs.groups import class_roles, class_similarities, group_similarities
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
    shared = sorted(oracle.shared_contexts(events), key=by_role(graph))
    equal_the_oracle(graph, group_similarities(graph, clusters, RDF_TYPE), events, shared)


@given(triples=GRAPHS, way=st.sampled_from(WAYS), data=st.data())
@many(200)
def test_coarse_contexts_of_classes_equal_the_oracle(
    triples: list[Triple], way: dict[str, Any], data: st.DataObject
) -> None:
    """A term has any number of classes; its own do not count, even if it is linked to itself."""
    graph, truth = graph_of(as_text(triples), **way), oracle.counted(as_meant(triples), **way)
    term = st.integers(0, max(0, len(graph.terms) - 1))
    pairs = data.draw(st.sets(st.tuples(term, term), max_size=12)) if len(graph) else set()
    types = np.array(sorted(pairs), np.int32).reshape(-1, 2)
    named = [(graph.terms[x], graph.terms[c]) for x, c in types.tolist()]
    events = oracle.class_events(truth, named)
    sizes = Counter(class_ for _, class_ in named)
    classes = sorted(sizes, key=lambda name: (-sizes[name], graph.terms.find(name)))
    rank = {name: f"{number:3}" for number, name in enumerate(classes)}
    shared = sorted(oracle.shared_contexts(events), key=by_role(graph, rank))
    equal_the_oracle(graph, class_similarities(graph, types, RDF_TYPE), events, shared)
    number = {graph.terms[p]: i for i, p in enumerate(graph.predicates)}
    roles = [2 * number[context[1]] + (context[2] == "object") for context in shared]
    assert class_roles(graph, types, RDF_TYPE).tolist() == roles


def by_role(
    graph: Graph, rank: dict[str, str] | None = None
) -> Callable[[Particle], tuple[int, str, str]]:
    """The order of coarse contexts: by predicate, side and group."""
    number = {graph.terms[p]: i for i, p in enumerate(graph.predicates)}

    def order(context: Particle) -> tuple[int, str, str]:
        side = {"subject": "0", "object": "1"}[context[2]]
        return number[context[1]], side, rank[context[3]] if rank else context[3]

    return order


def equal_the_oracle(
    graph: Graph,
    found: Similarities,
    events: Counter[tuple[Particle, Particle]],
    shared: list[Particle],
) -> None:
    rows = oracle.similarities_of(events, oracle.shared_contexts(events))
    expected = {
        (x, len(graph.terms) + shared.index(context)): np.float32(0.5) * sigma
        for x, term in enumerate(graph.terms)
        for context, sigma in rows.get(term, {}).items()
    }
    assert found.particles == len(graph.terms) + len(shared)
    assert pairs_of(found).keys() == expected.keys()
    values = np.array([expected[pair] for pair in pairs_of(found)], np.float32)
    np.testing.assert_array_max_ulp(found.values, values, maxulp=2)


def test_the_most_frequent_classes_count_if_there_are_too_many() -> None:
    text = "".join(
        f"<e:s{n}> <e:p> <e:o{n}> .\n<e:o{n}> {TYPE} <e:c{n // 3}> .\n" for n in range(7)
    )
    graph = graph_of(text)  # o0 to o2 are c0, o3 to o5 are c1, o6 alone is c2
    with patch.object(groups, "MAX_CONTEXTS", 4 * len(graph.predicates)):
        found = class_similarities(graph, graph.types, RDF_TYPE)
    members = {graph.terms[x] for x, _ in pairs_of(found)}
    assert members == {f"e:s{n}" for n in range(6)}


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
