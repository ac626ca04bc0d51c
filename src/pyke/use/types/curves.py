"""How often predictions are correct, as curves over the share of the votes.

Curves are fitted to predictions that are known to be correct or not, on the logistic scale:
logit p = ln(p / (1 − p)).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyke.graph.roles import Numbers
from pyke.use.types.votes import Counts

BINS = 20  # of the share of the votes
NEWTON_STEPS = 20
# The curve of a group deviates from the one above at these shares (on the logistic scale), and
# linearly between them. The prior of the deviations is a Gaussian process: their covariance is
# LEVEL + ROUGHNESS · exp(−distance / REACH). Chosen by the likelihood of withheld types of six
# graphs; with half or twice of each it is hardly lower.
KNOTS = np.linspace(-9, 9, 13)
LEVEL, ROUGHNESS, REACH = 0.5, 1.0, 5.4
MIN_STEP = 1e-6  # of Newton's method; then stop
GROUPS_AT_ONCE = 1 << 12
MAX_LOGIT = 30.0  # keeps a confidence below 1


def share_curve(
    shares: NDArray[np.float64],
    right: NDArray[np.bool_],
    weights: NDArray[np.float64],
    edges: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The curve of weighted predictions: shares of the votes, and logits of how many are correct.

    Its points are the means of bins with `edges` and with others at equal distances: most shares
    are near 0 or 1, and few quantiles between them. Steps would state the same for a wide bin.
    """
    bins = np.searchsorted(np.union1d(edges, np.linspace(0, 1, BINS + 1)), shares, side="right")
    _, own = np.unique(bins, return_inverse=True)
    if not len(own):
        return np.zeros(1), np.zeros(1)
    made = np.bincount(own, weights)
    rising = isotonic((np.bincount(own, weights * right) + 1) / (made + 2), made + 2)
    return np.bincount(own, weights * shares) / made, logit(rising)


def group_deviations(
    logits: NDArray[np.float64],
    shares: NDArray[np.float64],
    groups: Numbers,
    right: NDArray[np.bool_],
    number: int,
) -> NDArray[np.float64]:
    """(groups + 1, knots): how far the curve of each group is from the logits; the last is 0."""
    found = np.zeros((number + 1, len(KNOTS)))
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=number)
    borders = np.append(0, np.cumsum(sizes))
    for begin in range(0, number, GROUPS_AT_ONCE):
        end = min(begin + GROUPS_AT_ONCE, number)
        own = order[borders[begin] : borders[end]]
        own_groups = groups[own] - begin
        found[begin:end] = _fit(logits[own], shares[own], own_groups, right[own], end - begin)
    return found


def _fit(
    logits: NDArray[np.float64],
    shares: NDArray[np.float64],
    groups: Numbers,
    right: NDArray[np.bool_],
    number: int,
) -> NDArray[np.float64]:
    """The deviations of some groups.

    They maximise the likelihood of the predictions, with the prior of a Gaussian process: this is a
    logistic regression with a parameter for each knot, by Newton's method.
    """
    size = len(KNOTS)
    distances = np.abs(KNOTS[:, None] - KNOTS)
    precision = np.linalg.inv(LEVEL + ROUGHNESS * np.exp(-distances / REACH))
    at, part = between_knots(shares)
    cells = groups * size + at  # the knot before each share; the one after it has the next number

    def sums(before: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.float64]:
        both = (
            np.bincount(cells, before, number * size),
            np.bincount(cells + 1, after, number * size),
        )
        total: NDArray[np.float64] = np.add(*both, dtype=np.float64)
        return total.reshape(-1, size)

    found = np.zeros((number, size))
    diagonal = np.arange(size)
    for _ in range(NEWTON_STEPS):
        near = found.ravel()
        expected = logistic(logits + (1 - part) * near[cells] + part * near[cells + 1])
        gaps, weights = right - expected, expected * (1 - expected)
        slopes = np.tile(precision, (number, 1, 1))
        slopes[:, diagonal, diagonal] += sums((1 - part) ** 2 * weights, part**2 * weights)
        both = sums(part * (1 - part) * weights, np.zeros(len(part)))[:, :-1]
        slopes[:, diagonal[:-1], diagonal[1:]] += both
        slopes[:, diagonal[1:], diagonal[:-1]] += both
        rising = sums((1 - part) * gaps, part * gaps) - found @ precision
        step = np.clip(np.linalg.solve(slopes, rising[..., None])[..., 0], -1, 1)
        found += step
        if np.abs(step).max(initial=0) < MIN_STEP:
            break
    return found


def deviation_at(
    found: NDArray[np.float64], groups: Numbers, shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far the curve of each group is from the one above, at a share of its own."""
    at, part = between_knots(shares)
    near: NDArray[np.float64] = (1 - part) * found[groups, at] + part * found[groups, at + 1]
    return near


def between_knots(shares: NDArray[np.float64]) -> tuple[Numbers, NDArray[np.float64]]:
    """The knot before each share, and which part of the way to the next one the share is."""
    least = np.exp(KNOTS[0])
    scaled = np.log(np.maximum(shares, least) / np.maximum(1 - shares, least))
    at = np.clip(np.searchsorted(KNOTS, scaled, side="right") - 1, 0, len(KNOTS) - 2)
    return at, np.clip((scaled - KNOTS[at]) / (KNOTS[at + 1] - KNOTS[at]), 0, 1)


def logit(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln(p / (1 − p)), the logistic scale."""
    logits: NDArray[np.float64] = np.log(shares / (1 - shares))
    return logits


def logistic(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + exp(−x)), a little below 1 for large x."""
    shares: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(logits, -MAX_LOGIT, MAX_LOGIT)))
    return shares


def isotonic(
    values: Sequence[float] | NDArray[np.float64], weights: Sequence[float] | Counts
) -> NDArray[np.float64]:
    """Isotonic regression: the non-decreasing sequence with the least weighted squared error.

    Adjacent values that decrease are replaced by their weighted mean until none does.

    Examples
    --------
    >>> isotonic([0.1, 0.5, 0.3], [1, 1, 1]).tolist()
    [0.1, 0.4, 0.4]
    """
    pools: list[tuple[float, float, int]] = []  # mean, weight, number of values
    for value, weight in zip(values, weights, strict=True):
        pool = (float(value), float(weight), 1)
        while pools and pools[-1][0] >= pool[0]:
            mean, mass, size = pools.pop()
            total = mass + pool[1]
            pool = ((mean * mass + pool[0] * pool[1]) / total, total, size + pool[2])
        pools.append(pool)
    return np.repeat([mean for mean, _, _ in pools], [size for _, _, size in pools])
