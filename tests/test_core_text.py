"""Text from strangers: it is shown without control codes, and JSON keeps its value."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from graphs import many
from pyke.core.text import cut, json_text, printable, printable_blocks

CONTROLS = [*map(chr, [*range(32), *range(0x7F, 0xA0)]), *"\u061c\u200e\u200f\u2028\u2029\ufeff"]
BIDIRECTIONAL = [*map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)])]


def test_every_control_character_is_escaped() -> None:
    text = "".join(CONTROLS + BIDIRECTIONAL)
    assert printable(text) == "".join(f"\\u{ord(c):04x}" for c in text)
    assert json_text(text)[1:-1].isprintable()


def test_a_character_beyond_16_bits_has_an_escape_of_its_own() -> None:
    assert printable("\U000e0001") == "\\U000e0001"


@given(text=st.text(st.characters(exclude_categories=[])))
@many(200)
def test_json_reads_back_as_the_same_text(text: str) -> None:
    assert json.loads(json_text([text])) == [text]
    assert json_text([text]).encode()
    assert json_text([text], ascii_only=True).isascii()


@given(text=st.text(), size=st.integers(1, 5))
@many(100)
def test_blocks_for_a_terminal_may_end_within_a_character(text: str, size: int) -> None:
    data = text.encode()
    blocks = [data[begin : begin + size] for begin in range(0, len(data), size)]
    shown = b"".join(printable_blocks(blocks)).decode()
    assert shown == printable(text, keep="\t\n")


def test_texts_are_cut_between_words() -> None:
    title = "Sindice.com: Weaving the Open Linked Data"
    assert cut(title, len(title)) == title
    assert cut(title, 40) == "Sindice.com: Weaving the Open Linked…"
    assert cut(title, 37) == "Sindice.com: Weaving the Open Linked…"
    assert cut("Donaudampfschifffahrt", 10) == "Donaudamp…"
    assert cut("a Donaudampfschifffahrt", 12) == "a Donaudamp…"  # half of the place is not wasted
    assert all(len(cut(title, n)) <= n for n in range(1, 60))
