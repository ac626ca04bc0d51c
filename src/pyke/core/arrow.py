"""Arrow arrays of byte strings, built from NumPy arrays without copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Offsets
from pyke.errors import MissingLibrary

if TYPE_CHECKING:
    import pyarrow as pa


def require_pyarrow(purpose: str) -> None:
    """Raise MissingLibrary if pyarrow is not installed."""
    try:
        import pyarrow.compute
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise MissingLibrary("pyarrow", purpose, "export") from None


def byte_strings(blob: NDArray[Any], offsets: Offsets) -> pa.Array:
    """Byte strings without a copy: string i is blob[offsets[i] : offsets[i + 1]]."""
    import pyarrow as pa

    buffers = [
        None,
        pa.py_buffer(np.ascontiguousarray(offsets, np.int64)),
        pa.py_buffer(np.ascontiguousarray(blob)),
    ]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def rows_as_bytes(rows: NDArray[Any]) -> pa.Array:
    """The memory of each row of an array as one byte string."""
    width = rows.itemsize * int(np.prod(rows.shape[1:]))
    blob = np.ascontiguousarray(rows).view(np.uint8).reshape(-1)
    return byte_strings(blob, np.arange(len(rows) + 1) * width)


def join_columns(*columns: Any) -> pa.Array:
    """Columns of byte strings joined row by row; a single `bytes` is repeated in every row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = pa.large_binary()
    arrays = (pa.scalar(c, kind) if isinstance(c, bytes) else c for c in columns)
    return pc.binary_join_element_wise(*arrays, pa.scalar(b"", kind))


def concatenated(strings: pa.Array) -> memoryview:
    """The byte strings of an array, concatenated."""
    if not len(strings):
        return memoryview(b"")
    _, offsets, data = strings.buffers()
    return memoryview(data)[: np.frombuffer(offsets, np.int64)[len(strings)]]
