"""What several tests share: where real data is, and graphs made up on the spot."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pyke import cli

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("PYKE_DATA") or ROOT.parent / "shared" / "data")

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"

FAMILY = f"""<http://e/stefan> {TYPE} <http://e/male> .
<http://e/stefan> <http://e/hasChild> <http://e/markus> .
<http://e/markus> {TYPE} <http://e/male> .
<http://e/markus> <http://e/hasChild> <http://e/anna> .
<http://e/anna> {TYPE} <http://e/female> .
<http://e/anna> <http://e/hasChild> <http://e/heinz> .
<http://e/heinz> {TYPE} <http://e/male> .
<http://e/michelle> {TYPE} <http://e/female> .
<http://e/anna> <http://www.w3.org/2000/01/rdf-schema#label> "Anna"@en .
<http://e/anna> <http://www.w3.org/2000/01/rdf-schema#label> "Anne"@fr .
"""


CRAFTS = ("baker", "smith", "weaver")


def crafts(members: int = 20) -> str:
    """A graph whose types can be told from the rest: members of a craft know one another and use its tools. The hermit has only a type."""
    lines = [f"<http://e/hermit> {TYPE} <http://e/baker> .\n"]
    for craft in CRAFTS:
        for m in range(members):
            who = f"<http://e/{craft}/{m}>"
            lines.append(f"{who} {TYPE} <http://e/{craft}> .\n")
            lines.append(f"{who} <http://e/uses> <http://e/{craft}/tool{m % 4}> .\n")
            lines.append(f"{who} <http://e/knows> <http://e/{craft}/{(7 * m + 1) % members}> .\n")
    return "".join(lines)


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def pyke(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """The command line, called in this process: the same code, without the second that a start takes."""

    def call(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["pyke", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        shown = capfd.readouterr()
        return subprocess.CompletedProcess(sys.argv, code, shown.out, shown.err)

    return call


@pytest.fixture(scope="session")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with 61 typed subjects of three classes."""
    path = tmp_path_factory.mktemp("crafts") / "crafts.nt"
    path.write_text(crafts())
    return path


@pytest.fixture
def family(tmp_path: Path) -> Path:
    """A small N-Triples file."""
    path = tmp_path / "family.nt"
    path.write_text(FAMILY)
    return path


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real graphs."""
    if not DATA.is_dir():
        pytest.skip(f"no real data at {DATA}; PYKE_DATA names its place")
    return DATA
