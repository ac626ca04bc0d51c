"""Tables for notebooks and for pandas."""

from __future__ import annotations

import sys

import pytest

from pyke.core.notebook import data_frame, html_table
from pyke.errors import MissingLibrary


def test_cells_are_escaped_and_none_is_empty() -> None:
    table = html_table(["a<b"], [["<script>", None]], title="x & y")
    assert table == (
        "<p>x &amp; y</p><table><tr><th>a&lt;b</th></tr>"
        "<tr><td>&lt;script&gt;</td><td></td></tr></table>"
    )


def test_a_table_says_how_many_rows_it_does_not_show() -> None:
    assert "… 1,200 more" in html_table(["a"], [["1"]], more=1200)
    assert "more" not in html_table(["a"], [["1"]])


def test_a_missing_pandas_is_reported_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingLibrary, match=r"pip install '\.\[pandas\]'"):
        data_frame({"a": [1]})
