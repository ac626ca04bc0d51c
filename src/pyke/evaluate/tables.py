"""Scores as people read them: the same tables on the terminal, in HTML and in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pyke.config import format_size
from pyke.evaluate import Evaluation
from pyke.evaluate.compare import FAILED, TIME_LIMIT, Comparison, Row
from pyke.evaluate.rivals import METHODS
from pyke.evaluate.tune import Trial, Tuning
from pyke.use import figures
from pyke.use.reports import Table
from pyke.use.types.votes import REFERENCE_MU

PURITY_NOTE = ("HDBSCAN, clusters of at least 26, 29 samples. A cluster's purity is the mean cosine between the types of its members. "
               "The mean over clusters counts a large heap of noise no more than a small cluster: look at the weighted figures.")  # fmt: skip


def decimal(value: float | None) -> str:
    """A score, to three places."""
    return "–" if value is None else f"{value:.3f}"


def evaluation_tables(evaluation: Evaluation) -> list[Table]:
    """Type prediction and, if it was measured, purity."""
    types, pure = evaluation.types, evaluation.purity
    facts = [f"{types.asked:,} subjects asked"]
    facts += (
        [f"{types.without_vector:,} of them without a vector (score 0): no other triple names them"]
        if types.without_vector
        else []
    )
    facts += (
        [f"{types.ties:,} with a tie at the border of μ = {REFERENCE_MU}, decided by id"]
        if types.ties
        else []
    )
    facts += [
        "neighbours exact" if types.exact else f"neighbours by an index, recall {types.recall:.4f}"
    ]
    what = (
        "predicted from the others"
        if evaluation.protocol == "in-graph"
        else "withheld before the embedding"
    )
    rows = [
        [str(mu), decimal(score), f"{types.errors[mu]:.4f}"] for mu, score in types.scores.items()
    ]
    title = f"Type prediction, {evaluation.protocol} (types {what})"
    tables = [Table(title, ["μ", "score", "standard error"], rows, "; ".join(facts) + ".")]
    if types.votes:
        rows = [
            ["top-1", decimal(types.votes.top_1)],
            ["micro F1", decimal(types.votes.micro_f1)],
            ["macro F1", decimal(types.votes.macro_f1)],
        ]
        tables.append(
            Table(
                f"Predicted classes at μ = {REFERENCE_MU}",
                ["measure", "value"],
                rows,
                "A class is predicted if half of the neighbours have it.",
            )
        )
    if pure:
        approximate = (
            ""
            if pure.exact
            else " Clusters are approximate: made from a graph of nearest neighbours."
        )
        rows = [
            ["mean over clusters", decimal(pure.mean), decimal(pure.mean_without_noise)],
            ["weighted by size", decimal(pure.weighted), decimal(pure.weighted_without_noise)],
        ]
        found = f" {pure.clusters:,} clusters; {pure.noise:.1%} of the subjects are noise."
        tables.append(
            Table(
                "Cluster purity",
                ["purity", "noise as a cluster", "without noise"],
                rows,
                PURITY_NOTE + found + approximate,
            )
        )
    return tables


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


@dataclass(frozen=True)
class _Column:
    """A measure: where it stands in a row, how it is written, and whether the greatest is marked as the best."""

    title: str
    path: str
    form: Callable[[Any], str] = decimal
    marked: bool = False

    def value(self, row: Row, mu: int) -> Any:
        """The measure, or None where it was not taken."""
        found: Any = asdict(row)
        for name in self.path.split("/"):
            found = scores_of(found).get(mu) if name == "score" else found.get(name)
            if found is None:
                return None
        return found


_COLUMNS = (
    _Column("in-graph, μ={mu}", "in_graph/score", marked=True),
    _Column("held-out, μ={mu}", "held_out/score", marked=True),
    _Column("top-1", "held_out/types/votes/top_1", marked=True),
    _Column("micro F1", "held_out/types/votes/micro_f1", marked=True),
    _Column("purity by size", "in_graph/purity/weighted", marked=True),
    _Column("mean purity", "in_graph/purity/mean"),
    _Column("noise", "in_graph/purity/noise", "{:.0%}".format),
    _Column("seconds", "seconds", _seconds),
    _Column("memory", "peak_bytes", format_size),
)


def comparison_table(comparison: Comparison) -> Table:
    """A row per method, the best of each measure marked."""
    mu = _shown_mu(comparison)
    cells, best = [[METHODS[row.method].title] for row in comparison.rows], set()
    for number, column in enumerate(_COLUMNS, 1):
        values = [column.value(row, mu) for row in comparison.rows]
        greatest = max((value for value in values if value is not None), default=None)
        for r, (row, value) in enumerate(zip(comparison.rows, values, strict=True)):
            cells[r].append(_SIGNS.get(row.status, "–") if value is None else column.form(value))
            if column.marked and value is not None and value == greatest:
                best.add((r, number))
    note = (f"The same triples, {comparison.settings['dimensions']} dimensions, the same measures. In-graph is the paper's protocol; held-out "
            f"withholds all types of {comparison.settings['held_out']:.0%} of the subjects before the embedding. Seconds are from the graph in "
            "memory to its vectors. * over the time limit; † failed")  # fmt: skip
    reasons = "; ".join(
        f"{METHODS[row.method].title}: {row.reason}" for row in comparison.rows if row.reason
    )
    title = f"Comparison on {comparison.graph}"
    return Table(
        title,
        ["method", *(column.title.format(mu=mu) for column in _COLUMNS)],
        cells,
        f"{note}{f' ({reasons})' if reasons else ''}.",
        frozenset(best),
    )


def _shown_mu(comparison: Comparison) -> int:
    """The paper's μ = 10 if it was measured, else the one next below it, or the least."""
    measured = {
        mu for row in comparison.rows if row.in_graph for mu in scores_of(row.in_graph)
    } or {REFERENCE_MU}
    return max((mu for mu in measured if mu <= REFERENCE_MU), default=min(measured))


