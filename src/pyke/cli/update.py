"""An embedding of a graph that has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pyke.cli import terminal
from pyke.cli.options import (
    AsJson,
    Base,
    Directory,
    Force,
    Format,
    Lenient,
    Memory,
    OnError,
    Threads,
    app,
)


@app.command()
def update(
    directory: Directory,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The embedding directory to write.", show_default=False
        ),
    ],
    added: Annotated[
        list[str] | None, typer.Argument(help="RDF files with new triples.", show_default=False)
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(
            help="RDF file with triples that are no longer true; the option again for each further file.",
            show_default=False,
        ),
    ] = None,
    format: Format = None,  # noqa: A002
    base: Base = None,
    on_error: OnError = None,
    lenient: Lenient = False,
    threads: Threads = None,
    memory: Memory = None,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Add triples to an embedding, or remove some, without embedding anew: new terms are put in their place, the rest rests."""
    from pyke.core.files import check_output
    from pyke.embedding.embedding import load
    from pyke.embedding.store import verify
    from pyke.pipeline.update import update as run

    check_output(output.resolve(), force)
    with terminal.Shown() as progress:
        verify(directory)  # what is damaged is not passed on
        embedding = run(
            load(directory),
            added or None,
            remove,
            progress=progress,
            format=format,
            base=base,
            on_error=on_error,
            lenient=lenient or None,
            threads=threads,
            memory=memory,
        )
        progress.stage("writing")
        embedding.save(output, force)
    change = embedding.manifest["updates"][-1]
    if json_:
        terminal.print_json(
            {"output": str(output), **change, "census": embedding.manifest["census"]}
        )
        return
    for line in _in_sentences(change):
        terminal.out().print(terminal.inert(line), highlight=False)
    terminal.show_skipped(change["first_errors"])
    told = f"{len(embedding):,} vectors of {embedding.vectors.shape[1]} dimensions in {output}."
    terminal.out().print(terminal.inert(told), highlight=False)


def _in_sentences(change: dict[str, Any]) -> list[str]:
    added = _counted(change["added"], "triple was", "triples were") + " added"
    removed = f", {change['removed']:,} removed" if change["inputs"][1] else ""
    new = _counted(change["new_terms"], "term is", "terms are") + " new"
    moved = (
        _counted(change["placed_terms"] - change["new_terms"], "old one has", "old ones have")
        + " a new place"
    )
    lines = [f"{added}{removed}; {new}, {moved}, in {change['seconds']:.1f} s."]
    if number := change["not_found"]:
        what = _counted(
            number,
            "statement that was to be removed is no counted triple",
            "statements that were to be removed are no counted triples",
        )
        lines.append(f"{what} of the graph, or with blank nodes or literals.")
    if number := change["adrift"]:
        lines.append(
            f"{_counted(number, 'term touches', 'terms touch')} nothing that was known: the place is arbitrary until you embed anew."
        )
    if number := change["errors"]:
        lines.append(f"{_counted(number, 'line was', 'lines were')} skipped; the first of them:")
    return lines


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
