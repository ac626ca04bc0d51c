"""The universities of the Lehigh University Benchmark: the same lines, in the same order, as the benchmark's own generator.

`university.py` makes one university; here they become a text, a file, or a graph, on all cores.
"""

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
from pyke.evaluate.lubm.university import (
    CLASSES,
    FIRST_DEPARTMENT,
    FIRST_UNIVERSITY,
    GRADUATE,
    INTERESTS,
    LONGEST_TEXT,
    MOST_DEPARTMENTS,
    MOST_LINES,
    MOST_NAMES,
    MOST_OF,
    OWN,
    OWN_NAME,
    POOL,
    PREDICATES,
    PUBLICATION,
    STRIDE,
    TEXTS,
    Desk,
    Rows,
    Texts,
    drop_literals,
    emit_university,
    fill_rows,
    fill_terms,
    text_size,
    write_lines,
)
from pyke.graph.batches import STATE_SIZE, Batch
from pyke.graph.build import Collector
from pyke.graph.graph import Census, Graph

ONTOLOGY = "http://swat.cse.lehigh.edu/onto/univ-bench.owl"


@dataclass(frozen=True)
class Universities:
    """Which universities: LUBM(count), with the benchmark's seed, from a university on, in the terms of an ontology.

    Each university depends on the seed and its own number alone: LUBM(5) is the beginning of LUBM(10).

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
        for name, least, most in (
            ("count", 1, 2**31 - 1),
            ("seed", -(2**31), 2**31 - 1),
            ("index", 0, 2**31 - 1),
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise UsageError(
                    f"{name} is {value!r}; it must be a whole number from {least} to {most}"
                )
        try:
            pyoxigraph.NamedNode(f"{self.ontology}#name")
        except ValueError as error:
            raise UsageError(
                f"ontology is {self.ontology!r}; it must be an absolute IRI without #: {error}"
            ) from None

    def numbers(self) -> range:
        """The numbers of the universities."""
        return range(self.index, self.index + self.count)


@dataclass(frozen=True)
class Written:
    """What was written."""

    lines: int
    text_bytes: int
    file_bytes: int  # fewer if it was compressed


class _Maker:
    """Makes one university after the other; called from several threads."""

    def __init__(self, which: Universities, literals: bool, header: bool = False) -> None:
        self._seed, self._literals = which.seed, literals
        shared = _shared_texts(which.ontology)
        self._stops = np.cumsum([len(text) for text in shared])
        self._blob = np.frombuffer(b"".join(shared), np.uint8)
        header_lines = (
            f"<> <{RDF_TYPE}> <{_OWL}Ontology> .\n<> <{_OWL}imports> <{which.ontology}> .\n"
        )
        self._header = np.frombuffer(header_lines.encode() if header else b"", np.uint8)
        self._hash_seed = np.uint64(
            secrets.randbits(64)
        )  # as the reader's: no two runs have the same

    def rows(self, university: int) -> tuple[Rows, Texts]:
        """All that is said of a university."""
        own = [b"<http://www.University%d.edu> " % university, b'"University%d" ' % university]
        begin, end = len(self._blob), len(self._blob) + len(own[0]) + len(own[1])
        room = end + MOST_DEPARTMENTS * STRIDE * (
            LONGEST_TEXT + len(own[0])
        )  # pages that are not used cost nothing
        texts = Texts(
            np.empty(room, np.uint8), np.empty(TEXTS, np.int64), np.empty(TEXTS, np.int64)
        )
        texts.blob[:begin], texts.blob[begin:end] = (
            self._blob,
            np.frombuffer(b"".join(own), np.uint8),
        )
        texts.stops[:OWN], texts.stops[OWN], texts.stops[OWN_NAME] = (
            self._stops,
            begin + len(own[0]),
            end,
        )
        texts.starts[0], texts.starts[1:FIRST_DEPARTMENT] = 0, texts.stops[:OWN_NAME]
        desk = _desk(_seed_of(self._seed, university))
        count = emit_university(
            desk, FIRST_UNIVERSITY + university if university < POOL else OWN, texts, end
        )
        if not self._literals:
            count = drop_literals(desk.rows[:count])
        return desk.rows[:count], texts

    def block(self, university: int) -> tuple[Bytes, int]:
        """A university's text, and the number of its lines."""
        rows, texts = self.rows(university)
        start = len(self._header)
        out = np.empty(start + text_size(rows, texts), np.uint8)
        out[:start] = self._header
        write_lines(rows, texts, out[start:])
        return out, len(rows) + (2 if start else 0)

    def batch(self, university: int) -> Batch:
        """A university as if its text had been read, with the reader's hashes."""
        rows, texts = self.rows(university)
        batch, order = _empty_batch(len(rows), TEXTS), np.empty(TEXTS, np.int32)
        fill_rows(rows, texts, self._hash_seed, order, batch)
        terms = int(batch.terms.size[0])
        size = int((texts.stops[order[:terms]] - texts.starts[order[:terms]]).sum())
        batch = batch._replace(terms=batch.terms._replace(blob=np.empty(size, np.uint8)))
        fill_terms(order, texts, self._hash_seed, batch.terms)
        return batch


