"""The terms to export, with their vectors, labels and types, in parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats, Ids, Offsets, positions, ranges
from pyke.core.arrow import byte_strings
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import DataError, UsageError
from pyke.graph.terms import Texts

if TYPE_CHECKING:
    import pyarrow as pa

# Bytes of vectors, terms, labels and types. Each thread holds a part, and its text is about three
# times as large.
PART_BYTES = 4 << 20
ONLY = ("all", "typed", "entities", "predicates")


@dataclass(frozen=True)
class Options:
    """The options that every format takes.

    Attributes
    ----------
    force
        Replace an existing target.
    threads
        Threads that format and compress.
    name
        What the embedding is called; a database uses it as the default name of the table.
    """

    force: bool = False
    threads: int = 1
    name: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a writer reports.

    Attributes
    ----------
    altered
        The number of texts that the format cannot represent exactly.
    note
        How the altered texts were written.
    target
        Where the rows are, if this differs from the given target.
    query
        SQL that finds the neighbours of a term.
    """

    altered: int = 0
    note: str = ""
    target: str = ""
    query: str = ""


@dataclass(frozen=True, eq=False)
class Rows:
    """The terms of an embedding to export, in the order of their ids."""

    embedding: Embedding
    ids: Ids
    progress: Progress

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self.embedding.vectors.shape[1])

    @property
    def vectors(self) -> Floats:
        """The vectors of all rows; a copy unless every term is exported."""
        vectors = self.embedding.vectors
        return vectors if len(self) == len(self.embedding) else vectors[self.ids]

    @property
    def term_offsets(self) -> Offsets:
        """Where each term starts in the concatenated terms of all parts, then the end."""
        sizes = np.diff(self.embedding.terms.offsets)[self.ids]
        return np.append(np.int64(0), np.cumsum(sizes, dtype=np.int64))

    @cached_property
    def typed(self) -> Ids:
        """The subject of each type, ascending; contiguous for fast search."""
        return np.ascontiguousarray(self.embedding.types[:, 0])

    @property
    def silent(self) -> Rows:
        """The same rows, for a second pass: `parts` reports no progress."""
        return replace(self, progress=Progress())

    def parts(self, part_bytes: int = PART_BYTES) -> Iterator[Part]:
        """The rows in parts of about `part_bytes` bytes of vectors and texts."""
        self.progress.stage("writing", len(self), "terms")
        ends = np.cumsum(self._sizes()[self.ids])
        borders = np.unique(
            np.searchsorted(ends, np.arange(part_bytes, ends[-1], part_bytes), "right")
        )
        for ids in np.split(self.ids, borders):
            if len(ids):
                yield Part(self, ids)
                self.progress.advance(int(np.searchsorted(self.ids, ids[-1])) + 1)

    def _sizes(self) -> Offsets:
        """Bytes of each term of the embedding: vector, term, label and types."""
        e = self.embedding
        terms = np.diff(e.terms.offsets)
        sizes = terms + 4 * self.dimensions
        sizes[e.labelled] += np.diff(e.labels.offsets)
        np.add.at(sizes, self.typed, terms[e.types[:, 1]])
        return sizes


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the rows."""

    rows: Rows
    ids: Ids

    @cached_property
    def vectors(self) -> Floats:
        """The vectors: (rows, dimensions)."""
        return np.ascontiguousarray(self.rows.embedding.vectors[_as_slice(self.ids)])

    @cached_property
    def terms(self) -> Texts:
        """The term of each row."""
        return select(self.rows.embedding.terms, self.ids)

    @cached_property
    def labels(self) -> tuple[Texts, NDArray[np.bool_]]:
        """The label of each row, empty if missing, and whether the row has a label."""
        at = positions(self.ids, self.rows.embedding.labelled)
        present = at >= 0
        found = select(self.rows.embedding.labels, at[present])
        sizes = np.zeros(len(self.ids), np.int64)
        sizes[present] = np.diff(found.offsets)
        return Texts(found.blob, np.append(np.int64(0), np.cumsum(sizes))), present

    @cached_property
    def types(self) -> tuple[Texts, Offsets]:
        """Concatenated classes of all rows; row i has offsets[i] : offsets[i + 1]."""
        starts = np.searchsorted(self.rows.typed, self.ids, "left")
        counts = np.searchsorted(self.rows.typed, self.ids, "right") - starts
        classes = self.rows.embedding.types[:, 1][ranges(starts, counts)]
        offsets = np.append(np.int64(0), np.cumsum(counts))
        return select(self.rows.embedding.terms, classes), offsets


def choose(embedding: Embedding, only: str, progress: Progress) -> Rows:
    """The rows that `only` selects; entities are neither predicates nor classes."""
    ids: Ids
    if only == "all":
        ids = np.arange(len(embedding), dtype=np.int32)
    elif only == "typed":
        ids = np.unique(embedding.types[:, 0])
    elif only == "entities":
        ids = embedding.entities
    elif only == "predicates":
        ids = embedding.predicates
    else:
        raise UsageError(f"`only` is {only!r}; it must be one of: {', '.join(ONLY)}")
    if not len(ids):
        raise DataError(f'`only="{only}"` selects no terms; `only="all"` exports every term')
    return Rows(embedding, ids, progress)


def select(texts: Texts, ids: NDArray[np.integer[Any]]) -> Texts:
    """The texts with these ids, in their order."""
    at = _as_slice(ids)
    starts, ends = texts.offsets[:-1][at], texts.offsets[1:][at]
    sizes = ends - starts
    blob = (
        texts.blob[starts[0] : ends[-1]]
        if isinstance(at, slice)
        else texts.blob[ranges(starts, sizes)]
    )
    return Texts(np.asarray(blob), np.append(np.int64(0), np.cumsum(sizes, dtype=np.int64)))


def _as_slice(ids: NDArray[np.integer[Any]]) -> Any:
    """Consecutive ids as a slice, which avoids a copy."""
    if len(ids) and ids[-1] - ids[0] == len(ids) - 1 and bool((np.diff(ids) == 1).all()):
        return slice(int(ids[0]), int(ids[-1]) + 1)
    return ids


def texts_as_bytes(texts: Texts) -> pa.Array:
    """Texts as Arrow byte strings, without their final line breaks."""
    kept = np.ones(len(texts.blob), bool)
    filled = np.diff(texts.offsets) > 0
    kept[texts.offsets[1:][filled] - 1] = False
    return byte_strings(texts.blob[kept], texts.offsets - np.append(np.int64(0), np.cumsum(filled)))
