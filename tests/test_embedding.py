"""An embedding is immutable, answers by name, shows itself, and is mapped from the disk."""

from __future__ import annotations

import mmap
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pyke
from graphs import FAMILY, TYPE
from pyke.embedding import Embedding, Neighbour, NeighbourList
from pyke.errors import DamagedStore, UnknownTerm, UsageError
from pyke.graph.terms import Texts


class _Cells(HTMLParser):
    """Collects the tags and the texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("name", ["vectors", "types", "triples", "labelled"])
def test_the_arrays_of_an_embedding_are_read_only(family: Path, tmp_path: Path, name: str) -> None:
    made = pyke.embed(family, dimensions=4)
    made.save(tmp_path / "out")
    for embedding in (made, pyke.load(tmp_path / "out")):
        with pytest.raises(ValueError, match="read-only"):
            getattr(embedding, name)[0] = 1
    with pytest.raises(AttributeError):
        setattr(made, name, None)


def test_a_loaded_embedding_is_mapped_from_its_files(family: Path, tmp_path: Path) -> None:
    pyke.embed(family, dimensions=4).save(tmp_path / "out")
    base: Any = pyke.load(tmp_path / "out").vectors
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(getattr(base, "obj", base), mmap.mmap)


def test_the_repr_gives_sizes(family: Path) -> None:
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


def test_a_notebook_escapes_terms_and_labels() -> None:
    evil = "x&lt;script&gt;alert('1')&lt;/script&gt;"
    label = '"<script>alert(1)</script><img src=x onerror=alert(1)>"'
    rows = [(evil, "p", "b"), (evil, "<http://www.w3.org/2000/01/rdf-schema#label>", label)]
    shown = _Cells()
    shown.feed(pyke.embed(pd.DataFrame(rows), dimensions=2)._repr_html_())
    assert set(shown.tags) == {"p", "table", "tr", "th", "td"}
    assert evil in shown.texts
    assert "<script>alert(1)</script><img src=x onerror=alert(1)>" in shown.texts


def test_an_invalid_number_of_threads_is_refused(family: Path) -> None:
    with pytest.raises(UsageError, match=r"threads.* is -3"):
        pyke.embed(family, dimensions=2).nearest_of_many(["http://e/anna"], 2, threads=-3)


def test_classes_are_used_as_types_or_declared_as_classes(tmp_path: Path) -> None:
    rdfs, owl = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2002/07/owl#"
    path = tmp_path / "graph.nt"
    path.write_text(
        f"<e:a> {TYPE} <e:A> .\n<e:a> <e:p> <e:b> .\n<e:p> {TYPE} <e:Property> .\n"
        f"<e:A> <{rdfs}subClassOf> <e:B> .\n<e:C> {TYPE} <{owl}Class> .\n"
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


def test_unknown_settings_are_refused(family: Path) -> None:
    with pytest.raises(UsageError, match="no parameter 'thread'"):
        pyke.embed(family, dimensions=2).update(family, thread=1)


def test_a_manifest_without_counts_is_damaged(family: Path) -> None:
    made = pyke.embed(family, dimensions=2)
    for census in ({}, {"first_errors": ["nonsense"]}, {"first_errors": [], "odd": 1}, None):
        with pytest.raises(DamagedStore, match="no valid counts"):
            replace(made, manifest=made.manifest | {"census": census}).graph()


def test_the_repr_of_terms_gives_their_number_and_the_first(family: Path) -> None:
    made = pyke.embed(family, dimensions=2)
    assert repr(made.terms).startswith(f"<Terms: {len(made)}, 'http://e/stefan', ")
    assert repr(made.labels) == "<Texts: 1, 'Anna'>"
    assert repr(made.terms).endswith("', …>")
    assert repr(Texts.of("abc")) == "<Texts: 3, 'a', 'b', 'c'>"
    assert repr(Texts.of("abcd")) == "<Texts: 4, 'a', 'b', 'c', …>"


# ------------------------------------------------------------------------------------------------
# Names
# ------------------------------------------------------------------------------------------------

ANNA = "http://e/anna"
NAMES = [ANNA, f"<{ANNA}>", "Anna", "anna", "ANNA"]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Embedding:
    path = tmp_path_factory.mktemp("family") / "family.nt"
    path.write_text(FAMILY)
    return pyke.embed(path, dimensions=4, seed=1)


@pytest.mark.parametrize("name", NAMES)
def test_every_method_takes_iris_labels_and_local_names(named: Embedding, name: str) -> None:
    assert name in named
    assert np.array_equal(named[name], named.vectors[named.terms.id(ANNA)])
    assert named.label(name) == "Anna"
    assert named.nearest(name) == named.nearest(ANNA)
    assert named.distance(name, "heinz") == named.distance(ANNA, "http://e/heinz")


def test_every_method_takes_prefixed_names(named: Embedding) -> None:
    name = "rdf:type"
    assert name in named
    assert named.label(name) is None
    assert np.array_equal(named[name], named[TYPE])
    assert named.distance(name, TYPE) == 0
    assert named.nearest(name).query == TYPE[1:-1]


def test_a_label_is_found_by_id(named: Embedding) -> None:
    anna = named.terms.id(ANNA)
    assert named.label(anna) == named.label(np.int32(anna)) == "Anna"
    for bad in (-1, len(named)):
        with pytest.raises(UnknownTerm, match="ids of terms are 0 to 8"):
            named.label(bad)
    with pytest.raises(UsageError, match="`term` is None"):
        named.label(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["nobody", "http://e/nobody", "e:anna"])
def test_unknown_names_are_not_in_an_embedding(named: Embedding, name: str) -> None:
    assert name not in named
    for call in (named.__getitem__, named.label, named.nearest):
        with pytest.raises(UnknownTerm, match="no term, label or local name"):
            call(name)
    with pytest.raises(UnknownTerm):
        named.distance(ANNA, name)


def test_an_ambiguous_name_is_not_in_an_embedding(tmp_path: Path) -> None:
    (tmp_path / "two.nt").write_text("<http://a/x> <http://p> <http://b/x> .\n")
    made = pyke.embed(tmp_path / "two.nt", dimensions=2)
    assert "x" not in made
    with pytest.raises(UsageError, match="2 terms have the local name 'x'"):
        made["x"]


def test_only_names_are_in_an_embedding(named: Embedding) -> None:
    assert 0 not in named
    assert None not in named
    with pytest.raises(UsageError, match=r"rows by number are in \.vectors"):
        named[0]  # type: ignore[index]


# ------------------------------------------------------------------------------------------------
# Distances, neighbours and tables
# ------------------------------------------------------------------------------------------------


def test_a_distance_is_that_of_the_neighbour(named: Embedding) -> None:
    for neighbour in named.nearest(ANNA):
        assert named.distance(ANNA, neighbour.term) == pytest.approx(neighbour.distance, rel=1e-6)
    assert named.distance(named[ANNA], "heinz") == named.distance("heinz", ANNA)
    with pytest.raises(UsageError, match="4 finite numbers"):
        named.distance(ANNA, np.zeros(3, np.float32))


def test_the_number_of_dimensions_is_a_property(named: Embedding) -> None:
    assert named.dimensions == 4


def test_a_list_of_terms_gives_a_list_of_neighbours_each(named: Embedding) -> None:
    for several in (["anna", "heinz"], ("anna", "heinz")):
        found = named.nearest(several, 3)
        assert found == [named.nearest("anna", 3), named.nearest("heinz", 3)]
        assert [near.query for near in found] == [ANNA, "http://e/heinz"]
    assert named.nearest(["anna"]) == [named.nearest("anna")]
    assert named.nearest([]) == []
    assert named.nearest(named["anna"].tolist()) == named.nearest(named["anna"])
    with pytest.raises(UsageError, match="nearest_of_many"):
        named.nearest(named.vectors)


def test_neighbours_show_themselves_as_a_table(named: Embedding) -> None:
    near = named.nearest("heinz", 8)
    shown = repr(near).splitlines()
    assert shown[0] == "nearest to http://e/heinz:"
    assert len(shown) == 9
    assert any(line.endswith("http://e/anna (Anna)") for line in shown)
    cells = _Cells()
    cells.feed(near._repr_html_())
    assert set(cells.tags) == {"p", "table", "tr", "th", "td"}
    assert {"nearest to http://e/heinz", "Anna", ANNA} <= set(cells.texts)
    assert near.to_pandas()["term"].tolist() == [one.term for one in near]
    assert repr(named.nearest(named["anna"], 1)).startswith("nearest to a vector:\n  0.0000  ")


def test_long_lists_of_neighbours_are_cut(named: Embedding) -> None:
    many = NeighbourList([Neighbour("e:x", 1.0, None)] * 25)
    assert repr(many).endswith("\n  … 5 more")
    assert "… 5 more" in many._repr_html_()


def test_neighbours_of_many_show_themselves_as_a_table(named: Embedding) -> None:
    found = named.nearest_of_many(["anna", "heinz"], 2)
    assert repr(found) == "<pyke.Neighbourhoods: 2 queries × 2 terms, exact>"
    assert len(found) == 2
    cells = _Cells()
    cells.feed(found._repr_html_())
    assert cells.texts[1:4] == ["query", "1", "2"]
    assert {ANNA, "http://e/heinz"} <= set(cells.texts)
    frame = found.to_pandas()
    assert list(frame.columns) == ["query", "rank", "term", "distance"]
    assert frame["term"].tolist() == [
        one.term for near in named.nearest(["anna", "heinz"], 2) for one in near
    ]
    by_vector = named.nearest_of_many(named.vectors[:2], 1).to_pandas()
    assert by_vector["query"].tolist() == ["vector 0", "vector 1"]


def test_pandas_gets_labels_types_and_vectors(named: Embedding) -> None:
    frame = named.to_pandas()
    assert frame.index.name == "term"
    assert frame.index.tolist() == list(named)
    assert list(frame.columns) == ["label", "types", "d0", "d1", "d2", "d3"]
    assert frame.loc[ANNA, "label"] == "Anna"
    assert frame.loc[ANNA, "types"] == ("http://e/female",)
    assert frame.loc["http://e/hasChild", "types"] == ()
    assert np.array_equal(frame[["d0", "d1", "d2", "d3"]].to_numpy(np.float32), named.vectors)
