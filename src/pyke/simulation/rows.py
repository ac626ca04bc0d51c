"""The simulation on complete rows of positions: two copies of them, before and after a step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import Floats
from pyke.core.parallel import parallel_for
from pyke.simulation import _kernels, forces

_STEPS: dict[str, Callable[..., None]] = {
    "radial": forces.step_radial,
    "elementwise": forces.step_elementwise,
}


class RowCloud:
    """Particles whose positions are complete rows."""

    def __init__(self, system: forces.System, positions: Floats, config: Config) -> None:
        self._system, self.positions, self._config = system, positions, config
        self._following = np.empty_like(positions)

    def overwrites(self, positions: object) -> bool:
        """Whether the next step writes to these positions; those of the last step are only read."""
        return positions is self._following

    def step(self, moves: NDArray[np.bool_], energy: float) -> NDArray[np.float64]:
        """Move particles at the same time; J and displacement of each block."""
        system, old, new = self._system._replace(moves=moves), self.positions, self._following
        sums = step(system, self._config, energy, old, new)
        self.positions, self._following = new, old
        return sums

    def end(self) -> Floats:
        """The final positions."""
        return self.positions

    def rescale(self) -> None:
        """Rescale each dimension to [0, 1]."""
        rescale(self.positions, bounds_of(self.positions), self._config.threads)


def step(
    system: forces.System, config: Config, energy: float, positions: Floats, following: Floats
) -> NDArray[np.float64]:
    """Move particles at the same time; return J before the move and the displacement by block."""
    system = at_energy(system, energy, config.repel_above)
    blocks = len(system.pool_offsets) - 1
    sums = np.zeros((blocks, 2), np.float64)
    move = _STEPS[config.repulsion]
    parallel_for(
        config.threads,
        blocks,
        lambda begin, end: move(system, np.float32(energy), begin, end, positions, following, sums),
    )
    return sums


def at_energy(system: forces.System, energy: float, repel_above: float) -> forces.System:
    """The system at an energy: particles do not repel each other below a limit."""
    return system._replace(omega=np.float32(0)) if energy < repel_above else system


def bounds_of(positions: Floats) -> Floats:
    """Minimum and maximum of each dimension."""
    bounds = np.empty((2, positions.shape[1]), np.float32)
    _kernels.min_and_max(positions, 0, len(positions), bounds)
    return bounds


def rescale(positions: Floats, bounds: Floats, threads: int) -> None:
    """Rescale each dimension from these bounds to [0, 1]."""
    parallel_for(
        threads,
        len(positions),
        lambda begin, end: _kernels.rescale(
            positions, bounds[0], bounds[1] - bounds[0], begin, end
        ),
    )
