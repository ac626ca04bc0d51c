"""Building a graph: the ids of terms, and the counts of the census."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import oracle
from graphs import (
    BLANKS,
    GRAPHS,
    LABEL,
    LITERALS,
    NODES,
    PREF_LABEL,
    WAYS,
    as_meant,
    as_text,
    batches_of,
    collect,
    graph_of,
    many,
    triples_in,
)
from oracle import RDF_TYPE, Triple
from pyke.config import Config
from pyke.errors import OverBudget, UnknownTerm
from pyke.graph import build, changes, roles
from pyke.graph.batches import TRIPLE_TERMS
from pyke.graph.graph import LITERAL, Census, Graph
from pyke.graph.terms import Terms, Texts
from pyke.pipeline import Run

COUNTS = ["statements", "triples", "literals", "duplicates", "terms", "terms_only_with_literals"]
COUNTS += ["blank_nodes", "predicates", "typed_subjects", "classes"]


def counts_of(graph: Graph) -> dict[str, int]:
    return {name: getattr(graph.census, name) for name in COUNTS}


@given(GRAPHS, st.one_of(st.none(), st.integers(0, 30)))
@many(1000)
def test_the_counts_equal_those_of_the_oracle(triples: list[Triple], cut: int | None) -> None:
    documents = [triples] if cut is None else [triples[:cut], triples[cut:]]
    meant = [
        triple
        for n, document in enumerate(documents)
        for triple in as_meant(document, None if cut is None else n)
    ]
    literal = [triple for triple in meant if oracle.is_literal(triple[2])]
    batches = list(batches_of(*map(as_text, documents)))
    for way in WAYS:
        graph = collect(batches, **way)
        truth = oracle.counted(meant, **way)
        terms, literals = (
            oracle.vocabulary(truth),
            literal if way["keep_duplicates"] else set(literal),
        )
        assert sorted(graph.terms) == sorted(terms)
        assert triples_in(graph) == Counter(
            (s, p, '"' if oracle.is_literal(o) else o) for s, p, o in truth
        )
        assert {(graph.terms[s], graph.terms[o]) for s, o in graph.types} == oracle.types(truth)
        assert len(graph.types) == len(oracle.types(truth))
        assert {graph.terms[p] for p in graph.predicates} == oracle.predicates(truth)
        assert counts_of(graph) == {
            "statements": len(meant),
            "triples": len(truth),
            "terms": len(terms),
            "typed_subjects": len(oracle.typed_subjects(truth)),
            "classes": len(oracle.classes(truth)),
            "literals": len(literals),
            "duplicates": 0 if way["keep_duplicates"] else len(meant) - len(set(meant)),
            "blank_nodes": sum(term.startswith("_:") for term in terms),
            "predicates": len(oracle.predicates(truth)),
            "terms_only_with_literals": len(oracle.vocabulary(meant) - terms),
        }
        rows = np.column_stack([graph.subjects, graph.predicate_positions, graph.objects])
        assert (np.lexsort(rows.T[::-1]) == np.arange(len(rows))).all(), (
            "sorted by subject, predicate, object"
        )


@given(GRAPHS, st.randoms(use_true_random=False))
@many(200)
def test_the_order_of_lines_does_not_change_counts(
    triples: list[Triple], shuffler: random.Random
) -> None:
    shuffled = shuffler.sample(triples, len(triples))
    for way in WAYS:
        graph, other = graph_of(as_text(triples), **way), graph_of(as_text(shuffled), **way)
        assert counts_of(other) == counts_of(graph)
        assert triples_in(other) == triples_in(graph)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_order_of_files_does_not_change_counts(tmp_path: Path, way: dict[str, Any]) -> None:
    draw = random.Random(1)
    paths = [tmp_path / f"{name}.nt" for name in "abc"]
    for path in paths:
        path.write_text(
            as_text(
                [
                    (
                        draw.choice(NODES + BLANKS),
                        draw.choice(NODES),
                        draw.choice(NODES + BLANKS + list(LITERALS)),
                    )
                    for _ in range(300)
                ]
            )
        )
    counts = [
        counts_of(Run(list(order), Config(threads=2, **way)).read())
        for order in permutations(paths)
    ]
    assert counts.count(counts[0]) == len(counts) == 6
    assert counts[0]["blank_nodes"] == 6, "two in each file"
    assert (counts[0]["duplicates"] > 0) != way["keep_duplicates"]


def test_rdf_type_gives_no_types_unless_it_is_a_predicate() -> None:
    """The id of rdf:type is lower than the id of the first predicate."""
    census = graph_of(as_text([(RDF_TYPE, "e:p", "e:o")])).census
    assert (census.typed_subjects, census.classes) == (0, 0)


def test_a_term_that_occurs_only_with_literals_has_no_id() -> None:
    text = as_text([("e:a", "e:p", '"1"'), ("e:b", "e:q", "e:c")])
    assert list(graph_of(text).terms) == ["e:b", "e:q", "e:c"]
    assert list(graph_of(text, count_literals=True).terms) == ["e:a", "e:p", "e:b", "e:q", "e:c"]


def test_ids_follow_the_first_occurrence_while_the_dictionary_grows() -> None:
    """Batches that share most terms, with enough terms to enlarge every array."""
    texts = [
        "".join(f"<e:{n}> <e:p> <e:{n * 7 % 9001}> .\n" for n in range(start, start + 3000))
        for start in range(0, 12000, 2000)
    ]
    graph = graph_of(*texts)
    appearance = dict.fromkeys(
        node.strip("<>")
        for text in texts
        for line in text.splitlines()
        for node in line.split()[:3]
    )
    assert list(graph.terms) == list(appearance)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(LITERAL, 5)), max_size=30)
)
@many(100)
def test_columns_are_sorted_equally_whether_or_not_a_row_fits_64_bits(
    rows: list[tuple[int, int, int]],
) -> None:
    columns = np.array(rows, np.int32).reshape(-1, 3)
    for seconds, terms in ((4, 6), (2**20, build.MAX_ID)):
        result = build.sorted_columns(
            [np.ascontiguousarray(column) for column in columns.T], seconds, terms
        )
        assert list(zip(*(column.tolist() for column in result), strict=True)) == sorted(rows)


def test_columns_of_the_largest_numbers_are_sorted_whether_or_not_a_row_fits_64_bits() -> None:
    last = build.MAX_ID - 1
    for seconds, terms in ((1, 1), (2, 2), (4, build.MAX_ID), (5, build.MAX_ID), (2**20, 2**22)):
        high = min(last, terms - 1)
        rows = sorted(
            {(a, b, c) for a in (0, high) for b in (0, seconds - 1) for c in (-1, 0, high)}
        )
        shuffled = np.array(random.Random(2).sample(rows, len(rows)), np.int32)
        for nearly in (False, True):
            columns = [np.ascontiguousarray(column) for column in shuffled.T]
            result = build.sorted_columns(columns, seconds, terms, nearly)
            assert list(zip(*(column.tolist() for column in result), strict=True)) == rows
            assert columns == []
            assert [column.dtype for column in result] == [np.int32] * 3


def test_repeated_rows_are_dropped_unless_kept_but_never_literals() -> None:
    rows = [(0, 4, 1), (0, 2, 1), (0, 2, LITERAL), (0, 2, LITERAL), (0, 2, 1), (1, 2, 1), (1, 2, 0)]
    predicates = np.array([2, 4], np.int32)

    def of(keep: bool, rows: list[tuple[int, int, int]]) -> list[tuple[int, ...]]:
        table = np.array(rows, np.int32).reshape(-1, 3)
        columns = [np.ascontiguousarray(column) for column in table.T]
        result = build.sorted_set(columns, predicates, 5, keep)
        return list(zip(*(column.tolist() for column in result), strict=True))

    expected = [(0, 0, -1), (0, 0, -1), (0, 0, 1), (0, 1, 1), (1, 0, 0), (1, 0, 1)]
    assert of(False, rows) == expected
    assert of(True, rows) == sorted([*expected, (0, 0, 1)])
    assert of(False, rows[1:4]) == expected[:3]
    assert of(False, []) == []


def test_more_terms_than_32_bit_ids_are_refused() -> None:
    assert build.MAX_ID == 2_147_483_646
    build.require_ids(2_147_483_646)
    with pytest.raises(OverBudget) as caught:
        build.require_ids(2_147_483_647)
    assert str(caught.value) == (
        "the graph has more than 2,147,483,646 terms and contexts, the maximum for 32-bit ids. "
        "Embed a part of it."
    )


def test_the_number_of_ids_is_checked_before_terms_are_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build, "MAX_ID", 2)
    with pytest.raises(OverBudget, match="more than 2 terms"):
        graph_of(as_text([("e:a", "e:p", "e:b")]))


def test_the_sizes_so_far_are_counted() -> None:
    collector = build.Collector()
    assert set(collector.sizes.values()) == {0}
    text = as_text([("e:a", "e:p", "e:b"), ("e:a", LABEL, '"Anna"'), ("e:a", LABEL, '"A"')])
    for batch in batches_of(text, as_text([("e:a", "e:p", "e:c")])):
        collector.add(batch)
    terms = ["e:a", "e:p", "e:b", LABEL, "e:c"]
    assert collector.sizes == {
        "links": 2,
        "literals": 2,
        "terms": 5,
        "text_bytes": sum(len(term) + 1 for term in terms) + len("AnnaA"),
        "events": 0,
    }


def test_triple_terms_are_counted_as_statements() -> None:
    collector, census = build.Collector(), Census()
    for batch in batches_of(as_text([("e:a", "e:p", "e:b")]), as_text([("e:a", "e:p", '"1"')])):
        batch.state[TRIPLE_TERMS] = 3
        collector.add(batch)
    collector.finish(Config(threads=1), census)
    assert (census.triple_terms, census.statements) == (6, 8)


def test_all_terms_are_kept_if_an_update_asks_for_them() -> None:
    text = as_text([("e:a", LABEL, '"Anna"'), ("e:b", "e:p", "e:c")])
    for keep, terms, lost in (
        (False, ["e:b", "e:p", "e:c"], 2),
        (True, ["e:a", LABEL, "e:b", "e:p", "e:c"], 0),
    ):
        collector, census = build.Collector(), Census()
        for batch in batches_of(text):
            collector.add(batch)
        graph = collector.finish(Config(threads=1), census, keep)
        assert list(graph.terms) == terms
        assert list(graph.labels) == ["Anna"] * keep
        assert census.terms_only_with_literals == lost
        assert triples_in(graph) == {("e:b", "e:p", "e:c"): 1}


@pytest.mark.parametrize(("keep", "kept"), [(False, 1), (True, 2)])
def test_a_value_of_one_term_is_a_feature_only_if_an_update_asks_for_all_terms(
    keep: bool, kept: int, tmp_path: Path
) -> None:
    path = tmp_path / "x.nt"
    rows = [("e:a", "e:p", "e:b"), ("e:a", "e:q", '"x"'), ("e:b", "e:q", '"x"')]
    path.write_text(as_text([*rows, ("e:a", "e:q", '"y"')]))
    graph = Run(path, Config(threads=1, literals="values")).read(keep)
    assert len(graph.features) == kept


# --------------------------------------------------------------------------------------------------
# Removing triples
# --------------------------------------------------------------------------------------------------


def labels_in(graph: Graph) -> dict[str, str]:
    return dict(zip((graph.terms[i] for i in graph.labelled), graph.labels, strict=True))


def types_in(graph: Graph) -> list[tuple[str, str]]:
    return sorted((graph.terms[s], graph.terms[o]) for s, o in graph.types)


def dropping(graph: Graph, gone: Collection[Triple]) -> NDArray[np.bool_]:
    """Mask of the rows that have these triples."""
    rows = zip(graph.subjects, graph.predicate_ids, graph.objects, strict=True)
    return np.array(
        [
            o != LITERAL and (graph.terms[s], graph.terms[p], graph.terms[o]) in gone
            for s, p, o in rows
        ],
        bool,
    )


@given(
    GRAPHS,
    st.lists(st.sampled_from(NODES)),
    st.randoms(use_true_random=False),
    st.sampled_from([RDF_TYPE, "e:p"]),
)
@many(120)
def test_removing_triples_equals_reading_a_file_without_their_lines(
    triples: list[Triple], labelled: list[str], draw: random.Random, type_predicate: str
) -> None:
    lines = triples + [(node, LABEL, f'"the name of {node}"') for node in labelled]
    gone = {
        triple
        for triple in as_meant(triples)
        if not oracle.is_literal(triple[2]) and draw.random() < 0.4
    }
    left = [line for line, meant in zip(lines, as_meant(lines), strict=True) if meant not in gone]
    for way in WAYS:
        graph = graph_of(as_text(lines), type_predicate=type_predicate, **way)
        before = triples_in(graph)
        smaller, new_ids = changes.remove_triples(graph, dropping(graph, gone), type_predicate)
        truth = graph_of(as_text(left), type_predicate=type_predicate, **way)
        assert sorted(smaller.terms) == sorted(truth.terms)
        assert triples_in(smaller) == triples_in(truth)
        assert types_in(smaller) == types_in(truth)
        assert labels_in(smaller) == labels_in(truth)
        assert sorted(smaller.terms[p] for p in smaller.predicates) == sorted(
            truth.terms[p] for p in truth.predicates
        )
        counted = [
            "triples",
            "literals",
            "terms",
            "blank_nodes",
            "predicates",
            "typed_subjects",
            "classes",
        ]
        assert {name: counts_of(smaller)[name] for name in counted} == {
            name: counts_of(truth)[name] for name in counted
        }
        assert (np.diff(smaller.predicates) > 0).all()
        assert (np.diff(smaller.labelled) > 0).all()
        rows = np.column_stack([smaller.subjects, smaller.predicate_positions, smaller.objects])
        assert (np.lexsort(rows.T[::-1]) == np.arange(len(rows))).all(), (
            "sorted by subject, predicate, object"
        )
        for term, new in zip(graph.terms, new_ids.tolist(), strict=True):
            assert (smaller.terms[new] == term) if new >= 0 else (term not in smaller.terms)
        assert triples_in(graph) == before, "the graph itself stays as it was"


@given(GRAPHS)
@many(100)
def test_removing_no_triples_gives_the_same_graph(triples: list[Triple]) -> None:
    graph = graph_of(as_text(triples))
    same, new_ids = changes.remove_triples(graph, np.zeros(len(graph), bool), RDF_TYPE)
    assert list(same.terms) == list(graph.terms)
    assert new_ids.tolist() == list(range(len(graph.terms)))
    assert counts_of(same) == counts_of(graph)
    for name in ("subjects", "predicate_positions", "objects", "predicates", "types", "labelled"):
        assert (getattr(same, name) == getattr(graph, name)).all(), name


def test_the_census_adds_up_after_triples_are_removed() -> None:
    """The counts still sum up to the statements; the census of the first graph is unchanged."""
    graph = graph_of(
        as_text(
            [
                ("e:a", RDF_TYPE, "e:c"),
                ("e:a", "e:p", "e:b"),
                ("e:a", "e:p", "e:b"),
                ("e:b", "e:q", '"1"'),
            ]
        )
    )
    before = counts_of(graph)
    smaller, _ = changes.remove_triples(graph, roles.states_type(graph, RDF_TYPE), RDF_TYPE)
    for census in (graph.census, smaller.census):
        assert (
            census.statements
            == census.triples + census.literals + census.duplicates + census.triple_terms
        )
    assert counts_of(graph) == before
    assert smaller.census.problems is not graph.census.problems


@given(GRAPHS, st.sampled_from([RDF_TYPE, "e:p", "e:nowhere"]))
@many(100)
def test_typing_triples_have_the_type_predicate_and_no_literal_object(
    triples: list[Triple], type_predicate: str
) -> None:
    for way in WAYS:
        graph = graph_of(as_text(triples), **way)
        typing = roles.states_type(graph, type_predicate)
        found = Counter(
            (graph.terms[s], graph.terms[o])
            for s, o in zip(graph.subjects[typing], graph.objects[typing], strict=True)
        )
        truth = oracle.counted(as_meant(triples), **way)
        assert found == Counter(
            (s, o) for s, p, o in truth if p == type_predicate and not oracle.is_literal(o)
        )


# --------------------------------------------------------------------------------------------------
# Blank nodes and labels
# --------------------------------------------------------------------------------------------------


def test_blank_nodes_without_a_label_get_the_same_names_in_every_run(tmp_path: Path) -> None:
    """Many of them, as one in seventeen of pyoxigraph's random labels has fewer than 32 digits."""
    path = tmp_path / "a.ttl"
    path.write_text("<e:a> <e:p> _:named, " + ", ".join("[ <e:q> [] ]" for _ in range(200)) + ".")
    first, second = (list(Run([path], Config(threads=1)).read().terms) for _ in range(2))
    assert first == second
    assert len(first) == len(set(first)) == 404
    assert "_:named" in first


