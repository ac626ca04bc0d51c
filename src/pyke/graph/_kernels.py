"""Compiled functions that build a graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Bytes
from pyke.core.compile import kernel
from pyke.core.hashing import NEWLINE, combine, mix


@kernel
def translate_rows(rows: NDArray[np.int32], ids: NDArray[np.int32], out: NDArray[np.int32]) -> None:
    """Translate int32 (n, c) rows from a batch's ids to the ids of the graph."""
    for i in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            out[i, c] = ids[rows[i, c]]


@kernel
def gather_texts(
    blob: Bytes, starts: NDArray[np.int64], stops: NDArray[np.int64], out: Bytes
) -> None:
    """Concatenate blob[starts[i] : stops[i]], with a newline after each."""
    at = 0
    for i in range(starts.shape[0]):
        for k in range(starts[i], stops[i]):
            out[at] = blob[k]
            at += 1
        out[at] = NEWLINE
        at += 1


@kernel
def pack(
    a: NDArray[np.int32],
    b: NDArray[np.int32],
    c: NDArray[np.int32],
    bits: NDArray[np.int64],
    out: NDArray[np.uint64],
) -> None:
    """Pack int32 columns (c ≥ −1) into uint64 keys that sort like rows (a, b, c).

    bits are the widths of b and of c + 1.
    """
    for i in range(out.shape[0]):
        out[i] = (
            (np.uint64(a[i]) << np.uint64(bits[0] + bits[1]))
            | (np.uint64(b[i]) << np.uint64(bits[1]))
            | np.uint64(c[i] + 1)
        )


@kernel
def unpack(
    keys: NDArray[np.uint64],
    bits: NDArray[np.int64],
    a: NDArray[np.int32],
    b: NDArray[np.int32],
    c: NDArray[np.int32],
) -> None:
    """Unpack keys of `pack` into its three columns."""
    low, middle = (
        (np.uint64(1) << np.uint64(bits[1])) - np.uint64(1),
        (np.uint64(1) << np.uint64(bits[0])) - np.uint64(1),
    )
    for i in range(keys.shape[0]):
        c[i] = np.int64(keys[i] & low) - 1
        b[i] = np.int64((keys[i] >> np.uint64(bits[1])) & middle)
        a[i] = np.int64(keys[i] >> np.uint64(bits[0] + bits[1]))


@kernel
def drop_repeated(keys: NDArray[np.uint64]) -> int:
    """Move the distinct values of sorted keys to the front; return their number."""
    kept = 0
    for i in range(keys.shape[0]):
        if i == 0 or keys[i] != keys[i - 1]:
            keys[kept] = keys[i]
            kept += 1
    return kept


@kernel
def literal_triple_keys(
    rows: NDArray[np.int32], literals: NDArray[np.uint64], out: NDArray[np.uint64]
) -> None:
    """Hash int32 (n, 2) subjects and predicates with uint64 literal keys to triple keys."""
    for i in range(rows.shape[0]):
        out[i] = mix(
            literals[i] ^ mix(np.uint64(rows[i, 0]) << np.uint64(32) | np.uint64(rows[i, 1]))
        )


@kernel
def number_keys(
    keys: NDArray[np.uint64],
    seed: np.uint64,
    table: NDArray[np.int32],
    numbers: NDArray[np.int32],
) -> int:
    """numbers[i] = the number of keys[i], in order of first appearance; their number.

    Moves the different keys to the front of `keys`. The table is empty (all −1).
    """
    mask, different = np.uint64(table.shape[0] - 1), 0
    for i in range(keys.shape[0]):
        key = keys[i]
        slot = combine(seed, key) & mask
        while table[slot] >= 0 and keys[table[slot]] != key:
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = different
            keys[different] = key
            different += 1
        numbers[i] = table[slot]
    return different


@kernel
def quantile_bins(
    groups: NDArray[np.uint64], values: NDArray[np.float64], bins: int, out: NDArray[np.float64]
) -> None:
    """Numbers sorted by group and value → the smallest value in the bin of each.

    The bin of a number is ⌊bins · rank / n⌋: n numbers are in its group, and `rank` of them are
    smaller.
    """
    start = 0
    for end in range(1, groups.shape[0] + 1):
        if end < groups.shape[0] and groups[end] == groups[start]:
            continue
        rank, before = 0, -1
        for i in range(start, end):
            if values[i] != values[start + rank]:
                rank = i - start
            number = bins * rank // (end - start)
            out[i] = out[i - 1] if number == before else values[i]
            before = number
        start = end


@kernel
def known_bins(
    groups: NDArray[np.uint64],
    values: NDArray[np.float64],
    known_groups: NDArray[np.uint64],
    edges: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """The same for groups whose bins are known: the last edge that is not larger, or the first.

    Numbers and edges are sorted by group and value.
    """
    k = 0
    for i in range(groups.shape[0]):
        while k < known_groups.shape[0] and known_groups[k] < groups[i]:
            k += 1
        while (
            k + 1 < known_groups.shape[0]
            and known_groups[k + 1] == groups[i]
            and edges[k + 1] <= values[i]
        ):
            k += 1
        if k < known_groups.shape[0] and known_groups[k] == groups[i]:
            out[i] = edges[k]


@kernel
def combine_keys(
    first: NDArray[np.uint64], second: NDArray[np.uint64], out: NDArray[np.uint64]
) -> None:
    """out[i] = the hash of the pair (first[i], second[i])."""
    for i in range(out.shape[0]):
        out[i] = combine(first[i], second[i])
