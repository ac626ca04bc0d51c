"""`pyke tune`: search for settings that suit a graph."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pyke.cli import terminal
from pyke.cli.options import (
    MODEL_SETTINGS,
    READING_SETTINGS,
    AsJson,
    Force,
    HeldOut,
    Inputs,
    Report,
    Settings,
    with_settings,
)


@with_settings([*MODEL_SETTINGS, *READING_SETTINGS, "threads"])
def tune(
    inputs: Inputs,
    settings: Settings,
    trials: Annotated[int, typer.Option(help="Number of settings to try.")] = 64,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File for the best settings.")
    ] = Path("tuned.toml"),
    report: Report = None,
    held_out: HeldOut = 0.2,
    mu: Annotated[int, typer.Option(help="Number of neighbours that vote (μ).")] = 10,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Search for springs, repulsion, energy release and dimensions that suit a graph."""
    config = settings.config()
    from pyke.core.files import check_output_file, write_file
    from pyke.evaluate import tables
    from pyke.evaluate.tune import SPACE, Trial
    from pyke.evaluate.tune import tune as run
    from pyke.use.figures import trials_figure
    from pyke.use.reports import check_report, write_report

    check_output_file(output, force)
    if report:
        check_report(report, force)
    with terminal.ShownProgress() as progress:

        def show(trial: Trial) -> None:
            progress.note(tables.trial_line(trial))

        found = run(inputs, config, trials, held_out, mu, progress, show)
    write_file(output, found.config.as_toml(always=SPACE).encode())
    table = tables.tuning_table(found)
    if report:
        rows = [asdict(trial) for trial in found.trials]
        write_report(
            report, table.title, [table], trials_figure(rows, list(SPACE), found.base_score)
        )
    if as_json:
        terminal.print_json({"output": str(output), **found.as_dict()})
    else:
        terminal.show_tables([table])
        terminal.say(f"Wrote the best settings to {output}: pyke embed --config {output} …")
