"""`pyke types`: what it prints and writes, and what it refuses before the work."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pyoxigraph as ox
import pytest

import pyke as package
from conftest import ROOT, Command
from graphs import FAMILY, TYPE, noisy_crafts, partly_typed
from oracle import RDF_TYPE
from pyke.cli.predictions import heading

MU = 4
UNMEASURED = ("--unmeasured",)

LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An embedding in which some masters have no type; one is a blank node with a bad label."""
    folder = tmp_path_factory.mktemp("types")
    text = (
        partly_typed().replace("<http://e/baker/0>", "_:master")
        + f'_:master {LABEL} "[red]Berta\\u001b[31m" .\n'
    )
    (folder / "partly.nt").write_text(text)
    package.embed(folder / "partly.nt", dimensions=5).save(folder / "out")
    return folder / "out"


def test_it_shows_the_measured_precision_the_predictions_and_counts(
    pyke: Command, out: Path
) -> None:
    run = pyke("types", out, "--mu", MU, "--min-confidence", "0.5")
    assert run.returncode == 0, run.stderr
    for words in (
        "How often predictions are correct",
        "0.99 and more",
        "0.5 – 0.6",
        "Measured 51 times",
        "Predicted types",
        "baker",
        "precision",
        "Predicted ",
    ):
        assert words in run.stdout
    assert "Not measured: unlike nearly all typed subjects" in run.stdout
    assert "fewer than 5 typed subjects alike: … → uses" in run.stdout, "tools"
    assert "without its types" in run.stderr


def test_unmeasured_predictions_are_shown_on_request(pyke: Command, out: Path) -> None:
    options = ("types", out, "--mu", MU, "--min-confidence", "0", "--json")
    without, with_them = (json.loads(pyke(*options, *more).stdout) for more in ((), UNMEASURED))
    assert without["asked"] == with_them["asked"]
    assert without["predictions"] < with_them["predictions"]
    assert [one["terms"] for one in without["not_measured"]] == [34, 1], "tools, a blank node"
    assert without["not_measured"] == with_them["not_measured"]
    shown = " ".join(pyke(*options[:-1], *UNMEASURED).stdout.split())
    assert "not measured: the expected precision excludes them. Check them by hand." in shown
    assert "--unmeasured" not in shown


def test_a_new_namespace_is_named_as_the_reason(pyke: Command, tmp_path: Path) -> None:
    """Also if there are more reasons than the table shows."""
    external = "".join(
        f"<http://{site}.org/{n}> <http://e/uses> <http://e/baker/tool1> .\n"
        for site in "abcdefghijk"
        for n in range(12)
    )
    (tmp_path / "graph.nt").write_text(partly_typed() + external)
    package.embed(tmp_path / "graph.nt", dimensions=3).save(tmp_path / "out")
    shown = pyke("types", tmp_path / "out", "--mu", MU).stdout
    assert "nearly all untyped: http://a.org/" in shown
    assert "4 other reasons" in shown


def test_it_writes_the_predictions_of_python_and_counts_skipped_ones(
    pyke: Command, out: Path, tmp_path: Path
) -> None:
    run = pyke(
        "types", out, "--mu", MU, "--min-confidence", "0", *UNMEASURED, "-o", tmp_path / "found.nt"
    )
    found = package.load(out).predict_types(mu=MU, min_confidence=0, unmeasured=True)
    assert run.returncode == 0, run.stderr
    quads = ox.parse((tmp_path / "found.nt").read_bytes(), ox.RdfFormat.N_TRIPLES)
    assert {(quad.subject.value, quad.object.value) for quad in quads} == {
        (p.term, p.type) for p in found if not p.term.startswith("_:")
    }
    assert found.not_in_rdf > 1
    assert f"{found.not_in_rdf} types were skipped: RDF files cannot name" in run.stdout
    assert "found.nt" in run.stdout


def test_it_prints_json(pyke: Command, out: Path, tmp_path: Path) -> None:
    run = pyke(
        "types", out, "--mu", MU, "--precision", "0.7", "-o", tmp_path / "found.parquet", "--json"
    )
    found = package.load(out).predict_types(mu=MU, precision=0.7)
    told = json.loads(json.dumps(found.as_dict()))
    assert json.loads(run.stdout) == {"output": str(tmp_path / "found.parquet"), **told}


