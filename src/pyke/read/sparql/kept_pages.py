"""The pages of a fetch on disk, next to its output, until the download is complete.

An interrupted fetch resumes from them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyke.core import files, inputs
from pyke.core.progress import Progress
from pyke.errors import OutputExists, UsageError

BLOCK_SIZE = 1 << 20  # bytes of text to compress at once
STATE = "state.json"
# The label of a blank node that is a subject or an object
_LABEL = re.compile(rb"^_:\S+|_:[^\s\">]+(?= \.$)", re.MULTILINE)


@dataclass(frozen=True)
class Tally:
    """Counts of what was received."""

    pages: int = 0
    rows: int = 0
    triples: int = 0
    blank_nodes: int = 0
    skipped: int = 0  # invalid lines
    received: int = 0  # bytes

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            *(ours + theirs for ours, theirs in zip(astuple(self), astuple(other), strict=True))
        )


class KeptPages:
    """The pages received so far, one file each, and their tally.

    The tally is written after each page. A page that it does not count does not exist.
    """

    def __init__(
        self,
        directory: Path,
        fingerprint: str,
        resume: bool,
        force: bool,
        stable_labels: bool = False,
    ) -> None:
        self._directory, self._fingerprint = directory, fingerprint
        self._stable_labels = stable_labels  # blank nodes have the same label in every page
        # Hashes of lines that are comparable across pages
        self._lines: list[NDArray[np.int64]] = []
        # Hashes of the other lines, without their blank node labels
        self._shapes: list[NDArray[np.int64]] = []
        self.tally = Tally()
        kept = _read_state(directory / STATE)
        if kept is None:
            return
        theirs, tally = kept
        if resume and theirs != fingerprint:
            raise UsageError(
                f"the pages kept in {directory} are of another endpoint, query or graph. Use the "
                "same ones, or pass `force=True` without `resume=True` to restart."
            )
        if resume:
            self.tally = tally
            for number in range(1, tally.pages + 1):
                self._remember(self._read(number))
        elif force:
            files.remove(directory / STATE)
        else:
            raise OutputExists(
                f"{tally.pages:,} pages of an earlier fetch are kept in {directory}. "
                "Pass `resume=True` to continue from them, or `force=True` to restart."
            )

    @property
    def advice(self) -> str:
        """How to resume, for the message of an interrupted fetch."""
        pages, triples = self.tally.pages, self.tally.triples
        if not pages:
            return ""
        return (
            f"{pages:,} pages with {triples:,} triples are kept. "
            "Repeat the fetch with `resume=True` to continue from them."
        )

    def add(self, text: bytes, gained: Tally) -> None:
        """Keep a page."""
        tally = self.tally + gained
        files.write_stream(self._path(tally.pages), [text], force=True)
        state = json.dumps({"fingerprint": self._fingerprint, "tally": asdict(tally)})
        files.write_stream(self._directory / STATE, [state.encode()], force=True)
        self._remember(text)
        self.tally = tally

    def repeats(self) -> int:
        """Number of triples that an earlier page has.

        Triples with blank nodes are included only if their labels are stable.
        """
        return _count_repeats(self._lines)

    def possible_repeats(self) -> int:
        """Number of triples that differ from an earlier one only in unstable blank node labels."""
        return _count_repeats(self._shapes)

    def blocks(self, progress: Progress) -> Iterator[bytes]:
        """The text of all pages, in blocks."""
        block = bytearray()
        for number in range(1, self.tally.pages + 1):
            block += self._read(number)
            if len(block) >= BLOCK_SIZE:
                yield bytes(block)
                block.clear()
            progress.advance(number)
        if block:
            yield bytes(block)

    def _remember(self, text: bytes) -> None:
        """Add the hashes of a page's lines.

        Of 10⁸ lines two share a hash by chance about once in some thousand fetches.
        """
        lines = text.splitlines()
        if not self._stable_labels and b"_:" in text:
            shapes = _LABEL.sub(b"_:", text).splitlines()
            pairs = list(zip(lines, shapes, strict=True))
            self._shapes.append(_hashes([shape for line, shape in pairs if line != shape]))
            lines = [line for line, shape in pairs if line == shape]
        self._lines.append(_hashes(lines))

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:07}.nt.zst"

    def _read(self, number: int) -> bytes:
        with inputs.Input(str(self._path(number)), ".zst") as part:
            return b"".join(iter(part.read, b""))


def _hashes(lines: list[bytes]) -> NDArray[np.int64]:
    return np.fromiter(map(hash, lines), np.int64, len(lines))


def _count_repeats(pages: list[NDArray[np.int64]]) -> int:
    """Number of hashes that occurred before."""
    hashes = np.concatenate([*pages, np.empty(0, np.int64)])
    hashes.sort()
    return int(np.count_nonzero(hashes[1:] == hashes[:-1]))


def _read_state(path: Path) -> tuple[str, Tally] | None:
    """The kept fingerprint and tally, or None."""
    try:
        state = json.loads(path.read_bytes())
        return str(state["fingerprint"]), Tally(
            **{name: int(value) for name, value in state["tally"].items()}
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
