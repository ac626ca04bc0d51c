"""`pyke embed`: RDF files to an embedding directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyke.cli import terminal
from pyke.cli.options import (
    AsJson,
    Base,
    ConfigFile,
    CountLiterals,
    Dimensions,
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
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The embedding directory to write.", show_default=False
        ),
    ],
    preset: Preset = "default",
    config: ConfigFile = None,
    dimensions: Dimensions = None,
    k: K = None,
    repellers: Repellers = None,
    similarity: Similarity = None,
    mass: Annotated[
        str | None,
        typer.Option(
            help="Inertia: stiffness (the sum of a particle's springs) or unit. [stiffness]"
        ),
    ] = None,
    repulsion: Annotated[
        str | None,
        typer.Option(help="radial (ω/d along the line) or elementwise (the paper's). [radial]"),
    ] = None,
    omega: Annotated[
        float | None, typer.Option(help="ω, the repulsive constant. [1; paper: 1.45557]")
    ] = None,
    energy_release: EnergyRelease = None,
    max_iterations: MaxIterations = None,
    epsilon: Annotated[
        float | None, typer.Option(help="ε: stop when all particles together move less. [0.001]")
    ] = None,
    stop_when_j_rises: Annotated[
        bool, typer.Option("--stop-when-j-rises", help="Stop when J no longer falls.")
    ] = False,
    rescale: Annotated[
        bool | None,
        typer.Option(help="Rescale every dimension to [0, 1] after each iteration. [paper only]"),
    ] = None,
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
    checkpoint_seconds: Annotated[
        float | None, typer.Option(help="Least time between checkpoints. [30]")
    ] = None,
    force: Force = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint of an interrupted run.")
    ] = False,
    json_: AsJson = False,
) -> None:
    """Embed the graph in some RDF files."""
    parameters = {
        name: value
        for name, value in locals().items()
        if name not in ("inputs", "output", "preset", "config", "force", "resume", "json_")
    }
    settings = config_of(preset, config, **parameters)
    from pyke.pipeline import embed_to

    with terminal.Shown() as progress:
        embedding = embed_to(
            output, inputs, settings, force=force, resume=resume, progress=progress
        )
    manifest = embedding.manifest
    if json_:
        terminal.print_json(
            {
                "output": str(output),
                **{key: value for key, value in manifest.items() if key != "history"},
            }
        )
        return
    terminal.show_census(manifest["census"])
    terminal.show_stages(manifest)
    stopped = f"stopped by {_REASONS[manifest['stop_reason']]} after {len(manifest['history'])} iterations"
    terminal.out().print(
        f"{len(embedding):,} vectors of {settings.dimensions} dimensions in [bold]{output}[/]; {stopped}.",
        highlight=False,
    )


_REASONS = {
    "energy": "energy: all of it was released",
    "iterations": "iterations: the most that were allowed",
    "displacement": "displacement: the particles rest",
    "objective": "objective: J no longer falls",
}
