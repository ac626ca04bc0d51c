"""Search for settings that suit a graph: the paper's Sobol sequence over K, ω, Δe and n.

The score is that of held-out type prediction.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from pyke.config import Config
from pyke.core.progress import Progress
from pyke.errors import DivergedError, Interrupted, MissingLibrary, OverBudget, UsageError
from pyke.evaluate.measures import Measures, measure_held_out, read_typed_graph
from pyke.pipeline import embed_graph
from pyke.read.objects import Inputs
from pyke.use.types.held_out import Split, split
from pyke.use.types.votes import REFERENCE_MU, usable_mu


class Bounds(NamedTuple):
    """Range of a parameter."""

    low: float
    high: float
    is_integer: bool


# All scales are logarithmic: scores depend on factors between values.
SPACE = {
    "k": Bounds(5, 100, True),
    "omega": Bounds(0.05, 5.0, False),
    "energy_release": Bounds(0.01, 0.2, False),
    "dimensions": Bounds(10, 100, True),
}
MAX_TRIALS = 100_000


@dataclass(frozen=True)
class Trial:
    """Settings and their score. The score is None if the simulation diverged or had no memory."""

    k: int
    omega: float
    energy_release: float
    dimensions: int
    score: float | None
    seconds: float


@dataclass(frozen=True)
class Tuning:
    """Result of `tune`: the given settings, all trials, and a second score of the best ones.

    The best of many trials owes a part of its score to chance. `confirmed` is its score on a
    second split of the graph, and `base_confirmed` is that of the given settings.
    """

    base: Config
    base_score: float | None
    trials: tuple[Trial, ...]  # in the order of the sequence
    mu: int
    base_confirmed: float | None = None
    confirmed: float | None = None

    @property
    def winner(self) -> Trial | None:
        """The first trial with the maximum score; None if the given settings are as good."""
        to_beat = -1 if self.base_score is None else self.base_score
        scored = [t for t in self.trials if t.score is not None and t.score > to_beat]
        return max(scored, key=lambda trial: trial.score or 0) if scored else None

    @property
    def best(self) -> Trial | None:
        """The winner, if it also beats the given settings on the second split."""
        lost = self.base_confirmed is not None and (
            self.confirmed is None or self.confirmed <= self.base_confirmed
        )
        return None if lost else self.winner

    @property
    def config(self) -> Config:
        """The best settings."""
        return self.base if self.best is None else _with_trial(self.base, self.best)

    def as_dict(self) -> dict[str, Any]:
        """The result as a dictionary for JSON."""
        return {
            "mu": self.mu,
            "base_score": self.base_score,
            "base_confirmed": self.base_confirmed,
            "confirmed": self.confirmed,
            "best": asdict(self.best) if self.best else None,
            "trials": [asdict(trial) for trial in self.trials],
        }


def _with_trial(base: Config, trial: Trial) -> Config:
    """Settings with the parameters of a trial."""
    return replace(base, **{name: getattr(trial, name) for name in SPACE})


def tune(
    inputs: Inputs,
    config: Config | None = None,
    trials: int = 64,
    fraction: float = 0.2,
    mu: int = REFERENCE_MU,
    progress: Progress | None = None,
    on_trial: Callable[[Trial], None] = lambda _: None,
) -> Tuning:
    """Try settings on one split of a graph, and the best ones again on a second split.

    A signal ends the trials; the result has those that are finished.

    Parameters
    ----------
    inputs : the graph.
    config : the settings to beat.
    trials : number of settings to try.
    fraction : fraction of the typed subjects whose types are withheld.
    mu : number of neighbours (μ) that vote.
    progress : receives progress.
    on_trial : called after each trial.

    Examples
    --------
    >>> from pyke.config import Config
    >>> from pyke.evaluate.tune import tune
    >>> found = tune("examples/father.ttl", Config(), trials=2, fraction=0.4, mu=1)
    >>> len(found.trials)
    2
    """
    if not 1 <= trials <= MAX_TRIALS:
        raise UsageError(f"`trials` is {trials}; it must be from 1 to {MAX_TRIALS:,}")
    config, progress = config or Config(), progress or Progress()
    points = settings(trials, config.seed)
    graph = read_typed_graph(inputs, config, progress)
    # The second split is that of `evaluate_held_out` with the same seed.
    first, second = (
        split(graph, fraction, seed, config.type_predicate)
        for seed in (config.seed + 1, config.seed)
    )
    measures = Measures(mu=[mu], purity=False, threads=config.threads)
    usable_mu([mu], len(first.known))
    progress.stage("trials", trials + 1, "trials")
    base = _try(config, first, measures, _TrialProgress(progress, 0))
    done: list[Trial] = []
    try:
        for number, point in enumerate(points, 1):
            trial_progress = _TrialProgress(progress, number)
            done.append(_try(replace(config, **point), first, measures, trial_progress))
            on_trial(done[-1])
    except Interrupted:
        progress.note(f"Stopped after {len(done)} trials.")
        if not done:
            raise
    return _confirmed(Tuning(config, base.score, tuple(done), mu), second, measures)


def _confirmed(found: Tuning, parts: Split, measures: Measures) -> Tuning:
    """The result with scores of the given settings and of the winner on another split."""
    if found.winner is None:
        return found
    base, winner = (
        _try(tried, parts, measures, Progress()).score
        for tried in (found.base, _with_trial(found.base, found.winner))
    )
    return replace(found, base_confirmed=base, confirmed=winner)


def _try(config: Config, parts: Split, measures: Measures, progress: Progress) -> Trial:
    """Embed and score. Settings that diverge or need too much memory have no score."""
    began = time.perf_counter()
    score: float | None = None
    with suppress(DivergedError, OverBudget):
        vectors = embed_graph(parts.graph, config, progress).vectors
        (score,) = measure_held_out(vectors, parts, measures, progress).types.scores.values()
    seconds = time.perf_counter() - began
    return Trial(config.k, config.omega, config.energy_release, config.dimensions, score, seconds)


class _TrialProgress(Progress):
    """Progress of one trial: reports only its number, often enough to react to signals."""

    def __init__(self, outer: Progress, number: int) -> None:
        self._outer, self._number = outer, number

    def advance(self, done: int) -> None:  # noqa: ARG002
        """Report the number of the trial."""
        self._outer.advance(self._number)

    def iteration(self, number: int, energy: float, objective: float, displacement: float) -> None:  # noqa: ARG002
        """Report the number of the trial."""
        self._outer.advance(self._number)


def settings(trials: int, seed: int) -> list[dict[str, Any]]:
    """Points of a scrambled Sobol sequence, which covers the space more evenly than chance."""
    try:
        from scipy.stats import qmc
    except ImportError:
        raise MissingLibrary("scipy", "tuning", "evaluate") from None
    sequence = qmc.Sobol(len(SPACE), rng=seed)
    points = sequence.random_base2(math.ceil(math.log2(trials)))[:trials]
    return [
        {
            name: _scaled(float(at), bounds)
            for at, (name, bounds) in zip(point, SPACE.items(), strict=True)
        }
        for point in points
    ]


def _scaled(at: float, bounds: Bounds) -> float | int:
    """A value between the bounds, on a logarithmic scale; `at` is from 0 to 1."""
    low, high = math.log(bounds.low), math.log(bounds.high)
    value = math.exp(low + at * (high - low))
    return round(value) if bounds.is_integer else float(f"{value:.4g}")
