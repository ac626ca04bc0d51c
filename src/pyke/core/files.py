"""The only module that writes files. Each output is written completely or not at all.

An output is written beside its target under a temporary name, synced to disk, and then renamed. If
anything fails, an existing output stays unchanged.
"""

from __future__ import annotations

import bz2
import errno
import glob
import hashlib
import json
import lzma
import os
import re
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
from pyke.core.system import process_exists, try_exchange, try_lock
from pyke.core.text import printable_blocks
from pyke.errors import OutputExists, PykeError, WriteError

MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 64 << 20
WRITE_BYTES = 8 << 20  # per call

Block = bytes | memoryview
Content = NDArray[Any] | Block | Iterable[Block]


# -- checks before the work -------------------------------------------------------------------


def check_output_directory(target: Path, force: bool) -> None:
    """Raise an error if a directory cannot be written; never replace files of other programs."""
    target = target.resolve()
    if not target.name:
        raise OutputExists(f"cannot replace {target}; choose a directory below it")
    if os.path.exists(target):
        if not target.is_dir():
            raise OutputExists(f"{target} exists and is not a directory; choose another output")
        _require_force(target, force)
        if foreign := set(os.listdir(target)) - _own_files(target):
            raise OutputExists(
                f"{target} contains files of other programs, such as {min(foreign)}, "
                "and is not replaced; choose another output"
            )
    _check_parent(target)


def check_output_file(target: Path, force: bool) -> None:
    """Raise an error if a file cannot be written."""
    if os.path.exists(target):
        if not target.is_file():
            raise OutputExists(f"{target} exists and is not a file; choose another output")
        _require_force(target, force)
    _check_parent(target.resolve())


def _require_force(target: Path, force: bool) -> None:
    if not force:
        raise OutputExists(f"{target} exists; pass `force=True` to replace it")


def _check_parent(target: Path) -> None:
    """The nearest existing directory above a target must be writable."""
    parent = next(parent for parent in target.parents if os.path.exists(parent))
    if not parent.is_dir():
        raise WriteError(f"cannot write {target}: {parent} is not a directory")
    if not os.access(parent, os.W_OK):
        raise WriteError(f"cannot write {target}: no permission to write to {parent}")


