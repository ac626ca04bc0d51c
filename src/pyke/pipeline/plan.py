"""Estimate the memory and time of a run before it starts."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyke.config import Config, format_size
from pyke.core.progress import Progress
from pyke.errors import OverBudget, UsageError
from pyke.graph.build import require_ids
from pyke.graph.graph import NO_CLUSTERS
from pyke.pipeline.budget import (
    STAGE_BYTES,
    Sizes,
    disk_bytes,
    holding_of,
    least_bytes,
    scratch_bytes,
    writing_bytes,
)
from pyke.pipeline.embed import Run, find_clusters, find_forces
from pyke.read.find import text_bytes
from pyke.read.objects import Inputs
from pyke.simulation.anneal import planned_iterations, start_sweeps

SAMPLE_BYTES = 1_000_000_000  # of text
ROWS_PER_SECOND = 25e6  # gathered by one thread of the simulation
WRITTEN_PER_SECOND = 400e6  # bytes of the output, with checksums
QUARTERS_FACTOR = 1.8  # an iteration on quarters, compared with one on complete rows
TRANSFERS = 3  # of each quarter on disk in an iteration: read twice, written once
SCRATCH_PER_SECOND = 1e9  # bytes


@dataclass(frozen=True)
class StagePlan:
    """Estimated peak memory of the process during a stage, disk space, and duration."""

    name: str
    peak_bytes: int
    disk_bytes: int = 0  # checkpoints, scratch files and output so far, at most
    seconds: float = 0.0


@dataclass(frozen=True)
class Plan:
    """The stages of a run. `share` is the fraction of the input that the counts come from."""

    sizes: Sizes
    stages: tuple[StagePlan, ...]
    share: float
    least_bytes: int  # memory that the run could do with
    holding: str  # how the simulation holds its positions

    @property
    def peak_bytes(self) -> int:
        """Peak memory of the run."""
        return max(stage.peak_bytes for stage in self.stages)

    @property
    def seconds(self) -> float:
        """Duration of the run."""
        return sum(stage.seconds for stage in self.stages)


def make_plan(
    inputs: Inputs,
    config: Config,
    progress: Progress | None = None,
    sample_bytes: int = SAMPLE_BYTES,
) -> Plan:
    """Estimate the memory and time that embedding some files takes.

    Inputs with more than `sample_bytes` of text are read in part. A second sample, a third of the
    first, shows how the counts grow.

    Examples
    --------
    >>> from pyke.config import Config, format_size
    >>> make_plan("examples/father.ttl", Config()).sizes.triples
    18
    """
    documents = Run(inputs, config).documents
    if any(not os.path.isfile(document.name) for document in documents):
        raise UsageError(
            "standard input and pipes can be read only once. Save the input to a file to plan a run"
        )
    total = sum(document.size for document in documents)
    share = min(1.0, sample_bytes / max(1, text_bytes(documents)))
    # The sample finds clusters by a simulation of two iterations, which give similar counts.
    unlimited = replace(config, memory=None, energy_release=0.5)
    sample, read = _sample(Run(inputs, unlimited, progress, share))
    sizes = sample.stages.sizes
    if read < total:
        smaller, smaller_read = _sample(Run(inputs, unlimited, progress, share / 3))
        if smaller_read < read:
            sizes = sizes.grown(smaller.stages.sizes, read / smaller_read, total / read)
    seconds: dict[str, float] = defaultdict(float)
    for stage in sample.stages.finished:
        seconds[stage.name] += stage.seconds * total / read
    return _plan(sizes, config, seconds, read / total)


def _sample(run: Run) -> tuple[Run, int]:
    """The run after it counted its share of the input, and the bytes that it read."""
    graph = run.read()
    clusters = find_clusters(graph, run.stages) if run.config.clusters else NO_CLUSTERS
    find_forces(graph, run.stages, clusters)
    return run, graph.census.bytes


def _plan(sizes: Sizes, config: Config, measured: Mapping[str, float], share: float) -> Plan:
    """The plan of all stages; `measured` has the seconds of the stages that ran on the sample.

    With clusters, springs, repellers and simulation have the seconds of both simulations.
    """
    seconds = {
        **measured,
        "simulation": _simulation_seconds(sizes, config),
        "writing": writing_bytes(sizes, config) / WRITTEN_PER_SECOND,
    }
    disk = disk_bytes(sizes, config)
    stages = tuple(
        StagePlan(name, needed(sizes, config), disk[name], seconds.get(name, 0.0))
        for name, needed in STAGE_BYTES.items()
        if name != "clusters" or config.clusters
    )
    holding = holding_of(sizes, config).name
    return Plan(sizes, stages, share, least_bytes(sizes, config), holding)


def _simulation_seconds(sizes: Sizes, config: Config) -> float:
    """Seconds of all iterations: rows that are gathered, and quarters that are read and written."""
    layout = holding_of(sizes, config).layout
    simulations = 2 if config.clusters else 1
    rounds = simulations * (planned_iterations(config) + start_sweeps(config))
    rows = sizes.springs + sizes.particles * config.repellers
    gathered = rows / ROWS_PER_SECOND / config.threads * (QUARTERS_FACTOR if layout.quarters else 1)
    moved = TRANSFERS * scratch_bytes(sizes, config) / SCRATCH_PER_SECOND
    return rounds * (gathered + moved)


def check(plan: Plan, config: Config) -> None:
    """Raise OverBudget if a plan exceeds `config.memory`, or if ids are too few."""
    require_ids(plan.sizes.particles)
    if config.memory is not None and plan.peak_bytes > config.memory:
        wanted = format_size(1.05 * plan.least_bytes).replace(" ", "")
        raise OverBudget(
            f"the run needs at least {format_size(plan.least_bytes)} of memory; "
            f"the limit is {format_size(config.memory)}. "
            f'Use `memory="{wanted}"` or more, or reduce `dimensions` or `k`.'
        )
