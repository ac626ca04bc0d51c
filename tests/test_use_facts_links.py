"""Links between terms: strengths and linked pairs against plain loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given

from graphs import GRAPHS, as_meant, as_text, graph_of, many
from oracle import RDF_TYPE, Triple, counted, is_literal
from pyke.graph.roles import SUBJECT
from pyke.use.facts.links import FAILURES, MIN_STRENGTH, Links

Kind = tuple[str, bool]


def links_of(triples: Sequence[Triple]) -> set[tuple[str, Kind, str]]:
    """x, predicate and whether x is its subject, y."""
    found = set()
    for s, p, o in triples:
        if not is_literal(o) and p != RDF_TYPE:
            found |= {(s, (p, True), o), (o, (p, False), s)}
    return found


def strengths_of(triples: Sequence[Triple], predicate: str) -> dict[Kind, float]:
    links = links_of(triples)
    facts = {(s, o) for s, p, o in triples if p == predicate and not is_literal(o)}
    subjects = {s for s, _ in facts}
    found = {}
    for kind in {kind for _, kind, _ in links}:
        pairs = [(x, y) for x, k, y in links if k == kind and x in subjects]
        right = 0 if kind == (predicate, True) else sum(pair in facts for pair in pairs)
        found[kind] = right / (len(pairs) + FAILURES)
    return found


@many(60)
@given(GRAPHS)
def test_strengths_and_linked_pairs_agree_with_plain_loops(drawn: list[Triple]) -> None:
    triples = sorted(set(counted(as_meant(drawn))))
    if not triples:
        return
    graph = graph_of(as_text(drawn))
    links = Links(graph, RDF_TYPE)
    names = list(graph.terms)
    every = np.arange(len(names), dtype=np.int32)
    for position, predicate in enumerate(graph.predicates.tolist()):
        if names[predicate] == RDF_TYPE:
            continue  # types are not predicted
        expected = strengths_of(triples, names[predicate])
        own = graph.predicate_positions == position
        subjects = np.unique(graph.subjects[own & (graph.objects >= 0)])
        found = links.strengths(position, subjects)
        for (name, is_subject), strength in expected.items():
            at = int(np.searchsorted(graph.predicates, names.index(name)))
            assert np.isclose(found[2 * at + (SUBJECT if is_subject else 1 - SUBJECT)], strength)
        linked = links.linked(found, every)
        best: dict[tuple[str, str], float] = {}
        for x, kind, y in links_of(triples):
            if expected[kind] >= MIN_STRENGTH:
                best[x, y] = max(best.get((x, y), 0), expected[kind])
        pairs = zip(linked.subjects.tolist(), linked.objects.tolist(), strict=True)
        assert [(names[x], names[y]) for x, y in pairs] == sorted(
            best, key=lambda pair: (names.index(pair[0]), names.index(pair[1]))
        )
        for x, y, strength in zip(
            linked.subjects.tolist(), linked.objects.tolist(), linked.strengths, strict=True
        ):
            assert np.isclose(strength, best[names[x], names[y]])
