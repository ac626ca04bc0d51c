"""`pyke compare`: PYKE beside other methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyke.cli import terminal
from pyke.cli.options import (
    MODEL_SETTINGS,
    READING_SETTINGS,
    AsJson,
    ExactNeighbours,
    Files,
    Force,
    HeldOut,
    MostSubjects,
    NeighbourCounts,
    NoPurity,
    Settings,
    parse_numbers,
    with_settings,
)


@with_settings([*MODEL_SETTINGS, *READING_SETTINGS, "threads"])
def compare(
    inputs: Files,
    settings: Settings,
    methods: Annotated[
        str | None, typer.Option(help="Methods, like pyke,paper,transe. [all]", show_default=False)
    ] = None,
    time_limit: Annotated[
        str, typer.Option(help="Maximum time per embedding, like 90s, 30m or 2h.")
    ] = "30m",
    report: Annotated[
        Path,
        typer.Option(help="Page to write; a .json file beside it keeps finished rows."),
    ] = Path("comparison.html"),
    held_out: HeldOut = 0.2,
    mu: NeighbourCounts = None,
    subjects: MostSubjects = None,
    exact: ExactNeighbours = False,
    no_purity: NoPurity = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Compare PYKE with other methods on a graph: scores, purity, time and memory."""
    config = settings.config()
    from pyke.config import parse_duration
    from pyke.evaluate import Measures, tables
    from pyke.evaluate.compare import Setup
    from pyke.evaluate.compare import compare as run
    from pyke.use.reports import check_report, write_report

    check_report(report, force=True)  # it grows with the rows in the .json file
    measures = Measures(
        parse_numbers(mu),
        purity=not no_purity,
        most=subjects,
        exact=exact or None,
        threads=config.threads,
    )
    chosen = [name.strip() for name in methods.split(",") if name.strip()] if methods else None
    setup = Setup(chosen, held_out, parse_duration(time_limit), measures)
    kept = report.with_suffix(".json")
    with terminal.ShownProgress() as progress:
        found = run(inputs, config, setup, kept, force, progress)
    table = tables.comparison_table(found)
    write_report(report, table.title, [table], tables.curves(found))
    if as_json:
        terminal.print_json(found.as_dict())
    else:
        terminal.show_tables([table])
        terminal.say(f"Wrote {report} with the figure, and {kept} with the rows.")
