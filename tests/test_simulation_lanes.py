"""Sums of squares: complete rows and quarters share one order, and it is the documented one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyke.core.arrays import Floats
from pyke.core.compile import exact_kernel
from pyke.simulation import _lanes
from pyke.simulation._lanes import NARROW, WIDE

_wide_squares, _narrow_squares = WIDE.squares, NARROW.squares
_wide_pull, _narrow_pull = WIDE.pull, NARROW.pull


@exact_kernel
def wide(rows: Floats, force: Floats) -> Any:
    """Sums of the quarters of a difference; force += 0.7 · difference."""
    _wide_pull(np.float32(0.7), rows, 1, rows, 0, force)
    return _wide_squares(rows, 1, rows, 0)


@exact_kernel
def narrow(rows: Floats, force: Floats) -> Any:
    """The same of one quarter."""
    _narrow_pull(np.float32(0.7), rows, 1, rows, 0, force)
    return _narrow_squares(rows, 1, rows, 0)


def random_rows(columns: int) -> Floats:
    return np.random.default_rng(columns).standard_normal((2, columns)).astype(np.float32)


@pytest.mark.parametrize("columns", range(16, 321, 16))
def test_quarters_of_a_row_have_the_bits_of_the_complete_row(columns: int) -> None:
    rows, force = random_rows(columns), np.zeros(columns, np.float32)
    found = wide(rows, force)
    for number in range(4):
        part = np.zeros(columns // 4, np.float32)
        assert narrow(np.ascontiguousarray(rows[:, number::4]), part) == found[number]
        assert (part == force[number::4]).all()


@pytest.mark.parametrize("columns", [16, 32])
def test_the_order_of_a_sum_is_the_documented_one(columns: int) -> None:
    rows = random_rows(columns)
    lanes = np.zeros(32, np.float32)
    lanes[:columns] = (rows[1] - rows[0]) ** 2
    first, second, third, fourth = lanes.reshape(4, 8)
    eight = (first + second) + (third + fourth)
    quarters = eight[:4] + eight[4:]
    assert wide(rows, np.zeros(columns, np.float32)) == tuple(quarters)
    assert _lanes.total(tuple(quarters)) == (quarters[0] + quarters[2]) + (
        quarters[1] + quarters[3]
    )


@pytest.mark.parametrize("columns", [16, 48, 80])
def test_without_the_compiler_the_sums_are_nearly_the_same(columns: int) -> None:
    rows = random_rows(columns)
    plain = _lanes._interpreted(32)
    found, force = wide(rows, np.zeros(columns, np.float32)), np.zeros(columns, np.float32)
    assert plain.pull(np.float32(0.7), rows, 1, rows, 0, force) == pytest.approx(found, rel=1e-5)
    assert force == pytest.approx(0.7 * (rows[1] - rows[0]), rel=1e-5)
