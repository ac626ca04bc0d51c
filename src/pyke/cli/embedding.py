"""The main job: files to vectors, what they hold, what it takes, and whether the result is sound."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pyke import terminal
from pyke.cli.options import (
    AsJson,
    Base,
    ConfigFile,
    CountLiterals,
    Dimensions,
    Directory,
    EnergyRelease,
    Force,
    Format,
    Inputs,
    K,
    KeepDuplicates,
    Lenient,
    MaxIterations,
    Memory,
    OnError,
    Preset,
    Repellers,
    Seed,
    Similarity,
    Threads,
    TypePredicate,
    app,
    config_of,
)


@app.command()
def embed(
    inputs: Inputs,
    output: Annotated[Path, typer.Option("--output", "-o", help="The embedding directory to write.", show_default=False)],
    preset: Preset = "default",
    config: ConfigFile = None,
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
    seed: Seed = None,
    format: Format = None,  # noqa: A002
    base: Base = None,
    on_error: OnError = None,
    lenient: Lenient = False,
    keep_duplicates: KeepDuplicates = False,
    count_literals: CountLiterals = False,
    type_predicate: TypePredicate = None,
    threads: Threads = None,
    memory: Memory = None,
    checkpoint_seconds: Annotated[float | None, typer.Option(help="Least time between checkpoints. [30]")] = None,
    force: Force = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint of an interrupted run.")] = False,
    json_: AsJson = False,
) -> None:
    """Embed the graph in some RDF files."""
    parameters = {name: value for name, value in locals().items() if name not in ("inputs", "output", "preset", "config", "force", "resume", "json_")}
    settings = config_of(preset, config, **parameters)
    from pyke.pipeline import embed_to

    with terminal.Shown() as progress:
        embedding = embed_to(output, inputs, settings, force=force, resume=resume, progress=progress)
    manifest = embedding.manifest
    if json_:
        terminal.print_json({"output": str(output), **{key: value for key, value in manifest.items() if key != "history"}})
        return
    terminal.show_census(manifest["census"])
    terminal.show_stages(manifest)
    stopped = f"stopped by {_REASONS[manifest['stop_reason']]} after {len(manifest['history'])} iterations"
    terminal.out().print(f"{len(embedding):,} vectors of {settings.dimensions} dimensions in [bold]{output}[/]; {stopped}.", highlight=False)


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
    on_error: OnError = None,
    lenient: Lenient = False,
    keep_duplicates: KeepDuplicates = False,
    count_literals: CountLiterals = False,
    type_predicate: TypePredicate = None,
    threads: Threads = None,
    json_: AsJson = False,
) -> None:
    """Count what is in some RDF files."""
    parameters = {name: value for name, value in locals().items() if name not in ("inputs", "json_")}
    config = config_of(**parameters)
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
    config: ConfigFile = None,
    dimensions: Dimensions = None,
    k: K = None,
    repellers: Repellers = None,
    similarity: Similarity = None,
    max_iterations: MaxIterations = None,
    energy_release: EnergyRelease = None,
    format: Format = None,  # noqa: A002
    base: Base = None,
    on_error: OnError = None,
    lenient: Lenient = False,
    keep_duplicates: KeepDuplicates = False,
    count_literals: CountLiterals = False,
    threads: Threads = None,
    memory: Memory = None,
    json_: AsJson = False,
) -> None:
    """Tell the memory and time that embedding would take; exit code 75 if the memory allowed is too little."""
    parameters = {name: value for name, value in locals().items() if name not in ("inputs", "preset", "config", "json_")}
    settings = config_of(preset, config, **parameters)
    from pyke.pipeline import make_plan
    from pyke.planning import check

    with terminal.Shown() as progress:
        made = make_plan(inputs, settings, progress)
    if json_:
        terminal.print_json({**asdict(made), "peak_bytes": made.peak_bytes, "seconds": made.seconds})
    else:
        terminal.show_plan(made)
    check(made, settings)


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
