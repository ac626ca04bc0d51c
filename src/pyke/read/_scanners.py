"""Compiled scanners for tokens of N-Triples and N-Quads: IRIs, blank nodes, literals, line ends.

A scanner returns the position after its token. It returns −1 for a token that may be invalid;
pyoxigraph then parses the line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Bytes
from pyke.core.compile import kernel
from pyke.core.hashing import FNV, NEWLINE, hash_bytes, mix
from pyke.read._characters import (
    AT,
    BACKSLASH,
    CARET,
    COLON,
    CR,
    DOT,
    GREATER,
    HASH,
    HYPHEN,
    IS_ALPHA,
    IS_DIGIT,
    IS_HEX,
    IS_HOST,
    IS_IRI,
    IS_LABEL,
    IS_LABEL_START,
    IS_SCHEME,
    IS_TAG,
    LESS,
    PERCENT,
    QUERY,
    QUOTE,
    SLASH,
    SPACE,
    TAB,
    UNDERSCORE,
    encode_utf8,
    read_escape,
    utf8_length,
)


class LiteralOptions(NamedTuple):
    """Which features literals give, and the hashes of the datatypes that `_literals` recognises."""

    kinds: int  # a sum of constants of `_literals`; 0: none
    string_type: np.uint64
    number_types: NDArray[np.uint64]
    date_types: NDArray[np.uint64]


class Dialect(NamedTuple):
    """How to read a document, and the hashes of the IRIs that the tokenizer recognises.

    Unfinished hashes lack the final `mix`.
    """

    seed: np.uint64
    quads: bool
    trusted: bool  # pyoxigraph wrote the text: find the tokens without validating them
    blank_prefix: Bytes
    label_hashes: NDArray[np.uint64]  # finished
    string_hash: np.uint64  # xsd:string, unfinished
    forbidden_hashes: NDArray[np.uint64]  # rdf:langString, rdf:dirLangString, unfinished
    literals: LiteralOptions


@kernel
def scan_iri(text: Bytes, k: int, seed: np.uint64) -> tuple[int, np.uint64]:
    """Scan the absolute IRI at k, where text[k] is '<': (position after '>', unfinished hash)."""
    bad = (-1, np.uint64(0))
    h = np.uint64(seed)
    k += 1
    if not IS_ALPHA[text[k]]:
        return bad
    while IS_SCHEME[text[k]]:
        h = (h ^ np.uint64(text[k])) * FNV
        k += 1
    if text[k] != COLON:
        return bad
    h = (h ^ np.uint64(COLON)) * FNV
    k += 1
    if text[k] == SLASH and text[k + 1] == SLASH:
        h = (h ^ np.uint64(SLASH)) * FNV
        h = (h ^ np.uint64(SLASH)) * FNV
        k += 2
        if not IS_HOST[text[k]]:
            return bad
        while IS_HOST[text[k]]:
            h = (h ^ np.uint64(text[k])) * FNV
            k += 1
        if text[k] == COLON:
            h = (h ^ np.uint64(COLON)) * FNV
            k += 1
            while IS_DIGIT[text[k]]:
                h = (h ^ np.uint64(text[k])) * FNV
                k += 1
        c = text[k]
        if c != SLASH and c != QUERY and c != HASH and c != GREATER:
            return bad
    fragment = False
    while True:
        c = text[k]
        if IS_IRI[c]:
            h = (h ^ np.uint64(c)) * FNV
            k += 1
        elif c == GREATER:
            return k + 1, h
        elif c == HASH and not fragment:
            fragment = True
            h = (h ^ np.uint64(c)) * FNV
            k += 1
        elif c == PERCENT and IS_HEX[text[k + 1]] and IS_HEX[text[k + 2]]:
            h = (h ^ np.uint64(c)) * FNV
            k += 1
        elif c >= 0xC2 and c < 0xEE:
            # U+00A0 to U+D7FF are valid. pyoxigraph decides on higher characters.
            length = utf8_length(text, k)
            if length == 0 or (c == 0xC2 and text[k + 1] < 0xA0):
                return bad
            for _ in range(length):
                h = (h ^ np.uint64(text[k])) * FNV
                k += 1
        else:
            return bad


@kernel
def scan_trusted_iri(text: Bytes, k: int, seed: np.uint64) -> tuple[int, np.uint64]:
    """Scan an IRI as `scan_iri` does, in text that is known to be valid."""
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
    """Scan the blank node at k, where text[k] is '_': (position after it, unfinished hash)."""
    bad = (-1, np.uint64(0))
    if text[k + 1] != COLON:
        return bad
    k += 2
    if not trusted and not IS_LABEL_START[text[k]]:
        return bad
    stop = k
    while IS_LABEL[text[stop]] or (trusted and (text[stop] >= 0x80 or text[stop] == COLON)):
        stop += 1
    if text[stop] >= 0x80 or text[stop] == COLON:
        return bad
    while text[stop - 1] == DOT:
        stop -= 1
    if stop == k:
        return bad
    return stop, hash_bytes(text, k, stop, seed)


@kernel
def scan_node(
    text: Bytes, k: int, dialect: Dialect, blank_seed: np.uint64
) -> tuple[int, np.uint64]:
    """Scan the IRI or blank node at k: (position after it, unfinished hash)."""
    if text[k] == LESS:
        if dialect.trusted:
            return scan_trusted_iri(text, k, dialect.seed)
        return scan_iri(text, k, dialect.seed)
    if text[k] == UNDERSCORE:
        return scan_label(text, k, blank_seed, dialect.trusted)
    return -1, np.uint64(0)


@kernel
def scan_string(text: Bytes, k: int, seed: np.uint64, scratch: Bytes) -> tuple[int, np.uint64]:
    """Scan the string at k, where text[k] is '"': (position after it, hash of its value)."""
    bad = (-1, np.uint64(0))
    h = np.uint64(seed)
    k += 1
    while True:
        c = text[k]
        if c == QUOTE:
            return k + 1, h
        if c == BACKSLASH:
            k, point = read_escape(text, k)
            if k < 0:
                return bad
            h = hash_bytes(scratch, 0, encode_utf8(point, scratch, 0), h)
        elif c >= 0x80:
            length = utf8_length(text, k)
            if length == 0:
                return bad
            h = hash_bytes(text, k, k + length, h)
            k += length
        elif c == NEWLINE or c == CR:
            return bad
        else:
            h = (h ^ np.uint64(c)) * FNV
            k += 1


@kernel
def decode_string(text: Bytes, k: int, out: Bytes, at: int) -> int:
    """Write the value of the valid string at k to out[at:]; return the position after it."""
    k += 1
    while text[k] != QUOTE:
        if text[k] == BACKSLASH:
            k, point = read_escape(text, k)
            at = encode_utf8(point, out, at)
        else:
            out[at] = text[k]
            at += 1
            k += 1
    return at


@kernel
def scan_tag(text: Bytes, k: int, trusted: bool) -> int:
    """Scan the language tag at k, where text[k] is '@', of the form ll(l)(-ssss)(-rr)."""
    k += 1
    start = k
    if trusted:
        while IS_TAG[text[k]]:
            k += 1
        return k
    while IS_ALPHA[text[k]]:
        k += 1
    if k - start < 2 or k - start > 3:
        return -1
    for wanted in (4, 2):  # script, region
        if text[k] == HYPHEN:
            end = k + 1
            while IS_ALPHA[text[end]]:
                end += 1
            if end - k - 1 == wanted:
                k = end
    if text[k] == HYPHEN or IS_DIGIT[text[k]]:
        return -1
    return k


@kernel
def scan_literal(text: Bytes, k: int, dialect: Dialect, scratch: Bytes) -> tuple[int, np.uint64]:
    """Scan the literal at k: (position after it, hash that equal literals share)."""
    bad = (-1, np.uint64(0))
    k, value = scan_string(text, k, dialect.seed, scratch)
    if k < 0:
        return bad
    kind = np.uint64(0)
    if text[k] == AT:
        stop = scan_tag(text, k, dialect.trusted)
        if stop < 0:
            return bad
        kind = np.uint64(1)
        for i in range(k, stop):
            c = text[i]
            kind = (kind ^ np.uint64(c | 32 if IS_ALPHA[c] else c)) * FNV
        k = stop
    elif text[k] == CARET:
        if text[k + 1] != CARET or text[k + 2] != LESS:
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
    """Rank of the language of the literal text[start:stop]: English 0, none 1, others 2."""
    k = stop - 1
    while IS_TAG[text[k]]:
        k -= 1
    if text[k] != AT or k == start:
        return 1
    if (
        text[k + 1] | 32 == 101
        and text[k + 2] | 32 == 110
        and (k + 3 == stop or text[k + 3] == HYPHEN)
    ):
        return 0
    return 2


@kernel
def skip_spaces(text: Bytes, k: int) -> int:
    """Position of the first character at or after k that is not a space or a tab."""
    while text[k] == SPACE or text[k] == TAB:
        k += 1
    return k


@kernel
def scan_line_end(text: Bytes, k: int) -> int:
    """Scan spaces, a comment and the line break at k; return the start of the next line."""
    k = skip_spaces(text, k)
    if text[k] == HASH:
        while text[k] != NEWLINE and text[k] != CR and text[k] < 0x80:
            k += 1
    if text[k] == CR:
        k += 1
    if text[k] != NEWLINE:
        return -1
    return k + 1


@kernel
def scan_statement_end(text: Bytes, k: int, dialect: Dialect, blank_seed: np.uint64) -> int:
    """Scan an optional graph name, the dot and the line end; return the start of the next line."""
    k = skip_spaces(text, k)
    if dialect.quads and text[k] != DOT:
        k, _ = scan_node(text, k, dialect, blank_seed)
        if k < 0:
            return -1
        k = skip_spaces(text, k)
    return scan_line_end(text, k + 1) if text[k] == DOT else -1
