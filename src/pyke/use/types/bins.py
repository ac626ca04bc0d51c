"""Confidence by counts in bins, for predicted facts.

First of all, confidence is the share of correct predictions among those with a similar share of the
votes, then among those of the same class (a predicate), then of the same kind (an object). A level
with few predictions is drawn towards the one before. On withheld facts, this is a little closer to
the stated precision than curves are, which find a twentieth more facts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.graph.roles import Numbers
from pyke.use.types.calibration import Calibration, Measured
from pyke.use.types.curves import BINS, NEWTON_STEPS, isotonic, logistic, logit

# A level counts as this many predictions in the next one. With 10 to 30, the largest gap between
# stated and true precision hardly changes.
CLASS_PREDICTIONS, KIND_PREDICTIONS = 20, 30
SHIFT_PRIOR = 0.5


class BinCalibration(Calibration):
    """Confidence by counts in bins of the share of the votes.

    With `shifted`, classes with few predictions are drawn towards a curve of their own: that of
    all, moved up or down.
    """

    def __init__(
        self, measured: Measured, mu: int, bins: int = BINS, shifted: bool = False
    ) -> None:
        super().__init__(measured, mu, bins)
        own = self._bins(measured.shares)
        made = np.bincount(own, minlength=self._size)
        right = np.bincount(own[measured.right], minlength=self._size)
        self._base = isotonic((right + 1) / (made + 2), made + 2)
        self._shifts = np.zeros(self._classes)
        if shifted:
            base = self._base[own]
            self._shifts = class_shifts(base, measured.classes, measured.right, self._classes)

    def confidences(
        self, shares: NDArray[np.float64], classes: Numbers, kinds: Numbers
    ) -> NDArray[np.float64]:
        """Confidence of predictions with a share of the votes, a class and a kind of term."""
        bins = self._bins(shares)
        confidence = self._base[bins]
        if self._shifts.any():
            known = np.append(self._shifts, 0.0)[np.minimum(classes, self._classes)]
            confidence = logistic(logit(confidence) + known)
        class_keys, kind_keys = self._keys(classes, kinds, bins)
        for cells, keys, weight in (
            (self._by_class, class_keys, CLASS_PREDICTIONS),
            (self._by_kind, kind_keys, KIND_PREDICTIONS),
        ):
            made, right = cells.counts(keys)
            confidence = (right + weight * confidence) / (made + weight)
        return confidence


def class_shifts(
    base: NDArray[np.float64], classes: Numbers, right: NDArray[np.bool_], number: int
) -> NDArray[np.float64]:
    """How much better or worse each class is than all, on the logistic scale.

    The shift of a class maximises the likelihood of its predictions, with a normal prior: this is a
    logistic regression with one parameter, by Newton's method.
    """
    shifts, logits = np.zeros(number), logit(base)
    for _ in range(NEWTON_STEPS):
        expected = logistic(logits + shifts[classes])
        gaps = np.bincount(classes, right - expected, number) - SHIFT_PRIOR * shifts
        slopes = np.bincount(classes, expected * (1 - expected), number) + SHIFT_PRIOR
        shifts += np.clip(gaps / slopes, -1, 1)
    return shifts
