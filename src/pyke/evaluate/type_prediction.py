"""How well the nearest neighbours of a subject tell its types: the paper's score, and what a user with missing types asks for."""

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
    """Right and wrong, when a class is predicted that at least half of the neighbours have."""

    top_1: float  # the part of the subjects whose most frequent class among the neighbours is one of theirs
    micro_f1: float  # over all pairs of subject and class
    macro_f1: float  # mean over the classes that were predicted or are true


@dataclass(frozen=True)
class TypePrediction:
    """The paper's prediction score for each μ. A subject without a vector scores 0: nothing can be said of it."""

    scores: dict[int, float]
    errors: dict[
        int, float
    ]  # the standard error of each score: what another draw of subjects would change
    asked: int
    without_vector: int
    ties: int  # subjects for which two neighbours at the border of μ = 10 are equally far
    exact: bool
    recall: float
    votes: Votes | None = None


def score(
    vectors: Floats,
    known: TypeTable,
    asked: TypeTable | None = None,
    *,
    mu: Sequence[int] | None = None,
    exact: bool | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> TypePrediction:
    """Predicts types from those of the nearest known subjects.

    Without `asked` the known subjects themselves are asked, each predicted from the others (the paper's protocol). `asked` are
    subjects whose types were withheld, −1 where one has no vector; their classes are positions in the same list as those of `known`.
    """
    sizes = usable_mu(mu, len(known) - (asked is None))
    points = np.ascontiguousarray(vectors[known.subjects], np.float32)
    if asked is None:
        truth, queries, own = known, points, np.arange(len(known))
    else:
        truth = asked.rows(np.flatnonzero(asked.subjects >= 0))
        queries, own = np.ascontiguousarray(vectors[truth.subjects], np.float32), None
    reach = min(max(*sizes, REFERENCE_MU + 1), len(known) - (asked is None))
    found = nearest_of_many(
        points, queries, reach, own, exact=exact, threads=threads, progress=progress
    )
    each = np.empty((len(truth), len(sizes)))

    def rate(begin: int, end: int) -> None:
        types_kernels.vote_scores(
            found.ids,
            known.offsets,
            known.classes,
            truth.offsets,
            truth.classes,
            np.array(sizes),
            begin,
            end,
            each,
        )

    parallel_for(threads, len(truth), rate)
    total = len(known if asked is None else asked)
    each = np.concatenate([each, np.zeros((total - len(truth), len(sizes)))])
    return TypePrediction(
        scores=dict(zip(sizes, each.mean(axis=0).tolist(), strict=True)),
        errors=dict(zip(sizes, (each.std(axis=0) / np.sqrt(total)).tolist(), strict=True)),
        asked=total,
        without_vector=total - len(truth),
        ties=int((found.squares[:, REFERENCE_MU - 1] == found.squares[:, REFERENCE_MU]).sum())
        if reach > REFERENCE_MU
        else 0,
        exact=found.exact,
        recall=found.recall,
        votes=None if asked is None else count_votes(found, known, truth, asked),
    )


def count_votes(found: Neighbours, known: TypeTable, truth: TypeTable, asked: TypeTable) -> Votes:
    """Top-1 and F1 at μ = 10, or as many neighbours as there are; `truth` are those of the asked that have neighbours."""
    mu, number = min(REFERENCE_MU, found.ids.shape[1]), len(known.class_ids)
    who, classes, votes = vote(found.ids[:, :mu], known)
    right = has_class(truth, who, classes)
    order = np.lexsort(
        (classes, -votes, who)
    )  # the most frequent class of each subject first, ties by id
    first = order[np.append(True, np.diff(who[order]) != 0)] if len(order) else order
    predicted = votes * 2 >= mu
    hits = np.bincount(classes[predicted & right], minlength=number)
    guesses_and_truths = np.bincount(
        np.concatenate([classes[predicted], asked.classes]), minlength=number
    )
    concerned = guesses_and_truths > 0
    return Votes(
        top_1=float(right[first].sum() / len(asked)),
        micro_f1=float(2 * hits.sum() / guesses_and_truths.sum()),
        macro_f1=float(np.mean(2 * hits[concerned] / guesses_and_truths[concerned])),
    )
