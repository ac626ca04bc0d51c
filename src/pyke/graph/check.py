"""Check a graph from a file: kernels index with its arrays and check nothing."""

from __future__ import annotations

from pyke.core.checks import check, check_ids, check_sorted, check_texts
from pyke.graph.features import check_features
from pyke.graph.graph import LITERAL, Graph


def check_graph(graph: Graph) -> None:
    """Raise ValueError unless all ids are in range, triples are sorted and texts are UTF-8."""
    terms, triples = len(graph.terms), len(graph)
    for column in (graph.predicate_positions, graph.objects):
        check(len(column) == triples, "columns of triples differ in length")
    check_texts(graph.terms.blob, graph.terms.offsets)
    check_texts(graph.labels.blob, graph.labels.offsets)
    check(len(graph.labels) == len(graph.labelled), "labels and their terms differ in number")
    check_ids(graph.subjects, 0, terms)
    check_ids(graph.predicate_positions, 0, len(graph.predicates))
    check_ids(graph.objects, LITERAL, terms)
    check_ids(graph.types, 0, terms)
    for ids in (graph.predicates, graph.labelled):
        check_ids(ids, 0, terms)
        check_sorted(ids, distinct=True)
    check_sorted(*graph.types.T, distinct=True)
    check_sorted(graph.subjects, graph.predicate_positions, graph.objects)
    check_features(graph.features, terms)
