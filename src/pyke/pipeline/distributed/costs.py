"""What a run on many workers costs: a model whose constants `bench/cost_model.py` measures.

Each stage has a unit, such as triples. CPU seconds, bytes that its tasks write for others, and the
memory of a task grow with the number of units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from pyke.config import Config, format_size
from pyke.core.arrays import BLOCK_ROWS
from pyke.errors import OverBudget, UsageError
from pyke.graph.build import MAX_ID
from pyke.simulation.anneal import planned_iterations, row_stride
from pyke.springs.repellers import pool_size

PROGRAM_BYTES = 260_000_000  # of a worker before its first task
LEAST_BYTES = 1.1 * PROGRAM_BYTES  # no worker can do with less
TASK_SECONDS = 0.0012  # of the scheduler, per task
NETWORK = 1_000_000_000  # bytes per second and worker, for exchanges and shared storage


@dataclass(frozen=True)
class Cost:
    """Costs of one unit of a stage."""

    unit: str
    cpu_seconds: float
    written_bytes: float  # for other tasks
    memory_bytes: float  # of a task, per unit in its partition


COSTS = {
    "read": Cost("text_bytes", 6.3e-9, 0.245, 0.16),
    "merge": Cost("terms", 7.1e-7, 9.0, 351.0),
    "number": Cost("terms", 1.9e-7, 76.6, 87.0),
    "resolve": Cost("terms", 1.2e-8, 4.0, 19.0),
    "send": Cost("triples", 7.9e-8, 12.6, 32.0),
    "arrange": Cost("triples", 1.6e-7, 26.1, 73.0),
    "count": Cost("triples", 7.8e-8, 18.1, 35.0),
    "events": Cost("pairs", 1.9e-7, 24.0, 41.0),
    "forces": Cost("pairs", 2.7e-7, 16.9, 81.0),
}
# CPU seconds of the simulation: per row that it gathers, byte that it receives, and task. Rows are
# not from the last fit: half of the positions of LUBM(5) and LUBM(10) are in the cache (2.8e-8).
ROW_SECONDS, HALO_SECONDS, STEP_SECONDS = 4.15e-8, 2.5e-9, 0.001
# Rows that the springs of a partition need from others: HALO_FACTOR · rows ** HALO_EXPONENT.
HALO_FACTOR, HALO_EXPONENT = 59.5, 0.409

# Counts of a graph of which only triples and terms are known; those of LUBM(20).
TEXT_PER_TRIPLE = 264.0
TRIPLES_PER_TERM = 4.1
CONTEXTS_PER_TRIPLE = 0.238
PAIRS_PER_TRIPLE = 2.14
SPRINGS_PER_PAIR = 1.49


@dataclass(frozen=True)
class Counts:
    """The counts that decide the costs."""

    triples: float
    terms: float
    text_bytes: float
    pairs: float
    particles: float
    springs: float

    @classmethod
    def like_lubm(cls, triples: float, terms: float) -> Counts:
        """A graph whose other counts are in the proportions of LUBM."""
        pairs = PAIRS_PER_TRIPLE * triples
        return cls(
            triples=triples,
            terms=terms,
            text_bytes=TEXT_PER_TRIPLE * triples,
            pairs=pairs,
            particles=terms + CONTEXTS_PER_TRIPLE * triples,
            springs=SPRINGS_PER_PAIR * pairs,
        )

    def with_springs(self, pairs: float, particles: float, springs: float) -> Counts:
        """The same graph with known counts of springs."""
        return replace(self, pairs=pairs, particles=particles, springs=springs)


@dataclass(frozen=True)
class StageCost:
    """One stage on all workers."""

    name: str
    seconds: float
    memory_bytes: float  # of each worker
    exchanged_bytes: float  # of all workers


@dataclass(frozen=True)
class ClusterPlan:
    """The stages of a run on some workers."""

    counts: Counts
    workers: int
    partitions: int
    stages: tuple[StageCost, ...]
    halo_bytes: float  # per iteration, as local as LUBM
    worst_halo_bytes: float  # per iteration, if every spring leads to another partition
    all_gather_bytes: float  # per iteration, if every worker got all positions
    wide_ids: bool  # whether ids need 64 bits

    @property
    def seconds(self) -> float:
        """Duration of the run."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def memory_bytes(self) -> float:
        """Memory of each worker."""
        return max(stage.memory_bytes for stage in self.stages)


def halo_rows(counts: Counts, config: Config, partitions: int) -> tuple[float, float]:
    """Rows that a partition needs from others: as local as LUBM, and at worst."""
    own, others = counts.particles / partitions, 1 - 1 / partitions
    pools = own / BLOCK_ROWS * pool_size(int(counts.particles), config.repellers) * others
    worst = min(others * counts.particles, pools + others * counts.springs / partitions)
    near = HALO_FACTOR * own**HALO_EXPONENT if partitions > 1 else 0.0
    return min(worst, pools + near), worst


