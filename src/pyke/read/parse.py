"""Inputs → blocks of lines: which files, in which syntax, and how each syntax becomes N-Triples or N-Quads.

N-Triples and N-Quads are passed on as they are. Every other syntax is turned into N-Quads: Turtle and TriG by pyoxigraph, RDF/XML and
JSON-LD by pyoxigraph in a child process, tables by the rules of `table_lines`.
"""

from __future__ import annotations

import codecs
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import IO, Any

import pyoxigraph

from pyke.config import Config
from pyke.core.arrays import Bytes as Text
from pyke.core.inputs import Input
from pyke.errors import DataError
from pyke.graph.terms import GENERATED_MARK, MIN_GENERATED_DIGITS
from pyke.read.columns import table_lines
from pyke.read.find import Document
from pyke.read.lines import BLOCK, Report, as_text, whole_lines
from pyke.read.sandbox import quads_as_text

SANDBOX_MEMORY = 4 << 30


def clean_message(error: str) -> str:
    """pyoxigraph's message without its place in the text, which is told otherwise."""
    return re.sub(
        r"^Parser error at line \d+ (between columns? .*?|between line .*?|columns? \d+): ",
        "",
        re.sub(r" \((?:[^()]*, )?line \d+\)$", "", error),
    )


class _Unmarked:
    """An input without its byte order mark."""

    def __init__(self, source: Input) -> None:
        self._source = source
        self._first = True

    def read(self, size: int = -1, /) -> bytes:
        data = self._source.read(size)
        if self._first:
            self._first = False
            return data.removeprefix(codecs.BOM_UTF8) or self._source.read(size)
        return data


def _parsed(document: Document, source: Input, config: Config, report: Report) -> Iterator[Text]:
    """Turtle and TriG, by pyoxigraph."""
    parser = pyoxigraph.parse(
        _Unmarked(source),  # type: ignore[arg-type]
        format=getattr(pyoxigraph.RdfFormat, document.syntax.oxigraph),
        base_iri=config.base,
        lenient=config.lenient,
    )
    try:
        for text in quads_as_text(
            parser,
            lambda error: report(error.lineno or 0, clean_message(str(error))),
            config.lenient,
        ):
            yield as_text(_marked(text))
    except MemoryError:
        raise DataError(
            f"{document.name}: a token is longer than 16 MiB, the most that the parser takes"
        ) from None


_RANDOM_SUBJECT = re.compile(rb"^_:([0-9a-f]{%d,32}) " % MIN_GENERATED_DIGITS, re.MULTILINE)

_RANDOM_OTHER = re.compile(
    rb" _:([0-9a-f]{%d,32})(?=(?: <[^>]*>| _:[^ ]*)? \.$)" % MIN_GENERATED_DIGITS, re.MULTILINE
)


def _marked(text: bytes) -> bytes:
    """N-Quads of pyoxigraph, with the labels that it made up marked as such."""
    if b"_:" not in text:
        return text
    text = _RANDOM_SUBJECT.sub(rb"_:" + GENERATED_MARK + rb"\1 ", text)
    return _RANDOM_OTHER.sub(rb" _:" + GENERATED_MARK + rb"\1", text)


def _sandboxed(document: Document, source: Input, config: Config, report: Report) -> Iterator[Text]:
    """RDF/XML and JSON-LD, by pyoxigraph in a child process with a limit on its memory."""
    arguments = (
        document.syntax.oxigraph,
        config.base or "",
        str(int(config.lenient)),
        str(SANDBOX_MEMORY),
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    failures: list[BaseException] = []
    problems: list[bytes] = []
    # A session of its own: Ctrl-C is for us, who then end the child.
    command = [sys.executable, "-m", "pyke.read.sandbox", *arguments]
    with subprocess.Popen(command, **pipes, start_new_session=True) as child:  # type: ignore[call-overload]
        feeder = threading.Thread(target=_feed, args=(source, child.stdin, failures), daemon=True)
        listener = threading.Thread(target=lambda: problems.extend(child.stderr), daemon=True)
        feeder.start()
        listener.start()
        try:
            yield from _regrouped(child.stdout)
        except GeneratorExit:
            child.kill()
            raise
        finally:
            code = child.wait()
            feeder.join()
            listener.join()
    if failures:
        raise failures[0]
    for line in problems:
        if line.startswith(b"{"):  # not what a dying interpreter prints
            problem = json.loads(line)
            report(problem["line"], clean_message(problem["message"]), problem["count"])
    if code and not any(line.startswith(b"{") for line in problems):
        report(
            0,
            f"the parser broke down (exit code {code}): the document is too deep or too large for it; the rest is left out",
        )


def _feed(source: Input, pipe: IO[bytes], failures: list[BaseException]) -> None:
    """Passes an input on to a child."""
    try:
        with pipe:
            plain = _Unmarked(source)
            while data := plain.read(1 << 16):
                pipe.write(data)
    except BrokenPipeError:
        pass  # the child has refused; it says why
    except BaseException as error:
        failures.append(error)


def _regrouped(pipe: Any) -> Iterator[Text]:
    """What comes out of a pipe, as blocks of whole lines."""
    rest = b""
    while data := pipe.read(BLOCK):
        cut = data.rfind(b"\n") + 1
        if cut:
            yield as_text(_marked(rest + data[:cut]))
        rest = data[cut:] if cut else rest + data


_WAYS: dict[str, Callable[[Document, Input, Config, Report], Iterator[Text]]] = {
    "lines": whole_lines,
    "parsed": _parsed,
    "sandboxed": _sandboxed,
    "table": table_lines,
}


def blocks_of(document: Document, source: Input, config: Config, report: Report) -> Iterator[Text]:
    """The document as blocks of whole lines of N-Triples or N-Quads; problems met on the way are reported."""
    return _WAYS[document.syntax.kind](document, source, config, report)
