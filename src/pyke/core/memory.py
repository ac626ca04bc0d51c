"""Measure the peak memory of a part of the program."""

from __future__ import annotations

import threading

from pyke.core.system import peak_resident_bytes, release_free_memory, resident_bytes


class PeakMemory:
    """Context manager: `peak` is the peak memory of the process inside the block, in bytes.

    A thread samples the memory. Resetting the system's own peak would be exact, but would hide the
    peak of the process from other tools.
    """

    def __init__(self, interval: float = 0.01) -> None:
        self._interval = interval
        self.peak = 0

    def __enter__(self) -> PeakMemory:
        release_free_memory()
        self._peak_before = peak_resident_bytes()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="pyke-memory", daemon=True)
        self._thread.start()
        return self

    def _sample(self) -> None:
        while True:
            self.peak = max(self.peak, resident_bytes())
            if self._done.wait(self._interval):
                return

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        peak = peak_resident_bytes()
        rose = peak > self._peak_before  # then the system's peak is of this block
        self.peak = max(self.peak, resident_bytes(), peak if rose else 0)
