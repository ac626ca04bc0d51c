"""The pages of a fetch, kept beside its output until all have come, so that an interrupted one can go on."""

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

GATHERED = 1 << 20  # bytes of text that are compressed at once
STATE = "state.json"
_LABEL = re.compile(
    rb"^_:\S+|_:[^\s\">]+(?= \.$)", re.MULTILINE
)  # of a blank node that is a subject or an object


@dataclass(frozen=True)
class Tally:
    """What has come."""

    pages: int = 0
    rows: int = 0
    triples: int = 0
    blank_nodes: int = 0
    skipped: int = 0  # lines that broke the grammar
    received: int = 0  # bytes

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            *(ours + theirs for ours, theirs in zip(astuple(self), astuple(other), strict=True))
        )


class Parts:
    """The pages that came so far, a file each, and the tally, which is written behind each page: a page that it does not count is not there."""

    def __init__(
        self,
        directory: Path,
        fingerprint: str,
        resume: bool,
        force: bool,
        labels_hold: bool = False,
    ) -> None:
        self._directory, self._fingerprint, self._labels_hold = directory, fingerprint, labels_hold
        self._lines: list[NDArray[np.int64]] = []  # hashes of lines that say the same in each page
        self._shapes: list[
            NDArray[np.int64]
        ] = []  # and of the others, without their labels; 8 bytes for each line
        self.tally = Tally()
        kept = _read_state(directory / STATE)
        if kept is None:
            return
        theirs, tally = kept
        if resume and theirs != fingerprint:
            raise UsageError(f"the pages kept in {directory} are of another endpoint, query or graph. "
                             "Give the same ones, or say --force without --resume to start anew.")  # fmt: skip
        if resume:
            self.tally = tally
            for number in range(1, tally.pages + 1):
                self._remember(self._read(number))
        elif force:
            files.remove(directory / STATE)
        else:
            raise OutputExists(
                f"{tally.pages:,} pages of an earlier fetch are kept in {directory}: --resume goes on from them, --force starts anew"
            )

    @property
    def advice(self) -> str:
        """What a user can do when it has to stop."""
        pages, triples = self.tally.pages, self.tally.triples
        return (
            f"{pages:,} pages with {triples:,} triples are kept; the same command with --resume goes on from them."
            if pages
            else ""
        )

    def add(self, text: bytes, gained: Tally) -> None:
        """Keeps a page."""
        tally = self.tally + gained
        files.write_stream(self._path(tally.pages), [text], force=True)
        state = json.dumps({"fingerprint": self._fingerprint, "tally": asdict(tally)})
        files.write_stream(self._directory / STATE, [state.encode()], force=True)
        self._remember(text)
        self.tally = tally

    def repeats(self) -> int:
        """How many triples came with an earlier page already. Those with blank nodes are not among them, unless labels hold."""
        return _equal(self._lines)

    def alike(self) -> int:
        """How many triples differ from an earlier one in blank nodes only, whose labels do not hold: they may be the same or not."""
        return _equal(self._shapes)

    def blocks(self, progress: Progress) -> Iterator[bytes]:
        """All pages, one behind the other."""
        gathered = bytearray()
        for number in range(1, self.tally.pages + 1):
            gathered += self._read(number)
            if len(gathered) >= GATHERED:
                yield bytes(gathered)
                gathered.clear()
            progress.advance(number)
        if gathered:
            yield bytes(gathered)

    def _remember(self, text: bytes) -> None:
        """Two of 10⁸ lines have the same hash by chance once in some thousand fetches."""
        lines = text.splitlines()
        if not self._labels_hold and b"_:" in text:
            shapes = _LABEL.sub(b"_:", text).splitlines()
            self._shapes.append(
                _hashes([shape for line, shape in zip(lines, shapes, strict=True) if line != shape])
            )
            lines = [line for line, shape in zip(lines, shapes, strict=True) if line == shape]
        self._lines.append(_hashes(lines))

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:07}.nt.zst"

    def _read(self, number: int) -> bytes:
        with inputs.Input(str(self._path(number)), ".zst") as part:
            return b"".join(iter(part.read, b""))


def _hashes(lines: list[bytes]) -> NDArray[np.int64]:
    return np.fromiter(map(hash, lines), np.int64, len(lines))


def _equal(pages: list[NDArray[np.int64]]) -> int:
    """How many hashes have come before."""
    hashes = np.concatenate([*pages, np.empty(0, np.int64)])
    hashes.sort()
    return int(np.count_nonzero(hashes[1:] == hashes[:-1]))


def _read_state(path: Path) -> tuple[str, Tally] | None:
    """The fingerprint and the tally that were kept, if there are any."""
    try:
        state = json.loads(path.read_bytes())
        return str(state["fingerprint"]), Tally(
            **{name: int(value) for name, value in state["tally"].items()}
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
