"""The W3C test suites of RDF 1.1, through our reader."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, NamedTuple

import pyoxigraph
import pytest
from pyoxigraph import Literal, NamedNode, RdfFormat

from documents import Statement, as_text, canonical, read
from pyke.config import Config
from pyke.errors import DataError
from pyke.read import tokenize
from pyke.read.child import ParserProcess

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

# pyoxigraph does not canonicalise XML literals. All other tests pass.
KNOWN_MISSES = {"xml-canon-test001", "xml-canon-test002"}


class Case(NamedTuple):
    """One entry of a manifest."""

    name: str
    kind: str
    action: Path
    result: Path | None
    base: str


def cases(manifest: Path) -> list[Case]:
    """Entries of a manifest, in order."""
    here = "http://here/"
    dataset = pyoxigraph.Dataset(
        pyoxigraph.parse(manifest.read_bytes(), format=RdfFormat.TURTLE, base_iri=here)
    )

    def value(subject: str, predicate: str) -> str | None:
        node = NamedNode(subject) if ":" in subject else pyoxigraph.BlankNode(subject)
        return next(
            (
                as_text(quad.object).removeprefix("_:")
                for quad in dataset.quads_for_subject(node)
                if quad.predicate.value == predicate
            ),
            None,
        )

    base = value(here, MF + "assumedTestBase") or "https://w3c.github.io/rdf-tests/"
    found, rest = [], value(here, MF + "entries") or ""
    while rest != RDF + "nil":
        entry = value(rest, RDF + "first") or ""
        action, result = (
            (value(entry, MF + "action") or "").removeprefix(here),
            value(entry, MF + "result"),
        )
        kind = (value(entry, RDF + "type") or "").partition("#")[2]
        expected = manifest.parent / result.removeprefix(here) if result else None
        found.append(
            Case(entry.partition("#")[2], kind, manifest.parent / action, expected, base + action)
        )
        rest = value(rest, RDF + "rest") or ""
    return found


def expected_of(path: Path, base: str) -> list[Statement]:
    """Statements by pyoxigraph, with one placeholder for all literals and without graph names."""
    return [
        (
            as_text(quad.subject),
            as_text(quad.predicate),
            '"' if isinstance(quad.object, Literal) else as_text(quad.object),
        )
        for quad in pyoxigraph.parse(path=path, base_iri=base)
    ]


def problem_of(case: Case, form: str) -> str:
    """Run one test; return the problem, or an empty string."""
    try:
        statements = read(case.action, format=form, base=case.base).statements
    except DataError as error:
        return "" if "Negative" in case.kind else f"refused: {error}"
    if "Negative" in case.kind:
        return "accepted"
    if case.result is None:
        return (
            ""
            if canonical(_unmarked(statements)) == canonical(expected_of(case.action, case.base))
            else "not what pyoxigraph reads"
        )
    if canonical(_unmarked(statements)) != canonical(expected_of(case.result, case.base)):
        return "other triples"
    if canonical(statements) != canonical(read(case.result, base=case.base).statements):
        return "other literals"  # by their keys, which other tests check
    return ""


def _unmarked(statements: list[Statement]) -> list[Statement]:
    return [(s, p, '"' if o.startswith('"') else o) for s, p, o in statements]


class KeptProcess(ParserProcess):
    """Parses the documents of several runs in one child process, which is faster."""

    kept: ClassVar[subprocess.Popen[bytes] | None] = None

    def __enter__(self) -> ParserProcess:
        self._child = KeptProcess.kept
        return self

    def __exit__(self, *_: object) -> None:
        KeptProcess.kept = self._child


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tokenize, "ParserProcess", KeptProcess)
    yield
    with ParserProcess(Config()) as parser:
        parser._child, KeptProcess.kept = KeptProcess.kept, None


@pytest.mark.usefixtures("one_process")
@pytest.mark.parametrize(
    ("suite", "form", "count", "misses"),
    [
        ("rdf-n-triples", "ntriples", 70, set()),
        ("rdf-n-quads", "nquads", 87, set()),
        ("rdf-turtle", "turtle", 313, set()),
        ("rdf-trig", "trig", 356, set()),
        ("rdf-xml", "rdfxml", 164 + len(KNOWN_MISSES), KNOWN_MISSES),
    ],
)
def test_a_w3c_suite_passes(
    suite: str, form: str, count: int, misses: set[str], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The same seed makes the keys of literals comparable.
    monkeypatch.setattr("secrets.randbits", lambda bits: 12345)
    tests = cases(data / "w3c-rdf11" / suite / "manifest.ttl")
    assert len(tests) == count
    problems = {case.name: problem for case in tests if (problem := problem_of(case, form))}
    assert problems.keys() == misses, "\n".join(
        f"{name}: {problem}" for name, problem in problems.items() if name not in misses
    )
