"""Predicted types: as a sequence, as RDF that other libraries read, and as tables."""

from __future__ import annotations

import csv
import gzip
import html
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
import rdflib

from graphs import graph_of, noisy_crafts
from oracle import RDF_TYPE
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import MissingLibrary, OutputExists, UsageError, WriteError
from pyke.graph.terms import Terms, Texts
from pyke.use.types.bins import BinCalibration
from pyke.use.types.calibration import Measured
from pyke.use.types.evidence import find_evidence
from pyke.use.types.kinds import Kinds
from pyke.use.types.namespaces import Namespaces
from pyke.use.types.predictions import Prediction, Predictions, check_selection
from pyke.use.types.write import VOCABULARY, check_target

ONES = np.ones(40, np.int64)
CALIBRATION = BinCalibration(Measured(np.ones(40), ONES, ONES, np.arange(40) % 4 > 0, 40, 45), 3)
CONFIDENCES = np.array([0.0, 0.1, 0.6, 0.95])  # by votes
TERMS = [
    "http://e/anna",
    "http://e/Müller?q=1&x='y'#z",
    "_:b0",
    "http://e/Person",
    "_:class",
    "http://e/Baker",
    "urn:isbn:1",
]
HOSTILE = [
    "http://e/a b",
    'http://e/"q"',
    "http://e/<x>",
    "http://e/back\\slash",
    "http://e/line\nbreak\r\t",
    "http://e/{x}|^`",
    "http://e/\x00\x7f",
]
BARE = ["n30 k", "anna", "", "/m/02mjmr", "http://e/%zz"]
PAIRS = [(0, 3, 3), (0, 5, 1), (1, 3, 2), (2, 3, 3), (6, 4, 2)]  # subject, class, votes


def no_kinds() -> Kinds:
    """The kinds of no terms."""
    graph, nothing = graph_of(noisy_crafts(2)), np.zeros(0, np.int32)
    evidence = find_evidence(graph, Config(dimensions=2, max_iterations=1), Progress())
    spaces = Namespaces(graph, nothing, nothing, 1)
    return Kinds(evidence, spaces, nothing, nothing, 1)


def predictions(
    terms: list[str] = TERMS,
    pairs: list[tuple[int, int, int]] = PAIRS,
    type_predicate: str = RDF_TYPE,
    unmeasured: tuple[int, ...] = (),
) -> Predictions:
    subjects, classes, votes = np.array(pairs, np.int32).reshape(-1, 3).T
    labels = {0: "Anna", 3: 'a person; ,\t"quoted"\n'}
    config = Config(type_predicate=type_predicate).as_dict()
    none = np.zeros((0, 3), np.int32)
    embedding = Embedding(
        np.zeros((len(terms), 2), np.float32),
        Terms.of(terms),
        none[:, :2],
        none,
        Texts.of(labels.values()),
        np.array(list(labels), np.int32),
        {"config": config},
    )
    return Predictions(
        embedding,
        subjects,
        classes,
        votes,
        votes / 4,
        CONFIDENCES[votes],
        np.isin(subjects, unmeasured, invert=True),
        asked=9,
        without_voters=2,
        kinds=no_kinds(),
        calibration=CALIBRATION,
        exact=True,
        recall=1.0,
    )


def meant(found: Predictions) -> set[tuple[str, str, str]]:
    """Triples that a file should contain: those without blank nodes."""
    return {
        (p.term, found.type_predicate, p.type)
        for p in found
        if not p.term.startswith("_:") and not p.type.startswith("_:")
    }


def parsed(path: Path, **options: Any) -> list[Any]:
    return list(
        ox.parse(path=str(path), format=ox.RdfFormat.from_extension(path.suffix[1:]), **options)
    )


def as_texts(quad: Any) -> tuple[str, str, str]:
    return quad.subject.value, quad.predicate.value, quad.object.value


def figures_of(found: Predictions, triple: tuple[str, str, str]) -> tuple[str, ...]:
    """Confidence, votes and share of a prediction; only an unmeasured one says so."""
    prediction = next(p for p in found if (p.term, p.type) == (triple[0], triple[2]))
    figures = (f"{prediction.confidence:.4f}", str(prediction.votes), f"{prediction.share:.4f}")
    return (*figures, "" if prediction.measured else "false")


def test_predictions_are_a_sequence() -> None:
    found = predictions()
    assert found[0] == Prediction(
        "http://e/anna",
        "Anna",
        "http://e/Person",
        'a person; ,\t"quoted"\n',
        3,
        0.75,
        0.95,
        True,
    )
    assert found[-1] == list(found)[-1]
    assert [(p.term, p.type, p.votes) for p in found] == [
        (TERMS[s], TERMS[c], votes) for s, c, votes in PAIRS
    ]
    assert len(found) == len(PAIRS)
    with pytest.raises(IndexError):
        found[5]


