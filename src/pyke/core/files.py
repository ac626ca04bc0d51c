"""The only module that writes files."""

from __future__ import annotations

import bz2
import ctypes
import errno
import fcntl
import glob
import hashlib
import json
import lzma
import os
import secrets
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.parallel import ordered_map
from pyke.errors import OutputExists, PykeError, WriteError

MANIFEST = "manifest.json"

WRITE_BYTES = 8 << 20

MAX_MANIFEST_BYTES = 64 << 20


def _write_error(path: Path, error: OSError) -> WriteError:
    reason = (
        "the disk is full"
        if error.errno in (errno.ENOSPC, errno.EDQUOT)
        else error.strerror or str(error)
    )
    return WriteError(f"cannot write {path}: {reason}. Nothing of the earlier output was touched.")


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _Writer:
    """Writes through to a file and hashes what passes."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes | memoryview) -> int:
        self.hash.update(data)
        self.size += len(data)
        return _write_all(self.file, data)


Block = bytes | memoryview

Content = NDArray[Any] | Block | Iterable[Block]


def _write_file(path: Path, content: Content) -> dict[str, Any]:
    """Writes one file, synced; returns its entry in the manifest."""
    with open(path, "wb", buffering=0) as file:
        writer = _Writer(file)
        if isinstance(content, np.ndarray):
            header = {
                "descr": np.lib.format.dtype_to_descr(content.dtype),
                "fortran_order": False,
                "shape": content.shape,
            }
            np.lib.format.write_array_header_1_0(writer, header)
            rows = max(1, WRITE_BYTES // max(1, content[:1].nbytes))
            for begin in range(0, len(content) if content.size else 0, rows):
                writer.write(np.ascontiguousarray(content[begin : begin + rows]).data.cast("B"))
        elif isinstance(content, Block):
            for begin in range(0, len(content), WRITE_BYTES):
                writer.write(content[begin : begin + WRITE_BYTES])
        else:
            for block in content:
                writer.write(block)
        os.fsync(file.fileno())
    return {"bytes": writer.size, "sha256": writer.hash.hexdigest()}


def write_directory(
    target: Path, contents: Mapping[str, Content], manifest: dict[str, Any], force: bool = False
) -> None:
    """Writes a directory whole or not at all: beside the target, synced, the manifest last, then put in its place."""
    target = target.resolve()
    beside = target.with_name(f".{target.name}.writing-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        _recover(target)
        check_output(target, force)
        beside.mkdir(parents=True)
        files = {name: _write_file(beside / name, content) for name, content in contents.items()}
        text = (
            json.dumps(manifest | {"files": files}, indent=1, ensure_ascii=False, allow_nan=False)
            + "\n"
        )
        _write_file(beside / MANIFEST, text.encode())
        _sync_directory(beside)
        check_output(target, force)
        if target.exists():
            _exchange(beside, target)
        else:
            os.rename(beside, target)
        with suppress(
            OSError
        ):  # it is there; whether it would survive a power cut is all that is open
            _sync_directory(target.parent)
    except OSError as error:
        if isinstance(error, OutputExists):
            raise
        raise _write_error(target, error) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def check_output(target: Path, replace: bool) -> None:
    """Refuses an output that may not be written: one that is there, or one that has other files in it than we wrote."""
    if not target.name:
        raise OutputExists(f"{target} cannot be an output; name a directory to be made")
    if not target.exists():
        return
    if not target.is_dir():
        raise OutputExists(f"{target} exists and is no directory")
    present = set(os.listdir(target))
    if not replace:
        raise OutputExists(f"{target} exists; --force replaces it")
    if strange := present - _own_files(target):
        raise OutputExists(
            f"{target} has files in it that are not ours ({min(strange)}); it is not replaced. Choose another output."
        )


def _own_files(directory: Path) -> set[str]:
    """The files that a directory's manifest names, and the manifest."""
    try:
        manifest = json.loads((directory / MANIFEST).read_bytes()[:MAX_MANIFEST_BYTES])
        return {MANIFEST, *manifest["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _recover(target: Path) -> None:
    """Puts back what a kill in the middle of the two steps below has left aside."""
    aside = target.with_name(f".{target.name}.old")
    if aside.exists() and not target.exists():
        os.rename(aside, target)


def _exchange(new: Path, old: Path) -> None:
    """Swaps two directories in one step, so that a reader sees the old one or the new one and nothing between."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    at_cwd, swap = -100, 2
    if rename is None or rename(at_cwd, os.fsencode(new), at_cwd, os.fsencode(old), swap) != 0:
        number = ctypes.get_errno()
        if rename and number not in (errno.EINVAL, errno.ENOSYS):
            raise OSError(number, os.strerror(number))
        # A file system without exchange: two steps, the old one is put aside first.
        aside = old.with_name(f".{old.name}.old")
        shutil.rmtree(aside, ignore_errors=True)
        os.rename(old, aside)
        try:
            os.rename(new, old)
        except OSError:
            os.rename(aside, old)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def _zstd(block: Block) -> bytes:
    import zstandard

    return bytes(zstandard.ZstdCompressor().compress(block))


# A block each, on its own thread: in all four formats, compressed files one behind the other are a compressed file. Levels for speed.
_COMPRESSORS: dict[str, Callable[[Block], bytes]] = {
    ".gz": lambda block: zlib.compress(block, 1, wbits=31),
    ".bz2": lambda block: bz2.compress(block, 1),
    ".xz": lambda block: lzma.compress(block, preset=0),
    ".zst": _zstd,
}


@contextmanager
def new_file(path: str | os.PathLike[str], force: bool = False) -> Iterator[IO[bytes]]:
    """A file to be written in the block, whole or not at all: beside its place, synced, then put there."""
    target = Path(path).resolve()
    beside = target.with_name(f".{target.name}.writing-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        check_file(target, force)
        _remove_litter(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(beside, "wb", buffering=0) as file:
            yield file
            os.fsync(file.fileno())
        check_file(target, force)
        os.replace(beside, target)
        with suppress(OSError):
            _sync_directory(target.parent)
    except OSError as error:
        if isinstance(error, PykeError):
            raise
        raise _write_error(target, error) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def write_stream(
    path: str | os.PathLike[str], blocks: Iterable[Block], force: bool = False, threads: int = 1
) -> int:
    """Writes blocks to one file, whole or not at all, compressed as its name tells; its bytes. `-` is standard output."""
    if os.fspath(path) == "-":
        return _write_to_standard_output(blocks)
    compress = _COMPRESSORS.get(Path(path).suffix.lower())
    with new_file(path, force) as file:
        size = sum(
            _write_all(file, block)
            for block in (ordered_map(compress, blocks, threads) if compress else blocks)
        )
        if compress and not size:  # an empty file is no compressed file
            size = _write_all(file, compress(b""))
    return size


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes one file whole or not at all, over what is there."""
    with new_file(path, force=True) as file:
        _write_all(file, content)


def _write_to_standard_output(blocks: Iterable[Block]) -> int:
    try:
        size = sum(_write_all(sys.stdout.buffer, block) for block in blocks)
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # whoever reads has seen enough
        raise
    except OSError as error:
        raise _write_error(Path("standard output"), error) from error
    return size


def _write_all(file: IO[bytes], block: Block) -> int:
    """Writes all of a block; its size."""
    rest = memoryview(block)
    while rest:  # a single call writes at most 2 GiB, and less when the disk fills up
        rest = rest[file.write(rest) :]
    return len(block)


def check_file(target: Path, force: bool) -> None:
    """Refuses a file that may not be written: one that is there, what is no plain file, or one where nothing can be written."""
    if os.path.exists(target):
        if not target.is_file():
            raise OutputExists(f"{target} exists and is no file")
        if not force:
            raise OutputExists(f"{target} exists; --force replaces it")
    place = next(parent for parent in target.resolve().parents if os.path.exists(parent))
    if not (place.is_dir() and os.access(place, os.W_OK)):
        raise WriteError(f"cannot write {target}: {place} is no directory that can be written to")


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def work_directory(output: Path) -> Iterator[Path]:
    """The directory beside an output that holds its checkpoints, locked against a second run."""
    output = output.resolve()
    path = output.with_name(f".{output.name}.pyke")
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = os.open(path / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise _write_error(path, error) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OutputExists(
                f"another run is writing {output}; wait for it or choose another output"
            ) from None
        _remove_litter(output)
        yield path
        remove(path)
    except BaseException:
        if os.listdir(path) == ["lock"]:  # nothing to go on from
            remove(path)
        raise
    finally:
        os.close(lock)


def _remove_litter(output: Path) -> None:
    """Removes what killed runs were about to write."""
    for path in output.parent.glob(f".{glob.escape(output.name)}.writing-*"):
        process = path.name.split("-")[-2]
        if not Path(f"/proc/{process}").exists():
            remove(path)


def remove(path: Path) -> None:
    """Removes a file or a directory tree, if it is there."""
    if path.is_file():
        path.unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Create a directory for intermediate results; remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="pyke-") as path:
        yield Path(path)


@contextmanager
def temporary_text() -> Iterator[IO[str]]:
    """Open a text file that no other program sees; invalid UTF-8 is replaced when it is read."""
    with tempfile.TemporaryFile("w+", errors="replace") as file:
        yield file
