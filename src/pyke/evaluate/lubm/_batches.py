"""Kernels that turn rows of a university into a batch, as if its text had been read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Bytes
from pyke.core.compile import kernel
from pyke.core.hashing import NEWLINE, Dictionary, hash_bytes, mix
from pyke.evaluate.lubm._tables import FIRST_LINK
from pyke.evaluate.lubm._text import Rows, Texts, copy
from pyke.graph.batches import LINES, LITERALS, TRIPLES, Batch

Order = NDArray[np.int32]  # (n,): the text that has local id i


@kernel
def _hash(text: Bytes, start: int, stop: int, seed: np.uint64) -> np.uint64:
    """Hash of text[start:stop], as the reader computes it for terms and plain literals."""
    return mix(hash_bytes(text, start, stop, seed))


@kernel
def _local_id(number: int, ids: Order, order: Order, size: NDArray[np.int64]) -> int:
    """Id of a text, in order of first appearance; size[0] is the number of ids."""
    if ids[number] < 0:
        ids[number] = size[0]
        order[size[0]] = number
        size[0] += 1
    return ids[number]


@kernel
def fill_rows(rows: Rows, texts: Texts, seed: np.uint64, order: Order, batch: Batch) -> None:
    """int32 (n, 3) rows → statements over local ids; order[i] = text of local id i."""
    triples, literals, keys = batch.triples, batch.literals, batch.literal_keys
    size = batch.terms.size
    ids = np.full(order.shape[0], -1, np.int32)
    # Each literal is hashed once: most names occur in every department.
    key_of = np.zeros(order.shape[0], np.uint64)
    links = values = 0
    for i in range(rows.shape[0]):
        s = _local_id(rows[i, 0], ids, order, size)
        p = _local_id(rows[i, 1], ids, order, size)
        o = rows[i, 2]
        if rows[i, 1] >= FIRST_LINK:
            target = _local_id(o, ids, order, size)
            triples[links, 0], triples[links, 1], triples[links, 2] = s, p, target
            links += 1
            continue
        if key_of[o] == 0:
            key_of[o] = _hash(texts.blob, texts.starts[o] + 1, texts.stops[o] - 2, seed)
        literals[values, 0], literals[values, 1], keys[values] = s, p, key_of[o]
        values += 1
    batch.state[LINES], batch.state[TRIPLES], batch.state[LITERALS] = rows.shape[0], links, values


@kernel
def fill_terms(order: Order, texts: Texts, seed: np.uint64, terms: Dictionary) -> None:
    """int32 order → the dictionary: IRIs without brackets, a newline after each, their hashes."""
    end = 0
    for i in range(terms.size[0]):
        start, stop = texts.starts[order[i]] + 1, texts.stops[order[i]] - 2
        terms.hashes[i] = _hash(texts.blob, start, stop, seed)
        end = copy(texts.blob, start, stop, terms.blob, end)
        terms.blob[end] = NEWLINE
        end += 1
        terms.offsets[i + 1] = end
    terms.size[1] = end
