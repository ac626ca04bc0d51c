"""Read directories that `files.write_directory` wrote. Nothing in them is trusted.

Only regular files are opened: a pipe or a device would block, or never end. A file is mapped once,
and everything is checked on this mapping, so replacing the directory meanwhile changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Bytes
from pyke.errors import DamagedStore

MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 64 << 20
CHECKSUM = "sha256"  # last key of a manifest: the checksum of the manifest itself
MAX_HASHED = 8 << 20  # the checksum of a larger file is only checked by `verify`: it takes long

# Type and shape of an array: the allowed types, such as "<i4", and the number of columns. None
# columns: one axis; 0 columns: two axes, with any number of columns.
Kind = tuple[tuple[str, ...], int | None]

_NO_CHECKSUM = "0" * 64  # in place of the checksum while it is computed
_ADVICE = "Copy the directory again, or embed the graph again."
# What NumPy writes for an array of a plain type in C order, and nothing else.
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(..)"
    rb"\{'descr': '([<|][a-z][0-9])', 'fortran_order': False, "
    rb"'shape': \(([0-9]{1,15}),(?: ([0-9]{1,15}))?\), \} *\n",
    re.DOTALL,
)
_MAX_HEADER = 256
_HASHED_AT_ONCE = 64 << 20  # bytes


def open_regular(path: Path) -> int:
    """Open a regular file to read; return its descriptor. Raises DamagedStore for other files."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DamagedStore(f"{path} is not a regular file")
    return descriptor


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# -- manifests --------------------------------------------------------------------------------


def seal(manifest: Mapping[str, Any]) -> bytes:
    """Return a manifest as JSON, with the checksum of its text."""
    unsealed = {key: value for key, value in manifest.items() if key != CHECKSUM}
    entries = unsealed | {CHECKSUM: _NO_CHECKSUM}
    text = json.dumps(entries, indent=1, ensure_ascii=False, allow_nan=False)
    # A file name that is not UTF-8 has lone surrogates: JSON keeps them as \udcXX.
    data = f"{text}\n".encode("utf-8", "backslashreplace")
    head, tail = data.rsplit(_NO_CHECKSUM.encode(), 1)
    return head + hashlib.sha256(data).hexdigest().encode() + tail


def read_manifest(directory: Path) -> dict[str, Any]:
    """Return the manifest of a directory: its checksum and the list of files are checked.

    Raises OSError if it cannot be read, and DamagedStore if it is invalid.
    """
    path = directory / MANIFEST
    with open(open_regular(path), "rb") as file:
        data = file.read(MAX_MANIFEST_BYTES + 1)
    if len(data) > MAX_MANIFEST_BYTES:
        raise DamagedStore(f"{path} is too large for a manifest")
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError):
        raise DamagedStore(f"{path} is not JSON") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise DamagedStore(f"{path} is not a manifest: it lists no files")
    if CHECKSUM in manifest and not _has_checksum(data, manifest[CHECKSUM]):
        raise DamagedStore(f"{path} does not match its checksum. {_ADVICE}")
    for name, entry in manifest["files"].items():
        if not _is_entry(name, entry):
            raise DamagedStore(f"{path} does not describe {name!r}")
    return manifest


def _has_checksum(data: bytes, checksum: Any) -> bool:
    """Whether a text has this checksum; it is computed with zeros in place of the checksum."""
    if not (isinstance(checksum, str) and checksum):
        return False
    head, found, tail = data.rpartition(checksum.encode("utf-8", "backslashreplace"))
    whole = head + _NO_CHECKSUM.encode() + tail
    return bool(found) and hashlib.sha256(whole).hexdigest() == checksum


def _is_entry(name: str, entry: Any) -> bool:
    """Whether an entry of a manifest describes a file in the same directory."""
    return (
        re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", name) is not None
        and isinstance(entry, dict)
        and type(entry.get("bytes")) is int
        and isinstance(entry.get("sha256"), str)
    )


# -- files ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StoredFile:
    """A mapped file, with its entry in the manifest."""

    path: Path
    content: Bytes
    sha256: str
    is_link: bool

    @classmethod
    def open(cls, directory: Path, name: str, manifest: Mapping[str, Any]) -> StoredFile:
        """Map a file; its size is checked."""
        path, entry = directory / name, manifest["files"][name]
        try:
            descriptor = open_regular(path)
        except FileNotFoundError:
            raise DamagedStore(f"{path} is missing") from None
        except OSError as error:
            raise DamagedStore(f"cannot read {path}: {error.strerror}") from None
        try:
            size = os.fstat(descriptor).st_size
            if size != entry["bytes"]:
                raise DamagedStore(f"{path} has {size} bytes instead of {entry['bytes']}")
            # An empty file cannot be mapped.
            mapped = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ) if size else b""
        finally:
            os.close(descriptor)
        return cls(path, np.frombuffer(mapped, np.uint8), entry["sha256"], path.is_symlink())

    def array(self, kind: Kind) -> NDArray[Any]:
        """Return the array in a file of NumPy's format; its type and shape are checked."""
        match = _HEADER.match(self.content[:_MAX_HEADER].tobytes())
        header = 10 + int.from_bytes(match[1], "little") if match else 0
        if not match or match.end() != header or header % 64:  # kernels need aligned numbers
            raise DamagedStore(f"{self.path} is not a plain array in NumPy's format")
        types, columns = kind
        shape = tuple(int(size) for size in match.group(3, 4) if size)
        axes = 1 if columns is None else 2
        found = match[2].decode()
        if found not in types or len(shape) != axes or (columns and shape[1] != columns):
            raise DamagedStore(f"{self.path} has the wrong type or shape: {found}, {shape}")
        if len(self.content) - header != math.prod(shape) * np.dtype(found).itemsize:
            raise DamagedStore(f"{self.path} does not have as many rows as its header says")
        array: NDArray[Any] = self.content[header:].view(found).reshape(shape)
        return array

    def check_sum(self, always: bool = False) -> None:
        """Raise DamagedStore if the content does not match its checksum.

        Without `always`, files above MAX_HASHED are skipped, except links: a link could lead to
        any file of the user.
        """
        if (always or self.is_link or len(self.content) <= MAX_HASHED) and (
            self._hash() != self.sha256
        ):
            raise DamagedStore(
                f"{self.path}: the content does not match the checksum in {MANIFEST}. {_ADVICE}"
            )

    def _hash(self) -> str:
        """SHA-256 of the content. Large content does not stay in memory."""
        found = hashlib.sha256()
        for begin in range(0, len(self.content), _HASHED_AT_ONCE):
            found.update(self.content[begin : begin + _HASHED_AT_ONCE].data)
            if len(self.content) > _HASHED_AT_ONCE:
                self.forget()
        return found.hexdigest()

    def forget(self) -> None:
        """Release the memory of what was read of the file; it is read again when it is used."""
        mapped = self.content.base
        if isinstance(mapped, memoryview):
            mapped = mapped.obj
        if isinstance(mapped, mmap.mmap):
            mapped.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True)
class StoredRows:
    """The rows of an array in a file. They do not stay in memory."""

    file: StoredFile
    kind: Kind

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.file.array(self.kind).shape

    def __getitem__(self, wanted: slice) -> NDArray[Any]:
        rows = self.file.array(self.kind)[wanted].copy()
        self.file.forget()
        return rows
