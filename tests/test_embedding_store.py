"""The embedding directory: saving and loading keep everything, and damage is found."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pyke
from pyke.embedding import store
from pyke.errors import DamagedStore, NoInput, OutputExists, PykeError, UnknownTerm, UsageError

ANNA = "http://e/anna"


@pytest.fixture
def saved(family: Path, tmp_path: Path) -> Path:
    pyke.embed(family, dimensions=6, seed=1).save(tmp_path / "out")
    return tmp_path / "out"


def test_loading_gives_what_was_saved(family: Path, tmp_path: Path) -> None:
    made = pyke.embed(family, dimensions=6, seed=1)
    made.save(tmp_path / "out")
    loaded = pyke.load(tmp_path / "out")
    for name in ("vectors", "types", "triples", "labelled"):
        assert np.array_equal(getattr(made, name), getattr(loaded, name)), name
    assert list(made.terms) == list(loaded.terms)
    assert list(made.labels) == list(loaded.labels) == ["Anna"]
    assert loaded.manifest["census"]["triples"] == 8
    assert loaded.manifest["config"]["seed"] == 1
    assert len(loaded.manifest["history"]) == 25


def test_a_loaded_embedding_is_read_only(saved: Path) -> None:
    with pytest.raises(ValueError, match="read-only"):
        pyke.load(saved).vectors[0, 0] = 1


def test_an_embedding_answers_by_term(saved: Path) -> None:
    embedding = pyke.load(saved)
    assert len(embedding) == len(embedding.vectors) == 9
    assert ANNA in embedding
    assert "http://e/nobody" not in embedding
    assert np.array_equal(embedding[ANNA], embedding.vectors[embedding.terms.id(ANNA)])
    assert embedding.label(embedding.terms.id(ANNA)) == "Anna"
    assert "9 terms × 6 dimensions" in repr(embedding)
    with pytest.raises(UnknownTerm, match="nobody"):
        embedding["http://e/nobody"]
    with pytest.raises(KeyError):
        embedding["http://e/nobody"]


def test_neighbours_come_nearest_first_and_without_the_term_itself(saved: Path) -> None:
    embedding = pyke.load(saved)
    neighbours = embedding.nearest(ANNA, k=100)
    assert ANNA not in [neighbour.term for neighbour in neighbours]
    assert len(neighbours) == len(embedding) - 1
    assert [n.distance for n in neighbours] == sorted(n.distance for n in neighbours)
    assert embedding.nearest(embedding[ANNA], k=1)[0].term == ANNA
    for bad in (0, -1):
        with pytest.raises(UsageError, match="at least 1"):
            embedding.nearest(ANNA, k=bad)
    with pytest.raises(UsageError, match="6 finite"):
        embedding.nearest(np.zeros(5, np.float32))


def test_an_existing_output_is_replaced_only_with_force(saved: Path, family: Path) -> None:
    other = pyke.embed(family, dimensions=3)
    with pytest.raises(OutputExists, match="force"):
        other.save(saved)
    assert pyke.load(saved).vectors.shape[1] == 6
    other.save(saved, force=True)
    assert pyke.load(saved).vectors.shape[1] == 3
    assert sorted(path.name for path in saved.parent.iterdir()) == ["family.nt", "out"]


def test_a_directory_without_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoInput, match=r"manifest\.json"):
        pyke.load(tmp_path)


def test_an_unknown_format_version_is_refused(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    (saved / "manifest.json").write_text(json.dumps(manifest | {"version": 99}))
    with pytest.raises(DamagedStore, match="version 99"):
        pyke.load(saved)


def test_a_valid_directory_passes_the_check(saved: Path) -> None:
    assert set(store.verify(saved)["files"]) == {path.name for path in saved.iterdir()} - {
        "manifest.json"
    }


def test_infinite_and_missing_numbers_are_found(family: Path, tmp_path: Path) -> None:
    made = pyke.embed(family, dimensions=6)
    vectors = made.vectors.copy()
    vectors[3, 2] = np.nan
    replace(made, vectors=vectors).save(tmp_path / "out")
    with pytest.raises(DamagedStore, match="infinite"):
        store.verify(tmp_path / "out")


def test_random_damage_is_found_and_raises_only_errors_of_the_package(saved: Path) -> None:
    """Flips, cuts, additions and swaps in any file: verify() finds them; load() may raise too."""
    rng = random.Random(5)
    files = sorted(saved.iterdir())
    originals = {path: path.read_bytes() for path in files}
    for _ in range(1500):
        path = rng.choice([path for path in files if originals[path]])
        data = bytearray(originals[path])
        match rng.randrange(4):
            case 0:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            case 1:
                del data[rng.randrange(len(data)) :]
            case 2:
                data += bytes(rng.randrange(1, 9))
            case 3:
                data = bytearray(originals[rng.choice(files)])
        if bytes(data) == originals[path]:
            continue
        path.write_bytes(data)
        try:
            if path.name == "manifest.json":
                _verified_or_refused(saved)
            else:
                with pytest.raises(DamagedStore):
                    store.verify(saved)
                _loaded_or_refused(saved)
        finally:
            path.write_bytes(originals[path])
    store.verify(saved)


def _verified_or_refused(path: Path) -> None:
    """A flipped bit in a note of the manifest is harmless; one in a file entry is found."""
    try:
        store.verify(path)
    except PykeError:
        return


def _loaded_or_refused(path: Path) -> None:
    try:
        pyke.load(path)
    except PykeError:
        return
