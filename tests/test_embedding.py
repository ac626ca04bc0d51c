"""What a user holds: cannot be changed, shows itself, and comes from the disk without being read."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pyke


class _Cells(HTMLParser):
    """The tags and the cells of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("name", ["vectors", "types", "triples", "labelled"])
def test_its_arrays_cannot_be_written(family: Path, tmp_path: Path, name: str) -> None:
    made = pyke.embed(family, dimensions=4)
    made.save(tmp_path / "out")
    for embedding in (made, pyke.load(tmp_path / "out")):
        with pytest.raises(ValueError, match="read-only"):
            getattr(embedding, name)[0] = 1
    with pytest.raises(AttributeError):
        setattr(made, name, None)


def test_a_loaded_one_is_mapped_from_its_files(family: Path, tmp_path: Path) -> None:
    pyke.embed(family, dimensions=4).save(tmp_path / "out")
    assert isinstance(pyke.load(tmp_path / "out").vectors, np.memmap)


def test_it_says_what_it_holds(family: Path) -> None:
    assert repr(pyke.embed(family, dimensions=4)) == "<pyke.Embedding: 9 terms × 4 dimensions, 8 triples, 5 typed subjects, 2 classes>"


def test_a_notebook_shows_the_first_terms_with_labels_and_numbers(family: Path) -> None:
    shown = _Cells()
    shown.feed(pyke.embed(family, dimensions=8)._repr_html_())
    assert "http://e/stefan" in shown.texts
    assert "… 4 more" in shown.texts
    assert len([text for text in shown.texts if text.endswith(" …")]) == 5


def test_a_notebook_runs_nothing_that_a_graph_says() -> None:
    evil = "x&lt;script&gt;alert('1')&lt;/script&gt;"
    label = '"<script>alert(1)</script><img src=x onerror=alert(1)>"'
    rows = [(evil, "p", "b"), (evil, "<http://www.w3.org/2000/01/rdf-schema#label>", label)]
    shown = _Cells()
    shown.feed(pyke.embed(pd.DataFrame(rows), dimensions=2)._repr_html_())
    assert set(shown.tags) == {"p", "table", "tr", "th", "td"}
    assert evil in shown.texts
    assert "<script>alert(1)</script><img src=x onerror=alert(1)>" in shown.texts
