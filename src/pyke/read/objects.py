"""Graphs that a Python program holds already: rdflib graphs, data frames, arrays. They are read as a file of their statements would be.

Each becomes a table of row numbers over its distinct cells; rows are written out as N-Triples, block by block, and take the way of any
text from there on. So the same statements in the same order give the same ids, and the same vectors, wherever they come from.
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
from pyke.core.arrays import Bytes as Text
from pyke.core.arrays import Ids
from pyke.errors import DataError, SyntaxProblem, UsageError
from pyke.graph import _kernels as graph_kernels
from pyke.graph import batches
from pyke.graph.graph import Census, Problem
from pyke.read import tokenize
from pyke.read.columns import CELL_READERS, HEADERS
from pyke.read.find import SYNTAXES, Document
from pyke.read.lines import as_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import rdflib

Inputs: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Numbered: TypeAlias = tuple[
    NDArray[np.integer[Any]], Sequence[str]
]  # (n, 3) positions in a list of terms, and the list
Source: TypeAlias = (
    "Inputs | rdflib.Graph | pd.DataFrame | pl.DataFrame | pa.Table | NDArray[Any] | Numbered"
)

COLUMNS = ("subject", "predicate", "object")
ROWS_AT_ONCE = 4096  # about as much text as a block of a file

_SYNTAX = {syntax.name: syntax for syntax in SYNTAXES}


class _NoText:
    """A cell that is no text, such as a missing value; each is different from all others."""

    def __init__(self, value: object) -> None:
        self.value = value


Cell: TypeAlias = str | _NoText


@dataclass(frozen=True)
class Rows:
    """Statements in memory: what they are called, how many, and how to get them as numbers of their distinct cells.

    Cells are written as in a TSV file: `<iri>` or a bare name, `_:blank`, `"literal"` as in N-Triples.
    """

    name: str
    count: int | None  # None where it takes reading to know
    numbered: Callable[[], tuple[Ids, list[Cell]]]
    syntax: str = "tsv"  # which names may be anything; "ntriples" checks IRIs


def rows_or_paths(source: object) -> Rows | list[str | os.PathLike[str]]:
    """The statements that a source holds, or the paths that it names. Anything else is refused."""
    for kind in type(source).__mro__:
        if of := _KINDS.get((kind.__module__.split(".")[0], kind.__name__)):
            return of(source)
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[0], np.ndarray):
        return _of_ids(*source)
    paths: list[Any] = (
        list(source) if isinstance(source, Sequence) and not isinstance(source, str) else [source]
    )
    for path in paths:
        if not isinstance(path, (str, os.PathLike)):
            raise UsageError(f"the type {type(path).__name__} is nothing to read triples from; there can be paths, an rdflib Graph, a DataFrame of "
                             "pandas or polars, a Table of pyarrow, an array of strings with three columns, or (ids, terms)")  # fmt: skip
    return paths


def read_batches(
    rows: Rows, config: Config, census: Census, advance: Callable[[int], None]
) -> Iterator[batches.Batch]:
    """All statements, in the order of the rows, for `ids.Collector`."""
    ids, cells = rows.numbered()
    texts = [_as_text(cell) for cell in cells]
    wrong = _misplaced(ids, texts)
    kept = np.flatnonzero(~wrong.any(axis=1))

    def complain(row: int, message: str, column: str = "") -> None:
        problem = Problem(f"{rows.name}, row {row}{column}", message)
        if config.on_error == "stop":
            raise SyntaxProblem(
                f"{problem}. Rows are counted from 0. Mend it, or give on_error='skip' to leave such rows out and count them."
            )
        census.errors += 1
        if len(census.problems) < tokenize.PROBLEMS_KEPT:
            census.problems.append(problem)

    for row in np.flatnonzero(wrong.any(axis=1)).tolist():
        column = int(wrong[row].argmax())
        complain(row, _complaint(column, cells[ids[row, column]]), f", column {COLUMNS[column]}")
    del cells
    document = Document(rows.name, _SYNTAX[rows.syntax], None, 0)
    done = 0
    for batch in tokenize.read_blocks(
        document,
        _lines(ids[kept], texts),
        config,
        lambda line, message: complain(int(kept[line - 1]), message),
    ):
        yield batch
        done += int(batch.state[batches.LINES])
        advance(done)


# ---------------------------------------------------------------------------------------------------------------------
# Sources → numbers and cells
# ---------------------------------------------------------------------------------------------------------------------


class _Numbers(dict[Cell, int]):
    """Numbers in the order of the first question."""

    def __missing__(self, cell: Cell) -> int:
        number = self[cell] = len(self)
        return number


def _number(cells: Iterable[object]) -> tuple[Ids, list[Cell]]:
    """Cells, three for each row → rows of numbers, and what they stand for."""
    numbers = _Numbers()
    ids = np.fromiter(
        (numbers[cell if type(cell) is str else _cell(cell)] for cell in cells), np.int32
    ).reshape(-1, 3)
    return ids, list(numbers)


def _cell(value: object) -> Cell:
    """A term of rdflib is not taken for a text, though it is one to Python: a literal would become a name."""
    return str(value) if type(value) in (str, np.str_) else _NoText(value)


Columns: TypeAlias = Callable[
    [slice], Sequence[Iterable[object]]
]  # those of some rows: texts take much more memory in Python than in a frame


def _of_columns(
    name: str, shape: tuple[int, ...], names: Sequence[object], columns: Columns
) -> Rows:
    if shape[1] != 3:
        raise DataError(f"the {name} has {shape[1]} columns instead of three: {', '.join(COLUMNS)}")
    found = tuple(str(column).strip().lower() for column in names)
    if meant := [header for header in HEADERS if set(header) == set(found) and header != found]:
        raise DataError(
            f"the {name} has the columns {', '.join(found)}; their order must be {', '.join(meant[0])}"
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
        raise DataError(f"the array has the shape {array.shape} and the type {array.dtype}; it must have three columns of strings. "
                        "Numbers of terms come with their terms: (ids, terms).")  # fmt: skip
    return _of_columns("array", array.shape, (), lambda rows: array[rows].T.tolist())


def _of_ids(ids: NDArray[np.integer[Any]], given: Iterable[object]) -> Rows:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UsageError(
            f"the terms of ids must be a list of texts, not of type {type(given).__name__}"
        )
    terms = list(given)
    if ids.ndim != 2 or ids.shape[1] != 3 or ids.dtype.kind not in "iu":
        raise DataError(
            f"the ids have the shape {ids.shape} and the type {ids.dtype}; they must be whole numbers in three columns"
        )
    outside = (ids < 0) | (ids >= len(terms))
    if outside.any():
        row, column = np.argwhere(outside)[0].tolist()
        raise DataError(
            f"ids, row {row}, column {COLUMNS[column]}: {ids[row, column]} is none of the {len(terms):,} terms, which are counted from 0"
        )
    return Rows("ids", len(ids), lambda: (ids.astype(np.int32), [_cell(term) for term in terms]))


def _of_rdflib(graph: Any) -> Rows:
    from rdflib import BNode, Literal, URIRef

    def cell(term: Any) -> object:
        if isinstance(term, URIRef):
            return f"<{term}>"
        if isinstance(term, BNode):
            return f"_:{term}"
        if not isinstance(term, Literal):
            return term
        quoted = (
            str(term)
            .replace("\\", "\\\\")
            .replace("\n", "\\n")
            .replace('"', '\\"')
            .replace("\r", "\\r")
        )
        return f'"{quoted}"' + (
            f"@{term.language}"
            if term.language
            else f"^^<{term.datatype}>"
            if term.datatype
            else ""
        )

    def rows() -> list[list[object]]:
        # rdflib keeps sets, whose order is another one in each process: the order of sorted lines stands for it.
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


_KINDS: dict[tuple[str, str], Callable[[Any], Rows]] = {
    ("numpy", "ndarray"): _of_array,
    ("pandas", "DataFrame"): _of_pandas,
    ("polars", "DataFrame"): _of_polars,
    ("pyarrow", "Table"): _of_arrow,
    ("rdflib", "Graph"): _of_rdflib,
}

# ---------------------------------------------------------------------------------------------------------------------
# Numbers and cells → lines
# ---------------------------------------------------------------------------------------------------------------------


def _as_text(cell: Cell) -> bytes:
    """A cell as N-Triples; nothing if it cannot stand anywhere in a statement."""
    try:
        return b"" if isinstance(cell, _NoText) else CELL_READERS[2](cell).encode()
    except ValueError:
        return b""


def _complaint(column: int, cell: Cell) -> str:
    """Why a cell cannot stand in a column."""
    if isinstance(cell, _NoText):
        return f"{str(cell.value)[:60]!r} is of type {type(cell.value).__name__}, not a text"
    try:
        CELL_READERS[column](cell).encode()
    except ValueError as error:
        return str(error)
    raise AssertionError(f"{cell!r} can stand there")


def _misplaced(ids: Ids, texts: list[bytes]) -> NDArray[np.bool_]:
    """(n, 3): which cells cannot stand where they do. Literals are objects, blank nodes no predicates."""
    first = np.frombuffer(b"".join(text[:1] or b"!" for text in texts), np.uint8)
    iri, blank, literal = (first == ord(c) for c in '<_"')
    allowed = (iri | blank, iri, iri | blank | literal)
    return np.column_stack([~allowed[column][ids[:, column]] for column in range(3)])


def _lines(ids: Ids, texts: list[bytes]) -> Iterator[Text]:
    """Blocks of N-Triples, a line for each row."""
    blob = as_text(*texts, b".")
    borders = np.zeros(len(texts) + 2, np.int64)
    np.cumsum([*map(len, texts), 1], out=borders[1:])
    for begin in range(0, len(ids), ROWS_AT_ONCE):
        rows = ids[begin : begin + ROWS_AT_ONCE]
        parts = np.column_stack(
            [rows, np.full(len(rows), len(texts), np.int32)]
        )  # the last text, a dot, ends each line
        starts, stops = borders[parts].ravel(), borders[parts + 1].ravel()
        ends = np.cumsum(stops - starts + 1) - 1
        block = np.empty(int(ends[-1]) + 1, np.uint8)
        graph_kernels.gather_texts(blob, starts, stops, block)
        block[ends.reshape(-1, 4)[:, :3]] = ord(" ")
        yield block
