"""`pyke warm-up`: compile everything once."""

from __future__ import annotations

import time

from pyke.cli import terminal


def warm_up() -> None:
    """Compile everything that other commands need, once; they then start without delay."""
    began = time.perf_counter()
    with terminal.ShownProgress() as progress:
        from pyke.core.compile import CACHE_DIRECTORY
        from pyke.core.files import temporary_directory
        from pyke.evaluate.warm_up import compile_all

        with temporary_directory() as folder:
            compile_all(folder, progress)
    seconds = time.perf_counter() - began
    terminal.say(f"Compiled everything in {seconds:.0f} s. The cache is {CACHE_DIRECTORY}.")
