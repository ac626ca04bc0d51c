"""Is the confidence of predicted types right, also for terms that are unlike typed subjects?

`predict_types` runs on graphs that lack types that are known, by three protocols:

random     20 % of the typed subjects lose their types.
stripped   The same, and they lose all their outgoing triples: they look like external references.
authority  All subjects of a namespace lose their types, for each of the six largest namespaces with
           at least 100 typed subjects and at most 70 % of all. Each is a graph of its own.

Predictions for these subjects are compared with the types they had. All seeds of a graph are
counted together. Stated precision (mean confidence) and true precision must agree within .05 for
every class with at least 50 predictions of confidence .5 and more. A gap that two standard errors
explain is not a miss. (The error is that of a mean of outcomes with the stated probabilities. That
of the outcomes is 0 where all are correct.) The first line also says how many would miss this by
chance, if each confidence were the true probability and predictions were independent. `found` is
the share of the withheld types that was predicted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import common
from predictors import read
from pyke.config import Config
from pyke.embedding.lookup import local_name
from pyke.graph.changes import remove_triples
from pyke.graph.graph import Graph
from pyke.graph.roles import states_type
from pyke.pipeline import embed_graph
from pyke.use import figures
from pyke.use.types.namespaces import Namespaces
from pyke.use.types.predict import predict_types
from pyke.use.types.predictions import Predictions
from pyke.use.types.votes import TypeTable

GRAPHS = ("iswc", "codex-m", "wikipathways", "wordnet30", "pleiades", "lubm")
PROTOCOLS = ("random", "stripped", "authority")
LEVELS = (0.5, 0.8, 0.9)
TOLERANCE, MIN_PREDICTIONS = 0.05, 50
DRAWS = 300  # of outcomes, if confidences were true
COLUMNS: dict[str, Any] = {
    "confidences": np.float64,
    "right": np.bool_,
    "classes": np.int64,
    "measured": np.bool_,
}
NAMESPACES, MIN_NAMESPACE, MAX_SHARE = 6, 100, 0.7


@dataclass(frozen=True)
class OfClass:
    """Predictions of one class."""

    class_: int  # term id
    predictions: int
    stated: float  # precision
    true: float
    error: float  # of the true precision

    @property
    def gap(self) -> float:
        """How much too high the stated precision is."""
        return self.stated - self.true

    @property
    def is_missed(self) -> bool:
        """Whether the class misses the target."""
        return bool(are_misses(np.array(self.gap), self.error))


@dataclass(frozen=True)
class Outcome:
    """Predictions for withheld subjects."""

    confidences: NDArray[np.float64]
    right: NDArray[np.bool_]
    classes: NDArray[np.int64]  # term ids of the complete graph
    measured: NDArray[np.bool_]
    types: int  # withheld types
    subjects: int
    unmeasured: int  # of these subjects, those without a measured confidence

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            np.concatenate([self.confidences, other.confidences]),
            np.concatenate([self.right, other.right]),
            np.concatenate([self.classes, other.classes]),
            np.concatenate([self.measured, other.measured]),
            self.types + other.types,
            self.subjects + other.subjects,
            self.unmeasured + other.unmeasured,
        )

    def row(self, level: float, measured: bool = True) -> dict[str, Any]:
        """Counts of predictions with at least this confidence."""
        chosen = (self.confidences >= level) & (self.measured == measured)
        count, right = int(chosen.sum()), int(self.right[chosen].sum())
        return {
            "predictions": count,
            "stated": float(self.confidences[chosen].mean()) if count else None,
            "true": right / count if count else None,
            "found": right / max(1, self.types),
        }

    def by_class(self, level: float) -> list[OfClass]:
        """Classes with enough predictions, those with the largest gap first."""
        found = []
        for class_, own in self._large_classes(level):
            stated, right = self.confidences[own], self.right[own]
            found.append(
                OfClass(
                    class_, len(right), float(stated.mean()), float(right.mean()), error_of(stated)
                )
            )
        return sorted(found, key=lambda one: -abs(one.gap))

    def misses_by_chance(self, level: float) -> float:
        """Classes that would miss the target, if each confidence were the true probability."""
        draw, missed = np.random.default_rng(0), 0
        for _, own in self._large_classes(level):
            stated = self.confidences[own]
            true = (draw.random((DRAWS, len(stated))) < stated).mean(axis=1)
            missed += int(are_misses(stated.mean() - true, error_of(stated)).sum())
        return missed / DRAWS

    def _large_classes(self, level: float) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        chosen = (self.confidences >= level) & self.measured
        for class_ in np.unique(self.classes[chosen]).tolist():
            own = chosen & (self.classes == class_)
            if own.sum() >= MIN_PREDICTIONS:
                yield class_, own


def error_of(stated: NDArray[np.float64]) -> float:
    """Standard error of the share of correct predictions, if these are their probabilities."""
    return float(np.sqrt((stated * (1 - stated)).sum())) / len(stated)


def are_misses(gaps: NDArray[np.float64], error: float) -> NDArray[np.bool_]:
    """Whether stated and true precision differ by too much, and by more than two errors."""
    return np.abs(gaps) > max(TOLERANCE, 2 * error)


def without_types(graph: Graph, config: Config, withheld: NDArray[np.bool_], strip: bool) -> Graph:
    """The graph without the types of some terms, and without their other triples as subjects."""
    stated = states_type(graph, config.type_predicate)
    dropped = withheld[graph.subjects] & (stated | strip)
    return remove_triples(graph, dropped, config.type_predicate, keep_all_terms=True)[0]


def choices(graph: Graph, protocol: str, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Masks of terms that lose their types."""
    typed = TypeTable.of(graph.types).subjects
    if protocol == "authority":
        nothing = np.zeros(0, np.int32)
        namespaces = Namespaces(graph, typed, nothing, 1).of_terms
        counts = np.bincount(namespaces[typed])
        for number in np.argsort(-counts, kind="stable")[:NAMESPACES].tolist():
            if MIN_NAMESPACE <= counts[number] <= MAX_SHARE * len(typed):
                mask = np.zeros(len(graph.terms), bool)
                mask[typed] = namespaces[typed] == number
                yield mask
        return
    mask = np.zeros(len(graph.terms), bool)
    order = np.random.default_rng(seed).permutation(len(typed))
    mask[typed[order[: round(0.2 * len(typed))]]] = True
    yield mask


