"""The embedding directory: saving and loading keep everything, and damage is found."""

from __future__ import annotations

import copy
import errno
import json
import os
import pickle
import re
import shutil
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyke
from forge import forge, forge_array, npy
from graphs import FAMILY
from pyke.config import MAX_CLUSTERS
from pyke.core import stored
from pyke.core.stored import seal
from pyke.embedding import store
from pyke.errors import (
    DamagedStore,
    DataError,
    NoInput,
    OutputExists,
    UnknownTerm,
    UsageError,
)
from pyke.graph.terms import Terms

ANNA = "http://e/anna"


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    (folder / "family.nt").write_text(FAMILY)
    pyke.embed(folder / "family.nt", dimensions=6, seed=1).save(folder / "out")
    return folder / "out"


@pytest.fixture
def saved(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "out"))


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


def test_clusters_are_saved_if_there_are_any(family: Path, tmp_path: Path) -> None:
    made = pyke.embed(family, dimensions=6, clusters=3)
    made.save(tmp_path / "out")
    loaded = pyke.load(tmp_path / "out")
    assert made.term_clusters.tolist() == loaded.term_clusters.tolist()
    assert store.verify(tmp_path / "out")["config"]["clusters"] == 3
    pyke.embed(family, dimensions=6, clusters=0).save(tmp_path / "none")
    assert not (tmp_path / "none" / "clusters.npy").exists()
    assert len(pyke.load(tmp_path / "none").term_clusters) == 0


@pytest.mark.parametrize(
    "change",
    [lambda a: a[1:], lambda a: a - 1 - 10_000, lambda a: a + 10_000, lambda a: a.astype(np.int64)],
)
def test_forged_clusters_are_refused(
    family: Path, tmp_path: Path, change: Callable[[Any], Any]
) -> None:
    out = tmp_path / "out"
    pyke.embed(family, dimensions=6, clusters=3).save(out)
    forge_array(out / "clusters.npy", change(np.load(out / "clusters.npy")))
    with pytest.raises(DamagedStore):
        pyke.load(out).update(added=family)
    with pytest.raises(DamagedStore):
        store.verify(out)


