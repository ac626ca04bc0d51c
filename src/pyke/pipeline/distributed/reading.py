"""Read a part of the input: its terms by their hash, and its statements with ids of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pyke.config import Config
from pyke.core.arrays import Bytes
from pyke.core.inputs import Input, new_allowance
from pyke.graph.build import Collector
from pyke.pipeline.distributed.parts import Lines, Part
from pyke.pipeline.partitions import dictionary
from pyke.pipeline.partitions.job import OWN, Job, Result, stage
from pyke.pipeline.partitions.pieces import Arrays
from pyke.pipeline.partitions.storage import open_to_read
from pyke.read import tokenize
from pyke.read.child import ParserProcess
from pyke.read.lines import WithoutByteOrderMark, complete_lines, to_array
from pyke.read.parse import blocks_of

NEWLINE = 10


class _Stopped(Exception):
    """A problem stops the reading of a part."""


class _Problems:
    """Problems of a part, with lines counted from its start."""

    def __init__(self, config: Config) -> None:
        self.found: list[tuple[int, str, int]] = []
        self._stop = config.on_error == "stop"

    def report(self, line: int, message: str, count: int = 1, /) -> None:
        self.found.append((line, message, count))
        if self._stop:
            raise _Stopped


class _Counted:
    """Blocks of lines, and the number of lines so far."""

    def __init__(self, blocks: Iterator[Bytes]) -> None:
        self._blocks = blocks
        self.lines = 0

    def __iter__(self) -> Iterator[Bytes]:
        for block in self._blocks:
            self.lines += int(np.count_nonzero(block == NEWLINE))
            yield block


@stage
def read(job: Job, number: int, part: Part) -> tuple[dict[str, Arrays], Result]:  # noqa: ARG001
    """Terms of a part by their hash, and its statements."""
    config, problems, collector = job.config, _Problems(job.config), Collector()
    with open_to_read(part.path) as file:
        if part.whole:
            with (
                ParserProcess(config) as parser,
                Input(part.document.name, part.document.compression, new_allowance(), file) as data,
            ):
                blocks = _Counted(blocks_of(part.document, data, parser, problems.report))
                _collect(collector, part, blocks, job, problems)
        else:
            lines: Any = Lines(file, part.begin, part.end)
            source = lines if part.begin else WithoutByteOrderMark(lines)
            blocks = _Counted(map(to_array, complete_lines(source, part.document.name)))
            _collect(collector, part, blocks, job, problems)
    pieces, result = dictionary.collected(collector)
    pieces |= dictionary.by_hash(pieces[OWN] | pieces[dictionary.TEXTS], job)
    return pieces, result | {
        "bytes": part.end - part.begin,
        "lines": blocks.lines,
        "problems": problems.found[:10],
        "errors": sum(count for _, _, count in problems.found),
    }


def _collect(
    collector: Collector, part: Part, blocks: _Counted, job: Job, problems: _Problems
) -> None:
    try:
        batches = tokenize.read_blocks(
            part.document, iter(blocks), job.config, problems.report, part.number, job.hash_seed
        )
        for batch in batches:
            collector.add(batch)
    except _Stopped:
        pass  # the client raises the first problem of all parts
