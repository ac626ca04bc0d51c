"""Compiled scanners for the tokens of N-Triples and N-Quads: IRIs, blank nodes, literals, line ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Bytes
from pyke.core.compile import kernel
from pyke.core.hashing import FNV, NEWLINE, hash_bytes, mix


class Dialect(NamedTuple):
    """How to read: the seed of the hashes, and the hashes of the IRIs that mean something to the reader."""

    seed: np.uint64
    quads: bool
    trusted: bool  # the text was written by pyoxigraph: only find the borders
    blank_prefix: Bytes
    label_hashes: NDArray[np.uint64]  # finished
    string_hash: np.uint64  # xsd:string, unfinished
    forbidden_hashes: NDArray[np.uint64]  # rdf:langString, rdf:dirLangString, unfinished


def _class_table(characters: bytes) -> Bytes:
    table = np.zeros(256, np.uint8)
    table[np.frombuffer(characters, np.uint8)] = 1
    return table


_ALPHA = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

_DIGITS = b"0123456789"

_IS_ALPHA = _class_table(_ALPHA)

_IS_DIGIT = _class_table(_DIGITS)

_IS_HEX = _class_table(_DIGITS + b"abcdefABCDEF")

_IS_SCHEME = _class_table(_ALPHA + _DIGITS + b"+-.")

_IS_HOST = _class_table(_ALPHA + _DIGITS + b"-._~!$&'()*+,;=")

_IS_IRI = _class_table(_ALPHA + _DIGITS + b"-._~!$&'()*+,;=:@/?")

_IS_LABEL_START = _class_table(_ALPHA + _DIGITS + b"_")

_IS_LABEL = _class_table(_ALPHA + _DIGITS + b"_-.")

_IS_TAG = _class_table(_ALPHA + _DIGITS + b"-")

_TAB, _CR, _SPACE, QUOTE, _HASH, _PERCENT = 9, 13, 32, 34, 35, 37

_DOT, _SLASH, COLON, LESS, GREATER, _QUERY, _AT, _BACKSLASH, _CARET, UNDERSCORE = (
    46,
    47,
    58,
    60,
    62,
    63,
    64,
    92,
    94,
    95,
)


@kernel
def _sequence_length(text: Bytes, k: int) -> int:
    """Length of the well-formed UTF-8 sequence of two to four bytes at k, or 0."""
    c, d = text[k], text[k + 1]
    if c < 0xC2 or d < 0x80 or d > 0xBF:
        return 0
    if c < 0xE0:
        return 2
    e = text[k + 2]
    if e < 0x80 or e > 0xBF:
        return 0
    if c < 0xF0:
        return 0 if (c == 0xE0 and d < 0xA0) or (c == 0xED and d > 0x9F) else 3
    f = text[k + 3]
    if f < 0x80 or f > 0xBF or c > 0xF4:
        return 0
    return 0 if (c == 0xF0 and d < 0x90) or (c == 0xF4 and d > 0x8F) else 4


@kernel
def scan_iri(text: Bytes, k: int, seed: np.uint64) -> tuple[int, np.uint64]:
    """text[k] is '<'. (position behind '>', hash of what is between), or (−1, 0) unless it is surely an absolute IRI."""
    bad = (-1, np.uint64(0))
    h = np.uint64(seed)
    k += 1
    if not _IS_ALPHA[text[k]]:
        return bad
    while _IS_SCHEME[text[k]]:
        h = (h ^ np.uint64(text[k])) * FNV
        k += 1
    if text[k] != COLON:
        return bad
    h = (h ^ np.uint64(COLON)) * FNV
    k += 1
    if text[k] == _SLASH and text[k + 1] == _SLASH:
        h = (h ^ np.uint64(_SLASH)) * FNV
        h = (h ^ np.uint64(_SLASH)) * FNV
        k += 2
        if not _IS_HOST[text[k]]:
            return bad
        while _IS_HOST[text[k]]:
            h = (h ^ np.uint64(text[k])) * FNV
            k += 1
        if text[k] == COLON:
            h = (h ^ np.uint64(COLON)) * FNV
            k += 1
            while _IS_DIGIT[text[k]]:
                h = (h ^ np.uint64(text[k])) * FNV
                k += 1
        c = text[k]
        if c != _SLASH and c != _QUERY and c != _HASH and c != GREATER:
            return bad
    fragment = False
    while True:
        c = text[k]
        if _IS_IRI[c]:
            h = (h ^ np.uint64(c)) * FNV
            k += 1
        elif c == GREATER:
            return k + 1, h
        elif c == _HASH and not fragment:
            fragment = True
            h = (h ^ np.uint64(c)) * FNV
            k += 1
        elif c == _PERCENT and _IS_HEX[text[k + 1]] and _IS_HEX[text[k + 2]]:
            h = (h ^ np.uint64(c)) * FNV
            k += 1
        elif (
            c >= 0xC2 and c < 0xEE
        ):  # U+00A0 to U+D7FF; the rest of Unicode has gaps that pyoxigraph knows
            length = _sequence_length(text, k)
            if length == 0 or (c == 0xC2 and text[k + 1] < 0xA0):
                return bad
            for _ in range(length):
                h = (h ^ np.uint64(text[k])) * FNV
                k += 1
        else:
            return bad


@kernel
def scan_trusted_iri(text: Bytes, k: int, seed: np.uint64) -> tuple[int, np.uint64]:
    """As scan_iri, for text that is known to be well-formed."""
    h = np.uint64(seed)
    k += 1
    while text[k] != GREATER:
        if text[k] == NEWLINE:
            return -1, h
        h = (h ^ np.uint64(text[k])) * FNV
        k += 1
    return k + 1, h


@kernel
def scan_label(text: Bytes, k: int, seed: np.uint64, trusted: bool) -> tuple[int, np.uint64]:
    """text[k] is '_'. (position behind the blank node's label, hash of the label), or (−1, 0) where in doubt."""
    bad = (-1, np.uint64(0))
    if text[k + 1] != COLON:
        return bad
    k += 2
    if not trusted and not _IS_LABEL_START[text[k]]:
        return bad
    stop = k
    while _IS_LABEL[text[stop]] or (trusted and (text[stop] >= 0x80 or text[stop] == COLON)):
        stop += 1
    if text[stop] >= 0x80 or text[stop] == COLON:
        return bad
    while text[stop - 1] == _DOT:
        stop -= 1
    if stop == k:
        return bad
    return stop, hash_bytes(text, k, stop, seed)


@kernel
def scan_node(
    text: Bytes, k: int, dialect: Dialect, blank_seed: np.uint64
) -> tuple[int, np.uint64]:
    """An IRI or a blank node at k: (position behind it, unfinished hash), or (−1, 0)."""
    if text[k] == LESS:
        if dialect.trusted:
            return scan_trusted_iri(text, k, dialect.seed)
        return scan_iri(text, k, dialect.seed)
    if text[k] == UNDERSCORE:
        return scan_label(text, k, blank_seed, dialect.trusted)
    return -1, np.uint64(0)


@kernel
def _hex_value(c: int) -> int:
    if c <= 57:
        return c - 48
    return (c | 32) - 87


@kernel
def _read_escape(text: Bytes, k: int) -> tuple[int, int]:
    r"""text[k] is '\'. (position behind the escape, code point), or (−1, 0)."""
    c = text[k + 1]
    if c == 116:  # t
        return k + 2, 9
    if c == 110:  # n
        return k + 2, 10
    if c == 114:  # r
        return k + 2, 13
    if c == 98:  # b
        return k + 2, 8
    if c == 102:  # f
        return k + 2, 12
    if c == QUOTE or c == 39 or c == _BACKSLASH:
        return k + 2, c
    digits = 4 if c == 117 else 8 if c == 85 else 0  # u, U
    point = 0
    for i in range(digits):
        if not _IS_HEX[text[k + 2 + i]]:
            return -1, 0
        point = point << 4 | _hex_value(text[k + 2 + i])
    if digits == 0 or point > 0x10FFFF or (0xD800 <= point and point <= 0xDFFF):
        return -1, 0
    return k + 2 + digits, point


@kernel
def _encode(point: int, out: Bytes, at: int) -> int:
    """Writes a code point as UTF-8 at out[at:]; returns the position behind it."""
    if point < 0x80:
        out[at] = point
        return at + 1
    if point < 0x800:
        out[at] = 0xC0 | point >> 6
        out[at + 1] = 0x80 | point & 0x3F
        return at + 2
    if point < 0x10000:
        out[at] = 0xE0 | point >> 12
        out[at + 1] = 0x80 | point >> 6 & 0x3F
        out[at + 2] = 0x80 | point & 0x3F
        return at + 3
    out[at] = 0xF0 | point >> 18
    out[at + 1] = 0x80 | point >> 12 & 0x3F
    out[at + 2] = 0x80 | point >> 6 & 0x3F
    out[at + 3] = 0x80 | point & 0x3F
    return at + 4


@kernel
def scan_string(text: Bytes, k: int, seed: np.uint64, scratch: Bytes) -> tuple[int, np.uint64]:
    """text[k] is '"'. (position behind the closing '"', hash of the value without escapes), or (−1, 0)."""
    bad = (-1, np.uint64(0))
    h = np.uint64(seed)
    k += 1
    while True:
        c = text[k]
        if c == QUOTE:
            return k + 1, h
        if c == _BACKSLASH:
            k, point = _read_escape(text, k)
            if k < 0:
                return bad
            h = hash_bytes(scratch, 0, _encode(point, scratch, 0), h)
        elif c >= 0x80:
            length = _sequence_length(text, k)
            if length == 0:
                return bad
            h = hash_bytes(text, k, k + length, h)
            k += length
        elif c == NEWLINE or c == _CR:
            return bad
        else:
            h = (h ^ np.uint64(c)) * FNV
            k += 1


@kernel
def decode_string(text: Bytes, k: int, out: Bytes, at: int) -> int:
    """text[k] is '"' of a valid string: writes its value at out[at:]; returns the position behind it."""
    k += 1
    while text[k] != QUOTE:
        if text[k] == _BACKSLASH:
            k, point = _read_escape(text, k)
            at = _encode(point, out, at)
        else:
            out[at] = text[k]
            at += 1
            k += 1
    return at


@kernel
def scan_tag(text: Bytes, k: int, trusted: bool) -> int:
    """text[k] is '@'. Position behind a language tag of the form ll(l)(-ssss)(-rr), or −1 where in doubt."""
    k += 1
    start = k
    if trusted:
        while _IS_TAG[text[k]]:
            k += 1
        return k
    while _IS_ALPHA[text[k]]:
        k += 1
    if k - start < 2 or k - start > 3:
        return -1
    for wanted in (4, 2):  # script, region
        if text[k] == 45:
            end = k + 1
            while _IS_ALPHA[text[end]]:
                end += 1
            if end - k - 1 == wanted:
                k = end
    if text[k] == 45 or _IS_DIGIT[text[k]]:
        return -1
    return k


@kernel
def scan_literal(text: Bytes, k: int, dialect: Dialect, scratch: Bytes) -> tuple[int, np.uint64]:
    """A literal at k: (position behind it, key that is equal for equal literals), or (−1, 0) where in doubt."""
    bad = (-1, np.uint64(0))
    k, value = scan_string(text, k, dialect.seed, scratch)
    if k < 0:
        return bad
    kind = np.uint64(0)
    if text[k] == _AT:
        stop = scan_tag(text, k, dialect.trusted)
        if stop < 0:
            return bad
        kind = np.uint64(1)
        for i in range(k, stop):
            c = text[i]
            kind = (kind ^ np.uint64(c | 32 if _IS_ALPHA[c] else c)) * FNV
        k = stop
    elif text[k] == _CARET:
        if text[k + 1] != _CARET or text[k + 2] != LESS:
            return bad
        if dialect.trusted:
            k, kind = scan_trusted_iri(text, k + 2, dialect.seed)
        else:
            k, kind = scan_iri(text, k + 2, dialect.seed)
        if k < 0:
            return bad
        for i in range(dialect.forbidden_hashes.shape[0]):
            if kind == dialect.forbidden_hashes[i] and not dialect.trusted:
                return bad
        if kind == dialect.string_hash:
            kind = np.uint64(0)
    return k, mix(value + mix(kind))


@kernel
def language_rank(text: Bytes, start: int, stop: int) -> int:
    """English labels first, then those without a language, then the others; text[start:stop] is the whole literal."""
    k = stop - 1
    while _IS_TAG[text[k]]:
        k -= 1
    if text[k] != _AT or k == start:
        return 1
    if text[k + 1] | 32 == 101 and text[k + 2] | 32 == 110 and (k + 3 == stop or text[k + 3] == 45):
        return 0
    return 2


@kernel
def skip_blanks(text: Bytes, k: int) -> int:
    while text[k] == _SPACE or text[k] == _TAB:
        k += 1
    return k


@kernel
def scan_line_end(text: Bytes, k: int) -> int:
    """Position behind blanks, a comment and the line break that end a line at k, or −1 where in doubt."""
    k = skip_blanks(text, k)
    if text[k] == _HASH:
        while text[k] != NEWLINE and text[k] != _CR and text[k] < 0x80:
            k += 1
    if text[k] == _CR:
        k += 1
    if text[k] != NEWLINE:
        return -1
    return k + 1


@kernel
def scan_statement_end(text: Bytes, k: int, dialect: Dialect, blank_seed: np.uint64) -> int:
    """Position of the next line behind an optional graph name, the dot and what may follow it, or −1 where in doubt."""
    k = skip_blanks(text, k)
    if dialect.quads and text[k] != _DOT:
        k, _ = scan_node(text, k, dialect, blank_seed)
        if k < 0:
            return -1
        k = skip_blanks(text, k)
    return scan_line_end(text, k + 1) if text[k] == _DOT else -1
