"""Confidence: how often are predictions with a given number of votes correct?

The graph is embedded without the types of some subjects, and these types are predicted. Confidence
depends on the votes alone: it is the share of correct predictions among those with that many votes,
smoothed to never fall with more votes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.progress import Progress
from pyke.errors import NothingToScore
from pyke.graph.graph import Graph
from pyke.pipeline import embed_graph
from pyke.use.types.held_out import Split, split
from pyke.use.types.votes import Counts, TypeTable, has_class, usable_mu, votes_of_neighbours

PARTS = 5  # the typed subjects are split into this many parts; each is withheld in turn …
MIN_SUBJECTS = 2_000  # … until the types of at least this many subjects have been predicted


@dataclass(frozen=True)
class Calibration:
    """Predictions for subjects with withheld types, counted by their votes (0 … μ)."""

    made: Counts  # predictions
    right: Counts  # correct predictions
    subjects: int  # subjects whose types were withheld and predicted
    types: int  # their withheld types

    @property
    def mu(self) -> int:
        """Number of neighbours that vote (μ)."""
        return len(self.made) - 1

    @cached_property
    def confidences(self) -> NDArray[np.float64]:
        """Confidence by number of votes, from 0 to μ.

        One correct and one wrong prediction are added to each number of votes. Without them, a
        number of votes with a single prediction would have a confidence of 0 or 1.
        """
        right, made = self.right[1:] + 1, self.made[1:] + 2
        return np.append(0.0, isotonic(right / made, made))  # no votes: no prediction

    def __add__(self, other: Calibration) -> Calibration:
        return Calibration(
            self.made + other.made,
            self.right + other.right,
            self.subjects + other.subjects,
            self.types + other.types,
        )


def isotonic(
    values: Sequence[float] | NDArray[np.float64], weights: Sequence[float] | Counts
) -> NDArray[np.float64]:
    """Isotonic regression: the non-decreasing sequence with the least weighted squared error.

    Adjacent values that decrease are replaced by their weighted mean until none does.

    Examples
    --------
    >>> isotonic([0.1, 0.5, 0.3], [1, 1, 1]).tolist()
    [0.1, 0.4, 0.4]
    """
    pools: list[tuple[float, float, int]] = []  # mean, weight, number of values
    for value, weight in zip(values, weights, strict=True):
        pool = (float(value), float(weight), 1)
        while pools and pools[-1][0] >= pool[0]:
            mean, mass, size = pools.pop()
            total = mass + pool[1]
            pool = ((mean * mass + pool[0] * pool[1]) / total, total, size + pool[2])
        pools.append(pool)
    return np.repeat([mean for mean, _, _ in pools], [size for _, _, size in pools])


def calibrate(
    graph: Graph,
    config: Config,
    mu: int,
    *,
    exact: bool | None = None,
    progress: Progress | None = None,
) -> Calibration:
    """Embed the graph without the types of some subjects, predict these types, and count.

    A fifth of the typed subjects at a time, until there are 2,000 subjects. Each fifth takes one
    embedding.
    """
    progress = progress or Progress()
    subjects = len(TypeTable.of(graph.types))
    size = round(subjects / PARTS)
    total = _no_predictions(mu)
    for part in range(PARTS):
        if total.subjects >= MIN_SUBJECTS or (part and (part + 1) * size > subjects):
            break
        progress.note(
            f"Calibrating: embedding the graph without the types of {size:,} subjects, "
            "to measure how often predictions are correct."
        )
        parts = split(graph, 1 / PARTS, config.seed, config.type_predicate, part)
        total += _predict_withheld(parts, config, mu, exact, progress)
    if not total.subjects:
        raise NothingToScore(
            "typed subjects occur only in triples that state their types, so their types cannot "
            "be predicted from other triples"
        )
    return total


def _no_predictions(mu: int) -> Calibration:
    return Calibration(np.zeros(mu + 1, np.int64), np.zeros(mu + 1, np.int64), 0, 0)


def _predict_withheld(
    parts: Split, config: Config, mu: int, exact: bool | None, progress: Progress
) -> Calibration:
    """Embed a graph without some types, predict these, and count the correct predictions."""
    known = parts.known
    usable_mu([mu], len(known))
    withheld = parts.asked.rows(np.flatnonzero(parts.asked.subjects >= 0))
    if not len(withheld):
        return _no_predictions(mu)
    vectors = embed_graph(parts.graph, config, progress).vectors
    progress.stage("types", len(withheld), "subjects")
    counted, _ = votes_of_neighbours(
        vectors, parts.graph, known, withheld.subjects, mu, config, exact=exact, progress=progress
    )
    right = has_class(withheld, counted.queries, counted.classes)
    return Calibration(
        np.bincount(counted.votes, minlength=mu + 1),
        np.bincount(counted.votes[right], minlength=mu + 1),
        len(withheld),
        len(withheld.classes),
    )
