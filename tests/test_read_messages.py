"""Messages of reading and building: they name parameters in one form, and inputs by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import rdflib

from conftest import ROOT
from pyke.config import Config
from pyke.errors import DataError
from pyke.pipeline import Run
from pyke.read.sparql.options import FetchOptions

FOLDERS = ("read", "graph")
MODULES = [
    path for folder in FOLDERS for path in sorted((ROOT / "src/pyke" / folder).rglob("*.py"))
]
PARAMETERS = {field.name for kind in (Config, FetchOptions) for field in fields(kind)}
PARAMETERS |= {"resume", "force"}
VALUE = r'(=("\w+"|True|False|{}))?'  # {} stands for an expression of an f-string


def messages(path: Path) -> Iterator[str]:
    """Strings of a module except docstrings; {} replaces the expressions of f-strings."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    excluded = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            excluded |= {id(part) for part in node.values}
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield "" if id(node) in excluded else node.value


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_messages_name_parameters_and_not_options(path: Path) -> None:
    form = re.compile(rf"({'|'.join(PARAMETERS)}|{{}}){VALUE}")
    for message in messages(path):
        assert not re.search(r"(?<![\w-])--[a-z]", message), message
        for name in re.findall(r"`([a-z{][^`\s]*)`", message):
            assert form.fullmatch(name), message


BAD_ROW = [("a", "p", "b"), ('"a"', "p", "b")]
FRAME = pd.DataFrame(BAD_ROW, columns=["s", "p", "o"])
GRAPH = rdflib.Graph()
GRAPH.add((rdflib.Literal("a"), rdflib.URIRef("http://e/p"), rdflib.URIRef("http://e/b")))
SOURCES: dict[str, Any] = {
    "pandas DataFrame, row 1": FRAME,
    "polars DataFrame, row 1": pl.from_pandas(FRAME),
    "pyarrow Table, row 1": pa.Table.from_pandas(FRAME),
    "array, row 1": np.array(BAD_ROW),
    "ids, row 0": (np.array([[0, 1, 1]]), ['"a"', "p"]),
    "rdflib Graph, sorted, row 0": GRAPH,
}


@pytest.mark.parametrize("name", SOURCES)
def test_an_error_starts_with_the_name_of_the_object_and_the_row(name: str) -> None:
    with pytest.raises(DataError, match=f"^{name}, column subject: "):
        Run(SOURCES[name], Config()).read()


@pytest.mark.parametrize("name", ["graph.nt", "graph.tsv", "graph.ttl"])
def test_an_error_starts_with_the_name_of_the_file_and_the_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("\ninvalid\n")
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}:[23]: "):
        Run([path], Config()).read()
