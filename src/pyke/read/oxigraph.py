"""Parse RDF with pyoxigraph: continue after errors, and write the statements as N-Quads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pyoxigraph

QUADS_AT_ONCE = 16  # few: abbreviated IRIs may be very long, and more are not faster
MAX_DEPTH = 100  # of triple terms; pyoxigraph crashes at some 20,000
TOKEN_TOO_LONG = "a token is longer than 16 MiB, the maximum of the parser"  # noqa: S105

ReportError = Callable[[SyntaxError], None]


def clean_message(error: str) -> str:
    """pyoxigraph's message without the place of the error, which we report ourselves.

    In our messages, backticks enclose parameters only.
    """
    message = re.sub(r" \((?:[^()]*, )?line \d+\)$", "", error)
    place = r"^Parser error at line \d+ (between columns? .*?|between line .*?|columns? \d+): "
    return re.sub(r"`([^`]*)`", r"'\1'", re.sub(place, "", message))


def out_of_memory(error: MemoryError) -> str:
    """Error message for a MemoryError of pyoxigraph."""
    if "buffer" in str(error):
        return TOKEN_TOO_LONG
    return "the document needs more memory than the parser may use"


# A token of N-Triples that may contain <<, or << itself
_TOKEN = re.compile(rb'"(?:[^"\\\r\n]|\\[^\r\n])*+"|<(?!<)[^>\r\n]*+>|#[^\r\n]*+|<<')


def nested_too_deeply(line: bytes) -> bool:
    """Whether a line of N-Triples or N-Quads nests triple terms deeper than MAX_DEPTH."""
    if line.count(b"<<") <= MAX_DEPTH:
        return False
    return any(_TOKEN.findall(part).count(b"<<") > MAX_DEPTH for part in line.split(b"\r"))


def continue_after_errors(parser: Any, report: ReportError) -> Iterator[Any]:
    """Items of a pyoxigraph parser. Reports errors and continues after them."""
    while True:
        try:
            yield from parser
            return
        except SyntaxError as error:
            report(error)


def unwritable_iri(quad: Any) -> str | None:
    """An IRI that N-Quads cannot represent; only lenient parsing accepts such IRIs."""
    datatype = getattr(quad.object, "datatype", None)
    graph = getattr(quad, "graph_name", None)
    for node in (quad.subject, quad.predicate, quad.object, graph, datatype):
        text = str(node) if node is not None else ""
        if not text.startswith("<") or text.startswith("<<"):
            continue
        if text == "<>" or text.startswith("<_:") or set(text[1:-1]) & set("<>\n\r"):
            return text
    return None


def unwritable_message(iri: str) -> str:
    """Error message for an IRI that N-Quads cannot represent."""
    return f"invalid IRI {iri}, also for lenient parsing"


def _writable(quads: Iterator[Any], report: ReportError) -> Iterator[Any]:
    """Quads that N-Quads can represent. Reports the others."""
    for quad in quads:
        iri = unwritable_iri(quad)
        if iri is None:
            yield quad
        else:
            report(SyntaxError(unwritable_message(iri)))


def quads_as_text(parser: Any, report: ReportError, lenient: bool) -> Iterator[bytes]:
    """N-Quads of all statements, in blocks of complete lines."""
    quads = continue_after_errors(parser, report)
    if lenient:
        quads = _writable(quads, report)
    failure: Exception | None = None
    while failure is None:
        block: list[Any] = []
        try:
            block.extend(islice(quads, QUADS_AT_ONCE))
        except Exception as error:
            failure = error  # raised after the statements before it
        if text := pyoxigraph.serialize(block, format=pyoxigraph.RdfFormat.N_QUADS):
            yield text
        elif failure is None:
            return
    raise failure
