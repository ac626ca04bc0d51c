"""`pyke evaluate`: the scores of an embedding."""

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
    Force,
    Format,
    KeepDuplicates,
    Lenient,
    OnError,
    Preset,
    Seed,
    Threads,
    TypePredicate,
    app,
    config_of,
)

HeldOut = Annotated[
    float,
    typer.Option(
        help="The part of the typed subjects whose types are withheld before the embedding."
    ),
]

Mu = Annotated[
    str | None,
    typer.Option(
        help="Numbers of neighbours, like 1,3,10. [1,3,5,10,15,30,50,100]", show_default=False
    ),
]

Exact = Annotated[
    bool,
    typer.Option("--exact", help="Exact neighbours and clusters, however many points there are."),
]

NoPurity = Annotated[bool, typer.Option("--no-purity", help="Leave the clusters out.")]


@app.command()
def evaluate(
    inputs: Annotated[
        list[str],
        typer.Argument(
            help="An embedding directory; or RDF files, to be embedded first.", show_default=False
        ),
    ],
    held_out: Annotated[
        float | None,
        typer.Option(
            help="Withhold the types of this part of the subjects, like 0.2, and predict them."
        ),
    ] = None,
    mu: Mu = None,
    exact: Exact = False,
    no_purity: NoPurity = False,
    report: Annotated[
        Path | None,
        typer.Option(help="Write tables and figure to .html, or the figure to .png, .svg or .pdf."),
    ] = None,
    preset: Preset = "default",
    config: ConfigFile = None,
    dimensions: Dimensions = None,
    seed: Seed = None,
    format: Format = None,  # noqa: A002
    base: Base = None,
    on_error: OnError = None,
    lenient: Lenient = False,
    keep_duplicates: KeepDuplicates = False,
    count_literals: CountLiterals = False,
    type_predicate: TypePredicate = None,
    threads: Threads = None,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Score an embedding: type prediction and cluster purity, as in the paper, or for types that were withheld."""
    settings = config_of(
        preset, config, dimensions=dimensions, seed=seed, format=format, base=base, on_error=on_error, lenient=lenient,
        keep_duplicates=keep_duplicates, count_literals=count_literals, type_predicate=type_predicate, threads=threads,
    )  # fmt: skip
    from pyke import evaluate
    from pyke.embedding.embedding import load
    from pyke.errors import UsageError
    from pyke.evaluate import tables
    from pyke.use.figures import scores_over_mu
    from pyke.use.reports import check_report, write_report

    if report:
        check_report(report, force)
    measures = evaluate.Measures(
        parse_numbers(mu),
        purity=not no_purity,
        exact=True if exact else None,
        threads=settings.threads,
    )
    is_embedding = len(inputs) == 1 and (Path(inputs[0]) / "manifest.json").is_file()
    if is_embedding and held_out is not None:
        raise UsageError(
            f"{inputs[0]} is an embedding that has seen all types; --held-out needs the RDF files, to embed them without some"
        )
    given = {
        "dimensions": dimensions,
        "seed": seed,
        "config": config,
        "format": format,
        "type-predicate": type_predicate,
    }
    if is_embedding and (
        odd := [f"--{name}" for name, value in given.items() if value is not None]
    ):
        raise UsageError(
            f"{inputs[0]} is an embedding that is made already; {', '.join(odd)} would change nothing"
        )
    with terminal.Shown() as progress:
        if held_out is not None:
            found = evaluate.evaluate_held_out(inputs, settings, held_out, measures, progress)
        else:
            found = (
                evaluate.evaluate(load(inputs[0]), measures, progress)
                if is_embedding
                else evaluate.evaluate_graph(inputs, settings, measures, progress)
            )
    shown = tables.evaluation_tables(found)
    if json_:
        terminal.print_json(found.as_dict())
    else:
        terminal.show_tables(shown)
    if report:  # after the scores are shown: a full disk must not lose them
        name = ", ".join(Path(given).name or given for given in inputs)
        write_report(
            report,
            f"Evaluation of {name}",
            shown,
            scores_over_mu({found.protocol: {name: found.types.scores}}),
        )


def parse_numbers(text: str | None) -> list[int] | None:
    """1,3,10 → [1, 3, 10]."""
    from pyke.errors import UsageError

    try:
        return None if text is None else [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--mu is {text!r}; it must be numbers like 1,3,10") from None
