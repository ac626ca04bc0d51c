"""`pyke warm-up`: compile everything once."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from pyke.cli import terminal
from pyke.cli.app import SETUP, command


@command(SETUP, "warm-up")
def warm_up() -> None:
    """Compile everything that other commands need, once; they then start without delay."""
    began = time.perf_counter()
    with terminal.ShownProgress() as progress, tempfile.TemporaryDirectory() as folder:
        from pyke.evaluate.warm_up import compile_all

        compile_all(Path(folder), progress)
        from pyke.core.compile import CACHE_DIRECTORY
    seconds = time.perf_counter() - began
    terminal.say(f"Compiled everything in {seconds:.0f} s. The cache is {CACHE_DIRECTORY}.")
