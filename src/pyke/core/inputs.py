"""Open inputs: decompression with limits, and a thread that reads ahead."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import queue
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol

from pyke.errors import DataError, NoInput

# Compression shrinks triples by a factor of 5 to 50, zeros by a factor of 1000.
MAX_RATIO = 400
RATIO_APPLIES_FROM = 1 << 30  # bytes; small files may be very repetitive


class ByteSource(Protocol):
    """An object with a `read` method."""

    def read(self, size: int = -1, /) -> bytes:
        """Read at most `size` bytes; no bytes at the end."""


class _CountingSource:
    """A source that counts the bytes read from it."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self.count = 0

    def read(self, size: int = -1, /) -> bytes:
        data = self._source.read(size)
        self.count += len(data)
        return data

    # gzip, bz2 and lzma call this; they never seek in what they decompress once.
    def seekable(self) -> bool:
        return False


class _Zstd:
    """Decompresses Zstandard frames; unlike zstandard's own reader it detects a missing end."""

    def __init__(self, source: ByteSource) -> None:
        import zstandard

        self._source = source
        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._frame: Any = None
        self._unused = b""  # compressed data after the end of a frame
        self._ready = b""

    def read(self, size: int = -1, /) -> bytes:
        while not self._ready:
            # Small pieces: they may decompress to very large ones.
            packed = self._unused or self._source.read(1 << 12)
            if not packed:
                if self._frame is not None:
                    raise EOFError
                return b""
            self._frame = self._frame or self._new_frame()
            self._ready, self._unused = self._frame.decompress(packed), b""
            if self._frame.eof:
                self._unused, self._frame = self._frame.unused_data, None
        data = self._ready if size < 0 else self._ready[:size]
        self._ready = self._ready[len(data) :]
        return data


_DECOMPRESSORS: dict[str, Callable[[Any], ByteSource]] = {
    ".gz": lambda source: gzip.GzipFile(fileobj=source, mode="rb"),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _Zstd,
}

COMPRESSIONS = tuple(_DECOMPRESSORS)

_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}


def _open(name: str) -> BinaryIO:
    return open(name, "rb", buffering=1 << 20)


class Input:
    """Context manager: an opened input, decompressed, with the number of bytes read so far."""

    def __init__(self, name: str, compression: str | None) -> None:
        self.name = name
        try:
            self._file: BinaryIO = sys.stdin.buffer if name == "-" else _open(name)
            self.size = 0 if name == "-" else os.fstat(self._file.fileno()).st_size
        except IsADirectoryError:
            raise NoInput(f"{name} is a directory") from None
        except OSError as error:
            raise NoInput(f"cannot open {name}: {error.strerror or error}") from None
        if name == "-" and compression is None and isinstance(self._file, io.BufferedReader):
            compression = _compression_in(self._file.peek(6))
        self._raw = _CountingSource(self._file)
        self._decompressed = 0
        self._data: ByteSource = (
            _DECOMPRESSORS[compression](self._raw) if compression else self._raw
        )
        self._compression = compression

    @property
    def consumed(self) -> int:
        """Bytes read from the file, before decompression."""
        return self._raw.count

    def read(self, size: int = -1, /) -> bytes:
        """Decompressed bytes. A damaged file or a decompression bomb is a DataError."""
        try:
            data = self._data.read(size)
        except EOFError:
            raise DataError(
                f"{self.name} is incomplete: the {self._compression} file was cut off. "
                "Download it again."
            ) from None
        except (OSError, zlib.error, lzma.LZMAError) as error:
            raise DataError(f"cannot decompress {self.name}: {error}") from None
        except Exception as error:  # zstandard is imported only when needed
            if type(error).__module__.startswith(("zstandard", "zstd")):
                raise DataError(f"cannot decompress {self.name}: {error}") from None
            raise
        self._decompressed += len(data)
        limit = max(RATIO_APPLIES_FROM, MAX_RATIO * self._raw.count)
        if self._compression and self._decompressed > limit:
            raise DataError(
                f"{self.name} decompresses to more than {MAX_RATIO} times its size and was refused "
                "as a decompression bomb. If you trust the file, decompress it first."
            )
        return data

    def __enter__(self) -> Input:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.name != "-":
            self._file.close()


def compression_of(name: str) -> str | None:
    """The compression of a file, by its name or its first bytes."""
    for suffix in COMPRESSIONS:
        if name.lower().endswith(suffix):
            return suffix
    if not os.path.isfile(name):
        return None  # reading from a pipe would consume its first bytes
    try:
        with open(name, "rb") as file:
            start = file.read(6)
    except OSError:
        return None
    return _compression_in(start)


def extension_of(path: str | os.PathLike[str]) -> str:
    """The extension of a file name without that of a compression: `.nt` of a.NT.gz."""
    name = Path(path)
    return (Path(name.stem) if name.suffix.lower() in COMPRESSIONS else name).suffix.lower()


def _compression_in(start: bytes) -> str | None:
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)


def read_ahead(produce: Iterator[Any], depth: int = 4) -> Iterator[Any]:
    """Run an iterator in a thread, at most `depth` items ahead, and raise its exception here."""
    ready: queue.Queue[tuple[bool, Any]] = queue.Queue(depth)
    stopped = threading.Event()

    def put(entry: tuple[bool, Any]) -> bool:
        while not stopped.is_set():
            try:
                ready.put(entry, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def run() -> None:
        try:
            for item in produce:
                if not put((False, item)):
                    return
            put((True, None))
        except BaseException as error:
            put((True, error))

    thread = threading.Thread(target=run, name="pyke-read-ahead", daemon=True)
    thread.start()
    try:
        while True:
            last, item = ready.get()
            if last:
                if item is not None:
                    raise item
                return
            yield item
    finally:
        stopped.set()
        thread.join(1.0)  # it may wait for a pipe for ever; as a daemon it ends with the process
