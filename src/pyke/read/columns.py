"""CSV and TSV tables with three columns, converted to N-Triples lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator

from pyke.config import Config
from pyke.core.arrays import Bytes as Text
from pyke.core.inputs import Input
from pyke.errors import DataError
from pyke.read.find import Document
from pyke.read.lines import GREATEST_LINE, Report, as_text, whole_lines

HEADERS = {
    ("subject", "predicate", "object"),
    ("s", "p", "o"),
    ("head", "relation", "tail"),
    ("h", "r", "t"),
}

_ESCAPE = r"""\\(?:[tbnrf"'\\]|u(?![dD][89a-fA-F])[0-9A-Fa-f]{4}|U(?!0000[dD][89a-fA-F])00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})"""

_LITERAL = re.compile(
    rf'"[^"\\\n\r]*(?:{_ESCAPE}[^"\\\n\r]*)*"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^<[^<>"{{}}|^`\\\s]*>)?'
)

_BLANK = re.compile(r"_:[\w](?:[\w.-]*[\w-])?")


def table_lines(
    document: Document, source: Input, config: Config, report: Report
) -> Iterator[Text]:
    """Three columns: `<iri>` or a bare name, `_:blank`, `"literal"` as in N-Triples; a usual header is passed over."""
    dialect = (
        {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
        if document.syntax.name == "tsv"
        else {"delimiter": ",", "strict": True}
    )
    csv.field_size_limit(GREATEST_LINE)
    rows = csv.reader(_text_lines(document, source, config, report), **dialect)  # type: ignore[arg-type]
    written: list[str] = []
    while True:
        try:
            row = next(rows)
            if not row or (
                rows.line_num == 1 and tuple(cell.strip().lower() for cell in row) in HEADERS
            ):
                continue
            written.append(_row_as_line(row))
        except StopIteration:
            break
        except DataError:
            raise
        except (ValueError, csv.Error) as error:
            report(rows.line_num, str(error))
        if len(written) >= 4096:
            yield as_text("".join(written).encode())
            written.clear()
    if written:
        yield as_text("".join(written).encode())


def _text_lines(document: Document, source: Input, config: Config, report: Report) -> Iterator[str]:
    """Lines, ended by line feeds only; bad UTF-8 is kept for the row to be refused."""
    for block in whole_lines(document, source, config, report):
        for line in block.tobytes().split(b"\n")[:-1]:
            yield (line + b"\n").decode(errors="surrogateescape")


def _row_as_line(row: list[str]) -> str:
    if any("\udc80" <= c <= "\udcff" for cell in row for c in cell):
        raise ValueError("bad UTF-8")
    if len(row) != 3:
        raise ValueError(f"{len(row)} columns instead of three")
    return " ".join(read(cell) for read, cell in zip(CELL_READERS, row, strict=True)) + " .\n"


def _node(cell: str) -> str:
    if cell.startswith("<") and cell.endswith(">"):
        cell = cell[1:-1]
    elif cell.startswith("_:"):
        if not _BLANK.fullmatch(cell):
            raise ValueError(f"{cell[:60]!r} is no blank node")
        return cell
    if not cell or cell.startswith(("_:", '"')) or any(c in cell for c in "<>\n\r"):
        raise ValueError(
            f"{cell[:60]!r} cannot be a name: it is empty, starts with a quotation mark, or has <, > or a line break in it"
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
        raise ValueError(f"{cell[:60]!r} is no literal of N-Triples")
    return _node(cell)


# A cell of each column as N-Triples, or ValueError.
CELL_READERS: tuple[Callable[[str], str], ...] = (_node, _predicate, _object)
