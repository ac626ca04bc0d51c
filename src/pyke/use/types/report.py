"""The calibration as a table and as a figure."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyke.use import figures
from pyke.use.reports import Table
from pyke.use.types.calibration import Calibration


def reliability_table(calibration: Calibration) -> Table:
    """Table of how often predictions were correct, by confidence.

    Examples
    --------
    >>> from pyke.use.types.calibration import CurveCalibration, Measured
    >>> ones = np.ones(40, int)
    >>> measured = Measured(np.ones(40), ones, ones, np.ones(40, bool), 40, 40)
    >>> reliability_table(CurveCalibration(measured, mu=10)).rows[0]
    ['0.99 and more', '40', '1.000', '0.995', '1.000', '1.000']
    """
    measured = calibration.measured
    rows, made, right, above = [], 0, 0, None
    for level in calibration.levels():
        interval = (
            f"{level.at_least:g} and more" if above is None else f"{level.at_least:g} – {above:g}"
        )
        above = level.at_least
        made, right = made + level.made, right + level.right
        rows.append(
            [
                interval,
                f"{level.made:,}",
                _share(level.right, level.made),
                f"{level.confidence:.3f}" if level.made else "–",
                _share(right, made),
                _share(right, measured.types),
            ]
        )
    columns = [
        "confidence",
        "predictions",
        "correct",
        "mean confidence",
        "precision at this or more",
        "recall at this or more",
    ]
    note = (
        f"Measured {measured.subjects:,} times: the types of a typed subject that looks like an "
        "untyped one are predicted from the others, with as little evidence as that one has."
    )
    return Table("How often predictions are correct", columns, rows, note)


def _share(part: int, total: int) -> str:
    return f"{part / total:.3f}" if total else "–"


def reliability_figure(calibration: Calibration) -> Any:
    """Confidence and the measured share of correct predictions; below, their number."""
    filled = [level for level in calibration.levels() if level.made]
    confidence = np.array([level.confidence for level in filled])
    made = np.array([level.made for level in filled])
    share = np.array([level.right for level in filled]) / np.maximum(1, made)
    figure = figures.new_figure(6.4, 4.8)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    above.plot([0, 1], [0, 1], color=figures.GREY, linestyle="--", linewidth=1)
    above.errorbar(
        confidence,
        share,
        2 * np.sqrt(share * (1 - share) / np.maximum(1, made)),
        fmt="o",
        color=figures.COLOURS[1],
        capsize=3,
        label="correct predictions of known types (± 2 standard errors)",
    )
    above.set(ylabel="share that is correct", ylim=(0, 1.05), xlim=(0, 1.02))
    above.grid(alpha=0.25)
    above.legend(fontsize=8, loc="upper left")
    below.bar(confidence, made, width=0.03, color=figures.GREY)
    below.set(xlabel="confidence", ylabel="predictions", yscale="log" if len(made) else "linear")
    return figure
