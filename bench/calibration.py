"""Is the confidence of predicted types right? `pyke types` on graphs with 20 % of types withheld.

Types are withheld before the embedding. The calibration, which withholds some of the remaining
types, does not use them either. Predictions for the withheld subjects are grouped by confidence:
expected precision and measured precision. All seeds of a graph are counted together. `--precision`
is applied as if only the withheld subjects were queried.
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
MIN_PREDICTIONS = 100  # in a bin, for its gap to count
BINS = 10


@dataclass(frozen=True)
class Outcome:
    """Predictions for withheld subjects: confidence, correctness, and the choice of --precision."""

    confidences: NDArray[np.float64]
    right: NDArray[np.bool_]
    precise: NDArray[np.bool_]
    types: int  # number of withheld types

    def __add__(self, other: Outcome) -> Outcome:
        confidences = np.concatenate([self.confidences, other.confidences])
        right, precise = (
            np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("right", "precise")
        )
        return Outcome(confidences, right, precise, self.types + other.types)

    def row(self, chosen: NDArray[np.bool_]) -> dict[str, Any]:
        """Counts of the selected predictions."""
        count, right = int(chosen.sum()), int(self.right[chosen].sum())
        shares = (
            {"expected": float(self.confidences[chosen].mean()), "precision": right / count}
            if count
            else {}
        )
        return {"predictions": count, **shares, "recall": right / self.types}

    def bins(self) -> list[dict[str, Any]]:
        """Rows by tenths of confidence."""
        tenth = np.minimum((self.confidences * BINS).astype(int), BINS - 1)
        return [
            {
                "selection": f"{bin_ / BINS:.1f} to {(bin_ + 1) / BINS:.1f}",
                **self.row(tenth == bin_),
            }
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
    """Which predictions equal a withheld type."""
    terms, asked = len(parts.graph.terms), parts.asked
    subjects, classes = (
        np.repeat(asked.subjects, np.diff(asked.offsets)),
        asked.class_ids[asked.classes],
    )
    # Terms that occur only in withheld triples are not in the graph.
    exists = (subjects >= 0) & (classes >= 0)
    return np.isin(
        found.subjects.astype(np.int64) * terms + found.classes,
        subjects[exists].astype(np.int64) * terms + classes[exists],
    )


def rows_of(graph: str, outcome: Outcome) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows and missed targets of one graph."""
    everything = np.ones(len(outcome.right), bool)
    levels = [
        {"selection": f"--min-confidence {level}", **outcome.row(outcome.confidences >= level)}
        for level in LEVELS
    ]
    precise = {"selection": f"--precision {PRECISION}", **outcome.row(outcome.precise)}
    bins = outcome.bins()
    gap = max((_gap(row) for row in bins if row["predictions"] >= MIN_PREDICTIONS), default=0.0)
    total = {"selection": "all", **outcome.row(everything), "maximum gap of a bin": gap}
    misses = [
        f"{graph}, {row['selection']}: off by {_gap(row):.3f}"
        for row in (total, *levels)
        if _gap(row) > TOLERANCE
    ]
    right = precise.get("precision", 1.0)
    if abs(right - PRECISION) > TOLERANCE and not (outcome.precise.all() and right > PRECISION):
        misses.append(f"{graph}, {precise['selection']}: precision {right:.3f}")
    return [{"graph": graph, **row} for row in (total, *levels, precise, *bins)], misses


def _gap(row: dict[str, Any]) -> float:
    return abs(row["expected"] - row["precision"]) if row["predictions"] else 0.0


def figure_of(found: dict[str, list[dict[str, Any]]]) -> Any:
    """A panel per graph: precision over confidence, and below it the number of predictions."""
    figure = figures.new_figure(3.5 * len(found) + 0.4, 4.6)
    panels = figure.subplots(
        2, len(found), sharex=True, sharey="row", height_ratios=[3.6, 1], squeeze=False
    )
    for column, (graph, bins) in enumerate(found.items()):
        above, below = panels[:, column]
        filled = [row for row in bins if row["predictions"]]
        expected, right, counts = (
            np.array([row[name] for row in filled])
            for name in ("expected", "precision", "predictions")
        )
        errors = 2 * np.sqrt(expected * (1 - expected) / counts)
        above.plot(
            [0, 1], [0, 1], color=figures.GREY, linewidth=1, linestyle="--", label="expected"
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
    panels[0, 0].set_ylabel("precision")
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
    parser.add_argument("--figure", type=Path, help="draw precision over confidence")
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
    columns = {
        "graph": "", "selection": "", "predictions": ",", "expected": ".3f",
        "precision": ".3f", "recall": ".3f", "maximum gap of a bin": ".3f",
    }  # fmt: skip
    common.finish(columns, rows, misses, options.json)


if __name__ == "__main__":
    main()
