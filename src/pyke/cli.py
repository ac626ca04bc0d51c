"""The command line: parses, calls, shows. No logic of its own."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from pyke.errors import Interrupted, PykeError
from pyke.progress import Progress
from pyke.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

    from pyke.config import Config
    from pyke.planning import Plan

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="RDF graphs → vectors, by simulated physics.",
)

# ---------------------------------------------------------------------------------------------------------------------
# Parameters that several commands share
# ---------------------------------------------------------------------------------------------------------------------

Inputs = Annotated[list[str], typer.Argument(help="RDF files, directories or globs, compressed or not; - for standard input.", show_default=False)]
Directory = Annotated[Path, typer.Argument(help="An embedding directory.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Format = Annotated[str | None, typer.Option(help="Syntax of the inputs: ntriples, nquads, turtle, trig, rdfxml, jsonld, tsv, csv. [by extension]")]
Base = Annotated[str | None, typer.Option(help="Base of relative IRIs.")]
OnError = Annotated[str, typer.Option(help="stop at a line that breaks the grammar, or skip and count it.")]
Lenient = Annotated[bool, typer.Option("--lenient", help="Accept IRIs that break RFC 3987.")]
KeepDuplicates = Annotated[bool, typer.Option("--keep-duplicates", help="Count a triple as often as it is written.")]
CountLiterals = Annotated[bool, typer.Option("--count-literals", help="Let triples with literals count for their subjects and predicates.")]
TypePredicate = Annotated[str | None, typer.Option(help="The predicate that gives types. [rdf:type]", show_default=False)]
Preset = Annotated[str, typer.Option(help="default, or paper: the paper to the letter.")]
Dimensions = Annotated[int | None, typer.Option(help="n, the length of a vector. [50]")]
K = Annotated[int | None, typer.Option("--k", help="K, springs per particle. [45]")]
Repellers = Annotated[int | None, typer.Option(help="Repelling particles per particle. [5; paper: K]")]
Similarity = Annotated[str | None, typer.Option(help="What makes springs: context or ppmi. [context]")]
MaxIterations = Annotated[int | None, typer.Option(help="T, the most iterations. [1000]")]
EnergyRelease = Annotated[float | None, typer.Option(help="Δe, the energy lost per iteration. [0.0414]")]
Threads = Annotated[int | None, typer.Option(help="Threads. Does not change the result. [all cores]")]
Memory = Annotated[str | None, typer.Option(help="Most memory to use, like 8GB. Does not change the result.")]


def _config(preset: str = "default", **parameters: Any) -> Config:
    from pyke.config import Config

    return Config.preset(preset, **parameters)


# ---------------------------------------------------------------------------------------------------------------------
# Commands
# ---------------------------------------------------------------------------------------------------------------------


@app.command()
def embed(
    inputs: Inputs,
    output: Annotated[Path, typer.Option("--output", "-o", help="The embedding directory to write.", show_default=False)],
    preset: Preset = "default",
    dimensions: Dimensions = None,
    k: K = None,
    repellers: Repellers = None,
    similarity: Similarity = None,
    mass: Annotated[str | None, typer.Option(help="Inertia: stiffness (the sum of a particle's springs) or unit. [stiffness]")] = None,
    repulsion: Annotated[str | None, typer.Option(help="radial (ω/d along the line) or elementwise (the paper's). [radial]")] = None,
    omega: Annotated[float | None, typer.Option(help="ω, the repulsive constant. [1; paper: 1.45557]")] = None,
    energy_release: EnergyRelease = None,
    max_iterations: MaxIterations = None,
    epsilon: Annotated[float | None, typer.Option(help="ε: stop when all particles together move less. [0.001]")] = None,
    stop_when_j_rises: Annotated[bool, typer.Option("--stop-when-j-rises", help="Stop when J no longer falls.")] = False,
    rescale: Annotated[bool | None, typer.Option(help="Rescale every dimension to [0, 1] after each iteration. [paper only]")] = None,
    init: Annotated[str | None, typer.Option(help="Start: normal or uniform. [normal]")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all random numbers. [0]")] = None,
    format: Format = None,  # noqa: A002
    base: Base = None,
    on_error: OnError = "stop",
    lenient: Lenient = False,
    keep_duplicates: KeepDuplicates = False,
    count_literals: CountLiterals = False,
    type_predicate: TypePredicate = None,
    threads: Threads = None,
    memory: Memory = None,
    checkpoint_seconds: Annotated[float | None, typer.Option(help="Least time between checkpoints. [30]")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an output that exists.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint of an interrupted run.")] = False,
    json_: AsJson = False,
) -> None:
    """Embed the graph in some RDF files."""
    parameters = {name: value for name, value in locals().items() if name not in ("inputs", "output", "preset", "force", "resume", "json_")}
    config = _config(preset, **parameters)
    from pyke.pipeline import embed_to

    with _Shown() as progress:
        embedding = embed_to(output, inputs, config, force=force, resume=resume, progress=progress)
    manifest = embedding.manifest
    if json_:
        _print_json({"output": str(output), **{key: value for key, value in manifest.items() if key != "history"}})
        return
    _show_census(manifest["census"])
    _show_stages(manifest)
    _out().print(f"{len(embedding):,} vectors of {config.dimensions} dimensions in [bold]{output}[/]; stopped by {_REASONS[manifest['stop_reason']]} "
                 f"after {len(manifest['history'])} iterations.", highlight=False)  # fmt: skip


_REASONS = {
    "energy": "energy: all of it was released",
    "iterations": "iterations: the most that were allowed",
    "displacement": "displacement: the particles rest",
    "objective": "objective: J no longer falls",
}


@app.command()
def info(
    inputs: Inputs,
    format: Format = None,  # noqa: A002
    base: Base = None,
    on_error: OnError = "stop",
    lenient: Lenient = False,
    keep_duplicates: KeepDuplicates = False,
    count_literals: CountLiterals = False,
    type_predicate: TypePredicate = None,
    threads: Threads = None,
    json_: AsJson = False,
) -> None:
    """Count what is in some RDF files."""
    parameters = {name: value for name, value in locals().items() if name not in ("inputs", "json_")}
    config = _config(**parameters)
    from pyke.pipeline import read_census

    with _Shown() as progress:
        census = read_census(inputs, config, progress)
    if json_:
        _print_json(census.as_dict())
    else:
        _show_census(census.as_dict())


@app.command()
def plan(
    inputs: Inputs,
    preset: Preset = "default",
    dimensions: Dimensions = None,
    k: K = None,
    repellers: Repellers = None,
    similarity: Similarity = None,
    max_iterations: MaxIterations = None,
    energy_release: EnergyRelease = None,
    format: Format = None,  # noqa: A002
    base: Base = None,
    on_error: OnError = "stop",
    lenient: Lenient = False,
    keep_duplicates: KeepDuplicates = False,
    count_literals: CountLiterals = False,
    threads: Threads = None,
    memory: Memory = None,
    json_: AsJson = False,
) -> None:
    """Tell the memory and time that embedding would take; exit code 75 if the memory allowed is too little."""
    parameters = {name: value for name, value in locals().items() if name not in ("inputs", "preset", "json_")}
    config = _config(preset, **parameters)
    from pyke.pipeline import make_plan
    from pyke.planning import check

    with _Shown() as progress:
        made = make_plan(inputs, config, progress)
    if json_:
        _print_json({**asdict(made), "peak_bytes": made.peak_bytes, "seconds": made.seconds})
    else:
        _show_plan(made)
    check(made, config)


@app.command()
def nearest(
    directory: Directory,
    term: Annotated[str, typer.Argument(help="An IRI, or a blank node as _:label.", show_default=False)],
    k: Annotated[int, typer.Option("--k", "-k", help="How many.")] = 10,
    json_: AsJson = False,
) -> None:
    """Show the terms closest to a term."""
    from pyke.embedding import load

    neighbours = load(directory).nearest(term, k)
    if json_:
        _print_json([vars(neighbour) for neighbour in neighbours])
        return
    table = _table("", "term", "distance", "label", right=(0, 2))
    for rank, neighbour in enumerate(neighbours, 1):
        table.add_row(str(rank), _inert(neighbour.term), f"{neighbour.distance:.4f}", _inert(neighbour.label or ""))
    _out().print(table)


@app.command()
def verify(directory: Directory, json_: AsJson = False) -> None:
    """Check an embedding directory: sizes, checksums, finiteness."""
    from pyke.store import verify as check

    manifest = check(directory)
    if json_:
        _print_json({"ok": True, "files": manifest["files"]})
        return
    table = _table("file", "bytes", "SHA-256", right=(1,))
    for name, entry in manifest["files"].items():
        table.add_row(name, f"{entry['bytes']:,}", entry["sha256"])
    _out().print(table)
    _out().print(f"{directory}: whole and sound.", highlight=False)


@app.callback(invoke_without_command=True)
def _top(version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


# ---------------------------------------------------------------------------------------------------------------------
# Showing
# ---------------------------------------------------------------------------------------------------------------------


def _out() -> Console:
    from rich.console import Console

    return Console(soft_wrap=True)


def _table(*columns: str, right: tuple[int, ...] = ()) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number in right else "left", overflow="fold")
    return table


def _inert(text: str) -> str:
    """Text from a graph, made safe to print: no markup, no control characters."""
    from rich.markup import escape

    return escape("".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text))


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False))


def _show_census(census: dict[str, Any]) -> None:
    table = _table("read", "", right=(1,))
    left_out = census["statements"] > census["triples"] + census["duplicates"] + census["triple_terms"]
    rows = [
        ("statements", "statements"),
        ("  counted triples |G|", "triples"),
        ("  triples with literals, left out" if left_out else "  of them with literals", "literals"),
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
    _out().print(table)
    for problem in census["first_errors"]:
        _out().print(f"skipped {_inert(problem)}", highlight=False, style="yellow")


def _show_plan(made: Plan) -> None:
    from pyke.config import format_size

    table = _table("stage", "memory", "about seconds", right=(1, 2))
    for stage in made.stages:
        table.add_row(stage.name, format_size(stage.peak_bytes), f"{stage.seconds:.1f}")
    table.add_section()
    table.add_row("whole run", format_size(made.peak_bytes), f"{made.seconds:.1f}")
    _out().print(table)
    source = "counted to the end" if made.share == 1 else f"estimated from the first {made.share:.1%}"
    _out().print(
        f"{made.sizes.triples:,} triples, {made.sizes.terms:,} terms, {made.sizes.particles:,} particles, {made.sizes.springs:,} springs; {source}."
    )


def _show_stages(manifest: dict[str, Any]) -> None:
    from pyke.config import format_size

    table = _table("stage", "seconds", "peak memory", right=(1, 2))
    for stage in manifest["stages"]:
        table.add_row(stage["name"], f"{stage['seconds']:.2f}", format_size(stage["peak_bytes"]))
    _out().print(table)


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
            self._say(f"{self._name}: {done / self._total:.0%}" if self._total else f"{self._name}: {done:,} {self._unit}")

    def iteration(self, number: int, energy: float, objective: float, displacement: float) -> None:
        """A line now and then."""
        if self._due():
            self._say(f"{self._name}: iteration {number}, energy {energy:.3f}, J {objective:.4g}, moved {displacement:.4g}")

    def note(self, message: str) -> None:
        """A line."""
        self._say(message)


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
        self.bars.console.print(message, highlight=False)


PATIENCE = 1.0  # seconds


class _Shown:
    """Shows progress and turns signals into Interrupted at the next safe point; another signal a little later ends at once."""

    def __enter__(self) -> Progress:
        self.progress = _Live() if sys.stderr.isatty() else _Plain()
        self._before = {number: signal.signal(number, self._hear) for number in (signal.SIGINT, signal.SIGTERM)}
        if isinstance(self.progress, _Live):
            self.progress.bars.start()
        from pyke import kernels

        self._told = False
        self._listener = kernels.on_compiling(self._tell)
        self._listener.__enter__()
        return self.progress

    def _tell(self) -> None:
        if not self._told:
            self._told = True
            self.progress.note("Compiling kernels, once: up to half a minute in all.")

    def _hear(self, number: int, _frame: Any) -> None:
        now = time.monotonic()
        if not self.progress.signal:
            self.progress.signal, self._heard = number, now
        elif now - self._heard > PATIENCE:  # not the same wish, sent twice
            os._exit(128 + number)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        self._listener.__exit__(None, None, None)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if isinstance(self.progress, _Live):
            if error is None:
                self.progress._finish()
            self.progress.bars.stop()


def _fail(error: PykeError) -> NoReturn:
    print(f"pyke: {''.join(c if c.isprintable() else ' ' for c in str(error))}", file=sys.stderr)  # noqa: T201
    raise SystemExit(error.exit_code)


def main() -> None:
    """Entry point: every error of ours is one line and an exit code."""
    try:
        app()
    except PykeError as error:
        _fail(error)
    except MemoryError:
        _fail(_out_of_memory())
    except BrokenPipeError:
        os._exit(141)
    except KeyboardInterrupt:
        _fail(Interrupted(signal.SIGINT))
    except Exception:
        traceback.print_exc()
        _fail(PykeError("this is a bug: please report it with the lines above"))


def _out_of_memory() -> PykeError:
    from pyke.errors import OverBudget

    return OverBudget("out of memory. `pyke plan` tells how much a graph needs; fewer --dimensions and --k need less.")