def test_a_written_label_differs_from_generated_labels(tmp_path: Path) -> None:
    path = tmp_path / "a.ttl"
    path.write_text("<e:a> <e:p> _:anon0, _:anon1, [], [] .")
    terms = list(Run([path], Config(threads=1)).read().terms)
    assert {"_:anon0", "_:anon1"} < set(terms)
    assert len(set(terms)) == 6


def test_generated_labels_are_numbered_per_document_in_the_order_of_terms() -> None:
    names = ["_:·0f", "e:a", "_:b", "_:d1_·a", "_:d12_·0", "_:·g", "_:·", "_:d_·1", "e:·0", "_:·1 "]
    terms = build._name_generated(Terms.of(names))
    renamed = {0: "_:anon0", 3: "_:d1_anon1", 4: "_:d12_anon2"}
    assert list(terms) == [renamed.get(i, name) for i, name in enumerate(names)]
    assert list(build._name_generated(Terms.of(["_:·0", "_:anonx"]))) == ["_:anonxx0", "_:anonx"]
    unchanged = Terms.of(["_:a", "e:b"])
    assert build._name_generated(unchanged) is unchanged


def test_renamed_terms_keep_their_ids() -> None:
    terms = build.rename_terms(Terms.of(["a", "bc", "d"]), np.array([2, 0]), [b"xyz", b""])
    assert list(terms) == ["", "bc", "xyz"]
    assert terms.offsets.tolist() == [0, 1, 4, 8]


