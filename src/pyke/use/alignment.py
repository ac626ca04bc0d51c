"""Compare two embeddings of the same graph: turn and scale one to fit the other.

Two runs differ by a rotation, a mirror image and a scale that mean nothing. The rotation that fits
best (Procrustes) removes them; what remains is how far each term moved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats, Ids
from pyke.embedding.embedding import Embedding
from pyke.errors import DataError

ROWS_AT_ONCE = 1 << 16
MIN_COMMON = 3


@dataclass(frozen=True, eq=False)
class Alignment:
    """The terms of both embeddings, and the other vectors turned and scaled to fit.

    Attributes
    ----------
    ids, other_ids
        The common terms in each embedding, ascending in the first.
    vectors
        The vectors of the other embedding for these terms, aligned.
    moved
        How far each common term is from its place in the other, in units of the root mean square
        distance of all terms from their mean.
    error
        The root mean square of `moved`: 0 for equal embeddings, about 1.4 for unrelated ones.
    only_here, only_there
        Number of terms that one embedding lacks.
    """

    ids: Ids
    other_ids: Ids
    vectors: Floats
    moved: Floats
    error: float
    only_here: int
    only_there: int


def align(embedding: Embedding, other: Embedding) -> Alignment:
    """Align another embedding with one.

    Examples
    --------
    >>> import pyke
    >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
    >>> round(align(e, e).error, 3)
    0.0
    """
    places = {term: at for at, term in enumerate(other.terms)}
    found = np.array([places.get(term, -1) for term in embedding.terms], np.int32)
    ids = np.flatnonzero(found >= 0).astype(np.int32)
    if len(ids) < MIN_COMMON:
        raise DataError(
            f"the two embeddings have {len(ids)} terms in common: they are of different graphs"
        )
    there = found[ids]
    a, b = embedding.vectors[ids], other.vectors[there]
    (a_mean, a_size), (b_mean, b_size) = _spread(a), _spread(b)
    turn = _rotation(a, a_mean, b, b_mean)
    aligned = np.concatenate(
        [
            ((b[at : at + ROWS_AT_ONCE] - b_mean) * (a_size / (b_size or 1.0))) @ turn + a_mean
            for at in range(0, len(b), ROWS_AT_ONCE)
        ]
    ).astype(np.float32)
    moved = np.sqrt(np.einsum("ij,ij->i", a - aligned, a - aligned)) / (a_size or 1.0)
    error = float(np.sqrt((moved.astype(np.float64) ** 2).mean()))
    only_here, only_there = len(embedding) - len(ids), len(other) - len(ids)
    return Alignment(ids, there, aligned, moved.astype(np.float32), error, only_here, only_there)


def _spread(vectors: Floats) -> tuple[NDArray[np.float64], float]:
    """Mean, and root mean square distance from it."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    squares = sum(
        float(((vectors[at : at + ROWS_AT_ONCE] - mean) ** 2).sum())
        for at in range(0, len(vectors), ROWS_AT_ONCE)
    )
    return mean, float(np.sqrt(squares / len(vectors)))


def _rotation(
    a: Floats, a_mean: NDArray[np.float64], b: Floats, b_mean: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The orthogonal matrix that turns b to a; also between different numbers of dimensions."""
    product = np.zeros((b.shape[1], a.shape[1]))
    for at in range(0, len(a), ROWS_AT_ONCE):
        rows = slice(at, at + ROWS_AT_ONCE)
        product += (b[rows] - b_mean).T @ (a[rows] - a_mean)
    left, _, right = np.linalg.svd(product, full_matrices=False)
    turn: NDArray[np.float64] = left @ right
    return turn
