"""Read documents as batches of statements, with several threads.

The compiled tokenizer `_kernels.tokenize` reads each block of lines. pyoxigraph parses the lines
that the tokenizer does not accept. Lines that pyoxigraph wrote, for other syntaxes, are not
validated again.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyoxigraph
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core import hashing
from pyke.core.arrays import Bytes
from pyke.core.inputs import Input, new_allowance, read_ahead
from pyke.core.parallel import ordered_map
from pyke.core.progress import Progress
from pyke.errors import UsageError
from pyke.graph import batches
from pyke.graph.graph import Census, Problem
from pyke.read import _kernels, _literals
from pyke.read._scanners import Dialect, LiteralOptions
from pyke.read.child import ParserProcess
from pyke.read.find import Document
from pyke.read.lines import to_array
from pyke.read.oxigraph import (
    MAX_DEPTH,
    clean_message,
    nested_too_deeply,
    out_of_memory,
    unwritable_iri,
    unwritable_message,
)
from pyke.read.parse import blocks_of
from pyke.read.problems import Report, handle_problem

LABEL_PREDICATES = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
)
_XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBER_TYPES = (
    "integer decimal double float long int short byte nonNegativeInteger positiveInteger "
    "nonPositiveInteger negativeInteger unsignedLong unsignedInt unsignedShort unsignedByte"
)
_DATE_TYPES = "date dateTime dateTimeStamp gYear gYearMonth"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_SLOTS = 1 << 15  # in the hash table of a batch


@dataclass(frozen=True)
class Place:
    """How far some documents have been read: the end of a block of lines, or of a document."""

    seed: int  # of the hashes
    document: int = 0
    text: int = 0  # bytes of the document, decompressed
    lines: int = 0  # of the document
    done: int = 0  # bytes of the documents before it, as they are on disk


def read_batches(
    documents: Sequence[Document],
    config: Config,
    census: Census,
    progress: Progress,
    share: float = 1.0,
    start: Place | None = None,
    passed: Callable[[Place], None] = lambda _: None,
) -> Iterator[batches.Batch]:
    """Statements of all documents, in their order; `share` < 1 reads only the start of each.

    `passed` receives the places that have been read, from which another run can start.
    """
    check_base(config)
    place = start or Place(secrets.randbits(64))
    allowance = new_allowance()
    with ParserProcess(config) as parser:
        for number in range(place.document, len(documents)):
            document = documents[number]
            with Input(document.name, document.compression, allowance) as source:
                report = reporter(document, config, census)
                numbered = number if len(documents) > 1 else None
                reader = _BlockReader(document, numbered, config, place.seed)
                blocks = _after(place.text, blocks_of(document, source, parser, report))
                first = _first_blocks(blocks, source, share)
                for result in _results(reader, first, config.threads, report, place.lines):
                    yield from result.batches
                    if document.syntax.kind == "lines":  # other syntaxes cannot start in the middle
                        text, lines = place.text + result.size, place.lines + result.lines
                        passed(place := replace(place, text=text, lines=lines))
                    progress.advance(place.done + source.consumed)
                passed(place := Place(place.seed, number + 1, done=place.done + source.consumed))
    census.bytes = place.done


def _after(size: int, blocks: Iterator[Bytes]) -> Iterator[Bytes]:
    """Blocks without the first `size` bytes, which end with a line."""
    for block in blocks:
        if size < len(block):
            yield block[size:]
        size = max(0, size - len(block))


def check_base(config: Config) -> None:
    """Raise UsageError if the base IRI is invalid."""
    if config.base is not None:
        try:
            pyoxigraph.NamedNode(config.base)
        except ValueError as error:
            raise UsageError(
                f"`base` is {config.base!r}; it must be an absolute IRI: {error}"
            ) from None


def read_blocks(
    document: Document,
    blocks: Iterator[Bytes],
    config: Config,
    report: Report,
    number: int | None = None,
    seed: int | None = None,
) -> Iterator[batches.Batch]:
    """Statements of given blocks. Reports problems with their line number, from 1.

    `number` is that of the document if there are several. The parts of a document need one seed.
    """
    reader = _BlockReader(document, number, config, seed or secrets.randbits(64))
    for result in _results(reader, blocks, config.threads, report):
        yield from result.batches


def _results(
    reader: _BlockReader, blocks: Iterator[Bytes], threads: int, report: Report, lines: int = 0
) -> Iterator[_BlockResult]:
    """Results of all blocks, in order. Reports problems with their line in the document.

    `lines` come before the first block.
    """
    for result in ordered_map(reader.read, read_ahead(blocks), threads, depth=2 * threads + 1):
        for line, message in result.problems:
            report(lines + line, message)
        lines += result.lines
        yield result


def _first_blocks(blocks: Iterator[Bytes], source: Input, share: float) -> Iterator[Bytes]:
    """Blocks of about the first `share` of an input."""
    for block in blocks:
        yield block
        if share < 1 and source.consumed >= share * source.size:
            return


def reporter(document: Document, config: Config, census: Census) -> Report:
    """The function that handles the problems of a document."""
    name = "standard input" if document.name == "-" else document.name
    syntax = document.syntax

    def report(line: int, message: str, count: int = 1, /) -> None:
        advice = 'Fix the file, or use `on_error="skip"` to skip such lines and count them'
        if "scheme" in message and not config.base and syntax.kind != "lines":
            advice = "Set `base` to resolve relative IRIs"
        elif "IRI" in message and not config.lenient:
            advice += ", or `lenient=True` to keep such IRIs"
        advice += f". (Read as {syntax.name}; set `format` if it has another syntax.)"
        problem = Problem(f"{name}:{line}" if line else name, message)
        handle_problem(problem, advice, config, census, count)

    return report


@dataclass
class _BlockResult:
    """Batches of one block, and its invalid lines with their number in the block, from 1."""

    batches: list[batches.Batch]
    problems: list[tuple[int, str]]
    size: int  # bytes of the block: each of its batches has space for all of it

    @property
    def lines(self) -> int:
        return sum(int(batch.state[batches.LINES]) for batch in self.batches)


class _BlockReader:
    """Reads the blocks of one document; several threads use it at once."""

    def __init__(self, document: Document, number: int | None, config: Config, seed: int) -> None:
        prefix = b"" if number is None else b"d%d_" % number
        quads, trusted = document.syntax.name != "ntriples", document.syntax.kind != "lines"
        self._dialect = dialect(seed, quads, trusted, prefix, config.literals)
        self._trusted_dialect = self._dialect._replace(trusted=True, quads=True)
        self._stop = config.on_error == "stop"
        self._format = getattr(pyoxigraph.RdfFormat, document.syntax.oxigraph or "N_QUADS")
        self._lenient = config.lenient

    def read(self, text: Bytes) -> _BlockResult:
        """Read all lines of a block, or up to the first invalid one if it stops the run."""
        result = _BlockResult([self._new_batch(len(text))], [], len(text))
        at = 0
        while (at := self._tokenize(text, at, self._dialect, result)) < len(text):
            end = at + int(np.argmax(text[at:] == ord("\n"))) + 1
            before = result.lines
            if problem := self._parse_line(text[at:end].tobytes(), result):
                result.problems.append((before + 1, problem))
                if self._stop:
                    break
            result.batches[-1].state[batches.LINES] += before + 1 - result.lines
            at = end
        return result

    def _new_batch(self, size: int) -> batches.Batch:
        return new_batch(size, len(self._dialect.blank_prefix), self._dialect.literals.kinds > 0)

    def _tokenize(self, text: Bytes, at: int, dialect: Dialect, result: _BlockResult) -> int:
        """Read from `at`, into new batches where one is full; return the first unread position."""
        while True:
            batch = result.batches[-1]
            at = _kernels.tokenize(text, at, len(text), dialect, batch)
            if at == len(text) or batch.terms.size[0] + 3 < _SLOTS // 2:
                return at
            result.batches.append(self._new_batch(max(result.size, len(text))))

    def _parse_line(self, line: bytes, result: _BlockResult) -> str:
        """Read one line with pyoxigraph; return the problem if the line is invalid."""
        if not self._dialect.trusted:
            if nested_too_deeply(line):
                return f"triple terms are nested deeper than {MAX_DEPTH}"
            try:
                quads = list(pyoxigraph.parse(line, format=self._format, lenient=self._lenient))
            except SyntaxError as error:
                return clean_message(str(error))
            except MemoryError as error:
                return out_of_memory(error)
            if self._lenient and (iri := next(filter(None, map(unwritable_iri, quads)), None)):
                return unwritable_message(iri)
            written = pyoxigraph.serialize(quads, format=pyoxigraph.RdfFormat.N_QUADS) or b""
            text = to_array(written)
            if self._tokenize(text, 0, self._trusted_dialect, result) == len(text):
                return ""
        return f"cannot read {line[:80]!r}"


def dialect(
    seed: int, quads: bool, trusted: bool, blank_prefix: bytes = b"", literals: str = ""
) -> Dialect:
    """How to read a document. A random seed per run prevents planned hash collisions."""

    def hash_of(iri: str) -> np.uint64:
        return _hash_of(iri, np.uint64(seed))

    return Dialect(
        seed=np.uint64(seed),
        quads=quads,
        trusted=trusted,
        blank_prefix=to_array(blank_prefix),
        label_hashes=np.array([hashing.mix(hash_of(iri)) for iri in LABEL_PREDICATES], np.uint64),
        string_hash=hash_of(_XSD + "string"),
        forbidden_hashes=np.array(
            [hash_of(_RDF + "langString"), hash_of(_RDF + "dirLangString")], np.uint64
        ),
        literals=_literal_options(literals),
    )


def _hash_of(iri: str, seed: np.uint64) -> np.uint64:
    """Unfinished hash of an IRI."""
    text = to_array(iri.encode())
    return np.uint64(hashing.hash_bytes(text, 0, len(text), seed))


@cache
def _literal_options(literals: str) -> LiteralOptions:
    """The features that a setting such as "values,words" asks for."""
    bits = {
        "values": _literals.VALUES, "words": _literals.WORDS, "numbers": _literals.NUMBERS
    }  # fmt: skip

    def hashes(names: str) -> NDArray[np.uint64]:
        return np.array([_hash_of(_XSD + name, _literals.SEED) for name in names.split()])

    return LiteralOptions(
        kinds=sum(bits[kind] for kind in literals.split(",") if kind),
        string_type=_hash_of(_XSD + "string", _literals.SEED),
        number_types=hashes(_NUMBER_TYPES),
        date_types=hashes(_DATE_TYPES),
    )


def new_batch(size: int, prefix: int = 0, literals: bool = False) -> batches.Batch:
    """An empty batch for `size` bytes of text. Unused memory pages are never allocated."""
    statements = size // 8 + 2  # the shortest line is <><>"". with a line break, if lenient
    terms = _SLOTS // 2 + 1
    return batches.Batch(
        terms=hashing.Dictionary(
            size=np.zeros(2, np.int64),
            table=np.full(_SLOTS, -1, np.int64),
            hashes=np.empty(terms, np.uint64),
            offsets=np.zeros(terms + 1, np.int64),
            blob=np.empty(size + terms * (prefix + 4) + 64, np.uint8),
        ),
        state=np.zeros(batches.STATE_SIZE, np.int64),
        triples=np.empty((statements, 3), np.int32),
        literals=np.empty((statements, 2), np.int32),
        literal_keys=np.empty(statements, np.uint64),
        labels=np.empty((statements, 3), np.int64),
        label_blob=np.empty(size, np.uint8),
        guesses=np.full((terms, 2), -1, np.int32),
        events=batches.literal_events(*((size, statements, terms) if literals else (0, 0, 0))),
    )
