"""Small random changes to lines and documents."""

from __future__ import annotations

import random

# Bytes and characters with a meaning in the grammar, or at the limits of UTF-8 and Unicode
BYTES = [
    bytes([c])
    for c in b"<>\"\\'@^_:.#%/?[](){}|`~-+, \t\r\n\x00\x0b\x0c\x1f\x7f"
    b"\x80\xbf\xc2\xe0\xed\xf0\xf4\xffeEuU09aAzZ"
]
CHARACTERS = (
    "éÿ\x80\x9f\xa0·\u037e\u0300\u2028\u3000漢\ud7ff\ud800\ue000\ufdcf\ufdd0\ufdef\ufeff\uffef\ufffe"
    "😀\U0001fffe\U000e0001\U0010ffff"
)
PIECES = r"""
\u00e9 \u0020 \u003e \ud800 \U0001F600 \U00110000 \u00 \t \n \" \q
@en @EN-gb @zh-Hant-TW @x @e1 @en--ltr ^^ ^^<a:> <<( )>> << >>
^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>
^^<http://www.w3.org/2001/XMLSchema#string>
_: _:b _:b. _:é <g:> <> <a> http:// :// //[::1] :80 %20 %zz %C3 # . .. <a:><b:><c:>.
"""
SPECIAL = [
    *BYTES,
    *(c.encode("utf-8", "surrogatepass") for c in CHARACTERS),
    *(piece.encode() for piece in PIECES.split()),
]


def mutated(line: bytes, rng: random.Random) -> bytes:
    """The line with one small change."""
    i, j = sorted((rng.randrange(len(line) + 1), rng.randrange(len(line) + 1)))
    near = min(len(line), i + rng.randrange(1, 4))
    return (
        lambda: (
            line[:i] + bytes([(line[i : i + 1] or b" ")[0] ^ 1 << rng.randrange(8)]) + line[i + 1 :]
        ),  # one bit is flipped
        lambda: line[:i] + line[near:],  # some bytes are removed
        lambda: line[:i] + rng.choice(SPECIAL) + line[i:],  # a special piece is inserted
        lambda: line[:i] + rng.choice(SPECIAL) + line[near:],  # a special piece replaces bytes
        lambda: (
            line[:i]
            + line[near : near + 1]
            + line[i + 1 : near]
            + line[i : i + 1]
            + line[near + 1 :]
        ),  # two bytes are swapped
        lambda: line[:i],  # the end is removed
        lambda: line[:j] + line[i:],  # a slice is repeated
    )[rng.randrange(7)]()
