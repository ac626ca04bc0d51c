"""The command line: parses, calls, shows. No logic of its own."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from pyke import terminal
from pyke.errors import Interrupted, PykeError
from pyke.version import __version__

if TYPE_CHECKING:
    from pyke.config import Config

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

    with terminal.Shown() as progress:
        embedding = embed_to(output, inputs, config, force=force, resume=resume, progress=progress)
    manifest = embedding.manifest
    if json_:
        terminal.print_json({"output": str(output), **{key: value for key, value in manifest.items() if key != "history"}})
        return
    terminal.show_census(manifest["census"])
    terminal.show_stages(manifest)
    stopped = f"stopped by {_REASONS[manifest['stop_reason']]} after {len(manifest['history'])} iterations"
    terminal.out().print(f"{len(embedding):,} vectors of {config.dimensions} dimensions in [bold]{output}[/]; {stopped}.", highlight=False)


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

    with terminal.Shown() as progress:
        census = read_census(inputs, config, progress)
    if json_:
        terminal.print_json(census.as_dict())
    else:
        terminal.show_census(census.as_dict())


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

    with terminal.Shown() as progress:
        made = make_plan(inputs, config, progress)
    if json_:
        terminal.print_json({**asdict(made), "peak_bytes": made.peak_bytes, "seconds": made.seconds})
    else:
        terminal.show_plan(made)
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
        terminal.print_json([vars(neighbour) for neighbour in neighbours])
        return
    table = terminal.new_table("", "term", "distance", "label", right=(0, 2))
    for rank, neighbour in enumerate(neighbours, 1):
        table.add_row(str(rank), terminal.inert(neighbour.term), f"{neighbour.distance:.4f}", terminal.inert(neighbour.label or ""))
    terminal.out().print(table)


@app.command()
def verify(directory: Directory, json_: AsJson = False) -> None:
    """Check an embedding directory: sizes, checksums, finiteness."""
    from pyke.store import verify as check

    manifest = check(directory)
    if json_:
        terminal.print_json({"ok": True, "files": manifest["files"]})
        return
    table = terminal.new_table("file", "bytes", "SHA-256", right=(1,))
    for name, entry in manifest["files"].items():
        table.add_row(name, f"{entry['bytes']:,}", entry["sha256"])
    terminal.out().print(table)
    terminal.out().print(f"{directory}: whole and sound.", highlight=False)


@app.callback(invoke_without_command=True)
def _top(version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


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
