"""Curves of classes and kinds in a calibration: the best ones, found in plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pyke.use.types.bins import BinCalibration
from pyke.use.types.calibration import CurveCalibration, Measured
from pyke.use.types.curves import (
    KNOTS,
    LEVEL,
    REACH,
    ROUGHNESS,
    group_deviations,
)


def test_within_a_wide_bin_a_larger_share_has_more_confidence() -> None:
    """Nearly all shares are 0 or 1, so all shares between them are in one bin of quantiles."""
    draw = np.random.default_rng(3)
    between = draw.uniform(0.3, 0.7, 4000)
    shares = np.concatenate([np.zeros(90_000), between, np.ones(90_000)])
    right = np.concatenate(
        [np.zeros(90_000, bool), draw.random(4000) < between, np.ones(90_000, bool)]
    )
    zeros = np.zeros(len(shares), np.int64)
    calibration = CurveCalibration(Measured(shares, zeros, zeros, right, 184_000, 184_000), 30)
    asked = np.array([0.35, 0.5, 0.65])
    found = calibration.confidences(asked, zeros[:3], zeros[:3])
    assert found == pytest.approx(asked, abs=0.08)


@pytest.mark.parametrize("seed", range(5))
def test_the_curve_of_a_group_maximises_the_likelihood_with_its_prior(seed: int) -> None:
    draw = np.random.default_rng(seed)
    shares, classes = draw.uniform(0, 1, 200), draw.integers(0, 4, 200)
    shares[:3] = 0, 1, 0.5
    logits = draw.normal(0.5, 2, 200)
    right = draw.random(200) < shares
    covariance = [[LEVEL + ROUGHNESS * math.exp(-abs(a - b) / REACH) for b in KNOTS] for a in KNOTS]
    precision = np.linalg.inv(covariance)

    def likelihood(class_: int, deviations: np.ndarray) -> float:
        total = -float(deviations @ precision @ deviations) / 2
        for share, logit, own, is_right in zip(shares, logits, classes, right, strict=True):
            if own == class_:
                scaled = KNOTS[0] if share == 0 else KNOTS[-1] if share == 1 else None
                place = math.log(share / (1 - share)) if scaled is None else scaled
                p = 1 / (1 + math.exp(-(logit + np.interp(place, KNOTS, deviations))))
                total += math.log(p if is_right else 1 - p)
        return total

    found = group_deviations(logits, shares, classes, right, 5)
    assert (found[4:] == 0).all(), "a group without predictions has no deviation"
    for class_ in range(4):
        best = likelihood(class_, found[class_])
        for knot in range(len(KNOTS)):
            step = 0.02 * (np.arange(len(KNOTS)) == knot)
            assert best >= likelihood(class_, found[class_] + step)
            assert best >= likelihood(class_, found[class_] - step)


def curves_of(*groups: tuple[int, int, int, int]) -> CurveCalibration:
    """From groups of predictions with half of the votes: class, kind, number and correct ones."""
    classes, kinds = (np.repeat([g[i] for g in groups], [g[2] for g in groups]) for i in (0, 1))
    right = np.concatenate([np.arange(made) < correct for _, _, made, correct in groups])
    number = len(right)
    return CurveCalibration(
        Measured(np.full(number, 0.5), classes, kinds, right, number, number), 8
    )


def confidence(calibration: CurveCalibration, class_: int, kind: int) -> float:
    asked = np.array([0.5]), np.array([class_]), np.array([kind])
    return float(calibration.confidences(*asked)[0])


def test_classes_and_kinds_that_are_often_wrong_have_less_confidence() -> None:
    found = curves_of((0, 0, 200, 180), (1, 0, 200, 20), (1, 1, 200, 180))
    assert confidence(found, 0, 0) == pytest.approx(0.9, abs=0.02)
    assert confidence(found, 1, 0) == pytest.approx(0.1, abs=0.02)
    assert confidence(found, 1, 1) == pytest.approx(0.9, abs=0.02)
    assert confidence(found, 1, 7) == pytest.approx(0.5, abs=0.02), "a kind that is not known"
    assert confidence(found, 5, 7) == pytest.approx(380 / 600, abs=0.02), "neither is known"
    assert confidence(found, 5, 0) < 0.5, "an unknown class of a kind that is often wrong"


def test_the_curve_of_a_class_can_be_another_one_in_each_kind() -> None:
    """One kind is correct from a share of .3 on, another as often as its share says."""
    draw = np.random.default_rng(4)
    shares, kinds = draw.uniform(0, 1, 4000), np.arange(4000) % 2
    right = np.where(kinds == 0, shares > 0.3, draw.random(4000) < shares)
    found = CurveCalibration(Measured(shares, 0 * kinds, kinds, right, 4000, 4000), 8)
    asked = np.array([0.15, 0.5, 0.15, 0.5])
    confidences = found.confidences(asked, np.zeros(4, int), np.array([0, 0, 1, 1]))
    assert confidences == pytest.approx([0.05, 0.95, 0.15, 0.5], abs=0.1)


def test_few_predictions_hardly_move_the_curve_and_none_gives_one_half() -> None:
    found = curves_of((0, 0, 400, 400), (1, 0, 1, 0))
    assert confidence(found, 0, 0) > 0.99
    assert confidence(found, 1, 0) > 0.5
    nothing = np.zeros(0, np.int64)
    empty = CurveCalibration(Measured(np.zeros(0), nothing, nothing, np.zeros(0, bool), 0, 0), 8)
    assert confidence(empty, 3, 2) == 0.5


def test_a_confidence_stays_below_one() -> None:
    assert confidence(curves_of((0, 0, 100_000, 100_000)), 0, 0) < 1


def test_a_curve_is_not_misled_by_a_lucky_bin() -> None:
    """A class is right in 60 % of the cases at any share, but in all six with one share."""
    draw = np.random.default_rng(0)
    shares = np.repeat(np.linspace(0.3, 0.9, 20), 6)
    right = draw.permutation(120) < 72
    right[60:66] = True
    others = np.tile(np.linspace(0.3, 0.9, 20), 50)
    measured = Measured(
        np.concatenate([shares, others]),
        np.repeat([1, 0], [120, 1000]),
        np.zeros(1120, np.int64),
        np.concatenate([right, draw.random(1000) < 0.6]),
        1120,
        1120,
    )
    asked = shares[60:61], np.array([1]), np.array([0])
    counted, by_curve = (
        kind(measured, 8).confidences(*asked)[0] for kind in (BinCalibration, CurveCalibration)
    )
    assert abs(by_curve - 0.6) < abs(counted - 0.6)


def test_a_class_that_stops_rising_gets_no_more_confidence() -> None:
    """Others are correct as often as their share says. Of this class at most a third is."""
    draw = np.random.default_rng(1)
    shares = draw.uniform(0, 1, 6000)
    classes = np.arange(6000) % 3 // 2  # every third prediction
    right = draw.random(6000) < np.where(classes == 1, np.minimum(shares, 1 / 3), shares)
    found = CurveCalibration(Measured(shares, classes, np.zeros(6000, int), right, 6000, 6000), 8)
    asked = np.linspace(0.5, 0.95, 10)
    ones = np.ones(10, np.int64)
    assert found.confidences(asked, ones, 0 * ones).max() < 0.45
    assert found.confidences(asked, 0 * ones, 0 * ones) == pytest.approx(asked, abs=0.1)


def test_a_frequent_class_does_not_decide_the_curve_of_rare_ones() -> None:
    """A hundred rare classes are correct as often as their share says, a frequent one in half."""
    draw = np.random.default_rng(2)
    shares = draw.uniform(0, 1, 64_000)
    classes = np.where(np.arange(64_000) < 60_000, 0, np.arange(64_000) % 100 + 1)
    right = draw.random(64_000) < np.where(classes == 0, 0.5, shares)
    found = CurveCalibration(Measured(shares, classes, 0 * classes, right, 64_000, 64_000), 8)
    asked = np.tile(np.linspace(0.6, 0.95, 8), 100)
    rare = np.repeat(np.arange(1, 101), 8)
    assert found.confidences(asked, rare, 0 * rare).mean() == pytest.approx(asked.mean(), abs=0.06)
    assert found.confidences(asked, 0 * rare, 0 * rare) == pytest.approx(0.5, abs=0.05)
