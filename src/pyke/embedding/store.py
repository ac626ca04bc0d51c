"""The embedding directory: written in one step, mapped into memory, checked when it is used.

Nothing in a directory is trusted. Sizes, headers and shapes are checked when it is opened. The
content of a file is checked when it is first used, because `nearest` needs only some of the files
of a large embedding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyke.config import MAX_CLUSTERS
from pyke.core.arrays import Floats, Ids
from pyke.core.checks import check, check_finite, check_ids, check_sorted, check_texts
from pyke.core.files import Content, write_directory
from pyke.core.stored import CHECKSUM, MANIFEST, Kind, StoredFile
from pyke.core.stored import read_manifest as read_any_manifest
from pyke.errors import DamagedStore, NoInput
from pyke.graph.features import NO_FEATURES, Features, check_features
from pyke.graph.graph import LITERAL, NO_CLUSTER, NO_CLUSTERS, Census
from pyke.graph.terms import Terms, Texts

FORMAT = "pyke-embedding"
VERSION = 1

_ARRAYS: dict[str, Kind] = {
    "vectors.npy": (("<f4",), 0),
    "term_offsets.npy": (("<i8",), None),
    "types.npy": (("<i4",), 2),
    "triples.npy": (("<i4",), 3),
    "labelled.npy": (("<i4",), None),
    "label_offsets.npy": (("<i8",), None),
    "clusters.npy": (("<i4",), None),
}
_CLUSTERS = "clusters.npy"  # only of embeddings that were made with clusters
_FEATURES: dict[str, Kind] = {  # only of embeddings with features of literals
    "features.npy": (("<i4",), 2),
    "feature_keys.npy": (("<u8",), None),
    "feature_bins.npy": (("<u8",), 2),
}
_TEXTS = ("terms.txt", "labels.txt")  # UTF-8
_VECTORS_AT_ONCE = 1 << 16
_COUNTS = {name for name, kind in Census.__annotations__.items() if kind == "int"}
# The keys of a manifest before it had a checksum of its own: any other key is damage.
_KEYS = {
    "format", "version", "program", "config", "inputs", "census", "particles", "springs",
    "stop_reason", "history", "stages", "fingerprint", "updates", "files",
}  # fmt: skip
# Parts of a manifest that are used later, and their types. All of them may be missing.
_KINDS: dict[str, type] = {
    "config": dict,
    "census": dict,
    "inputs": list,
    "history": list,
    "stages": list,
    "updates": list,
}


def save(
    path: Path, contents: Mapping[str, Content], manifest: dict[str, Any], replace: bool
) -> None:
    """Write an embedding directory."""
    write_directory(path, contents, {"format": FORMAT, "version": VERSION} | manifest, replace)


@dataclass(frozen=True)
class Store:
    """An open embedding directory. Each method checks the content of its files and returns it."""

    path: Path
    manifest: dict[str, Any]
    files: dict[str, StoredFile]
    arrays: dict[str, Any]

    @property
    def terms_count(self) -> int:
        """The number of terms."""
        return len(self.arrays["vectors.npy"])

    def vectors(self) -> Floats:
        """The vectors. Their numbers are checked by `verify` and by each search."""
        with self._checked("vectors.npy"):
            vectors: Floats = self.arrays["vectors.npy"]
        return vectors

    def terms(self) -> Terms:
        """The terms."""
        with self._checked("terms.txt", "term_offsets.npy"):
            terms = Terms(self.files["terms.txt"].content, self.arrays["term_offsets.npy"])
            check_texts(terms.blob, terms.offsets)
        return terms

    def types(self) -> Ids:
        """Pairs of subject and class."""
        with self._checked("types.npy"):
            types: Ids = self.arrays["types.npy"]
            check_ids(types, 0, self.terms_count)
            check_sorted(*types.T, distinct=True)
        return types

    def triples(self) -> Ids:
        """Subjects, predicates and objects."""
        with self._checked("triples.npy"):
            triples: Ids = self.arrays["triples.npy"]
            for column, low in zip(triples.T, (0, 0, LITERAL), strict=True):
                check_ids(column, low, self.terms_count)
            check_sorted(*triples.T)
        return triples

    def labels(self) -> Texts:
        """The labels."""
        with self._checked("labels.txt", "label_offsets.npy"):
            labels = Texts(self.files["labels.txt"].content, self.arrays["label_offsets.npy"])
            check_texts(labels.blob, labels.offsets)
        return labels

    def labelled(self) -> Ids:
        """The term of each label."""
        with self._checked("labelled.npy"):
            labelled: Ids = self.arrays["labelled.npy"]
            check_ids(labelled, 0, self.terms_count)
            check_sorted(labelled, distinct=True)
        return labelled

    def term_clusters(self) -> Ids:
        """The cluster of each term, −1 for none; empty if the embedding was made without."""
        if _CLUSTERS not in self.files:
            return NO_CLUSTERS
        with self._checked(_CLUSTERS):
            clusters: Ids = self.arrays[_CLUSTERS]
            check_ids(clusters, NO_CLUSTER, MAX_CLUSTERS)
        return clusters

    def features(self) -> Features:
        """The features of literals."""
        if not self.arrays.keys() >= _FEATURES.keys():
            return NO_FEATURES
        with self._checked(*_FEATURES):
            # Copied: kernels take writable arrays.
            features = Features(*(self.arrays[name].copy() for name in _FEATURES))
            check_features(features, self.terms_count)
        return features

    @contextmanager
    def _checked(self, *names: str) -> Iterator[None]:
        """Check the checksums of small files, and say which file a failed check is about."""
        for name in names:
            self.files[name].check_sum()
        with _damage_in(self.path / names[-1]):
            yield


# The fields of an embedding that are checked when they are first used.
PARTS: dict[str, Callable[[Store], Any]] = {
    "vectors": Store.vectors,
    "terms": Store.terms,
    "types": Store.types,
    "triples": Store.triples,
    "labels": Store.labels,
    "labelled": Store.labelled,
    "term_clusters": Store.term_clusters,
    "features": Store.features,
}


def load(path: Path) -> Store:
    """Open an embedding directory: sizes, headers and shapes are checked."""
    manifest = read_manifest(path)
    files = {name: StoredFile.open(path, name, manifest) for name in manifest["files"]}
    kinds = {name: kind for name, kind in (_ARRAYS | _FEATURES).items() if name in files}
    arrays = {name: files[name].array(kind) for name, kind in kinds.items()}
    store = Store(path, manifest, files, arrays)
    with _damage_in(path):
        _check_lengths(store)
        _check_manifest(manifest)
    return store


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
    store = load(path)
    if CHECKSUM not in store.manifest and (unknown := store.manifest.keys() - _KEYS):
        raise DamagedStore(f"{path / MANIFEST} has an unknown key {min(unknown)!r}")
    for file in store.files.values():
        file.check_sum(always=True)
    for part in PARTS.values():
        part(store)
    with _damage_in(path / "vectors.npy"):
        for begin in range(0, store.terms_count, _VECTORS_AT_ONCE):
            check_finite(store.arrays["vectors.npy"][begin : begin + _VECTORS_AT_ONCE])
    return store.manifest


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest; its format, its version and the list of files are checked."""
    file = path / MANIFEST
    try:
        manifest = read_any_manifest(path)
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
    if manifest.get("format") != FORMAT:
        raise DamagedStore(f"{file} is not the manifest of an embedding")
    if manifest.get("version") != VERSION:
        raise DamagedStore(
            f"{path} has format version {manifest.get('version')!r:.20}; "
            f"this version of pyke reads version {VERSION}"
        )
    optional = _FEATURES if _FEATURES.keys() & manifest["files"].keys() else {}
    if {*manifest["files"], _CLUSTERS} != {*_ARRAYS, *_TEXTS, *optional}:
        raise DamagedStore(f"{file} does not list the files of an embedding")
    return manifest


