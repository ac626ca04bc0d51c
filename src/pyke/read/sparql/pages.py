"""Parse the answer to a query as one page of N-Triples.

The child process that parses files also parses answers, with the same limits.
"""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass

from pyke.errors import DataError
from pyke.read.child import ParserProcess
from pyke.read.sparql.endpoint import MAX_ANSWER, Answer, TemporaryError
from pyke.read.sparql.kept_pages import Tally
from pyke.read.sparql.options import FetchOptions
from pyke.read.sparql.queries import MARK

# Media types, with the names of pyoxigraph's formats
_FORMATS = {
    "application/n-triples": "N_TRIPLES",
    "text/plain": "N_TRIPLES",  # the former media type of N-Triples
    "text/turtle": "TURTLE",
    "application/x-turtle": "TURTLE",
    "application/rdf+xml": "RDF_XML",
}
MAX_COUNT_ANSWER = 1 << 16  # bytes of the answer to a counting query

# A literal, an IRI, or the label of a blank node, also within triple terms
_TERM = re.compile(rb'"(?:[^"\\]++|\\.)*+"|<[^<>\s]*+>|_:(\S++)')
_MARKED = re.compile(rb"^\S+ <%s> " % MARK.encode())


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


def read_page(
    answer: Answer,
    parser: ParserProcess,
    place: str,
    number: int,
    options: FetchOptions,
    marked: bool,
) -> Page:
    """Parse one page.

    A blank node label is valid within one answer only. The labels of each page get a prefix,
    unless the options say that labels are stable.
    """
    lines, problems = _parse(answer, parser, place, options.on_error == "skip")
    marks = sum(map(bool, map(_MARKED.match, lines))) if marked else 0
    if marks:
        lines = [line for line in lines if not _MARKED.match(line)]
    triples = dict.fromkeys(lines)
    rows = marks if marked else len(triples)
    text = b"".join(triples)
    prefix = b"" if options.keep_blank_labels else b"page%d_" % number
    text, blank_nodes = _relabel(text, prefix)
    counts = Tally(
        1, rows + len(problems), len(triples), blank_nodes, len(problems), answer.received
    )
    return Page(text, counts, tuple(problems))


def _parse(
    answer: Answer, parser: ParserProcess, place: str, skip: bool
) -> tuple[list[bytes], list[str]]:
    """Statements of an answer as lines of N-Triples, and the problems of skipped lines."""
    form = _format_of(answer, place)
    problems: list[str] = []

    def report(line: int, message: str, _count: int = 1) -> None:
        problem = f"{place}, line {line}: {message}" if line else f"{place}: {message}"
        # The last line, without a line break, is cut off.
        is_line = form == "N_TRIPLES" and 0 < line <= answer.body.count(b"\n")
        if skip and is_line:
            problems.append(problem)
            return
        if is_line:
            problem += '. Use `on_error="skip"` to skip such lines and count them'
        raise TemporaryError(DataError(problem))

    lines: list[bytes] = []
    size = 0
    for block in parser.parse(io.BytesIO(answer.body), place, form, report):
        size += len(block)
        if size > MAX_ANSWER:  # the parser allows more, as the reader of files keeps no text
            raise DataError(
                f"{place}: the answer is larger than {MAX_ANSWER >> 20} MiB as N-Triples. "
                "Try a smaller `page_size`."
            )
        lines += block.splitlines(keepends=True)
    if problems and not lines:
        raise TemporaryError(
            DataError(f"{problems[0]}. All lines of this page are invalid: {answer.excerpt}")
        )
    return lines, problems


def _relabel(text: bytes, prefix: bytes) -> tuple[bytes, int]:
    """N-Triples with prefixed blank node labels, and the number of these blank nodes."""
    if b"_:" not in text:
        return text, 0
    labels: set[bytes] = set()

    def relabelled(term: re.Match[bytes]) -> bytes:
        if term[1] is None:
            return term[0]
        labels.add(term[1])
        return b"_:" + prefix + term[1]

    return _TERM.sub(relabelled, text), len(labels)


def _format_of(answer: Answer, place: str) -> str:
    """The syntax of an answer, by its media type."""
    form = _FORMATS.get(answer.media_type)
    start = answer.body.lstrip()[:5].lower()
    is_web_page = form == "N_TRIPLES" and start in (b"<!doc", b"<html", b"<?xml")
    if form is None or is_web_page:
        kind = answer.media_type or "an answer without a media type"
        raise DataError(
            f"{place}: received {kind} instead of RDF: {answer.excerpt}. "
            "Is this the address of the endpoint?"
        )
    return form


def read_count(answer: Answer) -> int:
    """The number in the answer to a counting query."""
    if answer.media_type not in ("application/sparql-results+json", "application/json"):
        kind = answer.media_type or "an answer without a media type"
        raise DataError(f"received {kind} instead of a count: {answer.excerpt}")
    try:
        if len(answer.body) > MAX_COUNT_ANSWER:
            raise ValueError
        (solution,) = json.loads(answer.body)["results"]["bindings"]
        (number,) = solution.values()
        count = int(number["value"])
        if not 0 <= count < 1 << 63:
            raise ValueError
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise DataError(f"cannot read a count from {answer.excerpt}") from None
    return count
