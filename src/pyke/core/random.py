"""Random numbers as pure functions of (seed, purpose, row, counter).

They do not depend on threads, restarts or the order of calls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import kernel
from pyke.core.hashing import mix

# Purposes: each draws independent numbers.
START, POOL, MEMBER, HUB, CENTROID, MOVE = 1, 2, 3, 4, 5, 6


@kernel
def random_bits(seed: np.uint64, purpose: int, row: int, counter: int) -> np.uint64:
    """(seed, purpose, row, counter) → 64 random bits."""
    z = mix(np.uint64(seed) + np.uint64(purpose) * np.uint64(0x9E3779B97F4A7C15))
    z = mix(z ^ (np.uint64(row) + np.uint64(0xD1B54A32D192ED03)))
    return mix(z + np.uint64(counter) * np.uint64(0x9E3779B97F4A7C15))


@kernel
def random_keys(
    seed: np.uint64, purpose: int, row: int, counters: NDArray[np.int32], out: NDArray[np.uint64]
) -> None:
    """uint64 out[i] = random bits for counters[i]."""
    for i in range(counters.shape[0]):
        out[i] = random_bits(seed, purpose, row, counters[i])


@kernel
def random_below(bits: np.uint64, n: int) -> int:
    """64 random bits → 0 … n − 1, n < 2³²: the upper half of a 64-bit product."""
    return np.int64(((bits >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))
