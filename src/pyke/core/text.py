"""Text that is safe to show: labels and terms come from strangers."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

# Characters that terminals act on or hide, and that json.dumps leaves as they are: control codes,
# line separators, marks that reverse the direction of text, and halves of a character.
_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")


def escaped(character: str) -> str:
    r"""A character as in Python and JSON, for example \u001b."""
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def printable(text: str, keep: str = "") -> str:
    r"""Text with control characters and others that cannot be seen as escapes.

    Examples
    --------
    >>> printable("a\x1b[31m\u202eb")
    'a\\u001b[31m\\u202eb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else escaped(c) for c in text)


def cut(text: str, letters: int) -> str:
    """A text with at most some letters, cut between words unless that would halve it.

    Examples
    --------
    >>> cut("Sindice.com: Weaving the Open Linked Data", 40)
    'Sindice.com: Weaving the Open Linked…'
    """
    if len(text) <= letters:
        return text
    kept = text[: letters - 1]
    words = kept if text[letters - 1].isspace() else kept.rpartition(" ")[0]
    return f"{(words if len(words) > letters // 2 else kept).rstrip(' ,;:(')}…"


def printable_blocks(blocks: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """Blocks of a table in UTF-8, to show on a terminal; tabs and line breaks stay."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for block in blocks:
        yield printable(decoder.decode(bytes(block)), keep="\t\n").encode()


def json_text(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    r"""JSON without control characters; reading it gives the same value.

    Examples
    --------
    >>> json_text(["\x9b31m", "é"])
    '["\\u009b31m", "é"]'
    """
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    return _IN_JSON.sub(lambda found: escaped(found[0]), text)
