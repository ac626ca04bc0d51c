"""Convert a document in any syntax to blocks of N-Triples or N-Quads lines.

N-Triples and N-Quads stay as they are. pyoxigraph parses Turtle and TriG. It parses RDF/XML and
JSON-LD in a child process, as such files can exhaust memory. `columns` reads tables.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import IO

import pyoxigraph

from pyke.config import Config
from pyke.core.arrays import Bytes
from pyke.core.inputs import Input
from pyke.errors import DataError
from pyke.graph.terms import GENERATED_MARK, MIN_GENERATED_DIGITS
from pyke.read.columns import table_lines
from pyke.read.find import Document
from pyke.read.lines import BLOCK_SIZE, WithoutByteOrderMark, complete_lines, to_array
from pyke.read.oxigraph import TOKEN_TOO_LONG, clean_message, quads_as_text
from pyke.read.problems import Report

SANDBOX_MEMORY = 4 << 30


def blocks_of(document: Document, source: Input, config: Config, report: Report) -> Iterator[Bytes]:
    """Blocks of complete lines of N-Triples or N-Quads. Reports problems of the conversion."""
    return _CONVERTERS[document.syntax.kind](document, source, config, report)


def _lines(document: Document, source: Input, _config: Config, _report: Report) -> Iterator[Bytes]:
    """N-Triples and N-Quads, unchanged."""
    return map(to_array, complete_lines(WithoutByteOrderMark(source), document.name))


def _parsed(document: Document, source: Input, config: Config, report: Report) -> Iterator[Bytes]:
    """Turtle and TriG, parsed by pyoxigraph."""

    def report_error(error: SyntaxError) -> None:
        report(error.lineno or 0, clean_message(str(error)))

    parser = pyoxigraph.parse(
        WithoutByteOrderMark(source),  # type: ignore[arg-type]
        format=getattr(pyoxigraph.RdfFormat, document.syntax.oxigraph),
        base_iri=config.base,
        lenient=config.lenient,
    )
    try:
        for text in quads_as_text(parser, report_error, config.lenient):
            yield to_array(_mark_generated(text))
    except MemoryError:
        raise DataError(f"{document.name}: {TOKEN_TOO_LONG}") from None


def _sandboxed(
    document: Document, source: Input, config: Config, report: Report
) -> Iterator[Bytes]:
    """RDF/XML and JSON-LD, parsed by pyoxigraph in a child process with limited memory."""
    lenient, memory = str(int(config.lenient)), str(SANDBOX_MEMORY)
    arguments = (document.syntax.oxigraph, config.base or "", lenient, memory)
    command = [sys.executable, "-m", "pyke.read.sandbox", *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    failures: list[BaseException] = []
    problems: list[bytes] = []
    # In a new session Ctrl-C does not reach the child; this process stops it.
    with subprocess.Popen(command, **pipes, start_new_session=True) as child:  # type: ignore[call-overload]
        feeder = threading.Thread(target=_feed, args=(source, child.stdin, failures), daemon=True)
        listener = threading.Thread(target=lambda: problems.extend(child.stderr), daemon=True)
        feeder.start()
        listener.start()
        try:
            for text in _lines_from(child.stdout):
                yield to_array(_mark_generated(text))
        except GeneratorExit:
            child.kill()
            raise
        finally:
            code = child.wait()
            feeder.join()
            listener.join()
    if failures:
        raise failures[0]
    reported = [line for line in problems if line.startswith(b"{")]  # not a Python traceback
    for line in reported:
        problem = json.loads(line)
        report(problem["line"], clean_message(problem["message"]), problem["count"])
    if code and not reported:
        report(
            0,
            f"the parser crashed (exit code {code}), as the document is nested too deeply or too "
            "large; the remaining document was skipped",
        )


def _feed(source: Input, pipe: IO[bytes], failures: list[BaseException]) -> None:
    """Copy an input to the child's standard input."""
    try:
        with pipe:
            plain = WithoutByteOrderMark(source)
            while data := plain.read(1 << 16):
                pipe.write(data)
    except BrokenPipeError:
        pass  # the child stopped early and reports why
    except BaseException as error:
        failures.append(error)


def _lines_from(pipe: IO[bytes]) -> Iterator[bytes]:
    """Blocks of complete lines. Drops an incomplete last line, as the child then crashed."""
    start = b""
    while data := pipe.read(BLOCK_SIZE):
        cut = data.rfind(b"\n") + 1
        if cut:
            yield start + data[:cut]
        start = data[cut:] if cut else start + data


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
_CONVERTERS: dict[str, Callable[[Document, Input, Config, Report], Iterator[Bytes]]] = {
    "lines": _lines,
    "parsed": _parsed,
    "sandboxed": _sandboxed,
    "table": table_lines,
}