_SIGNS = {TIME_LIMIT: "*", FAILED: "†"}


def scores_of(result: Mapping[str, Any]) -> dict[int, float]:
    """Score by μ; JSON makes texts of numbers that are keys."""
    return {int(mu): score for mu, score in result["types"]["scores"].items()}


def curves(comparison: Comparison) -> Any:
    """The figure of a comparison: both protocols."""
    done = [row for row in comparison.rows if row.in_graph and row.held_out]
    return figures.scores_over_mu({
        "in-graph": {METHODS[row.method].title: scores_of(row.in_graph or {}) for row in done},
        "held-out": {METHODS[row.method].title: scores_of(row.held_out or {}) for row in done},
    })  # fmt: skip


def markdown(table: Table) -> str:
    """A table for a README."""
    lines = [list(table.columns), ["---"] + ["---:"] * (len(table.columns) - 1)]
    lines += [
        [f"**{cell}**" if (r, c) in table.best else cell for c, cell in enumerate(row)]
        for r, row in enumerate(table.rows)
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def trial_line(trial: Trial) -> str:
    """A trial in one line."""
    score = "no score" if trial.score is None else decimal(trial.score)
    return f"K {trial.k:>3}  ω {trial.omega:<6g}  Δe {trial.energy_release:<7g}  n {trial.dimensions:>3}  →  {score}  ({trial.seconds:.1f} s)"


def tuning_table(tuning: Tuning, most: int = 10) -> Table:
    """The best trials, below the settings that they had to beat."""
    scored = sorted(
        (trial for trial in tuning.trials if trial.score is not None),
        key=lambda trial: -(trial.score or 0),
    )
    base = tuning.base
    rows = [
        [
            "start",
            str(base.k),
            f"{base.omega:g}",
            f"{base.energy_release:g}",
            str(base.dimensions),
            decimal(tuning.base_score),
            "",
        ]
    ]
    rows += [[str(rank), str(t.k), f"{t.omega:g}", f"{t.energy_release:g}", str(t.dimensions), decimal(t.score), f"{t.seconds:.1f}"]
             for rank, t in enumerate(scored[:most], 1)]  # fmt: skip
    note = f"{len(tuning.trials)} trials, {len(tuning.trials) - len(scored)} without a score. Score: held-out type prediction at μ = {tuning.mu}."
    if tuning.confirmed is not None:
        note += f" On a second split, which chose nothing: {decimal(tuning.confirmed)}, the start {decimal(tuning.base_confirmed)}."
    note += "" if tuning.best else " None beat the settings at the start, which are kept."
    best = frozenset({(1, 5)}) if tuning.best else frozenset({(0, 5)})
    return Table("Tuning", ["rank", "K", "ω", "Δe", "n", "score", "seconds"], rows, note, best)
