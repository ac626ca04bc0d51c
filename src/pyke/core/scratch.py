"""Scratch files: arrays that do not fit into memory, without a name and only for this process.

The system removes them when the process ends, however it ends. Their space is reserved when they
are made, so a full disk is an error before the work and not in the middle of it.
"""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from pyke.core.system import read_ahead_of, reserve_space
from pyke.errors import WriteError

CALL_BYTES = 1 << 30  # Linux transfers at most 2 GiB per call


class Scratch:
    """Makes scratch files in a directory, by default that of the system for temporary files."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory or Path(tempfile.gettempdir())

    def file(self, size: int) -> ScratchFile:
        """A scratch file of this many bytes."""
        return ScratchFile(self.directory, size)


class ScratchFile:
    """Bytes on disk that parts of arrays are written to and read from."""

    def __init__(self, directory: Path, size: int) -> None:
        self._directory, self.size = directory, size
        try:
            self._file = tempfile.TemporaryFile(dir=directory, buffering=0)  # noqa: SIM115
            reserve_space(self._file.fileno(), size)
        except OSError as error:
            raise self._failed(error) from error

    def append(self, array: NDArray[Any]) -> int:
        """Enlarge the file by a contiguous array; return where it begins."""
        at, self.size = self.size, self.size + array.nbytes
        self.write(array, at)
        return at

    def write(self, array: NDArray[Any], at: int = 0) -> None:
        """Write a contiguous array to byte `at` and the following ones."""
        self._transfer(os.pwrite, array, at)

    def read(self, array: NDArray[Any], at: int = 0) -> None:
        """Fill a contiguous array with the bytes from `at`."""
        self._transfer(lambda number, part, place: os.preadv(number, [part], place), array, at)

    def expect(self) -> None:
        """Tell the system that the file will be read soon; it reads ahead if it has free memory."""
        read_ahead_of(self._file.fileno())

    def _transfer(self, call: Any, array: NDArray[Any], at: int) -> None:
        rest = array.data.cast("B") if array.size else memoryview(b"")
        try:
            while rest:
                done = call(self._file.fileno(), rest[:CALL_BYTES], at)
                if not done:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                rest, at = rest[done:], at + done
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> WriteError:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full" if full else error.strerror or str(error)
        return WriteError(
            f"cannot keep {self.size:,} bytes of intermediate results in {self._directory}: "
            f"{reason}. Free some space, or increase `memory`."
        )

    def __del__(self) -> None:
        """Remove the file."""
        if file := getattr(self, "_file", None):
            file.close()
