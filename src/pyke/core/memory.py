"""How much memory the process holds, now and at most."""

from __future__ import annotations

import ctypes
import threading
from contextlib import suppress
from pathlib import Path


def _status(field: str) -> int:
    """A field of /proc/self/status, in bytes; 0 where there is none."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0


def resident_bytes() -> int:
    """Resident bytes now."""
    return _status("VmRSS:")


def peak_resident_bytes() -> int:
    """The most resident bytes since the process began."""
    return _status("VmHWM:")


class PeakMemory:
    """Sees the most that is held while it is open. Sampled: resetting the system's own mark would hide the peak from other tools."""

    def __init__(self, every: float = 0.01) -> None:
        self._every = every
        self.peak = 0

    def __enter__(self) -> PeakMemory:
        with suppress(
            OSError, AttributeError
        ):  # a C library without it keeps what it holds in reserve
            ctypes.CDLL(None).malloc_trim(0)
        self._mark = _status("VmHWM:")
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, name="pyke-memory", daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        while True:
            self.peak = max(self.peak, resident_bytes())
            if self._done.wait(self._every):
                return

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        mark = _status("VmHWM:")
        self.peak = max(self.peak, resident_bytes(), mark if mark > self._mark else 0)
