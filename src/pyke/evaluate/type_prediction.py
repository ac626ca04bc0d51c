"""Score how well the nearest neighbours of a subject predict its types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats, Ids, Matrix
from pyke.core.parallel import parallel_for
from pyke.core.progress import Progress
from pyke.use.neighbours.search import Neighbours, nearest_of_many
from pyke.use.types import _kernels as types_kernels
from pyke.use.types.votes import REFERENCE_MU, TypeTable, has_class, usable_mu, vote


@dataclass(frozen=True)
class Votes:
    """Scores of predicted classes: those that at least half of the neighbours have.

    Methods without neighbours predict the classes whose scores are at least one half.
    """

    top_1: float  # fraction of the subjects whose first class, by votes or scores, is right
    micro_f1: float  # over all pairs of subject and class
    macro_f1: float  # mean over the classes that are predicted or true
    mu: int | None = None  # neighbours that vote; methods without neighbours have none


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


@dataclass(frozen=True)
class DirectPrediction:
    """Scores of types that were predicted without neighbours: there is no μ."""

    score: float  # mean cosine of the true types and the scores of classes
    error: float  # standard error of it, over subjects
    asked: int
    without_scores: int  # subjects without a class of positive score; they score 0
    votes: Votes


def score_classes(found: Matrix, truth: TypeTable) -> DirectPrediction:
    """Score predicted classes.

    Parameters
    ----------
    found : a row per subject of `truth` that has an id; the columns are term ids of classes.
    truth : all subjects with their types; subject −1 is not in the graph and scores 0.
    """
    asked = truth.rows(np.flatnonzero(truth.subjects >= 0))
    who = np.repeat(np.arange(len(asked)), np.diff(found.offsets))
    by_id = np.argsort(truth.class_ids, kind="stable")
    at = np.searchsorted(truth.class_ids, found.columns, sorter=by_id)
    classes, values = by_id[at].astype(np.int32), found.values.astype(np.float64)
    right = has_class(asked, who, classes)
    products = np.bincount(who[right], values[right], len(asked))
    squares = np.bincount(who, values**2, len(asked)) * np.diff(asked.offsets)
    each = np.zeros(len(truth))
    each[: len(asked)] = products / np.sqrt(np.where(squares > 0, squares, 1))
    return DirectPrediction(
        score=float(each.mean()),
        error=float(each.std() / np.sqrt(len(truth))),
        asked=len(truth),
        without_scores=len(truth) - int((squares > 0).sum()),
        votes=_count((who, classes, values), right, values >= 0.5, truth),
    )


def score(
    vectors: Floats,
    known: TypeTable,
    withheld: TypeTable | None = None,
    *,
    mu: Sequence[int] | None = None,
    most: int | None = None,
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
    most : predict at most this many subjects, evenly spaced; all by default.
    exact : exact neighbours, however many points there are.
    threads : number of threads.
    progress : receives progress.
    """
    sizes = usable_mu(mu, len(known) - (withheld is None))
    points = np.ascontiguousarray(vectors[known.subjects], np.float32)
    asked = evenly_spaced(known if withheld is None else withheld, most)
    truth = asked.rows(np.flatnonzero(asked.subjects >= 0))
    queries = np.ascontiguousarray(vectors[truth.subjects], np.float32)
    own = _spaced(len(known), most) if withheld is None else None
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
    total = len(asked)
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
        votes=None if withheld is None else count_votes(found, known, truth, asked),
    )


def evenly_spaced(table: TypeTable, most: int | None) -> TypeTable:
    """At most this many subjects of a table; all by default."""
    return table.rows(_spaced(len(table), most))


def _spaced(number: int, most: int | None) -> NDArray[np.int64]:
    """At most this many positions below a number; all by default."""
    few = number if most is None else min(number, most)
    return np.linspace(0, number - 1, few).astype(np.int64)


def count_votes(
    found: Neighbours, known: TypeTable, truth: TypeTable, withheld: TypeTable
) -> Votes:
    """Top-1 and F1 at μ = 10, or fewer neighbours; `truth` has the withheld rows with a vector."""
    mu = min(REFERENCE_MU, found.ids.shape[1])
    who, classes, votes, _ = vote(found.ids[:, :mu], known)
    right = has_class(truth, who, classes)
    return replace(_count((who, classes, votes), right, votes * 2 >= mu, withheld), mu=mu)


def _count(
    found: tuple[NDArray[np.int64], Ids, NDArray[Any]],
    right: NDArray[np.bool_],
    predicted: NDArray[np.bool_],
    truth: TypeTable,
) -> Votes:
    """Top-1 and F1 of votes: subjects, classes and values, and which are right or predicted."""
    who, classes, values = found
    number = len(truth.class_ids)
    # The highest class of each subject comes first; ties are broken by id.
    order = np.lexsort((classes, -values, who))
    first = order[np.append(True, np.diff(who[order]) != 0)] if len(order) else order
    hits = np.bincount(classes[predicted & right], minlength=number)
    predicted_and_true = np.bincount(
        np.concatenate([classes[predicted], truth.classes]), minlength=number
    )
    counted = predicted_and_true > 0
    return Votes(
        top_1=float(right[first].sum() / len(truth)),
        micro_f1=float(2 * hits.sum() / predicted_and_true.sum()),
        macro_f1=float(np.mean(2 * hits[counted] / predicted_and_true[counted])),
    )
