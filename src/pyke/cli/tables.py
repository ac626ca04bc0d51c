"""Tables on a terminal: aligned, at most as wide as the terminal, words never broken."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Collection, Sequence

import typer

from pyke.cli.streams import echo, encodable
from pyke.core.text import printable

DEFAULT_WIDTH = 80  # in files and pipes
MIN_WIDTH = 12  # of a column that is wrapped

Cell = tuple[str, str]  # text, and its style


def is_terminal() -> bool:
    """Whether people read standard output as it is printed."""
    return sys.stdout.isatty() or "COLUMNS" in os.environ


def width() -> int:
    """Columns of the terminal; in a file or a pipe, 80."""
    if is_terminal():
        return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns
    return DEFAULT_WIDTH


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    bold: Collection[tuple[int, int]] = (),
    title: str = "",
) -> None:
    """Print rows of text under a header; columns in `right` are aligned to the right.

    Long text wraps at spaces. A word longer than its column, such as an IRI, stays in one piece:
    put such a column last.
    """
    header = [_shown(column) for column in columns]
    cells = [[_shown(cell) for cell in row] for row in rows]
    widths = _widths(header, cells, width())
    gap = 2 if _total(widths, 2) <= width() or _total(widths, 1) > width() else 1
    if title:
        echo(printable(title), bold=True)
    for line in _lines(header, widths, right, gap=gap):
        echo(line, bold=True)
    echo("─" * min(width() - 1, _total(widths, gap)), dim=True)
    for number, row in enumerate(cells):
        is_bold = {column for line, column in bold if line == number}
        for line in _lines(row, widths, right, is_bold, gap):
            echo(line)
    echo("")


def _shown(text: str) -> str:
    """Text of a cell as it is printed: columns are as wide as this."""
    return encodable(printable(text))


def _widths(header: list[str], cells: list[list[str]], limit: int) -> list[int]:
    """Widths of the columns: as their content needs, less where the table would be too wide."""
    content = [max([_length(row[i]) for row in cells], default=0) for i in range(len(header))]
    widths = [max(_length(text), needed) for text, needed in zip(header, content, strict=True)]
    words = [_longest_word([text]) for text in header]
    smallest = [
        max(word, min(needed, max(MIN_WIDTH, _longest_word([row[i] for row in cells]))))
        for i, (word, needed) in enumerate(zip(words, content, strict=True))
    ]
    if _total([*widths[:-1], smallest[-1]], 1) > limit >= _total(widths[:-1], 1):
        return widths  # the last column is too wide for any table: leave the others as they are
    while _total(widths, 1) > limit:
        room = [w - s for w, s in zip(widths, smallest, strict=True)]
        widest = max(range(len(widths)), key=lambda i: (room[i] > 0, widths[i]))
        if room[widest] <= 0:
            break
        widths[widest] -= 1
    return widths


def _total(widths: list[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _longest_word(texts: Sequence[str]) -> int:
    return max((_length(word) for text in texts for word in text.split()), default=0)


def _length(text: str) -> int:
    """Columns that a text takes; wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _lines(
    row: list[str],
    widths: list[int],
    right: Collection[int],
    bold: Collection[int] = (),
    gap: int = 2,
) -> list[str]:
    """A row as one or more lines."""
    wrapped = [_wrap(text, size) for text, size in zip(row, widths, strict=True)]
    lines = []
    for number in range(max(map(len, wrapped))):
        parts = []
        for i, pieces in enumerate(wrapped):
            text = pieces[number] if number < len(pieces) else ""
            space = " " * (widths[i] - _length(text))
            styled = typer.style(text, bold=True) if i in bold and text else text
            parts.append(space + styled if i in right else styled + space)
        lines.append((" " * gap).join(parts).rstrip())
    return lines


def _wrap(text: str, size: int) -> list[str]:
    if _length(text) <= size:
        return [text]
    pieces = textwrap.wrap(text, size, break_long_words=False, break_on_hyphens=False)
    return pieces or [""]
