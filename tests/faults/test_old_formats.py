"""Directories that earlier versions wrote stay readable; those of later versions are refused."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import pyke
from conftest import Command
from faults.conftest import Figure
from forge import forge
from pyke.core.stored import CHECKSUM, MANIFEST
from pyke.embedding import store

DATA = Path(__file__).parents[1] / "data"
FORMATS = sorted(path.name for path in DATA.iterdir() if path.is_dir())
ANNA = "http://example.com/crafts#anna"
# What the earlier version wrote; copied by hand, so no change of the reader changes it.
VECTORS = {"format-1": "c1b6b339be229dc0c1e7f898bcfd2f7b6e619c74e40807229d75d26cdd4dcf97"}


@pytest.fixture(params=FORMATS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of an old directory and of its graph."""
    return Path(shutil.copytree(DATA / request.param, tmp_path / request.param)) / "embedding"


def test_an_old_directory_is_read_with_equal_values(old: Path, figure: Figure) -> None:
    embedding = pyke.load(old)
    assert hashlib.sha256(embedding.vectors.tobytes()).hexdigest() == VECTORS[old.parent.name]
    assert list(embedding.terms) == (old / "terms.txt").read_text().splitlines()
    assert list(embedding.labels) == ["Anna", "Bärbel & Bert"]
    assert embedding.label(ANNA) == "Anna"
    assert embedding.triples.tolist() == np.load(old / "triples.npy").tolist()
    assert embedding.types.tolist() == np.load(old / "types.npy").tolist()
    assert len(embedding.nearest(ANNA, k=3)) == 3
    assert embedding.config().seed == 7
    assert store.verify(old) == json.loads((old / MANIFEST).read_bytes())
    figure("F9", f"{len(FORMATS)} old format: equal values, verified, exported and updated")


def test_an_old_directory_has_the_vectors_that_its_graph_has_today(old: Path) -> None:
    again = pyke.embed(old.parent / "graph.ttl", dimensions=4, seed=7)
    assert list(again.terms) == list(pyke.load(old).terms)
    np.testing.assert_allclose(again.vectors, pyke.load(old).vectors, rtol=1e-5, atol=1e-6)


def test_the_command_line_takes_an_old_directory(old: Path, pyke: Command) -> None:
    table = old.with_name("vectors.csv")
    assert pyke("verify", old).returncode == 0
    assert pyke("export", old, "-o", table).returncode == 0
    with table.open(newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == 16
    assert ANNA in {row[0] for row in rows}

    more = old.with_name("more.nt")
    more.write_text(f"<{ANNA}> <http://example.com/crafts#teaches> <http://example.com/new> .\n")
    updated = old.with_name("updated")
    assert pyke("update", old, more, "-o", updated).returncode == 0
    assert CHECKSUM in store.verify(updated)
    assert pyke("update", old, more, "--force", "-o", old).returncode == 0
    assert CHECKSUM in store.verify(old)


@pytest.mark.parametrize("version", [0, 2, 99, "1", None])
def test_an_unknown_version_is_one_sentence(old: Path, pyke: Command, version: object) -> None:
    forge(old, version=version)
    for command in (["verify", old], ["nearest", old, ANNA], ["export", old, "-o", "never.csv"]):
        done = pyke(*command)
        assert done.returncode == 65
        assert done.stderr == (
            f"pyke: {old} has format version {version!r}; this version of pyke reads version 1\n"
        )
