"""`pyke plan`: memory and time of a run, before it starts."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from pyke.cli import terminal
from pyke.cli.options import (
    MODEL_SETTINGS,
    READING_SETTINGS,
    RUNNING_SETTINGS,
    AsJson,
    Settings,
    with_settings,
)
from pyke.cli.tables import print_table

if TYPE_CHECKING:
    from pyke.config import Config
    from pyke.pipeline.distributed.costs import ClusterPlan, Counts
    from pyke.pipeline.plan import Plan

_CLUSTER = "Cluster"


_Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[INPUTS]",
        help="RDF files, directories or globs, or --triples and --terms.",
        show_default=False,
    ),
]
_Workers = Annotated[
    int | None, typer.Option(help="Plan for this many workers.", rich_help_panel=_CLUSTER)
]
_Triples = Annotated[
    float | None,
    typer.Option(
        help="Triples of a graph in the proportions of LUBM, such as 150e9.",
        rich_help_panel=_CLUSTER,
    ),
]
_Terms = Annotated[
    float | None, typer.Option(help="Terms of that graph.", rich_help_panel=_CLUSTER)
]
_MemoryPerWorker = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Memory of a worker.", rich_help_panel=_CLUSTER),
]
_Network = Annotated[
    str,
    typer.Option(
        metavar="SIZE",
        help="Bytes per second and worker, of network and storage.",
        rich_help_panel=_CLUSTER,
    ),
]


@with_settings([*MODEL_SETTINGS, *READING_SETTINGS, *RUNNING_SETTINGS])
def plan(
    settings: Settings,
    inputs: _Inputs = None,
    as_json: AsJson = False,
    workers: _Workers = None,
    triples: _Triples = None,
    terms: _Terms = None,
    memory_per_worker: _MemoryPerWorker = None,
    network: _Network = "1GB",
) -> None:
    """Estimate the memory and time of `pyke embed`; exit code 75 if --memory is too low."""
    config = settings.config()
    from pyke.config import parse_size
    from pyke.errors import UsageError

    if inputs and (triples or terms):
        raise UsageError("give INPUTS, or `triples` and `terms`, not both")
    if workers is None and (triples or terms or memory_per_worker):
        raise UsageError("`triples`, `terms` and `memory_per_worker` need `workers`")
    if not inputs and not (triples and terms):
        raise UsageError("give INPUTS, or `triples` and `terms`")
    if workers is None:
        _plan_one_machine(inputs or [], config, as_json)
        return
    from pyke.graph.build import require_ids
    from pyke.pipeline.distributed.costs import Counts, check_memory, plan_cluster

    counts = _counts_of(inputs, config) if inputs else Counts.like_lubm(triples or 0, terms or 0)
    memory = parse_size(memory_per_worker) if memory_per_worker else None
    planned = plan_cluster(counts, config, workers, memory, parse_size(network))
    if as_json:
        terminal.print_json(
            {**asdict(planned), "seconds": planned.seconds, "memory_bytes": planned.memory_bytes}
        )
    else:
        _show_cluster(planned)
    if memory is not None:
        check_memory(planned, config, memory)
    require_ids(int(counts.particles))


def _counts_of(inputs: list[str], config: Config) -> Counts:
    """The counts of some files, or of a sample of them."""
    from pyke.pipeline import make_plan
    from pyke.pipeline.distributed.costs import Counts

    with terminal.ShownProgress() as progress:
        sizes = make_plan(inputs, config, progress).sizes
    return Counts.like_lubm(sizes.triples, sizes.terms).with_springs(
        sizes.pairs, sizes.particles, sizes.springs
    )


def _show_cluster(planned: ClusterPlan) -> None:
    from pyke.config import format_size

    rows = [
        (
            one.name, f"{one.seconds:,.0f}", format_size(one.memory_bytes),
            format_size(one.exchanged_bytes),
        )
        for one in planned.stages
    ]  # fmt: skip
    rows.append(("whole run", f"{planned.seconds:,.0f}", format_size(planned.memory_bytes), ""))
    columns = ("stage", "seconds, about", "memory per worker", "exchanged")
    print_table(columns, rows, right=(1, 2, 3))
    counts = planned.counts
    terminal.say(
        f"{counts.triples:,.0f} triples, {counts.terms:,.0f} terms, {counts.particles:,.0f} "
        f"particles, {counts.springs:,.0f} springs; {planned.partitions:,} partitions on "
        f"{planned.workers:,} workers."
    )
    terminal.say(
        f"Each iteration exchanges {format_size(planned.halo_bytes)} if the graph is as local as "
        f"LUBM, at most {format_size(planned.worst_halo_bytes)}; sending all positions to all "
        f"workers would be {format_size(planned.all_gather_bytes)}."
    )
    if planned.wide_ids:
        terminal.say(
            "This graph needs ids of 64 bits, which the plan counts. This version of PYKE refuses "
            "it: it stops at 2,147,483,646 terms and contexts."
        )


def _plan_one_machine(inputs: list[str], config: Config, as_json: bool) -> None:
    from pyke.pipeline import make_plan
    from pyke.pipeline.plan import check

    with terminal.ShownProgress() as progress:
        made = make_plan(inputs, config, progress)
    if as_json:
        terminal.print_json(
            {
                **asdict(made),
                "peak_bytes": made.peak_bytes,
                "seconds": made.seconds,
                "cpu_seconds": made.cpu_seconds,
            }
        )
    else:
        _show(made)
    check(made, config)


def _show(made: Plan) -> None:
    from pyke.config import format_size

    rows = [
        (
            one.name, format_size(one.peak_bytes), format_size(one.disk_bytes),
            f"{one.seconds:.1f}", f"{one.cpu_seconds:.1f}",
        )
        for one in made.stages
    ]  # fmt: skip
    disk = format_size(max(one.disk_bytes for one in made.stages))
    times = f"{made.seconds:.1f}", f"{made.cpu_seconds:.1f}"
    rows.append(("whole run", format_size(made.peak_bytes), disk, *times))
    columns = ("stage", "peak memory", "disk, at most", "seconds, about", "CPU seconds")
    print_table(columns, rows, right=(1, 2, 3, 4))
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
