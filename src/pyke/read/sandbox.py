"""Parse RDF with pyoxigraph in a child process: a malicious document can stop only the child.

Run as `python -m pyke.read.sandbox MEMORY SECONDS`; `child` is its other side. Standard input has,
for each document, a line with a JSON object and then the content in frames. A frame is its length
as four bytes and its bytes; an empty frame ends a document. Standard output has frames that start
with one byte: TEXT with N-Quads, PROBLEM with a JSON object, or END after a document. END has
content if the process stops there. A document that needs too much CPU time ends the process by
SIGPROF.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from xml.parsers import expat

from pyke.core.system import at_most_more_memory, limit_memory

TEXT, PROBLEM, END = b"T", b"P", b"E"
LENGTH = 4  # bytes of the length of a frame
MAX_SKIPPED = 1 << 20  # bytes after an error; another process starts sooner than it reads more
FRAME = 1 << 19  # bytes of text to send at once, about

MAX_XML_DEPTH = 1000
MAX_JSON_DEPTH = 200
MAX_ENTITY = 4096  # characters
MAX_TOKEN = 1 << 20  # bytes
MAX_ATTRIBUTES = 1000
MAX_JSON = 1 << 30  # bytes
# The parser expands all IRIs of an object before its first statement. Usual documents need up to 12
# bytes per byte for this, and lists of numbers with a single digit 354.
JSON_MEMORY, JSON_MEMORY_PER_BYTE = 64 << 20, 512
_ENTITY = b"<!ENTITY"
# CPU time of a document. Usual ones need less than a tenth of this. Some small ones need hours
# before their first statement: JSON-LD with long prefixes, bases relative to bases, XML literals
# below many namespaces.
SECONDS_PER_BYTE = 2.0 / (1 << 20)  # of the document
SECONDS_PER_RESULT = 0.25 / (1 << 20)  # and of its statements and problems
RELATIVE = "pyke-relative://no.base/"  # base of JSON-LD documents without one


class Refused(Exception):
    """The document would need too much memory or time."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class GuardedXml:
    """A source of RDF/XML that checks the same bytes with expat, to refuse XML bombs.

    pyoxigraph takes every `<!ENTITY` between the start and the end of the document type for a
    declaration, also in comments, and finds this end by other rules than expat. It gets no byte
    before the root element is reached, and none at all if expat sees fewer declarations.
    """

    def __init__(self, source: Any) -> None:
        self._source = source
        self._lines: Iterator[bytes] = iter(())
        self._checked: deque[tuple[int, bytes]] = deque()  # lines with their numbers
        self._held = 0  # bytes before the root element
        self._in_root = False
        self._has_type = False
        self._entities = 0  # declarations that expat reported
        self._found = 0  # places that look like a declaration
        self._last = b""  # bytes, as a place may be cut in two
        self._depth = 0
        self._line = 1
        self._pending = 0  # bytes of an unfinished token
        self._parser = expat.ParserCreate("UTF-8")  # as in pyoxigraph, whatever the file declares
        self._parser.XmlDeclHandler = self._declaration
        self._parser.StartDoctypeDeclHandler = self._document_type
        self._parser.StartElementHandler = self._start_element
        self._parser.EndElementHandler = self._end_element
        self._parser.EntityDeclHandler = self._entity
        self._parser.buffer_text = True

    def _refuse(self, message: str) -> None:
        raise Refused(message, self._parser.CurrentLineNumber)

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() != "utf-8":
            self._refuse(f"the encoding is {encoding!r}; only UTF-8 is supported")

    def _document_type(self, *_: Any) -> None:
        self._has_type = True

    def _start_element(self, _: str, attributes: dict[str, str]) -> None:
        self._in_root = True
        self._depth += 1
        if len(attributes) > MAX_ATTRIBUTES:
            self._refuse(f"an element has more than {MAX_ATTRIBUTES} attributes")
        if self._depth > MAX_XML_DEPTH:
            self._refuse(f"elements are nested deeper than {MAX_XML_DEPTH}")

    def _end_element(self, *_: Any) -> None:
        self._depth -= 1

    def _entity(self, name: str, _parameter: int, value: str | None, *_: Any) -> None:
        self._entities += 1
        # Editors abbreviate namespaces with entities. XML bombs nest entities.
        if value is not None and ("&" in value or "%" in value or len(value) > MAX_ENTITY):
            self._refuse(f"the entity {name!r} is too long or contains other entities")

    @property
    def line(self) -> int:
        """Number of the current line."""
        return self._line

    def read(self, size: int = -1) -> bytes:
        """The next checked bytes: at most one line, which gives errors a line number."""
        while not self._checked or not self._in_root:
            self._check_line(size)
        self._line, data = self._checked.popleft()
        if 0 <= size < len(data):
            self._checked.appendleft((self._line, data[size:]))
            data = data[:size]
        return data

    def _check_line(self, size: int) -> None:
        """Check the next line, or the end of the document."""
        data = next(self._lines, b"")
        if not data:
            self._lines = iter(self._source.read(size).splitlines(keepends=True))
            data = next(self._lines, b"")
        line, at = self._parser.CurrentLineNumber, self._parser.CurrentByteIndex
        try:
            self._parser.Parse(data, not data)
        except expat.ExpatError as error:
            raise Refused(
                f"not well-formed XML: {expat.ErrorString(error.code)}", error.lineno
            ) from None
        # expat up to 2.5 needs time quadratic in the length of a token.
        self._pending = self._pending + len(data) if self._parser.CurrentByteIndex == at else 0
        if self._pending > MAX_TOKEN:
            raise Refused(f"a tag or comment is longer than {MAX_TOKEN >> 20} MiB", line)
        self._check_entities(data, line)
        self._checked.append((line, data))

    def _check_entities(self, data: bytes, line: int) -> None:
        if self._in_root and not self._has_type:
            return
        self._found += (self._last + data).count(_ENTITY)
        self._last = (self._last + data)[1 - len(_ENTITY) :]
        if not self._in_root:
            self._held += len(data)
            if self._held > MAX_TOKEN:
                raise Refused(f"the root element is not in the first {MAX_TOKEN >> 20} MiB", line)
        elif self._found != self._entities:
            raise Refused(
                f"{_ENTITY.decode()} occurs {self._found} times but declares {self._entities} "
                "entities; the others are in comments or in text, where they are not supported",
                line,
            )


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
        elif bracket in b"]}":
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