def test_only_terms_that_begin_with_underscore_and_colon_are_blank() -> None:
    names = ["_:a", "_", ":", "_a:", "e_:", "_:", "", "_"]
    blank = build.is_blank(Terms.of(names)).tolist()
    assert blank == [name.startswith("_:") for name in names]
    assert build.is_blank(Terms.of(["_:a", ""])).tolist() == [True, False]
    assert build.is_blank(Terms.of(["_"])).tolist() == [False]


@pytest.mark.parametrize(
    ("literals", "best"),
    [
        (['"plain"', '"english"@en', '"deutsch"@de'], "english"),
        (['"deutsch"@de', '"plain"'], "plain"),
        (['"deutsch"@de', '"français"@fr'], "deutsch"),
        (['"plain"', '"american"@en-US'], "american"),
        (['"old english"@ang', '"plain"'], "plain"),
        (['"mail@en"', '"english"@EN'], "english"),
        (['"one"@en', '"two"@en'], "one"),
        (['"typed"^^<http://www.w3.org/2001/XMLSchema#string>', '"deutsch"@de'], "typed"),
        (['"line\\nbreak \\u00e9 \\"quoted\\""'], 'line\nbreak é "quoted"'),
        (['""'], ""),
    ],
)
@pytest.mark.parametrize("predicate", [LABEL, PREF_LABEL])
def test_labels_prefer_english_then_no_language_then_others(
    predicate: str, literals: list[str], best: str
) -> None:
    """The labels before and after it do not overlap it."""
    around = [("e:a", LABEL, '"before"'), ("e:b", "e:p", "e:a"), ("e:c", "e:p", "e:a")]
    text = as_text(
        [*around, *[("e:b", predicate, literal) for literal in literals], ("e:c", LABEL, '"after"')]
    )
    graph = graph_of(text)
    labels = dict(zip((graph.terms[i] for i in graph.labelled), graph.labels, strict=True))
    assert labels == {"e:a": "before", "e:b": best, "e:c": "after"}
    assert (np.diff(graph.labelled) > 0).all()


