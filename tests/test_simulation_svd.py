"""The start from singular vectors, compared with numpy's decomposition of the same springs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import oracle
from pyke.config import Config
from pyke.core.arrays import Matrix
from pyke.simulation import anneal, svd

Block = NDArray[np.float64]


def springs_of(block: Block) -> Matrix:
    """Springs between terms (rows) and contexts (columns)."""
    terms, contexts = block.shape
    full = np.zeros((terms + contexts, terms + contexts))
    full[:terms, terms:], full[terms:, :terms] = block, block.T
    offsets = np.append(0, np.cumsum((full > 0).sum(axis=1))).astype(np.int64)
    columns = np.nonzero(full)[1].astype(np.int32)
    return Matrix(offsets, columns, full[full > 0].astype(np.float32))


def walk_of(springs: Matrix) -> Block:
    """Each row: the weights of a particle's neighbours, with the sum 1."""
    walk = np.zeros((springs.rows, springs.rows))
    for x in range(springs.rows):
        row = slice(springs.offsets[x], springs.offsets[x + 1])
        walk[x, springs.columns[row]] = springs.values[row] / springs.values[row].sum()
    return walk


def started(springs: Matrix, dimensions: int, threads: int = 2, seed: int = 0) -> Block:
    config = Config(init="svd", dimensions=dimensions, threads=threads, seed=seed)
    positions = anneal.start(springs, config)
    assert not positions[:, dimensions:].any(), "the padding is 0"
    return positions[:, :dimensions].astype(np.float64)


@given(
    terms=st.integers(5, 20), contexts=st.integers(5, 12), dimensions=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_the_start_keeps_as_much_as_the_leading_singular_vectors(
    terms: int, contexts: int, dimensions: int, seed: int
) -> None:
    """What springs leave of the start is compared with what they leave of the best start.

    All springs are positive, so the graph is connected and the first singular value is that of
    the mode in which all particles are alike.
    """
    drawn = np.random.default_rng(seed)
    springs = springs_of(drawn.uniform(0.01, 1, (terms, contexts)) ** 3)
    walk, sums = walk_of(springs), np.add.reduceat(springs.values, springs.offsets[:-1])
    rows = [{int(y): float(w) for y, w in enumerate(row) if w} for row in walk * sums[:, None]]
    best = sum(oracle.leading_singular_values(rows, terms)[1 : dimensions + 1])

    symmetric = np.sqrt(sums)[:, None] * walk / np.sqrt(sums)
    for rounds, share in ((svd.ROUNDS, 0.5), (40, 0.95)):
        positions = drawn.normal(size=(springs.rows, dimensions)).astype(np.float32)
        at = svd.leading_modes(springs, positions, dimensions, 2, rounds).astype(np.float64)
        at -= (sums @ at) / sums.sum()  # without the mode that all particles share
        basis = np.linalg.qr(at * np.sqrt(sums)[:, None])[0]
        kept = np.trace(basis.T @ symmetric @ basis)
        assert share * best < kept <= best + 1e-4


def test_the_start_is_the_subspace_of_the_singular_vectors_if_they_stand_out() -> None:
    """Four groups of terms with their own contexts: three modes tell them apart."""
    group = np.repeat(np.arange(4), 15)
    drawn = np.random.default_rng(1)
    block = (group[:, None] == np.repeat(np.arange(4), 6)) + 0.02 * drawn.uniform(size=(60, 24))
    springs = springs_of(block)
    values, vectors = np.linalg.eig(walk_of(springs))
    modes = vectors[:, np.argsort(-values.real)[1:4]].real
    modes = np.linalg.qr(modes - modes.mean(axis=0))[0]
    basis = np.linalg.qr(started(springs, 3))[0]
    cosines = np.linalg.svd(modes.T @ basis, compute_uv=False)
    assert cosines.min() > 0.999


def test_the_start_is_as_large_as_a_normal_one() -> None:
    at = started(springs_of(np.random.default_rng(0).uniform(size=(300, 90)) ** 4), 8)
    assert np.square(at).mean() == pytest.approx(1, rel=1e-4)
    assert at.mean(axis=0) == pytest.approx(np.zeros(8), abs=1e-5)


def test_terms_with_the_same_springs_start_at_the_same_position() -> None:
    block = np.random.default_rng(0).uniform(0.1, 1, (20, 9))
    at = started(springs_of(np.repeat(block, 2, axis=0)), 4)
    assert (at[0:40:2] == at[1:40:2]).all()


def test_dimensions_without_a_mode_are_zero() -> None:
    """Two terms and a context have two modes beside the one in which all are alike."""
    at = started(springs_of(np.array([[1.0], [2.0]])), 10)
    assert np.isfinite(at).all()
    assert not at[:, 2:].any()


def test_the_start_does_not_depend_on_the_number_of_threads() -> None:
    springs = springs_of(np.random.default_rng(0).uniform(size=(1500, 40)) ** 8)
    one, two, five = (started(springs, 20, threads) for threads in (1, 2, 5))
    assert one.tobytes() == two.tobytes() == five.tobytes()
    assert one.tobytes() != started(springs, 20, seed=1).tobytes()


def test_a_plan_counts_the_sweeps_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, sweep = [], svd._weighted_means

    def counted(springs: Matrix, *more: Any) -> None:
        calls.append(springs)
        sweep(springs, *more)

    monkeypatch.setattr(svd, "_weighted_means", counted)
    started(springs_of(np.ones((3, 2))), 2)
    assert len(calls) == anneal.start_sweeps(Config(init="svd"))
    assert anneal.start_sweeps(Config()) == 0
