"""Tables and figures of scores, for the terminal, HTML and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pyke.config import format_size
from pyke.evaluate.compare import FAILED, TIME_LIMIT, Comparison, Row
from pyke.evaluate.measures import IN_GRAPH, Evaluation
from pyke.evaluate.purity import Purity
from pyke.evaluate.rivals import title
from pyke.evaluate.tune import Trial, Tuning
from pyke.evaluate.type_prediction import DirectPrediction, TypePrediction
from pyke.use import figures
from pyke.use.reports import Table
from pyke.use.types.votes import REFERENCE_MU

MISSING = "–"
_SIGNS = {TIME_LIMIT: "*", FAILED: "†"}
_PURITY_NOTE = (
    "HDBSCAN with clusters of at least 26 members and 29 samples. The purity of a cluster is the "
    "mean cosine between the types of its members. The mean over clusters gives a large group of "
    "noise the same weight as a small cluster; the figures weighted by size do not."
)


def decimal(value: float | None) -> str:
    """A score with three decimals."""
    return MISSING if value is None else f"{value:.3f}"


def evaluation_tables(evaluation: Evaluation) -> list[Table]:
    """Tables of type prediction and, if it was measured, of purity."""
    types = evaluation.types
    tables = [_score_table(evaluation.protocol, types)]
    if types.votes:
        rows = [
            ["top-1", decimal(types.votes.top_1)],
            ["micro F1", decimal(types.votes.micro_f1)],
            ["macro F1", decimal(types.votes.macro_f1)],
        ]
        mu = types.votes.mu
        name = f"Predicted classes with {mu} {'neighbour' if mu == 1 else 'neighbours'} (μ)"
        note = "A class is predicted if at least half of the neighbours have it."
        tables.append(Table(name, ["measure", "value"], rows, note))
    if evaluation.predictor:
        tables.append(_predictor_table(evaluation.predictor))
    if evaluation.purity:
        tables.append(_purity_table(evaluation.purity))
    return tables


def _predictor_table(found: DirectPrediction) -> Table:
    """Scores of `pyke types`."""
    rows = [
        ["score", decimal(found.score)],
        ["top-1", decimal(found.votes.top_1)],
        ["micro F1", decimal(found.votes.micro_f1)],
        ["macro F1", decimal(found.votes.macro_f1)],
    ]
    note = (
        "The graph is embedded without types, and near neighbours count more. The score is the "
        "mean cosine between the true types and the shares of the votes. A class is predicted if "
        "it has at least half of the votes."
    )
    return Table("Types predicted by `pyke types`", ["measure", "value"], rows, note)


def _score_table(protocol: str, types: TypePrediction) -> Table:
    """Scores for each number of neighbours."""
    facts = [f"{types.asked:,} subjects"]
    if types.without_vector:
        facts.append(f"{types.without_vector:,} of them have no vector and score 0")
    if types.ties:
        facts.append(
            f"{types.ties:,} have a tie between neighbours {REFERENCE_MU} and {REFERENCE_MU + 1}, "
            "broken by id"
        )
    recall = f"neighbours from an index with recall {types.recall:.4f}"
    facts.append("exact neighbours" if types.exact else recall)
    how = "predicted from the others" if protocol == IN_GRAPH else "withheld before the embedding"
    rows = [
        [str(mu), decimal(score), f"{types.errors[mu]:.4f}"] for mu, score in types.scores.items()
    ]
    columns = ["neighbours (μ)", "score", "standard error"]
    return Table(
        f"Type prediction, {protocol} (types {how})", columns, rows, f"{'; '.join(facts)}."
    )


def _purity_table(purity: Purity) -> Table:
    """Purity of clusters, with and without noise."""
    rows = [
        ["mean over clusters", decimal(purity.mean), decimal(purity.mean_without_noise)],
        ["weighted by size", decimal(purity.weighted), decimal(purity.weighted_without_noise)],
    ]
    found = f"{purity.clusters:,} clusters; {purity.noise:.1%} of the subjects are noise."
    note = f"{_PURITY_NOTE} {found}"
    if not purity.exact:
        note += " Clusters are approximate: they come from a graph of nearest neighbours."
    return Table("Cluster purity", ["purity", "noise as a cluster", "without noise"], rows, note)


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


@dataclass(frozen=True)
class _Column:
    """A measure: its path in a row, its format, and whether to mark the maximum as the best."""

    title: str
    path: str
    form: Callable[[Any], str] = decimal
    marked: bool = False

    def value(self, row: Row, mu: int) -> Any:
        """The measure, or None if it was not measured."""
        found: Any = asdict(row)
        for name in self.path.split("/"):
            found = score_at(found, mu) if name == "score" else found.get(name)
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
    """A row per method; the best value of each measure is marked."""
    mu = _shown_mu(comparison)
    cells, best = [[title(row.method)] for row in comparison.rows], set()
    for number, column in enumerate(_COLUMNS, 1):
        values = [column.value(row, mu) for row in comparison.rows]
        maximum = max((value for value in values if value is not None), default=None)
        for r, (row, value) in enumerate(zip(comparison.rows, values, strict=True)):
            missing = _SIGNS.get(row.status, MISSING)
            cells[r].append(missing if value is None else column.form(value))
            if column.marked and value is not None and value == maximum:
                best.add((r, number))
    settings = comparison.settings
    note = (
        f"All methods get the same triples and {settings['dimensions']} dimensions. "
        f"{mu} neighbours (μ) vote. In-graph is the paper's protocol; held-out withholds all types "
        f"of {settings['held_out']:.0%} of the subjects before the embedding. Seconds are from the "
        "graph in memory to its vectors, or to the predicted types of methods without vectors. "
        "* stopped at the time limit; † failed"
    )
    chosen = [
        f"{title(row.method)}: {_listed(row.chosen)} ({_seconds(row.choice_seconds or 0)} s)"
        for row in comparison.rows
        if row.chosen
    ]
    if chosen:
        note += ". Settings chosen by types withheld from the known ones, with the seconds of the "
        note += f"choice: {'; '.join(chosen)}"
    reasons = "; ".join(
        f"{title(row.method)}: {row.reason}" for row in comparison.rows if row.reason
    )
    return Table(
        f"Comparison on {comparison.graph}",
        ["method", *(column.title.format(mu=mu) for column in _COLUMNS)],
        cells,
        f"{note} ({reasons})." if reasons else f"{note}.",
        frozenset(best),
    )


def _listed(settings: Mapping[str, Any]) -> str:
    """Settings in one line."""
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in settings.items())


def _shown_mu(comparison: Comparison) -> int:
    """The largest measured μ up to the paper's μ = 10; the smallest one if all are larger."""
    done = [row.in_graph for row in comparison.rows if row.in_graph]
    measured = {mu for scores in done for mu in scores_of(scores)} or {REFERENCE_MU}
    return max((mu for mu in measured if mu <= REFERENCE_MU), default=min(measured))


