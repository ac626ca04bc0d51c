"""Write the embedding directory from the parts of all partitions: one task reads and writes it.

The files are written block by block; the parts need not fit into memory together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.compress import Block
from pyke.graph.terms import Terms
from pyke.pipeline.partitions.job import Job
from pyke.pipeline.partitions.layout import Layout
from pyke.pipeline.partitions.naming import STEM, name_generated
from pyke.pipeline.partitions.storage import write_directory
from pyke.pipeline.partitions.triples import NAMES, predicates_of

BLOCK_BYTES = 8 << 20


def write_embedding(
    job: Job,
    output: str,
    manifest: dict[str, Any],
    particles: Layout,
    named: Sequence[dict[str, Any]],
    force: bool,
) -> None:
    """Write the directory; `named` is what each part of the input says about names."""
    vectors = _vectors(job, particles, manifest["census"]["terms"])
    write_vectors(job, output, manifest, vectors, named, force)


def write_vectors(
    job: Job,
    output: str,
    manifest: dict[str, Any],
    vectors: Iterator[NDArray[Any]],
    named: Sequence[dict[str, Any]],
    force: bool,
) -> None:
    """The same with vectors from elsewhere, some rows at a time."""
    counts, dimensions = manifest["census"], job.config.dimensions
    labels = manifest.pop("labels")
    owners = range(job.partitions)

    def triples() -> Iterator[NDArray[Any]]:
        predicates = predicates_of(job)
        for owner in owners:
            own = job.read("arrange", owner)
            yield np.column_stack([own["first"], predicates[own["middle"]], own["last"]])

    def of(name: str) -> Callable[[], Iterator[NDArray[Any]]]:
        return lambda: (job.read("arrange", owner, NAMES)[name] for owner in owners)

    terms = counts["terms"]
    contents = {
        "vectors.npy": _array((terms, dimensions), "<f4", vectors),
        "terms.txt": _texts(job, named),
        "term_offsets.npy": _array(
            (terms + 1,), "<i8", _offsets(part.offsets for part in _terms(job, named))
        ),
        "types.npy": _array((manifest.pop("types"), 2), "<i4", of("types")()),
        "triples.npy": _array((counts["triples"], 3), "<i4", triples()),
        "labels.txt": (_bytes(blob) for blob in of("label_blob")()),
        "label_offsets.npy": _array((labels + 1,), "<i8", _offsets(of("label_offsets")())),
        "labelled.npy": _array((labels,), "<i4", of("labelled")()),
    }
    write_directory(output, contents, manifest, force)


def _vectors(job: Job, particles: Layout, terms: int) -> Iterator[NDArray[Any]]:
    for begin, owner in zip(
        particles.borders[:-1].tolist(), particles.owners.tolist(), strict=True
    ):
        if begin < terms:
            yield job.read("vectors", owner, str(begin))["vectors"]


def _terms(job: Job, named: Sequence[dict[str, Any]]) -> Iterator[Terms]:
    """The terms of each part; generated names are numbered."""
    stem = STEM + b"x" * (max(part["stem"] for part in named) + 1)
    first = 0
    for number, part in enumerate(named):
        arrays = job.read("number", number)
        terms = Terms(arrays["blob"], arrays["offsets"])
        yield name_generated(terms, stem, first) if part["generated"] else terms
        first += part["generated"]


def _texts(job: Job, named: Sequence[dict[str, Any]]) -> Iterator[Block]:
    return (_bytes(part.blob) for part in _terms(job, named))


def _offsets(parts: Iterator[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """The offsets of texts that follow one another."""
    base = 0
    yield np.zeros(1, np.int64)
    for offsets in parts:
        yield offsets[1:] + base
        base += int(offsets[-1])


def _array(shape: tuple[int, ...], kind: str, parts: Iterator[NDArray[Any]]) -> Iterator[Block]:
    """A file in NumPy's format, from the rows of all parts."""
    header = BytesIO()
    descriptor = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, descriptor)
    yield header.getvalue()
    for part in parts:
        yield _bytes(part.astype(kind, copy=False))


def _bytes(array: NDArray[Any]) -> Block:
    return np.ascontiguousarray(array).data.cast("B") if array.size else b""
