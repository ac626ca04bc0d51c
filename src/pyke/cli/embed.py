"""`pyke embed`: RDF files to an embedding directory."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pyke.cli import terminal
from pyke.cli.info import show_census
from pyke.cli.options import (
    MODEL_SETTINGS,
    READING_SETTINGS,
    RUNNING_SETTINGS,
    AsJson,
    Force,
    Inputs,
    OutputDirectory,
    Settings,
    with_settings,
)
from pyke.cli.tables import print_table

_STOP_REASONS = {
    "energy": "energy reached 0",
    "iterations": "reached the maximum number of iterations",
    "displacement": "the particles stopped moving",
    "objective": "the objective J stopped falling",
}


@with_settings([*MODEL_SETTINGS, *READING_SETTINGS, *RUNNING_SETTINGS])
def embed(
    inputs: Inputs,
    output: OutputDirectory,
    settings: Settings,
    force: Force = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run from its checkpoint.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Embed the graph in RDF files."""
    config = settings.config()
    from pyke.pipeline import embed_to

    with terminal.ShownProgress() as progress:
        embedding = embed_to(output, inputs, config, force=force, resume=resume, progress=progress)
    manifest = embedding.manifest
    if as_json:
        shown = {key: value for key, value in manifest.items() if key != "history"}
        terminal.print_json({"output": str(output), **shown})
        return
    show_census(manifest["census"])
    _show_stages(manifest["stages"])
    iterations, reason = len(manifest["history"]), _STOP_REASONS[manifest["stop_reason"]]
    terminal.say(f"Finished after {iterations} iterations ({reason}).")
    terminal.say(f"Wrote {len(embedding):,} vectors of {config.dimensions} dimensions to {output}.")


def _show_stages(stages: list[dict[str, Any]]) -> None:
    from pyke.config import format_size

    rows = [
        (stage["name"], f"{stage['seconds']:.2f}", format_size(stage["peak_bytes"]))
        for stage in stages
    ]
    print_table(("stage", "seconds", "peak memory"), rows, right=(1, 2))
