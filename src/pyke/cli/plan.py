"""`pyke plan`: memory and time of a run, before it starts."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from pyke.cli import terminal
from pyke.cli.options import (
    MODEL_SETTINGS,
    READING_SETTINGS,
    RUNNING_SETTINGS,
    AsJson,
    Inputs,
    Settings,
    with_settings,
)
from pyke.cli.tables import print_table

if TYPE_CHECKING:
    from pyke.pipeline.plan import Plan


@with_settings([*MODEL_SETTINGS, *READING_SETTINGS, *RUNNING_SETTINGS])
def plan(inputs: Inputs, settings: Settings, as_json: AsJson = False) -> None:
    """Estimate the memory and time of `pyke embed`; exit code 75 if --memory is too low."""
    config = settings.config()
    from pyke.pipeline import make_plan
    from pyke.pipeline.plan import check

    with terminal.ShownProgress() as progress:
        made = make_plan(inputs, config, progress)
    if as_json:
        terminal.print_json(
            {**asdict(made), "peak_bytes": made.peak_bytes, "seconds": made.seconds}
        )
    else:
        _show(made)
    check(made, config)


def _show(made: Plan) -> None:
    from pyke.config import format_size

    rows = [
        (one.name, format_size(one.peak_bytes), format_size(one.disk_bytes), f"{one.seconds:.1f}")
        for one in made.stages
    ]
    disk = format_size(max(one.disk_bytes for one in made.stages))
    rows.append(("whole run", format_size(made.peak_bytes), disk, f"{made.seconds:.1f}"))
    columns = ("stage", "peak memory", "disk, at most", "seconds, about")
    print_table(columns, rows, right=(1, 2, 3))
    sizes = made.sizes
    read = "the whole input" if made.share == 1 else f"the first {made.share:.1%} of the input"
    terminal.say(
        f"{sizes.triples:,} triples, {sizes.terms:,} terms, {sizes.particles:,} particles, "
        f"{sizes.springs:,} springs; estimated from {read}."
    )
    terminal.say(
        f"Positions: {made.holding}. The least memory that would do: "
        f"{format_size(made.least_bytes)}."
    )
