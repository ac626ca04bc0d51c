"""Maps and films."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pyke.cli import terminal
from pyke.cli.options import AsJson, Directory, Force, app


@app.command()
def plot(
    directory: Directory,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The file to write: .png, .svg, .pdf or .html; with --animate .gif, .mp4 or .html.",
            show_default=False,
        ),
    ],
    method: Annotated[
        str | None,
        typer.Option(
            help="pyke: the simulation, settled in two dimensions; pca: principal components. [pyke; films: pca]"
        ),
    ] = None,
    three_d: Annotated[
        bool, typer.Option("--three-d", help="Three dimensions; a page can be turned.")
    ] = False,
    before_and_after: Annotated[
        bool, typer.Option("--before-and-after", help="The random start beside the result.")
    ] = False,
    animate: Annotated[
        bool,
        typer.Option(
            "--animate",
            help="A film of the annealing, of 2,000 points unless --sample says otherwise.",
        ),
    ] = False,
    only_types: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS", help="Only subjects of a class, by IRI or name; may be repeated."
        ),
    ] = None,
    highlight: Annotated[
        list[str] | None,
        typer.Option(metavar="TERM", help="A term to ring and label; may be repeated."),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TERM", help="A term to label, in place of the best connected; may be repeated."
        ),
    ] = None,
    labels: Annotated[int, typer.Option(help="Labels at most; 0 for none.")] = 18,
    sample: Annotated[
        int | None, typer.Option(help="Points at most, drawn at random. [all]", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    title: Annotated[str, typer.Option(help="Title. [counts and source]", show_default=False)] = "",
    dpi: Annotated[
        int, typer.Option(help="Dots per inch of a figure, which is 9 inches wide or more.")
    ] = 130,
    prefix: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=IRI", help="A prefix beside the well-known ones."),
    ] = None,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Draw a map of an embedding, in the colours of types: a figure, a page to walk around in, or a film."""
    from pyke.config import format_size
    from pyke.embedding.embedding import load
    from pyke.embedding.lookup import parse_prefixes

    with terminal.Shown() as progress:
        drawn = load(directory).plot(
            output, animate=animate, force=force, progress=progress, method=method, three_d=three_d, before_and_after=before_and_after,
            only_types=only_types or (), highlight=highlight or (), label=label or (), labels=labels,
            sample=sample, seed=seed, title=title, dpi=dpi, prefixes=parse_prefixes(prefix or []),
        )  # fmt: skip
    if json_:
        terminal.print_json(asdict(drawn))
        return
    table = terminal.new_table("type", "terms", "colour", right=(1,))
    for group in drawn.legend:
        table.add_row(
            terminal.inert(group.name), f"{group.count:,}", f"[{group.colour}]●[/] {group.colour}"
        )
    terminal.out().print(table)
    for line in drawn.notes():
        terminal.out().print(terminal.inert(line), highlight=False)
    points = f"{drawn.points:,} point{'' if drawn.points == 1 else 's'}"
    terminal.out().print(
        f"{points} in [bold]{terminal.inert(drawn.output)}[/], {format_size(drawn.bytes)}.",
        highlight=False,
    )