def predict_withheld(
    graph: Graph, config: Config, withheld: NDArray[np.bool_], strip: bool
) -> Outcome:
    smaller = without_types(graph, config, withheld, strip)
    found = predict_types(embed_graph(smaller, config), min_confidence=0, unmeasured=True)
    asked = withheld[found.subjects]
    known = np.flatnonzero(withheld)
    kinds = found.kinds
    assert kinds, "no types were withheld"
    is_asked = withheld[kinds.asked]
    return Outcome(
        found.confidences[asked],
        are_true(found, graph)[asked],
        found.classes[asked].astype(np.int64),
        found.measured[asked],
        int(withheld[graph.types[:, 0]].sum()),
        len(known),
        len(known) - int((is_asked & (kinds.status == 0)).sum()),
    )


def keep(outcome: Outcome, folder: Path | None, name: str) -> Outcome:
    """Keep an outcome for later runs with the same folder; the outcome itself."""
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        columns = {field: np.asarray(value).tolist() for field, value in vars(outcome).items()}
        (folder / f"{name}.json").write_text(json.dumps(columns))
    return outcome


def kept(folder: Path | None, name: str) -> Outcome | None:
    """What an earlier run kept."""
    if folder is None or not (folder / f"{name}.json").is_file():
        return None
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    columns = {field: np.array(found[field], dtype) for field, dtype in COLUMNS.items()}
    return Outcome(**{**found, **columns})


def are_true(found: Predictions, graph: Graph) -> NDArray[np.bool_]:
    """Which predictions are types in the complete graph, which has the same ids."""
    terms, types = len(graph.terms), graph.types.astype(np.int64)
    return np.isin(
        found.subjects.astype(np.int64) * terms + found.classes, types[:, 0] * terms + types[:, 1]
    )