@contextmanager
def _damage_in(path: Path) -> Iterator[None]:
    """Turn a failed check into a DamagedStore with the path."""
    try:
        yield
    except ValueError as problem:
        raise DamagedStore(f"{path}: {problem}") from None


def _check_lengths(store: Store) -> None:
    """The arrays fit together."""
    arrays, terms = store.arrays, store.terms_count
    check(arrays["vectors.npy"].shape[1], "vectors.npy has no dimensions")
    check(
        len(arrays["term_offsets.npy"]) == terms + 1,
        "term_offsets.npy and vectors.npy differ in the number of terms",
    )
    check(
        len(arrays["label_offsets.npy"]) == len(arrays["labelled.npy"]) + 1,
        "label_offsets.npy and labelled.npy differ in length",
    )
    check(len(arrays.get(_CLUSTERS, range(terms))) == terms, "not one cluster per term")


def _check_manifest(manifest: dict[str, Any]) -> None:
    """The parts of a manifest have the types that their users expect."""
    for name, kind in _KINDS.items():
        check(isinstance(manifest.get(name, kind()), kind), f"{MANIFEST} has no valid {name}")
    for name in ("history", "stages", "updates"):
        entries = manifest.get(name, [])
        check(all(isinstance(one, dict) for one in entries), f"{MANIFEST} has no valid {name}")
    check(all(isinstance(one, str) for one in manifest.get("inputs", [])), "inputs are not names")
    counts = {name: n for name, n in manifest.get("census", {}).items() if name in _COUNTS}
    valid = all(type(n) is int and 0 <= n < 2**63 for n in counts.values())
    check(valid, f"{MANIFEST} has no valid counts")
