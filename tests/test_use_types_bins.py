"""Confidence by counts in bins: shifts of classes. See also test_use_types_calibration.py."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pyke.use.types.bins import SHIFT_PRIOR, BinCalibration, class_shifts
from pyke.use.types.calibration import Measured


@pytest.mark.parametrize("seed", range(5))
def test_a_shift_maximises_the_likelihood_with_its_prior(seed: int) -> None:
    draw = np.random.default_rng(seed)
    base, classes = draw.uniform(0.05, 0.95, 60), draw.integers(0, 4, 60)
    right = draw.random(60) < base**2

    def likelihood(class_: int, shift: float) -> float:
        total = -SHIFT_PRIOR * shift**2 / 2
        for share, own, is_right in zip(base, classes, right, strict=True):
            if own == class_:
                p = 1 / (1 + math.exp(-(math.log(share / (1 - share)) + shift)))
                total += math.log(p if is_right else 1 - p)
        return total

    for class_, shift in enumerate(class_shifts(base, classes, right, 4).tolist()):
        best = likelihood(class_, shift)
        assert best >= likelihood(class_, shift + 0.01)
        assert best >= likelihood(class_, shift - 0.01)


def test_a_bad_class_gets_less_confidence_though_it_has_few_predictions() -> None:
    classes = np.repeat([0, 1], [400, 8])
    right = np.arange(408) < 390
    shares = np.tile(np.linspace(0.5, 1, 8), 51)
    measured = Measured(shares, classes, np.zeros(408, np.int64), right, 408, 408)
    asked = np.array([0.9, 0.9]), np.array([0, 1]), np.zeros(2, np.int64)
    plain = BinCalibration(measured, 10, 20).confidences(*asked)
    shifted = BinCalibration(measured, 10, 20, shifted=True).confidences(*asked)
    assert shifted[1] < plain[1] - 0.2
    assert shifted[0] == pytest.approx(plain[0], abs=0.05)
