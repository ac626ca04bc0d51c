"""Compiled loops around the force law: starts, moving particles, weighted means, rescaling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import float_kernel, kernel
from pyke.core.random import MOVE, START, random_bits


@kernel
def uniform_start(
    seed: np.uint64, dimensions: int, first: int, begin: int, end: int, out: NDArray[np.float32]
) -> None:
    """float32 out[begin:end, :dimensions] = uniform in [0, 1); the padding is 0.

    out[0] is the position of particle `first`.
    """
    for x in range(begin, end):
        for i in range(dimensions):
            bits = random_bits(seed, START, first + x, i)
            out[x, i] = np.float32(bits >> np.uint64(40)) * np.float32(2.0**-24)
        out[x, dimensions:] = 0


@kernel
def normal_start(
    seed: np.uint64, dimensions: int, first: int, begin: int, end: int, out: NDArray[np.float32]
) -> None:
    """float32 out[begin:end, :dimensions] = standard normal (Box–Muller); the padding is 0.

    out[0] is the position of particle `first`.
    """
    for x in range(begin, end):
        for i in range(0, dimensions, 2):
            bits = random_bits(seed, START, first + x, i)
            u = (np.float32(bits >> np.uint64(40)) + np.float32(1)) * np.float32(
                2.0**-24
            )  # in (0, 1]
            angle = np.float32((bits >> np.uint64(8)) & np.uint64(0xFFFFFF)) * np.float32(
                2.0 * np.pi * 2.0**-24
            )
            radius = np.sqrt(np.float32(-2) * np.log(u))
            out[x, i] = radius * np.cos(angle)
            if i + 1 < dimensions:
                out[x, i + 1] = radius * np.sin(angle)
        out[x, dimensions:] = 0


@float_kernel
def weighted_means(
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    sigma: NDArray[np.float32],
    begin: int,
    end: int,
    positions: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """float32 positions (particles, stride) → out[begin:end]; without springs the same position.

    out[x] = Σ σ(x, y) y / Σ σ(x, y) over P(x)
    """
    stride = positions.shape[1]
    total = np.empty(stride, np.float32)
    for x in range(begin, end):
        if offsets[x] == offsets[x + 1]:
            out[x] = positions[x]
            continue
        stiffness = np.float32(0)
        for i in range(stride):
            total[i] = 0
        for j in range(offsets[x], offsets[x + 1]):
            stiffness += sigma[j]
            for i in range(stride):
                total[i] += sigma[j] * positions[columns[j], i]
        for i in range(stride):
            out[x, i] = total[i] / stiffness


@kernel
def inner_products(
    positions: NDArray[np.float32], begin: int, end: int, out: NDArray[np.float64]
) -> None:
    """float32 positions (n, stride) → float64 out[begin:end]: rows of the products of dimensions.

    out[i, j] = Σ x_i x_j over all particles, in their order
    """
    for x in range(positions.shape[0]):
        for i in range(begin, end):
            factor = np.float64(positions[x, i])
            for j in range(out.shape[1]):
                out[i, j] += factor * positions[x, j]


@kernel
def cholesky(a: NDArray[np.float64]) -> None:
    """float64 a (d, d), symmetric → its lower triangle L with a = L Lᵀ, in place.

    A dimension that depends on earlier ones has L[j, j] = 0.
    """
    for j in range(a.shape[0]):
        square = a[j, j]
        for i in range(j):
            square -= a[j, i] * a[j, i]
        a[j, j] = np.sqrt(square) if square > 1e-9 * a[j, j] else 0.0
        for k in range(j + 1, a.shape[0]):
            rest = a[k, j]
            for i in range(j):
                rest -= a[k, i] * a[j, i]
            a[k, j] = rest / a[j, j] if a[j, j] > 0 else 0.0


@kernel
def solve_rows(
    triangle: NDArray[np.float64], begin: int, end: int, positions: NDArray[np.float32]
) -> None:
    """float32 positions[begin:end] ← y with L y = x; a dimension with L[j, j] = 0 becomes 0."""
    row = np.empty(triangle.shape[0], np.float64)
    for x in range(begin, end):
        for j in range(len(row)):
            rest = np.float64(positions[x, j])
            for i in range(j):
                rest -= triangle[j, i] * row[i]
            row[j] = rest / triangle[j, j] if triangle[j, j] > 0 else 0.0
            positions[x, j] = row[j]


@kernel
def draw_half(
    seed: np.uint64, iteration: int, first: int, begin: int, end: int, out: NDArray[np.bool_]
) -> None:
    """bool out[begin:end] = whether a particle moves in an iteration, with probability 1/2.

    out[0] is for particle `first`.
    """
    for x in range(begin, end):
        out[x] = random_bits(seed, MOVE, first + x, iteration) >> np.uint64(63) == 0


@float_kernel
def place_at_weighted_mean(
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    sigma: NDArray[np.float32],
    placed: NDArray[np.bool_],
    begin: int,
    end: int,
    positions: NDArray[np.float32],
    found: NDArray[np.bool_],
) -> None:
    """float32 positions of the rows begin … end that are not placed yet.

    x ← Σ σ(x, y) y / Σ σ(x, y) over the placed y in P(x); found[x] = whether there is any.
    """
    stride = positions.shape[1]
    total = np.empty(stride, np.float32)
    for x in range(begin, end):
        if placed[x]:
            continue
        stiffness = np.float32(0)
        for i in range(stride):
            total[i] = 0
        for j in range(offsets[x], offsets[x + 1]):
            y = columns[j]
            if placed[y]:
                stiffness += sigma[j]
                for i in range(stride):
                    total[i] += sigma[j] * positions[y, i]
        found[x] = stiffness > 0
        if found[x]:
            for i in range(stride):
                positions[x, i] = total[i] / stiffness


@float_kernel
def multiply(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    begin: int,
    end: int,
    out: NDArray[np.float64],
) -> None:
    """float64 out[begin:end] = first[begin:end] · second.

    Unlike those of BLAS, the sums do not depend on the number of threads.
    """
    for x in range(begin, end):
        out[x] = 0
        for j in range(second.shape[0]):
            for i in range(second.shape[1]):
                out[x, i] += first[x, j] * second[j, i]


@kernel
def min_and_max(
    positions: NDArray[np.float32], begin: int, end: int, out: NDArray[np.float32]
) -> None:
    """float32 out (2, stride) = minimum and maximum of each dimension over the rows begin … end."""
    out[0], out[1] = positions[begin], positions[begin]
    for x in range(begin + 1, end):
        for i in range(positions.shape[1]):
            out[0, i] = min(out[0, i], positions[x, i])
            out[1, i] = max(out[1, i], positions[x, i])


@kernel
def rescale(
    positions: NDArray[np.float32],
    minimum: NDArray[np.float32],
    width: NDArray[np.float32],
    begin: int,
    end: int,
) -> None:
    """Rescale each dimension of the rows begin … end to [0, 1]; a constant dimension becomes 0."""
    for x in range(begin, end):
        for i in range(positions.shape[1]):
            positions[x, i] = (positions[x, i] - minimum[i]) / width[i] if width[i] > 0 else 0
