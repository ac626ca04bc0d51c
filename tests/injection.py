"""Make calls of `core/files.py` fail, as on a full disk."""

from __future__ import annotations

import ctypes
import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyke.core import files, system

CALLS = ("open", "fsync", "rename", "replace")


def raising(number: int) -> Any:
    raise OSError(number, os.strerror(number))


class Faults:
    """Counts the calls that can fail on a full disk, and makes the n-th one fail.

    With `always`, all calls after it fail, too.
    """

    def __init__(self, at: int, number: int = errno.ENOSPC, always: bool = False) -> None:
        self.at, self.number, self.always = at, number, always
        self.calls, self.failed = 0, ""

    def _fails(self, name: str) -> bool:
        """Count a call; whether it fails."""
        self.calls += 1
        if self.calls == self.at or (self.always and self.calls > self.at > 0):
            self.failed = self.failed or name
            return True
        return False

    def watch(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **named: Any) -> Any:
            if self._fails(name):
                raising(self.number)
            return call(*arguments, **named)

        return watched

    def open(self, path: Any, mode: str = "r", **named: Any) -> Any:
        """open() that returns a file with a watched write()."""
        file = self.watch("open", io.open)(path, mode, **named)
        return Watched(self, file) if "w" in mode else file

    def exchange(self, *arguments: Any) -> int:
        """renameat2(), which reports errors through errno."""
        if self._fails("exchange"):
            ctypes.set_errno(self.number)
            return -1
        return int(ctypes.CDLL(None, use_errno=True).renameat2(*arguments))


class Watched:
    """A file with a watched write()."""

    def __init__(self, faults: Faults, file: Any) -> None:
        self._file = file
        self.write = faults.watch("write", file.write)
        self.fileno = file.fileno

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class Module:
    """A module with some functions replaced, for one importer only; cleaning up is not affected."""

    def __init__(self, module: Any, **replaced: Any) -> None:
        self._module = module
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def inject(faults: Faults, work: Callable[[], object]) -> None:
    """Run a function with injected faults."""
    c_function = system._c_function

    def injected(name: str) -> Any:
        return faults.exchange if name == "renameat2" else c_function(name)

    calls = {name: faults.watch(name, getattr(os, name)) for name in CALLS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "os", Module(os, **calls))
        patch.setattr(files, "open", faults.open, raising=False)
        patch.setattr(system, "_c_function", injected)
        patch.setattr(Path, "mkdir", faults.watch("mkdir", Path.mkdir))
        work()