def test_an_older_embedding_was_made_without_clusters(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    del manifest["config"]["clusters"]
    forge(saved, config=manifest["config"])
    assert pyke.load(saved).config().clusters == 0


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
    forge(saved, version=99)
    with pytest.raises(DamagedStore, match="version 99"):
        pyke.load(saved)


def test_a_valid_directory_passes_the_check(saved: Path) -> None:
    assert set(store.verify(saved)["files"]) == {path.name for path in saved.iterdir()} - {
        "manifest.json"
    }


@pytest.mark.parametrize("row", [0, 3, -1])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_infinite_and_missing_numbers_are_found(
    row: int, number: float, family: Path, tmp_path: Path
) -> None:
    made = pyke.embed(family, dimensions=6)
    vectors = made.vectors.copy()
    vectors[row, 2] = number
    replace(made, vectors=vectors).save(tmp_path / "out")
    with pytest.raises(DamagedStore, match="infinite"):
        store.verify(tmp_path / "out")


def test_a_change_of_a_byte_of_the_manifest_is_found(saved: Path) -> None:
    path = saved / "manifest.json"
    original = path.read_bytes()
    for at in range(0, len(original), 5):
        path.write_bytes(original[:at] + bytes([original[at] ^ 1]) + original[at + 1 :])
        with pytest.raises(DamagedStore):
            store.verify(saved)


def test_a_manifest_without_a_checksum_is_read(saved: Path) -> None:
    """Before manifests had a checksum of their own."""
    manifest = json.loads((saved / "manifest.json").read_bytes())
    del manifest["sha256"]
    (saved / "manifest.json").write_text(json.dumps(manifest))
    assert store.verify(saved) == manifest
    pyke.load(saved).save(saved.with_name("copy"))
    assert store.verify(saved.with_name("copy")).keys() - manifest.keys() == {"sha256"}


# -- hostile directories: all sizes and checksums match ------------------------------------------


def _use(embedding: pyke.Embedding) -> None:
    """Use everything in an embedding."""
    repr(embedding)
    for term in list(embedding.terms):
        embedding.nearest(f"<{term}>" if "://" in term else term, k=3)
    list(embedding.labels)
    embedding.graph()
    embedding.clusters(2, 2)


HUGE = 2**40
FORGED_ARRAYS: list[tuple[str, Callable[[Any], Any]]] = [
    ("label_offsets.npy", lambda a: np.array([0, a[-1] + HUGE])),
    ("label_offsets.npy", lambda a: np.array([-HUGE, a[-1]])),
    ("term_offsets.npy", lambda a: np.append(np.zeros(len(a) - 1, np.int64), a[-1])),
    ("term_offsets.npy", lambda a: np.concatenate([a[:4], [-HUGE], a[5:]])),
    ("term_offsets.npy", lambda a: np.concatenate([a[:4], [HUGE], a[5:]])),
    ("term_offsets.npy", lambda a: np.concatenate([a[:4], [2**63 - 1], a[5:]])),
    ("term_offsets.npy", lambda a: np.concatenate([a[:4], [a[4] + 1], a[5:]])),
    ("term_offsets.npy", lambda a: a[:-1]),
    ("term_offsets.npy", lambda a: a.astype(np.int32)),
    ("term_offsets.npy", lambda a: a.astype(">i8")),
    ("types.npy", lambda a: a + 1000),
    ("types.npy", lambda a: a - 1000),
    ("types.npy", lambda a: a[::-1]),
    ("types.npy", lambda a: a.T),
    ("types.npy", lambda a: a.ravel()),
    ("triples.npy", lambda a: a + 2**30),
    ("triples.npy", lambda a: a - 2),
    ("triples.npy", lambda a: a[::-1]),
    ("triples.npy", lambda a: a[:, :2]),
    ("triples.npy", np.asfortranarray),
    ("labelled.npy", lambda a: a + 1000),
    ("labelled.npy", lambda a: np.array([-1], np.int32)),
    ("labelled.npy", lambda a: np.append(a, a)),
    ("vectors.npy", lambda a: a[:, :0]),
    ("vectors.npy", lambda a: a[:-1]),
    ("vectors.npy", lambda a: a.astype(np.float64)),
    ("vectors.npy", lambda a: a * np.float32(np.nan)),
]


@pytest.mark.parametrize(("name", "change"), FORGED_ARRAYS)
def test_forged_arrays_are_refused_before_a_kernel_uses_them(
    saved: Path, name: str, change: Callable[[Any], Any]
) -> None:
    forge_array(saved / name, change(np.load(saved / name)))
    with pytest.raises(DataError):
        _use(pyke.load(saved))
    with pytest.raises(DamagedStore):
        store.verify(saved)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("vectors.npy", lambda a: a[:, :0], ": vectors.npy has no dimensions"),
        (
            "vectors.npy",
            lambda a: a[:-1],
            ": term_offsets.npy and vectors.npy differ in the number of terms",
        ),
        ("labelled.npy", lambda a: a[:0], ": label_offsets.npy and labelled.npy differ in length"),
        ("vectors.npy", lambda a: a * np.inf, "/vectors.npy: a number is infinite or not a number"),
        ("term_offsets.npy", lambda a: a + 1, "/term_offsets.npy: must go from 0 to {end}"),
        (
            "term_offsets.npy",
            lambda a: a[[0, 2, 1, *range(3, len(a))]],
            "_offsets.npy: must ascend",
        ),
        (
            "term_offsets.npy",
            lambda a: a + (a == a[4]),
            "/term_offsets.npy: a text does not end with a line break",
        ),
        ("types.npy", lambda a: a + 1000, "/types.npy: an id is not in 0 … 8"),
        ("types.npy", lambda a: a[::-1], "/types.npy: rows are not sorted"),
        ("types.npy", lambda a: a[[0, 0]], "/types.npy: a row occurs twice"),
        ("triples.npy", lambda a: a - 2, "/triples.npy: an id is not in 0 … 8"),
    ],
)
def test_the_error_says_once_what_is_wrong_with_an_array(
    saved: Path, name: str, change: Callable[[Any], Any], message: str
) -> None:
    message = message.format(end=(saved / "terms.txt").stat().st_size)
    forge_array(saved / name, change(np.load(saved / name)))
    with pytest.raises(DamagedStore) as caught:
        store.verify(saved)
    assert str(caught.value).endswith(message)
    assert str(caught.value).count(str(saved)) == 1


def test_the_error_of_a_changed_file_names_it_once(saved: Path) -> None:
    path = saved / "terms.txt"
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(DamagedStore, match=f"^{path}: the content does not match") as caught:
        _ = pyke.load(saved).terms
    assert str(caught.value).count(str(saved)) == 1