def test_the_expected_share_of_correct_predictions_is_their_mean_confidence() -> None:
    found = predictions()
    assert found.expected_right == pytest.approx(sum(p.confidence for p in found) / 5)
    assert found.predicted_subjects == 4
    assert found.not_in_rdf == 2
    assert predictions(pairs=[]).expected_right == 0


def test_unmeasured_predictions_have_no_expected_precision() -> None:
    found = predictions()
    measured = np.array([p.type == "http://e/Person" for p in found])
    assert 0 < measured.sum() < len(found)
    some = replace(found, measured=measured)
    assert some.expected_right == pytest.approx(found.confidences[measured].mean())
    expected = {one.type: one.expected_right for one in some.by_class()}
    assert expected.pop("http://e/Person") == pytest.approx(some.expected_right)
    assert set(expected.values()) == {None}
    assert replace(found, measured=np.zeros(len(found), bool)).expected_right == 0


def test_classes_are_sorted_by_frequency_and_prefer_an_example_with_an_iri() -> None:
    first, *others = predictions(
        pairs=[(2, 3, 3), (1, 3, 1), (0, 3, 2), *PAIRS[1:2], *PAIRS[4:]]
    ).by_class()
    assert (first.type, first.predictions, first.example, first.example_label) == (
        "http://e/Person",
        3,
        "http://e/anna",
        "Anna",
    )
    assert first.expected_right == pytest.approx(CONFIDENCES[1:].mean())
    assert [(one.type, one.example) for one in others] == [
        ("_:class", "urn:isbn:1"),
        ("http://e/Baker", "http://e/anna"),
    ]
    assert predictions(pairs=[]).by_class() == []


@pytest.mark.parametrize("name", ["out.nt", "out.NT"])
def test_n_triples_contain_the_predictions(tmp_path: Path, name: str) -> None:
    found = predictions()
    found.write(tmp_path / name)
    text = (tmp_path / name).read_text()
    assert {as_texts(quad) for quad in ox.parse(text, ox.RdfFormat.N_TRIPLES)} == meant(found)
    assert {
        tuple(map(str, triple)) for triple in rdflib.Graph().parse(data=text, format="nt")
    } == meant(found)
    assert text.count("\n") == len(meant(found)) == 3


def test_turtle_annotates_each_triple_with_its_confidence(tmp_path: Path) -> None:
    """RDF 1.2: the triple is stated, and a node that reifies it has the confidence."""
    found = predictions(unmeasured=(1,))
    found.write(tmp_path / "out.ttl")
    quads = parsed(tmp_path / "out.ttl")
    reified = {
        quad.subject: quad.object for quad in quads if quad.predicate.value.endswith("#reifies")
    }
    said = {
        (quad.subject, quad.predicate.value): quad.object.value
        for quad in quads
        if quad.predicate.value.startswith(VOCABULARY)
    }
    assert {
        as_texts(quad) for quad in quads if not isinstance(quad.subject, ox.BlankNode)
    } == meant(found)
    assert {as_texts(triple) for triple in reified.values()} == meant(found)
    for node, triple in reified.items():
        figures = [
            said.get((node, VOCABULARY + name), "")
            for name in ("confidence", "votes", "share", "measured")
        ]
        assert tuple(figures) == figures_of(found, as_texts(triple))
    assert len(quads) == 5 * len(meant(found)) + 1, "one is not measured"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # rdflib's own
@pytest.mark.parametrize("library", ["pyoxigraph", "rdflib"])
def test_trig_has_the_triples_in_a_named_graph_and_reified_statements_in_the_default_graph(
    tmp_path: Path, library: str
) -> None:
    found = predictions(unmeasured=(1,))
    found.write(tmp_path / "out.trig")
    if library == "rdflib":
        read = rdflib.Dataset().parse(data=(tmp_path / "out.trig").read_text(), format="trig")
        quads = {(str(s), str(p), str(o), str(graph or "")) for s, p, o, graph in read.quads()}
    else:
        names = {
            quad: "" if isinstance(quad.graph_name, ox.DefaultGraph) else quad.graph_name.value
            for quad in parsed(tmp_path / "out.trig")
        }
        quads = {(*as_texts(quad), name) for quad, name in names.items()}
    assert {(s, p, o) for s, p, o, graph in quads if graph == "urn:pyke:predicted"} == meant(found)
    statements: dict[str, dict[str, str]] = {}
    for s, p, o, graph in quads:
        if graph != "urn:pyke:predicted":
            statements.setdefault(s, {})[p.split("#")[-1].removeprefix(VOCABULARY)] = o
    assert {
        (one["subject"], one["predicate"], one["object"]) for one in statements.values()
    } == meant(found)
    for one in statements.values():
        figures = [one.get(name, "") for name in ("confidence", "votes", "share", "measured")]
        assert tuple(figures) == figures_of(
            found, (one["subject"], one["predicate"], one["object"])
        )


