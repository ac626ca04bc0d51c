"""Tests of faults. A short form runs with all tests; `make faults` runs the long form.

The random choices depend on a seed, which the summary prints: `make faults SEED=7` repeats a run.
`make faults SHARE=0.1` repeats a tenth as often as the long form.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

SHARE = float(os.environ.get("PYKE_FAULTS") or 0)  # of the long form; 0 is the short form
LONG = SHARE > 0
SEED = os.environ.get("PYKE_SEED", "0")

Figure = Callable[[str, str], None]


def times(short: int, long: int) -> int:
    """How often to repeat, or the size of a step: in the short form, and in the long one."""
    if not LONG:
        return short
    return long if long < short else max(short, round(long * SHARE))


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers of this test."""
    return random.Random(f"{SEED} {request.node.name}")


@contextmanager
def memory_folder(otherwise: Path) -> Iterator[Path]:
    """A directory in memory where possible, as a small run mostly waits for the disk."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else otherwise) as path:
        yield Path(path)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A directory as `memory_folder`."""
    with memory_folder(tmp_path) as path:
        yield path


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Figure:
    """Publish a figure for a row of the table in docs/reliability.md."""
    return record_property


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    figures = sorted(
        entry
        for report in terminalreporter.getreports("passed")
        for entry in report.user_properties
    )
    if figures:
        terminalreporter.section(f"figures, seed {SEED}")
        for row, text in figures:
            terminalreporter.line(f"{row:4} {text}")
