"""Write tables: .csv, .tsv, .jsonl (compressed with .gz, .zst … appended) or .parquet.

`write_table` takes columns of Python values. It shares `separated_text` and `parquet_blocks`
with `pyke.use.export`, which passes Arrow arrays.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from pyke.core.arrays import Floats
from pyke.core.arrow import concatenated, join_columns, require_pyarrow
from pyke.core.compress import Block
from pyke.core.files import check_output_file, write_stream
from pyke.core.inputs import extension_of
from pyke.core.parallel import ordered_map
from pyke.core.text import json_text
from pyke.errors import MissingLibrary, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

STANDARD_OUTPUT = "-"

Columns = Mapping[str, Sequence[Any]]  # of equal length; all blocks of a table have the same names
Kinds = Mapping[str, type]  # of the columns: str, int or float; cells may be None
Rows = TypeVar("Rows")

_PARQUET_PURPOSE = "a table as .parquet"


def check_table(path: str | os.PathLike[str], force: bool) -> None:
    """Raise an error if a table cannot be written, before any work is done."""
    if _format_of(path) == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise MissingLibrary("pyarrow", _PARQUET_PURPOSE, "export")
    if os.fspath(path) != STANDARD_OUTPUT:
        check_output_file(Path(path), force)


def write_table(
    path: str | os.PathLike[str],
    kinds: Kinds,
    blocks: Iterable[Columns],
    force: bool = False,
    form: str | None = None,
) -> int:
    """Write blocks of rows atomically; return the number of bytes.

    Standard output gets .tsv, unless `form` is another extension.
    """
    return write_stream(path, _FORMATS[form or _format_of(path)](kinds, blocks), force)


def _format_of(path: str | os.PathLike[str]) -> str:
    """The extension that determines the format of a table."""
    if os.fspath(path) == STANDARD_OUTPUT:
        return ".tsv"
    form = extension_of(path)
    if form not in _FORMATS or (form == ".parquet" and Path(path).suffix.lower() != form):
        raise UsageError(
            f"cannot write a table to {path}; the extensions are {', '.join(_FORMATS)}. "
            "Append .gz or .zst to compress all but .parquet."
        )
    return form


# --------------------------------------------------------------------------------------------------
# Separated text
# --------------------------------------------------------------------------------------------------


def separated_text(
    separator: str,
    names: Sequence[str],
    blocks: Iterable[Rows],
    lines: Callable[[Rows], Block],
    threads: int = 1,
) -> Iterator[Block]:
    """A line of column names, then the lines of each block; `threads` blocks are formatted at once.

    `lines` formats a block: `python_lines` for Python values, `number_lines` for arrays.
    """
    yield python_lines(separator, [tuple(names)])
    yield from map(lines, blocks) if threads == 1 else ordered_map(lines, blocks, threads)


def python_lines(separator: str, rows: list[tuple[Any, ...]]) -> bytes:
    """A line per row; cells with separators, quotes or line breaks are quoted."""

    def text(quoting: Literal[0, 2]) -> str:
        written = io.StringIO()
        writer = csv.writer(written, delimiter=separator, lineterminator="\n", quoting=quoting)
        writer.writerows(rows)
        return written.getvalue()

    shown = text(csv.QUOTE_MINIMAL)
    if "\r" in shown:  # Python before 3.13 does not quote a cell because of a carriage return
        shown = text(csv.QUOTE_NONNUMERIC)
    return shown.encode("utf-8", "replace")


def number_lines(separator: str, numbers: Floats, keys: pa.Array | None = None) -> memoryview:
    """A line per row: the key, if any, and the shortest decimals that read back as equal floats."""
    import pyarrow as pa
    import pyarrow.compute as pc

    count, width = numbers.shape
    texts = pa.array(numbers.reshape(-1)).cast(pa.large_string()).cast(pa.large_binary())
    rows = pa.LargeListArray.from_arrays(np.arange(count + 1) * width, texts)
    joined = pc.binary_join(rows, pa.scalar(separator.encode(), pa.large_binary()))
    before = (keys, separator.encode()) if keys is not None else ()
    return concatenated(join_columns(*before, joined, b"\n"))


def quoted(separator: str, texts: pa.Array) -> pa.Array:
    """Cells of CSV as Arrow byte strings; those with separators, quotes or line breaks quoted."""
    import pyarrow.compute as pc

    special = pc.match_substring_regex(texts, pattern=f'[{separator}"\r\n]')
    if not pc.any(special).as_py():
        return texts
    doubled = pc.replace_substring(texts, pattern=b'"', replacement=b'""')
    return pc.if_else(special, join_columns(b'"', doubled, b'"'), texts)


def _separated(separator: str, kinds: Kinds, blocks: Iterable[Columns]) -> Iterator[Block]:
    rows = (list(zip(*(block[name] for name in kinds), strict=True)) for block in blocks)
    return separated_text(separator, tuple(kinds), rows, partial(python_lines, separator))


# --------------------------------------------------------------------------------------------------
# JSON Lines and Parquet
# --------------------------------------------------------------------------------------------------


def _json_lines(kinds: Kinds, blocks: Iterable[Columns]) -> Iterator[Block]:
    for block in blocks:
        rows = zip(*(block[name] for name in kinds), strict=True)
        yield "".join(json_text(dict(zip(kinds, row, strict=True))) + "\n" for row in rows).encode()


def parquet_blocks(
    schema: pa.Schema, groups: Iterable[pa.Table], **options: Any
) -> Iterator[bytes]:
    """The bytes of a Parquet file, a row group at a time; `options` are those of ParquetWriter."""
    from pyarrow import parquet

    written = io.BytesIO()

    def take() -> bytes:
        piece = written.getvalue()
        written.seek(0)
        written.truncate()
        return piece

    with parquet.ParquetWriter(written, schema, compression="zstd", **options) as writer:
        for group in groups:
            writer.write_table(group, row_group_size=max(1, len(group)))
            yield take()
    yield take()


def _parquet(kinds: Kinds, blocks: Iterable[Columns]) -> Iterator[Block]:
    require_pyarrow(_PARQUET_PURPOSE)
    import pyarrow as pa

    arrow_types = {str: pa.string(), int: pa.int64(), float: pa.float32(), bool: pa.bool_()}
    schema = pa.schema([(name, arrow_types[kind]) for name, kind in kinds.items()])
    groups = (pa.table({name: block[name] for name in kinds}, schema=schema) for block in blocks)
    yield from parquet_blocks(schema, groups)


_FORMATS: dict[str, Callable[[Kinds, Iterable[Columns]], Iterator[Block]]] = {
    ".csv": partial(_separated, ","),
    ".tsv": partial(_separated, "\t"),
    ".jsonl": _json_lines,
    ".parquet": _parquet,
}
