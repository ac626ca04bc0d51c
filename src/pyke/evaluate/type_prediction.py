"""Score how well the nearest neighbours of a subject predict its types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyke.core.arrays import Floats
from pyke.core.parallel import parallel_for
from pyke.core.progress import Progress
from pyke.use.neighbours.search import Neighbours, nearest_of_many
from pyke.use.types import _kernels as types_kernels
from pyke.use.types.votes import REFERENCE_MU, TypeTable, has_class, usable_mu, vote


@dataclass(frozen=True)
class Votes:
    """Scores of predicted classes: those that at least half of the neighbours have."""

    top_1: float  # fraction of the subjects that have the most frequent class of their neighbours
    micro_f1: float  # over all pairs of subject and class
    macro_f1: float  # mean over the classes that are predicted or true


@dataclass(frozen=True)
class TypePrediction:
    """The paper's score of type prediction for each number of neighbours (μ).

    A subject without a vector scores 0.
    """

    scores: dict[int, float]
    errors: dict[int, float]  # standard error of each score, over subjects
    asked: int  # number of subjects to predict
    without_vector: int
    ties: int  # subjects whose 10th and 11th neighbours are equally far away
    exact: bool
    recall: float
    votes: Votes | None = None


def score(
    vectors: Floats,
    known: TypeTable,
    withheld: TypeTable | None = None,
    *,
    mu: Sequence[int] | None = None,
    exact: bool | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> TypePrediction:
    """Predict types from those of the nearest known subjects, and score the prediction.

    Parameters
    ----------
    vectors : one row per term.
    known : subjects whose types are known.
    withheld : subjects whose types were withheld; subject −1 has no vector. Classes are positions
        in the same list as those of `known`. By default, each known subject is predicted from
        the others, which is the paper's protocol.
    mu : numbers of neighbours (μ).
    exact : exact neighbours, however many points there are.
    threads : number of threads.
    progress : receives progress.
    """
    sizes = usable_mu(mu, len(known) - (withheld is None))
    points = np.ascontiguousarray(vectors[known.subjects], np.float32)
    if withheld is None:
        truth, queries, own = known, points, np.arange(len(known))
    else:
        truth = withheld.rows(np.flatnonzero(withheld.subjects >= 0))
        queries, own = np.ascontiguousarray(vectors[truth.subjects], np.float32), None
    reach = min(max(*sizes, REFERENCE_MU + 1), len(known) - (withheld is None))
    found = nearest_of_many(
        points, queries, reach, own, exact=exact, threads=threads, progress=progress
    )
    each = np.empty((len(truth), len(sizes)))

    def score_part(begin: int, end: int) -> None:
        known_types, true_types = (known.offsets, known.classes), (truth.offsets, truth.classes)
        types_kernels.vote_scores(
            found.ids, *known_types, *true_types, np.array(sizes), begin, end, each
        )

    parallel_for(threads, len(truth), score_part)
    total = len(known if withheld is None else withheld)
    squares = found.squares
    each = np.concatenate([each, np.zeros((total - len(truth), len(sizes)))])
    return TypePrediction(
        scores=dict(zip(sizes, each.mean(axis=0).tolist(), strict=True)),
        errors=dict(zip(sizes, (each.std(axis=0) / np.sqrt(total)).tolist(), strict=True)),
        asked=total,
        without_vector=total - len(truth),
        ties=int((squares[:, REFERENCE_MU - 1] == squares[:, REFERENCE_MU]).sum())
        if reach > REFERENCE_MU
        else 0,
        exact=found.exact,
        recall=found.recall,
        votes=None if withheld is None else count_votes(found, known, truth, withheld),
    )


def count_votes(
    found: Neighbours, known: TypeTable, truth: TypeTable, withheld: TypeTable
) -> Votes:
    """Top-1 and F1 at μ = 10, or fewer neighbours; `truth` has the withheld rows with a vector."""
    mu, number = min(REFERENCE_MU, found.ids.shape[1]), len(known.class_ids)
    who, classes, votes = vote(found.ids[:, :mu], known)
    right = has_class(truth, who, classes)
    # The most frequent class of each subject comes first; ties are broken by id.
    order = np.lexsort((classes, -votes, who))
    first = order[np.append(True, np.diff(who[order]) != 0)] if len(order) else order
    predicted = votes * 2 >= mu
    hits = np.bincount(classes[predicted & right], minlength=number)
    predicted_and_true = np.bincount(
        np.concatenate([classes[predicted], withheld.classes]), minlength=number
    )
    counted = predicted_and_true > 0
    return Votes(
        top_1=float(right[first].sum() / len(withheld)),
        micro_f1=float(2 * hits.sum() / predicted_and_true.sum()),
        macro_f1=float(np.mean(2 * hits[counted] / predicted_and_true[counted])),
    )
