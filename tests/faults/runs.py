"""Run the command line in processes that start fast, to stop them at any moment.

A server imports the package and loads its kernels once; each run is a fork of it.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import sys
from collections.abc import Callable
from functools import cache
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from pyke import cli
from pyke.config import parse_size
from pyke.pipeline import spilled, spilling
from pyke.read import lines
from pyke.simulation.layouts import LAYOUTS

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["faults.warm", "faults.runs"])


@cache
def _start_server() -> None:
    """Start the server; Python 3.11 does not pass the import path to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        forkserver.ensure_running()


def start(*arguments: str | Path, errors: Path | None = None) -> BaseProcess:
    """Start a command; its messages go to a file or nowhere."""
    return call(_main, [*map(str, arguments)], errors)


def call(function: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Start a function in a process of its own."""
    _start_server()
    process = _context.Process(target=function, args=arguments)
    with pytest.MonkeyPatch.context() as patch:  # the process would import pytest again
        patch.setattr(sys.modules["__main__"], "__spec__", None)
        patch.delattr(sys.modules["__main__"], "__file__", raising=False)
        process.start()
    return process


def run(*arguments: str | Path, errors: Path | None = None) -> int | None:
    """Run a command to its end; return its exit code."""
    process = start(*arguments, errors=errors)
    process.join()
    return process.exitcode


def _main(arguments: list[str], errors: Path | None) -> None:
    shown = os.open(errors or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(shown, 1)
    os.dup2(shown, 2)
    sys.argv = ["pyke", *arguments]
    cli.main()


def start_on_disk(*arguments: str | Path) -> BaseProcess:
    """Start a command with --memory whose dictionary, triples and springs are on disk."""
    return call(_main_on_disk, [*map(str, arguments)])


def _main_on_disk(arguments: list[str]) -> None:
    limit = parse_size(arguments[arguments.index("--memory") + 1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spilling, "is_spilled", lambda *_: True)
        patch.setattr(spilling, "part_bytes", lambda sizes, _: 1 + limit * sizes.links // 400)
        patch.setattr(spilling, "partitions_for", lambda *_: 3)
        patch.setattr(spilling, "layout_of", lambda *_: LAYOUTS[-1])
        patch.setattr(spilled, "SMALLER", 10)  # a block is a large fraction of a part
        patch.setattr(lines, "BLOCK_SIZE", 1 << 14)
        _main(arguments, None)


def content(directory: Path) -> str:
    """Hash of the vectors in a directory; no text if it does not exist."""
    if not directory.exists():
        return ""
    return hashlib.sha256((directory / "vectors.npy").read_bytes()).hexdigest()


def hidden(directory: Path) -> list[str]:
    """Files that a run has left beside its output."""
    return sorted(path.name for path in directory.iterdir() if path.name.startswith("."))
