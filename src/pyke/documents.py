"""Inputs → blocks of lines: which files, in which syntax, and how each syntax becomes N-Triples or N-Quads.

N-Triples and N-Quads are passed on as they are. Every other syntax is turned into N-Quads: Turtle and TriG by pyoxigraph, RDF/XML and
JSON-LD by pyoxigraph in a child process, tables by the rules of `_table`.
"""

from __future__ import annotations

import codecs
import csv
import glob
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import pyoxigraph

from pyke.config import Config
from pyke.errors import DataError, NoInput, UsageError
from pyke.files import COMPRESSIONS, Input, compression_of, ending_of
from pyke.graph import GENERATED_MARK, LEAST_GENERATED
from pyke.kernels import Bytes as Text
from pyke.sandbox import quads_as_text

BLOCK = 1 << 19  # bytes of text per block: the dictionary of a block stays in the core's own cache
GREATEST_LINE = 1 << 24  # as pyoxigraph's buffer
SANDBOX_MEMORY = 4 << 30

Report = Callable[..., None]  # a line, or 0 where it is not known; what is wrong there; how many statements it costs, if more than 1

# ---------------------------------------------------------------------------------------------------------------------
# Documents
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Syntax:
    """A syntax: its extensions, and the way its documents become lines."""

    name: str
    extensions: tuple[str, ...]
    kind: str  # "lines": tokenized as they are; "parsed": by pyoxigraph; "sandboxed": by pyoxigraph in a child; "table": columns
    oxigraph: str = ""  # name of the pyoxigraph.RdfFormat


SYNTAXES = (
    Syntax("ntriples", (".nt", ".ntriples"), "lines", "N_TRIPLES"),
    Syntax("nquads", (".nq", ".nquads"), "lines", "N_QUADS"),
    Syntax("turtle", (".ttl", ".turtle"), "parsed", "TURTLE"),
    Syntax("trig", (".trig",), "parsed", "TRIG"),
    Syntax("rdfxml", (".rdf", ".owl", ".xml", ".rdfs"), "sandboxed", "RDF_XML"),
    Syntax("jsonld", (".jsonld", ".json"), "sandboxed", "JSON_LD"),
    Syntax("tsv", (".tsv",), "table"),
    Syntax("csv", (".csv",), "table"),
)
_BY_EXTENSION = {extension: syntax for syntax in SYNTAXES for extension in syntax.extensions}
_BY_NAME = {syntax.name: syntax for syntax in SYNTAXES} | {ext[1:]: syntax for ext, syntax in _BY_EXTENSION.items()}


@dataclass(frozen=True)
class Document:
    """One input to be read."""

    name: str
    syntax: Syntax
    compression: str | None
    size: int


def find_documents(inputs: Sequence[str | os.PathLike[str]], form: str | None = None) -> list[Document]:
    """Files, directories, globs and `-` → documents, in the order given; a directory's files by name."""
    if form is not None and form.lower() not in _BY_NAME:
        raise UsageError(f"there is no format {form!r}; there are: {', '.join(syntax.name for syntax in SYNTAXES)}")
    documents: list[Document] = []
    for name in [os.fspath(given) for given in inputs]:
        if name == "-":
            if form is None:
                raise UsageError("standard input has no name that tells its syntax; say --format, for example --format ntriples")
            documents.append(Document("-", _BY_NAME[form.lower()], None, 0))
        elif os.path.isdir(name):
            documents.extend(_documents_below(name, form))
        elif os.path.exists(name):
            documents.append(_document(name, form))
        elif matches := sorted(glob.glob(name, recursive=True)):
            documents.extend(_document(match, form) for match in matches if os.path.isfile(match))
        else:
            raise NoInput(f"{name}: there is no such file or directory")
    if not documents:
        raise NoInput("no input: name at least one file, directory or glob, or - for standard input")
    return documents


def _documents_below(directory: str, form: str | None) -> list[Document]:
    def fail(error: OSError) -> None:
        raise NoInput(f"cannot read the directory {error.filename}: {error.strerror}")

    known = [name for name in sorted(_files_below(directory, fail)) if ending_of(name) in _BY_EXTENSION and ending_of(name) != ".json"]
    if not known:
        raise NoInput(f"{directory}: no file in it has an extension of RDF ({', '.join(_BY_EXTENSION)}, also with {', '.join(COMPRESSIONS)})")
    return [_document(name, form) for name in known]


