"""Write the table of reference/settings.md from pyke.config. Run: python docs/settings.py."""

from __future__ import annotations

import re
from pathlib import Path

from pyke.config import SETTINGS, Setting

PAGE = Path(__file__).parent / "reference" / "settings.md"
HEADER = "| setting | symbol | default | preset `paper` | values | meaning |"


def table() -> str:
    """The settings as a table in Markdown."""
    rows = [_row(one) for one in SETTINGS]
    return "\n".join([HEADER, "|---|---|---|---|---|---|", *rows])


def _row(one: Setting) -> str:
    paper, values = one.shown_paper, one.shown_bounds.removeprefix("from ")
    cells = (f"`{one.name}`", one.symbol, one.shown_default, paper, values, one.help)
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def updated(page: str) -> str:
    """The page with the current table."""
    return re.sub(rf"{re.escape(HEADER)}\n(\|.*\n)+", lambda _: table() + "\n", page)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
