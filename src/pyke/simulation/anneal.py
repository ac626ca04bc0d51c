"""The annealed iteration: forces move all particles at once, the energy falls, until the system rests."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import BLOCK_ROWS, Floats, Matrix, Repellers
from pyke.core.parallel import parallel_for
from pyke.core.progress import Progress
from pyke.errors import DivergedError, Interrupted
from pyke.simulation import _kernels, forces

CACHE_LINE = 16  # float32s: rows begin and end with a line of the cache

_STEPS: dict[str, Callable[..., None]] = {
    "radial": forces.step_radial,
    "elementwise": forces.step_elementwise,
}
_STARTS: dict[str, Callable[..., None]] = {
    "normal": _kernels.normal_start,
    "uniform": _kernels.uniform_start,
}


@dataclass(frozen=True)
class Iteration:
    """One iteration: the energy it moved with, J of the positions it began with, and how far all particles moved in sum."""

    energy: float
    objective: float
    displacement: float


@dataclass(frozen=True)
class State:
    """Positions, (particles, stride), after some iterations."""

    positions: Floats
    history: tuple[Iteration, ...]


@dataclass(frozen=True)
class Result:
    """Where the system came to rest, and why it stopped: energy, iterations, displacement or objective."""

    positions: Floats  # (particles, stride); the dimensions come first, zeros follow
    history: tuple[Iteration, ...]
    reason: str

    def history_as_dicts(self) -> list[dict[str, Any]]:
        """For the manifest."""
        return [asdict(iteration) for iteration in self.history]


def row_stride(dimensions: int) -> int:
    """Floats from one row to the next."""
    return -(-dimensions // CACHE_LINE) * CACHE_LINE


def planned_iterations(config: Config) -> int:
    """The iterations of a run that comes to no rest before: until the energy is spent, or T."""
    number = 0
    while _energy(number, config) > 0 and number < config.max_iterations:
        number += 1
    return number


def _new_positions(particles: int, config: Config) -> Floats:
    """Room for positions, of which every number is written before it is read."""
    return np.empty((particles, row_stride(config.dimensions)), np.float32)


def random_start(particles: int, config: Config) -> Floats:
    """Random positions, a function of the seed alone."""
    positions = _new_positions(particles, config)
    draw = _STARTS[config.init]
    parallel_for(
        config.threads,
        particles,
        lambda begin, end: draw(np.uint64(config.seed), config.dimensions, begin, end, positions),
    )
    return positions


def simulate(
    springs: Matrix,
    repellers: Repellers,
    config: Config,
    progress: Progress,
    state: State | None = None,
    keep: Callable[[State], None] | None = None,
) -> Result:
    """Runs until the energy is spent, T iterations are done, or the particles rest; `keep` is given states to go on from."""
    system = _system(springs, repellers, config)
    state = state or State(random_start(springs.rows, config), ())
    positions, history = state.positions, list(state.history)
    following = _new_positions(len(positions), config)
    kept = time.monotonic()
    while not (reason := _reason_to_stop(history, config)):
        energy = _energy(len(history), config)
        objective, displacement = _step(system, config, energy, positions, following)
        positions, following = following, positions
        if not math.isfinite(objective) or not math.isfinite(displacement):
            raise DivergedError(f"the positions left the finite numbers in iteration {len(history) + 1}. Use --mass stiffness (the default), "
                                f"or --rescale, or an omega below {config.omega}.")  # fmt: skip
        history.append(Iteration(energy, objective, displacement))
        try:
            progress.iteration(len(history), energy, objective, displacement)
        except Interrupted:
            if keep:
                keep(State(positions, tuple(history)))
            raise
        if keep and time.monotonic() - kept >= config.checkpoint_seconds:
            keep(State(positions, tuple(history)))
            kept = time.monotonic()
    return Result(positions, tuple(history), reason)


def place_at_weighted_mean(
    springs: Matrix, positions: Floats, placed: NDArray[np.bool_], threads: int
) -> None:
    """Puts particles that have no place yet to the weighted middle of what they are tied to, as soon as some of that has its place.

    Both arrays are filled in; what is tied to nothing that could be placed stays. The same ends give the same place, to the bit: a
    hair's breadth between two particles would later drive them apart without bound.
    """
    found = np.zeros(springs.rows, bool)

    def put(begin: int, end: int) -> None:
        _kernels.place_at_weighted_mean(
            springs.offsets, springs.columns, springs.values, placed, begin, end, positions, found
        )

    while not placed.all():
        parallel_for(threads, springs.rows, put)
        if not found.any():
            return
        placed |= found
        found[:] = False


def _energy(iteration: int, config: Config) -> float:
    """1, less Δe for every iteration done; what rounding leaves of it at the end is nothing."""
    energy = 1.0 - iteration * config.energy_release
    return energy if energy > 1e-12 else 0.0


def _reason_to_stop(history: list[Iteration], config: Config) -> str:
    if _energy(len(history), config) == 0:
        return "energy"
    if len(history) >= config.max_iterations:
        return "iterations"
    if history and history[-1].displacement < config.epsilon:
        return "displacement"
    if (
        config.stop_when_j_rises
        and len(history) > 1
        and history[-1].objective >= history[-2].objective
    ):
        return "objective"
    return ""


def _system(springs: Matrix, repellers: Repellers, config: Config) -> forces.System:
    """What the kernels need of the system; a particle's inertia is the sum of its springs' constants, or 1."""
    stiffness = np.zeros(springs.rows, np.float64)
    rows = np.flatnonzero(np.diff(springs.offsets))
    stiffness[rows] = (
        np.add.reduceat(springs.values, springs.offsets[rows], dtype=np.float64) if len(rows) else 0
    )
    inverse_inertia = np.ones(springs.rows, np.float32)
    if config.mass == "stiffness":
        inverse_inertia[rows] = 1.0 / stiffness[rows]
    return forces.System(
        offsets=springs.offsets,
        columns=springs.columns,
        sigma=springs.values,
        inverse_inertia=inverse_inertia,
        pool_offsets=repellers.pool_offsets,
        pool=repellers.pool,
        members=repellers.members,
        counts=repellers.counts,
        block_rows=BLOCK_ROWS,
        omega=np.float32(config.omega),
    )


def _step(
    system: forces.System, config: Config, energy: float, positions: Floats, following: Floats
) -> tuple[float, float]:
    """One simultaneous move of all particles; J before it, and the sum of the distances moved."""
    blocks = len(system.pool_offsets) - 1
    sums = np.zeros((blocks, 2), np.float64)
    step = _STEPS[config.repulsion]
    parallel_for(
        config.threads,
        blocks,
        lambda begin, end: step(system, np.float32(energy), begin, end, positions, following, sums),
    )
    if config.rescale:
        _rescale(following, config.threads)
    objective, displacement = _ordered_sum(sums)
    return objective, displacement


def _ordered_sum(sums: NDArray[np.float64]) -> tuple[float, float]:
    """Sums over blocks, in their order: the same for any number of threads."""
    return float(np.sum(sums[:, 0])), float(np.sum(sums[:, 1]))


def _rescale(positions: Floats, threads: int) -> None:
    """Moves every dimension into [0, 1]."""
    bounds = np.empty((2, positions.shape[1]), np.float32)
    _kernels.min_and_max(positions, 0, len(positions), bounds)
    parallel_for(
        threads,
        len(positions),
        lambda begin, end: _kernels.rescale(
            positions, bounds[0], bounds[1] - bounds[0], begin, end
        ),
    )
