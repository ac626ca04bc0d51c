"""What a user holds: cannot be changed, shows itself, and comes from the disk without being read."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pyke
from graphs import TYPE
from pyke.errors import DamagedStore, UsageError


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
    assert (
        repr(pyke.embed(family, dimensions=4))
        == "<pyke.Embedding: 9 terms × 4 dimensions, 8 triples, 5 typed subjects, 2 classes>"
    )


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


def test_threads_that_cannot_be_are_refused(family: Path) -> None:
    with pytest.raises(UsageError, match="threads is -3"):
        pyke.embed(family, dimensions=2).nearest_of_many(["http://e/anna"], 2, threads=-3)


def test_classes_are_what_is_a_type_of_something_or_said_to_be_a_class(tmp_path: Path) -> None:
    rdfs, owl = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2002/07/owl#"
    path = tmp_path / "graph.nt"
    path.write_text(
        f"<e:a> {TYPE} <e:A> .\n<e:a> <e:p> <e:b> .\n<e:p> {TYPE} <e:Property> .\n<e:A> <{rdfs}subClassOf> <e:B> .\n<e:C> {TYPE} <{owl}Class> .\n"
    )
    made = pyke.embed(path, dimensions=2)
    assert {made.terms[i] for i in made.classes} == {
        "e:A",
        "e:B",
        "e:C",
        "e:Property",
        f"{owl}Class",
    }
    assert {made.terms[i] for i in made.entities} == {"e:a", "e:b"}


def test_settings_that_do_not_exist_are_refused(family: Path) -> None:
    with pytest.raises(UsageError, match="no parameter 'thread'"):
        pyke.embed(family, dimensions=2).update(family, thread=1)


def test_a_manifest_without_counts_is_damage(family: Path) -> None:
    made = pyke.embed(family, dimensions=2)
    for census in ({}, {"first_errors": ["nonsense"]}, {"first_errors": [], "odd": 1}, None):
        with pytest.raises(DamagedStore, match="what was counted"):
            replace(made, manifest=made.manifest | {"census": census}).graph()


def test_terms_tell_how_many_they_are_and_which_come_first(family: Path) -> None:
    made = pyke.embed(family, dimensions=2)
    assert repr(made.terms).startswith(f"<Terms: {len(made)}, 'http://e/stefan', ")
    assert repr(made.labels) == "<Texts: 1, 'Anna'>"
