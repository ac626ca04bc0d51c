"""Show results in a notebook, and hand them to pandas."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyke.errors import MissingLibrary

if TYPE_CHECKING:
    import pandas as pd


def html_table(
    headers: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "", more: int = 0
) -> str:
    """Return an HTML table with escaped cells; None is an empty cell.

    `title` is the paragraph above the table, and `more` counts the rows that are not shown.

    Examples
    --------
    >>> html_table(["term"], [["<a>"]], more=2)
    '<table><tr><th>term</th></tr><tr><td>&lt;a&gt;</td></tr><tr><td>… 2 more</td></tr></table>'
    """
    lines = [_row("th", headers), *(_row("td", row) for row in rows)]
    if more > 0:
        lines.append(_row("td", [f"… {more:,} more"]))
    above = f"<p>{html.escape(title)}</p>" if title else ""
    return f"{above}<table>{''.join(lines)}</table>"


def _row(tag: str, cells: Iterable[object]) -> str:
    """Return one row of a table."""
    texts = ("" if cell is None else html.escape(str(cell)) for cell in cells)
    return f"<tr>{''.join(f'<{tag}>{text}</{tag}>' for text in texts)}</tr>"


def data_frame(columns: Mapping[Any, Any], index: Any = None) -> pd.DataFrame:
    """Return a pandas DataFrame, or raise MissingLibrary if pandas is not installed.

    Examples
    --------
    >>> list(data_frame({"term": ["a", "b"], "votes": [1, 2]}).columns)
    ['term', 'votes']
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingLibrary("pandas", "to_pandas()", "pandas") from None
    return pd.DataFrame(columns, index=index)
