"""What several tests share: where real data is, and graphs made up on the spot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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
