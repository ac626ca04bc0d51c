"""Columns → a table in a file: .csv, .tsv, .jsonl (compressed if .gz, .zst … follows) or .parquet; or on standard output."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pyke.core.files import check_file, write_stream
from pyke.core.inputs import ending_of
from pyke.errors import MissingLibrary, UsageError

STANDARD_OUTPUT = "-"

Columns = Mapping[str, Sequence[Any]]  # equally long, the same names in all blocks of a table
Kinds = Mapping[str, type]  # of the columns: str, int or float; None may stand in each


def check_table(path: str | os.PathLike[str], force: bool) -> None:
    """Refuses a table that could not be written, before there is anything to write."""
    if _form_of(path) == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise _no_pyarrow()
    if os.fspath(path) != STANDARD_OUTPUT:
        check_file(Path(path), force)


def write_table(
    path: str | os.PathLike[str],
    kinds: Kinds,
    blocks: Iterable[Columns],
    force: bool = False,
    form: str | None = None,
) -> int:
    """Writes blocks of rows, whole or not at all; its bytes. On standard output a table is .tsv, unless `form` says otherwise."""
    return write_stream(path, _FORMS[form or _form_of(path)](kinds, blocks), force)


def _form_of(path: str | os.PathLike[str]) -> str:
    if os.fspath(path) == STANDARD_OUTPUT:
        return ".tsv"
    form = ending_of(path)
    if form not in _FORMS or (form == ".parquet" and Path(path).suffix.lower() != form):
        raise UsageError(
            f"a table cannot be written to {path}; the endings are {', '.join(_FORMS)}, all but the last also with .gz or .zst behind"
        )
    return form


def _separated(separator: str) -> Callable[[Kinds, Iterable[Columns]], Iterator[bytes]]:
    """A line of names, then the rows; cells with separators, quotes or line breaks in them are quoted."""

    def text(rows: list[tuple[Any, ...]], quoting: Literal[0, 2] = csv.QUOTE_MINIMAL) -> str:
        written = io.StringIO()
        csv.writer(written, delimiter=separator, lineterminator="\n", quoting=quoting).writerows(
            rows
        )
        return written.getvalue()

    def lines(kinds: Kinds, blocks: Iterable[Columns]) -> Iterator[bytes]:
        for rows in chain(
            [[tuple(kinds)]],
            (list(zip(*(block[name] for name in kinds), strict=True)) for block in blocks),
        ):
            shown = text(rows)
            if (
                "\r" in shown
            ):  # Python before 3.13 does not quote a carriage return for its own sake
                shown = text(rows, csv.QUOTE_NONNUMERIC)
            yield shown.encode("utf-8", "replace")

    return lines


def _json_lines(kinds: Kinds, blocks: Iterable[Columns]) -> Iterator[bytes]:
    for block in blocks:
        rows = zip(*(block[name] for name in kinds), strict=True)
        yield "".join(
            json.dumps(dict(zip(kinds, row, strict=True)), ensure_ascii=False) + "\n"
            for row in rows
        ).encode("utf-8", "replace")


def _no_pyarrow() -> MissingLibrary:
    return MissingLibrary("pyarrow", "a table as .parquet", "export")


def _parquet(kinds: Kinds, blocks: Iterable[Columns]) -> Iterator[bytes]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise _no_pyarrow() from None
    arrow_types = {str: pa.string(), int: pa.int64(), float: pa.float32()}
    schema = pa.schema([(name, arrow_types[kind]) for name, kind in kinds.items()])
    written = io.BytesIO()

    def taken() -> bytes:
        piece = written.getvalue()
        written.seek(0)
        written.truncate()
        return piece

    with parquet.ParquetWriter(written, schema, compression="zstd") as writer:
        for block in blocks:
            writer.write_table(pa.table({name: block[name] for name in kinds}, schema=schema))
            yield taken()
    yield taken()


_FORMS: dict[str, Callable[[Kinds, Iterable[Columns]], Iterator[bytes]]] = {
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".jsonl": _json_lines,
    ".parquet": _parquet,
}