class _Document:
    """The content of one document on standard input."""

    def __init__(self, frames: Any) -> None:
        self._frames = frames
        self._left = 0  # bytes of the current frame
        self._ended = False

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; none at the end."""
        if not self._left and not self._ended:
            self._left = int.from_bytes(self._exactly(LENGTH))
            _allow(self._left * SECONDS_PER_BYTE)
            self._ended = not self._left
        data = self._exactly(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data

    def _exactly(self, size: int) -> bytes:
        data: bytes = self._frames.read(size)
        if len(data) < size:
            raise SystemExit(1)  # the parent process stopped
        return data

    def rest(self) -> bytes:
        """All bytes that were not read yet."""
        return b"".join(iter(self.read, b""))

    def skip(self, size: int) -> bool:
        """Whether the document ends within the next `size` bytes, which are skipped."""
        while size > 0 and (data := self.read()):
            size -= len(data)
        return self._ended


def _allow(seconds: float) -> None:
    """Let the current document use more CPU time."""
    left, _ = signal.getitimer(signal.ITIMER_PROF)
    signal.setitimer(signal.ITIMER_PROF, left + seconds)


def write_frame(pipe: Any, kind: bytes, content: bytes | memoryview = b"") -> None:
    """Write a frame of standard output."""
    pipe.write(kind + len(content).to_bytes(LENGTH) + content)


def _write_problem(message: str, line: int = 0, count: int = 1) -> None:
    problem = {"line": line, "message": message, "count": count}
    content = json.dumps(problem).encode()
    _allow(len(content) * SECONDS_PER_RESULT)
    write_frame(sys.stdout.buffer, PROBLEM, content)


def _write_text(texts: Iterator[bytes]) -> None:
    """Write blocks of N-Quads in frames of about FRAME bytes."""
    waiting = bytearray()
    try:
        for text in texts:
            waiting += text
            if len(waiting) >= FRAME:
                _write_frames(waiting)
                waiting = bytearray()
    finally:
        _write_frames(waiting)  # the statements before an error


def _write_frames(text: bytearray) -> None:
    _allow(len(text) * SECONDS_PER_RESULT)
    with memoryview(text) as view:
        for at in range(0, len(text), 2 * FRAME):
            write_frame(sys.stdout.buffer, TEXT, view[at : at + 2 * FRAME])


def _parse(document: _Document, form: str, base: str | None, lenient: bool) -> None:
    """Write one document as N-Quads."""
    import pyoxigraph

    from pyke.read.oxigraph import quads_as_text

    source: Any = document
    memory: AbstractContextManager[None] = nullcontext()

    def handle_error(error: SyntaxError) -> None:
        if form in ("TURTLE", "TRIG", "N_TRIPLES"):
            _write_problem(str(error), error.lineno or 0)
            return
        # The other parsers cannot continue after an error.
        line = error.lineno or (source.line if isinstance(source, GuardedXml) else 0)
        raise Refused(f"{error.msg}; the document cannot be read after this", line)

    if form == "RDF_XML":
        source = GuardedXml(document)
    elif form == "JSON_LD":
        source = document.rest()
        check_json(source)
        base = base or RELATIVE
        memory = at_most_more_memory(JSON_MEMORY + JSON_MEMORY_PER_BYTE * len(source))
    with memory:
        parser = pyoxigraph.parse(
            source, format=getattr(pyoxigraph.RdfFormat, form), base_iri=base, lenient=lenient
        )
        texts = quads_as_text(parser, handle_error, lenient)
        if base == RELATIVE:
            _write_resolved(texts)
        else:
            _write_text(texts)


def _write_resolved(texts: Iterator[bytes]) -> None:
    """Write N-Quads without relative IRIs, and report how many statements have them."""
    skipped = 0

    def resolved() -> Iterator[bytes]:
        nonlocal skipped
        for text in texts:
            kept, relative = without_relative(text)
            skipped += relative
            yield kept

    _write_text(resolved())
    if skipped:
        message = f"{skipped} statements have relative IRIs (without a scheme)"
        _write_problem(message, 0, skipped)


def main(memory: str, free_seconds: str) -> int:
    """Parse the documents on standard input. The process ends if a large one is refused.

    Each document may use `free_seconds` of CPU time, and more in proportion to its size.
    """
    from pyke.read.oxigraph import out_of_memory

    limit_memory(int(memory))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process
    incoming, outgoing = sys.stdin.buffer, sys.stdout.buffer
    while request := incoming.readline():
        document = _Document(incoming)
        signal.setitimer(signal.ITIMER_PROF, float(free_seconds))
        try:
            _parse(document, **json.loads(request))
        except Refused as refused:
            _write_problem(str(refused), refused.line)
        except MemoryError as error:
            _write_problem(out_of_memory(error))
        outgoing.flush()
        ended = document.skip(MAX_SKIPPED)
        write_frame(outgoing, END, b"" if ended else b"stop")
        outgoing.flush()
        if not ended:
            break
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
