"""The calibration as a table and as a figure."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyke.use import figures
from pyke.use.reports import Table
from pyke.use.types.calibration import Calibration


def reliability_table(calibration: Calibration) -> Table:
    """Table of how often predictions were correct, by votes.

    Examples
    --------
    >>> table = reliability_table(Calibration(np.array([0, 10, 8]), np.array([0, 4, 6]), 9, 12))
    >>> table.rows[0]
    ['2 of 2', '8', '0.750', '0.700', '0.750', '0.500']
    """
    c = calibration
    rows = []
    for votes in range(c.mu, 0, -1):
        made, right = int(c.made[votes:].sum()), int(c.right[votes:].sum())
        rows.append(
            [
                f"{votes} of {c.mu}",
                f"{c.made[votes]:,}",
                _share(int(c.right[votes]), int(c.made[votes])),
                f"{c.confidences[votes]:.3f}",
                _share(right, made),
                _share(right, c.types),
            ]
        )
    columns = [
        "votes",
        "predictions",
        "correct",
        "confidence",
        "precision at this many votes or more",
        "recall at this many votes or more",
    ]
    note = (
        f"{c.types:,} types were withheld from {c.subjects:,} subjects before the embedding, "
        "and then predicted."
    )
    return Table("How often predictions are correct", columns, rows, note)


def _share(part: int, total: int) -> str:
    return f"{part / total:.3f}" if total else "–"


def reliability_figure(calibration: Calibration) -> Any:
    """Confidence and the measured share of correct predictions over votes; below, their number."""
    c = calibration
    figure = figures.new_figure(6.4, 4.8)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    votes = np.arange(1, c.mu + 1)
    made = np.maximum(c.made[1:], 1)
    share = c.right[1:] / made
    above.step(votes, c.confidences[1:], where="mid", color=figures.COLOURS[0], label="confidence")
    above.errorbar(
        votes,
        share,
        2 * np.sqrt(share * (1 - share) / made),
        fmt="o",
        color=figures.COLOURS[1],
        capsize=3,
        label="correct predictions of withheld types (± 2 standard errors)",
    )
    above.set(ylabel="share that is correct", ylim=(0, 1.05))
    above.grid(alpha=0.25)
    above.legend(fontsize=8, loc="upper left")
    below.bar(votes, c.made[1:], color=figures.GREY)
    below.set(
        xlabel=f"votes of {c.mu} neighbours",
        ylabel="predictions",
        yscale="log",
        xticks=votes if c.mu <= 20 else np.linspace(1, c.mu, 10, dtype=int),
    )
    return figure
