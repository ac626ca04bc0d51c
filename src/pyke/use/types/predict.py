"""Types that subjects lack, predicted from their nearest typed neighbours, with the chance that each is right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import NothingToScore, UsageError
from pyke.use.types.calibration import Calibration, calibrate, hold_ballot
from pyke.use.types.predictions import Predictions
from pyke.use.types.votes import REFERENCE_MU, TypeTable, require_classes, usable_mu


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
    """Predicts the types of terms that have none: entities, not predicates and not classes.

    Parameters
    ----------
    mu : how many of the nearest typed subjects vote.
    min_confidence : predictions less likely to be right are left out.
    precision : instead of min_confidence: as many predictions as there can be, so that this part of them should be right.
    only_untyped : False asks typed subjects for further types, too; their confidence supposes that none of their types were known.
    calibration : of an earlier call with the same embedding and μ; it takes at least one more embedding.
    """
    _check(min_confidence, precision)
    progress = progress or Progress()
    config = embedding.config(threads=threads)
    graph = embedding.graph()
    table = TypeTable.of(graph.types)
    require_classes(table)
    usable_mu([mu], len(table) - 1)
    asked = _candidates(embedding, table, only_untyped)
    if calibration is None:
        calibration = calibrate(graph, config, mu, exact=exact, progress=progress)
    elif calibration.mu != mu:
        raise UsageError(f"the calibration is for {calibration.mu} neighbours, not for {mu}")

    progress.stage("types", len(asked), "subjects")
    ballot = hold_ballot(
        embedding.vectors, graph, table, asked, mu, config, exact=exact, progress=progress
    )
    subjects, classes, votes = asked[ballot.who], table.class_ids[ballot.classes], ballot.votes
    new = ~_stated(subjects, classes, embedding.types, len(embedding))
    fewest = fewest_votes(
        np.bincount(votes[new], minlength=mu + 1), calibration, min_confidence, precision
    )
    kept = np.flatnonzero(new & (votes >= fewest))
    kept = kept[np.lexsort((classes[kept], -votes[kept], subjects[kept]))]
    return Predictions(
        embedding, subjects[kept], classes[kept], votes[kept].astype(np.int32), calibration.confidences[votes[kept]],
        asked=len(asked), without_voters=len(asked) - len(np.unique(ballot.who)), calibration=calibration,
        exact=ballot.neighbours.exact, recall=ballot.neighbours.recall,
    )  # fmt: skip


def _check(min_confidence: float, precision: float | None) -> None:
    for name, value in (("min_confidence", min_confidence), ("precision", precision)):
        if value is not None and not 0 <= value <= 1:
            raise UsageError(f"{name} is {value}; it must be from 0 to 1")


def _candidates(embedding: Embedding, table: TypeTable, only_untyped: bool) -> Ids:
    """Terms to ask: no predicates, no classes, and no typed subjects unless they are wanted."""
    asked = np.zeros(len(embedding), bool)
    asked[embedding.entities] = True
    if only_untyped:
        asked[embedding.types[:, 0]] = False
    else:
        asked[table.subjects] = True  # a class may have a type itself
    asked[embedding.predicates] = False
    if not asked.any():
        raise NothingToScore(
            "every subject has a type already, so that there is nothing to predict; --also-typed asks for further types"
        )
    return np.flatnonzero(asked).astype(np.int32)


def _stated(subjects: Ids, classes: Ids, types: Ids, terms: int) -> NDArray[np.bool_]:
    """Which pairs the graph has already."""
    return np.isin(
        subjects.astype(np.int64) * terms + classes,
        types[:, 0].astype(np.int64) * terms + types[:, 1],
    )


def fewest_votes(
    counts: NDArray[np.int64],
    calibration: Calibration,
    min_confidence: float,
    precision: float | None,
) -> int:
    """The votes from which on predictions are confident enough; μ + 1 if none are."""
    if precision is None:
        enough = calibration.confidences >= min_confidence
    else:
        right, made = (
            np.cumsum(numbers[::-1])[::-1] for numbers in (calibration.confidences * counts, counts)
        )
        enough = (made > 0) & (right >= precision * made)
    return int(np.flatnonzero(enough)[0]) if enough.any() else calibration.mu + 1
