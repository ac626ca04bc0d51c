"""Withheld types: who loses them, what is left of the graph, and who can still be asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import FAMILY, GRAPHS, TYPED, as_meant, as_text, crafts, graph_of, many, triples_in
from oracle import RDF_TYPE, Triple
from pyke.errors import NothingToScore, UsageError
from pyke.evaluate.type_prediction import score
from pyke.graph.graph import Graph
from pyke.use.types.held_out import Split, split
from pyke.use.types.votes import TypeTable


def named(graph: Graph, table: TypeTable) -> dict[str, set[str]]:
    """Names of the classes of each subject; classes without an id are skipped."""
    return {
        graph.terms[s]: classes_of(graph, table, x)
        for x, s in enumerate(table.subjects.tolist())
        if s >= 0
    }


def classes_of(graph: Graph, table: TypeTable, x: int) -> set[str]:
    return {
        graph.terms[i]
        for i in table.class_ids[table.classes[table.offsets[x] : table.offsets[x + 1]]].tolist()
    }


def types_in(graph: Graph) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for s, c in graph.types.tolist():
        found.setdefault(graph.terms[s], set()).add(graph.terms[c])
    return found


def known_names(parts: Split) -> set[str]:
    return {parts.graph.terms[s] for s in parts.known.subjects.tolist()}


@given(GRAPHS, st.integers(0, 99), st.sampled_from([0.1, 0.34, 0.5, 0.9]), st.booleans())
@many(120)
def test_withheld_subjects_have_no_types_and_the_others_keep_theirs(
    triples: list[Triple], seed: int, fraction: float, keep_duplicates: bool
) -> None:
    # Types are rare in these graphs: every other statement becomes one.
    triples = [
        (s, RDF_TYPE if n % 2 and o[0] != '"' else p, o) for n, (s, p, o) in enumerate(triples)
    ] + TYPED
    graph = graph_of(as_text(triples), keep_duplicates=keep_duplicates)
    whole = types_in(graph)
    parts = split(graph, fraction, seed, RDF_TYPE)

    assert types_in(parts.graph) == {
        name: own for name, own in whole.items() if name in known_names(parts)
    }, "known subjects keep all of their types"
    withheld = set(whole) - known_names(parts)
    assert len(parts.asked) == len(withheld) == round(fraction * len(whole)), (
        "known and asked are all of S, nobody twice"
    )
    assert len(parts.known) + len(parts.asked) == len(whole)
    meant = [
        t
        for t in oracle.counted(as_meant(triples), keep_duplicates=keep_duplicates)
        if t[1] != RDF_TYPE or t[0] not in withheld
    ]
    assert sorted(triples_in(parts.graph).elements()) == sorted(meant), "nothing else is gone"

    left = oracle.vocabulary(meant)
    asked = {parts.graph.terms[s] for s in parts.asked.subjects.tolist() if s >= 0}
    assert asked == withheld & left
    assert sum(s < 0 for s in parts.asked.subjects.tolist()) == len(withheld - left)


def test_withheld_classes_are_kept_in_the_table() -> None:
    graph = graph_of(crafts())
    parts = split(graph, 0.3, 5, RDF_TYPE)
    whole = types_in(graph)
    for table in (parts.known, parts.asked):
        for x, s in enumerate(table.subjects.tolist()):
            if s >= 0:
                assert classes_of(graph, table, x) == whole[parts.graph.terms[s]]


def test_the_ids_in_a_split_are_those_of_its_graph() -> None:
    """A class that only withheld subjects had is not in the graph: its id is −1."""
    text = "".join(
        f"<e:x> <e:p> <e:{s}> .\n<e:{s}> <{RDF_TYPE}> <e:c{s % 3}> .\n" for s in range(30)
    )
    graph = graph_of("<e:alone> <e:q> <e:other> .\n" + f"<e:only> <{RDF_TYPE}> <e:rare> .\n" + text)
    for seed in range(20):
        parts = split(graph, 0.5, seed, RDF_TYPE)
        if "e:rare" not in parts.graph.terms:
            break
    assert "e:rare" not in parts.graph.terms
    assert named(parts.graph, parts.known) == types_in(parts.graph)


def test_the_seed_determines_the_withheld_subjects() -> None:
    graph = graph_of(crafts())
    first, same, other = (split(graph, 0.2, seed, RDF_TYPE) for seed in (1, 1, 2))
    assert first.asked.subjects.tolist() == same.asked.subjects.tolist()
    assert triples_in(first.graph) == triples_in(same.graph)
    assert known_names(first) == known_names(same) != known_names(other)


def test_a_subject_with_only_types_is_removed_and_scores_0() -> None:
    """The hermit is withheld. All other subjects have the vector of their class and score 1."""
    graph = graph_of(crafts())
    hermit = graph.terms.find("http://e/hermit")
    for seed in range(100):
        parts = split(graph, 0.2, seed, RDF_TYPE)
        if "http://e/hermit" not in parts.graph.terms:
            break
    assert hermit >= 0
    assert parts.asked.subjects.tolist().count(-1) == 1
    craft = [name.split("/")[3] for name in parts.graph.terms]
    names = sorted(set(craft))
    vectors = np.eye(len(names), dtype=np.float32)[[names.index(name) for name in craft]]
    found = score(vectors, parts.known, parts.asked, mu=[1, 5])
    others = len(parts.asked) - 1
    assert found.without_vector == 1
    assert list(found.scores.values()) == pytest.approx([others / len(parts.asked)] * 2)
    assert found.votes is not None
    assert found.votes.top_1 == pytest.approx(others / len(parts.asked))


def test_another_predicate_can_state_types() -> None:
    text = crafts().replace(RDF_TYPE, "http://e/isA")
    graph = graph_of(text, type_predicate="http://e/isA")
    parts = split(graph, 0.2, 0, "http://e/isA")
    asked = {parts.graph.terms[s] for s in parts.asked.subjects.tolist() if s >= 0}
    assert not [
        triple
        for triple in triples_in(parts.graph)
        if triple[1] == "http://e/isA" and triple[0] in asked
    ]
    assert len(types_in(parts.graph)) == len(parts.known) == 49


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.2, 1.5, float("nan"), float("inf")])
def test_a_share_outside_0_and_1_is_refused(fraction: float) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        split(graph_of(FAMILY), fraction, 0, RDF_TYPE)


@pytest.mark.parametrize("fraction", [0.01, 0.99])
def test_a_share_that_withholds_all_or_no_subjects_is_refused(fraction: float) -> None:
    with pytest.raises(NothingToScore, match="At least one must lose its types"):
        split(graph_of(FAMILY), fraction, 0, RDF_TYPE)


def test_a_graph_without_types_or_with_one_class_is_refused() -> None:
    with pytest.raises(NothingToScore, match="no subject has a type"):
        split(graph_of("<e:a> <e:p> <e:b> .\n"), 0.5, 0, RDF_TYPE)
    with pytest.raises(NothingToScore, match="have the same class"):
        split(graph_of(FAMILY.replace("female", "male")), 0.5, 0, RDF_TYPE)
