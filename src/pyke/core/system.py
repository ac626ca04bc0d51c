"""Everything that depends on the operating system. Each Linux call has a portable fallback.

PYKE needs POSIX, so Linux or macOS. Set `PYKE_PORTABLE=1` to use the fallbacks on Linux, too; the
tests do. This module imports the standard library only: the sandbox starts with it.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import resource
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Measured with all commands on a tiny graph: 700 MB were enough for two cores.
ADDRESS_SPACE, ADDRESS_SPACE_PER_CORE = 800_000_000, 64_000_000
OUT_OF_MEMORY = 137  # exit code of a process that exceeded `limit_memory`


def is_linux() -> bool:
    """Whether to use what only Linux has."""
    return sys.platform == "linux" and os.environ.get("PYKE_PORTABLE") != "1"


# -- processors and processes -----------------------------------------------------------------


def core_count() -> int:
    """Number of cores that this process may use; without Linux, of all cores."""
    if is_linux():
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def process_exists(process: int) -> bool:
    """Whether a process with this id is running."""
    try:
        os.kill(process, 0)  # sends no signal
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it belongs to another user
        return True
    return True


# -- memory -----------------------------------------------------------------------------------


def resident_bytes() -> int:
    """Memory of this process; without Linux its peak, which is an upper bound."""
    return _status("VmRSS:") if is_linux() else peak_resident_bytes()


def peak_resident_bytes() -> int:
    """Peak memory of this process since it started."""
    if is_linux():
        return _status("VmHWM:")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _status(field: str) -> int:
    """A field of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return 1024 * int(line.split()[1])
    return 0


def release_free_memory() -> None:
    """Return memory that the allocator keeps in reserve; only the GNU C library can do this."""
    if is_linux() and (trim := _c_function("malloc_trim")):
        trim(0)


def release_pages(array: Any) -> None:
    """Forget the pages of an array that is mapped from a file; they are read again when used.

    Arrays that can be written, or are not mapped, stay as they are.
    """
    while array is not None and not isinstance(array, mmap.mmap):
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
    if array is not None and memoryview(array).readonly and is_linux():
        array.madvise(mmap.MADV_DONTNEED)


def limit_memory(limit: int) -> None:
    """Limit the memory of this process further, and write no core dump if it fails.

    On Linux an allocation above the limit fails. Elsewhere a thread ends the process soon after.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if is_linux():
        given = [n for n in resource.getrlimit(resource.RLIMIT_AS) if n != resource.RLIM_INFINITY]
        limit = min(limit, *given) if given else limit  # only root may raise a limit
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    else:
        threading.Thread(target=_exit_above, args=(limit,), daemon=True).start()


@contextmanager
def at_most_more_memory(extra: int) -> Iterator[None]:
    """In this context, allocations above what is used now and `extra` bytes fail; only on Linux."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if is_linux():
        limit = _status("VmSize:") + extra
        resource.setrlimit(
            resource.RLIMIT_AS,
            (limit if soft == resource.RLIM_INFINITY else min(limit, soft), hard),
        )
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def missing_address_space() -> tuple[int, int] | None:
    """The limit of the address space (`ulimit -v`) and what is needed, if the limit is too low.

    NumPy, Numba and their threads reserve much more than they use. Below the limit they abort or
    wait for ever instead of raising an error.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    needed = ADDRESS_SPACE + ADDRESS_SPACE_PER_CORE * core_count()
    return (limit, needed) if limit not in (resource.RLIM_INFINITY, -1) and limit < needed else None


def _exit_above(limit: int) -> None:
    # Linux counts the memory of the parent before the program was loaded as part of the peak.
    limit = max(limit, peak_resident_bytes())
    while peak_resident_bytes() <= limit:
        time.sleep(0.01)
    os._exit(OUT_OF_MEMORY)


# -- files ------------------------------------------------------------------------------------


def try_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; False if another process holds the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def reserve_space(descriptor: int, size: int) -> None:
    """Reserve disk space for an empty file; an OSError if there is too little."""
    if size and is_linux():
        os.posix_fallocate(descriptor, 0, size)
        return
    zeros = bytes(min(size, 1 << 20))
    while size > 0:
        size -= os.write(descriptor, zeros[:size])


def read_ahead_of(descriptor: int) -> None:
    """Ask the system to read a file into its cache; it may ignore this."""
    if is_linux():
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_WILLNEED)


def try_exchange(first: Path, second: Path) -> bool:
    """Swap two directories in one step; False if the system or the file system cannot do this."""
    rename = _c_function("renameat2") if is_linux() else None
    if rename is None:
        return False
    current_directory, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    paths = os.fsencode(first), os.fsencode(second)
    if rename(current_directory, paths[0], current_directory, paths[1], exchange) == 0:
        return True
    number = _c_errno()
    if number in (errno.EINVAL, errno.ENOSYS):
        return False
    raise OSError(number, os.strerror(number))


@contextmanager
def away_from(name: str) -> Iterator[None]:
    """Context manager: leave the working directory meanwhile if it has a file of this name."""
    if not os.path.lexists(name):
        yield
        return
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir("/")
        yield
    finally:
        os.fchdir(here)
        os.close(here)


# -- C library; ctypes is slow to import ------------------------------------------------------


def _c_function(name: str) -> Any | None:
    """A function of the C library, if it has it."""
    import ctypes

    return getattr(ctypes.CDLL(None, use_errno=True), name, None)


def _c_errno() -> int:
    """The error number of the last call."""
    import ctypes

    return ctypes.get_errno()
