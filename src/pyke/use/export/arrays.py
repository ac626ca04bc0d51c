"""Export vectors in binary: a directory of .npy files, or one file of safetensors."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pyke.core.arrays import Offsets
from pyke.core.compress import Block
from pyke.core.files import Content, write_directory, write_stream
from pyke.use.export.rows import Options, Outcome, Rows


def npy(rows: Rows, target: str, options: Options) -> Outcome:
    """Write a directory with the vectors and the terms, one per line."""
    contents: dict[str, Content] = {
        "vectors.npy": _npy(rows),
        "terms.txt": _terms(rows),
        "term_offsets.npy": rows.term_offsets,
    }
    manifest = {"format": "pyke-vectors", "terms": len(rows), "dimensions": rows.dimensions}
    write_directory(Path(target), contents, manifest, options.force)
    return Outcome()


def _npy(rows: Rows) -> Iterator[Block]:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (len(rows), rows.dimensions)}
    )
    yield header.getvalue()
    yield from _vectors(rows)


def _vectors(rows: Rows) -> Iterator[Block]:
    for part in rows.parts():
        yield part.vectors.astype("<f4", copy=False).data.cast("B")


def _terms(rows: Rows) -> Iterator[Block]:
    """The terms, a line break after each; a second pass, after the vectors."""
    for part in rows.silent.parts():
        yield part.terms.blob.data


def safetensors(rows: Rows, target: str, options: Options) -> Outcome:
    """Write three tensors: vectors, terms (UTF-8, a line break after each) and term_offsets."""
    write_stream(target, _safetensors(rows, rows.term_offsets), options.force, options.threads)
    return Outcome()


def _safetensors(rows: Rows, offsets: Offsets) -> Iterator[Block]:
    """The blocks of a file: a header in JSON and the tensors. The library needs all in memory."""
    shapes = {  # the widest numbers first, to keep all tensors aligned
        "term_offsets": ("I64", (len(offsets),), 8 * len(offsets)),
        "vectors": ("F32", (len(rows), rows.dimensions), 4 * len(rows) * rows.dimensions),
        "terms": ("U8", (int(offsets[-1]),), int(offsets[-1])),
    }
    how = {"format": "pyke", "term i": "terms[term_offsets[i] : term_offsets[i + 1] - 1]"}
    header: dict[str, Any] = {"__metadata__": how}
    end = 0
    for name, (kind, shape, size) in shapes.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": (end, end + size)}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    yield offsets.astype("<i8").data.cast("B")
    yield from _vectors(rows)
    yield from _terms(rows)