def _files_below(directory: str, fail: Callable[[OSError], None] | None = None) -> Iterator[str]:
    """The files in a directory, without hidden ones and without embeddings that were written there."""
    for top, directories, files in os.walk(directory, onerror=fail):
        directories[:] = [name for name in directories if name[0] != "." and not os.path.exists(os.path.join(top, name, "vectors.npy"))]
        yield from (os.path.join(top, name) for name in files if name[0] != ".")


def count_passed_over(inputs: Sequence[str | os.PathLike[str]]) -> int:
    """The files in directories that are not read, because their extension is not one of RDF (.json says too little)."""
    found = [name for given in inputs if os.path.isdir(given) for name in _files_below(os.fspath(given))]
    return sum(ending_of(name) not in _BY_EXTENSION or ending_of(name) == ".json" for name in found)


def _document(name: str, form: str | None) -> Document:
    syntax = _BY_NAME[form.lower()] if form else _BY_EXTENSION.get(ending_of(name))
    if syntax is None:
        raise UsageError(f"{name}: its extension tells no syntax; say --format with one of: {', '.join(syntax.name for syntax in SYNTAXES)}")
    try:
        return Document(name, syntax, compression_of(name), os.path.getsize(name))
    except OSError as error:
        raise NoInput(f"cannot open {name}: {error.strerror}") from None


# ---------------------------------------------------------------------------------------------------------------------
# Document → blocks of whole lines
# ---------------------------------------------------------------------------------------------------------------------


def _whole_lines(_: Document, source: Input, _config: Config, _report: Report) -> Iterator[Text]:
    """Blocks of whole lines; a byte order mark is dropped and a missing last line break added."""
    rest = b""
    first = True
    while data := source.read(BLOCK):
        if first:
            data = data.removeprefix(codecs.BOM_UTF8)
            first = False
        cut = data.rfind(b"\n") + 1
        if cut == 0:
            rest += data
            if len(rest) > GREATEST_LINE:
                raise DataError(f"{source.name}: a line is longer than {GREATEST_LINE >> 20} MiB. Is this a text file of RDF?")
            continue
        yield as_text(rest, data[:cut])
        rest = data[cut:]
    if rest:
        yield as_text(rest, b"\n")


def as_text(*pieces: bytes) -> Text:
    """Bytes as a (writable: one type for the kernels) array."""
    return np.frombuffer(bytearray().join(pieces), np.uint8)


