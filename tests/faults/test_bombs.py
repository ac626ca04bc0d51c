"""Small documents that would need gigabytes or hours are refused soon and in little memory."""

from __future__ import annotations

import csv
import json
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from documents import PACK
from faults.conftest import Figure, times
from faults.runs import call
from pyke.config import Config
from pyke.errors import PykeError
from pyke.pipeline import Run

RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"'
LAUGHS = '<!ENTITY l0 "haha">' + "".join(
    f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)
)
LONG = f"http://e/{'x' * (1 << 17)}"
REFUSED = 65
MAX_SECONDS = 10.0  # of CPU time
MAX_MEGABYTES = 300


def xml(content: str, kind: str = "", root: str = RDF) -> str:
    return f"<?xml version='1.0'?><!DOCTYPE x {kind}><rdf:RDF {root}>{content}</rdf:RDF>"


def about(text: str) -> str:
    return f'<e:C rdf:about="http://e/a"><e:p>{text}</e:p></e:C>'


def nested() -> str:
    return "<a:a> <a:p> " + "<<( <a:a> <a:p> " * 30_000 + "<a:b>" + " )>>" * 30_000 + " ."


NESTED: dict[str, Callable[[], str]] = {
    "entities.rdf": lambda: xml(about("&l9;"), f"[{LAUGHS}]"),
    "entities in a comment.rdf": lambda: xml(about("&l9;"), f"[<!-- {LAUGHS} -->]"),
    "entities in an instruction.rdf": lambda: xml(about("&l9;"), f"[<?x {LAUGHS} ?>]"),
    "one long entity.rdf": lambda: xml(about("&a;" * 50_000), f'[<!ENTITY a "{"x" * 50_000}">]'),
    "deep elements.rdf": lambda: xml("<e:C><e:p>" * 50_000),
    "deep arrays.jsonld": lambda: "[" * 100_000,
    "deep objects.jsonld": lambda: '{"http://e/p":' * 100_000 + "1" + "}" * 100_000,
    "deep contexts.jsonld": lambda: '{"@context":' * 3_500 + "{}" + "}" * 3_500,
    "triple terms.nt": nested,
    "triple terms.nq": nested,
    "triple terms.ttl": nested,
    "triple terms.trig": nested,
}
PREFIXES: dict[str, Callable[[], str]] = {
    "prefix.ttl": lambda: f"@prefix p: <{LONG}> .\n" + "p:a p:b p:c .\n" * 3_000,
    "prefix.trig": lambda: f"@prefix p: <{LONG}> .\n" + "p:g { p:a p:b p:c }\n" * 3_000,
    "namespace.rdf": lambda: xml(
        "<e:C><e:p>x</e:p></e:C>\n" * 3_000, "", RDF.replace("http://e/", LONG)
    ),
}
NAMESPACES = " ".join(f'xmlns:n{n}="http://e/{n}"' for n in range(900))
TOO_SLOW: dict[str, Callable[[], str]] = {
    "prefix.jsonld": lambda: json.dumps(
        {
            "@context": {"p": f"{LONG}/"},
            "@graph": [{"@id": f"p:{n}", f"p:p{n}": {"@id": "p:o"}} for n in range(6_000)],
        }
    ),
    "vocabulary.jsonld": lambda: json.dumps(
        {"@context": {"@vocab": LONG}, "@graph": [{f"p{n}": "o"} for n in range(20_000)]}
    ),
    "contexts.jsonld": lambda: json.dumps(
        {
            "@context": {f"t{n}": f"http://e/{n}" for n in range(9_000)},
            "@graph": [{"@context": {"z": "http://e/z"}, "z": n} for n in range(9_000)],
        }
    ),
    "bases.ttl": lambda: "@base <http://e/> .\n" + "@base <aaaa/> .\n" * 600_000,
    "bases.trig": lambda: "BASE <http://e/>\n" + "BASE <aaaa/>\n" * 600_000,
    "namespaces.rdf": lambda: xml(
        f'<e:C {NAMESPACES}><e:p rdf:parseType="Literal">{"<e:a/>" * 60_000}</e:p></e:C>'
    ),
}
TOO_LONG: dict[str, Callable[[], str]] = {
    "literal.nt": lambda: f'<a:a> <a:p> "{"x" * (32 << 20)}" .\n',
    "literal.ttl": lambda: f'<a:a> <a:p> "{"x" * (32 << 20)}" .\n',
    "IRI.nt": lambda: f"<a:a> <a:p> <http://e/{'x' * (32 << 20)}> .\n",
    "IRI.ttl": lambda: f"<a:a> <a:p> <http://e/{'x' * (32 << 20)}> .\n",
    "line.csv": lambda: "x" * (32 << 20),
    "comment.nq": lambda: "#" * (32 << 20),
}


