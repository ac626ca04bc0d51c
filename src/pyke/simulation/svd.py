"""Start from the slowest modes of the springs, which are singular vectors of the springs.

Springs alone move each particle towards the weighted mean of its neighbours. This damps every mode
of the cloud, and those that link terms with their contexts most closely are damped least. They are
the leading singular vectors of the springs between terms and contexts, each row and column divided
by the root of its sum. Subspace iteration finds them: let the springs act, make the dimensions
orthonormal, and repeat (Halko, Martinsson and Tropp, 2011).
"""

from __future__ import annotations

import numpy as np

from pyke.core.arrays import Floats, Matrix
from pyke.core.parallel import parallel_for
from pyke.simulation import _kernels

ROUNDS = 4
SWEEPS_PER_ROUND = 2
SWEEPS = ROUNDS * SWEEPS_PER_ROUND + 1  # over all springs


def leading_modes(
    springs: Matrix, positions: Floats, dimensions: int, threads: int, rounds: int = ROUNDS
) -> Floats:
    """Positions in the leading modes of the springs, from random ones, which are overwritten.

    The mean square of a coordinate is 1, as in a normal start. Particles with the same springs get
    the same position to the bit, because repulsion would drive them far apart at a tiny distance.
    If there are fewer modes than dimensions, the last dimensions are 0.
    """
    means = np.empty_like(positions)
    for _ in range(rounds):
        for _ in range(SWEEPS_PER_ROUND):
            _weighted_means(springs, positions, threads, means)
            positions += means  # half the way: no mode changes its sign
            positions *= np.float32(0.5)
        _orthonormalise(positions, dimensions, threads)
    _weighted_means(springs, positions, threads, means)
    used = means[:, :dimensions]
    used -= used.mean(axis=0, dtype=np.float64)
    square = np.einsum("xi,xi->", used, used, dtype=np.float64) / used.size
    if square > 0:
        used *= np.float32(1 / np.sqrt(square))
    return means


def _weighted_means(springs: Matrix, positions: Floats, threads: int, out: Floats) -> None:
    """The weighted mean of the neighbours of each particle."""

    def sweep(begin: int, end: int) -> None:
        _kernels.weighted_means(
            springs.offsets, springs.columns, springs.values, begin, end, positions, out
        )

    parallel_for(threads, springs.rows, sweep)


def _orthonormalise(positions: Floats, dimensions: int, threads: int) -> None:
    """Make the mean of each dimension 0 and all dimensions orthonormal, in place.

    All sums are in the order of the particles, so the number of threads cannot change a bit.
    """
    positions[:, :dimensions] -= positions[:, :dimensions].mean(axis=0, dtype=np.float64)
    products = np.zeros((dimensions, dimensions), np.float64)
    parallel_for(
        threads,
        dimensions,
        lambda begin, end: _kernels.inner_products(positions, begin, end, products),
    )
    _kernels.cholesky(products)
    parallel_for(
        threads,
        len(positions),
        lambda begin, end: _kernels.solve_rows(products, begin, end, positions),
    )