def test_labels_of_terms_without_counted_triples_are_dropped() -> None:
    graph = graph_of(
        as_text(
            [
                ("e:a", LABEL, '"a"'),
                ("e:b", LABEL, '"b"'),
                ("e:b", "e:p", "e:c"),
                ("e:b", "e:p", '"no label"'),
            ]
        )
    )
    assert list(graph.labels) == ["b"]
    assert [graph.terms[i] for i in graph.labelled] == ["e:b"]


# --------------------------------------------------------------------------------------------------
# Terms
# --------------------------------------------------------------------------------------------------


@given(
    st.lists(st.text(st.sampled_from("ab:é𝛔"), min_size=1, max_size=4), unique=True),
    st.text(st.sampled_from("ab:é𝛔"), max_size=5),
)
@many(300)
def test_terms_find_every_term_and_nothing_else(names: list[str], other: str) -> None:
    terms = Terms.of(names)
    assert list(terms) == names
    for wanted in [*names, other]:
        place = names.index(wanted) if wanted in names else -1
        assert terms.find(wanted) == place
        assert (wanted in terms) == (place >= 0)


@pytest.mark.parametrize("absent", ["e:b", "e:", "", "e:a\n", "e:a\ne:bc", "\udcff", "e:\ud800"])
def test_a_missing_term_is_unknown(absent: str) -> None:
    """Including invalid Unicode: the command line passes undecodable bytes as surrogates."""
    terms = Terms.of(["e:a", "e:bc"])
    assert absent not in terms
    with pytest.raises(UnknownTerm, match="no term"):
        terms.id(absent)


def test_a_value_that_is_not_a_string_is_not_a_term() -> None:
    assert 0 not in Terms.of(["e:a"])
    assert b"e:a" not in Terms.of(["e:a"])


def test_texts_support_negative_positions_and_slices() -> None:
    texts = Texts.of(["a", "b", ""])
    assert (texts[-1], texts[:2], texts[::-1]) == ("", ["a", "b"], ["", "b", "a"])


@pytest.mark.parametrize("at", [-3, 2])
def test_a_position_out_of_range_is_an_index_error(at: int) -> None:
    with pytest.raises(IndexError):
        Texts.of(["a", ""])[at]
