"""`pyke complete`: what it prints and writes, and what it refuses before the work."""

from __future__ import annotations

import json
from pathlib import Path

import pyoxigraph as ox
import pytest

import pyke as package
from conftest import Command
from graphs import TYPE


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty people vote where they live; the last three lack a home, and one is a blank node."""
    folder = tmp_path_factory.mktemp("complete")
    lines = []
    for n in range(40):
        who = "_:last" if n == 39 else f"<http://e/p{n}>"
        lines.append(f"{who} {TYPE} <http://e/Person> .\n")
        lines.append(f"{who} <http://e/votes> <http://e/town{n % 2}> .\n")
        lines.append(f"{who} <http://e/shops> <http://e/shop{n % 4}> .\n")
        if n < 37:
            lines.append(f"{who} <http://e/lives> <http://e/town{n % 2}> .\n")
    lines.append("<http://e/town0> <http://e/twin> <http://e/town1> .\n")
    (folder / "towns.nt").write_text("".join(lines))
    package.embed(folder / "towns.nt", dimensions=5).save(folder / "out")
    return folder / "out"


def test_it_shows_what_was_measured_what_is_offered_and_why_not(pyke: Command, out: Path) -> None:
    run = pyke("complete", out, "--min-confidence", "0.5")
    assert run.returncode == 0, run.stderr
    for words in (
        "Facts with a confidence of 0.50 and more",
        "lives",
        "Predicates without facts",
        "fewer than 10 subjects",
        "no similar entity lacks it",
        "measured on withheld facts",
        "Predicted 3 facts.",
    ):
        assert words in run.stdout, run.stdout


def test_it_writes_the_facts_of_python_and_counts_skipped_ones(
    pyke: Command, out: Path, tmp_path: Path
) -> None:
    target = tmp_path / "facts.nt"
    run = pyke("complete", out, "--predicates", "lives", "--min-confidence", "0.5", "-o", target)
    found = package.load(out).complete(["lives"], min_confidence=0.5)
    quads = ox.parse(target.read_bytes(), ox.RdfFormat.N_TRIPLES)
    assert {(q.subject.value, q.predicate.value, q.object.value) for q in quads} == {
        (f.term, f.predicate, f.object) for f in found if not f.term.startswith("_:")
    }
    assert found.not_in_rdf == 1
    assert "1 fact was skipped: RDF files cannot name" in run.stdout
    again = pyke("complete", out, "-o", target)
    assert again.returncode == 73, "it does not replace a file, and says so before the work"


def test_it_prints_json_and_tables(pyke: Command, out: Path) -> None:
    run = pyke("complete", out, "--precision", "0.7", "--json")
    found = package.load(out).complete(precision=0.7)
    assert json.loads(run.stdout) == {"output": None, **found.as_dict()}
    run = pyke("complete", out, "--min-confidence", "0", "-o", "-")
    assert run.stdout.splitlines()[0].split("\t")[:3] == ["term", "label", "predicate"]
    assert len(run.stdout.splitlines()) > 3


def test_it_explains_and_suggests(pyke: Command, out: Path) -> None:
    run = pyke("complete", out, "--explain", "p38", "--prefix", "ex=http://e/")
    assert run.returncode == 0, run.stderr
    for words in ("<http://e/p38> lives", "town0", "votes → it", "same object", "neighbour"):
        assert words in run.stdout, run.stdout
    (why,) = json.loads(pyke("complete", out, "--explain", "ex:p38", "--prefix", "ex=http://e/",
                             "--json").stdout)  # fmt: skip
    assert why["candidates"][0]["object"] == "http://e/town0"
    run = pyke("complete", out, "--suggest", "p38")
    assert "lives" in run.stdout
    assert "likelihood" in run.stdout
    found = json.loads(pyke("complete", out, "--suggest", "p38", "--json").stdout)
    assert found["predicates"][0]["predicate"] == "http://e/lives"
    assert "No prediction" in pyke("complete", out, "--explain", "p1").stdout


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--predicates", "livez"), 66, "no triple has the predicate 'livez'"),
        (("--predicates", "rdf:type"), 2, "states types"),
        (("--predicates", "twin"), 65, "completed: fewer than 10 subjects (twin)"),
        (("--min-confidence", "2"), 2, "--min-confidence is 2"),
        (("--min-confidence", "0.5", "--precision", "0.5"), 2, "either"),
        (("--explain", "p1", "--suggest", "p1"), 2, "--suggest has no effect with --explain"),
        (("--explain", "p1", "-o", "x.nt"), 2, "--output has no effect with --explain"),
        (("--explain", "nobody"), 66, "no term"),
        (("-o", "facts.xyz"), 2, "Extensions of RDF are .nt, .ttl, .trig."),
        (("--mu", "0"), 2, "--mu is 0"),
        (("--suggest", "p1", "--predicates", "lives"), 2, "--predicates has no effect with"),
        (("--explain", "p1", "--unmeasured", "--exact"), 2, "have no effect with --explain"),
        (("--explain", ""), 2, "an empty word after --explain"),
    ],
)
def test_it_refuses_bad_input(
    pyke: Command, out: Path, options: tuple[str, ...], code: int, words: str
) -> None:
    run = pyke("complete", out, *options)
    assert run.returncode == code, run.stderr
    assert words in run.stderr
