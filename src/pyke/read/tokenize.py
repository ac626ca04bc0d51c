"""Lines → statements, strictly, on all cores.

Our own kernel tokenizes block by block; a line that it is not sure of is decided by pyoxigraph. What pyoxigraph wrote itself, for the
other syntaxes, takes the same way without being checked again.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyoxigraph

from pyke.config import Config
from pyke.core import hashing
from pyke.core.arrays import Bytes as Text
from pyke.core.inputs import Input, read_ahead
from pyke.core.parallel import ordered_map
from pyke.core.progress import Progress
from pyke.errors import SyntaxProblem, UsageError
from pyke.graph import batches
from pyke.graph.graph import Census, Problem
from pyke.read import _kernels, _scanners
from pyke.read.find import Document
from pyke.read.lines import Report, as_text
from pyke.read.parse import blocks_of, clean_message
from pyke.read.sandbox import odd_iri

PROBLEMS_KEPT = 10
_SLOTS = 1 << 15

LABEL_PREDICATES = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
)
_XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def new_batch(size: int, prefix: int = 0) -> batches.Batch:
    """An empty batch with room for what `size` bytes of text can hold; pages that are not used cost nothing."""
    statements = size // 8 + 2  # the shortest is <><>"". in lenient reading, and a line break
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
    )


@dataclass
class _Stretch:
    """The batches of one block, and its bad lines, counted from the block's first."""

    batches: list[batches.Batch]
    problems: list[tuple[int, str]]
    size: int  # bytes in the block: a batch has room for what is left of it, whatever line it was begun for

    @property
    def lines(self) -> int:
        return sum(int(batch.state[batches.LINES]) for batch in self.batches)


class _BlockReader:
    """Turns blocks of one document into batches; called from several threads."""

    def __init__(self, document: Document, number: int | None, config: Config, seed: int) -> None:
        prefix = b"" if number is None else b"d%d_" % number
        self._dialect = dialect(
            seed, document.syntax.name != "ntriples", document.syntax.kind != "lines", prefix
        )
        self._rewritten = self._dialect._replace(trusted=True, quads=True)
        self._strict = config.on_error == "stop"
        self._format = getattr(pyoxigraph.RdfFormat, document.syntax.oxigraph or "N_QUADS")
        self._lenient = config.lenient

    def read(self, text: Text) -> _Stretch:
        """All lines of a block; in strict reading, up to the first bad one."""
        stretch = _Stretch([new_batch(len(text), len(self._dialect.blank_prefix))], [], len(text))
        at = 0
        while (at := self._tokenize(text, at, self._dialect, stretch)) < len(text):
            end = at + int(np.argmax(text[at:] == ord("\n"))) + 1
            before = stretch.lines
            if problem := self._decide(text[at:end].tobytes(), stretch):
                stretch.problems.append((before + 1, problem))
                if self._strict:
                    break
            stretch.batches[-1].state[batches.LINES] += before + 1 - stretch.lines
            at = end
        return stretch

    def _tokenize(self, text: Text, at: int, dialect: _scanners.Dialect, stretch: _Stretch) -> int:
        """Reads on from `at`, in as many batches as it takes; the position of the first line that pyoxigraph has to decide."""
        while True:
            batch = stretch.batches[-1]
            at = _kernels.tokenize(text, at, len(text), dialect, batch)
            if at == len(text) or batch.terms.size[0] + 3 < _SLOTS // 2:
                return at
            stretch.batches.append(
                new_batch(max(stretch.size, len(text)), len(self._dialect.blank_prefix))
            )

    def _decide(self, line: bytes, stretch: _Stretch) -> str:
        """A line that the kernel left: pyoxigraph reads it, or says what is wrong with it."""
        if not self._dialect.trusted:
            try:
                quads = list(pyoxigraph.parse(line, format=self._format, lenient=self._lenient))
            except SyntaxError as error:
                return clean_message(str(error))
            except MemoryError:
                return "a token is longer than 16 MiB, the most that the parser takes"
            if self._lenient and (odd := next(filter(None, map(odd_iri, quads)), None)):
                return f"{odd} is too odd an IRI even for lenient reading"
            text = as_text(pyoxigraph.serialize(quads, format=pyoxigraph.RdfFormat.N_QUADS))  # type: ignore[arg-type]
            if self._tokenize(text, 0, self._rewritten, stretch) == len(text):
                return ""
        return f"{line[:80]!r} cannot be read"


