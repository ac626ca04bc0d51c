"""A child process that turns RDF/XML or JSON-LD into N-Quads, so that a hostile file takes down the child and not the run.

Run as `python -m pyke.read.sandbox FORMAT BASE LENIENT MEMORY`: the document on standard input, N-Quads on standard output, one
JSON object per problem on standard error.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any
from xml.parsers import expat

GREATEST_XML_DEPTH = 1000
GREATEST_JSON_DEPTH = 200
GREATEST_ENTITY = 4096
GREATEST_TOKEN = 1 << 20
GREATEST_ATTRIBUTES = 1000
GREATEST_JSON = 1 << 30
QUADS_AT_ONCE = 4096
RELATIVE = "pyke-relative://no.base/"  # the base of documents that were given none


class Refused(Exception):
    """The document would take more than its share of memory or time."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class GuardedXml:
    """Passes RDF/XML on while expat, which is hardened, looks at the same bytes for bombs."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._lines: Iterator[bytes] = iter(())
        self._depth = 0
        self._line = 1
        self._waiting = 0
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._open
        self._parser.EndElementHandler = self._close
        self._parser.EntityDeclHandler = self._entity
        self._parser.buffer_text = True

    def _open(self, _: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if len(attributes) > GREATEST_ATTRIBUTES:
            raise Refused(
                f"an element with more than {GREATEST_ATTRIBUTES} attributes",
                self._parser.CurrentLineNumber,
            )
        if self._depth > GREATEST_XML_DEPTH:
            raise Refused(
                f"elements nested deeper than {GREATEST_XML_DEPTH}", self._parser.CurrentLineNumber
            )

    def _close(self, *_: Any) -> None:
        self._depth -= 1

    def _entity(self, name: str, _parameter: int, value: str | None, *_: Any) -> None:
        # Editors abbreviate namespaces with entities, which is fine; entities made of entities are how bombs are built.
        if value is not None and ("&" in value or "%" in value or len(value) > GREATEST_ENTITY):
            raise Refused(
                f"the entity {name!r} is long or made of other entities",
                self._parser.CurrentLineNumber,
            )

    @property
    def line(self) -> int:
        """The line read last."""
        return self._line

    def read(self, size: int = -1) -> bytes:
        """The next bytes, looked at: at most a line, so that an error can be told where it is."""
        data = next(self._lines, b"")
        if not data:
            self._lines = iter(self._source.read(size).splitlines(keepends=True))
            data = next(self._lines, b"")
        self._line, at = self._parser.CurrentLineNumber, self._parser.CurrentByteIndex
        try:
            self._parser.Parse(data, not data)
        except expat.ExpatError as error:
            raise Refused(
                f"not well-formed XML: {expat.ErrorString(error.code)}", error.lineno
            ) from None
        # Up to expat 2.5 the time for one token is quadratic in its length.
        self._waiting = self._waiting + len(data) if self._parser.CurrentByteIndex == at else 0
        if self._waiting > GREATEST_TOKEN:
            raise Refused(f"a tag or comment longer than {GREATEST_TOKEN >> 20} MiB", self._line)
        return data


def check_json(document: bytes) -> None:
    """Refuses JSON nested so deep that the parser's memory, quadratic in it, would run out."""
    if len(document) > GREATEST_JSON:
        raise Refused(
            f"JSON-LD of more than {GREATEST_JSON >> 20} MiB; convert it to N-Quads first"
        )
    depth = 0
    for bracket in re.sub(rb'"(?:[^"\\]++|\\.)*+"|[^][{}"]++', b"", document):
        if bracket in b"[{":
            depth += 1
            if depth > GREATEST_JSON_DEPTH:
                raise Refused(f"objects nested deeper than {GREATEST_JSON_DEPTH}")
        else:
            depth -= 1


def surviving(parser: Any, report: Callable[[SyntaxError], None]) -> Iterator[Any]:
    """What a pyoxigraph parser yields; it goes on behind an error, which is reported."""
    while True:
        try:
            yield from parser
            return
        except SyntaxError as error:
            report(error)


def odd_iri(quad: Any) -> str | None:
    """An IRI of a quad, read leniently, that cannot be told from something else once it is written as N-Quads."""
    literal_type = getattr(quad.object, "datatype", None)
    for node in (
        quad.subject,
        quad.predicate,
        quad.object,
        getattr(quad, "graph_name", None),
        literal_type,
    ):
        text = str(node) if node is not None else ""
        if (
            text.startswith("<")
            and not text.startswith("<<")
            and (text == "<>" or text.startswith("<_:") or set(text[1:-1]) & set("<>\n\r"))
        ):
            return text
    return None


def _writable(quads: Iterator[Any], report: Callable[[SyntaxError], None]) -> Iterator[Any]:
    for quad in quads:
        odd = odd_iri(quad)
        if odd is None:
            yield quad
        else:
            report(SyntaxError(f"{odd} is too odd an IRI even for lenient reading"))


def quads_as_text(
    parser: Any, report: Callable[[SyntaxError], None], lenient: bool
) -> Iterator[bytes]:
    """N-Quads, in pieces of whole lines."""
    import pyoxigraph

    quads = surviving(parser, report)
    if lenient:
        quads = _writable(quads, report)
    failure: Exception | None = None
    while failure is None:
        piece: list[Any] = []
        try:
            piece.extend(islice(quads, QUADS_AT_ONCE))
        except Exception as error:
            failure = error  # told behind what stands in front of it
        if text := pyoxigraph.serialize(piece, format=pyoxigraph.RdfFormat.N_QUADS):
            yield text
        elif failure is None:
            return
    raise failure


def without_relative(text: bytes) -> tuple[bytes, int]:
    """N-Quads without the lines whose IRIs were relative; their number. Without a base JSON-LD would drop them in silence."""
    if RELATIVE.encode() not in text:
        return text, 0
    lines = text.splitlines(keepends=True)
    kept = [line for line in lines if b"<" + RELATIVE.encode() not in line]
    return b"".join(kept), len(lines) - len(kept)


def main(form: str, base: str, lenient: str, memory: str) -> int:
    """Converts standard input; the exit code is 0 unless the document was refused."""
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import pyoxigraph

    source: Any = None

    def report(message: str, line: int, count: int = 1) -> int:
        sys.stdout.buffer.flush()
        sys.stderr.write(json.dumps({"line": line, "message": message, "count": count}) + "\n")
        return 3

    def give_up(error: SyntaxError) -> None:
        # Behind an error these parsers do not find their way back.
        line = error.lineno or (source.line if isinstance(source, GuardedXml) else 0)
        raise Refused(f"{error.msg}; the rest of this document is left out", line)

    try:
        if form == "RDF_XML":
            source = GuardedXml(sys.stdin.buffer)
        else:
            source = sys.stdin.buffer.read()
            check_json(source)
            base = base or RELATIVE
        parser = pyoxigraph.parse(
            source,
            format=getattr(pyoxigraph.RdfFormat, form),
            base_iri=base or None,
            lenient=lenient == "1",
        )
        left_out = 0
        for text in quads_as_text(parser, give_up, lenient == "1"):
            resolved, relative = without_relative(text) if base == RELATIVE else (text, 0)
            left_out += relative
            sys.stdout.buffer.write(resolved)
        sys.stdout.buffer.flush()
        if left_out:
            return report(
                f"{left_out} statements with relative IRIs (no scheme) are left out", 0, left_out
            )
    except Refused as refused:
        return report(str(refused), refused.line)
    except MemoryError:
        return report("refused: it needs more memory than a parser may use", 0)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
