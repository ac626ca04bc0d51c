"""Graphs in memory: the same statements give the same graph from every kind of object.

Errors name the row and column of an invalid cell.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

import pyke
from graphs import TYPE, crafts, many
from pyke.config import Config
from pyke.errors import DataError, EmptyGraph, SyntaxProblem, UsageError
from pyke.graph.graph import Graph
from pyke.pipeline import Run, embed_to

LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
NAME = "<http://e/name>"

# Cells as in a TSV file: repeated rows, blank nodes, all kinds of literals, and a term that occurs
# only with a literal.
TRICKY = [
    ("<http://e/a>", LABEL, '"Ann \\"the\\" first\\nline"@en'),
    ("<http://e/a>", LABEL, '"Anna"'),
    ("<http://e/b>", TYPE, "<http://e/C>"),
    ("_:x1", "<http://e/p>", "<http://e/b>"),
    ("<http://e/b>", "<http://e/p>", "_:x1"),
    ("<http://e/b>", "<http://e/p>", "_:x1"),
    ("<http://e/only>", NAME, '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    ("<http://e/p>", LABEL, '"é 漢 \\\\"'),
    ("<http://e/é漢>", "<http://e/p>", "<http://e/a>"),
]
CRAFTS = [tuple(line.removesuffix(" .").split(" ", 2)) for line in crafts().splitlines()]


def as_file(rows: list[Any], folder: Path) -> Path:
    path = folder / "rows.nt"
    path.write_text("".join(" ".join(row) + " .\n" for row in rows))
    return path


def as_ids(rows: list[Any]) -> tuple[np.ndarray[Any, Any], list[str]]:
    terms = ["unused", *reversed(dict.fromkeys(cell for row in rows for cell in row))]
    return np.array([[terms.index(cell) for cell in row] for row in rows], np.int64).reshape(
        -1, 3
    ), terms


def as_pandas(rows: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["s", "p", "o"])


FORMS: dict[str, Any] = {
    "pandas": as_pandas,
    "pandas, categories": lambda rows: as_pandas(rows).astype("category"),
    "pandas, objects": lambda rows: as_pandas(rows).astype(object),
    "polars": lambda rows: pl.DataFrame(rows, schema=["s", "p", "o"], orient="row"),
    "pyarrow": lambda rows: pa.Table.from_pandas(as_pandas(rows), preserve_index=False),
    "array": lambda rows: np.array(rows, dtype=str).reshape(-1, 3),
    "array of objects": lambda rows: np.array(rows, dtype=object).reshape(-1, 3),
    "ids": as_ids,
}


def read(source: Any, **parameters: Any) -> Graph:
    return Run(source, Config(**parameters)).read()


def census_of(graph: Graph) -> dict[str, Any]:
    return {name: value for name, value in graph.census.as_dict().items() if name != "bytes"}


def assert_same(one: Graph, other: Graph) -> None:
    for name in ("subjects", "predicate_positions", "objects", "predicates", "types", "labelled"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert list(one.terms) == list(other.terms)
    assert list(one.labels) == list(other.labels)
    assert census_of(one) == census_of(other)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rows", [TRICKY, CRAFTS], ids=["tricky", "crafts"])
@pytest.mark.parametrize(
    "parameters", [{}, {"count_literals": True}, {"keep_duplicates": True, "threads": 1}], ids=str
)
def test_the_same_statements_give_the_same_graph_from_every_source(
    form: str, rows: list[Any], parameters: dict[str, Any], tmp_path: Path
) -> None:
    assert_same(read(FORMS[form](rows), **parameters), read(as_file(rows, tmp_path), **parameters))


def test_the_same_statements_give_identical_vectors(tmp_path: Path) -> None:
    by_file = pyke.embed(as_file(CRAFTS, tmp_path), dimensions=8).vectors
    for form in ("pandas", "ids"):
        assert (
            pyke.embed(FORMS[form](CRAFTS), dimensions=8).vectors.tobytes() == by_file.tobytes()
        ), form


def test_rows_stay_in_order_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyke.read.objects.ROWS_AT_ONCE", 2)
    assert_same(read(as_pandas(CRAFTS)), read(as_file(CRAFTS, tmp_path)))


def test_cells_are_read_like_cells_of_a_tsv_file(tmp_path: Path) -> None:
    rows = [("a", "knows", "b c"), ("<a>", "knows", '"text"@en'), ("_:x", "knows", "http://e/ü")]
    path = tmp_path / "rows.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    assert_same(read(as_pandas(rows)), read(path))


cells = st.sampled_from(
    ["a", "<a>", "_:a", '"a"', '"a"@en', "", "_:", '"', "a\nb", "<a", "\ud800", "\udc80"]
) | st.text(max_size=3)


@given(st.lists(st.tuples(cells, cells, cells), max_size=6))
@many(150)
def test_any_cell_is_accepted_or_refused_as_in_a_tsv_file(
    rows: list[tuple[str, str, str]],
) -> None:
    from pyke.read.columns import _row_as_line

    fine, bad = [], 0
    for row in rows:
        try:
            _row_as_line(list(row)).encode()
            fine.append(row)
        except ValueError:
            bad += 1
    graph = read(np.array(rows, object).reshape(-1, 3), on_error="skip")
    assert graph.census.errors == bad
    assert graph.census.statements == len(fine)


def graph_of(rows: list[Any]) -> rdflib.Graph:
    return rdflib.Graph().parse(data="".join(" ".join(row) + " .\n" for row in rows), format="nt")


@pytest.mark.parametrize("rows", [TRICKY, CRAFTS], ids=["tricky", "crafts"])
def test_an_rdflib_graph_equals_the_sorted_lines_that_rdflib_writes(
    rows: list[Any], tmp_path: Path
) -> None:
    graph = graph_of(rows)
    (tmp_path / "written.nt").write_text(
        "\n".join(sorted(graph.serialize(format="nt").splitlines())) + "\n"
    )
    assert_same(read(graph), read(tmp_path / "written.nt"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")
def test_all_graphs_of_a_dataset_are_read() -> None:
    dataset = rdflib.Dataset()
    a, b, c, p = (rdflib.URIRef(f"http://e/{name}") for name in "abcp")
    dataset.add((a, p, b))
    dataset.graph(rdflib.URIRef("http://e/g")).add((c, p, rdflib.Literal("text", lang="en")))
    dataset.graph(rdflib.URIRef("http://e/g")).add((a, p, b))
    census = read(dataset).census
    assert (census.triples, census.duplicates, census.literals) == (1, 1, 1)


def test_invalid_iris_of_rdflib_are_refused_unless_lenient() -> None:
    graph = rdflib.Graph()
    graph.add(
        (rdflib.URIRef("http://e/a"), rdflib.URIRef("http://e/p"), rdflib.URIRef("http://e/b"))
    )
    graph.add(
        (rdflib.URIRef("http://e/a"), rdflib.URIRef("http://e/p"), rdflib.URIRef("http://e/{b}"))
    )
    with pytest.raises(SyntaxProblem, match="rdflib Graph, sorted, row 1: Invalid IRI"):
        read(graph)
    assert read(graph, on_error="skip").census.errors == 1
    assert read(graph, lenient=True).census.triples == 2


def test_statements_that_only_rdflib_allows_are_refused() -> None:
    graph = rdflib.Graph()
    graph.add((rdflib.Literal("text"), rdflib.URIRef("http://e/p"), rdflib.URIRef("http://e/b")))
    with pytest.raises(SyntaxProblem, match="row 0, column subject: invalid name '\"text\"'"):
        read(graph)
    graph = rdflib.Graph()
    graph.add((rdflib.URIRef("http://e/a"), rdflib.URIRef("http://e/p"), rdflib.Variable("v")))
    with pytest.raises(
        SyntaxProblem, match="row 0, column object: 'v' is of type Variable, not a string"
    ):
        read(graph)


GOOD = ("a", "p", "b")


@pytest.mark.parametrize(
    "form", ["pandas", "pandas, objects", "polars", "pyarrow", "array of objects"]
)
@pytest.mark.parametrize("column", range(3))
def test_a_missing_value_is_refused_with_row_and_column(form: str, column: int) -> None:
    row: list[Any] = list(GOOD)
    row[column] = None
    source = FORMS[form]([GOOD, row, GOOD])
    name = ("subject", "predicate", "object")[column]
    with pytest.raises(
        SyntaxProblem, match=f"row 1, column {name}: '.*' is of type .*, not a string"
    ):
        read(source)
    census = read(source, on_error="skip").census
    assert (census.errors, census.statements) == (1, 2)
    assert "row 1" in census.as_dict()["first_errors"][0]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("a", "p", 4.5), "column object: '4.5' is of type float, not a string"),
        (("a", "p", ["b"]), "column object: .* is of type list, not a string"),
        (("a", "p", rdflib.Literal("b")), "column object: 'b' is of type Literal, not a string"),
        (("", "p", "b"), "column subject: invalid name ''"),
        (("a", "_:p", "b"), "column predicate: the predicate '_:p' is a blank node"),
        (("a", '"p"', "b"), "column predicate: invalid name"),
        (("a", "p", '"b'), "column object: invalid literal"),
        (("a", "p", "b\ud800"), "column object: .*surrogates not allowed"),
    ],
)
def test_an_invalid_cell_is_refused_with_row_and_column(row: tuple[Any, ...], message: str) -> None:
    table = np.empty((2, 3), object)
    table[0] = GOOD
    for column, cell in enumerate(row):
        table[1, column] = cell
    with pytest.raises(SyntaxProblem, match=f"array, row 1, {message}"):
        read(table)


@pytest.mark.parametrize("form", ["pandas", "polars", "pyarrow"])
def test_a_frame_must_have_three_columns_in_order(form: str) -> None:
    frame = as_pandas([GOOD])
    turn = {"pandas": lambda f: f, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}[form]
    with pytest.raises(DataError, match=f"the {form} .* has 2 columns instead of three"):
        read(turn(frame[["s", "p"]]))
    with pytest.raises(DataError, match="has the columns o, p, s; their order must be s, p, o"):
        read(turn(frame[["o", "p", "s"]]))


@pytest.mark.parametrize("ids", [[[0, 1, 3]], [[0, 1, 2], [0, -1, 2]]])
def test_ids_out_of_range_are_refused_with_row_and_column(ids: list[list[int]]) -> None:
    with pytest.raises(
        DataError,
        match=r"row \d, column (object: 3|predicate: -1) is not a position in the list of 3",
    ):
        read((np.array(ids), ["a", "p", "b"]))


@pytest.mark.parametrize(
    "ids",
    [np.zeros((1, 3)), np.zeros(3, int), np.zeros((1, 2), int)],
    ids=["floats", "one axis", "two columns"],
)
def test_ids_must_be_three_columns_of_integers(ids: Any) -> None:
    with pytest.raises(DataError, match="they must be three columns of integers"):
        read((ids, ["a"]))


@pytest.mark.parametrize("parameters", [{"format": "turtle"}, {"base": "http://e/"}])
def test_settings_for_files_are_refused_for_a_data_frame(parameters: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="`format` and `base` apply to files"):
        pyke.embed(as_pandas([GOOD]), **parameters)


def test_the_terms_of_ids_must_be_a_list() -> None:
    for terms in ("abc", 7, None):
        with pytest.raises(UsageError, match="they must be a list of strings"):
            read((np.array([[0, 1, 2]]), terms))


def test_an_array_of_numbers_without_terms_is_refused_with_advice() -> None:
    with pytest.raises(
        DataError, match=r"Pass term numbers together with the terms: \(ids, terms\)"
    ):
        read(np.zeros((1, 3), int))


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_table_has_nothing_to_embed(form: str) -> None:
    with pytest.raises(EmptyGraph, match=r"nothing to embed in .*: it has no triples"):
        pyke.embed(FORMS[form]([]))


@pytest.mark.parametrize(
    "source",
    [7, [GOOD], {"a": 1}, pl.LazyFrame({"s": ["a"]})],
    ids=["number", "list", "dict", "lazy"],
)
def test_an_unsupported_type_is_refused_with_the_supported_types(source: Any) -> None:
    with pytest.raises(
        UsageError,
        match=r"cannot read triples from the type .*; pass paths, an rdflib Graph, a pandas",
    ):
        pyke.embed(source)


def test_paths_may_be_strings_or_path_objects(
    family: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(family.parent)
    (family.parent / "more.nt").write_text(f"<http://e/x> {TYPE} <http://e/y> .\n")
    for source in (
        family,
        str(family),
        os.path.relpath(family),
        [family],
        (family, Path("more.nt")),
        "*.nt",
    ):
        assert read(source).census.triples in (8, 9)


def test_the_manifest_names_the_source_and_a_run_from_it_cannot_be_resumed(tmp_path: Path) -> None:
    embedding = embed_to(tmp_path / "out", as_pandas(CRAFTS), Config(dimensions=4))
    assert embedding.manifest["inputs"] == ["pandas DataFrame"]
    with pytest.raises(UsageError, match="Save the input to a file"):
        embed_to(tmp_path / "again", as_pandas(CRAFTS), Config(dimensions=4), resume=True)