def dialect(seed: int, quads: bool, trusted: bool, blank_prefix: bytes = b"") -> _scanners.Dialect:
    """How to read a document; the hashes' seed is drawn anew for each run, so that no file can aim at collisions."""

    def hashed(iri: str) -> np.uint64:
        text = as_text(iri.encode())
        return np.uint64(hashing.hash_bytes(text, 0, len(text), np.uint64(seed)))

    return _scanners.Dialect(
        seed=np.uint64(seed),
        quads=quads,
        trusted=trusted,
        blank_prefix=as_text(blank_prefix),
        label_hashes=np.array([hashing.mix(hashed(iri)) for iri in LABEL_PREDICATES], np.uint64),
        string_hash=hashed(_XSD_STRING),
        forbidden_hashes=np.array(
            [hashed(_RDF + "langString"), hashed(_RDF + "dirLangString")], np.uint64
        ),
    )


class _Complaints:
    """What is done about problems in one document: stop at the first, or count them and keep the first few."""

    def __init__(self, document: Document, config: Config, census: Census) -> None:
        self._document, self._config, self._census = document, config, census

    def add(self, line: int, message: str, count: int = 1) -> None:
        """A problem at a line (0 where it is not known) that costs a number of statements."""
        name = "standard input" if self._document.name == "-" else self._document.name
        problem = Problem(f"{name}:{line}" if line else name, message)
        if self._config.on_error == "stop":
            advice = "Mend the file, or give --on-error skip to leave such lines out and count them"
            if (
                "scheme" in message
                and not self._config.base
                and self._document.syntax.kind != "lines"
            ):
                advice = "Relative IRIs need --base"
            elif "IRI" in message and not self._config.lenient:
                advice += ", or --lenient to keep odd IRIs"
            raise SyntaxProblem(
                f"{problem}. {advice}. (Read as {self._document.syntax.name}; --format says otherwise.)"
            )
        self._census.errors += count
        if len(self._census.problems) < PROBLEMS_KEPT:
            self._census.problems.append(problem)


def read_batches(
    documents: Sequence[Document],
    config: Config,
    census: Census,
    progress: Progress,
    share: float = 1.0,
) -> Iterator[batches.Batch]:
    """All statements of all documents, in the order of the text, whatever the number of threads; or the first part of each."""
    if config.base is not None:
        try:
            pyoxigraph.NamedNode(config.base)
        except ValueError as error:
            raise UsageError(
                f"base is {config.base!r}; it must be an absolute IRI: {error}"
            ) from None
    seed = secrets.randbits(64)
    done = 0
    for number, document in enumerate(documents):
        with Input(document.name, document.compression) as source:
            complaints = _Complaints(document, config, census)
            reader = _BlockReader(document, number if len(documents) > 1 else None, config, seed)
            blocks = _first_part(blocks_of(document, source, config, complaints.add), source, share)
            for batch in _batches(reader, blocks, config.threads, complaints.add):
                yield batch
                progress.advance(done + source.consumed)
            done += source.consumed
    census.bytes = done


def read_blocks(
    document: Document, blocks: Iterator[Text], config: Config, report: Report
) -> Iterator[batches.Batch]:
    """All statements of blocks that are there already; a problem is reported with the number of its line, from 1."""
    return _batches(
        _BlockReader(document, None, config, secrets.randbits(64)), blocks, config.threads, report
    )


def _batches(
    reader: _BlockReader, blocks: Iterator[Text], threads: int, report: Report
) -> Iterator[batches.Batch]:
    lines = 0
    for stretch in ordered_map(reader.read, read_ahead(blocks), threads, depth=2 * threads + 1):
        for line, message in stretch.problems:
            report(lines + line, message)
        lines += stretch.lines
        yield from stretch.batches


def _first_part(blocks: Iterator[Text], source: Input, share: float) -> Iterator[Text]:
    """The blocks of about the first `share` of an input."""
    for block in blocks:
        yield block
        if share < 1 and source.consumed >= share * source.size:
            return
