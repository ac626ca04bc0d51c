"""Tables on a terminal: aligned, at most as wide as the terminal, words never broken."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import typer

from pyke.cli.streams import echo, encodable
from pyke.core.text import cut, printable

DEFAULT_WIDTH = 80  # in files and pipes
MIN_WIDTH = 12  # of a column that is wrapped
MAX_CELL = 2000  # characters: a label may have millions, and wrapping them takes minutes


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
    put such a column last. If it does not fit beside the others, its cells are on lines of their
    own.
    """
    header = [_shown(column) for column in columns]
    cells = [[_shown(cell) for cell in row] for row in rows]
    layout = _layout(header, cells, width(), right)
    if title:
        echo(printable(title), bold=True)
    for line in _lines(header, layout, right):
        echo(line, bold=True)
    echo("─" * min(width() - 1, layout.total), dim=True)
    for number, row in enumerate(cells):
        is_bold = {column for line, column in bold if line == number}
        for line in _lines(row, layout, right, is_bold):
            echo(line)
    echo("")


def _shown(text: str) -> str:
    """Text of a cell as it is printed: columns are as wide as this. Very long labels are cut."""
    return encodable(printable(cut(text, MAX_CELL)))


@dataclass(frozen=True)
class _Layout:
    """Where the cells of a table are."""

    widths: list[int]  # of the columns
    gap: int  # spaces between columns
    limit: int  # columns of the terminal
    indent: int | None = None  # of the last column, if its cells are on lines of their own

    @property
    def total(self) -> int:
        """Columns of the terminal that the table takes."""
        if self.indent is None:
            return _total(self.widths, self.gap)
        return max(_total(self.widths[:-1], self.gap), self.indent + self.widths[-1])

    def below(self, text: str) -> list[str]:
        """A cell of the last column on lines of its own, further left if it needs the space."""
        start = self.indent
        if start is None:
            start = _total([*self.widths[:-1], 0], self.gap)
        start = max(0, min(start, self.limit - _longest_word([text])))
        return [" " * start + line for line in _wrap(text, self.limit - start)]


def _layout(
    header: list[str], cells: list[list[str]], limit: int, right: Collection[int] = ()
) -> _Layout:
    """The layout of a table that is at most as wide as the limit, if this is possible."""
    # A word that is longer than a line fits nowhere, and must not change the layout.
    cells = [[*row[:-1], row[-1] if _longest_word([row[-1]]) <= limit else ""] for row in cells]
    content = [max([_length(row[i]) for row in cells], default=0) for i in range(len(header))]
    words = [_longest_word([row[i] for row in cells]) for i in range(len(header))]
    headers = [_longest_word([text]) for text in header]
    whole = [max(pair) for pair in zip(headers, content, strict=True)]
    is_text = words[-1] < content[-1]  # the last column can be wrapped, unlike IRIs
    is_number = len(header) - 1 in right  # it is narrow: others are wrapped
    if len(header) > 1 and not is_text and not is_number and _total(whole, 1) > limit:
        return _last_below(header, cells, limit, right)
    smallest = [
        max(word, min(needed, max(MIN_WIDTH, longest)))
        for word, needed, longest in zip(headers, content, words, strict=True)
    ]
    widths = [max(_length(text), needed) for text, needed in zip(header, content, strict=True)]
    while _total(widths, 1) > limit:
        room = [w - s for w, s in zip(widths, smallest, strict=True)]
        widest = max(range(len(widths)), key=lambda i: (room[i] > 0, widths[i]))
        if room[widest] <= 0:
            return (
                _last_below(header, cells, limit, right)
                if len(header) > 2
                else _Layout(widths, 1, limit)
            )
        widths[widest] -= 1
    return _Layout(widths, 1 if limit < _total(widths, 2) else 2, limit)


def _last_below(
    header: list[str], cells: list[list[str]], limit: int, right: Collection[int]
) -> _Layout:
    """A layout with the cells of the last column on lines of their own."""
    others = _layout(header[:-1], [row[:-1] for row in cells], limit, right)
    texts = [i for i in range(1, len(header) - 1) if i not in right]
    indent = _total([*others.widths[: texts[-1]], 0], others.gap) if texts else 2
    last = max(_length(text) for text in (header[-1], *(row[-1] for row in cells)))
    return _Layout([*others.widths, min(last, limit - indent)], others.gap, limit, indent)


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
    row: list[str], layout: _Layout, right: Collection[int], bold: Collection[int] = ()
) -> list[str]:
    """A row as one or more lines."""
    widths, gap = layout.widths, layout.gap
    if layout.indent is not None or _longest_word([row[-1]]) > widths[-1]:
        *others, last = row
        below = layout.below(last) if last else []
        if len(others) in bold:
            below = [typer.style(line, bold=True) for line in below]
        above = _Layout(widths[:-1], gap, layout.limit)
        return [*(_lines(others, above, right, bold) if others else []), *below]
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