def test_standard_output_has_nothing_but_the_table(pyke: Command, out: Path) -> None:
    for more in ((), ("--json",)):
        run = pyke("types", out, "--mu", MU, "--min-confidence", "0", "-o", "-", *more)
        rows = list(csv.DictReader(io.StringIO(run.stdout), delimiter="\t"))
        assert len(rows) == len(package.load(out).predict_types(mu=MU, min_confidence=0))
        assert set(rows[0]) == {
            *("term", "label", "type", "type_label", "votes", "share", "confidence", "measured")
        }
        assert "Predicted " in run.stderr


def test_no_confident_prediction_is_not_an_error(pyke: Command, out: Path, tmp_path: Path) -> None:
    run = pyke("types", out, "--mu", MU, "--min-confidence", "1", "-o", tmp_path / "none.nt")
    assert run.returncode == 0
    assert "No prediction reached the confidence" in run.stdout
    assert (tmp_path / "none.nt").read_bytes() == b""


def test_also_typed_predicts_further_types(pyke: Command, out: Path) -> None:
    options = ("types", out, "--mu", MU, "--min-confidence", "0.3")
    only, also = (
        json.loads(pyke(*options, way, "--json").stdout)
        for way in ("--only-untyped", "--also-typed")
    )
    assert also["asked"] - only["asked"] == package.load(out).manifest["census"]["typed_subjects"]
    assert also["predictions"] > also["of_typed"] > 0
    assert (
        f"{also['of_typed']} predictions are for subjects that already have a type"
        in pyke(*options, "--also-typed").stdout
    )
    assert "have a type already" not in pyke(*options).stdout


@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_number_of_threads_does_not_change_a_byte(
    pyke: Command, out: Path, tmp_path: Path, threads: str
) -> None:
    pyke(
        "types",
        out,
        "--mu",
        MU,
        "--min-confidence",
        "0",
        "-o",
        tmp_path / "found.ttl",
        "--threads",
        threads,
    )
    package.load(out).predict_types(mu=MU, min_confidence=0).write(tmp_path / "same.ttl")
    assert (tmp_path / "found.ttl").read_bytes() == (tmp_path / "same.ttl").read_bytes() != b""


@pytest.mark.parametrize("name", ["report.html", "report.png"])
def test_a_report_shows_how_often_predictions_are_right(
    pyke: Command, out: Path, tmp_path: Path, name: str
) -> None:
    assert pyke("types", out, "--mu", MU, "--report", tmp_path / name).returncode == 0
    report = (tmp_path / name).read_bytes()
    assert report.startswith(b"\x89PNG") or b"How often predictions are correct" in report


def test_the_heading_of_an_explanation_cuts_long_labels() -> None:
    assert heading("Berta", "e:b") == "Berta <e:b>"
    assert heading(None, "e:b") == "<e:b>"
    assert heading("é" * 200, "e:b") == f"{'é' * 200} <e:b>"
    assert heading("é" * 5_000_000, "e:b") == f"{'é' * 199}… <e:b>"


def test_a_term_is_explained(pyke: Command, out: Path) -> None:
    run = pyke("types", out, "--mu", MU, "--explain", "http://e/smith/0")
    assert run.returncode == 0, run.stderr
    for words in (
        "<http://e/smith/0>",
        f"of {MU}",
        "Voters: nearest typed neighbours",
        "uses → …",
        "terms that have it",
    ):
        assert words in run.stdout
    assert "same kind" in run.stdout
    assert "not measured" not in run.stdout


def test_an_explanation_says_that_a_term_is_not_measured(pyke: Command, out: Path) -> None:
    run = pyke("types", out, "--mu", "20", "--explain", "http://e/smith/tool1")
    assert "Too few typed subjects with its predicates" in run.stdout


def test_types_stated_in_the_graph_are_marked(pyke: Command, out: Path) -> None:
    assert (
        "stated in the graph"
        in pyke("types", out, "--mu", "20", "--explain", "http://e/smith/9").stdout
    )


def test_a_term_without_voters_has_no_prediction(pyke: Command, out: Path) -> None:
    for name, why in (
        ("http://e/uses", "none of its nearest neighbours"),
        ("http://e/Tool", "only its types are known"),
    ):
        run = pyke("types", out, "--mu", MU, "--explain", name)
        assert run.returncode == 0
        assert f"No prediction: {why}" in run.stdout


