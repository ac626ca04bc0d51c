"""Simulated annealing: forces move all particles in each iteration while the energy falls to 0."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import Floats, Matrix, Repellers
from pyke.core.parallel import parallel_for
from pyke.core.progress import Progress
from pyke.core.scratch import Scratch
from pyke.errors import DivergedError, Interrupted, UsageError
from pyke.simulation import _kernels, svd
from pyke.simulation.keeping import Cloud, Keeping
from pyke.simulation.keeping import Iteration as Iteration
from pyke.simulation.keeping import State as State
from pyke.simulation.keeping import checkpoint_interval as checkpoint_interval
from pyke.simulation.layouts import LAYOUTS, ROWS, Layout
from pyke.simulation.layouts import row_stride as row_stride
from pyke.simulation.quarters import ROWS_AT_ONCE, QuarterCloud, Quarters
from pyke.simulation.rows import RowCloud
from pyke.simulation.rows import bounds_of as bounds_of
from pyke.simulation.rows import rescale as rescale
from pyke.simulation.rows import step as step
from pyke.simulation.slabs import Slabs
from pyke.simulation.slabs import system_of as system_of

_STARTS: dict[str, Callable[..., None]] = {
    "normal": _kernels.normal_start,
    "uniform": _kernels.uniform_start,
    "svd": _kernels.normal_start,  # before the springs act on it
}


@dataclass(frozen=True)
class Result:
    """Final positions, the iterations, and the reason to stop."""

    positions: Any  # Floats (particles, stride) with padding of 0, or Quarters
    history: tuple[Iteration, ...]
    reason: str  # energy, iterations, displacement or objective

    def vectors(self, number: int, dimensions: int) -> Floats:
        """The positions of the first particles, without padding."""
        vectors = np.empty((number, dimensions), np.float32)
        for begin in range(0, number, ROWS_AT_ONCE):
            rows = slice(begin, min(number, begin + ROWS_AT_ONCE))
            vectors[rows] = self.positions[rows][:, :dimensions]
        return vectors

    def history_as_dicts(self) -> list[dict[str, Any]]:
        """The iterations, for the manifest."""
        return [asdict(iteration) for iteration in self.history]


def planned_iterations(config: Config) -> int:
    """Number of iterations until the energy is 0 or T is reached, without other stop rules."""
    number = 0
    while energy_of(number, config) > 0 and number < config.max_iterations:
        number += 1
    return number


def random_start(particles: int, config: Config, first: int = 0) -> Floats:
    """Random positions; those of a particle depend on its id and the seed only.

    The first row is that of particle `first`.
    """
    positions = np.empty((particles, row_stride(config.dimensions)), np.float32)
    draw, seed = _STARTS[config.init], np.uint64(config.seed)
    parallel_for(
        config.threads,
        particles,
        lambda begin, end: draw(seed, config.dimensions, first, begin, end, positions),
    )
    return positions


def start(springs: Matrix, config: Config) -> Floats:
    """The positions before the first iteration: random, or the leading modes of the springs."""
    positions = random_start(springs.rows, config)
    if config.init != "svd":
        return positions
    return svd.leading_modes(springs, positions, config.dimensions, config.threads)


def start_sweeps(config: Config) -> int:
    """How often the springs act on all particles before the first iteration."""
    return svd.SWEEPS if config.init == "svd" else 0


class Forces:
    """Springs and repellers as the simulation holds them, in memory or in scratch files."""

    def __init__(
        self,
        springs: Matrix,
        repellers: Repellers,
        config: Config,
        layout: Layout = ROWS,
        scratch: Scratch | None = None,
    ) -> None:
        self.layout, self.scratch, self.particles = layout, scratch or Scratch(), springs.rows
        if layout.quarters:
            parts, in_memory = [(springs, repellers)], layout.springs_in_memory
            self.slabs = Slabs(parts, config, in_memory, self.scratch)
        else:
            self.matrix, self.system = springs, system_of(springs, repellers, config)

    @classmethod
    def on_disk(
        cls, parts: Iterable[tuple[Matrix, Repellers]], config: Config, scratch: Scratch
    ) -> Forces:
        """Springs and repellers of particles that follow one another; each part begins a block."""
        forces = cls.__new__(cls)
        forces.layout, forces.scratch = LAYOUTS[-1], scratch
        forces.slabs = Slabs(parts, config, False, scratch)
        forces.particles = forces.slabs.particles
        return forces

    def cloud(self, state: State | None, config: Config) -> Cloud:
        """The particles at the positions of a state, or at the start."""
        stride = row_stride(config.dimensions)
        if not self.layout.quarters:
            positions = state.positions if state else start(self.matrix, config)
            if not isinstance(positions, np.ndarray):  # they are on disk
                stored, positions = positions, np.empty((self.particles, stride), np.float32)
                for begin in range(0, self.particles, ROWS_AT_ONCE):
                    rows = slice(begin, begin + ROWS_AT_ONCE)
                    positions[rows] = stored[rows]
            return RowCloud(self.system, positions, config)
        quarters = Quarters(self.particles, stride, self.layout.in_memory, self.scratch)
        for begin in range(0, self.particles, ROWS_AT_ONCE):
            size = min(ROWS_AT_ONCE, self.particles - begin)
            part = (
                state.positions[begin : begin + size]
                if state
                else random_start(size, config, begin)
            )
            quarters.set_rows(begin, part)
        return QuarterCloud(self.slabs, quarters, config)


def simulate(
    springs: Matrix,
    repellers: Repellers,
    config: Config,
    progress: Progress,
    state: State | None = None,
    keep: Callable[[State], None] | None = None,
    terms: int = 0,
) -> Result:
    """Run the simulation from a state, or from the start, until a rule stops it.

    `keep` receives states to resume from, every `config.checkpoint_seconds` and at interruption.
    The first particles are the `terms`; alternating updates move the others first.
    """
    return simulate_forces(Forces(springs, repellers, config), config, progress, state, keep, terms)


def simulate_forces(
    all_forces: Forces,
    config: Config,
    progress: Progress,
    state: State | None = None,
    keep: Callable[[State], None] | None = None,
    terms: int = 0,
) -> Result:
    """The same with forces that are in memory or in scratch files."""
    if config.updates == "alternating" and not 0 < terms < all_forces.particles:
        raise UsageError(
            "`updates` is 'alternating', but the springs have no contexts. "
            'Use `similarity="context"`, or other `updates`.'
        )
    cloud = all_forces.cloud(state, config)
    history = list(state.history) if state else []
    with Keeping(keep, all_forces.particles, config) as keeping:
        reason = _anneal(cloud, history, config, progress, keeping, terms)
    return Result(cloud.end(), tuple(history), reason)


def _anneal(
    cloud: Cloud,
    history: list[Iteration],
    config: Config,
    progress: Progress,
    keeping: Keeping,
    terms: int,
) -> str:
    """Move the particles until a rule stops the simulation; return the reason.

    Appends to `history`.
    """
    particles = cloud.positions.shape[0]
    while not (reason := reason_to_stop(history, config)):
        energy = energy_of(len(history), config)
        objective = displacement = 0.0
        for moves in _moving(len(history), particles, terms, config):
            keeping.before_step(cloud)
            sums = ordered_sum(cloud.step(moves, energy))
            objective, displacement = objective + sums[0], displacement + sums[1]
        if config.rescale:
            cloud.rescale()
        history.append(Iteration(energy, objective, displacement))
        require_finite(history, config)
        state = State(cloud.positions, tuple(history))
        try:
            progress.iteration(len(history), energy, objective, displacement)
        except Interrupted:
            keeping.now(state)
            raise
        keeping.if_due(state)
    return reason


def place_at_weighted_mean(
    springs: Matrix, positions: Floats, placed: NDArray[np.bool_], threads: int
) -> None:
    """Place particles at the weighted mean of their placed neighbours, in rounds.

    Updates `positions` and `placed`. Particles without a path to a placed one stay unplaced.
    Particles with the same springs get the same position to the bit, because repulsion would drive
    them far apart at a tiny distance.
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


