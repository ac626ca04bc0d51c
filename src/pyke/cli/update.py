"""`pyke update`: add triples to an embedding, or remove some."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pyke.cli import terminal
from pyke.cli.messages import counted
from pyke.cli.options import (
    AsJson,
    Directory,
    Force,
    OutputDirectory,
    Settings,
    with_settings,
)


@with_settings(["format", "base", "on_error", "lenient", "threads", "memory"])
def update(
    directory: Directory,
    output: OutputDirectory,
    settings: Settings,
    added: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILES", help="RDF files with new triples.", show_default=False),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(help="RDF file with triples to remove; can be repeated.", show_default=False),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Add or remove triples without embedding the graph again; other vectors stay unchanged."""
    from pyke.core.files import check_output_directory
    from pyke.embedding.embedding import load
    from pyke.embedding.store import verify
    from pyke.pipeline.update import update as run

    check_output_directory(output.resolve(), force)
    with terminal.ShownProgress() as progress:
        verify(directory)  # a damaged directory must not become a valid one
        embedding = run(
            load(directory), added or None, remove, progress=progress, **settings.changes
        )
        progress.stage("writing")
        embedding.save(output, force)
    change = embedding.manifest["updates"][-1]
    if as_json:
        census = embedding.manifest["census"]
        terminal.print_json({"output": str(output), **change, "census": census})
        return
    for line in _sentences(change):
        terminal.say(line)
    terminal.show_skipped(change["first_errors"])
    dimensions = embedding.vectors.shape[1]
    terminal.say(f"Wrote {len(embedding):,} vectors of {dimensions} dimensions to {output}.")


def _sentences(change: dict[str, Any]) -> list[str]:
    removed = f", removed {change['removed']:,}" if change["inputs"][1] else ""
    moved = change["placed_terms"] - change["new_terms"]
    added = f"Added {counted(change['added'], 'triple')}{removed}."
    placed = f"{counted(change['new_terms'], 'new term')}, {counted(moved, 'existing term')} moved"
    lines = [f"{added} {placed}, {change['seconds']:.1f} s."]
    if change["inputs"][0] and not change["added"]:
        lines.insert(0, "Nothing to add: the input has no triples that the graph lacks.")
    if number := change["not_found"]:
        lines.append(
            f"Not found in the graph: {counted(number, 'statement')} to remove. "
            "Statements with blank nodes or literals cannot be removed."
        )
    if number := change["adrift"]:
        lines.append(
            f"{counted(number, 'new term')} without any link to existing terms: "
            "their positions are random until you embed the graph again."
        )
    if number := change["errors"]:
        lines.append(f"Skipped {counted(number, 'invalid line')}. The first ones:")
    return lines
