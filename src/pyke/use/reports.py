"""Reports: tables and a figure as one HTML page that needs no other file, or the figure alone."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyke.core.files import check_output_file, write_file
from pyke.errors import UsageError
from pyke.use.figures import FORMATS, draw_to, drawn

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.15rem; margin-top: 2rem; }
p { color: #555; max-width: 50rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .8rem; text-align: right; }
th { border-bottom: 2px solid #999; font-weight: 600; }
td { border-bottom: 1px solid #e4e4e4; }
th:first-child, td:first-child { text-align: left; }
td.best { font-weight: 700; }
svg { max-width: 100%; height: auto; margin-top: 1.5rem; }
div.wide { overflow-x: auto; }
"""


@dataclass(frozen=True)
class Table:
    """A table of texts; the cells in `best`, (row, column), are bold."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    best: frozenset[tuple[int, int]] = frozenset()


PAGES = (".html", ".htm")


def check_report(path: Path, force: bool) -> None:
    """Raise an error if a report cannot be written, before any work is done."""
    form = path.suffix.lower()
    if form not in PAGES and form.lstrip(".") not in FORMATS:
        raise UsageError(
            f"cannot write a report to {path}; the extensions are: html, {', '.join(FORMATS)}"
        )
    check_output_file(path, force)


def write_report(path: Path, title: str, tables: Sequence[Table], figure: Any) -> None:
    """Write a page (.html) or the figure (.png, .svg, .pdf); an existing file is replaced."""
    if path.suffix.lower() in PAGES:
        write_file(path, page(title, tables, figure).encode("utf-8", "backslashreplace"))
    else:
        draw_to(figure, path)


def page(title: str, tables: Sequence[Table], figure: Any) -> str:
    """The report as HTML."""
    image = drawn(figure, "svg").decode()
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        *(_table(table, title) for table in tables),
        image[image.index("<svg") :],
    ]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style>"
    )
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _table(table: Table, page_title: str) -> str:
    """A table as HTML; its heading is omitted if it repeats the title of the page."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
    body = "\n".join(
        "<tr>"
        + "".join(
            f"<td{' class=best' if (r, c) in table.best else ''}>{html.escape(cell)}</td>"
            for c, cell in enumerate(row)
        )
        + "</tr>"
        for r, row in enumerate(table.rows)
    )
    note = f"<p>{html.escape(table.note)}</p>" if table.note else ""
    cells = f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    heading = "" if table.title == page_title else f"<h2>{html.escape(table.title)}</h2>\n"
    return f"{heading}{note}<div class=wide>{cells}</div>"
