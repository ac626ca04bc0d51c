"""Bytes → statements: any RDF syntax, read strictly, in parallel where the syntax allows it.

N-Triples and N-Quads are tokenized by our own kernel, block by block on all cores; a line that it is not sure of is decided by
pyoxigraph. Every other syntax is turned into N-Quads by pyoxigraph and takes the same way, without being checked again.
"""

from __future__ import annotations

import codecs
import csv
import glob
import json
import os
import re
import secrets
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyoxigraph

from pyke import kernels
from pyke.config import Config
from pyke.errors import DataError, NoInput, SyntaxProblem, UsageError
from pyke.files import COMPRESSIONS, Input, compression_of, read_ahead
from pyke.graph import GENERATED_MARK, LEAST_GENERATED, Census, Problem
from pyke.progress import Progress
from pyke.sandbox import quads_as_text

BLOCK = 1 << 19  # bytes of text per batch: its dictionary stays in the core's own cache
GREATEST_LINE = 1 << 24  # as pyoxigraph's buffer
PROBLEMS_KEPT = 10
SANDBOX_MEMORY = 4 << 30
_SLOTS = 1 << 15

LABEL_PREDICATES = ("http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#prefLabel")
_XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

Text = kernels.Bytes
Report = Callable[[int, str], None]

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

    names = [os.path.join(top, name) for top, _, files in os.walk(directory, onerror=fail) for name in files]
    known = [name for name in sorted(names) if _extension(name) in _BY_EXTENSION]
    if not known:
        raise NoInput(f"{directory}: no file in it has an extension of RDF ({', '.join(_BY_EXTENSION)}, also with {', '.join(COMPRESSIONS)})")
    return [_document(name, form) for name in known]


def _extension(name: str) -> str:
    """The extension without that of a compression, in lower case."""
    path = Path(name.lower())
    return Path(path.stem).suffix if path.suffix in COMPRESSIONS else path.suffix


def _document(name: str, form: str | None) -> Document:
    syntax = _BY_NAME[form.lower()] if form else _BY_EXTENSION.get(_extension(name))
    if syntax is None:
        raise UsageError(f"{name}: its extension tells no syntax; say --format with one of: {', '.join(syntax.name for syntax in SYNTAXES)}")
    return Document(name, syntax, compression_of(name), os.path.getsize(name))


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
        yield _text(rest, data[:cut])
        rest = data[cut:]
    if rest:
        yield _text(rest, b"\n")


def _text(*pieces: bytes) -> Text:
    """Bytes as a (writable: one type for the kernels) array."""
    return np.frombuffer(bytearray().join(pieces), np.uint8)


def _message(error: str) -> str:
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
        for text in quads_as_text(parser, lambda error: report(error.lineno or 0, _message(str(error)))):
            yield _text(_marked(text))
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
    with subprocess.Popen([sys.executable, "-m", "pyke.sandbox", *arguments], **pipes) as child:  # type: ignore[call-overload]
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
            report(problem["line"], _message(problem["message"]))
    if code < 0 or (code and not problems):
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
            yield _text(_marked(rest + data[:cut]))
        rest = data[cut:] if cut else rest + data


_HEADERS = {("subject", "predicate", "object"), ("s", "p", "o"), ("head", "relation", "tail"), ("h", "r", "t")}
_LITERAL = re.compile(r'"[^"\\\n\r]*(?:\\.[^"\\\n\r]*)*"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^<[^<>"{}|^`\\\s]*>)?')
_BLANK = re.compile(r"_:[\w](?:[\w.-]*[\w-])?")


def _table(document: Document, source: Input, _: Config, report: Report) -> Iterator[Text]:
    """Three columns: `<iri>` or a bare name, `_:blank`, `"literal"` as in N-Triples; a usual header is passed over."""
    lines = codecs.getreader("utf-8-sig")(source)  # type: ignore[arg-type]
    dialect = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if document.syntax.name == "tsv" else {"delimiter": ",", "strict": True}
    rows = csv.reader(lines, **dialect)  # type: ignore[arg-type]
    written: list[str] = []
    while True:
        try:
            row = next(rows)
            if not row or (rows.line_num == 1 and tuple(cell.strip().lower() for cell in row) in _HEADERS):
                continue
            written.append(_row_as_line(row))
        except StopIteration:
            break
        except (ValueError, csv.Error) as error:
            report(rows.line_num, str(error))
            if isinstance(error, UnicodeDecodeError):
                break
        if len(written) >= 4096:
            yield _text("".join(written).encode())
            written.clear()
    if written:
        yield _text("".join(written).encode())


