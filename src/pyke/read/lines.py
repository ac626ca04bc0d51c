"""Split an input into blocks of complete lines."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator

import numpy as np

from pyke.config import Config
from pyke.core.arrays import Bytes as Text
from pyke.core.inputs import Input
from pyke.errors import DataError
from pyke.read.find import Document

BLOCK = 1 << 19  # bytes of text per block: the dictionary of a block stays in the core's own cache

GREATEST_LINE = 1 << 24  # as pyoxigraph's buffer

Report = Callable[
    ..., None
]  # a line, or 0 where it is not known; what is wrong there; how many statements it costs, if more than 1


def whole_lines(_: Document, source: Input, _config: Config, _report: Report) -> Iterator[Text]:
    """Blocks of whole lines; a byte order mark is dropped and a missing last line break added."""
    rest = b""
    first = True
    while data := source.read(BLOCK):
        if first:
            data = data.removeprefix(codecs.BOM_UTF8)
            first = False
        cut = data.rfind(b"\n") + 1
        if cut == 0:
            rest += data
            if len(rest) > GREATEST_LINE:
                raise DataError(
                    f"{source.name}: a line is longer than {GREATEST_LINE >> 20} MiB. Is this a text file of RDF?"
                )
            continue
        yield as_text(rest, data[:cut])
        rest = data[cut:]
    if rest:
        yield as_text(rest, b"\n")


def as_text(*pieces: bytes) -> Text:
    """Bytes as a (writable: one type for the kernels) array."""
    return np.frombuffer(bytearray().join(pieces), np.uint8)
