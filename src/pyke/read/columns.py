"""Convert CSV and TSV tables with three columns to N-Triples lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator

from pyke.core.arrays import Bytes
from pyke.core.inputs import Input
from pyke.errors import DataError
from pyke.read.child import ParserProcess
from pyke.read.find import Document
from pyke.read.lines import MAX_LINE, WithoutByteOrderMark, complete_lines, to_array
from pyke.read.problems import Report

HEADERS = {
    ("subject", "predicate", "object"),
    ("s", "p", "o"),
    ("head", "relation", "tail"),
    ("h", "r", "t"),
}
ROWS_AT_ONCE = 4096


def table_lines(
    document: Document, source: Input, _parser: ParserProcess, report: Report
) -> Iterator[Bytes]:
    """Blocks of N-Triples lines of a table. Skips the first row if it is a usual header.

    A cell is `<iri>` or a bare name, `_:blank`, or a `"literal"` as in N-Triples.
    """
    dialect = (
        {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
        if document.syntax.name == "tsv"
        else {"delimiter": ",", "strict": True}
    )
    csv.field_size_limit(MAX_LINE)
    rows = csv.reader(_text_lines(document, source), **dialect)  # type: ignore[arg-type]
    lines: list[str] = []
    while True:
        try:
            row = next(rows)
            if row and not (rows.line_num == 1 and _is_header(row)):
                lines.append(_row_as_line(row))
        except StopIteration:
            break
        except DataError:
            raise
        except (ValueError, csv.Error) as error:
            report(rows.line_num, str(error))
        if len(lines) >= ROWS_AT_ONCE:
            yield to_array("".join(lines).encode())
            lines.clear()
    if lines:
        yield to_array("".join(lines).encode())


def _text_lines(document: Document, source: Input) -> Iterator[str]:
    """Lines, split at line feeds only. Keeps invalid UTF-8 for `_row_as_line` to refuse."""
    for block in complete_lines(WithoutByteOrderMark(source), document.name):
        for line in block.split(b"\n")[:-1]:
            yield (line + b"\n").decode(errors="surrogateescape")


def _is_header(row: list[str]) -> bool:
    return tuple(cell.strip().lower() for cell in row) in HEADERS


def _row_as_line(row: list[str]) -> str:
    if any("\udc80" <= c <= "\udcff" for cell in row for c in cell):
        raise ValueError("invalid UTF-8")
    if len(row) != 3:
        raise ValueError(f"{len(row)} columns instead of three")
    return " ".join(read(cell) for read, cell in zip(CELL_READERS, row, strict=True)) + " .\n"


_ESCAPE = (
    r"""\\(?:[tbnrf"'\\]"""
    r"|u(?![dD][89a-fA-F])[0-9A-Fa-f]{4}"
    r"|U(?!0000[dD][89a-fA-F])00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})"
)
_LITERAL = re.compile(
    rf'"[^"\\\n\r]*(?:{_ESCAPE}[^"\\\n\r]*)*"'
    r'(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^<[^<>"{}|^`\\\s]*>)?'
)
_BLANK_NODE = re.compile(r"_:[\w](?:[\w.-]*[\w-])?")


def _node(cell: str) -> str:
    if cell.startswith("<") and cell.endswith(">"):
        cell = cell[1:-1]
    elif cell.startswith("_:"):
        if not _BLANK_NODE.fullmatch(cell):
            raise ValueError(f"invalid blank node {cell[:60]!r}")
        return cell
    if not cell or cell.startswith(("_:", '"')) or any(c in cell for c in "<>\n\r"):
        raise ValueError(
            f"invalid name {cell[:60]!r}: a name is not empty, does not start with a quotation "
            "mark, and has no <, > or line break"
        )
    return f"<{cell}>"


def _predicate(cell: str) -> str:
    if cell.startswith("_:"):
        raise ValueError(f"the predicate {cell!r} is a blank node")
    return _node(cell)


def _object(cell: str) -> str:
    if _LITERAL.fullmatch(cell):
        return cell
    if cell.startswith('"'):
        raise ValueError(f"invalid literal {cell[:60]!r}; write it as in N-Triples")
    return _node(cell)


# For each column: converts a cell to N-Triples, or raises ValueError.
CELL_READERS: tuple[Callable[[str], str], ...] = (_node, _predicate, _object)
