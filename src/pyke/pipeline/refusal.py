"""Refuse a run that clearly cannot keep to its limit of memory, before anything slow begins.

Loading Numba takes most of a second, so this module does without it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyke.config import Config, format_size
from pyke.core.inputs import Input
from pyke.errors import OverBudget, PykeError
from pyke.pipeline.budget import Sizes, reading_bytes, springs_bytes, writing_bytes
from pyke.pipeline.spilling import certain_bytes, needs_everything
from pyke.read.find import Document, find_documents, text_bytes

if TYPE_CHECKING:
    from pyke.read.objects import Inputs

SAMPLE_BYTES, ABOVE = 24_000_000, 100_000_000  # of text
PIECE = 1 << 16  # of a document, at least
HOPELESS = 2.0  # times the limit, by an estimate from the sample


def refuse_hopeless(inputs: Inputs, config: Config) -> None:
    """Raise OverBudget within a second if a run clearly cannot keep to `config.memory`.

    A small sample shows how much a large input needs at least. It is an estimate: a run that needs
    less than HOPELESS times the limit may start, and checks the limit with the true counts.
    """
    paths: Any = [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs
    if config.memory is None or not isinstance(paths, (list, tuple)):
        return  # an object in memory
    if not all(isinstance(path, (str, os.PathLike)) for path in paths):
        return
    documents = find_documents(paths, config.format)
    if not all(os.path.isfile(one.name) for one in documents) or text_bytes(documents) < ABOVE:
        return
    least = _least_bytes(inputs, documents, config)
    if least > HOPELESS * config.memory:
        raise OverBudget(
            f"the run needs about {format_size(least)} of memory, estimated from the first "
            f"lines; the limit is {format_size(config.memory)}. `pyke plan` estimates it from more "
            "lines. Increase `memory`, or reduce `dimensions`."
        )


def _least_bytes(inputs: Inputs, documents: Sequence[Document], config: Config) -> int:
    if any(document.syntax.kind != "lines" for document in documents):
        from pyke.pipeline.plan import make_plan

        return make_plan(inputs, config, sample_bytes=SAMPLE_BYTES // 4).least_bytes
    try:
        sizes = estimate(documents)
    except PykeError:  # reading says more about it
        return 0
    if not needs_everything(config):
        return certain_bytes(sizes, config)
    return max(stage(sizes, config) for stage in (reading_bytes, springs_bytes, writing_bytes))


def estimate(documents: Sequence[Document]) -> Sizes:
    """Counts of documents of N-Triples or N-Quads, from a sample of their first lines."""
    share = min(1.0, SAMPLE_BYTES / text_bytes(documents))
    lines: list[bytes] = []
    consumed = size = 0
    for document in documents:
        wanted = max(PIECE, int(share * text_bytes([document])))
        with Input(document.name, document.compression) as source:
            text = _start(source, wanted)
            lines += text.split(b"\n")[:-1]
            consumed, size = consumed + source.consumed, size + len(text)
        if size >= SAMPLE_BYTES:
            break
    counted, third = _count(lines), _count(lines[: len(lines) // 3])
    total = sum(document.size for document in documents)
    return counted.grown(third, 3.0, total / max(1, consumed))


def _start(source: Input, wanted: int) -> bytes:
    """The first `wanted` bytes of a source, and up to a piece more."""
    text = bytearray()
    while len(text) < wanted and (piece := source.read(PIECE)):
        text += piece
    return bytes(text)


def _count(lines: Sequence[bytes]) -> Sizes:
    """Counts of lines. There are hardly fewer pairs than triples, and a particle per term."""
    triples: set[tuple[bytes, ...]] = set()
    terms: set[bytes] = set()
    links = literals = 0
    for line in lines:
        parts = line.split(None, 3)
        if len(parts) < 4:  # a comment, or an unusual line
            continue
        if parts[2][:1] == b'"':
            literals += 1
            continue
        links += 1
        triples.add(tuple(parts[:3]))
        terms.update(parts[:3])
    return Sizes(
        links=links,
        literals=literals,
        triples=len(triples),
        terms=len(terms),
        text_bytes=sum(map(len, terms)),
        pairs=len(triples),
        particles=len(terms),
    )
