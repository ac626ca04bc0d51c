"""Compress blocks of data, each on its own."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable

Block = bytes | memoryview


def _zstd(block: Block) -> bytes:
    import zstandard

    return bytes(zstandard.ZstdCompressor().compress(block))


# Each block is compressed on its own thread. In all four formats, concatenated compressed files are
# a compressed file. The levels favour speed.
COMPRESSORS: dict[str, Callable[[Block], bytes]] = {
    ".gz": lambda block: zlib.compress(block, 1, wbits=31),
    ".bz2": lambda block: bz2.compress(block, 1),
    ".xz": lambda block: lzma.compress(block, preset=0),
    ".zst": _zstd,
}