@pytest.mark.parametrize(
    "text", [b"\xff", b"\xed\xa0\x80", b"\xc3"], ids=["invalid", "surrogate", "half"]
)
@pytest.mark.parametrize("name", ["terms.txt", "labels.txt"])
def test_texts_that_are_not_utf8_are_refused(saved: Path, name: str, text: bytes) -> None:
    old = (saved / name).read_bytes()
    (saved / name).write_bytes(text + old[len(text) :])
    forge(saved)
    with pytest.raises(DamagedStore, match="UTF-8"):
        _use(pyke.load(saved))


HEADERS = {
    "object": npy("'|O'", False, "(9, 6)", bytes(216)),
    "big-endian": npy("'>f4'", False, "(9, 6)", bytes(216)),
    "Fortran order": npy("'<f4'", True, "(9, 6)", bytes(216)),
    "structured": npy("[('a', '<f4')]", False, "(9, 6)", bytes(216)),
    "too many rows": npy("'<f4'", False, "(1000000000000, 6)", bytes(216)),
    "product that overflows": npy("'<f4'", False, "(4294967296, 4294967296)", bytes(0)),
    "negative": npy("'<f4'", False, "(-9, 6)", bytes(216)),
    "true": npy("'<f4'", False, "(True, 6)", bytes(216)),
    "three axes": npy("'<f4'", False, "(9, 3, 2)", bytes(216)),
    "code": npy("__import__('os').abort()", False, "(9, 6)", bytes(216)),
    "long": npy("'<f4'", False, "(9, 6)", bytes(216), padding=6400),
    "not aligned": npy("'<f4'", False, "(9, 6)", bytes(216), padding=1),
    "data after the array": npy("'<f4'", False, "(9, 6)", bytes(217)),
    "nothing": b"",
    "magic number only": b"\x93NUMPY",
    "version 2": b"\x93NUMPY\x02\x00" + bytes(300),
    "zip archive": b"PK\x03\x04" + bytes(300),
}


@pytest.mark.parametrize("content", HEADERS.values(), ids=HEADERS)
def test_crafted_array_headers_are_refused(saved: Path, content: bytes) -> None:
    (saved / "vectors.npy").write_bytes(content)
    forge(saved)
    with pytest.raises(DamagedStore, match=r"vectors\.npy"):
        pyke.load(saved)


@pytest.mark.parametrize(
    "changes",
    [
        {"census": {"triples": "many"}},
        {"census": {"triples": -1}},
        {"census": {"triples": 10**30}},
        {"census": {"triples": True}},
        {"census": []},
        {"config": 7},
        {"inputs": [7]},
        {"inputs": "x"},
        {"updates": [7]},
        {"history": {}},
        {"files": {}},
        {"files": []},
        {"files": {"../../x": {"bytes": 1, "sha256": ""}}},
        {"version": [[]]},
        {"format": None},
    ],
)
def test_forged_manifests_are_refused(saved: Path, changes: dict[str, Any]) -> None:
    forge(saved, **changes)
    with pytest.raises(DamagedStore):
        pyke.load(saved)


@pytest.mark.parametrize("name", ["config", "census", "inputs", "history", "stages", "updates"])
def test_the_error_names_the_part_of_a_manifest_that_has_another_type(
    made: Path, name: str
) -> None:
    others: list[object] = [7, "x", [] if name in ("config", "census") else {}]
    for value in others:
        forge(made, **{name: value})
        with pytest.raises(DamagedStore) as caught:
            store.load(made)
        assert str(caught.value) == f"{made}: manifest.json has no valid {name}"


@pytest.mark.parametrize("name", ["history", "stages", "updates"])
def test_the_entries_of_a_list_in_a_manifest_are_objects(made: Path, name: str) -> None:
    forge(made, **{name: [{}, {}]})
    store.load(made)
    forge(made, **{name: [{}, 7]})
    with pytest.raises(DamagedStore, match=f": manifest.json has no valid {name}$"):
        store.load(made)


def test_the_inputs_in_a_manifest_are_names(made: Path) -> None:
    forge(made, inputs=["a.nt", "b.nt"])
    store.load(made)
    forge(made, inputs=["a.nt", 7])
    with pytest.raises(DamagedStore, match=r": inputs are not names$"):
        store.load(made)


