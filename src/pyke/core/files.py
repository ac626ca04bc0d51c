"""The only module that writes files. Each output is written completely or not at all.

An output is written beside its target under a temporary name, synced to disk, and then renamed. If
anything fails, an existing output stays unchanged.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.compress import COMPRESSORS, Block
from pyke.core.parallel import ordered_map
from pyke.core.stored import CHECKSUM, MANIFEST, read_manifest, seal
from pyke.core.system import reserve_space, try_exchange, try_lock
from pyke.core.temporary import REPLACED, WRITING, leftovers, temporary_name
from pyke.core.text import printable_blocks
from pyke.errors import DamagedStore, OutputExists, PykeError, WriteError

WRITE_BYTES = 8 << 20  # per call
_LOCK = "lock"
_ATTEMPTS = 100  # to lock, while other runs end
_MARKS = ("pyke-embedding", "pyke-vectors", "tensorflow-projector")  # of directories

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
                f"{target} contains files that PYKE did not write or that have changed, such as "
                f"{min(foreign)}, and is not replaced; remove it or choose another output"
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
    """The files in a directory that PYKE wrote: its manifest and the unchanged files in it.

    Other programs list files in a manifest.json, too. Ours has a checksum of its own; before that
    was added, it had one of these marks. Sizes are enough to recognise our files.
    """
    try:
        manifest = read_manifest(directory)
    except (OSError, DamagedStore):
        return set()
    if not (CHECKSUM in manifest or "checkpoint" in manifest or manifest.get("format") in _MARKS):
        return set()
    own = {MANIFEST}
    for name, entry in manifest["files"].items():
        with suppress(OSError):
            state = os.lstat(directory / name)
            if stat.S_ISREG(state.st_mode) and state.st_size == entry["bytes"]:
                own.add(name)
    return own


# -- directories ------------------------------------------------------------------------------


def write_directory(
    target: Path, contents: Mapping[str, Content], manifest: dict[str, Any], force: bool = False
) -> None:
    """Write a directory of files, the manifest last, completely or not at all."""
    target = target.resolve()
    temporary = temporary_name(target, WRITING)
    try:
        with _write_errors(target, sum(map(_size, contents.values()))):
            _recover(target)
            check_output_directory(target, force)
            temporary.mkdir(parents=True)
            files = {name: _write_file(temporary / name, new) for name, new in contents.items()}
            _write_file(temporary / MANIFEST, seal(manifest | {"files": files}))
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


def _size(content: Content) -> int:
    """The size of some content, as far as it is known."""
    if isinstance(content, np.ndarray):
        return content.nbytes
    return len(content) if isinstance(content, Block) else 0


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
    aside = temporary_name(old, REPLACED)
    os.rename(old, aside)
    try:
        os.rename(new, old)
    except OSError:
        os.rename(aside, old)
        raise
    with suppress(OSError):  # a power cut must not undo the renames after the old files are gone
        _sync_directory(old.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _recover(target: Path) -> None:
    """Restore a directory that a killed run moved aside and did not replace."""
    for aside in leftovers(target, REPLACED):
        if target.exists():
            remove(aside)
        else:
            os.rename(aside, target)


# -- single files -----------------------------------------------------------------------------


@contextmanager
def new_file(path: str | os.PathLike[str], force: bool = False) -> Iterator[IO[bytes]]:
    """Context manager: a file to write, which gets its name when the block ends without error."""
    target = Path(path).resolve()
    temporary = temporary_name(target, WRITING)
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


def write_file(
    path: str | os.PathLike[str], content: bytes | Iterable[Block], size: int = 0
) -> None:
    """Write one file completely or not at all, replacing an existing one; reserve `size` bytes."""
    with new_file(path, force=True) as file:
        if size:
            reserve_space(file.fileno(), size)
            file.seek(0)
        for block in [content] if isinstance(content, bytes) else content:
            _write_all(file, block)


def write_stream(
    path: str | os.PathLike[str], blocks: Iterable[Block], force: bool = False, threads: int = 1
) -> int:
    """Write blocks to a file, compressed according to its extension; return its size.

    The path `-` is standard output.
    """
    if os.fspath(path) == "-":
        return _write_to_standard_output(blocks)
    compress = COMPRESSORS.get(Path(path).suffix.lower())
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


# -- work directories -------------------------------------------------------------------------


@contextmanager
def work_directory(output: Path) -> Iterator[Path]:
    """Context manager: a directory beside an output for checkpoints, locked against other runs.

    It is removed when the block ends without error, or when it is empty.
    """
    output = output.resolve()
    path = output.with_name(f".{output.name}.pyke")
    with _write_errors(path):
        lock = _locked(path)
    if lock is None:
        raise OutputExists(
            f"another run is writing {output}; wait until it ends or choose another output"
        )
    try:
        with _write_errors(path):
            _sync_directory(path)  # after a power cut, the lock shows whose directory it is
        _remove_leftovers(output)
        yield path
        _remove_work(path)
    except BaseException:
        _remove_work(path, only_if_empty=True)  # otherwise it has a checkpoint to resume from
        raise
    finally:
        os.close(lock)


def _locked(path: Path) -> int | None:
    """Create a work directory and lock it; None if another run holds the lock.

    A run that ends removes its lock file. A lock on a removed file locks out nobody, so the file
    must still have its name after it was locked.
    """
    for attempt in range(_ATTEMPTS):
        lock = None
        try:
            path.mkdir(parents=True, exist_ok=True)
            if (found := os.listdir(path)) and _LOCK not in found:
                raise OutputExists(f"{path} exists and is not a work directory of PYKE; remove it")
            lock = os.open(path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
            if not try_lock(lock):
                os.close(lock)
                return None
            if os.path.samestat(os.stat(path / _LOCK), os.fstat(lock)):
                return lock
        except (FileNotFoundError, FileExistsError) as error:
            # A run that ends has removed the lock or the directory meanwhile: try again.
            if isinstance(error, OutputExists) or attempt == _ATTEMPTS - 1:
                raise
        if lock is not None:
            os.close(lock)
    return None


def _remove_work(path: Path, only_if_empty: bool = False) -> None:
    """Remove a work directory. The lock is last: after it, another run may use the directory."""
    with suppress(OSError):
        for entry in path.iterdir():
            if entry.name != _LOCK and not only_if_empty:
                remove(entry)
        with suppress(OSError):
            _sync_directory(path)
        if os.listdir(path) == [_LOCK]:
            (path / _LOCK).unlink()
            path.rmdir()


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


def _remove_leftovers(output: Path) -> None:
    """Remove temporary files of runs that were killed."""
    for path in leftovers(output, WRITING):
        remove(path)


def remove(path: Path) -> None:
    """Remove a file or a directory tree, if it exists."""
    if path.is_file():
        path.unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)


def _write_all(file: IO[bytes], block: Block) -> int:
    """Write a complete block; return its size."""
    remaining = memoryview(block)
    while remaining:  # one call writes at most 2 GiB, and less when the disk is nearly full
        remaining = remaining[file.write(remaining) :]
    return len(block)


@contextmanager
def _write_errors(output: Path | str, size: int = 0) -> Iterator[None]:
    """Turn errors of the operating system into a WriteError with the output and its size."""
    try:
        yield
    except (PykeError, BrokenPipeError):  # a broken pipe: the reader, such as `head`, has stopped
        raise
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        needed = f"; it needs {size:,} bytes" if size else ""
        reason = f"the disk is full{needed}" if full else error.strerror or str(error)
        raise WriteError(
            f"cannot write {output}: {reason}. Existing output is unchanged."
        ) from error


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
