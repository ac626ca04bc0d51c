"""`pyke compare`: PYKE beside other methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyke.cli import terminal
from pyke.cli.evaluate import Exact, HeldOut, Mu, NoPurity, parse_numbers
from pyke.cli.options import (
    AsJson,
    Base,
    ConfigFile,
    Dimensions,
    Files,
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


@app.command()
def compare(
    inputs: Files,
    methods: Annotated[
        str | None, typer.Option(help="Methods, like pyke,paper,transe. [all]", show_default=False)
    ] = None,
    time_limit: Annotated[
        str, typer.Option(help="Most time for one embedding, like 90s, 30m or 2h.")
    ] = "30m",
    report: Annotated[
        Path,
        typer.Option(
            help="The page to write; rows are kept in a .json beside it, and not computed again."
        ),
    ] = Path("comparison.html"),
    held_out: HeldOut = 0.2,
    mu: Mu = None,
    exact: Exact = False,
    no_purity: NoPurity = False,
    preset: Preset = "default",
    config: ConfigFile = None,
    dimensions: Dimensions = None,
    seed: Seed = None,
    format: Format = None,  # noqa: A002
    base: Base = None,
    on_error: OnError = None,
    lenient: Lenient = False,
    keep_duplicates: KeepDuplicates = False,
    type_predicate: TypePredicate = None,
    threads: Threads = None,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Compare PYKE with other methods on a graph: both protocols, purity, seconds and memory."""
    settings = config_of(
        preset, config, dimensions=dimensions, seed=seed, format=format, base=base, on_error=on_error, lenient=lenient,
        keep_duplicates=keep_duplicates, type_predicate=type_predicate, threads=threads,
    )  # fmt: skip
    from pyke.config import parse_duration
    from pyke.evaluate import Measures, tables
    from pyke.evaluate.compare import Contest
    from pyke.evaluate.compare import compare as run
    from pyke.evaluate.rivals import METHODS
    from pyke.use.reports import check_report, write_report

    check_report(report, force=True)  # it grows with the rows that are kept beside it
    measures = Measures(
        parse_numbers(mu),
        purity=not no_purity,
        exact=True if exact else None,
        threads=settings.threads,
    )
    chosen = (
        [name.strip() for name in methods.split(",") if name.strip()] if methods else list(METHODS)
    )
    contest = Contest(chosen, held_out, parse_duration(time_limit), measures)
    with terminal.Shown() as progress:
        found = run(inputs, settings, contest, report.with_suffix(".json"), force, progress)
    table = tables.comparison_table(found)
    write_report(report, table.title, [table], tables.curves(found))
    if json_:
        terminal.print_json(found.as_dict())
    else:
        terminal.show_tables([table])
        terminal.out().print(
            terminal.inert(
                f"{report} has the figure; {report.with_suffix('.json')} keeps the rows."
            ),
            highlight=False,
        )
