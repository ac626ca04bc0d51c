"""Is the confidence of a predicted type true? `pyke types` on graphs that lack the types of 20 % of their typed subjects, which are then compared.

The types are withheld before the embedding; the calibration, which withholds some of the others, sees none of them. Predictions for the
withheld subjects are counted by their confidence: the part that should be right beside the part that is. All seeds of a graph are counted
together. `--precision` is tried as if the withheld subjects were all that is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import common
from pyke.config import Config
from pyke.pipeline import Run, embed_graph
from pyke.use import figures
from pyke.use.types.held_out import Split, split
from pyke.use.types.predict import fewest_votes, predict_types
from pyke.use.types.predictions import Predictions

GRAPHS = ("iswc", "codex-m", "wikipathways")
LEVELS = (0.8, 0.9, 0.95)
PRECISION = 0.9
TOLERANCE = 0.03
ENOUGH = 100  # predictions in a bin whose gap counts
BINS = 10


@dataclass(frozen=True)
class Outcome:
    """Predictions for withheld subjects: the confidence of each, whether it is right, and whether `--precision` would keep it."""

    confidences: NDArray[np.float64]
    right: NDArray[np.bool_]
    precise: NDArray[np.bool_]
    types: int  # that were withheld

    def __add__(self, other: Outcome) -> Outcome:
        confidences = np.concatenate([self.confidences, other.confidences])
        right, precise = (
            np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("right", "precise")
        )
        return Outcome(confidences, right, precise, self.types + other.types)

    def row(self, chosen: NDArray[np.bool_]) -> dict[str, Any]:
        """Some of them, counted."""
        count, right = int(chosen.sum()), int(self.right[chosen].sum())
        shares = (
            {"should be right": float(self.confidences[chosen].mean()), "are right": right / count}
            if count
            else {}
        )
        return {"predictions": count, **shares, "types found": right / self.types}

    def bins(self) -> list[dict[str, Any]]:
        """By confidence, in tenths."""
        tenth = np.minimum((self.confidences * BINS).astype(int), BINS - 1)
        return [
            {"which": f"{bin_ / BINS:.1f} to {(bin_ + 1) / BINS:.1f}", **self.row(tenth == bin_)}
            for bin_ in range(BINS)
        ]


def predict_withheld(path: Path, seed: int) -> Outcome:
    config = Config(on_error="skip", seed=seed)
    parts = split(Run(path, config).read(), 0.2, seed, config.type_predicate)
    found = predict_types(embed_graph(parts.graph, config), min_confidence=0)
    asked = np.isin(found.subjects, parts.asked.subjects)
    votes = found.votes[asked]
    fewest = fewest_votes(
        np.bincount(votes, minlength=found.calibration.mu + 1), found.calibration, 0, PRECISION
    )
    return Outcome(
        found.confidences[asked],
        is_true(found, parts)[asked],
        votes >= fewest,
        len(parts.asked.classes),
    )


def is_true(found: Predictions, parts: Split) -> NDArray[np.bool_]:
    """Which predictions say what was withheld."""
    terms, asked = len(parts.graph.terms), parts.asked
    subjects, classes = (
        np.repeat(asked.subjects, np.diff(asked.offsets)),
        asked.class_ids[asked.classes],
    )
    there = (subjects >= 0) & (
        classes >= 0
    )  # what only withheld statements named is in the graph no more
    return np.isin(
        found.subjects.astype(np.int64) * terms + found.classes,
        subjects[there].astype(np.int64) * terms + classes[there],
    )


def rows_of(graph: str, outcome: Outcome) -> tuple[list[dict[str, Any]], list[str]]:
    """Table and misses of one graph."""
    everything = np.ones(len(outcome.right), bool)
    levels = [
        {"which": f"--min-confidence {level}", **outcome.row(outcome.confidences >= level)}
        for level in LEVELS
    ]
    precise = {"which": f"--precision {PRECISION}", **outcome.row(outcome.precise)}
    bins = outcome.bins()
    gap = max((_gap(row) for row in bins if row["predictions"] >= ENOUGH), default=0.0)
    total = {"which": "all", **outcome.row(everything), "greatest gap of a bin": gap}
    misses = [
        f"{graph}, {row['which']}: off by {_gap(row):.3f}"
        for row in (total, *levels)
        if _gap(row) > TOLERANCE
    ]
    right = precise.get("are right", 1.0)
    if abs(right - PRECISION) > TOLERANCE and not (outcome.precise.all() and right > PRECISION):
        misses.append(f"{graph}, {precise['which']}: {right:.3f} are right")
    return [{"graph": graph, **row} for row in (total, *levels, precise, *bins)], misses


def _gap(row: dict[str, Any]) -> float:
    return abs(row["should be right"] - row["are right"]) if row["predictions"] else 0.0


def figure_of(found: dict[str, list[dict[str, Any]]]) -> Any:
    """A panel per graph: confidence against truth, with two standard errors; below, how many predictions there were."""
    figure = figures.new_figure(3.5 * len(found) + 0.4, 4.6)
    panels = figure.subplots(
        2, len(found), sharex=True, sharey="row", height_ratios=[3.6, 1], squeeze=False
    )
    for column, (graph, bins) in enumerate(found.items()):
        above, below = panels[:, column]
        filled = [row for row in bins if row["predictions"]]
        expected, right, counts = (
            np.array([row[name] for row in filled])
            for name in ("should be right", "are right", "predictions")
        )
        errors = 2 * np.sqrt(expected * (1 - expected) / counts)
        above.plot(
            [0, 1], [0, 1], color=figures.GREY, linewidth=1, linestyle="--", label="as promised"
        )
        above.errorbar(
            expected,
            right,
            errors,
            fmt="o",
            markersize=5,
            capsize=3,
            color=figures.COLOURS[0],
            label="measured (± 2 standard errors)",
        )
        above.set(title=graph, xlim=(0, 1.04), ylim=(0, 1.04))
        above.grid(alpha=0.25)
        below.bar(expected, counts, width=0.035, color=figures.GREY)
        below.set(xlabel="confidence", yscale="log")
    panels[0, 0].set_ylabel("part that is right")
    panels[0, 0].legend(fontsize=8, loc="upper left", frameon=False)
    panels[1, 0].set_ylabel("predictions")
    panels[1, 0].set_ylim(bottom=10)
    return figure


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS))
    parser.add_argument(
        "--seeds", type=int, default=3, help="splits and embeddings of each graph [3]"
    )
    parser.add_argument("--figure", type=Path, help="draw confidence against truth")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    misses: list[str] = []
    bins: dict[str, list[dict[str, Any]]] = {}
    for graph in options.graphs:
        path = common.graph(options.data, graph)
        outcome, *others = (predict_withheld(path, seed) for seed in range(options.seeds))
        outcome = sum(others, outcome)
        more, missed = rows_of(graph, outcome)
        rows, misses, bins[graph] = rows + more, misses + missed, outcome.bins()
    if options.figure:
        figures.draw_to(figure_of(bins), options.figure)
    columns = {"graph": "", "which": "", "predictions": ",", "should be right": ".3f", "are right": ".3f", "types found": ".3f",
               "greatest gap of a bin": ".3f"}  # fmt: skip
    common.finish(columns, rows, misses, options.json)


if __name__ == "__main__":
    main()
