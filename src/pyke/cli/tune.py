"""`pyke tune`: search for settings that suit a graph."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pyke.cli import terminal
from pyke.cli.evaluate import HeldOut
from pyke.cli.options import (
    AsJson,
    Base,
    ConfigFile,
    Force,
    Format,
    Inputs,
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
def tune(
    inputs: Inputs,
    trials: Annotated[int, typer.Option(help="How many settings to try.")] = 64,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The best settings, for `embed --config`.")
    ] = Path("tuned.toml"),
    report: Annotated[
        Path | None,
        typer.Option(help="Write table and figure to .html, or the figure to .png, .svg or .pdf."),
    ] = None,
    held_out: HeldOut = 0.2,
    mu: Annotated[int, typer.Option(help="Neighbours that vote.")] = 10,
    preset: Preset = "default",
    config: ConfigFile = None,
    seed: Seed = None,
    format: Format = None,  # noqa: A002
    base: Base = None,
    on_error: OnError = None,
    lenient: Lenient = False,
    type_predicate: TypePredicate = None,
    threads: Threads = None,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Find settings that suit a graph: a Sobol sequence over K, ω, Δe and n, scored on withheld types."""
    settings = config_of(
        preset,
        config,
        seed=seed,
        format=format,
        base=base,
        on_error=on_error,
        lenient=lenient,
        type_predicate=type_predicate,
        threads=threads,
    )
    from pyke.core.files import check_file, write_file
    from pyke.evaluate import tables
    from pyke.evaluate.tune import SPACE, Trial
    from pyke.evaluate.tune import tune as run
    from pyke.use.figures import trials_figure
    from pyke.use.reports import check_report, write_report

    check_file(output, force)
    if report:
        check_report(report, force)
    with terminal.Shown() as progress:

        def tell(trial: Trial) -> None:
            progress.note(tables.trial_line(trial))

        found = run(inputs, settings, trials, held_out, mu, progress, tell)
    write_file(output, found.config.as_toml(always=SPACE).encode())
    table = tables.tuning_table(found)
    if report:
        write_report(
            report,
            table.title,
            [table],
            trials_figure([asdict(trial) for trial in found.trials], list(SPACE), found.base_score),
        )
    if json_:
        terminal.print_json({"output": str(output), **found.as_dict()})
    else:
        terminal.show_tables([table])
        terminal.out().print(
            terminal.inert(f"The best settings are in {output}: pyke embed --config {output} …"),
            highlight=False,
        )