def test_the_counts_in_a_manifest_are_numbers_of_64_bits(made: Path) -> None:
    forge(made, census={"triples": 2**63 - 1, "terms": 0, "problems": [], "x": "y"})
    store.load(made)
    for count in (2**63, -1, True, 1.0, "1", None):
        forge(made, census={"triples": 3, "terms": count})
        with pytest.raises(DamagedStore, match=r": manifest\.json has no valid counts$"):
            store.load(made)


def test_an_old_manifest_has_only_known_keys(made: Path) -> None:
    """Before manifests had a checksum of their own, this found changed keys."""
    known = ["program", "config", "inputs", "census", "particles", "springs", "stop_reason"]
    known += ["history", "stages", "fingerprint", "updates"]
    manifest = json.loads((made / "manifest.json").read_bytes())
    del manifest["sha256"]
    values: dict[str, object] = {
        name: [] if name in ("inputs", "history", "stages", "updates") else {} for name in known
    }
    (made / "manifest.json").write_text(json.dumps(manifest | values))
    assert store.verify(made).keys() == {*known, "format", "version", "files"}
    (made / "manifest.json").write_text(json.dumps(manifest | {"z": 1, "surprise": 2}))
    with pytest.raises(DamagedStore, match=r"manifest\.json has an unknown key 'surprise'$"):
        store.verify(made)
    forge(made, surprise=2)  # now with a checksum
    assert store.verify(made)["surprise"] == 2


def test_the_error_says_why_there_is_no_manifest(made: Path) -> None:
    path = made / "manifest.json"
    (made.parent / "empty").mkdir()
    loop = made.parent / "loop"
    loop.mkdir()
    (loop / "manifest.json").symlink_to("manifest.json")
    for place, message in (
        (made.parent / "none", "{0} does not exist: no manifest.json there"),
        (made.parent / "empty", "{0} is not an embedding directory: it has no manifest.json"),
        (
            path,
            (
                "{0} is a file, not an embedding directory. To embed an RDF file, use "
                "`pyke embed {0} -o DIRECTORY`."
            ),
        ),
        (loop, f"cannot read {{0}}/manifest.json: {os.strerror(errno.ELOOP)}"),
    ):
        with pytest.raises(NoInput) as caught:
            store.load(place)
        assert str(caught.value) == message.format(place)


def test_the_error_says_what_is_wrong_with_a_manifest(made: Path) -> None:
    path = made / "manifest.json"
    files = json.loads(path.read_bytes())["files"]
    without = {name: entry for name, entry in files.items() if name != "types.npy"}
    for changes, message in (
        ({"format": "x"}, f"{path} is not the manifest of an embedding"),
        ({"version": 2}, f"{made} has format version 2; this version of pyke reads version 1"),
        (
            {"version": "x" * 100},
            f"{made} has format version '{'x' * 19}; this version of pyke reads version 1",
        ),
        ({"files": without}, f"{path} does not list the files of an embedding"),
        ({"files": files | {"x": files["types.npy"]}}, f"{path} does not list the files of an "),
    ):
        forge(made)
        forge(made, **changes)
        with pytest.raises(DamagedStore, match=f"^{re.escape(message)}"):
            store.load(made)
        path.write_bytes(seal(json.loads(path.read_bytes()) | {"files": files}))
        forge(made, format="pyke-embedding", version=1)


# -- a directory that is made by hand --------------------------------------------------------------

PARTS: dict[str, Any] = {
    "vectors.npy": np.arange(6, dtype=np.float32).reshape(3, 2),
    "terms.txt": b"e:a\ne:p\ne:b\n",
    "term_offsets.npy": np.array([0, 4, 8, 12]),
    "types.npy": np.array([[0, 2]], np.int32),
    "triples.npy": np.array([[0, 1, -1], [0, 1, 2]], np.int32),
    "labelled.npy": np.array([2], np.int32),
    "labels.txt": b"Bert\n",
    "label_offsets.npy": np.array([0, 5]),
}
CLUSTERS = {"clusters.npy": np.array([0, -1, 4], np.int32)}
FEATURES = {
    "features.npy": np.array([[0, 0], [0, 1], [2, 0]], np.int32),
    "feature_keys.npy": np.array([7, 2**64 - 1], np.uint64),
    "feature_bins.npy": np.array([[7, 0], [7, 2**62]], np.uint64),
}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    store.save(tmp_path / "made", PARTS, {}, replace=False)
    return tmp_path / "made"


def test_a_directory_has_its_format_and_is_replaced_only_if_asked(made: Path) -> None:
    manifest = store.verify(made)
    assert (manifest["format"], manifest["version"]) == ("pyke-embedding", 1)
    with pytest.raises(OutputExists):
        store.save(made, PARTS, {"x": 1}, replace=False)
    store.save(made, PARTS, {"x": 1}, replace=True)
    assert store.verify(made)["x"] == 1


