"""Checks of arrays: each accepts what is valid up to its limit, and says what is wrong."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from pyke.core import checks


def bad(message: str) -> Any:
    """Expect an error with exactly this message."""
    return pytest.raises(ValueError, match=f"^{re.escape(message)}$")


def test_a_condition_that_does_not_hold_raises_its_message() -> None:
    checks.check(1, "x")
    with bad("x"):
        checks.check(0, "x")


@pytest.mark.parametrize("ids", [[], [3], [2, 5, 3], [[2, 3], [5, 4]]], ids=str)
def test_ids_within_their_range_are_valid(ids: Any) -> None:
    checks.check_ids(np.array(ids, np.int32), 2, 6)


@pytest.mark.parametrize("ids", [[1], [2, 6], [[2, 3], [1, 4]], [1, 6]], ids=str)
def test_ids_just_outside_of_their_range_are_refused(ids: Any) -> None:
    with bad("an id is not in 2 … 5"):
        checks.check_ids(np.array(ids, np.int32), 2, 6)


def test_numbers_must_be_finite() -> None:
    checks.check_finite(np.array([], np.float32))
    checks.check_finite(np.array([-3e38, 0, 3e38], np.float32))
    for number in (np.nan, np.inf, -np.inf):
        with bad("a number is infinite or not a number"):
            checks.check_finite(np.array([0, number, 1], np.float32))


@pytest.mark.parametrize("offsets", [[0, 7], [0, 3, 3, 7], [0, 0, 7, 7]], ids=str)
def test_offsets_ascend_from_zero_to_the_end(offsets: list[int]) -> None:
    checks.check_offsets(np.array(offsets), 7)


@pytest.mark.parametrize("offsets", [[], [0], [1, 7], [-1, 7], [0, 6], [0, 8]], ids=str)
def test_offsets_with_another_begin_or_end_are_refused(offsets: list[int]) -> None:
    with bad("must go from 0 to 7"):
        checks.check_offsets(np.array(offsets, np.int64), 7)


@pytest.mark.parametrize("offsets", [[0, 5, 4, 7], [0, 8, 7], [0, 3, -(2**63), 7]], ids=str)
def test_offsets_that_descend_are_refused(offsets: list[int]) -> None:
    for distinct in (False, True):
        with bad("must ascend"):
            checks.check_offsets(np.array(offsets), 7, distinct)


def test_distinct_offsets_do_not_repeat() -> None:
    checks.check_offsets(np.array([0, 3, 4, 7]), 7, distinct=True)
    for offsets in ([0, 0, 7], [0, 3, 3, 7], [0, 7, 7]):
        with bad("must ascend"):
            checks.check_offsets(np.array(offsets), 7, distinct=True)


@pytest.fixture(params=[1, 2, 3, 100])
def rows_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_ROWS_AT_ONCE", request.param)


@pytest.mark.usefixtures("rows_at_once")
@pytest.mark.parametrize("columns", [[[]], [[5]], [[1, 2, 2, 4, 9]], [[1, 1, 2], [3, 4, 0]]])
def test_sorted_rows_are_valid(columns: list[list[int]]) -> None:
    checks.check_sorted(*map(np.array, columns))


@pytest.mark.usefixtures("rows_at_once")
@pytest.mark.parametrize(
    "columns",
    [[[2, 1]], [[1, 2, 3, 4, 3]], [[1, 2, 1, 4, 5]], [[1, 1, 1], [3, 4, 3]], [[1, 1], [2, 1]]],
)
def test_rows_that_are_not_sorted_are_refused(columns: list[list[int]]) -> None:
    for distinct in (False, True):
        with bad("rows are not sorted"):
            checks.check_sorted(*map(np.array, columns), distinct=distinct)


@pytest.mark.usefixtures("rows_at_once")
@pytest.mark.parametrize(
    "columns", [[[1, 1]], [[1, 2, 3, 4, 4]], [[1, 1, 2], [3, 3, 0]], [[0, 1, 1], [9, 3, 3]]]
)
def test_a_row_that_occurs_twice_is_refused_among_distinct_rows(columns: list[list[int]]) -> None:
    checks.check_sorted(*map(np.array, columns))
    with bad("a row occurs twice"):
        checks.check_sorted(*map(np.array, columns), distinct=True)


@pytest.fixture(params=[1, 4, 7, 1 << 20])
def bytes_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_BYTES_AT_ONCE", request.param)


def _texts(*texts: bytes) -> tuple[Any, Any]:
    offsets = np.cumsum([0, *(len(text) for text in texts)])
    return np.frombuffer(b"".join(texts), np.uint8), offsets


@pytest.mark.usefixtures("bytes_at_once")
@pytest.mark.parametrize("texts", [[], [b"\n"], [b"a\n", "é€😀\n".encode(), b"b\n", b"c\n"]])
def test_texts_are_utf8_with_a_line_break_each(texts: list[bytes]) -> None:
    checks.check_texts(*_texts(*texts))


@pytest.mark.usefixtures("bytes_at_once")
@pytest.mark.parametrize("at", range(4))
def test_a_text_that_is_not_utf8_is_refused(at: int) -> None:
    texts = [b"a\n", "é\n".encode(), b"bcd\n", b"e\n"]
    texts[at] = b"\xff" + texts[at]
    with bad("a text is not UTF-8"):
        checks.check_texts(*_texts(*texts))


@pytest.mark.usefixtures("bytes_at_once")
def test_a_character_that_is_split_between_two_texts_is_refused() -> None:
    with bad("a text is not UTF-8"):
        checks.check_texts(*_texts(b"\xc3\n", b"\xa9\n"))


@pytest.mark.parametrize("texts", [[b"a"], [b"a\n", b"b"], [b"a", b"b\n"], [b"a\x0b"], [b"a\t"]])
def test_a_text_without_a_line_break_is_refused(texts: list[bytes]) -> None:
    with bad("a text does not end with a line break"):
        checks.check_texts(*_texts(*texts))


def test_an_empty_text_without_its_line_break_is_refused() -> None:
    with bad("must ascend"):
        checks.check_texts(*_texts(b"a\n", b"", b"b\n"))
