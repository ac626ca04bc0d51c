"""Files on storage that all workers share: a local folder, or any URL that fsspec knows.

Local files are written by core/files.py. Object stores write a file completely or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from pyke.core import files
from pyke.core.compress import Block
from pyke.core.stored import MANIFEST, seal
from pyke.embedding import store
from pyke.errors import MissingLibrary, NoInput, PykeError, UsageError, WriteError

_ADVICE = "All workers and this computer need the same storage: a shared folder, or a URL."


def is_url(name: str) -> bool:
    """Whether a name is a URL and not a path."""
    return "://" in name


def local_path(name: str) -> Path | None:
    """The path of a local file, None for other URLs."""
    if name.startswith("file://"):
        return Path(name.removeprefix("file://"))
    return None if is_url(name) else Path(os.path.abspath(name))


def filesystem(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    try:
        import fsspec
    except ImportError:
        raise MissingLibrary("fsspec", f"reading {url}", "distributed") from None
    try:
        # Other processes write, too: what a listing showed may not be true any more.
        system, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
    except (ImportError, ValueError) as error:
        raise UsageError(f"cannot use {url}: {error}") from None
    return system, path


@dataclass(frozen=True)
class Storage:
    """A folder on shared storage."""

    url: str

    @cached_property
    def _local(self) -> Path | None:
        return local_path(self.url)

    @cached_property
    def _remote(self) -> tuple[Any, str]:
        return filesystem(self.url)

    def __getstate__(self) -> dict[str, str]:
        return {"url": self.url}

    def place(self, name: str) -> str:
        """A file of the folder, for messages."""
        return f"{self.url.rstrip('/')}/{name}"

    def write(self, name: str, blocks: Iterable[Block], size: int = 0) -> None:
        """Write a file completely or not at all, replacing an existing one.

        If its size is known, a local file reserves its space before.
        """
        if self._local is not None:
            files.write_file(self._local / name, blocks, size)
            return
        with _write_errors(self.place(name)):
            system, root = self._remote
            system.makedirs(root, exist_ok=True)
            with system.open(f"{root}/{name}", "wb") as file:
                for block in blocks:
                    file.write(block)

    def read(self, name: str, begin: int, end: int) -> bytearray:
        """The bytes begin … end of a file, or up to its end."""
        if begin >= end:  # S3 would send the whole file
            return bytearray()
        with _read_errors(self.place(name)):
            if self._local is not None:
                with open(self._local / name, "rb") as file:
                    size = os.fstat(file.fileno()).st_size
                    data = bytearray(max(0, min(end, size) - begin))
                    file.seek(begin)
                    del data[file.readinto(data) :]
                    return data
            system, root = self._remote
            return bytearray(system.cat_file(f"{root}/{name}", start=begin, end=end))

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        if self._local is not None:
            return (self._local / name).is_file()
        system, root = self._remote
        return bool(system.exists(f"{root}/{name}"))

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        if self._local is not None:
            files.remove(self._local / name)
            return
        system, root = self._remote
        if system.exists(f"{root}/{name}"):
            system.rm(f"{root}/{name}", recursive=True)

    def remove_all(self) -> None:
        """Remove the folder of a remote storage; a local one is a work directory."""
        if self._local is None:
            system, root = self._remote
            if system.exists(root):
                system.rm(root, recursive=True)

    def write_json(self, name: str, content: Any) -> None:
        """Write a small file of JSON."""
        self.write(name, [json.dumps(content).encode()])

    def read_json(self, name: str) -> Any:
        """The content of a small file of JSON, None if it does not exist or is invalid."""
        if not self.exists(name):
            return None
        try:
            return json.loads(self.read(name, 0, 1 << 40))
        except ValueError:
            return None


def open_to_read(name: str) -> BinaryIO:
    """Open an input to read, by path or URL."""
    path = local_path(name)
    with _read_errors(name):
        if path is not None:
            return open(path, "rb", buffering=1 << 20)
        system, inner = filesystem(name)
        file: BinaryIO = system.open(inner, "rb")
        return file


def write_directory(
    url: str, contents: Mapping[str, Iterable[Block]], manifest: dict[str, Any], force: bool
) -> None:
    """Write an embedding directory to a local path or to a URL, the manifest last."""
    path = local_path(url)
    if path is not None:
        store.save(path, contents, manifest, force)
        return
    storage, entries = Storage(url), {}
    for name, blocks in contents.items():
        counted = _Counted(blocks)
        storage.write(name, counted)
        entries[name] = {"bytes": counted.size, "sha256": counted.hash.hexdigest()}
    marks = {"format": store.FORMAT, "version": store.VERSION}
    storage.write(MANIFEST, [seal(marks | manifest | {"files": entries})])


class _Counted:
    """Blocks, with their number of bytes and their checksum once they are read."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self._blocks = blocks
        self.size, self.hash = 0, hashlib.sha256()

    def __iter__(self) -> Iterator[Block]:
        for block in self._blocks:
            self.size += len(block)
            self.hash.update(block)
            yield block


def exists(url: str) -> bool:
    """Whether something is at this URL already."""
    system, root = filesystem(url)
    return bool(system.exists(root))


@contextmanager
def _read_errors(name: str) -> Iterator[None]:
    try:
        yield
    except PykeError:
        raise
    except OSError as error:
        raise NoInput(f"cannot read {name}: {_reason(error)}. {_ADVICE}") from None


@contextmanager
def _write_errors(name: str) -> Iterator[None]:
    try:
        yield
    except PykeError:
        raise
    except OSError as error:
        raise WriteError(f"cannot write {name}: {_reason(error)}.") from None


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "it does not exist"
    return error.strerror or str(error) or type(error).__name__