@pytest.mark.parametrize("ending", [".nt", ".ttl", ".trig"])
def test_invalid_iris_are_skipped_in_rdf_and_counted(tmp_path: Path, ending: str) -> None:
    """They come from tables, and from files that were read with errors. RDF readers refuse them."""
    names = [*HOSTILE, *BARE]
    terms = ["http://e/anna", "http://e/Person", *names]
    found = predictions(
        terms,
        [
            (0, 1, 3),
            *((2 + n, 1, 2) for n in range(len(names))),
            *((0, 2 + n, 1) for n in range(len(names))),
        ],
    )
    found.write(tmp_path / f"out{ending}")
    quads = parsed(tmp_path / f"out{ending}")
    assert {
        as_texts(quad)
        for quad in quads
        if quad.predicate.value == RDF_TYPE and quad.object.value == "http://e/Person"
    } == {("http://e/anna", RDF_TYPE, "http://e/Person")}
    assert found.not_in_rdf == 2 * len(names)


def test_an_invalid_type_predicate_makes_an_empty_rdf_file(tmp_path: Path) -> None:
    found = predictions(type_predicate="is a")
    found.write(tmp_path / "out.nt")
    assert (tmp_path / "out.nt").read_bytes() == b""
    assert found.not_in_rdf == len(found)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_tables_contain_all_predictions_with_labels_and_blank_nodes(
    tmp_path: Path, ending: str
) -> None:
    found, path = (
        predictions(
            [*TERMS, *HOSTILE],
            [*PAIRS, *((len(TERMS) + n, 5, 1) for n in range(len(HOSTILE)))],
            unmeasured=(1,),
        ),
        tmp_path / f"out{ending}",
    )
    found.write(path)
    rows: list[dict[str, Any]]
    if ending == ".parquet":
        from pyarrow import parquet

        rows = parquet.read_table(path).to_pylist()
    elif ending == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file, delimiter="," if ending == ".csv" else "\t"))
    assert [
        (
            row["term"],
            row["label"] or None,
            row["type"],
            row["type_label"] or None,
            int(row["votes"]),
        )
        for row in rows
    ] == [(p.term, p.label, p.type, p.type_label, p.votes) for p in found]
    assert [float(row["confidence"]) for row in rows] == pytest.approx(
        [p.confidence for p in found]
    )
    assert [float(row["share"]) for row in rows] == [p.share for p in found]
    assert [str(row["measured"]).lower() for row in rows] == [
        str(p.measured).lower() for p in found
    ]


def test_several_blocks_are_written_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyke.use.types.rows.ROWS_AT_ONCE", 2)
    monkeypatch.setattr("pyke.use.types.write.STATEMENTS_AT_ONCE", 2)
    found = predictions()
    found.write(tmp_path / "out.jsonl")
    found.write(tmp_path / "out.nt")
    assert [
        json.loads(line)["term"] for line in (tmp_path / "out.jsonl").read_text().splitlines()
    ] == [p.term for p in found]
    assert len((tmp_path / "out.nt").read_text().splitlines()) == 3


@pytest.mark.parametrize("ending", [".nt", ".ttl", ".trig", ".csv"])
def test_no_predictions_make_an_empty_file(tmp_path: Path, ending: str) -> None:
    predictions(pairs=[]).write(tmp_path / f"out{ending}")
    if ending == ".csv":
        assert (tmp_path / "out.csv").read_text().splitlines() == [
            "term,label,type,type_label,votes,share,confidence,measured"
        ]
    else:
        assert parsed(tmp_path / f"out{ending}") == []


def test_the_file_name_determines_the_compression(tmp_path: Path) -> None:
    found = predictions()
    found.write(tmp_path / "out.nt.gz")
    found.write(tmp_path / "out.nt")
    assert (
        gzip.decompress((tmp_path / "out.nt.gz").read_bytes()) == (tmp_path / "out.nt").read_bytes()
    )


