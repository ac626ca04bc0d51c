"""Compiled hash table from terms to ids 0, 1, … in order of first appearance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Bytes
from pyke.core.compile import kernel


class Dictionary(NamedTuple):
    """Hash table with open addressing. Arrays grow in Python; `size` is (terms, bytes) in use.

    A table entry is tag << 32 | id, or −1 if it is free. The tag holds the upper bits of the hash.
    """

    size: NDArray[np.int64]
    table: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    blob: Bytes  # each term followed by a newline


FNV = np.uint64(0x100000001B3)

NEWLINE = np.uint8(10)


@kernel
def mix(value: np.uint64) -> np.uint64:
    """uint64 → uint64: the finaliser of splitmix64.

    A bijection; each input bit flips half of the output bits on average.
    """
    z = np.uint64(value)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def hash_bytes(text: Bytes, start: int, stop: int, seed: np.uint64) -> np.uint64:
    """text[start:stop] → its hash before `mix`; the scanners compute the same while they read."""
    h = np.uint64(seed)
    for i in range(start, stop):
        h = (h ^ np.uint64(text[i])) * FNV
    return h


@kernel
def combine(first: np.uint64, second: np.uint64) -> np.uint64:
    """Two uint64 → the hash of the ordered pair."""
    return mix(np.uint64(first) ^ mix(np.uint64(second) + FNV))


@kernel
def same_bytes(a: Bytes, i: int, b: Bytes, j: int, length: int) -> bool:
    """Whether a[i : i + length] equals b[j : j + length]."""
    # Unsigned indices (Numba checks signed ones for wraparound) and no early exit let the compiler
    # use vector instructions.
    x, y = np.uintp(i), np.uintp(j)
    different = np.uint8(0)
    for k in range(length):
        different |= a[x + np.uintp(k)] ^ b[y + np.uintp(k)]
    return different == 0


@kernel
def find_or_add(dictionary: Dictionary, text: Bytes, start: int, stop: int, h: np.uint64) -> int:
    """The id of text[start:stop], which has the hash h; a new term gets the next id.

    The arrays need room for one more term.
    """
    table, hashes, offsets, blob = (
        dictionary.table,
        dictionary.hashes,
        dictionary.offsets,
        dictionary.blob,
    )
    mask = np.uint64(table.shape[0] - 1)
    tag = np.int64(h >> np.uint64(33))
    slot = h & mask
    length = stop - start
    while True:
        entry = table[slot]
        if entry < 0:
            break
        if entry >> 32 == tag:
            found = entry & 0xFFFFFFFF
            first = offsets[found]
            if (
                hashes[found] == h
                and offsets[found + 1] - first - 1 == length
                and same_bytes(blob, first, text, start, length)
            ):
                return found
        slot = (slot + np.uint64(1)) & mask
    new, at = dictionary.size[0], dictionary.size[1]
    table[slot] = tag << 32 | new
    hashes[new] = h
    for k in range(length):
        blob[at + k] = text[start + k]
    blob[at + length] = NEWLINE
    offsets[new + 1] = at + length + 1
    dictionary.size[0] = new + 1
    dictionary.size[1] = at + length + 1
    return new


@kernel
def rehash(dictionary: Dictionary) -> None:
    """Fill an empty table (all −1) from the stored hashes."""
    table = dictionary.table
    mask = np.uint64(table.shape[0] - 1)
    for i in range(dictionary.size[0]):
        h = dictionary.hashes[i]
        slot = h & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = np.int64(h >> np.uint64(33)) << 32 | i


@kernel
def merge_terms(local: Dictionary, merged: Dictionary, ids: NDArray[np.int32]) -> None:
    """Add the terms of `local` to `merged`; ids[i] = the id in `merged` of the i-th term."""
    for i in range(local.size[0]):
        ids[i] = find_or_add(
            merged, local.blob, local.offsets[i], local.offsets[i + 1] - 1, local.hashes[i]
        )


TAIL = 16  # bytes at the end of a term, where IRIs differ most


@kernel
def _tail(blob: Bytes, start: int, stop: int, seed: np.uint64) -> np.uint64:
    return mix(hash_bytes(blob, max(start, stop - TAIL), stop, seed))


@kernel
def hash_terms(dictionary: Dictionary, seed: np.uint64, tails: NDArray[np.bool_]) -> None:
    """Fill the hashes of stored terms, and mark the hashes of their last bytes in `tails`."""
    mask = np.uint64(tails.shape[0] - 1)
    for i in range(dictionary.size[0]):
        start, stop = dictionary.offsets[i], dictionary.offsets[i + 1] - 1
        dictionary.hashes[i] = mix(hash_bytes(dictionary.blob, start, stop, seed))
        tails[_tail(dictionary.blob, start, stop, seed) & mask] = True


@kernel
def find_terms(
    dictionary: Dictionary,
    tails: NDArray[np.bool_],
    blob: Bytes,
    offsets: NDArray[np.int64],
    seed: np.uint64,
    begin: int,
    end: int,
    ids: NDArray[np.int32],
) -> None:
    """Terms begin … end of another list → ids[i] = the id in the dictionary, or −1.

    Most unknown terms are detected by the hash of their last bytes alone.
    """
    mask, tails_mask = np.uint64(dictionary.table.shape[0] - 1), np.uint64(tails.shape[0] - 1)
    for i in range(begin, end):
        ids[i] = -1
        if not tails[_tail(blob, offsets[i], offsets[i + 1] - 1, seed) & tails_mask]:
            continue
        h = mix(hash_bytes(blob, offsets[i], offsets[i + 1] - 1, seed))
        slot, length = h & mask, offsets[i + 1] - offsets[i]
        while dictionary.table[slot] >= 0 and ids[i] < 0:
            found = dictionary.table[slot] & 0xFFFFFFFF
            first = dictionary.offsets[found]
            if (
                dictionary.hashes[found] == h
                and dictionary.offsets[found + 1] - first == length
                and same_bytes(dictionary.blob, first, blob, offsets[i], length)
            ):
                ids[i] = found
            slot = (slot + np.uint64(1)) & mask
