"""`pyke evaluate`: the scores of an embedding."""

from __future__ import annotations

from os.path import isfile, join
from pathlib import Path
from typing import Annotated

import typer

from pyke.cli import terminal
from pyke.cli.options import (
    MODEL_SETTINGS,
    READING_SETTINGS,
    AsJson,
    ExactNeighbours,
    Force,
    MostSubjects,
    NeighbourCounts,
    NoPurity,
    Report,
    Settings,
    parse_numbers,
    with_settings,
)


@with_settings([*MODEL_SETTINGS, *READING_SETTINGS, "threads"])
def evaluate(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUTS",
            help="An embedding directory, or RDF files to embed first.",
            show_default=False,
        ),
    ],
    settings: Settings,
    held_out: Annotated[
        float | None,
        typer.Option(help="Withhold the types of this fraction of the subjects, and predict them."),
    ] = None,
    mu: NeighbourCounts = None,
    subjects: MostSubjects = None,
    exact: ExactNeighbours = False,
    no_purity: NoPurity = False,
    report: Report = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Score an embedding: type prediction and cluster purity, as in the paper or held-out."""
    config = settings.config()
    from pyke import evaluate
    from pyke.embedding.embedding import load
    from pyke.evaluate import tables
    from pyke.use.figures import scores_over_mu
    from pyke.use.reports import check_report, write_report

    if report:
        check_report(report, force)
    is_embedding = len(inputs) == 1 and isfile(join(inputs[0], "manifest.json"))
    if is_embedding:
        _refuse_settings(inputs[0], settings, held_out)
    measures = evaluate.Measures(
        parse_numbers(mu),
        purity=not no_purity,
        most=subjects,
        exact=exact or None,
        threads=config.threads,
    )
    with terminal.ShownProgress() as progress:
        if held_out is not None:
            found = evaluate.evaluate_held_out(inputs, config, held_out, measures, progress)
        elif is_embedding:
            found = evaluate.evaluate(load(inputs[0]), measures, progress)
        else:
            found = evaluate.evaluate_graph(inputs, config, measures, progress)
    shown = tables.evaluation_tables(found)
    if as_json:
        terminal.print_json(found.as_dict())
    else:
        terminal.show_tables(shown)
    if report:  # after the scores are printed: a full disk must not lose them
        name = ", ".join(Path(given).name or given for given in inputs)
        figure = scores_over_mu({found.protocol: {name: found.types.scores}})
        write_report(report, f"Evaluation of {name}", shown, figure)
        if not as_json:
            terminal.say(f"Wrote {report}.")


def _refuse_settings(directory: str, settings: Settings, held_out: float | None) -> None:
    """An embedding exists already: settings of a new one would have no effect."""
    from pyke.errors import UsageError

    if held_out is not None:
        raise UsageError(
            f"{directory} is an embedding of all types. `held_out` needs the RDF files, "
            "to embed them without some of the types."
        )
    if unused := [name for name in settings.given if name != "threads"]:
        names = ", ".join(f"`{name}`" for name in unused)
        raise UsageError(f"{directory} is an existing embedding; {names} would have no effect")
