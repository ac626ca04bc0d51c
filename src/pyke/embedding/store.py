"""The embedding directory: written whole or not at all, checked before it is trusted, mapped instead of loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.files import MANIFEST, MAX_MANIFEST_BYTES, Content, file_hash, write_directory
from pyke.errors import DamagedStore, NoInput

FORMAT = "pyke-embedding"
VERSION = 1

# Arrays by name: (dtype, number of axes). Texts are raw UTF-8.
_ARRAYS = {
    "vectors.npy": (np.float32, 2),
    "term_offsets.npy": (np.int64, 1),
    "types.npy": (np.int32, 2),
    "triples.npy": (np.int32, 2),
    "labelled.npy": (np.int32, 1),
    "label_offsets.npy": (np.int64, 1),
}
_TEXTS = ("terms.txt", "labels.txt")


def save(
    path: Path, contents: Mapping[str, Content], manifest: dict[str, Any], replace: bool
) -> None:
    """Writes an embedding directory."""
    write_directory(path, contents, {"format": FORMAT, "version": VERSION} | manifest, replace)


def load(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays of an embedding directory, mapped, and its manifest; sizes and shapes are checked, contents are not."""
    manifest = read_manifest(path)
    arrays = {name: _map_array(path, name, manifest) for name in _ARRAYS} | {
        name: _map_text(path, name, manifest) for name in _TEXTS
    }
    _check_shapes(path, arrays)
    return arrays, manifest


def verify(path: Path) -> dict[str, Any]:
    """Checks sizes, checksums, shapes, ids and finiteness; the manifest if all is well, else DamagedStore."""
    arrays, manifest = load(path)
    for name, entry in manifest["files"].items():
        if file_hash(path / name) != entry["sha256"]:
            raise DamagedStore(
                f"{path / name}: its content does not match the checksum in {MANIFEST}. Make the embedding again, or fetch it again."
            )
    _check_contents(path, arrays)
    return manifest


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest, if it is one of ours and names every file with its true size."""
    file = path / MANIFEST
    try:
        if file.stat().st_size > MAX_MANIFEST_BYTES:
            raise DamagedStore(f"{file} is larger than a manifest can be")
        manifest = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise NoInput(f"{path} is no embedding directory: it has no {MANIFEST}") from None
    except NotADirectoryError:
        raise NoInput(
            f"{path} is a file, no embedding directory. If it is RDF, `pyke embed {path} -o DIRECTORY` makes one of it."
        ) from None
    except OSError as error:
        raise NoInput(f"cannot read {file}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise DamagedStore(f"{file} is not JSON") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise DamagedStore(f"{file} is no manifest of an embedding")
    if manifest.get("version") != VERSION:
        raise DamagedStore(
            f"{path} has format version {manifest.get('version')}; this program reads version {VERSION}"
        )
    files = manifest.get("files")
    if not isinstance(files, dict) or set(files) != {*_ARRAYS, *_TEXTS}:
        raise DamagedStore(f"{file} does not name the files of an embedding")
    for name, entry in files.items():
        if (
            not isinstance(entry, dict)
            or not isinstance(entry.get("bytes"), int)
            or not isinstance(entry.get("sha256"), str)
        ):
            raise DamagedStore(f"{file} does not describe {name}")
        size = (path / name).stat().st_size if (path / name).is_file() else -1
        if size != entry["bytes"]:
            raise DamagedStore(
                f"{path / name} has {max(size, 0)} bytes instead of {entry['bytes']}"
                if size >= 0
                else f"{path / name} is missing"
            )
    return manifest


def _map_array(path: Path, name: str, manifest: dict[str, Any]) -> NDArray[Any]:
    kind, axes = _ARRAYS[name]
    try:
        array: NDArray[Any] = np.load(path / name, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header makes NumPy raise errors of many kinds
        raise DamagedStore(f"{path / name} is no array: {error}") from None
    if array.dtype != kind or array.ndim != axes or not array.flags.c_contiguous:
        raise DamagedStore(
            f"{path / name} has the wrong type or shape: {array.dtype}, {array.shape}"
        )
    if array.nbytes > manifest["files"][name]["bytes"]:
        raise DamagedStore(f"{path / name} claims more rows than it has")
    return array


def _map_text(path: Path, name: str, manifest: dict[str, Any]) -> NDArray[Any]:
    if manifest["files"][name]["bytes"] == 0:  # nothing to map
        return np.zeros(0, np.uint8)
    return np.memmap(path / name, np.uint8, "r")


def _check_shapes(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    terms = len(arrays["vectors.npy"])
    if not len(arrays["term_offsets.npy"]) or not len(arrays["label_offsets.npy"]):
        raise DamagedStore(f"{path}: offsets are missing")
    for condition, what in (
        (
            len(arrays["term_offsets.npy"]) == terms + 1,
            "term_offsets.npy has another number of terms than vectors.npy",
        ),
        (
            int(arrays["term_offsets.npy"][-1]) == len(arrays["terms.txt"]),
            "term_offsets.npy does not end where terms.txt does",
        ),
        (
            len(arrays["label_offsets.npy"]) == len(arrays["labelled.npy"]) + 1,
            "label_offsets.npy and labelled.npy differ in length",
        ),
        (
            int(arrays["label_offsets.npy"][-1]) == len(arrays["labels.txt"]),
            "label_offsets.npy does not end where labels.txt does",
        ),
        (arrays["types.npy"].shape[1] == 2, "types.npy has not two columns"),
        (arrays["triples.npy"].shape[1] == 3, "triples.npy has not three columns"),
    ):
        if not condition:
            raise DamagedStore(f"{path}: {what}")


def _check_contents(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    terms = len(arrays["vectors.npy"])
    for name in ("term_offsets.npy", "label_offsets.npy"):
        if int(arrays[name][0]) != 0 or bool((np.diff(arrays[name]) < 1).any()):
            raise DamagedStore(f"{path / name} does not ascend from 0")
    for name, least in (("types.npy", 0), ("triples.npy", -1), ("labelled.npy", 0)):
        if arrays[name].size and (
            int(arrays[name].min()) < least or int(arrays[name].max()) >= terms
        ):
            raise DamagedStore(f"{path / name} names terms that do not exist")
    if not all(
        bool(np.isfinite(arrays["vectors.npy"][at : at + 65536]).all())
        for at in range(0, terms, 65536)
    ):
        raise DamagedStore(f"{path / 'vectors.npy'} has numbers that are not finite")