def scores_of(result: Mapping[str, Any]) -> dict[int, float]:
    """Score by number of neighbours (μ); in JSON, these numbers are strings.

    It is empty for methods that predict types without neighbours.
    """
    return {int(mu): score for mu, score in result["types"].get("scores", {}).items()}


def score_at(result: Mapping[str, Any], mu: int) -> float | None:
    """Score with this number of neighbours (μ), or without neighbours."""
    alone: float | None = result["types"].get("score")
    return scores_of(result).get(mu) if alone is None else alone


def curves(comparison: Comparison) -> Any:
    """A figure of the scores of both protocols, for the methods with vectors."""
    complete = [row for row in comparison.rows if row.in_graph and row.held_out]
    done = [row for row in complete if scores_of(row.in_graph or {})]
    return figures.scores_over_mu(
        {
            "in-graph": {title(row.method): scores_of(row.in_graph or {}) for row in done},
            "held-out": {title(row.method): scores_of(row.held_out or {}) for row in done},
        }
    )


def markdown(table: Table) -> str:
    """A table as Markdown."""
    lines = [list(table.columns), ["---"] + ["---:"] * (len(table.columns) - 1)]
    lines += [
        [f"**{cell}**" if (r, c) in table.best else cell for c, cell in enumerate(row)]
        for r, row in enumerate(table.rows)
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def trial_line(trial: Trial) -> str:
    """A trial in one line."""
    score = "no score" if trial.score is None else decimal(trial.score)
    values = (
        f"springs (K) {trial.k:>3}  repulsion (ω) {trial.omega:<6g}  "
        f"release (Δe) {trial.energy_release:<7g}  dimensions (n) {trial.dimensions:>3}"
    )
    return f"{values}  →  {score}  ({trial.seconds:.1f} s)"


def tuning_table(tuning: Tuning, max_trials: int = 10) -> Table:
    """The best trials, below the settings that they had to beat."""
    trials = [trial for trial in tuning.trials if trial.score is not None]
    trials.sort(key=lambda trial: -(trial.score or 0))
    rows = [["given", *_settings_cells(tuning.base), decimal(tuning.base_score), ""]]
    rows += [
        [str(rank), *_settings_cells(t), decimal(t.score), f"{t.seconds:.1f}"]
        for rank, t in enumerate(trials[:max_trials], 1)
    ]
    note = (
        f"{len(tuning.trials)} trials, {len(tuning.trials) - len(trials)} without a score. "
        f"The score is held-out type prediction with {tuning.mu} neighbours (μ)."
    )
    if tuning.confirmed is not None:
        note += (
            f" On a second split of the graph, the best trial scores {decimal(tuning.confirmed)} "
            f"and the given settings {decimal(tuning.base_confirmed)}."
        )
    if not tuning.best:
        note += " No trial beat the given settings, so they are kept."
    columns = ["rank", "springs (K)", "repulsion (ω)", "energy release (Δe)", "dimensions (n)"]
    best = frozenset({(1, 5)}) if tuning.best else frozenset({(0, 5)})
    return Table("Tuning", [*columns, "score", "seconds"], rows, note, best)


def _settings_cells(settings: Any) -> list[str]:
    """The four tuned parameters of a trial or of a configuration."""
    k, dimensions = str(settings.k), str(settings.dimensions)
    return [k, f"{settings.omega:g}", f"{settings.energy_release:g}", dimensions]
