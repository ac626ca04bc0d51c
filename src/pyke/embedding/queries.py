"""What a search for neighbours is given: names, ids or vectors, and which terms may be found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats, Ids
from pyke.errors import UnknownTerm, UsageError

if TYPE_CHECKING:
    from pyke.embedding.vectors import TermVectors


def query_vectors(
    embedding: TermVectors, queries: Sequence[str] | NDArray[Any]
) -> tuple[NDArray[np.int64], Floats]:
    """Return (the id of each query, or −1 for a vector; its vector)."""
    if isinstance(queries, str):
        raise UsageError(f"`queries` is {queries!r}; it must be a list of terms, or an array")
    if not isinstance(queries, np.ndarray) and all(isinstance(name, str) for name in queries):
        queries = _ids(embedding, queries)
    if isinstance(queries, np.ndarray) and queries.ndim == 1 and queries.dtype.kind in "iu":
        check_ids(embedding, queries)
        return queries.astype(np.int64), embedding.vectors[queries]
    vectors = as_vectors(embedding, queries)
    return np.full(len(vectors), -1, np.int64), vectors


def _ids(embedding: TermVectors, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the ids of terms, or raise the error of the first name that is not found."""
    lookup = embedding.lookup()
    found = lookup.find_all(names)
    for name, term in zip(names, found, strict=True):
        if not isinstance(term, int):
            lookup.find(name)  # raises the error with suggestions
    return np.array(found, np.int64)


def check_ids(embedding: TermVectors, ids: NDArray[Any]) -> None:
    """Raise UnknownTerm if an id is out of range."""
    if len(ids) and not 0 <= ids.min() <= ids.max() < len(embedding):
        raise UnknownTerm(
            f"ids of terms are 0 to {len(embedding) - 1:,}; got {ids.min()} to {ids.max()}"
        )


def as_vectors(embedding: TermVectors, rows: Any) -> Floats:
    """Return rows of numbers as vectors, or raise UsageError."""
    try:
        with np.errstate(over="ignore"):  # too large numbers become infinite, and are refused
            vectors = np.asarray(rows, np.float32)
    except (TypeError, ValueError):
        vectors = np.zeros(0, np.float32)
    width = embedding.dimensions
    if vectors.ndim != 2 or vectors.shape[1] != width or not np.isfinite(vectors).all():
        raise UsageError(f"pass names of terms, or vectors of {width} finite numbers")
    return vectors


def allowed_terms(embedding: TermVectors, among: str | None, predicates: bool) -> Ids | None:
    """Return the ids of the terms that may be neighbours, ascending; None for all."""
    if among is None:
        return embedding.predicates if predicates else None
    if predicates:
        raise UsageError("`among` and `predicates` exclude each other: predicates have no types")
    types = embedding.types
    return np.unique(types[types[:, 1] == embedding.lookup().find_class(among, types), 0])
