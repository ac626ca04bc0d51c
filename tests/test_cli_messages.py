"""Parameters in messages of the library become options of the command line."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from conftest import ROOT
from pyke.cli.messages import as_options

SOURCE = ROOT / "src" / "pyke"
LIBRARY = [path for path in sorted(SOURCE.rglob("*.py")) if path.parent.name != "cli"]
OPTION = re.compile(r"(?<![-\w`])--[a-z][a-z-]+")


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("`k` is 0", "--k is 0"),
        ("`max_iterations` is 0", "--max-iterations is 0"),
        ('use `on_error="skip"`', "use --on-error skip"),
        ("pass `force=True`", "pass --force"),
        ("`lenient=False`", "--no-lenient"),
        ("`only_untyped=False`", "--also-typed"),
        ("`removed` and `added`", "--remove and FILES"),
        ("run `pyke verify out`", "run `pyke verify out`"),
    ],
)
def test_parameters_are_shown_as_options(message: str, shown: str) -> None:
    assert as_options(message) == shown


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: str(path.relative_to(SOURCE)))
def test_messages_of_the_library_name_no_options(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    strings = [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    ]
    assert [text for text in strings if OPTION.search(text)] == []