def test_labels_from_graphs_are_harmless(pyke: Command, out: Path) -> None:
    run = pyke("types", out, "--mu", MU, "--explain", "[red]berta\x1b[31m")
    assert "[red]Berta\\u001b[31m" in run.stdout
    assert "\x1b" not in run.stdout


def test_an_explanation_can_be_json(pyke: Command, out: Path) -> None:
    run = pyke(
        "types", out, "--mu", MU, "--explain", "e:smith/0", "--prefix", "e=http://e/", "--json"
    )
    told = json.loads(run.stdout)
    assert told["term"] == "http://e/smith/0"
    assert len(told["voters"]) == MU


@pytest.mark.parametrize(
    ("name", "told"),
    [("http://e/smith/tool99", "Did you mean <http://e/smith/tool9>"), ("x:y", "--prefix x=IRI")],
)
def test_an_unknown_term_is_refused_with_suggestions(
    pyke: Command, out: Path, name: str, told: str
) -> None:
    run = pyke("types", out, "--explain", name)
    assert run.returncode == 66
    assert told in run.stderr


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("-o", "there.nt"), 73, "--force"),
        (("-o", "folder.nt"), 73, "is not a file"),
        (("-o", "there.nt/found.nt"), 74, "cannot write"),
        (("-o", "found.rdf"), 2, ".trig"),
        (("--report", "report.txt"), 2, "extensions"),
        (("--report", "there.html"), 73, "--force"),
        (("--min-confidence", "80"), 2, "from 0 to 1"),
        (("--precision", "nan"), 2, "from 0 to 1"),
        (("--min-confidence", "0.9", "--precision", "0.9"), 2, "use either"),
        (
            ("--explain", "http://e/smith/0", "-o", "found.nt"),
            2,
            "which prints to the terminal; omit it",
        ),
        (("--mu", "0"), 2, "at least 1"),
        (("--mu", "1000"), 65, "use a smaller"),
        (("--threads", "-1"), 2, "threads"),
        (("--explain", "http://e/smith/0", "--prefix", "e"), 2, "name=IRI"),
        (("--explain", "http://e/smith/0", "--mu", "1000"), 65, "use a smaller"),
    ],
    ids=str,
)
def test_invalid_options_are_refused_before_the_work(
    pyke: Command,
    out: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    code: int,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("there.nt", "there.html"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "folder.nt").mkdir()
    run = pyke("types", out, *options)
    assert (run.returncode, run.stdout) == (code, "")
    assert told in run.stderr
    assert "without its types" not in run.stderr
    assert "Traceback" not in run.stderr
    assert (tmp_path / "there.nt").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<e:a> <e:p> <e:b> .\n", "no subject has a type"),
        (FAMILY.replace("female", "male"), "have the same class"),
        (
            f"<e:a> {TYPE} <e:c> .\n<e:b> {TYPE} <e:d> .\n<e:a> <e:p> <e:o> .\n",
            "only one typed subject occurs in triples",
        ),
        (
            "".join(f"<e:s{n}> {TYPE} <e:c{n % 2}> .\n" for n in range(10))
            + "<e:a> <e:p> <e:o> .\n",
            "only in triples that state their types",
        ),
    ],
    ids=["untyped", "one class", "one subject", "only types"],
)
def test_a_graph_without_usable_types_is_refused(
    pyke: Command, tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "graph.nt").write_text(text)
    package.embed(tmp_path / "graph.nt", dimensions=3).save(tmp_path / "out")
    run = pyke("types", tmp_path / "out", "--mu", "1")
    assert run.returncode == 65
    assert told in run.stderr