def refuse(path: Path) -> None:
    """Read a document; write the exit code, the seconds and the memory beside it."""
    before = _used()
    code = 0
    try:
        Run(path, Config(threads=1)).read()
    except PykeError as error:
        code = error.exit_code
    seconds, own, child = (new - old for new, old in zip(_used(), before, strict=True))
    path.with_name("result").write_text(json.dumps([code, seconds, max(own, child) / 1000]))


def _used() -> tuple[float, int, int]:
    """CPU seconds, and the peak memory of this process and of its children in kB."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    child = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = own.ru_utime + own.ru_stime + child.ru_utime + child.ru_stime
    return seconds, own.ru_maxrss, child.ru_maxrss


def refused(path: Path) -> tuple[float, float]:
    """CPU seconds and megabytes until a document is refused."""
    process = call(refuse, path)
    process.join()
    assert process.exitcode == 0, path.name
    code, seconds, megabytes = json.loads(path.with_name("result").read_text())
    assert code == REFUSED, path.name
    assert seconds < MAX_SECONDS, path.name
    assert megabytes < MAX_MEGABYTES, path.name
    return seconds, megabytes


@pytest.mark.parametrize(
    ("row", "kind", "documents"),
    [
        ("T2", "documents with entities or deep nesting", NESTED),
        ("T2", "documents that abbreviate very long IRIs", PREFIXES),
        ("T2", "documents that need hours before their first statement", TOO_SLOW),
        ("T4", "documents with a term or line of 32 MiB", TOO_LONG),
    ],
    ids=["nested", "prefixes", "slow", "long"],
)
def test_a_document_that_would_need_too_much_is_refused(
    row: str, kind: str, documents: dict[str, Callable[[], str]], tmp_path: Path, figure: Figure
) -> None:
    results = []
    for name, text in documents.items():
        path = tmp_path / name
        path.write_text(text())
        results.append(refused(path))
        path.unlink()
    figure(row, f"{len(results)} {kind}: all refused, {_most(results)}")


def _most(results: list[tuple[float, float]]) -> str:
    seconds, megabytes = (max(column) for column in zip(*results, strict=True))
    return f"each in at most {seconds:.1f} s of CPU time and {megabytes:.0f} MB"


def test_ten_gigabytes_in_a_small_file_are_refused(tmp_path: Path, figure: Figure) -> None:
    """Concatenated streams are one compressed file."""
    streams = times(25, 500)
    results: list[tuple[float, float]] = []
    sizes: list[int] = []
    for suffix in filter(None, PACK):
        path = tmp_path / f"zeros.nt{suffix}"
        path.write_bytes(PACK[suffix](b"\n" * 20_000_000) * streams)
        sizes.append(path.stat().st_size)
        results.append(refused(path))
        path.unlink()
    figure(
        "T3",
        f"{streams / 50:.1f} GB in {min(sizes):,} to {max(sizes):,} bytes (gz, bz2, xz, zst): "
        f"all refused, {_most(results)}",
    )


def test_labels_that_a_spreadsheet_would_run_are_written_exactly(
    tmp_path: Path, pyke: Any, figure: Figure
) -> None:
    """A table contains the labels of the graph; docs/how-to/nearest.md says how to import them."""
    labels = ["=1+1", "+1", "-1", "@SUM(A1)", '=cmd|"/c calc"!A1', "\t=1", "\r=1", "\x1b[2J"]
    graph = tmp_path / "graph.nt"
    lines = [
        f"<http://e/{n}> <http://www.w3.org/2000/01/rdf-schema#label> {json.dumps(label)} .\n"
        f"<http://e/{n}> <http://e/p> <http://e/o> .\n"
        for n, label in enumerate(labels)
    ]
    graph.write_text("".join(lines))
    assert pyke("embed", graph, "-o", tmp_path / "out", "--dimensions", "2").returncode == 0
    found = pyke("nearest", tmp_path / "out", "http://e/o", "-k", "20", "-o", tmp_path / "x.csv")
    assert found.returncode == 0, found.stderr
    with (tmp_path / "x.csv").open(newline="") as file:
        cells = {cell for row in csv.reader(file) for cell in row}
    assert set(labels) <= cells
    shown = pyke("nearest", tmp_path / "out", "http://e/o", "-k", "20").stdout
    assert "\x1b" not in shown
    figure("T8", f"{len(labels)} labels with formulas and control codes: exact in tables")
