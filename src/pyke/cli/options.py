"""What the commands share: the application, and the options that several of them have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pyke.config import Config

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="RDF graphs → vectors, by simulated physics.",
)

Inputs = Annotated[
    list[str],
    typer.Argument(
        help="RDF files, directories or globs, compressed or not; - for standard input.",
        show_default=False,
    ),
]
Files = Annotated[
    list[str],
    typer.Argument(help="RDF files, directories or globs, compressed or not.", show_default=False),
]
Directory = Annotated[Path, typer.Argument(help="An embedding directory.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Format = Annotated[
    str | None,
    typer.Option(
        help="Syntax of the inputs: ntriples, nquads, turtle, trig, rdfxml, jsonld, tsv, csv. [by extension]"
    ),
]
Base = Annotated[str | None, typer.Option(help="Base of relative IRIs.")]
OnError = Annotated[
    str | None,
    typer.Option(help="stop at a line that breaks the grammar, or skip and count it. [stop]"),
]
Lenient = Annotated[bool, typer.Option("--lenient", help="Accept IRIs that break RFC 3987.")]
KeepDuplicates = Annotated[
    bool, typer.Option("--keep-duplicates", help="Count a triple as often as it is written.")
]
CountLiterals = Annotated[
    bool,
    typer.Option(
        "--count-literals",
        help="Let triples with literals count for their subjects and predicates.",
    ),
]
TypePredicate = Annotated[
    str | None, typer.Option(help="The predicate that gives types. [rdf:type]", show_default=False)
]
Preset = Annotated[
    str,
    typer.Option(help="default, or paper: as printed, with the rescaling of its published code."),
]
Dimensions = Annotated[int | None, typer.Option(help="n, the length of a vector. [50]")]
K = Annotated[int | None, typer.Option("--k", help="K, springs per particle. [45]")]
Repellers = Annotated[
    int | None, typer.Option(help="Repelling particles per particle. [5; paper: K]")
]
Similarity = Annotated[
    str | None, typer.Option(help="What makes springs: context or ppmi. [context]")
]
MaxIterations = Annotated[int | None, typer.Option(help="T, the most iterations. [1000]")]
EnergyRelease = Annotated[
    float | None, typer.Option(help="Δe, the energy lost per iteration. [0.0414]")
]
Threads = Annotated[
    int | None, typer.Option(help="Threads. Does not change the result. [all cores]")
]
Memory = Annotated[
    str | None, typer.Option(help="Most memory to use, like 8GB. Does not change the result.")
]
Seed = Annotated[int | None, typer.Option(help="Seed of all random numbers. [0]")]
Force = Annotated[bool, typer.Option("--force", help="Replace an output that exists.")]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", help="Settings in a TOML file; other options go before it.", show_default=False
    ),
]


def config_of(preset: str = "default", file: Path | None = None, /, **parameters: Any) -> Config:
    """The settings of a preset or a file, changed by the options that were given."""
    from pyke.config import Config

    # A switch that was not given must not undo what a file says; --no-rescale is one that was.
    given = {
        name: value for name, value in parameters.items() if value is not False or name == "rescale"
    }
    return Config.read(file, preset, **given) if file else Config.preset(preset, **given)
