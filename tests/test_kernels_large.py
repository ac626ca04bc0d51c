"""More triples and springs than 32 bits can count: what kernels index with has 64 bits.

The arrays are longer than 2³¹ rows, but only their last rows are touched: the system gives memory
to no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pyke.config import Config
from pyke.core.arrays import Matrix, Repellers
from pyke.core.counts import count_rows
from pyke.simulation import anneal
from pyke.springs import _kernels, _selection
from pyke.springs.strongest import strongest_springs

SIZE = 2**31 + 64


def ending_in(values: Sequence[float], kind: Any = np.int32) -> Any:
    """Zeros, and these values at the end."""
    try:
        made = np.zeros(SIZE, kind)
    except MemoryError:
        pytest.skip("this system does not give out memory that is not used")
    made[-len(values) :] = values
    return made


def test_contexts_of_the_last_triples() -> None:
    first, last = ending_in([1, 1, 1, 2, 2]), ending_in([5, 6, 6, 5, 7])
    columns, border = (first, first, last), (SIZE - 5, SIZE)
    assert _kernels.count_contexts(*columns, *border) == (2, 2, 4)
    counts = _kernels.Counts(
        np.full(8, 2, np.int64), 40, np.arange(3, dtype=np.int32), np.full(3, 5, np.int64)
    )
    room = np.empty((1, 1), np.int32), np.empty((1, 1), np.float32)
    strongest = _kernels.Strongest(np.zeros(1, np.int64), *room, np.ones(1))
    choice = _kernels.Choice(np.ones(8, bool), strongest)
    sizes = np.zeros(1, np.int64), np.empty(9, np.int32), np.empty(9, np.int32)
    events = _kernels.Events(*sizes, np.empty(9, np.float32))
    _kernels.context_events(*columns, counts, choice, 100, *border, events)
    n = int(events.size[0])
    assert events.terms[:n].tolist() == [5, 6, 5, 7]
    assert events.contexts[:n].tolist() == [100, 100, 101, 101]


def test_counts_above_32_bits() -> None:
    many = 2**33
    assert _kernels.ppmi(many, 2 * many, many, 4 * many) == np.float32(np.log(2))
    counts = np.full(2, many)
    count_rows(np.array([1, 1, 0], np.int32), counts)
    assert counts.tolist() == [many + 1, many + 2]


def test_the_strongest_of_the_last_springs() -> None:
    columns, values = ending_in([3, 4, 5]), ending_in([0.5, 2, 1], np.float32)
    matrix = Matrix(np.array([SIZE - 3, SIZE], np.int64), columns, values)
    kept = strongest_springs(matrix, 2)
    assert kept.columns.tolist() == [4, 5]
    ends = np.array([0, SIZE - 3], np.int64)
    rows = np.array([1, 1], np.int32)
    _selection.fill_rows(rows, rows, np.ones(2, np.float32), ends, columns, values)
    assert columns[-3:].tolist() == [1, 1, 5]
    assert ends.tolist() == [0, SIZE - 1]


def test_the_last_springs_move_particles_as_the_first_ones_do() -> None:
    config = Config(dimensions=4, threads=1, repellers=0)
    ids, sigma = [1, 2, 0, 0], [0.5, 2, 0.5, 2]
    offsets = np.array([0, 2, 3, 4], np.int64)
    none = np.zeros((3, 0), np.uint8)
    repellers = Repellers(
        np.zeros(2, np.int64), np.zeros(0, np.int32), none, np.zeros(3, np.uint16)
    )
    positions = anneal.random_start(3, config)
    springs = Matrix(offsets, np.array(ids, np.int32), np.array(sigma, np.float32))
    first = anneal.system_of(springs, repellers, config)
    last = first._replace(
        offsets=offsets + SIZE - 4,
        columns=ending_in(ids),
        sigma=ending_in(sigma, np.float32),
    )
    moved, expected = np.zeros_like(positions), np.zeros_like(positions)
    anneal.step(first, config, 1.0, positions, expected)
    anneal.step(last, config, 1.0, positions, moved)
    assert expected.any()
    assert np.array_equal(moved, expected)
