"""Search all names of a graph for some names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from urllib.parse import unquote

import numpy as np

from pyke.graph.terms import Texts

TEXTS_AT_ONCE = 1 << 14
FEW = 8  # names that are searched one by one: faster than a pass over all names in Python
MAX_TRAILING = 3  # separators at the end of an IRI that do not count

_LINE_BREAK, _SPACE = 10, 32
# Bytes of IRIs as local names are compared: all separators are "/", and "_" is a space.
_LOCAL = bytes.maketrans(b"#:_", b"// ")


def folded(name: str) -> str:
    """Return a label as labels are compared."""
    return name.replace("\n", " ").casefold()


def spaced(name: str) -> str:
    """Return a local name as people write it."""
    return unquote(name).replace("\n", " ").replace("_", " ")


def local_key(name: str) -> str:
    """Return a local name as local names are compared."""
    return spaced(name).casefold()


def blocks(texts: Texts, table: bytes | None = None) -> Iterator[tuple[int, str]]:
    """Yield (position of the first text, some texts), each text followed by a line break.

    A line break inside a text becomes a space; `table` then replaces bytes.
    """
    for begin in range(0, len(texts), TEXTS_AT_ONCE):
        borders = np.asarray(texts.offsets[begin : begin + TEXTS_AT_ONCE + 1])
        block = np.array(texts.blob[borders[0] : borders[-1]])
        block[block == _LINE_BREAK] = _SPACE
        block[borders[1:] - borders[0] - 1] = _LINE_BREAK
        yield begin, block.tobytes().translate(table).decode("utf-8", "replace")


def positions(texts: Texts, keys: Collection[str], *, local: bool) -> dict[str, list[int]]:
    """Return the positions of the texts that equal each key, or whose local names do."""
    found: dict[str, list[int]] = defaultdict(list)
    keys = {key for key in keys if key or not local}
    if not keys:
        return found
    for begin, block in blocks(texts, _LOCAL if local else None):
        text = block.casefold()
        if local:
            for _ in range(MAX_TRAILING):
                text = text.replace("/\n", "\n")
        for line, name in sorted(_lines_with(keys, text, local)):
            found[name].append(begin + line)
    return found


def containing(texts: Texts, key: str, *, local: bool) -> Iterator[tuple[int, str]]:
    """Yield (position, name) for the texts that contain a key, or whose local names do."""
    inside = re.compile(re.escape(key) + (r"[^/\n]*/{0,3}\n" if local else r"[^\n]*\n"))
    for begin, block in blocks(texts, _LOCAL if local else None):
        text = f"\n{block.casefold()}"
        line, counted = -1, 0
        for match in inside.finditer(text):
            line += text.count("\n", counted, match.start())
            counted = match.start()
            name = text[text.rfind("\n", 0, counted) + 1 : match.end()].rstrip("/\n")
            yield begin + line, name.rpartition("/")[2] if local else name


def _lines_with(keys: Collection[str], text: str, local: bool) -> Iterator[tuple[int, str]]:
    """Yield (line, key) for the lines of a text, or the local names in them, that are keys."""
    if len(keys) > FEW:
        for line, name in enumerate(text.split("\n")[:-1]):
            key = name.rpartition("/")[2] if local else name
            if local and "%" in key:
                key = local_key(key)
            if key in keys:
                yield line, key
        return
    text = f"\n{text}"
    if local:
        text = text.replace("\n", "\n/")
        for line, end in _lines_at("%", text):
            key = local_key(text[text.rfind("/", 0, end) + 1 : end])
            if key in keys:
                yield line, key
    for key in keys:
        if not (local and ("%" in key or "/" in key)):
            for line, _ in _lines_at(f"/{key}\n" if local else f"\n{key}\n", text):
                yield line, key


def _lines_at(sought: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield (number of the line, its end) wherever a string occurs; each line once.

    The text begins with a line break, which is not counted.
    """
    line, counted, at = -1, 0, text.find(sought)
    while at >= 0:
        line += text.count("\n", counted, at + 1)
        counted, end = at + 1, text.find("\n", at + 1)
        yield line, end
        at = text.find(sought, end)
