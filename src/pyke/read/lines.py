"""Cut a stream of bytes into blocks of complete lines."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

import numpy as np

from pyke.core.arrays import Bytes
from pyke.core.inputs import ByteSource
from pyke.errors import DataError

BLOCK_SIZE = 1 << 19  # bytes: the terms of one block fit into the cache of a core
MAX_LINE = 1 << 24  # bytes, as in pyoxigraph


class WithoutByteOrderMark:
    """A source without the byte order mark at its start."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._first = True

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes; none at the end."""
        data = self._source.read(size)
        if self._first:
            self._first = False
            return data.removeprefix(codecs.BOM_UTF8) or self._source.read(size)
        return data


def complete_lines(source: ByteSource, name: str) -> Iterator[bytearray]:
    """Blocks of complete lines. Adds a missing line break at the end."""
    start = b""  # of a line that continues in the next block
    while data := source.read(BLOCK_SIZE):
        cut = data.rfind(b"\n") + 1
        if cut:
            yield bytearray().join((start, data[:cut]))
            start = data[cut:]
            continue
        start += data
        if len(start) > MAX_LINE:
            raise DataError(
                f"{name}: a line is longer than {MAX_LINE >> 20} MiB. Is this a text file?"
            )
    if start:
        yield bytearray().join((start, b"\n"))


def to_array(text: bytes | bytearray) -> Bytes:
    """Bytes as a writable array: kernels compile for one array type only."""
    return np.frombuffer(text if isinstance(text, bytearray) else bytearray(text), np.uint8)
