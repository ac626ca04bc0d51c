"""Parse the answer to a query as one page of N-Triples."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

from pyke.errors import DataError
from pyke.read.oxigraph import TOKEN_TOO_LONG, clean_message, continue_after_errors
from pyke.read.sandbox import GuardedXml, Refused
from pyke.read.sparql.endpoint import Answer, TemporaryError
from pyke.read.sparql.kept_pages import Tally
from pyke.read.sparql.options import FetchOptions
from pyke.read.sparql.queries import MARK

_FORMATS = {
    "application/n-triples": ox.RdfFormat.N_TRIPLES,
    "text/plain": ox.RdfFormat.N_TRIPLES,  # the former media type of N-Triples
    "text/turtle": ox.RdfFormat.TURTLE,
    "application/x-turtle": ox.RdfFormat.TURTLE,
    "application/rdf+xml": ox.RdfFormat.RDF_XML,
}


@dataclass(frozen=True)
class Page:
    """One page: its distinct triples as N-Triples, and what it adds to the tally."""

    text: bytes
    counts: Tally
    problems: tuple[str, ...]  # one per skipped line

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.counts.rows


def read_page(answer: Answer, place: str, number: int, options: FetchOptions, marked: bool) -> Page:
    """Parse one page.

    A blank node label is valid within one answer only. The labels of each page get a prefix,
    unless the options say that labels are stable.
    """
    quads, problems = _parse(answer, place, options.on_error == "skip")
    triples = dict.fromkeys(quad.triple for quad in quads if quad.predicate.value != MARK)
    rows = sum(quad.predicate.value == MARK for quad in quads) if marked else len(triples)
    labels: set[str] = set()
    text = _as_text(triples)
    if b"_:" in text:
        prefix = "" if options.keep_blank_labels else f"page{number}_"
        text = _as_text([_relabel(triple, prefix, labels) for triple in triples])
    counts = Tally(
        1, rows + len(problems), len(triples), len(labels), len(problems), answer.received
    )
    return Page(text, counts, tuple(problems))


def _parse(answer: Answer, place: str, skip: bool) -> tuple[list[Any], list[str]]:
    """Statements of an answer, and the problems of skipped lines."""
    form = _format_of(answer, place)
    is_lines = form == ox.RdfFormat.N_TRIPLES
    problems: list[str] = []

    def report(error: SyntaxError) -> None:
        line = error.lineno or 0
        problem = f"{place}, line {line}: {clean_message(str(error))}"
        cut_off = line > answer.body.count(b"\n")  # the last line, without a line break
        if skip and is_lines and not cut_off:
            problems.append(problem)
            return
        if is_lines and not cut_off:
            problem += '. Use `on_error="skip"` to skip such lines and count them'
        raise TemporaryError(DataError(problem))

    source: Any = answer.body
    if form == ox.RdfFormat.RDF_XML:
        source = GuardedXml(io.BytesIO(answer.body))
    try:
        quads = list(continue_after_errors(ox.parse(source, format=form), report))
    except Refused as refused:
        raise TemporaryError(DataError(f"{place}, line {refused.line}: {refused}")) from None
    except MemoryError:
        raise DataError(f"{place}: {TOKEN_TOO_LONG}") from None
    if problems and not quads:
        raise TemporaryError(
            DataError(f"{problems[0]}. All lines of this page are invalid: {answer.excerpt}")
        )
    return quads, problems


def _format_of(answer: Answer, place: str) -> Any:
    """The syntax of an answer, by its media type."""
    form = _FORMATS.get(answer.media_type)
    start = answer.body.lstrip()[:5].lower()
    is_web_page = form == ox.RdfFormat.N_TRIPLES and start in (b"<!doc", b"<html", b"<?xml")
    if form is None or is_web_page:
        kind = answer.media_type or "an answer without a media type"
        raise DataError(
            f"{place}: received {kind} instead of RDF: {answer.excerpt}. "
            "Is this the address of the endpoint?"
        )
    return form


def _as_text(triples: Any) -> bytes:
    return ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b""


def _relabel(node: Any, prefix: str, labels: set[str]) -> Any:
    """A triple or node with prefixed blank node labels; collects the old labels."""
    if isinstance(node, ox.Triple):
        if not any(isinstance(part, ox.BlankNode | ox.Triple) for part in node):
            return node
        return ox.Triple(*(_relabel(part, prefix, labels) for part in node))
    if isinstance(node, ox.BlankNode):
        labels.add(node.value)
        return ox.BlankNode(prefix + node.value)
    return node


def read_count(answer: Answer) -> int:
    """The number in the answer to a counting query."""
    if answer.media_type not in ("application/sparql-results+json", "application/json"):
        kind = answer.media_type or "an answer without a media type"
        raise DataError(f"received {kind} instead of a count: {answer.excerpt}")
    try:
        (solution,) = ox.parse_query_results(answer.body, format=ox.QueryResultsFormat.JSON)  # type: ignore[misc]
        return int(solution[0].value)
    except (SyntaxError, ValueError, TypeError, AttributeError, IndexError, KeyError):
        raise DataError(f"cannot read a count from {answer.excerpt}") from None
