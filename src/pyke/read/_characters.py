"""Bytes of N-Triples text: classes of characters, UTF-8 sequences and escapes."""

from __future__ import annotations

import numpy as np

from pyke.core.arrays import Bytes
from pyke.core.compile import kernel


def _class_table(characters: bytes) -> Bytes:
    """uint8 (256,): 1 for each byte of a class."""
    table = np.zeros(256, np.uint8)
    table[np.frombuffer(characters, np.uint8)] = 1
    return table


_ALPHA = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGITS = b"0123456789"
_HOST = _ALPHA + _DIGITS + b"-._~!$&'()*+,;="

IS_ALPHA = _class_table(_ALPHA)
IS_DIGIT = _class_table(_DIGITS)
IS_HEX = _class_table(_DIGITS + b"abcdefABCDEF")
IS_SCHEME = _class_table(_ALPHA + _DIGITS + b"+-.")
IS_HOST = _class_table(_HOST)
IS_IRI = _class_table(_HOST + b":@/?")
IS_LABEL_START = _class_table(_ALPHA + _DIGITS + b"_")
IS_LABEL = _class_table(_ALPHA + _DIGITS + b"_-.")
IS_TAG = _class_table(_ALPHA + _DIGITS + b"-")

TAB, CR, SPACE, QUOTE, HASH, PERCENT, APOSTROPHE = 9, 13, 32, 34, 35, 37, 39
HYPHEN, DOT, SLASH, COLON, LESS, GREATER, QUERY, AT = 45, 46, 47, 58, 60, 62, 63, 64
BACKSLASH, CARET, UNDERSCORE = 92, 94, 95


@kernel
def utf8_length(text: Bytes, k: int) -> int:
    """Length of the valid UTF-8 sequence of two to four bytes at k, or 0."""
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
def _hex_value(c: int) -> int:
    """Value of a hexadecimal digit."""
    if c <= 57:
        return c - 48
    return (c | 32) - 87


@kernel
def read_escape(text: Bytes, k: int) -> tuple[int, int]:
    r"""Read the escape at k, where text[k] is '\': (position after it, code point), or (−1, 0)."""
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
    if c == QUOTE or c == APOSTROPHE or c == BACKSLASH:
        return k + 2, c
    digits = 4 if c == 117 else 8 if c == 85 else 0  # u, U
    point = 0
    for i in range(digits):
        if not IS_HEX[text[k + 2 + i]]:
            return -1, 0
        point = point << 4 | _hex_value(text[k + 2 + i])
    if digits == 0 or point > 0x10FFFF or (0xD800 <= point and point <= 0xDFFF):
        return -1, 0
    return k + 2 + digits, point


@kernel
def encode_utf8(point: int, out: Bytes, at: int) -> int:
    """Write a code point as UTF-8 at out[at:]; return the position after it."""
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
