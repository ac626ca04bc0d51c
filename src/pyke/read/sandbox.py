"""Parse RDF/XML or JSON-LD in a child process: a malicious file can stop only the child.

Run as `python -m pyke.read.sandbox FORMAT BASE LENIENT MEMORY`. It reads the document from
standard input, writes N-Quads to standard output and one JSON object per problem to standard error.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

from pyke.core.system import limit_memory

MAX_XML_DEPTH = 1000
MAX_JSON_DEPTH = 200
MAX_ENTITY = 4096  # characters
MAX_TOKEN = 1 << 20  # bytes
MAX_ATTRIBUTES = 1000
MAX_JSON = 1 << 30  # bytes
RELATIVE = "pyke-relative://no.base/"  # base of JSON-LD documents without one


class Refused(Exception):
    """The document would need too much memory or time."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class GuardedXml:
    """A source of RDF/XML that checks the same bytes with expat, to refuse XML bombs."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._lines: Iterator[bytes] = iter(())
        self._depth = 0
        self._line = 1
        self._pending = 0  # bytes of an unfinished token
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start_element
        self._parser.EndElementHandler = self._end_element
        self._parser.EntityDeclHandler = self._entity
        self._parser.buffer_text = True

    def _refuse(self, message: str) -> None:
        raise Refused(message, self._parser.CurrentLineNumber)

    def _start_element(self, _: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if len(attributes) > MAX_ATTRIBUTES:
            self._refuse(f"an element has more than {MAX_ATTRIBUTES} attributes")
        if self._depth > MAX_XML_DEPTH:
            self._refuse(f"elements are nested deeper than {MAX_XML_DEPTH}")

    def _end_element(self, *_: Any) -> None:
        self._depth -= 1

    def _entity(self, name: str, _parameter: int, value: str | None, *_: Any) -> None:
        # Editors abbreviate namespaces with entities. XML bombs nest entities.
        if value is not None and ("&" in value or "%" in value or len(value) > MAX_ENTITY):
            self._refuse(f"the entity {name!r} is too long or contains other entities")

    @property
    def line(self) -> int:
        """Number of the current line."""
        return self._line

    def read(self, size: int = -1) -> bytes:
        """The next checked bytes: at most one line, which gives errors a line number."""
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
        # expat up to 2.5 needs time quadratic in the length of a token.
        self._pending = self._pending + len(data) if self._parser.CurrentByteIndex == at else 0
        if self._pending > MAX_TOKEN:
            raise Refused(f"a tag or comment is longer than {MAX_TOKEN >> 20} MiB", self._line)
        return data


def check_json(document: bytes) -> None:
    """Refuse deeply nested JSON: the parser's memory is quadratic in the depth."""
    if len(document) > MAX_JSON:
        raise Refused(
            f"the JSON-LD is larger than {MAX_JSON >> 20} MiB; convert it to N-Quads first"
        )
    depth = 0
    for bracket in re.sub(rb'"(?:[^"\\]++|\\.)*+"|[^][{}"]++', b"", document):
        if bracket in b"[{":
            depth += 1
            if depth > MAX_JSON_DEPTH:
                raise Refused(f"objects are nested deeper than {MAX_JSON_DEPTH}")
        else:
            depth -= 1


def without_relative(text: bytes) -> tuple[bytes, int]:
    """N-Quads without the lines that have relative IRIs, and the number of these lines.

    Without a base the JSON-LD parser would drop such statements and not report them.
    """
    if RELATIVE.encode() not in text:
        return text, 0
    lines = text.splitlines(keepends=True)
    kept = [line for line in lines if b"<" + RELATIVE.encode() not in line]
    return b"".join(kept), len(lines) - len(kept)


def _report(message: str, line: int, count: int = 1) -> int:
    """Report a problem to the parent process; return the exit code."""
    sys.stdout.buffer.flush()
    sys.stderr.write(json.dumps({"line": line, "message": message, "count": count}) + "\n")
    return 3


def _convert(form: str, base: str, lenient: bool) -> int:
    """Write standard input as N-Quads to standard output; return the exit code."""
    import pyoxigraph

    from pyke.read.oxigraph import quads_as_text

    source: Any = None

    def stop(error: SyntaxError) -> None:
        # These parsers cannot continue after an error.
        line = error.lineno or (source.line if isinstance(source, GuardedXml) else 0)
        raise Refused(f"{error.msg}; the remaining document was skipped", line)

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
        lenient=lenient,
    )
    skipped = 0
    for text in quads_as_text(parser, stop, lenient):
        resolved, relative = without_relative(text) if base == RELATIVE else (text, 0)
        skipped += relative
        sys.stdout.buffer.write(resolved)
    sys.stdout.buffer.flush()
    if skipped:
        return _report(
            f"{skipped} statements with relative IRIs (no scheme) were skipped", 0, skipped
        )
    return 0


def main(form: str, base: str, lenient: str, memory: str) -> int:
    """Convert standard input with limited memory; return 0 unless there is a problem."""
    limit_memory(int(memory))
    try:
        return _convert(form, base, lenient == "1")
    except Refused as refused:
        return _report(str(refused), refused.line)
    except MemoryError:
        return _report("the document needs more memory than the parser may use", 0)


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
