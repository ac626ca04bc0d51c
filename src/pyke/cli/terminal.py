"""How things look on a terminal: progress, tables, and text from graphs made harmless. Signals are heard here, too."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pyke.core.progress import Progress, compiling
from pyke.errors import Interrupted

if TYPE_CHECKING:
    from rich.console import Console

    from pyke.pipeline.plan import Plan
    from pyke.use.reports import Table


WIDE = 10_000  # columns: tables are as wide as what is in them


def out() -> Console:
    """Standard output, for people; in a file or a pipe no line is folded, so that terms can be found and copied."""
    from rich.console import Console

    folds = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(soft_wrap=True, width=None if folds else WIDE)


def new_table(*columns: str, right: tuple[int, ...] = ()) -> Any:
    """A table with these columns, those in `right` aligned to the right."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number in right else "left", overflow="fold")
    return table


def inert(text: str) -> str:
    """Text from a graph, made safe to print: no markup, no control characters."""
    from rich.markup import escape

    return escape(printable(text))


def printable(text: str) -> str:
    """Text without control characters."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def print_json(value: Any) -> None:
    """For programs."""
    print(json.dumps(value, indent=1, ensure_ascii=False))  # noqa: T201


def show_skipped(problems: Iterable[str]) -> None:
    """What could not be read, and where."""
    for problem in problems:
        out().print(f"skipped {inert(problem)}", highlight=False, style="yellow")


def show_census(census: dict[str, Any]) -> None:
    """What was read, and what became of it."""
    table = new_table("read", "", right=(1,))
    left_out = (
        census["statements"] > census["triples"] + census["duplicates"] + census["triple_terms"]
    )
    rows = [
        ("statements", "statements"),
        ("  counted triples |G|", "triples"),
        (
            "  triples with literals, left out" if left_out else "  of them with literals",
            "literals",
        ),
        ("  repeated triples", "duplicates"),
        ("  triples about triples, left out", "triple_terms"),
        ("errors, skipped", "errors"),
        ("files without an extension of RDF, passed over", "files_passed_over"),
        ("terms |V|", "terms"),
        ("  of them blank nodes", "blank_nodes"),
        ("  of them predicates", "predicates"),
        ("terms only beside literals, left out", "terms_only_with_literals"),
        ("typed subjects |S|", "typed_subjects"),
        ("classes |C|", "classes"),
    ]
    for title, key in rows:
        if census[key] or (title[0] != " " and key != "files_passed_over"):
            table.add_row(title, f"{census[key]:,}")
    out().print(table)
    show_skipped(census["first_errors"])


def show_plan(made: Plan) -> None:
    """Memory and time of each stage to come."""
    from pyke.config import format_size

    table = new_table("stage", "memory", "about seconds", right=(1, 2))
    for stage in made.stages:
        table.add_row(stage.name, format_size(stage.peak_bytes), f"{stage.seconds:.1f}")
    table.add_section()
    table.add_row("whole run", format_size(made.peak_bytes), f"{made.seconds:.1f}")
    out().print(table)
    source = (
        "counted to the end" if made.share == 1 else f"estimated from the first {made.share:.1%}"
    )
    out().print(
        f"{made.sizes.triples:,} triples, {made.sizes.terms:,} terms, {made.sizes.particles:,} particles, {made.sizes.springs:,} springs; {source}."
    )


def show_tables(tables: Sequence[Table]) -> None:
    """Tables of scores, the best in bold, each with its note."""
    for table in tables:
        shown = new_table(*table.columns, right=tuple(range(1, len(table.columns))))
        shown.title, shown.title_justify = inert(table.title), "left"
        for r, row in enumerate(table.rows):
            shown.add_row(
                *(
                    f"[bold]{inert(cell)}[/]" if (r, c) in table.best else inert(cell)
                    for c, cell in enumerate(row)
                )
            )
        out().print(shown)
        if table.note:
            out().print(f"{inert(table.note)}\n", highlight=False, style="dim")


def show_stages(manifest: dict[str, Any]) -> None:
    """Memory and time that each stage took."""
    from pyke.config import format_size

    table = new_table("stage", "seconds", "peak memory", right=(1, 2))
    for stage in manifest["stages"]:
        table.add_row(stage["name"], f"{stage['seconds']:.2f}", format_size(stage["peak_bytes"]))
    out().print(table)


class _Plain(Progress):
    """Progress as plain lines, at most one every few seconds; also hears signals."""

    every = 5.0

    def __init__(self) -> None:
        self.signal = 0
        self._name, self._total, self._unit = "", 0, ""
        self._last = 0.0

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)  # noqa: T201

    def _due(self) -> bool:
        if self.signal:
            raise Interrupted(self.signal)
        now = time.monotonic()
        if now - self._last < self.every:
            return False
        self._last = now
        return True

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """One line per stage."""
        self._due()
        self._name, self._total, self._unit = name, total or 0, unit
        self._last = time.monotonic()
        self._say(f"{name} …")

    def advance(self, done: int) -> None:
        """A line now and then."""
        if self._due():
            self._say(
                f"{self._name}: {done / self._total:.0%}"
                if self._total
                else f"{self._name}: {done:,} {self._unit}"
            )

    def iteration(self, number: int, energy: float, objective: float, displacement: float) -> None:
        """A line now and then."""
        if self._due():
            self._say(
                f"{self._name}: iteration {number}, energy {energy:.3f}, J {objective:.4g}, moved {displacement:.4g}"
            )

    def note(self, message: str) -> None:
        """A line."""
        self._say(printable(message))


class _Live(_Plain):
    """Progress as a bar, for people at a terminal."""

    every = 0.1

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        columns = (
            TextColumn("{task.description:>11}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[more]}"),
        )
        self.bars = Bars(*columns, console=Console(stderr=True))
        self._task: Any = None

    def _finish(self) -> None:
        if self._task is not None:
            total = self.bars.tasks[-1].total or 1
            self.bars.update(self._task, total=total, completed=total)

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:  # noqa: ARG002
        """A new bar."""
        self._due()
        self._finish()
        self._task = self.bars.add_task(name, total=total, more="")

    def advance(self, done: int) -> None:
        """Moves the bar."""
        if self._due():
            self.bars.update(self._task, completed=done)

    def iteration(self, number: int, energy: float, objective: float, displacement: float) -> None:
        """Moves the bar."""
        more = f"energy {energy:.3f}  J {objective:+.3g}  moved {displacement:.3g}"
        self.bars.update(self._task, completed=number, more=more)
        self._due()

    def note(self, message: str) -> None:
        """A line above the bars."""
        self.bars.console.print(inert(message), highlight=False)


PATIENCE = 1.0  # seconds


class Shown:
    """Shows progress and turns signals into Interrupted at the next safe point; another signal a little later ends at once."""

    def __enter__(self) -> Progress:
        self.progress = _Live() if sys.stderr.isatty() else _Plain()
        self._before = {
            number: signal.signal(number, self._hear) for number in (signal.SIGINT, signal.SIGTERM)
        }
        if isinstance(self.progress, _Live):
            self.progress.bars.start()
        self._told = False
        compiling.append(self._tell)
        return self.progress

    def _tell(self) -> None:
        if not self._told:
            self._told = True
            self.progress.note("Compiling, once: half a minute.")

    def _hear(self, number: int, _frame: Any) -> None:
        now = time.monotonic()
        if not self.progress.signal:
            self.progress.signal, self._heard = number, now
        elif now - self._heard > PATIENCE:  # not the same wish, sent twice
            os._exit(128 + number)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: Any
    ) -> None:
        compiling.remove(self._tell)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if isinstance(self.progress, _Live):
            if error is None:
                self.progress._finish()
            self.progress.bars.stop()
