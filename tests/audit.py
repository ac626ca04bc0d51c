"""Watch who changes files and who uses the network.

Within the package, only `core/files.py` may write. Only `pyke fetch`, the export to PostgreSQL,
`pyke serve` and runs on a cluster may use the network.

An audit hook sees every call that opens a file for writing, or renames, removes or creates one, and
every call that looks up a name, connects or listens, however the call was made. The call stack
decides: the innermost frame of the package must be in one of the modules that may do so. Child
processes and libraries in other languages are not watched; `faults/test_network.py` watches their
connections.

This module is a plugin of pytest: a test fails if the package wrote or connected from elsewhere
while it ran, even if the package suppressed the exception.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

TESTS = str(Path(__file__).parent) + os.sep
PACKAGE = str(Path(__file__).parent.parent / "src" / "pyke") + os.sep

# compile.py creates the directory of the compile cache.
MAY_WRITE = (
    PACKAGE + os.path.join("core", "files.py"),
    PACKAGE + os.path.join("core", "scratch.py"),
    PACKAGE + os.path.join("core", "compile.py"),
)

MAY_CONNECT = (
    PACKAGE + os.path.join("read", "sparql") + os.sep,
    PACKAGE + os.path.join("use", "export", "postgres.py"),
    PACKAGE + os.path.join("use", "serve", "run.py"),
    PACKAGE + os.path.join("pipeline", "distributed", "cluster.py"),
)

# What libraries write on their own: Python and Numba their caches, PyKEEN a directory that it
# creates before each training, and Dask the certificate of a local cluster for the moment in which
# Python reads it, as Python reads certificates from files only.
LIBRARIES = (
    "<frozen importlib._bootstrap_external>",
    os.path.join("numba", "core", "caching.py"),
    os.path.join("distributed", "security.py"),
    os.path.join("pykeen", "training", "training_loop.py"),
)

WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
EVENTS = {
    "os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink",
    "os.truncate", "os.utime", "shutil.chown", "shutil.copyfile", "shutil.copymode",
    "shutil.copystat", "shutil.copytree", "shutil.make_archive", "shutil.move", "shutil.rmtree",
    "shutil.unpack_archive", "sqlite3.connect", "tempfile.mkdtemp", "tempfile.mkstemp",
}  # fmt: skip

NETWORK = {
    "ftplib.connect", "http.client.connect", "socket.bind", "socket.connect",
    "socket.getaddrinfo", "socket.gethostbyaddr", "socket.gethostbyname", "socket.getnameinfo",
    "socket.sendmsg", "socket.sendto", "urllib.Request", "webbrowser.open",
}  # fmt: skip

_violations: list[str] = []


def pytest_configure() -> None:
    sys.addaudithook(_hook)


def _checked() -> Generator[None, None, None]:
    try:
        yield
    finally:
        found = violations()
        if found:
            rule = "Only core/files.py may write; only fetch, postgres, serve and clusters connect:"
            pytest.fail("\n".join([rule, *found]), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, None, None]:
    yield from _checked()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    yield from _checked()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, None, None]:
    yield from _checked()


def violations() -> list[str]:
    """Return the violations since the last call."""
    found = _violations.copy()
    _violations.clear()
    return found


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        path, _, flags = arguments
        is_open_already = isinstance(path, int)
        if not flags & WRITING_FLAGS or is_open_already or path == os.devnull:
            return
    elif event not in EVENTS and event not in NETWORK:
        return
    elif event in ("socket.bind", "socket.connect") and isinstance(arguments[1], str | bytes):
        return  # within this machine
    allowed = MAY_CONNECT if event in NETWORK else MAY_WRITE
    caller = _innermost(sys._getframe(1), allowed)
    if caller:
        _violations.append(f"{caller} calls {event}{arguments}")


def _innermost(frame: FrameType | None, allowed: tuple[str, ...]) -> str:
    """Return file and line of the innermost frame of the package if it is not allowed to."""
    while frame:
        name = frame.f_code.co_filename
        if name.startswith(TESTS) or name.endswith(LIBRARIES) or name.startswith(allowed):
            return ""
        if name.startswith(PACKAGE):
            return f"{name.removeprefix(PACKAGE)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
