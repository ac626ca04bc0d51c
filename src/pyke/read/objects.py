"""Read graphs from Python objects: rdflib graphs, data frames and arrays.

The cells of an object are numbered, and its rows become blocks of N-Triples lines for `tokenize`.
The same statements in the same order give the same ids and vectors as a file of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import Bytes, Ids
from pyke.errors import DataError, UsageError
from pyke.graph import _kernels as graph_kernels
from pyke.graph import batches
from pyke.graph.graph import Census, Problem
from pyke.read import tokenize
from pyke.read.columns import CELL_READERS, HEADERS
from pyke.read.find import SYNTAXES, Document
from pyke.read.lines import to_array
from pyke.read.problems import handle_problem

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import rdflib

Inputs: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
# (n, 3) positions in a list of terms, and the list
Numbered: TypeAlias = tuple[NDArray[np.integer[Any]], Sequence[str]]
Source: TypeAlias = (
    "Inputs | rdflib.Graph | pd.DataFrame | pl.DataFrame | pa.Table | NDArray[Any] | Numbered"
)

COLUMNS = ("subject", "predicate", "object")
ROWS_AT_ONCE = 4096  # about as much text as a block of a file

_SYNTAX = {syntax.name: syntax for syntax in SYNTAXES}


class _NotText:
    """A cell that is not a string, such as a missing value. Two such cells are never equal."""

    def __init__(self, value: object) -> None:
        self.value = value


Cell: TypeAlias = str | _NotText


@dataclass(frozen=True)
class Rows:
    """Statements in memory.

    Cells are written as in a TSV file: `<iri>` or a bare name, `_:blank`, or a `"literal"` as in
    N-Triples.
    """

    name: str
    count: int | None  # None if unknown before reading
    numbered: Callable[[], tuple[Ids, list[Cell]]]  # rows of cell numbers, and distinct cells
    syntax: str = "tsv"  # accepts any name; "ntriples" validates IRIs


def rows_or_paths(source: object) -> Rows | list[str | os.PathLike[str]]:
    """The statements of an object, or the paths that a string or list names."""
    for kind in type(source).__mro__:
        if reader := _READERS.get((kind.__module__.split(".")[0], kind.__name__)):
            return reader(source)
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[0], np.ndarray):
        return _of_ids(*source)
    paths: list[Any] = (
        list(source) if isinstance(source, Sequence) and not isinstance(source, str) else [source]
    )
    for path in paths:
        if not isinstance(path, (str, os.PathLike)):
            raise UsageError(
                f"cannot read triples from the type {type(path).__name__}; pass paths, an rdflib "
                "Graph, a pandas or polars DataFrame, a pyarrow Table, an array of strings with "
                "three columns, or (ids, terms)"
            )
    return paths


def read_batches(
    rows: Rows, config: Config, census: Census, advance: Callable[[int], None]
) -> Iterator[batches.Batch]:
    """Statements of all rows, in their order."""
    ids, cells = rows.numbered()
    texts = [_cell_text(cell) for cell in cells]
    invalid = _invalid_cells(ids, texts)
    kept = np.flatnonzero(~invalid.any(axis=1))

    def report(row: int, message: str, column: str = "") -> None:
        advice = (
            'Rows are counted from 0. Fix the row, or use `on_error="skip"` to skip such rows '
            "and count them."
        )
        handle_problem(Problem(f"{rows.name}, row {row}{column}", message), advice, config, census)

    def report_line(line: int, message: str, _count: int = 1, /) -> None:
        report(int(kept[line - 1]), message)

    for row in np.flatnonzero(invalid.any(axis=1)).tolist():
        column = int(invalid[row].argmax())
        problem = _cell_problem(column, cells[ids[row, column]])
        report(row, problem, f", column {COLUMNS[column]}")
    del cells
    document = Document(rows.name, _SYNTAX[rows.syntax], None, 0)
    done = 0
    for batch in tokenize.read_blocks(document, _lines(ids[kept], texts), config, report_line):
        yield batch
        done += int(batch.state[batches.LINES])
        advance(done)


# Objects → numbered cells


class _Numbers(dict[Cell, int]):
    """Numbers cells in the order of their first lookup."""

    def __missing__(self, cell: Cell) -> int:
        number = self[cell] = len(self)
        return number


def _number(cells: Iterable[object]) -> tuple[Ids, list[Cell]]:
    """Number cells, three per row: (n, 3) numbers, and the distinct cells."""
    numbers = _Numbers()
    ids = np.fromiter(
        (numbers[cell if type(cell) is str else _cell(cell)] for cell in cells), np.int32
    ).reshape(-1, 3)
    return ids, list(numbers)


def _cell(value: object) -> Cell:
    """A string as a cell. rdflib terms are refused: their subclass of str hides literals."""
    return str(value) if type(value) in (str, np.str_) else _NotText(value)


# Columns of a slice of rows. Python strings need much more memory than a data frame.
Columns: TypeAlias = Callable[[slice], Sequence[Iterable[object]]]


def _of_columns(
    name: str, shape: tuple[int, ...], names: Sequence[object], columns: Columns
) -> Rows:
    """Rows of an object with three columns."""
    if shape[1] != 3:
        raise DataError(f"the {name} has {shape[1]} columns instead of three: {', '.join(COLUMNS)}")
    found = tuple(str(column).strip().lower() for column in names)
    if meant := [header for header in HEADERS if set(header) == set(found) and header != found]:
        raise DataError(
            f"the {name} has the columns {', '.join(found)}; "
            f"their order must be {', '.join(meant[0])}"
        )

    def cells() -> Iterator[object]:
        for begin in range(0, shape[0], ROWS_AT_ONCE):
            yield from chain.from_iterable(
                zip(*columns(slice(begin, begin + ROWS_AT_ONCE)), strict=True)
            )

    return Rows(name, shape[0], lambda: _number(cells()))


def _of_pandas(frame: Any) -> Rows:
    return _of_columns(
        "pandas DataFrame",
        frame.shape,
        frame.columns,
        lambda rows: [frame.iloc[rows, column].tolist() for column in range(3)],
    )


def _of_polars(frame: Any) -> Rows:
    return _of_columns(
        "polars DataFrame",
        frame.shape,
        frame.columns,
        lambda rows: [column.to_list() for column in frame[rows].get_columns()],
    )


def _of_arrow(table: Any) -> Rows:
    return _of_columns(
        "pyarrow Table",
        table.shape,
        table.column_names,
        lambda rows: [column[rows].to_pylist() for column in table.columns],
    )


def _of_array(array: NDArray[Any]) -> Rows:
    if array.ndim != 2 or array.dtype.kind not in "OUT":
        raise DataError(
            f"the array has the shape {array.shape} and the type {array.dtype}; it must have three "
            "columns of strings. Pass term numbers together with the terms: (ids, terms)."
        )
    return _of_columns("array", array.shape, (), lambda rows: array[rows].T.tolist())


def _of_ids(ids: NDArray[np.integer[Any]], given: Iterable[object]) -> Rows:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UsageError(
            f"the terms of ids are of type {type(given).__name__}; they must be a list of strings"
        )
    terms = list(given)
    if ids.ndim != 2 or ids.shape[1] != 3 or ids.dtype.kind not in "iu":
        raise DataError(
            f"the ids have the shape {ids.shape} and the type {ids.dtype}; "
            "they must be three columns of integers"
        )
    outside = (ids < 0) | (ids >= len(terms))
    if outside.any():
        row, column = np.argwhere(outside)[0].tolist()
        raise DataError(
            f"ids, row {row}, column {COLUMNS[column]}: {ids[row, column]} is not a position in "
            f"the list of {len(terms):,} terms; rows and positions are counted from 0"
        )
    return Rows("ids", len(ids), lambda: (ids.astype(np.int32), [_cell(term) for term in terms]))


_ESCAPES = (("\\", "\\\\"), ("\n", "\\n"), ('"', '\\"'), ("\r", "\\r"))


def _of_rdflib(graph: Any) -> Rows:
    from rdflib import BNode, Literal, URIRef

    def cell(term: Any) -> object:
        if isinstance(term, URIRef):
            return f"<{term}>"
        if isinstance(term, BNode):
            return f"_:{term}"
        if not isinstance(term, Literal):
            return term
        quoted = str(term)
        for character, escape in _ESCAPES:
            quoted = quoted.replace(character, escape)
        if term.language:
            return f'"{quoted}"@{term.language}'
        return f'"{quoted}"^^<{term.datatype}>' if term.datatype else f'"{quoted}"'

    def rows() -> list[list[object]]:
        # The order of rdflib's sets changes from process to process. Sorting makes it repeatable.
        statements = graph.quads((None, None, None, None)) if hasattr(graph, "quads") else graph
        return sorted(
            ([cell(term) for term in statement[:3]] for statement in statements),
            key=lambda row: [str(cell) for cell in row],
        )

    return Rows(
        f"rdflib {type(graph).__name__}, sorted",
        None,
        lambda: _number(chain.from_iterable(rows())),
        "ntriples",
    )


# By package and class name, which avoids importing the libraries.
_READERS: dict[tuple[str, str], Callable[[Any], Rows]] = {
    ("numpy", "ndarray"): _of_array,
    ("pandas", "DataFrame"): _of_pandas,
    ("polars", "DataFrame"): _of_polars,
    ("pyarrow", "Table"): _of_arrow,
    ("rdflib", "Graph"): _of_rdflib,
}

# Numbered cells → N-Triples lines


def _cell_text(cell: Cell) -> bytes:
    """A cell as N-Triples, or nothing if it is invalid in every column."""
    try:
        return b"" if isinstance(cell, _NotText) else CELL_READERS[2](cell).encode()
    except ValueError:
        return b""


def _cell_problem(column: int, cell: Cell) -> str:
    """Why a cell is invalid in a column."""
    if isinstance(cell, _NotText):
        return f"{str(cell.value)[:60]!r} is of type {type(cell.value).__name__}, not a string"
    try:
        CELL_READERS[column](cell).encode()
    except ValueError as error:
        return str(error)
    raise AssertionError(f"{cell!r} is valid")


def _invalid_cells(ids: Ids, texts: list[bytes]) -> NDArray[np.bool_]:
    """(n, 3) mask of cells that are invalid in their column, such as literal subjects."""
    first = np.frombuffer(b"".join(text[:1] or b"!" for text in texts), np.uint8)
    iri, blank, literal = (first == ord(c) for c in '<_"')
    allowed = (iri | blank, iri, iri | blank | literal)
    return np.column_stack([~allowed[column][ids[:, column]] for column in range(3)])


def _lines(ids: Ids, texts: list[bytes]) -> Iterator[Bytes]:
    """Blocks of N-Triples, one line per row."""
    blob = to_array(bytearray().join((*texts, b".")))
    borders = np.zeros(len(texts) + 2, np.int64)
    np.cumsum([*map(len, texts), 1], out=borders[1:])
    for begin in range(0, len(ids), ROWS_AT_ONCE):
        rows = ids[begin : begin + ROWS_AT_ONCE]
        # The last text, a dot, ends each line.
        parts = np.column_stack([rows, np.full(len(rows), len(texts), np.int32)])
        starts, stops = borders[parts].ravel(), borders[parts + 1].ravel()
        ends = np.cumsum(stops - starts + 1) - 1
        block = np.empty(int(ends[-1]) + 1, np.uint8)
        graph_kernels.gather_texts(blob, starts, stops, block)
        block[ends.reshape(-1, 4)[:, :3]] = ord(" ")
        yield block