def rows_of(
    name: str, protocol: str, graph: Graph, outcome: Outcome
) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows and missed targets of one graph and protocol."""
    rows = [{"selection": f"confidence {level}", **outcome.row(level)} for level in LEVELS]
    rows.append({"selection": "--unmeasured, .8", **outcome.row(0.8, measured=False)})
    by_class = outcome.by_class(LEVELS[0])
    misses = []
    for one in by_class:
        term = graph.terms[one.class_]
        rows.append(
            {"selection": local_name(term), "predictions": one.predictions,
             "stated": one.stated, "true": one.true, "gap": abs(one.gap)}
        )  # fmt: skip
        if one.is_missed:
            misses.append(f"{name}, {protocol}, {term}: {one.stated:.3f} or {one.true:.3f}")
    not_measured = outcome.unmeasured / max(1, outcome.subjects)
    head = {"graph": name, "protocol": protocol, "not measured": not_measured}
    return [head | row for row in rows], misses


def summary(outcomes: dict[tuple[str, str], Outcome]) -> str:
    """How many classes are within the target, miss it, and would miss it by chance."""
    found = [one for outcome in outcomes.values() for one in outcome.by_class(LEVELS[0])]
    within = sum(abs(one.gap) <= TOLERANCE for one in found)
    missed = [one.gap for one in found if one.is_missed]
    chance = sum(outcome.misses_by_chance(LEVELS[0]) for outcome in outcomes.values())
    return (
        f"{len(found)} classes: {within} are within {TOLERANCE}; {len(missed)} miss it by more "
        f"than two standard errors, {sum(gap < 0 for gap in missed)} of them stated too low; "
        f"{chance:.1f} would by chance."
    )


def figure_of(outcomes: dict[tuple[str, str], Outcome]) -> Any:
    """A panel per protocol: true over stated precision of each class of each graph."""
    protocols = list(dict.fromkeys(protocol for _, protocol in outcomes))
    names = list(dict.fromkeys(name for name, _ in outcomes))
    figure = figures.new_figure(3.4 * len(protocols) + 0.4, 3.8)
    panels = figure.subplots(1, len(protocols), sharey=True, squeeze=False)[0]
    for panel, protocol in zip(panels, protocols, strict=True):
        band = [np.array([0, 1]) + side * TOLERANCE for side in (-1, 1)]
        panel.fill_between([0, 1], *band, color=figures.GREY, alpha=0.2)
        panel.plot([0, 1], [0, 1], color=figures.GREY, linewidth=1, linestyle="--")
        for number, name in enumerate(names):
            if (name, protocol) not in outcomes:  # it has one namespace only
                continue
            classes = outcomes[name, protocol].by_class(LEVELS[0])
            stated, true = [one.stated for one in classes], [one.true for one in classes]
            errors = [2 * one.error for one in classes]
            colour = figures.COLOURS[number]
            panel.errorbar(stated, true, errors, fmt="o", markersize=5, color=colour, label=name)
        if not any(
            one.by_class(LEVELS[0]) for (_, own), one in outcomes.items() if own == protocol
        ):
            panel.text(0.86, 0.45, "nothing is measured,\nso nothing is predicted",
                       ha="center", color=figures.GREY)  # fmt: skip
        panel.set(title=protocol, xlabel="stated precision", xlim=(0.45, 1.02), ylim=(0.3, 1.03))
        panel.grid(alpha=0.25)
    panels[0].set_ylabel("true precision")
    panels[0].legend(fontsize=8, loc="upper left", frameon=False)
    return figure


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS))
    parser.add_argument("--protocols", nargs="+", default=list(PROTOCOLS), choices=PROTOCOLS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], help="splits [0 1 2]")
    parser.add_argument("--keep", type=Path, help="keep finished measurements in this folder")
    parser.add_argument("--figure", type=Path, help="draw true over stated precision by class")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    misses: list[str] = []
    outcomes: dict[tuple[str, str], Outcome] = {}
    # Outcomes of other code are not mixed in.
    run = "-".join([*map(str, options.seeds), common.version_of_code()])
    for name in options.graphs:
        config = Config(on_error="skip")
        graph = read(options.data, name)
        for protocol in options.protocols:
            outcome = kept(options.keep, f"{name}-{protocol}-{run}")
            if outcome is None:
                found = [
                    predict_withheld(
                        graph, replace(config, seed=seed), mask, protocol == "stripped"
                    )
                    for seed in (options.seeds[:1] if protocol == "authority" else options.seeds)
                    for mask in choices(graph, protocol, seed)
                ]
                if not found:
                    continue
                outcome = keep(sum(found[1:], found[0]), options.keep, f"{name}-{protocol}-{run}")
            outcomes[name, protocol] = outcome
            more, missed = rows_of(name, protocol, graph, outcomes[name, protocol])
            rows, misses = rows + more, misses + missed
    if options.figure:
        figures.draw_to(figure_of(outcomes), options.figure)
    if not options.json:
        print(f"{summary(outcomes)}\n")
    columns = {
        "graph": "", "protocol": "", "selection": "", "predictions": ",", "stated": ".3f",
        "true": ".3f", "gap": ".3f", "found": ".3f", "not measured": ".3f",
    }  # fmt: skip
    common.finish(columns, rows, misses, options.json)


if __name__ == "__main__":
    main()
