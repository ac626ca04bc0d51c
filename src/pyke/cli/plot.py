"""`pyke plot`: maps and animations."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyke.cli import terminal
from pyke.cli.messages import as_options
from pyke.cli.options import AsJson, Directory, Force, Prefixes
from pyke.cli.tables import print_table

if TYPE_CHECKING:
    from pyke.use.maps.view import Drawn

_Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        help="File to write: .png, .svg, .pdf or .html; with --animate .gif, .mp4 or .html.",
        show_default=False,
    ),
]
_Method = Annotated[
    str | None,
    typer.Option(
        metavar="[pyke|pca]",
        help="Simulation in two dimensions, or principal components. [pyke; --animate: pca]",
    ),
]
_ThreeD = Annotated[
    bool, typer.Option("--three-d", help="Three dimensions; an .html map can be rotated.")
]
_BeforeAndAfter = Annotated[
    bool, typer.Option("--before-and-after", help="Show the random start beside the result.")
]
_Animate = Annotated[
    bool, typer.Option("--animate", help="Animate the simulation on a sample of 2,000 points.")
]
_OnlyTypes = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CLASS", help="Only subjects of this class or its subclasses; can be repeated."
    ),
]
_ColourBy = Annotated[
    str,
    typer.Option(metavar="[type|cluster|namespace]", help="What the colours of points show."),
]
_Classes = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CLASS",
        help="Give this class a colour, instead of the default choice; can be repeated.",
    ),
]
_Highlight = Annotated[
    list[str] | None,
    typer.Option(metavar="TERM", help="Circle and label this term; can be repeated."),
]
_Label = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TERM",
        help="Label this term instead of the default ones; can be repeated.",
    ),
]
_Labels = Annotated[int, typer.Option(help="Maximum number of labels.")]
_Sample = Annotated[
    int | None,
    typer.Option(help="Maximum number of points, chosen at random. [all]", show_default=False),
]
_Seed = Annotated[int, typer.Option(help="Seed of the sample.")]
_Title = Annotated[str, typer.Option(help="Title. [counts and source]", show_default=False)]
_Size = Annotated[
    str,
    typer.Option(
        metavar="WIDTHxHEIGHT",
        help="Size in pixels. [1920x1080; --animate: 1280x720]",
        show_default=False,
    ),
]
_Dpi = Annotated[int, typer.Option(help="Resolution of a figure, in dots per inch.")]
_FontSize = Annotated[
    float | None,
    typer.Option(help="Size of labels and legend, in points. [by size]", show_default=False),
]


def plot(
    directory: Directory,
    output: _Output,
    method: _Method = None,
    three_d: _ThreeD = False,
    before_and_after: _BeforeAndAfter = False,
    animate: _Animate = False,
    only_types: _OnlyTypes = None,
    colour_by: _ColourBy = "type",
    classes: _Classes = None,
    highlight: _Highlight = None,
    label: _Label = None,
    labels: _Labels = 18,
    sample: _Sample = None,
    seed: _Seed = 0,
    title: _Title = "",
    size: _Size = "",
    dpi: _Dpi = 144,
    font_size: _FontSize = None,
    prefix: Prefixes = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Draw a map of an embedding, coloured by type: a figure, a web page or an animation."""
    from pyke.embedding.embedding import load
    from pyke.embedding.lookup import parse_prefixes
    from pyke.use.maps.view import parse_size

    with terminal.ShownProgress() as progress:
        drawn = load(directory).plot(
            output,
            animate=animate,
            force=force,
            progress=progress,
            method=method,
            three_d=three_d,
            before_and_after=before_and_after,
            only_types=only_types or (),
            colour_by=colour_by,
            classes=classes or (),
            highlight=highlight or (),
            label=label or (),
            labels=labels,
            sample=sample,
            seed=seed,
            title=title,
            size=parse_size(size) if size else None,
            dpi=dpi,
            font_size=font_size,
            prefixes=parse_prefixes(prefix or []),
        )
    if as_json:
        terminal.print_json(asdict(drawn))
    else:
        _show(drawn)


def _show(drawn: Drawn) -> None:
    from pyke.config import format_size

    rows = [(group.name, f"{group.count:,}", group.colour) for group in drawn.legend]
    print_table((drawn.coloured_by, "points", "colour"), rows, right=(1,))
    for line in drawn.notes():
        terminal.say(as_options(line))
    points = f"{drawn.points:,} point{'' if drawn.points == 1 else 's'}"
    terminal.say(f"Drew {points} in {drawn.output}, {format_size(drawn.bytes)}.")
