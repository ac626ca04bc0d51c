"""How well the nearest neighbours of a subject tell its types: the paper's score, and what a user with missing types asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyke import kernels
from pyke.errors import NothingToScore, UsageError
from pyke.graph import Floats, Ids, Offsets, ranges
from pyke.parallel import in_parts
from pyke.progress import Progress
from pyke.search import Neighbours, nearest_of_many

MU = (1, 3, 5, 10, 15, 30, 50, 100)  # the paper's
REFERENCE_MU = 10  # for the figures that are given once: ties, top-1 and F1


@dataclass(frozen=True)
class TypeTable:
    """Who is of which class: subject i, a term's id, has classes[offsets[i] : offsets[i + 1]], positions in `class_ids`."""

    subjects: Ids
    offsets: Offsets
    classes: Ids
    class_ids: Ids

    @classmethod
    def of(cls, types: Ids) -> TypeTable:
        """Pairs (subject, class), sorted, as a graph and an embedding have them."""
        subjects, counts = np.unique(types[:, 0], return_counts=True)
        class_ids, classes = np.unique(types[:, 1], return_inverse=True)
        offsets = np.append(np.int64(0), np.cumsum(counts, dtype=np.int64))
        return cls(subjects.astype(np.int32), offsets, classes.astype(np.int32), class_ids.astype(np.int32))

    def __len__(self) -> int:
        return len(self.subjects)

    def rows(self, chosen: NDArray[np.integer]) -> TypeTable:
        """Some of the subjects, in this order."""
        counts = np.diff(self.offsets)[chosen]
        offsets = np.append(np.int64(0), np.cumsum(counts, dtype=np.int64))
        return TypeTable(self.subjects[chosen], offsets, self.classes[ranges(self.offsets[:-1][chosen], counts)], self.class_ids)


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
    errors: dict[int, float]  # the standard error of each score: what another draw of subjects would change
    asked: int
    without_vector: int
    ties: int  # subjects for which two neighbours at the border of μ = 10 are equally far
    exact: bool
    recall: float
    votes: Votes | None = None


def usable_mu(wanted: Sequence[int] | None, others: int) -> tuple[int, ...]:
    """The values of μ to score, ascending: those wanted, or the paper's as far as there are neighbours."""
    if wanted is None:
        usable = tuple(mu for mu in MU if mu <= others)
        if not usable:
            raise NothingToScore("there is one typed subject; its type cannot be predicted from others")
        return usable
    if not wanted or min(wanted) < 1:
        raise UsageError(f"μ is {min(wanted, default='missing')}; it must be at least 1")
    if max(wanted) > others:
        raise NothingToScore(f"μ is {max(wanted)}, but only {others:,} typed subjects can be neighbours. Take a smaller μ.")
    return tuple(sorted(set(wanted)))


def require_classes(table: TypeTable) -> None:
    """Refuses types that tell nothing."""
    if len(table) == 0:
        raise NothingToScore("no subject has a type: there is nothing to predict. If another predicate gives types, name it: --type-predicate IRI")
    if len(table.class_ids) == 1:
        raise NothingToScore(f"all {len(table):,} typed subjects have one and the same class: every prediction would be right")


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
    found = nearest_of_many(points, queries, reach, own, exact=exact, threads=threads, progress=progress)
    each = np.empty((len(truth), len(sizes)))

    def rate(begin: int, end: int) -> None:
        kernels.vote_scores(found.ids, known.offsets, known.classes, truth.offsets, truth.classes, np.array(sizes), begin, end, each)

    in_parts(threads, len(truth), rate)
    total = len(known if asked is None else asked)
    each = np.concatenate([each, np.zeros((total - len(truth), len(sizes)))])
    return TypePrediction(
        scores=dict(zip(sizes, each.mean(axis=0).tolist(), strict=True)),
        errors=dict(zip(sizes, (each.std(axis=0) / np.sqrt(total)).tolist(), strict=True)),
        asked=total,
        without_vector=total - len(truth),
        ties=int((found.squares[:, REFERENCE_MU - 1] == found.squares[:, REFERENCE_MU]).sum()) if reach > REFERENCE_MU else 0,
        exact=found.exact,
        recall=found.recall,
        votes=None if asked is None else count_votes(found, known, truth, asked),
    )


def vote(ids: Ids, known: TypeTable, may_vote: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.int64], Ids, NDArray[np.int64]]:
    """Neighbours (asked, μ) → every pair of asked and class that some neighbour has, in order, and how many neighbours have it."""
    classes = len(known.class_ids)
    asked, place = np.nonzero(np.ones(ids.shape, bool) if may_vote is None else may_vote)
    voters = known.rows(ids[asked, place])
    pairs, votes = np.unique(np.repeat(asked, np.diff(voters.offsets)) * classes + voters.classes, return_counts=True)
    return pairs // classes, (pairs % classes).astype(np.int32), votes


def has_class(truth: TypeTable, who: NDArray[np.int64], classes: Ids) -> NDArray[np.bool_]:
    """Whether subject who[i] is of class classes[i]."""
    number = len(truth.class_ids)
    true_pairs = np.repeat(np.arange(len(truth)), np.diff(truth.offsets)) * number + truth.classes
    return np.isin(who * number + classes, true_pairs, assume_unique=True)


def count_votes(found: Neighbours, known: TypeTable, truth: TypeTable, asked: TypeTable) -> Votes:
    """Top-1 and F1 at μ = 10, or as many neighbours as there are; `truth` are those of the asked that have neighbours."""
    mu, number = min(REFERENCE_MU, found.ids.shape[1]), len(known.class_ids)
    who, classes, votes = vote(found.ids[:, :mu], known)
    right = has_class(truth, who, classes)
    order = np.lexsort((classes, -votes, who))  # the most frequent class of each subject first, ties by id
    first = order[np.append(True, np.diff(who[order]) != 0)] if len(order) else order
    predicted = votes * 2 >= mu
    hits = np.bincount(classes[predicted & right], minlength=number)
    guesses_and_truths = np.bincount(np.concatenate([classes[predicted], asked.classes]), minlength=number)
    concerned = guesses_and_truths > 0
    return Votes(
        top_1=float(right[first].sum() / len(asked)),
        micro_f1=float(2 * hits.sum() / guesses_and_truths.sum()),
        macro_f1=float(np.mean(2 * hits[concerned] / guesses_and_truths[concerned])),
    )
