"""What people see: text, tables and JSON on standard output, progress on standard error.

Signals are handled here too: they stop a run at its next safe point.
"""

from __future__ import annotations

import os
import signal
import sys
import textwrap
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pyke.cli.messages import as_options
from pyke.cli.streams import echo
from pyke.cli.tables import is_terminal, print_table, width
from pyke.core.progress import Progress, compiling
from pyke.core.text import json_text, printable
from pyke.errors import Interrupted

if TYPE_CHECKING:
    from pyke.use.reports import Table

COMPILING = (
    "Compiling this step for the first time. "
    "`pyke warm-up` compiles all steps at once, in about a minute."
)
PATIENCE = 1.0  # seconds after which a second signal ends the process at once


def say(text: str, **style: Any) -> None:
    """Print a paragraph, on a terminal wrapped at spaces; `style` is that of typer.style."""
    columns = width() - 1 if is_terminal() else sys.maxsize
    for line in printable_lines(text):
        parts = textwrap.wrap(line, columns, break_long_words=False, break_on_hyphens=False)
        for part in parts or [""]:
            echo(part, **style)


def printable_lines(text: str) -> list[str]:
    """Lines of a text without control characters."""
    return [printable(line) for line in text.split("\n")]


def print_json(value: Any) -> None:
    """Print JSON for programs."""
    is_unicode = sys.stdout.encoding.lower().startswith("utf")
    echo(json_text(value, indent=1, ascii_only=not is_unicode))


def show_skipped(problems: Iterable[str]) -> None:
    """Print the lines that were skipped, and why."""
    lines = [f"skipped {problem}" for problem in problems]
    for line in [*lines, ""] if lines else []:
        say(line, fg="yellow")


def show_tables(tables: Sequence[Table]) -> None:
    """Print tables of scores, the best in bold, each with its note."""
    for table in tables:
        numbers = range(1, len(table.columns))
        print_table(table.columns, table.rows, right=numbers, bold=table.best, title=table.title)
        if table.note:
            say(f"{table.note}\n", dim=True)


class _PlainLines(Progress):
    """Progress as plain lines, at most one every few seconds."""

    interval = 5.0

    def __init__(self) -> None:
        self.signal = 0
        self._name, self._total, self._unit, self._done = "", 0, "", 0
        self._last = 0.0

    def _is_due(self) -> bool:
        if self.signal:
            raise Interrupted(self.signal)
        now = time.monotonic()
        if now - self._last < self.interval:
            return False
        self._last = now
        return True

    def _forward(self, done: int) -> int:
        """The work done so far; it never goes back within a stage."""
        self._done = max(self._done, done)
        return min(self._done, self._total) if self._total else self._done

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Print the name of the stage."""
        self._is_due()
        self._name, self._total, self._unit, self._done = name, total or 0, unit, 0
        self._last = time.monotonic()
        _print_line(f"{name} …")

    def advance(self, done: int) -> None:
        """Print the part that is done, now and then."""
        done = self._forward(done)
        if self._is_due():
            part = f"{done / self._total:.0%}" if self._total else f"{done:,} {self._unit}"
            _print_line(f"{self._name}: {part}")

    def iteration(self, number: int, energy: float, objective: float, displacement: float) -> None:
        """Print the iteration, now and then."""
        if self._is_due():
            state = f"energy {energy:.3f}, J {objective:.4g}, displacement {displacement:.4g}"
            _print_line(f"{self._name}: iteration {number}, {state}")

    def note(self, message: str) -> None:
        """Print a message."""
        for line in printable_lines(as_options(message)):
            _print_line(line)


def _print_line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


class _Bars(_PlainLines):
    """Progress as bars, for people at a terminal."""

    interval = 0.1

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        columns = (
            TextColumn("{task.description:>11}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[more]}", markup=False),
        )
        self.bars = Bars(*columns, console=Console(stderr=True))
        self._task: Any = None

    def finish(self) -> None:
        """Fill the bar of the current stage."""
        if self._task is not None:
            total = self.bars.tasks[-1].total or 1
            self.bars.update(self._task, total=total, completed=total)

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Start a new bar."""
        self._is_due()
        self.finish()
        self._name, self._total, self._unit, self._done = name, total or 0, unit, 0
        self._task = self.bars.add_task(name, total=total, more="")

    def advance(self, done: int) -> None:
        """Move the bar."""
        done = self._forward(done)
        if self._is_due():
            self.bars.update(self._task, completed=done)

    def iteration(self, number: int, energy: float, objective: float, displacement: float) -> None:
        """Move the bar."""
        more = f"energy {energy:.3f}  J {objective:+.3g}  displacement {displacement:.3g}"
        self.bars.update(self._task, completed=number, more=more)
        self._is_due()

    def note(self, message: str) -> None:
        """Print a message above the bars."""
        lines = "\n".join(printable_lines(as_options(message)))
        self.bars.console.print(lines, highlight=False, markup=False)


class ShownProgress:
    """Shows progress, and turns signals into Interrupted at the next safe point.

    A second signal after a moment ends the process at once.
    """

    def __enter__(self) -> Progress:
        self.progress = _Bars() if sys.stderr.isatty() else _PlainLines()
        signals = (signal.SIGINT, signal.SIGTERM)
        self._previous = {number: signal.signal(number, self._on_signal) for number in signals}
        if isinstance(self.progress, _Bars):
            self.progress.bars.start()
        self._announced = False
        compiling.append(self._announce)
        return self.progress

    def _announce(self) -> None:
        if not self._announced:
            self._announced = True
            self.progress.note(COMPILING)

    def _on_signal(self, number: int, _frame: Any) -> None:
        now = time.monotonic()
        if not self.progress.signal:
            self.progress.signal, self._first_signal = number, now
        elif now - self._first_signal > PATIENCE:  # not one signal that was sent twice
            os._exit(128 + number)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        compiling.remove(self._announce)
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        if isinstance(self.progress, _Bars):
            if error is None:
                self.progress.finish()
            self.progress.bars.stop()