_OWL = "http://www.w3.org/2002/07/owl#"


def _shared_texts(ontology: str) -> list[bytes]:
    """The texts that all universities share, in the order of their numbers."""
    iris = [
        RDF_TYPE if name == "rdf:type" else f"{ontology}#{name}" for name in (*PREDICATES, *CLASSES)
    ]
    iris += [f"http://www.University{u}.edu" for u in range(POOL)]
    literals = [f"Research{k}" for k in range(INTERESTS)] + ["xxx-xxx-xxxx"]
    literals += [
        f"{kind}{i}" for kind, most in zip(CLASSES, MOST_NAMES, strict=False) for i in range(most)
    ]
    return [f"<{iri}> ".encode() for iri in iris] + [
        f'"{literal}" '.encode() for literal in literals
    ]


def _seed_of(seed: int, university: int) -> int:
    """The state that Java's generator starts from for a university; the benchmark's product overflows to −2³¹."""
    return (seed * -(2**31) + university ^ 0x5DEECE66D) % 2**48


def _desk(state: int) -> Desk:
    """An empty desk, with room for all that a university can have."""
    return Desk(
        random=np.array([state], np.uint64),
        rows=np.empty((MOST_DEPARTMENTS * MOST_LINES, 3), np.int32),
        counts=np.zeros(len(CLASSES), np.int64),
        owners=np.empty(MOST_OF[PUBLICATION], np.int64),
        coauthors=np.empty((5 * MOST_OF[GRADUATE], 2), np.int64),
        picked=np.empty(MOST_OF[GRADUATE], np.int64),
        taken=np.empty(MOST_OF[GRADUATE], np.int64),
    )


def _empty_batch(rows: int, terms: int) -> Batch:
    """A batch with room for rows and terms; it is not searched, so it has no table, and nothing here is a label."""
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
    )


def lines(
    which: Universities, literals: bool = True, header: bool = False, threads: int | None = None
) -> Iterator[memoryview]:
    """N-Triples text of some universities, a block for each, in order.

    Parameters
    ----------
    which : the universities.
    literals : also the lines with literals: names, e-mail addresses, telephones, research interests.
    header : also the benchmark's two lines per university about the file itself, whose subject `<>` is no legal N-Triples.
    threads : how many; as many as there are cores unless given. Does not change the text.

    Examples
    --------
    >>> block = next(lines(Universities(1)))
    >>> bytes(block[:112])
    b'<http://www.University0.edu> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://swat.cse.lehigh.edu/onto/'
    """
    return (block.data for block, _ in _blocks(which, literals, header, threads))


def _blocks(
    which: Universities, literals: bool, header: bool, threads: int | None
) -> Iterator[tuple[Bytes, int]]:
    return ordered_map(
        _Maker(which, literals, header).block, which.numbers(), thread_count(threads)
    )


def batches(
    which: Universities, literals: bool = True, threads: int | None = None
) -> Iterator[Batch]:
    """Some universities as a reader of their text would give them to `ids.Collector`, one batch for each; no text is written.

    Parameters
    ----------
    which : the universities.
    literals : also the statements with literals.
    threads : how many; as many as there are cores unless given. Does not change the result.

    Examples
    --------
    >>> batch = next(batches(Universities(1)))
    >>> len(batch.terms.blob) > 0
    True
    """
    return ordered_map(_Maker(which, literals).batch, which.numbers(), thread_count(threads))


def read(
    which: Universities,
    config: Config | None = None,
    literals: bool = True,
    progress: Progress | None = None,
) -> Graph:
    """The graph of some universities: the same that reading their text gives, to the last id.

    Parameters
    ----------
    which : the universities.
    config : `keep_duplicates`, `count_literals`, `type_predicate` and `threads` matter here.
    literals : also the statements with literals; they are counted, as in any text.
    progress : told how it goes.

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
    """Writes N-Triples of some universities to a file, whole or not at all.

    Parameters
    ----------
    which : the universities.
    path : compressed if it ends in .gz, .zst, .bz2 or .xz; - is standard output.
    literals, header, threads : as for `lines`.
    force : replace a file that is there.
    progress : told how it goes.

    Examples
    --------
    >>> write(Universities(1), "/dev/null")
    Traceback (most recent call last):
    ...
    pyke.errors.OutputExists: /dev/null exists and is no file
    """
    progress = progress or Progress()
    progress.stage("writing", which.count, "universities")
    counted = [0, 0]

    def told() -> Iterator[memoryview]:
        for done, (block, count) in enumerate(_blocks(which, literals, header, threads), 1):
            counted[0] += count
            counted[1] += len(block)
            yield block.data
            progress.advance(done)

    size = write_stream(path, told(), force, thread_count(threads))
    return Written(counted[0], counted[1], size)
