"""Convert a document in any syntax to blocks of N-Triples or N-Quads lines.

N-Triples and N-Quads stay as they are. pyoxigraph parses the other syntaxes in a child process, as
malicious documents crash it or exhaust memory. `columns` reads tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pyke.core.arrays import Bytes
from pyke.core.inputs import Input
from pyke.graph.terms import GENERATED_MARK, MIN_GENERATED_DIGITS
from pyke.read.child import ParserProcess
from pyke.read.columns import table_lines
from pyke.read.find import Document
from pyke.read.lines import WithoutByteOrderMark, complete_lines, to_array
from pyke.read.problems import Report


def blocks_of(
    document: Document, source: Input, parser: ParserProcess, report: Report
) -> Iterator[Bytes]:
    """Blocks of complete lines of N-Triples or N-Quads. Reports problems of the conversion."""
    return _CONVERTERS[document.syntax.kind](document, source, parser, report)


def _lines(
    document: Document, source: Input, _parser: ParserProcess, _report: Report
) -> Iterator[Bytes]:
    """N-Triples and N-Quads, unchanged."""
    return map(to_array, complete_lines(WithoutByteOrderMark(source), document.name))


def _parsed(
    document: Document, source: Input, parser: ParserProcess, report: Report
) -> Iterator[Bytes]:
    """Other syntaxes, parsed by pyoxigraph."""
    plain = WithoutByteOrderMark(source)
    for text in parser.parse(plain, document.name, document.syntax.oxigraph, report):
        yield to_array(_mark_generated(text))


_GENERATED_SUBJECT = re.compile(rb"^_:([0-9a-f]{%d,32}) " % MIN_GENERATED_DIGITS, re.MULTILINE)
_GENERATED_OTHER = re.compile(
    rb" _:([0-9a-f]{%d,32})(?=(?: <[^>]*>| _:[^ ]*)? \.$)" % MIN_GENERATED_DIGITS, re.MULTILINE
)


def _mark_generated(text: bytes) -> bytes:
    """Mark the blank node labels that pyoxigraph generated, in its N-Quads."""
    if b"_:" not in text:
        return text
    text = _GENERATED_SUBJECT.sub(rb"_:" + GENERATED_MARK + rb"\1 ", text)
    return _GENERATED_OTHER.sub(rb" _:" + GENERATED_MARK + rb"\1", text)


# By Syntax.kind
_CONVERTERS: dict[str, Callable[[Document, Input, ParserProcess, Report], Iterator[Bytes]]] = {
    "lines": _lines,
    "parsed": _parsed,
    "table": table_lines,
}
