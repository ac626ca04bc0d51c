"""Predict missing types from the nearest typed neighbours, each with its confidence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import NothingToScore, UsageError
from pyke.use.types.calibration import Calibration, calibrate
from pyke.use.types.predictions import Predictions
from pyke.use.types.votes import (
    REFERENCE_MU,
    TypeTable,
    require_classes,
    usable_mu,
    votes_of_neighbours,
)


def predict_types(
    embedding: Embedding,
    *,
    mu: int = REFERENCE_MU,
    min_confidence: float = 0.8,
    precision: float | None = None,
    only_untyped: bool = True,
    calibration: Calibration | None = None,
    exact: bool | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Predictions:
    """Predict the types of entities: terms that are neither predicates nor classes.

    Parameters
    ----------
    embedding
        The embedding, with its graph.
    mu
        Number of nearest typed subjects that vote (μ).
    min_confidence
        Drop predictions with a lower confidence, from 0 to 1.
    precision
        Use this instead of `min_confidence` to keep as many predictions as possible while this
        share of them is expected to be correct, from 0 to 1.
    only_untyped
        False also predicts further types of typed subjects. Their confidence is less reliable: it
        was measured on subjects of which no types were known.
    calibration
        The calibration of an earlier call with the same embedding and `mu`. Without it, at least
        one more embedding is made.
    exact
        True or False for an exact or an approximate search; by default the number of terms decides.
    threads
        Number of threads; by default all cores. The result does not depend on it.
    progress
        Receives progress reports.

    Examples
    --------
    >>> import pyke
    >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
    >>> found = predict_types(e, mu=2, only_untyped=False, min_confidence=0)
    >>> found.asked
    9
    """
    _require_share(min_confidence=min_confidence, precision=precision)
    progress = progress or Progress()
    config, graph = embedding.config(threads=threads), embedding.graph()
    table = TypeTable.of(graph.types)
    require_classes(table)
    usable_mu([mu], len(table) - 1)
    queries = _candidates(embedding, table, only_untyped)
    if calibration is None:
        calibration = calibrate(graph, config, mu, exact=exact, progress=progress)
    elif calibration.mu != mu:
        raise UsageError(f"`calibration` was measured with `mu={calibration.mu}`, not {mu}")

    progress.stage("types", len(queries), "subjects")
    found, neighbours = votes_of_neighbours(
        embedding.vectors, graph, table, queries, mu, config, exact=exact, progress=progress
    )
    subjects, classes = queries[found.queries], table.class_ids[found.classes]
    is_new = ~_are_stated(subjects, classes, embedding)
    counts = np.bincount(found.votes[is_new], minlength=mu + 1)
    min_votes = fewest_votes(counts, calibration, min_confidence, precision)
    kept = np.flatnonzero(is_new & (found.votes >= min_votes))
    kept = kept[np.lexsort((classes[kept], -found.votes[kept], subjects[kept]))]
    return Predictions(
        embedding,
        subjects[kept],
        classes[kept],
        found.votes[kept].astype(np.int32),
        calibration.confidences[found.votes[kept]],
        asked=len(queries),
        without_voters=len(queries) - len(np.unique(found.queries)),
        calibration=calibration,
        exact=neighbours.exact,
        recall=neighbours.recall,
    )


def _require_share(**parameters: float | None) -> None:
    for name, value in parameters.items():
        if value is not None and not 0 <= value <= 1:
            raise UsageError(f"`{name}` is {value}; it must be from 0 to 1")


def _candidates(embedding: Embedding, table: TypeTable, only_untyped: bool) -> Ids:
    """Ids of the terms to predict types for."""
    chosen = np.zeros(len(embedding), bool)
    chosen[embedding.entities] = True
    if only_untyped:
        chosen[embedding.types[:, 0]] = False
    else:
        chosen[table.subjects] = True  # a class can have a type itself
        chosen[embedding.predicates] = False
    if not chosen.any():
        raise NothingToScore(
            "every entity has a type already. Pass `only_untyped=False` to predict further types."
        )
    return np.flatnonzero(chosen).astype(np.int32)


def _are_stated(subjects: Ids, classes: Ids, embedding: Embedding) -> NDArray[np.bool_]:
    """Which pairs of subject and class are in the graph already."""
    stated, terms = embedding.types.astype(np.int64), len(embedding)
    return np.isin(subjects.astype(np.int64) * terms + classes, stated[:, 0] * terms + stated[:, 1])


def fewest_votes(
    counts: NDArray[np.int64],
    calibration: Calibration,
    min_confidence: float,
    precision: float | None,
) -> int:
    """Minimum number of votes for a prediction to be kept; μ + 1 if none is confident enough.

    counts[v] is the number of predictions with v votes.
    """
    if precision is None:
        enough = calibration.confidences >= min_confidence
    else:
        right, made = (
            np.cumsum(numbers[::-1])[::-1] for numbers in (calibration.confidences * counts, counts)
        )
        enough = (made > 0) & (right >= precision * made)
    return int(np.flatnonzero(enough)[0]) if enough.any() else calibration.mu + 1
