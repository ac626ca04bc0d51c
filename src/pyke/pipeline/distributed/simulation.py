"""The simulation of one partition: the kernels of one machine on the rows that it owns and needs.

A partition has the positions of its own particles, in complete blocks. Before each step it receives
the positions of others that its springs and pools need, the halo. These rows follow its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import BLOCK_ROWS, Floats, Ids, Matrix, Offsets, Repellers
from pyke.core.checks import check_finite, check_ids
from pyke.pipeline.partitions.job import OWN, Job, Result, stage
from pyke.pipeline.partitions.layout import Layout
from pyke.pipeline.partitions.pieces import Arrays, read_piece, write_pieces
from pyke.simulation import _kernels, anneal
from pyke.simulation.forces import System

Sums = NDArray[np.float64]


@dataclass(frozen=True)
class Partition:
    """What a partition needs in every iteration."""

    number: int
    system: System
    ranges: Offsets  # (n, 2): the particles of its rows
    halo_owners: Offsets  # of each row of the halo
    sent: dict[int, Ids]  # rows that each other partition needs

    def __sizeof__(self) -> int:
        """Bytes of its arrays: a task runs where most of its arguments are."""
        arrays = [*self.system, self.ranges, self.halo_owners, *self.sent.values()]
        return sum(one.nbytes for one in arrays if isinstance(one, np.ndarray))

    @property
    def rows(self) -> int:
        """Number of its own rows, including those that complete a block."""
        return len(self.system.offsets) - 1

    @property
    def particles(self) -> int:
        """Number of its own particles."""
        return int((self.ranges[:, 1] - self.ranges[:, 0]).sum())


@dataclass(frozen=True)
class State:
    """The positions of a partition, and what each of its blocks did in the last step."""

    positions: Floats  # (particles, dimensions)
    sums: Sums

    def __sizeof__(self) -> int:
        return int(self.positions.nbytes + self.sums.nbytes)


def load_partition(job: Job, number: int, particles: Layout) -> Partition:
    """Read springs, repellers, and the rows that others need."""
    arrays = job.read("forces", number)
    springs = Matrix(arrays["offsets"], arrays["columns"], arrays["values"])
    names = ("pool_offsets", "pool", "members", "counts")
    repellers = Repellers(*(arrays[name] for name in names))
    rows = springs.rows + len(arrays["halo_owners"])
    check_ids(springs.columns, 0, rows)
    check_ids(repellers.pool, 0, rows)
    system = anneal.system_of(springs, repellers, job.config)
    sent = {}
    for other, piece in enumerate(job.from_all("forces", job.partitions, number)):
        if len(piece["needed"]):
            sent[other] = particles.rows_of(piece["needed"], number).astype(np.int32)
    return Partition(number, system, arrays["ranges"], arrays["halo_owners"], sent)


def start(job: Job, partition: Partition) -> State:
    """The random start of the particles of a partition."""
    drawn = [
        anneal.random_start(int(end - begin), job.config, int(begin))[:, : job.config.dimensions]
        for begin, end in partition.ranges
    ]
    empty = np.empty((0, job.config.dimensions), np.float32)
    return State(np.ascontiguousarray(np.concatenate([empty, *drawn])), np.zeros((0, 2)))


def take(partition: Partition, state: State, other: int) -> Floats:
    """The positions that another partition needs."""
    return state.positions[partition.sent[other]]


def step(
    job: Job,
    partition: Partition,
    state: State,
    iteration: int,
    turn: int,
    terms: int,
    *pieces: Floats,
) -> State:
    """Move the particles of a partition; `pieces` are positions of others, by ascending owner.

    With alternating updates, an iteration has two turns.
    """
    config = job.config
    positions = np.zeros(
        (partition.rows + len(partition.halo_owners), anneal.row_stride(config.dimensions)),
        np.float32,
    )
    own = partition.particles
    positions[:own, : config.dimensions] = state.positions
    for other, piece in zip(np.unique(partition.halo_owners), pieces, strict=True):
        rows = partition.rows + np.flatnonzero(partition.halo_owners == other)
        positions[rows, : config.dimensions] = piece
    following = np.zeros((partition.rows, positions.shape[1]), np.float32)
    system = partition.system._replace(moves=_moves(partition, config, iteration, turn, terms))
    energy = anneal.energy_of(iteration, config)
    sums = anneal.step(system, config, energy, positions, following)
    return State(np.ascontiguousarray(following[:own, : config.dimensions]), sums)


def _moves(
    partition: Partition, config: Config, iteration: int, turn: int, terms: int
) -> NDArray[np.bool_]:
    """Which rows of a partition move; those that complete a block do not."""
    moves = np.zeros(partition.rows, bool)
    at = 0
    for begin, end in partition.ranges.tolist():
        part = moves[at : at + end - begin]
        at += end - begin
        if config.updates == "alternating":
            is_term = np.arange(begin, end) < terms
            part[:] = is_term if turn else ~is_term
        elif config.updates == "stochastic":
            seed = np.uint64(config.seed)
            _kernels.draw_half(seed, iteration, begin, 0, end - begin, part)
        else:
            part[:] = True
    return moves


def turns(config: Config) -> int:
    """How many groups of particles move in turn in an iteration."""
    return 2 if config.updates == "alternating" else 1


def add_sums(particles: Layout, *states: State) -> tuple[float, float]:
    """J and displacement of all blocks, added in the order of one machine."""
    blocks: list[tuple[int, Sums]] = []
    for owner, state in enumerate(states):
        at = 0
        for begin, end in particles.ranges_of(owner):
            count = -(-(end - begin) // BLOCK_ROWS)
            blocks.append((begin, state.sums[at : at + count]))
            at += count
    blocks.sort(key=lambda one: one[0])
    return anneal.ordered_sum(np.ascontiguousarray(np.concatenate([sums for _, sums in blocks])))


def sums_of(state: State) -> State:
    """The sums alone, which travel."""
    return replace(state, positions=np.empty((0, 0), np.float32))


# -- rescaling --------------------------------------------------------------------------------


def bounds_of(state: State) -> Floats:
    """Minimum and maximum of each dimension over the particles of a partition."""
    if not len(state.positions):
        return np.empty((0, 2, state.positions.shape[1]), np.float32)
    return anneal.bounds_of(state.positions)[None]


def rescale(state: State, *bounds: Floats) -> State:
    """Rescale each dimension to [0, 1], by the bounds of all partitions."""
    every = np.concatenate(bounds)
    whole = np.stack([every[:, 0].min(axis=0), every[:, 1].max(axis=0)])
    positions = state.positions.copy()
    if len(positions):
        anneal.rescale(positions, whole, 1)
    return replace(state, positions=positions)


# -- checkpoints ------------------------------------------------------------------------------


def save(job: Job, number: int, iteration: int, state: State) -> int:
    """Write the positions of a partition after an iteration."""
    pieces: dict[str, Arrays] = {OWN: {"positions": state.positions, "sums": state.sums}}
    return write_pieces(job.scratch, f"positions-{iteration}/{number}", pieces, {})


def restore(job: Job, partition: Partition, iteration: int) -> State:
    """Read the positions of a partition after an iteration."""
    name = f"positions-{iteration}/{partition.number}"
    arrays: Arrays = read_piece(job.scratch, name, OWN)
    check_finite(arrays["positions"])
    return State(arrays["positions"], arrays["sums"])


@stage
def vectors(
    _job: Job, _number: int, partition: Partition, state: State, terms: int
) -> tuple[dict[str, Arrays], Result]:
    """The final positions of the terms of a partition; a piece for each range of terms."""
    at, pieces = 0, {}
    for begin, end in partition.ranges.tolist():
        if begin < terms:
            found = state.positions[at : at + min(end, terms) - begin]
            pieces[str(begin)] = {"vectors": found}
        at += end - begin
    return pieces, {}
