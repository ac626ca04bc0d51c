"""Estimate the memory and time of a run before it starts."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import log2
from typing import NamedTuple

import numpy as np

from pyke.config import Config, format_size
from pyke.core.arrays import Matrix, Repellers
from pyke.core.progress import Progress
from pyke.errors import DivergedError, OverBudget, UsageError
from pyke.graph.build import require_ids
from pyke.graph.graph import LITERAL, NO_CLUSTERS, Graph
from pyke.pipeline import spilling
from pyke.pipeline.budget import (
    HUB_RANGES,
    STAGE_BYTES,
    Holding,
    Sizes,
    disk_bytes,
    holding_of,
    scratch_bytes,
    writing_bytes,
)
from pyke.pipeline.embed import Run, find_clusters, find_forces
from pyke.read.find import text_bytes
from pyke.read.objects import Inputs
from pyke.simulation.anneal import planned_iterations, simulate, start_sweeps
from pyke.simulation.layouts import Layout

SAMPLE_BYTES = 1_000_000_000  # of text
PROBE_PARTICLES = 2_500_000  # at most, of a sample that a few iterations are measured on
PROBE_ITERATIONS = 3  # of which the first does not count
# A row of a larger array takes longer: so much more with each doubling of the particles. LUBM(500),
# ten times as large as what is measured, took 1.22 times as long per row. Rows of quarters of
# LUBM(100) to LUBM(1000) all took 52 to 54 ns, 2.85 times a row of the sample.
FURTHER_AWAY = 0.065
PROGRAM_SECONDS = 1.0  # CPU seconds to load the program and its kernels
WRITTEN_PER_SECOND = 400e6  # bytes of the output
WRITTEN_PER_CPU_SECOND = 1e9  # bytes, mostly for checksums
QUARTERS_FACTOR = 2.85  # an iteration on quarters, compared with one on complete rows
# CPU seconds of stages on disk, compared with those in memory: of reading, and of the springs.
# Those of reading grow with each doubling of the terms of a partition.
DICTIONARY_FACTOR, TRIPLES_FACTOR, SPRINGS_FACTOR = 0.6, 0.12, 1.5
LARGER_PARTITION, SMALL_PARTITION = 0.175, 200_000  # terms
TRANSFERS = 3  # of each quarter on disk in an iteration: read twice, written once
# Bytes of scratch files, if the system keeps most of them in its cache: a disk takes longer.
SCRATCH_PER_SECOND, SCRATCH_PER_CPU_SECOND = 4e9, 8e9


class Speed(NamedTuple):
    """CPU seconds to gather a row and to place a particle at the start, of this many particles."""

    row_seconds: float
    start_seconds: float
    particles: int


USUAL_SPEED = Speed(1 / 40e6, 5e-7, PROBE_PARTICLES)  # if it is not measured


@dataclass(frozen=True)
class StagePlan:
    """Estimated peak memory of the process during a stage, disk space, and duration."""

    name: str
    peak_bytes: int
    disk_bytes: int = 0  # checkpoints, scratch files and output so far, at most
    seconds: float = 0.0
    cpu_seconds: float = 0.0  # of all threads


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

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the run, of all threads, and of loading the program."""
        return PROGRAM_SECONDS + sum(stage.cpu_seconds for stage in self.stages)


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
    sample, read, speed = _sample(Run(inputs, unlimited, progress, share))
    sizes = sample.stages.sizes
    if read < total:
        smaller, smaller_read, its_speed = _sample(Run(inputs, unlimited, progress, share / 3))
        speed = speed or its_speed
        if smaller_read < read:
            sizes = sizes.grown(smaller.stages.sizes, read / smaller_read, total / read)
    times: dict[str, tuple[float, float]] = {}
    for stage in sample.stages.finished:
        seconds, cpu_seconds = times.get(stage.name, (0.0, 0.0))
        times[stage.name] = (
            seconds + stage.seconds * total / read,
            cpu_seconds + stage.cpu_seconds * total / read,
        )
    speed = speed or USUAL_SPEED
    layout, scratch = holding_of(sizes, config).layout, scratch_bytes(sizes, config)
    if spilling.is_spilled(sizes, config):
        layout, scratch = spilling.layout_of(sizes, config), spilling.scratch_bytes(sizes, config)
        times = _times_on_disk(times, sizes.terms // spilling.partitions_for(sizes, config))
    times["simulation"] = _simulation_seconds(sizes, config, speed, layout, scratch)
    output = writing_bytes(sizes, config)
    times["writing"] = output / WRITTEN_PER_SECOND, output / WRITTEN_PER_CPU_SECOND
    return _plan(sizes, config, times, read / total)


def _sample(run: Run) -> tuple[Run, int, Speed | None]:
    """The run after it counted its share of the input, the bytes that it read, and `_probe`."""
    graph = run.read()
    clusters = find_clusters(graph, run.stages) if run.config.clusters else NO_CLUSTERS
    springs, repellers = find_forces(graph, run.stages, clusters)
    run.stages.sizes = replace(run.stages.sizes, hub=_hub(graph), roles=_roles(graph))
    read = graph.census.bytes
    del graph
    small = springs.rows <= PROBE_PARTICLES
    return run, read, _probe(springs, repellers, run.config) if small else None


def _hub(graph: Graph) -> int:
    """Triples with objects of the busiest of HUB_RANGES ranges of terms."""
    linked = graph.objects[graph.objects != LITERAL].astype(np.int64)
    return int(np.bincount(linked * HUB_RANGES // len(graph.terms), minlength=1).max())


def _roles(graph: Graph) -> int:
    """Pairs of terms and their roles."""
    linked = graph.objects != LITERAL
    predicates = graph.predicate_positions.astype(np.int64) * len(graph.terms)
    subjects = np.unique(predicates + graph.subjects)
    return len(subjects) + len(np.unique((predicates + graph.objects)[linked]))


def _times_on_disk(
    times: Mapping[str, tuple[float, float]], terms: int
) -> dict[str, tuple[float, float]]:
    """Seconds and CPU seconds of the stages on disk; `terms` is the number of terms per partition.

    `times` are those in memory. After reading, one task runs after another, each on one core.
    """
    reading, springs, repellers = (
        times.get(name, (0.0, 0.0)) for name in ("reading", "springs", "repellers")
    )
    growth = 1 + LARGER_PARTITION * max(0.0, log2(max(1, terms) / SMALL_PARTITION))
    on_one_core = {
        "dictionary": DICTIONARY_FACTOR * growth * reading[1],
        "triples": TRIPLES_FACTOR * growth * reading[1],
        "springs": SPRINGS_FACTOR * (springs[1] + repellers[1]),
    }
    return {"reading": reading} | {name: (cpu, cpu) for name, cpu in on_one_core.items()}


class _Clock(Progress):
    """CPU time at the end of each iteration."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def iteration(self, *_: float) -> None:
        """Record the time."""
        self.times.append(time.process_time())


def _probe(springs: Matrix, repellers: Repellers, config: Config) -> Speed | None:
    """The speed of the simulation, measured in a few iterations."""
    clock = _Clock()
    settings = replace(
        config, init="normal", updates="simultaneous", repel_above=0.0, epsilon=0.0,
        energy_release=0.1, max_iterations=PROBE_ITERATIONS,
    )  # fmt: skip
    began = time.process_time()
    try:
        simulate(springs, repellers, settings, clock)
    except DivergedError:
        return None
    first, last = clock.times[0], clock.times[-1]
    iteration = (last - first) / (len(clock.times) - 1)
    rows = len(springs.columns) + int(repellers.counts.sum())
    start = max(0.0, first - began - iteration)
    return Speed(iteration / max(1, rows), start / springs.rows, springs.rows)


def _plan(
    sizes: Sizes, config: Config, times: Mapping[str, tuple[float, float]], share: float
) -> Plan:
    """The plan of all stages; `times` has the seconds and the CPU seconds of each.

    With clusters, springs, repellers and simulation have those of both simulations.
    """
    if spilling.is_spilled(sizes, config):
        needs, disk = spilling.stage_bytes(sizes, config), spilling.disk_bytes(sizes, config)
        layout = Holding(spilling.layout_of(sizes, config), graph_in_memory=False)
        holding = f"{layout.name}, in {spilling.partitions_for(sizes, config)} partitions"
    else:
        needs = {name: needed(sizes, config) for name, needed in STAGE_BYTES.items()}
        disk, holding = disk_bytes(sizes, config), holding_of(sizes, config).name
    stages = tuple(
        StagePlan(name, needed, disk[name], *times.get(name, (0.0, 0.0)))
        for name, needed in needs.items()
        if name != "clusters" or config.clusters
    )
    return Plan(sizes, stages, share, spilling.least_bytes(sizes, config), holding)


def _simulation_seconds(
    sizes: Sizes, config: Config, speed: Speed, layout: Layout, scratch: int
) -> tuple[float, float]:
    """Seconds and CPU seconds: the start, rows that are gathered, and scratch files."""
    doublings = max(0.0, log2(max(1, sizes.particles) / max(1, speed.particles)))
    factor = QUARTERS_FACTOR if layout.quarters else 1 + FURTHER_AWAY * doublings
    simulations = 2 if config.clusters else 1
    rounds = simulations * (planned_iterations(config) + start_sweeps(config))
    rows = sizes.springs + sizes.particles * config.repellers
    gathered = rounds * rows * speed.row_seconds * factor
    gathered += simulations * sizes.particles * speed.start_seconds
    moved = rounds * TRANSFERS * scratch
    return (
        gathered / config.threads + moved / SCRATCH_PER_SECOND,
        gathered + moved / SCRATCH_PER_CPU_SECOND,
    )


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
