"""Forge directories: change their files, then make sizes and checksums match again."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.stored import MANIFEST, seal


def forge(directory: Path, **changes: Any) -> None:
    """Make the manifest match the files; then change some of its entries."""
    manifest = json.loads((directory / MANIFEST).read_bytes())
    for name in manifest["files"]:
        data = (directory / name).read_bytes()
        entry = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        manifest["files"][name] = entry
    (directory / MANIFEST).write_bytes(seal(manifest | changes))


def forge_array(file: Path, array: NDArray[Any]) -> None:
    """Replace an array in a directory, with a matching manifest."""
    np.save(file, array)
    forge(file.parent)


def npy(descr: str, fortran: bool, shape: str, data: bytes, padding: int = 0) -> bytes:
    """A file in NumPy's format with any header."""
    header = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    header += b" " * (-(11 + len(header)) % 64 + padding) + b"\n"
    file = io.BytesIO()
    file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data)
    return file.getvalue()