def _moving(
    iteration: int, particles: int, terms: int, config: Config
) -> Iterator[NDArray[np.bool_]]:
    """The particles that move in an iteration; several groups of them move in turn."""
    moves = np.ones(particles, bool)
    if config.updates == "alternating":
        moves[:terms] = False
        yield moves
        moves = ~moves
    elif config.updates == "stochastic":
        seed = np.uint64(config.seed)
        parallel_for(
            config.threads,
            particles,
            lambda begin, end: _kernels.draw_half(seed, iteration, 0, begin, end, moves),
        )
    yield moves


def energy_of(iteration: int, config: Config) -> float:
    """E = 1 − iteration · Δe, and 0 for rounding errors."""
    energy = 1.0 - iteration * config.energy_release
    return energy if energy > 1e-12 else 0.0


def reason_to_stop(history: Sequence[Iteration], config: Config) -> str:
    """The rule that stops the simulation after these iterations, or nothing."""
    if energy_of(len(history), config) == 0:
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


def require_finite(history: Sequence[Iteration], config: Config) -> None:
    """Raise DivergedError if positions became infinite in the last iteration."""
    last = history[-1]
    if not math.isfinite(last.objective) or not math.isfinite(last.displacement):
        raise DivergedError(
            f"the simulation diverged in iteration {len(history)}: positions became "
            'infinite. Use `mass="stiffness"` (the default) or `rescale=True`, or set `omega` '
            f"below {config.omega}."
        )


def ordered_sum(sums: NDArray[np.float64]) -> tuple[float, float]:
    """Sums over blocks in their order, which do not depend on the number of threads."""
    return float(np.sum(sums[:, 0])), float(np.sum(sums[:, 1]))
