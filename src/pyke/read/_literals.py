"""Compiled loops that turn a literal into features: its value, its words, and its number.

A feature is known by a 64-bit key of predicate, kind and content. The seed of these hashes is
fixed: an update finds the features that an embedding has already. A planned collision only makes
two values equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Bytes
from pyke.core.compile import kernel
from pyke.core.hashing import FNV, Dictionary, combine, hash_bytes, mix
from pyke.graph.batches import LiteralEvents
from pyke.read._characters import AT, BACKSLASH, CARET, IS_ALPHA, IS_DIGIT, QUOTE
from pyke.read._numbers import parse_date, parse_number
from pyke.read._scanners import LiteralOptions, decode_string

SEED = np.uint64(0x6C69746572616C73)
VALUES, WORDS, NUMBERS = 1, 2, 4  # bits of LiteralOptions.kinds
VALUE, WORD, NUMBER, DATE = (np.uint64(kind) for kind in (1, 2, 3, 4))  # part of a key
MAX_WORDS = 64  # different ones, per literal
MIN_WORD, MAX_WORD = 2, 64  # bytes


@kernel
def _string_end(text: Bytes, k: int) -> int:
    """Position after the valid string at k."""
    k += 1
    while text[k] != QUOTE:
        k += 2 if text[k] == BACKSLASH else 1
    return k + 1


@kernel
def _datatype(text: Bytes, k: int, stop: int, string_type: np.uint64) -> np.uint64:
    """Hash of the language tag or datatype text[k:stop]; 0 for none and for xsd:string."""
    h = np.uint64(0)
    if text[k] == AT:
        h = SEED
        for i in range(k, stop):
            c = text[i]
            h = (h ^ np.uint64(c | 32 if IS_ALPHA[c] else c)) * FNV
    elif text[k] == CARET:
        h = hash_bytes(text, k + 3, stop - 1, SEED)
        if h == string_type:
            h = np.uint64(0)
    return h


@kernel
def _is_in(hashes: NDArray[np.uint64], h: np.uint64) -> bool:
    """Whether h is one of some hashes."""
    for i in range(hashes.shape[0]):
        if hashes[i] == h:
            return True
    return False


@kernel
def _predicate_hash(events: LiteralEvents, terms: Dictionary, p: int) -> np.uint64:
    """Hash of the predicate with the id p; the same in every run."""
    if events.predicates[p] == 0:
        start, stop = terms.offsets[p], terms.offsets[p + 1] - 1
        events.predicates[p] = mix(hash_bytes(terms.blob, start, stop, SEED))
    return events.predicates[p]


@kernel
def _add_event(events: LiteralEvents, s: int, key: np.uint64) -> None:
    n = events.size[0]
    events.subjects[n], events.keys[n] = s, key
    events.size[0] = n + 1


@kernel
def _add_number(events: LiteralEvents, s: int, group: np.uint64, value: float) -> None:
    if not np.isnan(value):
        n = events.size[1]
        events.number_subjects[n], events.groups[n], events.values[n] = s, group, value
        events.size[1] = n + 1


@kernel
def _character(text: Bytes, k: int) -> tuple[int, bool]:
    """Length of the character at k, and whether it belongs to a word.

    Words have ASCII letters and digits, and all characters from U+00C0 on except General
    Punctuation (U+2000 to U+206F) and CJK Symbols and Punctuation (U+3000 to U+303F).
    """
    c = text[k]
    if c < 0x80:
        return 1, IS_ALPHA[c] == 1 or IS_DIGIT[c] == 1
    if c < 0xE0:
        return 2, c > 0xC2
    if c < 0xF0:
        d, e = text[k + 1], text[k + 2]
        punctuation = c == 0xE2 and (d == 0x80 or (d == 0x81 and e < 0xB0))
        return 3, not punctuation and not (c == 0xE3 and d == 0x80)
    return 4, True


@kernel
def _add_words(events: LiteralEvents, s: int, group: np.uint64, end: int) -> None:
    """Add the first MAX_WORDS different words of events.text[:end], in lower case (ASCII only)."""
    text, first, k = events.text, events.size[0], 0
    while k < end and events.size[0] - first < MAX_WORDS:
        start, h = k, SEED
        while k < end:
            length, inside = _character(text, k)
            if not inside:
                break
            for i in range(k, k + length):
                c = text[i]
                h = (h ^ np.uint64(c | 32 if IS_ALPHA[c] else c)) * FNV
            k += length
        if MIN_WORD <= k - start and k - start <= MAX_WORD:
            key, known = combine(group, h), False
            for i in range(first, events.size[0]):
                known |= events.keys[i] == key
            if not known:
                _add_event(events, s, key)
        if k < end:
            k += _character(text, k)[0]


@kernel
def add_literal(
    events: LiteralEvents,
    terms: Dictionary,
    s: int,
    p: int,
    text: Bytes,
    start: int,
    stop: int,
    options: LiteralOptions,
) -> None:
    """Add the features of the valid literal text[start:stop] of subject s and predicate p.

    Numbers and dates have no words.
    """
    end = decode_string(text, start, events.text, 0)
    datatype = _datatype(text, _string_end(text, start), stop, options.string_type)
    predicate = _predicate_hash(events, terms, p)
    number, date = _is_in(options.number_types, datatype), _is_in(options.date_types, datatype)
    if options.kinds & VALUES:
        content = combine(hash_bytes(events.text, 0, end, SEED), datatype)
        _add_event(events, s, combine(combine(predicate, VALUE), content))
    if options.kinds & WORDS and not number and not date:
        _add_words(events, s, combine(predicate, WORD), end)
    if options.kinds & NUMBERS and number:
        _add_number(events, s, combine(predicate, NUMBER), parse_number(events.text, end))
    if options.kinds & NUMBERS and date:
        _add_number(events, s, combine(predicate, DATE), parse_date(events.text, end))
