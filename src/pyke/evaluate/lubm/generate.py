"""Generate universities as text, as a file or as a graph, on all cores."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyoxigraph

from pyke.config import RDF_TYPE, Config, thread_count
from pyke.core.arrays import Bytes
from pyke.core.files import write_stream
from pyke.core.hashing import Dictionary
from pyke.core.parallel import ordered_map
from pyke.core.progress import Progress
from pyke.errors import UsageError
from pyke.evaluate.lubm._batches import fill_rows, fill_terms
from pyke.evaluate.lubm._kernels import Workspace, drop_literals, emit_university
from pyke.evaluate.lubm._tables import (
    CLASSES,
    DEGREE_UNIVERSITIES,
    DEPARTMENT_TEXTS,
    FIRST_DEPARTMENT,
    FIRST_UNIVERSITY,
    GRADUATE,
    INTERESTS,
    MAX_DEPARTMENTS,
    MAX_INDIVIDUALS,
    MAX_LINES,
    MAX_NAMES,
    MAX_TEXT_BYTES,
    OWN_IRI,
    OWN_NAME,
    PREDICATES,
    PUBLICATION,
    TEXTS,
)
from pyke.evaluate.lubm._text import Rows, Texts, text_size, write_lines
from pyke.graph.batches import STATE_SIZE, Batch, literal_events
from pyke.graph.build import Collector
from pyke.graph.graph import Census, Graph

ONTOLOGY = "http://swat.cse.lehigh.edu/onto/univ-bench.owl"

_OWL = "http://www.w3.org/2002/07/owl#"
_INT32 = 2**31  # the benchmark's numbers are Java integers
_BOUNDS = {"count": (1, _INT32 - 1), "seed": (-_INT32, _INT32 - 1), "index": (0, _INT32 - 1)}


@dataclass(frozen=True)
class Universities:
    """The universities to generate.

    A university depends only on the seed and its own number: LUBM(5) is the start of LUBM(10).

    Parameters
    ----------
    count : the number of universities, N in LUBM(N).
    seed : the seed of the benchmark.
    index : the number of the first university.
    ontology : the IRI of the ontology, without `#`.

    Examples
    --------
    >>> Universities(100).seed
    0
    """

    count: int
    seed: int = 0
    index: int = 0
    ontology: str = ONTOLOGY

    def __post_init__(self) -> None:
        for name, (low, high) in _BOUNDS.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise UsageError(
                    f"`{name}` is {value!r}; it must be an integer from {low} to {high}"
                )
        try:
            pyoxigraph.NamedNode(f"{self.ontology}#name")
        except ValueError as error:
            raise UsageError(
                f"`ontology` is {self.ontology!r}; it must be an absolute IRI without #: {error}"
            ) from None

    def numbers(self) -> range:
        """The numbers of the universities."""
        return range(self.index, self.index + self.count)


@dataclass(frozen=True)
class Written:
    """Size of what was written."""

    lines: int
    text_bytes: int
    file_bytes: int  # smaller than text_bytes if the file is compressed


class _Generator:
    """Generates one university per call. Several threads may call it at the same time."""

    def __init__(self, which: Universities, literals: bool, header: bool = False) -> None:
        self._seed, self._literals = which.seed, literals
        shared = _shared_texts(which.ontology)
        self._stops = np.cumsum([len(text) for text in shared])
        self._blob = np.frombuffer(b"".join(shared), np.uint8)
        header_lines = (
            f"<> <{RDF_TYPE}> <{_OWL}Ontology> .\n<> <{_OWL}imports> <{which.ontology}> .\n"
        )
        self._header = np.frombuffer(header_lines.encode() if header else b"", np.uint8)
        # Random, like the hash seed of the reader.
        self._hash_seed = np.uint64(secrets.randbits(64))

    def rows(self, university: int) -> tuple[Rows, Texts]:
        """All statements of a university, as numbers of texts, and the texts."""
        own = [b"<http://www.University%d.edu> " % university, b'"University%d" ' % university]
        texts, end = self._start_texts(own)
        work = _workspace(_start_state(self._seed, university))
        is_shared = university < DEGREE_UNIVERSITIES
        iri = FIRST_UNIVERSITY + university if is_shared else OWN_IRI
        count = emit_university(work, iri, texts, end)
        if not self._literals:
            count = drop_literals(work.rows[:count])
        return work.rows[:count], texts

    def _start_texts(self, own: list[bytes]) -> tuple[Texts, int]:
        """The shared texts and those of the university itself, with space for its departments."""
        begin, end = len(self._blob), len(self._blob) + len(own[0]) + len(own[1])
        # Far more than most universities use; unused pages of memory cost nothing.
        size = end + MAX_DEPARTMENTS * DEPARTMENT_TEXTS * (MAX_TEXT_BYTES + len(own[0]))
        texts = Texts(
            np.empty(size, np.uint8), np.empty(TEXTS, np.int64), np.empty(TEXTS, np.int64)
        )
        texts.blob[:begin] = self._blob
        texts.blob[begin:end] = np.frombuffer(b"".join(own), np.uint8)
        texts.stops[:OWN_IRI] = self._stops
        texts.stops[OWN_IRI], texts.stops[OWN_NAME] = begin + len(own[0]), end
        texts.starts[0], texts.starts[1:FIRST_DEPARTMENT] = 0, texts.stops[:OWN_NAME]
        return texts, end

    def block(self, university: int) -> tuple[Bytes, int]:
        """The text of a university, and its number of lines."""
        rows, texts = self.rows(university)
        start = len(self._header)
        out = np.empty(start + text_size(rows, texts), np.uint8)
        out[:start] = self._header
        write_lines(rows, texts, out[start:])
        return out, len(rows) + (2 if start else 0)

    def batch(self, university: int) -> Batch:
        """A university as the reader of its text would return it."""
        rows, texts = self.rows(university)
        batch, order = _empty_batch(len(rows), TEXTS), np.empty(TEXTS, np.int32)
        fill_rows(rows, texts, self._hash_seed, order, batch)
        terms = int(batch.terms.size[0])
        size = int((texts.stops[order[:terms]] - texts.starts[order[:terms]]).sum())
        batch = batch._replace(terms=batch.terms._replace(blob=np.empty(size, np.uint8)))
        fill_terms(order, texts, self._hash_seed, batch.terms)
        return batch


def _shared_texts(ontology: str) -> list[bytes]:
    """The texts that all universities share, in the order of their numbers."""
    names = (*PREDICATES, *CLASSES)
    iris = [RDF_TYPE if name == "rdf:type" else f"{ontology}#{name}" for name in names]
    iris += [f"http://www.University{u}.edu" for u in range(DEGREE_UNIVERSITIES)]
    literals = [f"Research{k}" for k in range(INTERESTS)] + ["xxx-xxx-xxxx"]
    for kind, count in zip(CLASSES, MAX_NAMES, strict=False):
        literals += [f"{kind}{i}" for i in range(count)]
    texts = [f"<{iri}> " for iri in iris] + [f'"{literal}" ' for literal in literals]
    return [text.encode() for text in texts]


def _start_state(seed: int, university: int) -> int:
    """First state of Java's generator for a university.

    In the benchmark, the product with the seed overflows to a multiple of −2³¹.
    """
    return (seed * -(2**31) + university ^ 0x5DEECE66D) % 2**48


def _workspace(state: int) -> Workspace:
    """Empty arrays that are large enough for any university."""
    return Workspace(
        random=np.array([state], np.uint64),
        rows=np.empty((MAX_DEPARTMENTS * MAX_LINES, 3), np.int32),
        counts=np.zeros(len(CLASSES), np.int64),
        owners=np.empty(MAX_INDIVIDUALS[PUBLICATION], np.int64),
        coauthors=np.empty((5 * MAX_INDIVIDUALS[GRADUATE], 2), np.int64),
        picked=np.empty(MAX_INDIVIDUALS[GRADUATE], np.int64),
        taken=np.empty(MAX_INDIVIDUALS[GRADUATE], np.int64),
    )


def _empty_batch(rows: int, terms: int) -> Batch:
    """A batch with space for rows and terms. Nothing searches its terms, so it has no table."""
    return Batch(
        terms=Dictionary(
            size=np.zeros(2, np.int64),
            table=np.empty(0, np.int64),
            hashes=np.empty(terms, np.uint64),
            offsets=np.zeros(terms + 1, np.int64),
            blob=np.empty(0, np.uint8),
        ),
        state=np.zeros(STATE_SIZE, np.int64),
        triples=np.empty((rows, 3), np.int32),
        literals=np.empty((rows, 2), np.int32),
        literal_keys=np.empty(rows, np.uint64),
        labels=np.empty((0, 3), np.int64),
        label_blob=np.empty(0, np.uint8),
        guesses=np.empty((0, 2), np.int32),
        events=literal_events(0, 0, 0),
    )


def lines(
    which: Universities, literals: bool = True, header: bool = False, threads: int | None = None
) -> Iterator[memoryview]:
    """Generate N-Triples text, one block per university, in order.

    Parameters
    ----------
    which : the universities.
    literals : include lines with literals: names, e-mail addresses, telephones, interests.
    header : include the benchmark's two lines per university about the file itself. Their
        subject `<>` is not valid N-Triples.
    threads : number of threads; all cores by default. The text does not depend on it.

    Examples
    --------
    >>> block = next(lines(Universities(1)))
    >>> bytes(block[:79])
    b'<http://www.University0.edu> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> '
    """
    return (block.data for block, _ in _blocks(which, literals, header, threads))


def _blocks(
    which: Universities, literals: bool, header: bool, threads: int | None
) -> Iterator[tuple[Bytes, int]]:
    """Text and number of lines of each university."""
    generator = _Generator(which, literals, header)
    return ordered_map(generator.block, which.numbers(), thread_count(threads))


def batches(
    which: Universities, literals: bool = True, threads: int | None = None
) -> Iterator[Batch]:
    """Generate one batch of ids per university, as the reader of its text would return it.

    Parameters
    ----------
    which : the universities.
    literals : include statements with literals.
    threads : number of threads; all cores by default. The result does not depend on it.

    Examples
    --------
    >>> batch = next(batches(Universities(1)))
    >>> len(batch.terms.blob) > 0
    True
    """
    generator = _Generator(which, literals)
    return ordered_map(generator.batch, which.numbers(), thread_count(threads))


def read(
    which: Universities,
    config: Config | None = None,
    literals: bool = True,
    progress: Progress | None = None,
) -> Graph:
    """Generate a graph in memory. It is identical to the graph that reading the text gives.

    Parameters
    ----------
    which : the universities.
    config : uses `keep_duplicates`, `count_literals`, `type_predicate` and `threads`. The graph
        has no features of literals.
    literals : include statements with literals; they are counted, as when text is read.
    progress : receives progress.

    Examples
    --------
    >>> read(Universities(1)).census.typed_subjects
    17174
    """
    config, progress = config or Config(), progress or Progress()
    progress.stage("generating", which.count, "universities")
    collector = Collector()
    for done, batch in enumerate(batches(which, literals, config.threads), 1):
        collector.add(batch)
        progress.advance(done)
    return collector.finish(config, Census())


def write(
    which: Universities,
    path: str | os.PathLike[str],
    *,
    literals: bool = True,
    header: bool = False,
    threads: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Written:
    """Write N-Triples to a file. An interrupted or failed run leaves no partial file.

    Parameters
    ----------
    which : the universities.
    path : the file, compressed if it ends in .gz, .zst, .bz2 or .xz; `-` is standard output.
    literals, header, threads : as for `lines`.
    force : replace an existing file.
    progress : receives progress.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Universities(1), f"{folder}/lubm.nt.gz").lines
    103074
    """
    progress = progress or Progress()
    progress.stage("writing", which.count, "universities")
    line_count = text_bytes = 0

    def blocks() -> Iterator[memoryview]:
        nonlocal line_count, text_bytes
        for done, (block, count) in enumerate(_blocks(which, literals, header, threads), 1):
            line_count += count
            text_bytes += len(block)
            yield block.data
            progress.advance(done)

    file_bytes = write_stream(path, blocks(), force, thread_count(threads))
    return Written(line_count, text_bytes, file_bytes)
