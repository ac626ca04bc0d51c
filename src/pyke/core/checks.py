"""Checks of arrays from files, in linear time: kernels index with them and check nothing.

Each check raises ValueError with what is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Bytes, Offsets

_ROWS_AT_ONCE = 1 << 16  # temporary arrays stay in the cache
_BYTES_AT_ONCE = 1 << 20
_LINE_BREAK = 10


def check(condition: Any, problem: str) -> None:
    """Raise ValueError unless a condition holds."""
    if not condition:
        raise ValueError(problem)


def check_ids(ids: NDArray[np.integer[Any]], low: int, end: int) -> None:
    """Ids are in low … end − 1."""
    if ids.size:
        check(low <= int(ids.min()) and int(ids.max()) < end, f"an id is not in {low} … {end - 1}")


def check_finite(numbers: NDArray[np.floating[Any]]) -> None:
    """Numbers are finite; minimum and maximum need no temporary array and propagate NaN."""
    if numbers.size:
        finite = np.isfinite(numbers.min()) and np.isfinite(numbers.max())
        check(finite, "a number is infinite or not a number")


def check_offsets(offsets: Offsets, end: int, distinct: bool = False) -> None:
    """Offsets ascend from 0 to `end`."""
    check(len(offsets) and offsets[0] == 0 and offsets[-1] == end, f"must go from 0 to {end}")
    # Compared, not subtracted: differences of such numbers can overflow.
    ascending = offsets[1:] > offsets[:-1] if distinct else offsets[1:] >= offsets[:-1]
    check(ascending.all(), "must ascend")


def check_sorted(*columns: NDArray[Any], distinct: bool = False) -> None:
    """Rows of columns ascend; the first column counts most."""
    for begin in range(0, len(columns[0]), _ROWS_AT_ONCE):
        equal: Any = True
        for column in columns:
            part = np.ascontiguousarray(column[begin : begin + _ROWS_AT_ONCE + 1])
            check(not (equal & (part[:-1] > part[1:])).any(), "rows are not sorted")
            equal = equal & (part[:-1] == part[1:])
        check(not (distinct and equal.any()), "a row occurs twice")


def check_texts(blob: Bytes, offsets: Offsets) -> None:
    """Texts are UTF-8, each followed by a line break."""
    check_offsets(offsets, len(blob), distinct=True)
    check((blob[offsets[1:] - 1] == _LINE_BREAK).all(), "a text does not end with a line break")
    begin = 0
    while begin < len(offsets) - 1:
        # Whole texts, as many as fit, so that no character is split.
        fit = int(np.searchsorted(offsets, offsets[begin] + _BYTES_AT_ONCE, "right")) - 1
        stop = max(begin + 1, fit)
        block = blob[offsets[begin] : offsets[stop]].tobytes()
        if not block.isascii():
            try:
                block.decode()
            except UnicodeDecodeError:
                raise ValueError("a text is not UTF-8") from None
        begin = stop
