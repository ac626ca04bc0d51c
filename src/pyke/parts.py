"""The pages of a fetch, kept beside its output until all have come, so that an interrupted one can go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyke import files
from pyke.errors import OutputExists, UsageError
from pyke.progress import Progress

GATHERED = 1 << 20  # bytes of text that are compressed at once
STATE = "state.json"


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
        return Tally(*(ours + theirs for ours, theirs in zip(astuple(self), astuple(other), strict=True)))


class Parts:
    """The pages that came so far, a file each, and the tally, which is written behind each page: a page that it does not count is not there."""

    def __init__(self, directory: Path, fingerprint: str, resume: bool, force: bool) -> None:
        self._directory, self._fingerprint = directory, fingerprint
        self._hashes: list[NDArray[np.int64]] = []  # of all lines: 8 bytes each
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
            self._hashes.extend(_hashes(self._read(number)) for number in range(1, tally.pages + 1))
        elif force:
            files.remove(directory / STATE)
        else:
            raise OutputExists(f"{tally.pages:,} pages of an earlier fetch are kept in {directory}: --resume goes on from them, --force starts anew")

    @property
    def advice(self) -> str:
        """What a user can do when it has to stop."""
        pages, triples = self.tally.pages, self.tally.triples
        return f"{pages:,} pages with {triples:,} triples are kept; the same command with --resume goes on from them." if pages else ""

    def add(self, text: bytes, gained: Tally) -> None:
        """Keeps a page."""
        tally = self.tally + gained
        files.write_stream(self._path(tally.pages), [text], force=True)
        state = json.dumps({"fingerprint": self._fingerprint, "tally": asdict(tally)})
        files.write_stream(self._directory / STATE, [state.encode()], force=True)
        self._hashes.append(_hashes(text))
        self.tally = tally

    def repeats(self) -> int:
        """How many triples came with an earlier page already. Blank nodes are others in each page."""
        hashes = np.concatenate([*self._hashes, np.empty(0, np.int64)])
        hashes.sort()
        return int(np.count_nonzero(hashes[1:] == hashes[:-1]))

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

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:07}.nt.zst"

    def _read(self, number: int) -> bytes:
        with files.Input(str(self._path(number)), ".zst") as part:
            return b"".join(iter(part.read, b""))


def _hashes(text: bytes) -> NDArray[np.int64]:
    """A hash of each line. Two of 10⁸ lines have the same by chance once in some thousand fetches."""
    return np.fromiter(map(hash, text.splitlines()), np.int64)


def _read_state(path: Path) -> tuple[str, Tally] | None:
    """The fingerprint and the tally that were kept, if there are any."""
    try:
        state = json.loads(path.read_bytes())
        return str(state["fingerprint"]), Tally(**{name: int(value) for name, value in state["tally"].items()})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