def _own_files(directory: Path) -> set[str]:
    """The manifest of a directory and the files that it lists."""
    try:
        manifest = json.loads((directory / MANIFEST).read_bytes()[:MAX_MANIFEST_BYTES])
        return {MANIFEST, *manifest["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


# -- directories ------------------------------------------------------------------------------


def write_directory(
    target: Path, contents: Mapping[str, Content], manifest: dict[str, Any], force: bool = False
) -> None:
    """Write a directory of files, the manifest last, completely or not at all."""
    target = target.resolve()
    temporary = _temporary(target)
    try:
        with _write_errors(target):
            _recover(target)
            check_output_directory(target, force)
            temporary.mkdir(parents=True)
            files = {name: _write_file(temporary / name, new) for name, new in contents.items()}
            entries = manifest | {"files": files}
            text = json.dumps(entries, indent=1, ensure_ascii=False, allow_nan=False)
            _write_file(temporary / MANIFEST, f"{text}\n".encode())
            _sync_directory(temporary)
            check_output_directory(target, force)
            if target.exists():
                _exchange(temporary, target)
            else:
                os.rename(temporary, target)
        with suppress(OSError):  # the output is in place; only a power cut could undo the rename
            _sync_directory(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_file(path: Path, content: Content) -> dict[str, Any]:
    """Write one file and sync it; return its entry in the manifest."""
    with open(path, "wb", buffering=0) as file:
        writer = _HashingWriter(file)
        if isinstance(content, np.ndarray):
            _write_array(writer, content)
        elif isinstance(content, Block):
            for begin in range(0, len(content), WRITE_BYTES):
                writer.write(content[begin : begin + WRITE_BYTES])
        else:
            for block in content:
                writer.write(block)
        os.fsync(file.fileno())
    return {"bytes": writer.size, "sha256": writer.hash.hexdigest()}


class _HashingWriter:
    """Writes to a file and hashes what it writes."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.hash = hashlib.sha256()
        self.size = 0

    def write(self, data: Block) -> int:
        self.hash.update(data)
        self.size += len(data)
        return _write_all(self.file, data)


def _write_array(writer: _HashingWriter, array: NDArray[Any]) -> None:
    """Write an array in NumPy's format, some rows at a time."""
    header = {
        "descr": np.lib.format.dtype_to_descr(array.dtype),
        "fortran_order": False,
        "shape": array.shape,
    }
    np.lib.format.write_array_header_1_0(writer, header)
    rows = max(1, WRITE_BYTES // max(1, array[:1].nbytes))
    for begin in range(0, len(array) if array.size else 0, rows):
        writer.write(np.ascontiguousarray(array[begin : begin + rows]).data.cast("B"))


def _exchange(new: Path, old: Path) -> None:
    """Replace a directory. A reader sees the old or the new one, in one step where possible."""
    if try_exchange(new, old):
        return
    aside = _aside(old)
    shutil.rmtree(aside, ignore_errors=True)
    os.rename(old, aside)
    try:
        os.rename(new, old)
    except OSError:
        os.rename(aside, old)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")


def _recover(target: Path) -> None:
    """Restore a directory that a killed run moved aside and did not replace."""
    if _aside(target).exists() and not target.exists():
        os.rename(_aside(target), target)


# -- single files -----------------------------------------------------------------------------


@contextmanager
def new_file(path: str | os.PathLike[str], force: bool = False) -> Iterator[IO[bytes]]:
    """Context manager: a file to write, which gets its name when the block ends without error."""
    target = Path(path).resolve()
    temporary = _temporary(target)
    try:
        with _write_errors(target):
            check_output_file(target, force)
            _remove_leftovers(target)
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(temporary, "wb", buffering=0) as file:
                yield file
                os.fsync(file.fileno())
            check_output_file(target, force)
            os.replace(temporary, target)
        with suppress(OSError):
            _sync_directory(target.parent)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write one file completely or not at all, replacing an existing one."""
    with new_file(path, force=True) as file:
        _write_all(file, content)


def write_stream(
    path: str | os.PathLike[str], blocks: Iterable[Block], force: bool = False, threads: int = 1
) -> int:
    """Write blocks to a file, compressed according to its extension; return its size.

    The path `-` is standard output.
    """
    if os.fspath(path) == "-":
        return _write_to_standard_output(blocks)
    compress = _COMPRESSORS.get(Path(path).suffix.lower())
    with new_file(path, force) as file:
        packed = ordered_map(compress, blocks, threads) if compress else blocks
        size = sum(_write_all(file, block) for block in packed)
        if compress and not size:  # an empty file is not a valid compressed file
            size = _write_all(file, compress(b""))
    return size


def _write_to_standard_output(blocks: Iterable[Block]) -> int:
    if sys.stdout.isatty():  # labels must not send control codes to a terminal
        blocks = printable_blocks(blocks)
    with _write_errors("standard output"):
        size = sum(_write_all(sys.stdout.buffer, block) for block in blocks)
        sys.stdout.buffer.flush()
    return size


def _zstd(block: Block) -> bytes:
    import zstandard

    return bytes(zstandard.ZstdCompressor().compress(block))


# Each block is compressed on its own thread. In all four formats, concatenated compressed files are
# a compressed file. The levels favour speed.
_COMPRESSORS: dict[str, Callable[[Block], bytes]] = {
    ".gz": lambda block: zlib.compress(block, 1, wbits=31),
    ".bz2": lambda block: bz2.compress(block, 1),
    ".xz": lambda block: lzma.compress(block, preset=0),
    ".zst": _zstd,
}


# -- work directories -------------------------------------------------------------------------


@contextmanager
def work_directory(output: Path) -> Iterator[Path]:
    """Context manager: a directory beside an output for checkpoints, locked against other runs.

    It is removed when the block ends without error, or when it is empty.
    """
    output = output.resolve()
    path = output.with_name(f".{output.name}.pyke")
    with _write_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        lock = os.open(path / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if not try_lock(lock):
            raise OutputExists(
                f"another run is writing {output}; wait until it ends or choose another output"
            )
        try:
            _remove_leftovers(output)
            yield path
            remove(path)
        except BaseException:
            if os.listdir(path) == ["lock"]:  # no checkpoint to resume from
                remove(path)
            raise
    finally:
        os.close(lock)


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Context manager: a directory for intermediate results, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="pyke-") as path:
        yield Path(path)


@contextmanager
def temporary_text() -> Iterator[IO[str]]:
    """Context manager: a text file without a name; reading replaces invalid UTF-8."""
    with tempfile.TemporaryFile("w+", errors="replace") as file:
        yield file


# -- shared -----------------------------------------------------------------------------------


def _temporary(target: Path) -> Path:
    return target.with_name(f".{target.name}.writing-{os.getpid()}-{secrets.token_hex(4)}")


def _remove_leftovers(output: Path) -> None:
    """Remove temporary files of runs that were killed."""
    for path in output.parent.glob(f".{glob.escape(output.name)}.writing-*"):
        name = re.search(r"\.writing-(\d+)-[0-9a-f]+$", path.name)
        if name and not process_exists(int(name[1])):
            remove(path)


def remove(path: Path) -> None:
    """Remove a file or a directory tree, if it exists."""
    if path.is_file():
        path.unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_all(file: IO[bytes], block: Block) -> int:
    """Write a complete block; return its size."""
    remaining = memoryview(block)
    while remaining:  # one call writes at most 2 GiB, and less when the disk is nearly full
        remaining = remaining[file.write(remaining) :]
    return len(block)


@contextmanager
def _write_errors(output: Path | str) -> Iterator[None]:
    """Turn errors of the operating system into a WriteError with the name of the output."""
    try:
        yield
    except (PykeError, BrokenPipeError):  # a broken pipe: the reader, such as `head`, has stopped
        raise
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full" if full else error.strerror or str(error)
        raise WriteError(
            f"cannot write {output}: {reason}. Existing output is unchanged."
        ) from error


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
