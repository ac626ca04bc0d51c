"""Confidence: how often are predictions like this one correct?

The types of typed subjects that look like the queried terms (see kinds.py) are predicted from the
other typed subjects, as if they had none. Confidence is the share of correct predictions among
those that are alike: with a similar share of the votes, of the same class, and for terms of the
same kind.
`CurveCalibration` fits curves to these predictions; `pyke complete` counts them in bins (bins.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import positions
from pyke.core.progress import Progress
from pyke.graph.roles import Numbers
from pyke.use.types.curves import (
    BINS,
    deviation_at,
    group_deviations,
    logistic,
    share_curve,
)
from pyke.use.types.folds import Folds
from pyke.use.types.kinds import Kinds
from pyke.use.types.votes import Counts, TypeTable, Voters, has_class

# No class counts more than this many predictions in the curve of all. If frequent classes decide it
# alone (words in wordnet30), rare classes, which are drawn to it, are stated too low. From 300 to
# 3,000 the likelihood on withheld types differs little; 1,000 is about the best.
MAX_PREDICTIONS = 1000
LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # of confidence, in reports


@dataclass(frozen=True)
class Measured:
    """Predictions for subjects whose types are known: one entry for each."""

    shares: NDArray[np.float64]  # of the votes
    classes: Numbers  # positions in `class_ids`
    kinds: Numbers
    right: NDArray[np.bool_]
    subjects: int  # subjects whose types were predicted
    types: int  # types that they have

    @classmethod
    def of(cls, parts: Sequence[Measured]) -> Measured:
        """All predictions of several measurements."""
        none = np.zeros(0, np.int64)
        return cls(
            np.concatenate([np.zeros(0), *(one.shares for one in parts)]),
            np.concatenate([none, *(one.classes for one in parts)]),
            np.concatenate([none, *(one.kinds for one in parts)]),
            np.concatenate([np.zeros(0, bool), *(one.right for one in parts)]),
            sum(one.subjects for one in parts),
            sum(one.types for one in parts),
        )


@dataclass(frozen=True)
class Cells:
    """Numbers of predictions and of correct ones, by a key."""

    keys: Numbers
    made: Counts
    right: Counts

    @classmethod
    def of(cls, keys: Numbers, right: NDArray[np.bool_]) -> Cells:
        """Count predictions with the same key."""
        distinct, at = np.unique(keys, return_inverse=True)
        number = len(distinct)
        counts = np.bincount(at, minlength=number), np.bincount(at[right], minlength=number)
        return cls(distinct, *counts)

    def counts(self, keys: Numbers) -> tuple[Counts, Counts]:
        """Predictions and correct ones with these keys."""
        if not len(self.keys):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        found = self.keys[at] == keys
        return self.made[at] * found, self.right[at] * found


@dataclass(frozen=True)
class Like:
    """Measured predictions that are like another one."""

    level: str  # all, class or kind
    made: int
    right: int


@dataclass(frozen=True)
class Level:
    """Measured predictions with about the same confidence."""

    at_least: float
    made: int
    right: int
    confidence: float  # their mean


class Calibration(ABC):
    """Confidence of predictions, from measured ones.

    A prediction has a share of the votes, a class and a kind of term. `like` counts the measured
    predictions with a similar share.
    """

    def __init__(self, measured: Measured, mu: int, bins: int = BINS) -> None:
        self.measured, self.mu = measured, mu
        quantiles = np.linspace(0, 1, bins + 1)[1:-1]
        self._edges = (
            np.unique(np.quantile(measured.shares, quantiles))
            if len(measured.shares)
            else np.zeros(0)
        )
        self._size = len(self._edges) + 1
        self._classes = int(measured.classes.max(initial=-1)) + 1
        own = self._bins(measured.shares)
        class_keys, kind_keys = self._keys(measured.classes, measured.kinds, own)
        self._by_class = Cells.of(class_keys, measured.right)
        self._by_kind = Cells.of(kind_keys, measured.right)
        self._all = Cells.of(own, measured.right)

    @abstractmethod
    def confidences(
        self, shares: NDArray[np.float64], classes: Numbers, kinds: Numbers
    ) -> NDArray[np.float64]:
        """Confidence of predictions with a share of the votes, a class and a kind of term."""

    def like(self, share: float, class_: int, kind: int) -> tuple[Like, ...]:
        """Counts of measured predictions with a similar share: all, of the class, and of both."""
        bins = self._bins(np.array([share]))
        class_key, kind_key = self._keys(np.array([class_]), np.array([kind]), bins)
        return tuple(
            Like(level, *(int(one[0]) for one in cells.counts(keys)))
            for level, cells, keys in (
                ("all", self._all, bins),
                ("class", self._by_class, class_key),
                ("kind", self._by_kind, kind_key),
            )
        )

    def levels(self) -> list[Level]:
        """The measured predictions by confidence, the highest first."""
        borders = np.searchsorted(LEVELS, self.measured_confidences, side="right") - 1
        found = []
        for at in range(len(LEVELS) - 1, -1, -1):
            chosen = borders == at
            made, right = int(chosen.sum()), int(self.measured.right[chosen].sum())
            mean = float(self.measured_confidences[chosen].mean()) if made else 0.0
            found.append(Level(LEVELS[at], made, right, mean))
        return found

    @cached_property
    def measured_confidences(self) -> NDArray[np.float64]:
        """Confidence of the measured predictions themselves."""
        m = self.measured
        return self.confidences(m.shares, m.classes, m.kinds)

    def _bins(self, shares: NDArray[np.float64]) -> Numbers:
        return np.searchsorted(self._edges, shares, side="right")

    def _keys(self, classes: Numbers, kinds: Numbers, bins: Numbers) -> tuple[Numbers, Numbers]:
        # A class that was never measured shares the keys of no other.
        known = classes < self._classes
        of_class = np.where(known, classes.astype(np.int64) * self._size + bins, -1)
        of_kind = kinds.astype(np.int64) * (self._classes * self._size) + of_class
        return of_class, np.where(known, of_kind, -1)


class CurveCalibration(Calibration):
    """Confidence by curves over the share of the votes.

    A count in a small bin is too high or too low by chance, and the predictions that are kept are
    those where it is too high. On the logistic scale, the curve of a class deviates smoothly from
    that of all, and the curve of a kind from both. So do the predictions with both class and kind.
    """

    def __init__(self, measured: Measured, mu: int) -> None:
        super().__init__(measured, mu)
        shares, classes, kinds = measured.shares, measured.classes, measured.kinds
        made = np.bincount(classes, minlength=self._classes)
        counting = np.minimum(1, MAX_PREDICTIONS / np.maximum(made, 1))[classes]
        self._curve = share_curve(shares, measured.right, counting, self._edges)
        self._number_of_kinds = int(kinds.max(initial=-1)) + 1
        self._pairs = np.unique(self._pairs_of(classes, kinds))
        self._deviations: list[NDArray[np.float64]] = []
        numbers = self._classes, self._number_of_kinds, len(self._pairs)
        for level, number in enumerate(numbers):
            logits, groups = self._logits(shares, classes, kinds), self._groups(classes, kinds)
            found = group_deviations(logits, shares, groups[level], measured.right, number)
            self._deviations.append(found)

    def confidences(
        self, shares: NDArray[np.float64], classes: Numbers, kinds: Numbers
    ) -> NDArray[np.float64]:
        """Confidence of predictions with a share of the votes, a class and a kind of term."""
        return logistic(self._logits(shares, classes, kinds))

    def _logits(
        self, shares: NDArray[np.float64], classes: Numbers, kinds: Numbers
    ) -> NDArray[np.float64]:
        """The curve of all predictions and the deviations from it, as far as they are known."""
        found: NDArray[np.float64] = np.interp(shares, *self._curve)
        # There are fewer deviations than groups while they are being fitted.
        for deviation, groups in zip(self._deviations, self._groups(classes, kinds), strict=False):
            found += deviation_at(deviation, groups, shares)
        return found

    def _groups(self, classes: Numbers, kinds: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """The groups that predictions belong to. What was never measured is the last one."""
        pairs = positions(self._pairs_of(classes, kinds), self._pairs)
        return (
            np.minimum(classes, self._classes),
            np.minimum(kinds, self._number_of_kinds),
            np.where(pairs >= 0, pairs, len(self._pairs)),
        )

    def _pairs_of(self, classes: Numbers, kinds: Numbers) -> Numbers:
        return kinds.astype(np.int64) * (self._classes + 1) + np.minimum(classes, self._classes)


def calibrate(folds: Folds, kinds: Kinds, progress: Progress) -> Calibration:
    """Predict the types of typed subjects that look like the queried terms, and count.

    The types of a twin are withheld from the evidence and from the voters: see folds.py.
    """
    of_twins = folds.fold_of(kinds.twins.subjects)
    progress.stage("calibration", len(of_twins), "subjects")
    parts = [
        _measure(folds.withheld(fold), kinds, of_twins == fold, folds.voters.known, progress)
        for fold in np.unique(of_twins).tolist()
    ]
    return CurveCalibration(Measured.of(parts), folds.voters.mu)


def _measure(
    voters: Voters,
    kinds: Kinds,
    chosen: NDArray[np.bool_],
    truth: TypeTable,
    progress: Progress,
) -> Measured:
    """Predictions for some of the twins."""
    queries, of_queries = kinds.stripped(voters.evidence, chosen)
    voters = voters.without_places()  # releases the others before the search
    found, _ = voters.votes(queries, progress)
    own = truth.rows(np.searchsorted(truth.subjects, queries.own))
    return Measured(
        found.shares,
        found.classes.astype(np.int64),
        of_queries[found.queries],
        has_class(own, found.queries, found.classes),
        len(queries),
        len(own.classes),
    )
