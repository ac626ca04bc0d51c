"""Compiled loop that counts ids."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import kernel


@kernel
def count_rows(rows: NDArray[np.int32], out: NDArray[np.int64]) -> None:
    """out[x] += number of occurrences of x in int32 `rows`; −1 counts at the end of `out`."""
    for i in range(rows.shape[0]):
        out[rows[i]] += 1
