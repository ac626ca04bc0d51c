"""The embedding directory: written in one step, checked when it is opened, mapped into memory."""

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
    """Write an embedding directory."""
    write_directory(path, contents, {"format": FORMAT, "version": VERSION} | manifest, replace)


def load(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the mapped arrays of an embedding directory, and its manifest.

    Sizes and shapes are checked; contents are not.
    """
    manifest = read_manifest(path)
    arrays = {name: _map_array(path, name, manifest) for name in _ARRAYS} | {
        name: _map_text(path, name, manifest) for name in _TEXTS
    }
    _check_shapes(path, arrays)
    return arrays, manifest


def verify(path: Path) -> dict[str, Any]:
    """Check sizes, checksums, shapes, ids and numbers, and return the manifest.

    Raises DamagedStore if anything is wrong.

    Examples
    --------
    >>> import pyke, pyke.store, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pyke.embed("examples/father.ttl", dimensions=10).save(f"{folder}/out")
    ...     pyke.store.verify(Path(folder) / "out")["census"]["terms"]
    16
    """
    arrays, manifest = load(path)
    for name, entry in manifest["files"].items():
        if file_hash(path / name) != entry["sha256"]:
            raise DamagedStore(
                f"{path / name}: the content does not match the checksum in {MANIFEST}. "
                "Copy the directory again, or embed the graph again."
            )
    _check_contents(path, arrays)
    return manifest


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest; its format, its version and the sizes of all files are checked."""
    file = path / MANIFEST
    try:
        if file.stat().st_size > MAX_MANIFEST_BYTES:
            raise DamagedStore(f"{file} is too large for a manifest")
        manifest = json.loads(file.read_bytes())
    except FileNotFoundError:
        if not path.exists():
            raise NoInput(f"{path} does not exist: no {MANIFEST} there") from None
        raise NoInput(f"{path} is not an embedding directory: it has no {MANIFEST}") from None
    except NotADirectoryError:
        raise NoInput(
            f"{path} is a file, not an embedding directory. To embed an RDF file, use "
            f"`pyke embed {path} -o DIRECTORY`."
        ) from None
    except OSError as error:
        raise NoInput(f"cannot read {file}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise DamagedStore(f"{file} is not JSON") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise DamagedStore(f"{file} is not the manifest of an embedding")
    if manifest.get("version") != VERSION:
        raise DamagedStore(
            f"{path} has format version {manifest.get('version')}; "
            f"this version of pyke reads version {VERSION}"
        )
    files = manifest.get("files")
    if not isinstance(files, dict) or set(files) != {*_ARRAYS, *_TEXTS}:
        raise DamagedStore(f"{file} does not list the files of an embedding")
    for name, entry in files.items():
        if (
            not isinstance(entry, dict)
            or not isinstance(entry.get("bytes"), int)
            or not isinstance(entry.get("sha256"), str)
        ):
            raise DamagedStore(f"{file} does not describe {name}")
        if not (path / name).is_file():
            raise DamagedStore(f"{path / name} is missing")
        if (size := (path / name).stat().st_size) != entry["bytes"]:
            raise DamagedStore(f"{path / name} has {size} bytes instead of {entry['bytes']}")
    return manifest


def _map_array(path: Path, name: str, manifest: dict[str, Any]) -> NDArray[Any]:
    """Return one array, mapped; its type and its number of axes are checked."""
    kind, axes = _ARRAYS[name]
    try:
        array: NDArray[Any] = np.load(path / name, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # NumPy raises many kinds of errors for a damaged header
        raise DamagedStore(f"{path / name} is not an array: {error}") from None
    if array.dtype != kind or array.ndim != axes or not array.flags.c_contiguous:
        raise DamagedStore(
            f"{path / name} has the wrong type or shape: {array.dtype}, {array.shape}"
        )
    if array.nbytes > manifest["files"][name]["bytes"]:
        raise DamagedStore(f"{path / name} has fewer rows than its header says")
    return array


def _map_text(path: Path, name: str, manifest: dict[str, Any]) -> NDArray[Any]:
    """Return the bytes of a text file, mapped."""
    if manifest["files"][name]["bytes"] == 0:  # an empty file cannot be mapped
        return np.zeros(0, np.uint8)
    return np.memmap(path / name, np.uint8, "r")


def _check_shapes(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Raise DamagedStore if the arrays do not fit together."""
    terms = len(arrays["vectors.npy"])
    if not len(arrays["term_offsets.npy"]) or not len(arrays["label_offsets.npy"]):
        raise DamagedStore(f"{path}: offsets are missing")
    for condition, what in (
        (
            len(arrays["term_offsets.npy"]) == terms + 1,
            "term_offsets.npy and vectors.npy differ in the number of terms",
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
        (arrays["types.npy"].shape[1] == 2, "types.npy must have two columns"),
        (arrays["triples.npy"].shape[1] == 3, "triples.npy must have three columns"),
    ):
        if not condition:
            raise DamagedStore(f"{path}: {what}")


def _check_contents(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Raise DamagedStore if offsets, ids or vectors are invalid."""
    terms = len(arrays["vectors.npy"])
    for name in ("term_offsets.npy", "label_offsets.npy"):
        if int(arrays[name][0]) != 0 or bool((np.diff(arrays[name]) < 1).any()):
            raise DamagedStore(f"{path / name} must ascend from 0")
    for name, low in (("types.npy", 0), ("triples.npy", -1), ("labelled.npy", 0)):
        if arrays[name].size and (
            int(arrays[name].min()) < low or int(arrays[name].max()) >= terms
        ):
            raise DamagedStore(f"{path / name} has ids of missing terms")
    if not all(
        bool(np.isfinite(arrays["vectors.npy"][at : at + 65536]).all())
        for at in range(0, terms, 65536)
    ):
        raise DamagedStore(f"{path / 'vectors.npy'} has numbers that are infinite or not a number")