def _row_as_line(row: list[str]) -> str:
    if len(row) != 3:
        raise ValueError(f"{len(row)} columns instead of three")
    subject, predicate, target = row
    if _LITERAL.fullmatch(target):
        node = target
    elif target.startswith('"'):
        raise ValueError(f"{target[:60]!r} is no literal of N-Triples")
    else:
        node = _cell_as_node(target)
    if predicate.startswith("_:"):
        raise ValueError(f"the predicate {predicate!r} is a blank node")
    return f"{_cell_as_node(subject)} {_cell_as_node(predicate)} {node} .\n"


def _cell_as_node(cell: str) -> str:
    if cell.startswith("<") and cell.endswith(">"):
        cell = cell[1:-1]
    elif cell.startswith("_:"):
        if not _BLANK.fullmatch(cell):
            raise ValueError(f"{cell[:60]!r} is no blank node")
        return cell
    if not cell or cell.startswith("_:") or any(c in cell for c in "<>\n\r"):
        raise ValueError(f"{cell[:60]!r} cannot be a name: it is empty or has <, > or a line break in it")
    return f"<{cell}>"


_WAYS: dict[str, Callable[[Document, Input, Config, Report], Iterator[Text]]] = {
    "lines": _whole_lines,
    "parsed": _parsed,
    "sandboxed": _sandboxed,
    "table": _table,
}

# ---------------------------------------------------------------------------------------------------------------------
# Block → batches
# ---------------------------------------------------------------------------------------------------------------------


def new_batch(size: int, prefix: int = 0) -> kernels.Batch:
    """An empty batch with room for what `size` bytes of text can hold; pages that are not used cost nothing."""
    statements = size // 12 + 2  # the shortest is <a:><b:>_:c.
    terms = _SLOTS // 2 + 1
    return kernels.Batch(
        terms=kernels.Dictionary(
            size=np.zeros(2, np.int64),
            table=np.full(_SLOTS, -1, np.int64),
            hashes=np.empty(terms, np.uint64),
            offsets=np.zeros(terms + 1, np.int64),
            blob=np.empty(size + terms * (prefix + 4) + 64, np.uint8),
        ),
        state=np.zeros(kernels.STATE_SIZE, np.int64),
        triples=np.empty((statements, 3), np.int32),
        literals=np.empty((statements, 2), np.int32),
        literal_keys=np.empty(statements, np.uint64),
        labels=np.empty((statements, 3), np.int64),
        label_blob=np.empty(size, np.uint8),
    )


@dataclass
class _Stretch:
    """The batches of one block, and its bad lines, counted from the block's first."""

    batches: list[kernels.Batch]
    problems: list[tuple[int, str]]

    @property
    def lines(self) -> int:
        return sum(int(batch.state[kernels.LINES]) for batch in self.batches)


class _BlockReader:
    """Turns blocks of one document into batches; called from several threads."""

    def __init__(self, document: Document, number: int | None, config: Config, seed: int) -> None:
        prefix = b"" if number is None else b"d%d_" % number
        self._dialect = dialect(seed, document.syntax.name != "ntriples", document.syntax.kind != "lines", prefix)
        self._rewritten = self._dialect._replace(trusted=True, quads=True)
        self._strict = config.on_error == "stop"
        self._format = getattr(pyoxigraph.RdfFormat, document.syntax.oxigraph or "N_QUADS")
        self._lenient = config.lenient

    def read(self, text: Text) -> _Stretch:
        """All lines of a block; in strict reading, up to the first bad one."""
        stretch = _Stretch([self._new_batch(text)], [])
        at = 0
        while (at := self._tokenize(text, at, self._dialect, stretch)) < len(text):
            end = at + int(np.argmax(text[at:] == ord("\n"))) + 1
            before = stretch.lines
            if problem := self._decide(text[at:end].tobytes(), stretch):
                stretch.problems.append((before + 1, problem))
                if self._strict:
                    break
            stretch.batches[-1].state[kernels.LINES] += before + 1 - stretch.lines
            at = end
        return stretch

    def _new_batch(self, text: Text) -> kernels.Batch:
        return new_batch(len(text), len(self._dialect.blank_prefix))

    def _tokenize(self, text: Text, at: int, dialect: kernels.Dialect, stretch: _Stretch) -> int:
        """Reads on from `at`, in as many batches as it takes; the position of the first line that pyoxigraph has to decide."""
        while True:
            batch = stretch.batches[-1]
            at = kernels.tokenize(text, at, len(text), dialect, batch)
            if at == len(text) or batch.terms.size[0] + 3 < _SLOTS // 2:
                return at
            stretch.batches.append(self._new_batch(text))

    def _decide(self, line: bytes, stretch: _Stretch) -> str:
        """A line that the kernel left: pyoxigraph reads it, or says what is wrong with it."""
        if not self._dialect.trusted:
            try:
                quads = list(pyoxigraph.parse(line, format=self._format, lenient=self._lenient))
            except SyntaxError as error:
                return _message(str(error))
            except MemoryError:
                return "a token is longer than 16 MiB, the most that the parser takes"
            text = _text(pyoxigraph.serialize(quads, format=pyoxigraph.RdfFormat.N_QUADS))  # type: ignore[arg-type]
            if self._tokenize(text, 0, self._rewritten, stretch) == len(text):
                return ""
        return f"{line[:80]!r} cannot be read"