@pytest.mark.parametrize("more", [{}, CLUSTERS, FEATURES, CLUSTERS | FEATURES], ids=list)
def test_every_part_of_a_directory_is_returned(tmp_path: Path, more: dict[str, Any]) -> None:
    store.save(tmp_path / "out", PARTS | more, {}, replace=False)
    store.verify(tmp_path / "out")
    opened = store.load(tmp_path / "out")
    assert opened.terms_count == 3
    parts = {name: part(opened) for name, part in store.PARTS.items()}
    for name in ("vectors", "types", "triples", "labelled"):
        np.testing.assert_array_equal(parts[name], PARTS[f"{name}.npy"])
    assert (list(parts["terms"]), list(parts["labels"])) == (["e:a", "e:p", "e:b"], ["Bert"])
    assert isinstance(parts["terms"], Terms)
    assert parts["term_clusters"].tolist() == ([0, -1, 4] if "clusters.npy" in more else [])
    features = parts["features"]
    if "features.npy" not in more:
        assert len(features) == len(features.rows) == len(features.bins) == 0
        return
    for found, name in zip((features.rows, features.keys, features.bins), FEATURES, strict=True):
        np.testing.assert_array_equal(found, FEATURES[name])
        assert found.flags.writeable


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("clusters.npy", [0, 1], "out: not one cluster per term"),
        ("clusters.npy", [0, 1, 2, 3], "out: not one cluster per term"),
        ("clusters.npy", [0, -2, 4], f"clusters.npy: an id is not in -1 … {MAX_CLUSTERS - 1}"),
        ("clusters.npy", [MAX_CLUSTERS, 0, 0], f"npy: an id is not in -1 … {MAX_CLUSTERS - 1}"),
        ("features.npy", [[0, 2]], "feature_bins.npy: an id is not in 0 … 1"),
        ("features.npy", [[3, 0]], "feature_bins.npy: an id is not in 0 … 2"),
        ("features.npy", [[0, 0], [0, 0]], "feature_bins.npy: a row occurs twice"),
        ("types.npy", [[0, 3]], "types.npy: an id is not in 0 … 2"),
        ("types.npy", [[0, -1]], "types.npy: an id is not in 0 … 2"),
        ("types.npy", [[0, 2], [0, 2]], "types.npy: a row occurs twice"),
        ("triples.npy", [[0, 1, 3]], "triples.npy: an id is not in -1 … 2"),
        ("triples.npy", [[0, 1, -2]], "triples.npy: an id is not in -1 … 2"),
        ("triples.npy", [[-1, 1, 0]], "triples.npy: an id is not in 0 … 2"),
        ("triples.npy", [[0, -1, 0]], "triples.npy: an id is not in 0 … 2"),
        ("triples.npy", [[0, 3, 0]], "triples.npy: an id is not in 0 … 2"),
        ("triples.npy", [[0, 1, 2], [0, 1, 0]], "triples.npy: rows are not sorted"),
        ("labelled.npy", [3], "labelled.npy: an id is not in 0 … 2"),
        ("labelled.npy", [-1], "labelled.npy: an id is not in 0 … 2"),
    ],
)
def test_each_limit_of_an_array_is_checked(
    tmp_path: Path, name: str, array: Any, message: str
) -> None:
    out = tmp_path / "out"
    store.save(out, PARTS | CLUSTERS | FEATURES, {}, replace=False)
    forge_array(out / name, np.array(array, np.int32))
    with pytest.raises(DamagedStore) as caught:
        store.verify(out)
    assert str(caught.value).endswith(message)


def test_triples_may_repeat_but_not_the_terms_of_labels(made: Path) -> None:
    forge_array(made / "triples.npy", np.array([[0, 1, 2], [0, 1, 2]], np.int32))
    assert len(store.load(made).triples()) == 2
    store.save(
        made,
        PARTS
        | {
            "labelled.npy": np.array([2, 2], np.int32),
            "labels.txt": b"a\nb\n",
            "label_offsets.npy": np.array([0, 2, 4]),
        },
        {},
        replace=True,
    )
    with pytest.raises(DamagedStore, match=r"labelled\.npy: a row occurs twice"):
        store.load(made).labelled()