@pytest.mark.parametrize("name", ["out.nt", "out.ttl.zst", "out.csv"])
def test_an_existing_file_is_replaced_only_with_force(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(OutputExists, match="`force=True`"):
        check_target(tmp_path / name, False)
    with pytest.raises(OutputExists, match="`force=True`"):
        predictions().write(tmp_path / name)
    assert (tmp_path / name).read_text() == "mine"
    check_target(tmp_path / name, True)
    predictions().write(tmp_path / name, force=True)
    assert (tmp_path / name).read_bytes() != b"mine"


@pytest.mark.parametrize("name", ["out.rdf", "out", "out.gz", "out.parquet.gz", "nt"])
def test_an_unknown_extension_is_refused_and_the_known_ones_are_listed(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(UsageError, match=r"\.parquet.*RDF are \.nt, \.ttl, \.trig\."):
        check_target(tmp_path / name, False)


@pytest.mark.parametrize("name", ["file/out.nt", "file/deeper/out.csv"])
def test_an_unwritable_path_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="is not a directory"):
        check_target(tmp_path / name, False)


def test_the_json_summary_has_all_counts() -> None:
    summary = predictions().as_dict()
    expected = {
        "predictions": 5,
        "subjects": 4,
        "asked": 9,
        "without_voters": 2,
        "not_in_rdf": 2,
        "mu": 3,
    }
    assert {key: summary[key] for key in expected} == expected
    levels = summary["calibration"]["levels"]
    assert sum(level["made"] for level in levels) == 40
    assert sum(level["right"] for level in levels) == 30
    assert (summary["calibration"]["subjects"], summary["calibration"]["types"]) == (40, 45)
    assert sum(one["predictions"] for one in summary["classes"]) == 5
    json.dumps(summary)


def test_predictions_show_their_counts_and_expected_precision() -> None:
    found = predictions()
    assert repr(found) == (
        f"<Predictions: {len(PAIRS)} types of {found.predicted_subjects} subjects; "
        f"9 subjects were tried; {found.expected_right:.1%} are expected to be correct>"
    )


def test_notebooks_show_the_first_predictions_with_escaped_labels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pyke.use.types.predictions.SHOWN", 2)
    found = predictions()
    shown = found._repr_html_()
    assert html.escape(repr(found)) in shown
    assert shown.count("<tr>") == 4, "a header, two predictions, and how many more there are"
    assert f"… {len(found) - 2} more" in shown
    assert html.escape(str(found[0].type_label)) in shown
    assert '"quoted"' not in shown


def test_pandas_gets_a_row_for_each_prediction() -> None:
    found = predictions()
    frame = found.to_pandas()
    assert list(frame.columns) == [
        *("term", "label", "type", "type_label", "votes", "share", "confidence", "measured")
    ]
    assert frame["term"].tolist() == [p.term for p in found]
    assert frame["confidence"].tolist() == found.confidences.tolist()


def test_a_missing_pandas_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingLibrary, match="needs pandas"):
        predictions().to_pandas()


@pytest.mark.parametrize("least", [0.0, 0.1, 0.5, 0.95, 1.0])
def test_exactly_the_measured_predictions_with_enough_confidence_are_kept(least: float) -> None:
    found = predictions(unmeasured=(1,))
    enough = [p for p in found if p.confidence >= least]
    assert list(found.select(least)) == [p for p in enough if p.measured]
    assert list(found.select(least, unmeasured=True)) == enough


@pytest.mark.parametrize("precision", [0.0, 0.3, 0.6, 0.75, 0.95, 1.0])
@pytest.mark.parametrize("unmeasured", [False, True])
def test_a_precision_keeps_as_many_predictions_as_possible(
    precision: float, unmeasured: bool
) -> None:
    """Predictions with the same confidence are kept or dropped together."""
    found = predictions(unmeasured=(1,))
    allowed = [p for p in found if p.measured or unmeasured]
    kept = found.select(precision=precision, unmeasured=unmeasured)
    possible = [[p for p in allowed if p.confidence >= least] for least in (2.0, *CONFIDENCES)]
    good = [p for p in possible if sum(one.confidence for one in p) >= precision * len(p)]
    assert list(kept) == max(good, key=len)
    assert kept.expected_right >= precision or len(kept) == 0


def test_a_selection_keeps_the_counts_of_all_subjects() -> None:
    kept = predictions().select(1.0)
    assert (len(kept), kept.asked, kept.without_voters, kept.not_measured()) == (0, 9, 2, [])
    assert len(kept.select(precision=0.5)) == 0


@pytest.mark.parametrize(("least", "precision"), [(-0.1, None), (1.1, None), (0.5, 90.0)])
def test_a_share_outside_0_and_1_is_refused(least: float, precision: float | None) -> None:
    with pytest.raises(UsageError, match="must be from 0 to 1"):
        check_selection(least, precision)
