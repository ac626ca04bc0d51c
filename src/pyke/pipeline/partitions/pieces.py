"""One file per task with all that it sends to others, and its result.

    magic, length of the index   16 bytes
    index                        JSON: the result, and place, checksum and arrays of each piece
    pieces                       each begins at a multiple of 64, and so do its arrays

A task that sends something to 256 others writes one file, and each of them reads its own piece.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.errors import DamagedStore
from pyke.pipeline.partitions.storage import Storage

Arrays = dict[str, NDArray[Any]]
_MAGIC = b"PYKEPCS1"
_ALIGNED = 64
_FIRST_READ = 1 << 16


def write_pieces(
    storage: Storage, name: str, pieces: Mapping[str, Arrays], result: Mapping[str, Any]
) -> int:
    """Write the pieces and the result of a task; return the number of bytes."""
    index: dict[str, Any] = {"result": dict(result), "pieces": {}}
    at = 0
    for key, arrays in pieces.items():
        begin, crc, entries = at, 0, []
        for array_name, array in arrays.items():
            data = _data(array)
            entries.append([array_name, array.dtype.str, list(array.shape)])
            crc = zlib.crc32(data, crc)
            at += _padded(len(data))
        index["pieces"][key] = [begin, at - begin, crc, entries]
    text = json.dumps(index).encode()
    text += b" " * (_padded(16 + len(text)) - 16 - len(text))

    def blocks() -> Iterator[bytes | memoryview]:
        yield _MAGIC + len(text).to_bytes(8, "little") + text
        for arrays in pieces.values():
            for array in arrays.values():
                data = _data(array)
                yield data
                yield bytes(_padded(len(data)) - len(data))

    size = 16 + len(text) + at
    storage.write(name, blocks(), size)
    return size


def read_result(storage: Storage, name: str) -> dict[str, Any]:
    """The result of a task."""
    result: dict[str, Any] = _index(storage, name)[0]["result"]
    return result


def read_piece(storage: Storage, name: str, key: str) -> Arrays:
    """The arrays of one piece."""
    index, start = _index(storage, name)
    if key not in index["pieces"]:
        return {}
    begin, size, crc, entries = index["pieces"][key]
    data = storage.read(name, start + begin, start + begin + size)
    if len(data) != size:
        raise DamagedStore(f"{storage.place(name)} is incomplete")
    arrays: Arrays = {}
    at = found = 0
    for array_name, kind, shape in entries:
        count = math.prod(shape)
        array = np.frombuffer(data, kind, count, at).reshape(shape)
        found = zlib.crc32(memoryview(data)[at : at + array.nbytes], found)
        at += _padded(array.nbytes)
        arrays[array_name] = array
    if found != crc:
        raise DamagedStore(f"{storage.place(name)} does not match its checksum")
    return arrays


def _index(storage: Storage, name: str) -> tuple[dict[str, Any], int]:
    """The index of a file, and where its pieces begin."""
    head = storage.read(name, 0, _FIRST_READ)
    size = int.from_bytes(head[8:16], "little")
    if head[:8] != _MAGIC or size > 1 << 40:
        raise DamagedStore(f"{storage.place(name)} is not a file of pieces")
    if 16 + size > len(head):
        head += storage.read(name, len(head), 16 + size)
    try:
        return json.loads(head[16 : 16 + size]), 16 + size
    except ValueError:
        raise DamagedStore(f"{storage.place(name)} has a damaged index") from None


def _data(array: NDArray[Any]) -> memoryview:
    if not array.size:
        return memoryview(b"")
    return np.ascontiguousarray(array).data.cast("B")


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
