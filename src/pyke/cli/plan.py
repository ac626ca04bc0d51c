"""`pyke plan`: memory and time of a run, before it starts."""

from __future__ import annotations

from dataclasses import asdict

from pyke.cli import terminal
from pyke.cli.options import (
    AsJson,
    Base,
    ConfigFile,
    CountLiterals,
    Dimensions,
    EnergyRelease,
    Format,
    Inputs,
    K,
    KeepDuplicates,
    Lenient,
    MaxIterations,
    Memory,
    OnError,
    Preset,
    Repellers,
    Similarity,
    Threads,
    app,
    config_of,
)


@app.command()
def plan(
    inputs: Inputs,
    preset: Preset = "default",
    config: ConfigFile = None,
    dimensions: Dimensions = None,
    k: K = None,
    repellers: Repellers = None,
    similarity: Similarity = None,
    max_iterations: MaxIterations = None,
    energy_release: EnergyRelease = None,
    format: Format = None,  # noqa: A002
    base: Base = None,
    on_error: OnError = None,
    lenient: Lenient = False,
    keep_duplicates: KeepDuplicates = False,
    count_literals: CountLiterals = False,
    threads: Threads = None,
    memory: Memory = None,
    json_: AsJson = False,
) -> None:
    """Tell the memory and time that embedding would take; exit code 75 if the memory allowed is too little."""
    parameters = {
        name: value
        for name, value in locals().items()
        if name not in ("inputs", "preset", "config", "json_")
    }
    settings = config_of(preset, config, **parameters)
    from pyke.pipeline import make_plan
    from pyke.pipeline.plan import check

    with terminal.Shown() as progress:
        made = make_plan(inputs, settings, progress)
    if json_:
        terminal.print_json(
            {**asdict(made), "peak_bytes": made.peak_bytes, "seconds": made.seconds}
        )
    else:
        terminal.show_plan(made)
    check(made, settings)
