"""Which settings suit a graph: the paper's Sobol sequence over K, ω, Δe and n, judged by the held-out score."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyke.config import Config
from pyke.errors import DivergedError, MissingLibrary, UsageError
from pyke.evaluate import Measures, graph_of, measure_held_out
from pyke.evaluate.held_out import split
from pyke.evaluate.type_prediction import REFERENCE_MU
from pyke.pipeline import Inputs, Run
from pyke.progress import Progress

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
    """All trials, in the order of the sequence, and the settings that they started from."""

    base: Config
    base_score: float | None
    trials: tuple[Trial, ...]
    mu: int

    @property
    def best(self) -> Trial | None:
        """The trial with the greatest score, the first of equals; none if the settings at the start were as good."""
        scored = [trial for trial in self.trials if trial.score is not None and trial.score > (-1 if self.base_score is None else self.base_score)]
        return max(scored, key=lambda trial: trial.score or 0) if scored else None

    @property
    def config(self) -> Config:
        """The best settings."""
        return self.base if self.best is None else replace(self.base, **{name: getattr(self.best, name) for name in SPACE})

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        best = asdict(self.best) if self.best else None
        return {"mu": self.mu, "base_score": self.base_score, "best": best, "trials": [asdict(trial) for trial in self.trials]}


def tune(
    inputs: Inputs,
    config: Config | None = None,
    trials: int = 64,
    fraction: float = 0.2,
    mu: int = REFERENCE_MU,
    progress: Progress | None = None,
    told: Callable[[Trial], None] = lambda _: None,
) -> Tuning:
    """Tries settings on one split of a graph; `told` hears of each trial. The settings given are tried first, as the one to beat."""
    if trials < 1:
        raise UsageError(f"the number of trials is {trials}; it must be at least 1")
    config, progress = config or Config(), progress or Progress()
    points = settings(trials, config.seed)
    parts = split(graph_of(inputs, config, progress), fraction, config.seed, config.type_predicate)
    measures = Measures(mu=[mu], purity=False, threads=config.threads)

    def attempt(tried: Config, number: int) -> Trial:
        began = time.perf_counter()
        heard = _Heard(progress, number)
        try:
            vectors = Run(None, tried, heard).embed_graph(parts.graph).vectors
            score = measure_held_out(vectors, parts, measures, heard).types.scores[mu]
        except DivergedError:
            score = None
        return Trial(tried.k, tried.omega, tried.energy_release, tried.dimensions, score, time.perf_counter() - began)

    progress.stage("trials", trials + 1, "trials")
    first = attempt(config, 0)
    done = []
    for number, point in enumerate(points, 1):
        done.append(attempt(replace(config, **point), number))
        told(done[-1])
    return Tuning(config, first.score, tuple(done), mu)


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
    return [{name: _scaled(float(at), *bounds) for at, (name, bounds) in zip(point, SPACE.items(), strict=True)} for point in points]


def _scaled(at: float, least: float, greatest: float, whole: bool) -> float | int:
    value = math.exp(math.log(least) + at * (math.log(greatest) - math.log(least)))
    return round(value) if whole else float(f"{value:.4g}")
