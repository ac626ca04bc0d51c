"""Which settings suit a graph: the paper's Sobol sequence over K, ω, Δe and n, judged by the held-out score."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyke.config import Config
from pyke.core.progress import Progress
from pyke.errors import DivergedError, Interrupted, MissingLibrary, OverBudget, UsageError
from pyke.evaluate import Measures, graph_of, measure_held_out
from pyke.pipeline import embed_graph
from pyke.read.objects import Inputs
from pyke.use.types.held_out import Split, split
from pyke.use.types.votes import REFERENCE_MU, usable_mu

# name: (least, greatest, whole numbers only); all on a logarithmic scale, since a factor is what matters.
SPACE: dict[str, tuple[float, float, bool]] = {
    "k": (5, 100, True),
    "omega": (0.05, 5.0, False),
    "energy_release": (0.01, 0.2, False),
    "dimensions": (10, 100, True),
}


@dataclass(frozen=True)
class Trial:
    """One setting and its score; None if the simulation diverged."""

    k: int
    omega: float
    energy_release: float
    dimensions: int
    score: float | None
    seconds: float


@dataclass(frozen=True)
class Tuning:
    """All trials, in the order of the sequence, the settings that they started from, and both again on a split that chose nothing.

    The best of many trials owes a part of its score to chance: `confirmed` is its score where it was not chosen.
    """

    base: Config
    base_score: float | None
    trials: tuple[Trial, ...]
    mu: int
    base_confirmed: float | None = None
    confirmed: float | None = None

    @property
    def winner(self) -> Trial | None:
        """The trial with the greatest score, the first of equals; none if the settings at the start were as good."""
        scored = [
            trial
            for trial in self.trials
            if trial.score is not None
            and trial.score > (-1 if self.base_score is None else self.base_score)
        ]
        return max(scored, key=lambda trial: trial.score or 0) if scored else None

    @property
    def best(self) -> Trial | None:
        """The winner, if it also wins on the second split."""
        lost = self.base_confirmed is not None and (
            self.confirmed is None or self.confirmed <= self.base_confirmed
        )
        return None if lost else self.winner

    @property
    def config(self) -> Config:
        """The best settings."""
        return self.base if self.best is None else _changed(self.base, self.best)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        best = asdict(self.best) if self.best else None
        scores = {
            "base_score": self.base_score,
            "base_confirmed": self.base_confirmed,
            "confirmed": self.confirmed,
        }
        return {
            "mu": self.mu,
            **scores,
            "best": best,
            "trials": [asdict(trial) for trial in self.trials],
        }


def _changed(base: Config, trial: Trial) -> Config:
    return replace(base, **{name: getattr(trial, name) for name in SPACE})


def tune(
    inputs: Inputs,
    config: Config | None = None,
    trials: int = 64,
    fraction: float = 0.2,
    mu: int = REFERENCE_MU,
    progress: Progress | None = None,
    told: Callable[[Trial], None] = lambda _: None,
) -> Tuning:
    """Tries settings on one split of a graph, the winner again on another; `told` hears of each trial. The settings given are the ones to beat.

    The second split is that of `evaluate_held_out` with the same seed. A signal ends the trials, not the tuning: what there is counts.
    """
    if trials < 1:
        raise UsageError(f"the number of trials is {trials}; it must be at least 1")
    config, progress = config or Config(), progress or Progress()
    points = settings(trials, config.seed)
    graph = graph_of(inputs, config, progress)
    first, second = (
        split(graph, fraction, seed, config.type_predicate)
        for seed in (config.seed + 1, config.seed)
    )
    measures = Measures(mu=[mu], purity=False, threads=config.threads)
    usable_mu([mu], len(first.known))
    progress.stage("trials", trials + 1, "trials")
    done: list[Trial] = []
    base = _attempt(config, first, measures, _Heard(progress, 0))
    try:
        for number, point in enumerate(points, 1):
            done.append(
                _attempt(replace(config, **point), first, measures, _Heard(progress, number))
            )
            told(done[-1])
    except Interrupted:
        progress.note(f"Stopped after {len(done)} trials.")
        if not done:
            raise
    found = Tuning(config, base.score, tuple(done), mu)
    if found.winner is None:
        return found
    again = [
        _attempt(tried, second, measures, Progress()).score
        for tried in (config, _changed(config, found.winner))
    ]
    return replace(found, base_confirmed=again[0], confirmed=again[1])


def _attempt(tried: Config, parts: Split, measures: Measures, heard: Progress) -> Trial:
    """Embeds by some settings and scores; settings that diverge or do not fit into the memory allowed have no score."""
    began = time.perf_counter()
    score: float | None = None
    with suppress(DivergedError, OverBudget):
        vectors = embed_graph(parts.graph, tried, heard).vectors
        (score,) = measure_held_out(vectors, parts, measures, heard).types.scores.values()
    return Trial(
        tried.k,
        tried.omega,
        tried.energy_release,
        tried.dimensions,
        score,
        time.perf_counter() - began,
    )


class _Heard(Progress):
    """Tells nothing of what a trial does, but lets a signal be heard while it does it."""

    def __init__(self, outer: Progress, number: int) -> None:
        self._outer, self._number = outer, number

    def advance(self, done: int) -> None:  # noqa: ARG002
        """Only the number of the trial is told."""
        self._outer.advance(self._number)

    def iteration(self, number: int, energy: float, objective: float, displacement: float) -> None:  # noqa: ARG002
        """Only the number of the trial is told."""
        self._outer.advance(self._number)


def settings(trials: int, seed: int) -> list[dict[str, Any]]:
    """Points of a scrambled Sobol sequence, which fill the space more evenly than chance would."""
    try:
        from scipy.stats import qmc
    except ImportError:
        raise MissingLibrary("scipy", "tuning", "evaluate") from None
    sequence = qmc.Sobol(len(SPACE), rng=seed)
    points = sequence.random_base2(math.ceil(math.log2(trials)))[:trials]
    return [
        {
            name: _scaled(float(at), *bounds)
            for at, (name, bounds) in zip(point, SPACE.items(), strict=True)
        }
        for point in points
    ]


def _scaled(at: float, least: float, greatest: float, whole: bool) -> float | int:
    value = math.exp(math.log(least) + at * (math.log(greatest) - math.log(least)))
    return round(value) if whole else float(f"{value:.4g}")