def dialect(seed: int, quads: bool, trusted: bool, blank_prefix: bytes = b"") -> kernels.Dialect:
    """How to read a document; the hashes' seed is drawn anew for each run, so that no file can aim at collisions."""

    def hashed(iri: str) -> np.uint64:
        text = _text(iri.encode())
        return np.uint64(kernels.hash_bytes(text, 0, len(text), np.uint64(seed)))

    return kernels.Dialect(
        seed=np.uint64(seed),
        quads=quads,
        trusted=trusted,
        blank_prefix=_text(blank_prefix),
        label_hashes=np.array([hashed(iri) for iri in LABEL_PREDICATES], np.uint64),
        string_hash=hashed(_XSD_STRING),
        forbidden_hashes=np.array([hashed(_RDF + "langString"), hashed(_RDF + "dirLangString")], np.uint64),
    )


class _Complaints:
    """What is done about problems in one document: stop at the first, or count them and keep the first few."""

    def __init__(self, document: Document, config: Config, census: Census) -> None:
        self._document, self._config, self._census = document, config, census

    def add(self, line: int, message: str) -> None:
        """A problem at a line (0 where it is not known)."""
        name = "standard input" if self._document.name == "-" else self._document.name
        problem = Problem(f"{name}:{line}" if line else name, message)
        if self._config.on_error == "stop":
            raise SyntaxProblem(f"{problem}. Mend the file, or give --on-error skip to leave such lines out and count them"
                                f"{', or --lenient to keep odd IRIs' if 'IRI' in message and not self._config.lenient else ''}. "
                                f"(Read as {self._document.syntax.name}; --format says otherwise.)")  # fmt: skip
        self._census.errors += 1
        if len(self._census.problems) < PROBLEMS_KEPT:
            self._census.problems.append(problem)


def read_batches(documents: Sequence[Document], config: Config, census: Census, progress: Progress, share: float = 1.0) -> Iterator[kernels.Batch]:
    """All statements of all documents, in the order of the text, whatever the number of threads; or the first part of each."""
    seed = secrets.randbits(64)
    done = 0
    with ThreadPoolExecutor(config.threads, thread_name_prefix="pyke-read") as pool:
        for number, document in enumerate(documents):
            with Input(document.name, document.compression) as source:
                complaints = _Complaints(document, config, census)
                reader = _BlockReader(document, number if len(documents) > 1 else None, config, seed)
                blocks = _first_part(_WAYS[document.syntax.kind](document, source, config, complaints.add), source, share)
                lines = 0
                for stretch in _in_order(pool, reader.read, read_ahead(blocks), 2 * config.threads + 1):
                    for line, message in stretch.problems:
                        complaints.add(lines + line, message)
                    lines += stretch.lines
                    yield from stretch.batches
                    progress.advance(done + source.consumed)
                done += source.consumed
    census.bytes = done


def _first_part(blocks: Iterator[Text], source: Input, share: float) -> Iterator[Text]:
    """The blocks of about the first `share` of an input."""
    for block in blocks:
        yield block
        if share < 1 and source.consumed >= share * source.size:
            return


def _in_order(pool: ThreadPoolExecutor, work: Callable[[Text], _Stretch], blocks: Iterable[Text], depth: int) -> Iterator[_Stretch]:
    """Results in the order of the blocks, at most `depth` of them under way."""
    pending: deque[Future[_Stretch]] = deque()
    for block in blocks:
        pending.append(pool.submit(work, block))
        if len(pending) >= depth:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()
