"""Scan many texts for a short one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import kernel

LINE_BREAK, TAB = 10, 9
# How well a text contains another: as a whole field, at the start of a field or word, or anywhere.
RANKS = 4
BLOCK = 64  # bytes that are compared at once


@kernel
def _starts_word(before: int) -> bool:
    """Whether a word starts after this byte; bytes of letters beyond ASCII count as letters."""
    is_digit = 48 <= before <= 57
    is_letter = 97 <= before <= 122 or 65 <= before <= 90
    return not (is_digit or is_letter or before >= 128)


@kernel
def _rank(blob: NDArray[np.uint8], at: int, end: int) -> int:
    """Rank of an occurrence blob[at:end]; fields are enclosed by tabs and line breaks."""
    before, after = blob[at - 1], blob[end]
    starts_field = before in (LINE_BREAK, TAB)
    if starts_field and after in (LINE_BREAK, TAB):
        return 0
    if starts_field:
        return 1
    return 2 if _starts_word(before) else 3


@kernel
def _may_contain(
    blob: NDArray[np.uint8], begin: int, one: np.uint8, gap: int, other: np.uint8
) -> bool:
    """Whether two bytes are `gap` apart, the first in blob[begin : begin + BLOCK].

    A loop without branches: it becomes vector instructions.
    """
    found = np.uint8(0)
    first, second = np.uintp(begin), np.uintp(begin + gap)
    for i in range(np.uintp(BLOCK)):
        differ = (blob[first + np.uintp(i)] ^ one) | (blob[second + np.uintp(i)] ^ other)
        found |= np.uint8(differ == np.uint8(0))
    return found != np.uint8(0)


@kernel
def _is_at(blob: NDArray[np.uint8], start: int, needle: NDArray[np.uint8]) -> bool:
    """Whether the needle is at a position."""
    for i in range(needle.shape[0]):
        if blob[np.uintp(start + i)] != needle[np.uintp(i)]:
            return False
    return True


@kernel
def find_texts(
    blob: NDArray[np.uint8],
    ends: NDArray[np.int64],
    needle: NDArray[np.uint8],
    rare: tuple[int, int],
    counts: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """blob, ends (n,), needle (m,) → out (RANKS, limit): the first texts of each rank.

    Text i ends with the line break at ends[i]. The blob starts with a line break and has m + BLOCK
    bytes after the last text. counts[r] are all texts of rank r. `rare` are the ascending positions
    of two rare bytes of the needle: few places have both.
    """
    size, limit = needle.shape[0], out.shape[1]
    one, other, gap = needle[rare[0]], needle[rare[1]], rare[1] - rare[0]
    text, current, best = 0, -1, RANKS
    last = ends[ends.shape[0] - 1] if ends.shape[0] else 0
    for begin in range(1, last, BLOCK):
        if not _may_contain(blob, begin + rare[0], one, gap, other):
            continue
        for start in range(begin, min(begin + BLOCK, last)):
            if blob[np.uintp(start + rare[0])] != one or not _is_at(blob, start, needle):
                continue
            while ends[np.uintp(text)] < start:
                text += 1
            if text != current:
                if best < RANKS:
                    if counts[best] < limit:
                        out[best, counts[best]] = current
                    counts[best] += 1
                current, best = text, RANKS
            best = min(best, _rank(blob, start, start + size))
    if best < RANKS:
        if counts[best] < limit:
            out[best, counts[best]] = current
        counts[best] += 1
