"""The compiled N-Triples and N-Quads tokenizer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Bytes
from pyke.core.compile import kernel
from pyke.core.hashing import FNV, NEWLINE, Dictionary, find_or_add, hash_bytes, mix, same_bytes
from pyke.graph.batches import (
    LABEL_BYTES,
    LABELS,
    LINES,
    LITERALS,
    NEXT,
    OBJECT,
    TRIPLE_TERMS,
    TRIPLES,
    Batch,
)
from pyke.read._scanners import (
    COLON,
    GREATER,
    LESS,
    QUOTE,
    UNDERSCORE,
    Dialect,
    decode_string,
    language_rank,
    scan_line_end,
    scan_literal,
    scan_node,
    scan_statement_end,
    skip_blanks,
)


@kernel
def _add_node(
    terms: Dictionary, text: Bytes, start: int, stop: int, h: np.uint64, prefix: Bytes
) -> int:
    """The id of the IRI or blank node at text[start:stop], whose unfinished hash is h."""
    if text[start] == LESS:
        return find_or_add(terms, text, start + 1, stop - 1, mix(h))
    # A blank node's name is put together behind the last term, and stays there if it is new.
    at = terms.size[1]
    terms.blob[at] = UNDERSCORE
    terms.blob[at + 1] = COLON
    end = at + 2
    for i in range(prefix.shape[0]):
        terms.blob[end] = prefix[i]
        end += 1
    for i in range(start + 2, stop):
        terms.blob[end] = text[i]
        end += 1
    return find_or_add(terms, terms.blob, at, end, mix(h))


@kernel
def _spelled(
    text: Bytes, k: int, end: int, offsets: NDArray[np.int64], blob: Bytes, guess: int
) -> int:
    """Position behind `<IRI>` if text[k:] spells the IRI with the id that was guessed, else −1."""
    if guess < 0 or text[k] != LESS:
        return -1
    start = offsets[guess]
    if blob[start] == UNDERSCORE:  # a blank node, which nothing in angle brackets spells
        return -1
    length = offsets[guess + 1] - 1 - start
    stop = k + length + 2
    if stop > end or text[stop - 1] != GREATER or not same_bytes(blob, start, text, k + 1, length):
        return -1
    return stop


@kernel
def _add_label(batch: Batch, text: Bytes, s: int, start: int, stop: int) -> None:
    """Keeps the literal at text[start:stop] as a label of s."""
    state = batch.state
    row = state[LABELS]
    batch.labels[row, 0] = s
    batch.labels[row, 1] = language_rank(text, start, stop)
    state[LABEL_BYTES] = decode_string(text, start, batch.label_blob, state[LABEL_BYTES])
    batch.labels[row, 2] = state[LABEL_BYTES]
    state[LABELS] = row + 1


@kernel
def tokenize(text: Bytes, begin: int, end: int, dialect: Dialect, batch: Batch) -> int:
    """uint8 text[begin:end] of whole lines → statements in the batch; position of the first line that is not done.

    Stops before a line whose validity is not plain to see here, so that pyoxigraph decides it; a batch whose dictionary is
    half full stops too. A line leaves nothing in the batch until all of it is accepted. Lines follow guesses: the subject is mostly
    that of the line before, a predicate is followed by the one that followed it last time, and has the object it had last time.
    Such a guess is checked at the speed of a comparison; what it spells has been validated before.
    """
    scratch = np.empty(4, np.uint8)
    blank_seed = hash_bytes(
        dialect.blank_prefix,
        0,
        dialect.blank_prefix.shape[0],
        (((dialect.seed ^ np.uint64(95)) * FNV) ^ np.uint64(58)) * FNV,
    )
    terms, state, guesses = batch.terms, batch.state, batch.guesses
    offsets, blob = terms.offsets, terms.blob
    full = terms.table.shape[0] // 2 - 3
    s = p = -1
    line = begin
    while line < end and terms.size[0] < full:
        k = skip_blanks(text, line)
        if text[k] != LESS and text[k] != UNDERSCORE:
            k = scan_line_end(text, k)
            if k < 0:
                return line
            state[LINES] += 1
            line = k
            continue

        subject, subject_id, subject_hash = k, s, np.uint64(0)
        k = _spelled(text, subject, end, offsets, blob, subject_id)
        if k < 0:
            subject_id = -1
            k, subject_hash = scan_node(text, subject, dialect, blank_seed)
            if k < 0:
                return line
        subject_end = k
        predicate = skip_blanks(text, k)
        if text[predicate] != LESS:
            return line
        predicate_id, predicate_hash = guesses[p, NEXT] if p >= 0 else -1, np.uint64(0)
        k = _spelled(text, predicate, end, offsets, blob, predicate_id)
        if k < 0:
            predicate_id = -1
            k, predicate_hash = scan_node(text, predicate, dialect, blank_seed)
            if k < 0:
                return line
        predicate_end = k
        k = skip_blanks(text, k)
        if dialect.trusted and text[k] == LESS and text[k + 1] == LESS:
            state[TRIPLE_TERMS] += 1
            state[LINES] += 1
            while text[k] != NEWLINE:
                k += 1
            line = k + 1
            continue
        target, target_hash = k, np.uint64(0)
        is_literal = text[target] == QUOTE
        o = guesses[predicate_id, OBJECT] if predicate_id >= 0 and not is_literal else -1
        k = _spelled(text, target, end, offsets, blob, o)
        if k < 0:
            o = -1
            if is_literal:
                k, target_hash = scan_literal(text, target, dialect, scratch)
            else:
                k, target_hash = scan_node(text, target, dialect, blank_seed)
            if k < 0:
                return line
        target_end = k
        k = scan_statement_end(text, k, dialect, blank_seed)
        if k < 0:
            return line

        s = (
            subject_id
            if subject_id >= 0
            else _add_node(terms, text, subject, subject_end, subject_hash, dialect.blank_prefix)
        )
        before = p
        p = (
            predicate_id
            if predicate_id >= 0
            else _add_node(
                terms, text, predicate, predicate_end, predicate_hash, dialect.blank_prefix
            )
        )
        if before >= 0:
            guesses[before, NEXT] = p
        if is_literal:
            row = state[LITERALS]
            batch.literals[row, 0], batch.literals[row, 1], batch.literal_keys[row] = (
                s,
                p,
                target_hash,
            )
            state[LITERALS] = row + 1
            if (
                terms.hashes[p] == dialect.label_hashes[0]
                or terms.hashes[p] == dialect.label_hashes[1]
            ):
                _add_label(batch, text, s, target, target_end)
        else:
            if o < 0:
                o = _add_node(terms, text, target, target_end, target_hash, dialect.blank_prefix)
            guesses[p, OBJECT] = o
            row = state[TRIPLES]
            batch.triples[row, 0], batch.triples[row, 1], batch.triples[row, 2] = s, p, o
            state[TRIPLES] = row + 1
        state[LINES] += 1
        line = k
    return line