def clean_message(error: str) -> str:
    """pyoxigraph's message without its place in the text, which is told otherwise."""
    return re.sub(
        r"^Parser error at line \d+ (between columns? .*?|between line .*?|columns? \d+): ", "", re.sub(r" \((?:[^()]*, )?line \d+\)$", "", error)
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
        for text in quads_as_text(parser, lambda error: report(error.lineno or 0, clean_message(str(error))), config.lenient):
            yield as_text(_marked(text))
    except MemoryError:
        raise DataError(f"{document.name}: a token is longer than 16 MiB, the most that the parser takes") from None


_RANDOM_SUBJECT = re.compile(rb"^_:([0-9a-f]{%d,32}) " % LEAST_GENERATED, re.MULTILINE)
_RANDOM_OTHER = re.compile(rb" _:([0-9a-f]{%d,32})(?=(?: <[^>]*>| _:[^ ]*)? \.$)" % LEAST_GENERATED, re.MULTILINE)


def _marked(text: bytes) -> bytes:
    """N-Quads of pyoxigraph, with the labels that it made up marked as such."""
    if b"_:" not in text:
        return text
    text = _RANDOM_SUBJECT.sub(rb"_:" + GENERATED_MARK + rb"\1 ", text)
    return _RANDOM_OTHER.sub(rb" _:" + GENERATED_MARK + rb"\1", text)


def _sandboxed(document: Document, source: Input, config: Config, report: Report) -> Iterator[Text]:
    """RDF/XML and JSON-LD, by pyoxigraph in a child process with a limit on its memory."""
    arguments = (document.syntax.oxigraph, config.base or "", str(int(config.lenient)), str(SANDBOX_MEMORY))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    failures: list[BaseException] = []
    problems: list[bytes] = []
    # A session of its own: Ctrl-C is for us, who then end the child.
    command = [sys.executable, "-m", "pyke.sandbox", *arguments]
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
        report(0, f"the parser broke down (exit code {code}): the document is too deep or too large for it; the rest is left out")


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


HEADERS = {("subject", "predicate", "object"), ("s", "p", "o"), ("head", "relation", "tail"), ("h", "r", "t")}
_ESCAPE = r"""\\(?:[tbnrf"'\\]|u(?![dD][89a-fA-F])[0-9A-Fa-f]{4}|U(?!0000[dD][89a-fA-F])00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})"""
_LITERAL = re.compile(rf'"[^"\\\n\r]*(?:{_ESCAPE}[^"\\\n\r]*)*"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^<[^<>"{{}}|^`\\\s]*>)?')
_BLANK = re.compile(r"_:[\w](?:[\w.-]*[\w-])?")


def _table(document: Document, source: Input, config: Config, report: Report) -> Iterator[Text]:
    """Three columns: `<iri>` or a bare name, `_:blank`, `"literal"` as in N-Triples; a usual header is passed over."""
    dialect = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if document.syntax.name == "tsv" else {"delimiter": ",", "strict": True}
    csv.field_size_limit(GREATEST_LINE)
    rows = csv.reader(_text_lines(document, source, config, report), **dialect)  # type: ignore[arg-type]
    written: list[str] = []
    while True:
        try:
            row = next(rows)
            if not row or (rows.line_num == 1 and tuple(cell.strip().lower() for cell in row) in HEADERS):
                continue
            written.append(_row_as_line(row))
        except StopIteration:
            break
        except DataError:
            raise
        except (ValueError, csv.Error) as error:
            report(rows.line_num, str(error))
        if len(written) >= 4096:
            yield as_text("".join(written).encode())
            written.clear()
    if written:
        yield as_text("".join(written).encode())


def _text_lines(document: Document, source: Input, config: Config, report: Report) -> Iterator[str]:
    """Lines, ended by line feeds only; bad UTF-8 is kept for the row to be refused."""
    for block in _whole_lines(document, source, config, report):
        for line in block.tobytes().split(b"\n")[:-1]:
            yield (line + b"\n").decode(errors="surrogateescape")


def _row_as_line(row: list[str]) -> str:
    if any("\udc80" <= c <= "\udcff" for cell in row for c in cell):
        raise ValueError("bad UTF-8")
    if len(row) != 3:
        raise ValueError(f"{len(row)} columns instead of three")
    return " ".join(read(cell) for read, cell in zip(CELL_READERS, row, strict=True)) + " .\n"


def _node(cell: str) -> str:
    if cell.startswith("<") and cell.endswith(">"):
        cell = cell[1:-1]
    elif cell.startswith("_:"):
        if not _BLANK.fullmatch(cell):
            raise ValueError(f"{cell[:60]!r} is no blank node")
        return cell
    if not cell or cell.startswith(("_:", '"')) or any(c in cell for c in "<>\n\r"):
        raise ValueError(f"{cell[:60]!r} cannot be a name: it is empty, starts with a quotation mark, or has <, > or a line break in it")
    return f"<{cell}>"


def _predicate(cell: str) -> str:
    if cell.startswith("_:"):
        raise ValueError(f"the predicate {cell!r} is a blank node")
    return _node(cell)


def _object(cell: str) -> str:
    if _LITERAL.fullmatch(cell):
        return cell
    if cell.startswith('"'):
        raise ValueError(f"{cell[:60]!r} is no literal of N-Triples")
    return _node(cell)


# A cell of each column as N-Triples, or ValueError.
CELL_READERS: tuple[Callable[[str], str], ...] = (_node, _predicate, _object)


_WAYS: dict[str, Callable[[Document, Input, Config, Report], Iterator[Text]]] = {
    "lines": _whole_lines,
    "parsed": _parsed,
    "sandboxed": _sandboxed,
    "table": _table,
}


def blocks_of(document: Document, source: Input, config: Config, report: Report) -> Iterator[Text]:
    """The document as blocks of whole lines of N-Triples or N-Quads; problems met on the way are reported."""
    return _WAYS[document.syntax.kind](document, source, config, report)