def partitions_for(counts: Counts, workers: int, memory: float | None) -> int:
    """A partition per worker, or several, so that the tasks of all stages fit into the memory.

    The simulation holds all partitions of a worker at the same time.
    """
    if memory is None or memory <= PROGRAM_BYTES:
        return workers
    needed: float = max(
        cost.memory_bytes * getattr(counts, cost.unit) * _id_factor(counts)
        for cost in COSTS.values()
    )
    return workers * max(1, ceil(needed / workers / (memory - PROGRAM_BYTES)))


def _id_factor(counts: Counts) -> int:
    """How much longer ids are than 32 bits; an upper bound for all bytes, most of which are ids."""
    return 2 if counts.particles > MAX_ID else 1


def plan_cluster(
    counts: Counts,
    config: Config,
    workers: int,
    memory: float | None = None,
    network: float = NETWORK,
) -> ClusterPlan:
    """Estimate time, memory and exchanged bytes of a run on workers with one thread each.

    With `memory` of a worker, there are several partitions per worker if necessary.
    """
    if workers < 1:
        raise UsageError(f"`workers` is {workers}; it must be at least 1")
    ids, partitions = _id_factor(counts), partitions_for(counts, workers, memory)
    stages = []
    for name, cost in COSTS.items():
        units = getattr(counts, cost.unit)
        written = cost.written_bytes * units * ids
        seconds = (cost.cpu_seconds * units + 2 * written / network) / workers
        peak = PROGRAM_BYTES + cost.memory_bytes * units * ids / partitions
        stages.append(StageCost(name, seconds, peak, written))
    halo, worst = halo_rows(counts, config, partitions)
    row = 4 * config.dimensions
    stages.append(_simulation(counts, config, workers, partitions, network))
    vectors = row * counts.terms + 0.5 * counts.text_bytes + 12 * ids * counts.triples
    writing = PROGRAM_BYTES + (row + 150) * counts.particles / partitions
    stages.append(StageCost("writing", 2 * vectors / network, writing, vectors))
    return ClusterPlan(
        counts,
        workers,
        partitions,
        tuple(stages),
        halo_bytes=row * halo * partitions,
        worst_halo_bytes=row * worst * partitions,
        all_gather_bytes=row * counts.particles * (workers - 1),
        wide_ids=ids > 1,
    )


def simulation_tasks(partitions: int, needed: float) -> int:
    """Tasks of an iteration; `needed` are the rows that a partition needs from others."""
    return partitions * min(partitions - 1, ceil(needed)) + 2 * partitions + 1


def simulation_cpu(counts: Counts, config: Config, partitions: int, needed: float) -> float:
    """CPU seconds of all workers, for all iterations."""
    gathered = counts.springs + config.repellers * counts.particles
    received = 4 * config.dimensions * needed * partitions
    return planned_iterations(config) * (
        ROW_SECONDS * gathered
        + HALO_SECONDS * received
        + STEP_SECONDS * simulation_tasks(partitions, needed)
    )


def _simulation(
    counts: Counts, config: Config, workers: int, partitions: int, network: float
) -> StageCost:
    """All iterations: what workers compute, what travels, and the tasks of the scheduler."""
    iterations, ids = planned_iterations(config), _id_factor(counts)
    needed = halo_rows(counts, config, partitions)[0]
    halo = needed * partitions / workers
    own, springs = counts.particles / workers, counts.springs / workers
    row, stride = 4 * config.dimensions, 4 * row_stride(config.dimensions)
    travel = row * halo / network + TASK_SECONDS * simulation_tasks(partitions, needed)
    seconds = simulation_cpu(counts, config, partitions, needed) / workers + iterations * travel
    positions = own * (2 * stride + 2 * row) + halo * (stride + 2 * row)
    forces = (4 * ids + 4) * springs + (20 + 2 * config.repellers + 4 * ids / 4) * own
    exchanged = iterations * row * halo * workers
    return StageCost("simulation", seconds, PROGRAM_BYTES + positions + forces, exchanged)


def check_least_memory(memory: int, name: str) -> None:
    """Raise OverBudget if a worker could not even start; `name` is that of the parameter."""
    if memory <= LEAST_BYTES:
        raise OverBudget(
            f"a worker needs more than {format_size(LEAST_BYTES)}; "
            f"`{name}` is {format_size(memory)}."
        )


def check_memory(
    plan: ClusterPlan, config: Config, memory: int, name: str = "memory_per_worker"
) -> None:
    """Raise OverBudget if workers have less memory than a plan needs; it says what would do.

    `name` is that of the parameter.
    """
    if plan.memory_bytes <= memory:
        return
    check_least_memory(memory, name)
    workers = plan.workers
    while plan_cluster(plan.counts, config, workers, memory).memory_bytes > memory:
        workers = ceil(1.1 * workers)
    raise OverBudget(
        f"each of {plan.workers:,} workers needs {format_size(plan.memory_bytes)} of memory; "
        f"`{name}` is {format_size(memory)}. "
        f"Use `workers={workers}` or more, or workers with more memory."
    )
