"""How much memory the process holds, and held at most."""

from __future__ import annotations

import ctypes
import resource
from contextlib import suppress
from pathlib import Path


def _status(field: str) -> int:
    """A field of /proc/self/status, in bytes; 0 where there is none."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0


def held() -> int:
    """Resident bytes now."""
    return _status("VmRSS:")


def peak() -> int:
    """Resident bytes at most, since the start or the last forget_peak()."""
    return _status("VmHWM:") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def forget_peak() -> None:
    """Begins to watch for the peak anew, with what the allocator holds in reserve given back."""
    with suppress(OSError, AttributeError):  # a C library without it keeps its reserve
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
