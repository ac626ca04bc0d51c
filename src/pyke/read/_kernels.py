"""The compiled tokenizer of N-Triples and N-Quads: `tokenize`."""

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
from pyke.read._characters import COLON, GREATER, LESS, QUOTE, UNDERSCORE
from pyke.read._literals import add_literal
from pyke.read._scanners import (
    Dialect,
    decode_string,
    language_rank,
    scan_line_end,
    scan_literal,
    scan_node,
    scan_statement_end,
    skip_spaces,
)


@kernel
def _add_node(
    terms: Dictionary, text: Bytes, start: int, stop: int, h: np.uint64, prefix: Bytes
) -> int:
    """Id of the IRI or blank node text[start:stop] with the unfinished hash h; adds it if new."""
    if text[start] == LESS:
        return find_or_add(terms, text, start + 1, stop - 1, mix(h))
    # Write the blank node's name after the last term. It stays there if the term is new.
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
def _match_iri(
    text: Bytes, k: int, end: int, offsets: NDArray[np.int64], blob: Bytes, guess: int
) -> int:
    """Position after `<IRI>` if the IRI with the guessed id is at k, else −1."""
    if guess < 0 or text[k] != LESS:
        return -1
    start = offsets[guess]
    if blob[start] == UNDERSCORE:  # a blank node
        return -1
    length = offsets[guess + 1] - 1 - start
    stop = k + length + 2
    if stop > end or text[stop - 1] != GREATER or not same_bytes(blob, start, text, k + 1, length):
        return -1
    return stop


@kernel
def _add_label(batch: Batch, text: Bytes, s: int, start: int, stop: int) -> None:
    """Add the literal text[start:stop] as a label of s."""
    state = batch.state
    row = state[LABELS]
    batch.labels[row, 0] = s
    batch.labels[row, 1] = language_rank(text, start, stop)
    state[LABEL_BYTES] = decode_string(text, start, batch.label_blob, state[LABEL_BYTES])
    batch.labels[row, 2] = state[LABEL_BYTES]
    state[LABELS] = row + 1


@kernel
def tokenize(text: Bytes, begin: int, end: int, dialect: Dialect, batch: Batch) -> int:
    """Read the complete lines text[begin:end] into a batch; return the first unread position.

    Stops before a line that pyoxigraph has to parse, and when the batch's dictionary is half full.
    A line changes the batch only after all of it is accepted.

    Most lines are predictable: they repeat the subject of the line before, the predicate that
    followed its predicate last time, and the object that this predicate had last time. To compare
    text with such a guess is faster than to scan and hash it, and a known IRI is valid.

    Longer than other functions: one loop passes many positions and ids from token to token.
    """
    scratch = np.empty(4, np.uint8)
    prefix = dialect.blank_prefix
    blank_seed = (((dialect.seed ^ np.uint64(UNDERSCORE)) * FNV) ^ np.uint64(COLON)) * FNV
    blank_seed = hash_bytes(prefix, 0, prefix.shape[0], blank_seed)
    terms, state, guesses = batch.terms, batch.state, batch.guesses
    offsets, blob = terms.offsets, terms.blob
    full = terms.table.shape[0] // 2 - 3
    s = p = -1
    line = begin
    while line < end and terms.size[0] < full:
        k = skip_spaces(text, line)
        if text[k] != LESS and text[k] != UNDERSCORE:
            k = scan_line_end(text, k)
            if k < 0:
                return line
            state[LINES] += 1
            line = k
            continue

        subject, subject_id, subject_hash = k, s, np.uint64(0)
        k = _match_iri(text, subject, end, offsets, blob, subject_id)
        if k < 0:
            subject_id = -1
            k, subject_hash = scan_node(text, subject, dialect, blank_seed)
            if k < 0:
                return line
        subject_end = k
        predicate = skip_spaces(text, k)
        if text[predicate] != LESS:
            return line
        predicate_id, predicate_hash = guesses[p, NEXT] if p >= 0 else -1, np.uint64(0)
        k = _match_iri(text, predicate, end, offsets, blob, predicate_id)
        if k < 0:
            predicate_id = -1
            k, predicate_hash = scan_node(text, predicate, dialect, blank_seed)
            if k < 0:
                return line
        predicate_end = k
        k = skip_spaces(text, k)
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
        k = _match_iri(text, target, end, offsets, blob, o)
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

        s, before = subject_id, p
        if s < 0:
            s = _add_node(terms, text, subject, subject_end, subject_hash, prefix)
        p = predicate_id
        if p < 0:
            p = _add_node(terms, text, predicate, predicate_end, predicate_hash, prefix)
        if before >= 0:
            guesses[before, NEXT] = p
        if is_literal:
            row = state[LITERALS]
            batch.literals[row, 0], batch.literals[row, 1] = s, p
            batch.literal_keys[row] = target_hash
            state[LITERALS] = row + 1
            h = terms.hashes[p]
            if h == dialect.label_hashes[0] or h == dialect.label_hashes[1]:
                _add_label(batch, text, s, target, target_end)
            if dialect.literals.kinds:
                add_literal(batch.events, terms, s, p, text, target, target_end, dialect.literals)
        else:
            if o < 0:
                o = _add_node(terms, text, target, target_end, target_hash, prefix)
            guesses[p, OBJECT] = o
            row = state[TRIPLES]
            batch.triples[row, 0], batch.triples[row, 1], batch.triples[row, 2] = s, p, o
            state[TRIPLES] = row + 1
        state[LINES] += 1
        line = k
    return line
