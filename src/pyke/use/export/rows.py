"""What leaves an embedding: chosen terms with their vectors, labels and types, part by part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats, Ids, Offsets, positions, ranges
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import DataError, MissingLibrary, UsageError
from pyke.graph.terms import Texts

if TYPE_CHECKING:
    import pyarrow as pa

PART_BYTES = (
    4 << 20
)  # of vectors, terms, labels and types: as text some three times as much, and that on each thread
ONLY = ("all", "typed", "entities", "predicates")


@dataclass(frozen=True)
class Options:
    """How to write; the last four are of single formats."""

    force: bool = False
    threads: int = 1
    neighbours: int = 0
    dsn: str = ""
    table: str = ""
    index: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a user wants to know of an export: `altered` texts could not be written as they are, and `note` says how they are written."""

    altered: int = 0
    note: str = ""
    target: str = ""  # if it is not what was asked for
    query: str = ""  # SQL for neighbours


@dataclass(frozen=True, eq=False)
class Rows:
    """The chosen terms of an embedding, in the order of their ids."""

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
        """All vectors: those of the embedding, or a copy of some of them."""
        return (
            self.embedding.vectors
            if len(self) == len(self.embedding)
            else self.embedding.vectors[self.ids]
        )

    @property
    def term_offsets(self) -> Offsets:
        """Where each term begins in the terms of all parts, and the end."""
        sizes = np.diff(self.embedding.terms.offsets)[self.ids]
        return np.append(np.int64(0), np.cumsum(sizes, dtype=np.int64))

    @cached_property
    def typed(self) -> Ids:
        """The subject of each type, in one piece to be searched."""
        return np.ascontiguousarray(self.embedding.types[:, 0])

    def parts(self, part_bytes: int = PART_BYTES) -> Iterator[Part]:
        """The rows in parts of about so many bytes of vectors and texts."""
        ends = np.cumsum(self._sizes()[self.ids])
        borders = np.unique(
            np.searchsorted(ends, np.arange(part_bytes, ends[-1], part_bytes), "right")
        )
        for ids in np.split(self.ids, borders):
            if len(ids):
                yield Part(self, ids)
                self.progress.advance(int(np.searchsorted(self.ids, ids[-1])) + 1)

    def _sizes(self) -> Offsets:
        """The bytes of each term of the embedding: its vector, itself, its label and its types."""
        e = self.embedding
        terms = np.diff(e.terms.offsets)
        sizes = terms + 4 * self.dimensions
        sizes[e.labelled] += np.diff(e.labels.offsets)
        np.add.at(sizes, self.typed, terms[e.types[:, 1]])
        return sizes


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows."""

    rows: Rows
    ids: Ids

    @cached_property
    def vectors(self) -> Floats:
        """(rows, dimensions)."""
        return np.ascontiguousarray(self.rows.embedding.vectors[_as_slice(self.ids)])

    @cached_property
    def terms(self) -> Texts:
        """One per row."""
        return taken(self.rows.embedding.terms, self.ids)

    @cached_property
    def labels(self) -> tuple[Texts, NDArray[np.bool_]]:
        """One per row, empty where there is none; and where there is one."""
        at = positions(self.ids, self.rows.embedding.labelled)
        present = at >= 0
        found = taken(self.rows.embedding.labels, at[present])
        sizes = np.zeros(len(self.ids), np.int64)
        sizes[present] = np.diff(found.offsets)
        return Texts(found.blob, np.append(np.int64(0), np.cumsum(sizes))), present

    @cached_property
    def types(self) -> tuple[Texts, Offsets]:
        """The classes of all rows, one behind the other; those of row i are offsets[i] : offsets[i + 1]."""
        starts, ends = (
            np.searchsorted(self.rows.typed, self.ids, "left"),
            np.searchsorted(self.rows.typed, self.ids, "right"),
        )
        classes = self.rows.embedding.types[:, 1][ranges(starts, ends - starts)]
        return taken(self.rows.embedding.terms, classes), np.append(
            np.int64(0), np.cumsum(ends - starts)
        )


def choose(embedding: Embedding, only: str, progress: Progress) -> Rows:
    """The rows that `only` names: all; typed subjects; entities (neither predicate nor class); predicates."""
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
        raise UsageError(f"--only is {only!r}; it can be: {', '.join(ONLY)}")
    if not len(ids):
        raise DataError(f"no term is left by --only {only}; --only all takes every term")
    return Rows(embedding, ids, progress)


def taken(texts: Texts, ids: NDArray[np.integer[Any]]) -> Texts:
    """Some of the texts, in the order of the ids."""
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
    """Ids that follow one another as a slice, which copies nothing."""
    if len(ids) and ids[-1] - ids[0] == len(ids) - 1 and bool((np.diff(ids) == 1).all()):
        return slice(int(ids[0]), int(ids[-1]) + 1)
    return ids


def need_pyarrow() -> None:
    """Raises MissingLibrary if pyarrow is not installed."""
    try:
        import pyarrow.compute  # noqa: F401
    except ImportError:
        raise MissingLibrary("pyarrow", "this format", "export") from None


def as_binary(blob: NDArray[Any], offsets: Offsets) -> pa.Array:
    """Byte strings of Arrow, without a copy: string i is blob[offsets[i] : offsets[i + 1]]."""
    import pyarrow as pa

    buffers = [
        None,
        pa.py_buffer(np.ascontiguousarray(offsets, np.int64)),
        pa.py_buffer(np.ascontiguousarray(blob)),
    ]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def texts_as_binary(texts: Texts) -> pa.Array:
    """Texts as byte strings of Arrow, without their line breaks."""
    kept = np.ones(len(texts.blob), bool)
    filled = np.diff(texts.offsets) > 0
    kept[texts.offsets[1:][filled] - 1] = False
    return as_binary(texts.blob[kept], texts.offsets - np.append(np.int64(0), np.cumsum(filled)))


def of_width(rows: NDArray[Any]) -> pa.Array:
    """The rows of an array as byte strings of Arrow."""
    width = rows.itemsize * int(np.prod(rows.shape[1:]))
    return as_binary(
        np.ascontiguousarray(rows).view(np.uint8).reshape(-1), np.arange(len(rows) + 1) * width
    )


def side_by_side(*columns: Any) -> pa.Array:
    """Columns of byte strings (a single one stands in every row), joined row by row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = pa.large_binary()
    return pc.binary_join_element_wise(
        *(pa.scalar(c, kind) if isinstance(c, bytes) else c for c in columns), pa.scalar(b"", kind)
    )


def all_bytes(strings: pa.Array) -> memoryview:
    """The byte strings of an array, one behind the other."""
    _, offsets, data = strings.buffers()
    return (
        memoryview(data)[: np.frombuffer(offsets, np.int64)[len(strings)]]
        if len(strings)
        else memoryview(b"")
    )
