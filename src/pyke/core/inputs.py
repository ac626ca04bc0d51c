"""Open inputs: decompression with limits, and a thread that reads ahead."""

from __future__ import annotations

import bz2
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

from pyke.errors import DataError, NoInput, PykeError

# Compression shrinks triples by a factor of 5 to 50, zeros by a factor of 1000.
MAX_RATIO = 400
FREE_BYTES = 64 << 20  # of a run above this ratio; small files may be very repetitive
MAX_DICTIONARY = 512 << 20  # bytes that an .xz file may ask for; `xz -9` needs 65 MiB
PIECE = 1 << 16  # compressed bytes to read at once
ZSTD_PIECE = 1 << 10  # decompresses to at most 32 MiB


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


class Allowance:
    """Limits what the parts of a run produce, such as the decompressed bytes of its files.

    A part may produce `ratio` bytes per byte that it consumes. All parts together may exceed this
    by `free` bytes.
    """

    def __init__(self, ratio: int, free: int) -> None:
        self._ratio, self._free = ratio, free
        self._before = self._current = 0  # bytes above the ratio

    def allows(self, consumed: int, produced: int) -> bool:
        """Whether the current part may produce this many bytes."""
        self._current = max(0, produced - self._ratio * consumed)
        return self._before + self._current <= self._free

    def next_part(self) -> None:
        """End the current part."""
        self._before += self._current
        self._current = 0


class _Stream(Protocol):
    """One compressed stream, as in zlib, bz2 and lzma."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, packed: bytes, size: int, /) -> bytes: ...


class _ZstdFrame:
    """A frame of Zstandard as a stream. zstandard cannot limit the size of a result."""

    def __init__(self) -> None:
        import zstandard

        self._error = zstandard.ZstdError
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._ready = memoryview(b"")

    @property
    def eof(self) -> bool:
        return self._frame.eof and not self._ready

    @property
    def unused_data(self) -> bytes:
        return bytes(self._frame.unused_data)

    def decompress(self, packed: bytes, size: int, /) -> bytes:
        if not self._ready:
            try:
                self._ready = memoryview(self._frame.decompress(packed))
            except self._error as error:
                raise OSError(str(error)) from None
        data, self._ready = self._ready[:size], self._ready[size:]
        return bytes(data)


class _Compression:
    """How to decompress: what starts a stream, and what may follow a stream."""

    def __init__(
        self, new_stream: Callable[[], _Stream], piece: int = PIECE, padding: bool = False
    ) -> None:
        self.new_stream, self.piece, self.padding = new_stream, piece, padding


class _Decompressed:
    """Decompresses concatenated streams, at least one.

    The readers of the standard library ignore everything after a stream that does not start
    another one, such as a stream with a damaged header.
    """

    def __init__(self, source: ByteSource, compression: _Compression) -> None:
        self._source, self._compression = source, compression
        self._stream: _Stream | None = compression.new_stream()
        self._packed = b""

    def read(self, size: int = PIECE, /) -> bytes:
        while self._stream is not None or self._starts_stream():
            assert self._stream is not None
            data = self._stream.decompress(self._packed, size)
            self._packed = getattr(self._stream, "unconsumed_tail", b"")
            if self._stream.eof:
                self._packed, self._stream = self._stream.unused_data, None
            if data:
                return data
            if self._stream is not None and not self._packed:
                self._packed = self._source.read(self._compression.piece)
                if not self._packed:
                    raise EOFError
        return b""

    def _starts_stream(self) -> bool:
        """Whether another stream follows. Skips zeros where the compression allows them."""
        while packed := self._packed or self._source.read(self._compression.piece):
            self._packed = packed.lstrip(b"\0") if self._compression.padding else packed
            if self._packed:
                self._stream = self._compression.new_stream()
                return True
        return False


def _new_lzma() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(memlimit=MAX_DICTIONARY)


_DECOMPRESSORS = {
    ".gz": _Compression(lambda: zlib.decompressobj(16 + zlib.MAX_WBITS), padding=True),
    ".bz2": _Compression(bz2.BZ2Decompressor),
    ".xz": _Compression(_new_lzma, padding=True),
    ".zst": _Compression(_ZstdFrame, ZSTD_PIECE),
}

COMPRESSIONS = tuple(_DECOMPRESSORS)

_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}


def _open(name: str) -> BinaryIO:
    return open(name, "rb", buffering=1 << 20)


class Input:
    """Context manager: an opened input, decompressed, with the number of bytes read so far.

    The inputs of a run share an allowance.
    """

    def __init__(
        self,
        name: str,
        compression: str | None,
        allowance: Allowance | None = None,
        opened: BinaryIO | None = None,
    ) -> None:
        self.name = name
        try:
            standard = sys.stdin.buffer if name == "-" else None
            self._file: BinaryIO = opened or standard or _open(name)
            self.size = 0 if opened or standard else os.fstat(self._file.fileno()).st_size
        except IsADirectoryError:
            raise NoInput(f"{name} is a directory") from None
        except OSError as error:
            raise NoInput(f"cannot open {name}: {error.strerror or error}") from None
        if name == "-" and compression is None and isinstance(self._file, io.BufferedReader):
            compression = _compression_in(self._file.peek(6))
        self._raw = _CountingSource(self._file)
        self._decompressed = 0
        self._data: ByteSource = (
            _Decompressed(self._raw, _DECOMPRESSORS[compression]) if compression else self._raw
        )
        self._compression = compression
        self._allowance = allowance or new_allowance()

    @property
    def consumed(self) -> int:
        """Bytes read from the file, before decompression."""
        return self._raw.count

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` decompressed bytes, or all of them.

        A damaged file or a decompression bomb is a DataError.
        """
        if size < 0:
            return b"".join(iter(lambda: self.read(1 << 20), b""))
        try:
            data = self._data.read(size)
        except EOFError:
            raise DataError(
                f"{self.name} is incomplete: the {self._compression} file was cut off. "
                "Download it again."
            ) from None
        except (OSError, zlib.error, lzma.LZMAError) as error:
            raise DataError(f"cannot decompress {self.name}: {error}") from None
        self._decompressed += len(data)
        if self._compression and not self._allowance.allows(self.consumed, self._decompressed):
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
        self._allowance.next_part()
        if self.name != "-":
            self._file.close()


def new_allowance() -> Allowance:
    """The allowance for the inputs of a run."""
    return Allowance(MAX_RATIO, FREE_BYTES)


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
            try:
                last, item = ready.get(timeout=1.0)
            except queue.Empty:
                if thread.is_alive() or not ready.empty():
                    continue
                # A debugger or profiler that fails in new threads ends them before they begin.
                raise PykeError("the thread that reads the input ended unexpectedly") from None
            if last:
                if item is not None:
                    raise item
                return
            yield item
    finally:
        stopped.set()
        thread.join(1.0)  # it may wait for a pipe for ever; as a daemon it ends with the process