@pytest.mark.parametrize("name", ["types.nt", "types.ttl", "types.csv", "types.parquet", None])
def test_a_graph_in_which_every_entity_has_a_type_needs_no_prediction(
    pyke: Command, tmp_path: Path, name: str | None
) -> None:
    (tmp_path / "graph.nt").write_text(FAMILY)
    package.embed(tmp_path / "graph.nt", dimensions=3).save(tmp_path / "out")
    output = ["-o", str(tmp_path / name)] if name else []
    run = pyke("types", tmp_path / "out", *output, "--report", tmp_path / "report.html")
    assert run.returncode == 0, run.stderr
    shown = " ".join(run.stdout.split())
    assert "Nothing to predict: all 5 entities have a type. Use --also-typed" in shown
    assert "embed" not in run.stderr  # nothing was computed
    assert (tmp_path / "report.html").exists()
    if name:
        assert f"Wrote {tmp_path / name} without predictions." in shown
        assert (tmp_path / name).exists()
    told = json.loads(pyke("types", tmp_path / "out", "--json").stdout)
    assert (told["predictions"], told["asked"], told["not_measured"]) == (0, 0, [])


def test_it_shows_no_precision_if_none_was_measured(pyke: Command, tmp_path: Path) -> None:
    types = f"<e:a> {TYPE} <e:A> .\n<e:b> {TYPE} <e:B> .\n"
    (tmp_path / "graph.nt").write_text(types + "<e:a> <e:p> <e:o> .\n<e:b> <e:p> <e:o> .\n")
    package.embed(tmp_path / "graph.nt", dimensions=3).save(tmp_path / "out")
    run = pyke("types", tmp_path / "out", "--mu", "1")
    assert run.returncode == 0, run.stderr
    assert "How often predictions are correct" not in run.stdout
    assert "fewer than 5 typed subjects alike: … → p" in run.stdout
    run = pyke("types", tmp_path / "out", "--mu", "1", "--explain", "e:a")
    assert "not measured" in run.stdout


def test_the_running_example_works(pyke: Command, tmp_path: Path) -> None:
    package.embed(ROOT / "examples" / "father.ttl", dimensions=5).save(tmp_path / "out")
    run = pyke(
        "types",
        tmp_path / "out",
        "--mu",
        "3",
        "--also-typed",
        "--unmeasured",
        "--min-confidence",
        "0",
        "-o",
        tmp_path / "found.ttl",
    )
    assert run.returncode == 0, run.stderr
    assert list(ox.parse(path=str(tmp_path / "found.ttl")))


@pytest.mark.parametrize(
    "options",
    [
        ("--prefix", "ex=http://e/"),
        ("--explain", "x", "--precision", "0.9"),
        ("--explain", "x", "--min-confidence", "0"),
        ("--explain", "x", "--also-typed", "--unmeasured"),
    ],
)
def test_options_without_an_effect_are_refused(
    pyke: Command, out: Path, options: tuple[str, ...]
) -> None:
    run = pyke("types", out, *options)
    assert run.returncode == 2
    assert "no effect with --explain" in run.stderr or "--prefix is for names" in run.stderr


def test_the_expected_precision_is_that_of_the_file(pyke: Command, tmp_path: Path) -> None:
    """RDF files cannot contain blank nodes, whose types may be easier to predict."""
    lines = [
        line
        for line in noisy_crafts(40).splitlines(keepends=True)
        if not (RDF_TYPE in line and re.search(r"/3[6-9]>", line))
    ]
    text = re.sub(r"<http://e/baker/(\d+)>", r"_:b\1", "".join(lines))
    (tmp_path / "graph.nt").write_text(text)
    out = tmp_path / "out"
    package.embed(tmp_path / "graph.nt", dimensions=5).save(out)
    every = package.load(out).predict_types(min_confidence=0)
    assert 0 < every.nameable.sum() < len(every)
    options = ("--precision", "0.7", "-o", tmp_path / "types.nt")
    found = every.select(precision=0.7, for_rdf=True)
    expected = found.confidences[found.nameable & found.measured].mean()
    assert expected >= 0.7
    assert found.expected_right != expected, "that of all predictions"
    assert f"Expected precision: {expected:.1%}." in pyke("types", out, *options).stdout


def test_unmeasured_predictions_are_counted_apart(pyke: Command, out: Path) -> None:
    options = ("types", out, "--mu", MU, "--min-confidence", "0", *UNMEASURED)
    found = package.load(out).predict_types(mu=MU, min_confidence=0, unmeasured=True)
    for one in found.by_class():
        own = found.classes == package.load(out).terms.find(one.type)
        assert (one.predictions, one.measured) == (own.sum(), (own & found.measured).sum())
    assert "their expected precision" in " ".join(pyke(*options).stdout.split())
