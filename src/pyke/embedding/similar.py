"""Find the names that look most like a misspelled one."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Bytes
from pyke.embedding.scan import MAX_TRAILING, TEXTS_AT_ONCE
from pyke.graph.terms import Texts

CANDIDATES = 50  # texts that share most trigrams with a name; `likeness` then ranks them
MAX_COMPARED = 200  # letters of long names

_LINE_BREAK = 10
# Lower case, and "_" like a space. In IRIs, separators are line breaks: they border names.
_WHOLE = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ_", b"abcdefghijklmnopqrstuvwxyz ")
_PARTED = _WHOLE.translate(bytes.maketrans(b"/#:", b"\n\n\n"))


def likeness(one: str, other: str) -> float:
    """Return 1 − edits / length of the longer text: 1 if both are equal, 0 if nothing agrees.

    Examples
    --------
    >>> likeness("texsa", "texas")
    0.8
    """
    length = min(max(len(one), len(other), 1), MAX_COMPARED)
    return 1 - edits(one, other) / length


def edits(one: str, other: str) -> int:
    """Count the insertions, deletions, substitutions and swaps that turn one text into the other.

    Bit i of an integer stands for one[i] (Hyyrö 2003, "A bit-vector algorithm for computing
    Levenshtein and Damerau edit distances"), so a step costs one operation, not len(one).
    """
    one, other = one[:MAX_COMPARED], other[:MAX_COMPARED]
    if not one:
        return len(other)
    places: dict[str, int] = defaultdict(int)
    for i, letter in enumerate(one):
        places[letter] |= 1 << i
    full, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    up, down, diagonal, previous, distance = full, 0, 0, 0, len(one)
    for letter in other:
        match = places.get(letter, 0)
        swapped = ((~diagonal & match) << 1) & previous
        diagonal = ((((match & up) + up) ^ up) | match | down | swapped) & full
        right = down | (~(diagonal | up) & full)
        left = diagonal & up
        distance += bool(right & last) - bool(left & last)
        right, left = right << 1 | 1, left << 1
        up, down = (left | ~(diagonal | right)) & full, right & diagonal & full
        previous = match
    return distance


def candidates(texts: Texts, name: str, *, last_part: bool) -> NDArray[np.int64]:
    """Return the positions of the texts that share most trigrams with a name.

    `last_part` compares what follows the last separator of a text: the local name of an IRI.
    """
    table = _PARTED if last_part else _WHOLE
    key = name[:MAX_COMPARED].replace("\n", " ").encode("utf-8", "replace").translate(_WHOLE)
    wanted = _hashed_trigrams(np.frombuffer(b"\n" + key + b"\n", np.uint8))
    is_wanted = bytes(np.isin(np.arange(256), wanted).astype(np.uint8))
    best, scores = np.zeros(0, np.int64), np.zeros(0)
    for begin in range(0, len(texts), TEXTS_AT_ONCE):
        borders = np.asarray(texts.offsets[begin : begin + TEXTS_AT_ONCE + 1])
        raw = b"\n" + texts.blob[borders[0] : borders[-1]].tobytes().translate(table)
        block = np.frombuffer(raw, np.uint8)
        starts, ends = _parts(block, borders - borders[0], last_part)
        hits = np.frombuffer(_hashed_trigrams(block).tobytes().translate(is_wanted), np.uint8)
        sums = np.append(np.int32(0), np.cumsum(hits, dtype=np.int32))
        sizes = np.maximum(ends - starts - 1, 1)
        shared = np.minimum(sums[np.maximum(ends - 1, starts)] - sums[starts], len(wanted))
        best = np.append(best, np.arange(begin, begin + len(ends)))
        scores = np.append(scores, shared / (sizes + len(wanted)))
        kept = np.argsort(-scores, kind="stable")[:CANDIDATES]
        best, scores = best[kept], scores[kept]
    return best[scores > 0]


def _parts(
    block: Bytes, borders: NDArray[np.int64], last_part: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the borders of each text, or of its last part, are in a block."""
    starts, ends = borders[:-1], borders[1:]
    if not last_part:
        return starts, ends
    for _ in range(MAX_TRAILING):
        ends = ends - ((block[ends - 1] == _LINE_BREAK) & (ends - 1 > starts))
    separators = np.flatnonzero(block == _LINE_BREAK)
    return separators[np.searchsorted(separators, ends) - 1], ends


def _hashed_trigrams(block: Bytes) -> Bytes:
    """Return a byte for every three bytes: `bytes.translate` then looks them up quickly."""
    hashed: Bytes = block[:-2] * np.uint8(31) + block[1:-1] * np.uint8(7) + block[2:]
    return hashed