def test_a_directory_with_some_of_the_files_of_features_is_refused(tmp_path: Path) -> None:
    for name in FEATURES:
        some = {other: array for other, array in FEATURES.items() if other != name}
        store.save(tmp_path / name, PARTS | some, {}, replace=False)
        with pytest.raises(DamagedStore, match="does not list the files of an embedding"):
            store.load(tmp_path / name)


@pytest.mark.parametrize("row", [0, 1, 2])
@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_verify_finds_a_missing_number_in_each_row(
    made: Path, row: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_VECTORS_AT_ONCE", at_once)
    vectors = PARTS["vectors.npy"].copy()
    vectors[row, 1] = np.nan
    forge_array(made / "vectors.npy", vectors)
    with pytest.raises(DamagedStore, match=r"vectors\.npy: a number is infinite or not a "):
        store.verify(made)


def test_verify_checks_the_checksums_of_large_files_and_use_those_of_small_ones(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (made / "vectors.npy").write_bytes((made / "vectors.npy").read_bytes()[:-1] + b"x")
    with pytest.raises(DamagedStore, match="checksum"):
        store.load(made).vectors()
    monkeypatch.setattr(stored, "MAX_HASHED", 0)
    assert len(store.load(made).vectors()) == 3
    with pytest.raises(DamagedStore, match="checksum"):
        store.verify(made)


@pytest.mark.parametrize(
    "config", [{}, {"dimensions": 0}, {"dimensions": 10**9}, {"x": 1}, {"seed": "x"}]
)
def test_forged_settings_are_refused_when_they_are_used(
    saved: Path, config: dict[str, Any], family: Path
) -> None:
    forge(saved, config=config)
    embedding = pyke.load(saved)
    with pytest.raises(DamagedStore):
        embedding.update(family) if config == {} else embedding.config()


def test_a_directory_with_other_dimensions_than_its_settings_cannot_be_updated(
    saved: Path, family: Path
) -> None:
    forge_array(saved / "vectors.npy", np.load(saved / "vectors.npy")[:, :3].copy())
    with pytest.raises(DamagedStore, match="3 dimensions"):
        pyke.load(saved).update(family)


# -- files that are not files --------------------------------------------------------------------


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


SPECIAL: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "directory": Path.mkdir,
    "socket": _socket,
}


@pytest.mark.parametrize("name", ["manifest.json", "vectors.npy", "terms.txt"])
@pytest.mark.parametrize("make", SPECIAL.values(), ids=SPECIAL)
def test_only_regular_files_are_opened(
    saved: Path, name: str, make: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(saved)  # the path of a socket must be short
    Path(name).unlink()
    make(Path(name))
    with pytest.raises((DamagedStore, NoInput), match=name):
        pyke.load(".")
    with pytest.raises(OutputExists):
        store.save(saved, {}, {}, replace=True)


def test_a_link_is_followed_only_to_the_same_content(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tools such as git-annex store files as links. A link to another file could expose it."""
    monkeypatch.setattr(stored, "MAX_HASHED", 0)
    terms, other = (saved / "terms.txt"), saved.with_name("other.txt")
    other.write_bytes(terms.read_bytes())
    terms.unlink()
    terms.symlink_to(other)
    assert ANNA in pyke.load(saved)
    other.write_bytes(other.read_bytes()[::-1])
    with pytest.raises(DamagedStore, match="checksum"):
        _ = pyke.load(saved).terms


# -- when files are checked ----------------------------------------------------------------------


def test_neighbours_are_found_without_reading_the_triples(saved: Path) -> None:
    forge_array(saved / "triples.npy", np.load(saved / "triples.npy") + 1000)
    embedding = pyke.load(saved)
    assert len(embedding.nearest(ANNA)) == 8
    with pytest.raises(DamagedStore, match=r"triples\.npy: an id"):
        embedding.graph()


def test_a_loaded_embedding_does_not_change_when_its_directory_is_replaced(
    saved: Path, family: Path
) -> None:
    loaded = pyke.load(saved)
    pyke.embed(family, dimensions=3).save(saved, force=True)
    assert loaded.dimensions == 6
    assert len(loaded.triples) == 8


def test_a_loaded_embedding_can_be_copied_and_pickled(saved: Path) -> None:
    loaded = pyke.load(saved)
    for same in (copy.copy(loaded), copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        assert np.array_equal(same.vectors, loaded.vectors)
    with pytest.raises(AttributeError, match="anything"):
        _ = loaded.anything  # type: ignore[attr-defined]
