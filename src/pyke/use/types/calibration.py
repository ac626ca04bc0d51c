"""How often is a prediction right? Learnt from subjects whose types were withheld before the embedding.

A class has as many votes as there are subjects of it among the μ nearest typed neighbours. A neighbour may vote if it has a role
(predicate, side) in common with the subject: what stands in none of their roles, a home page among people, is of another kind,
however near it is. Confidence is a function of the votes alone: the part of the predictions with so many votes that was right,
made to rise with the votes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import Floats, Ids, Offsets, positions
from pyke.core.parallel import parallel_for
from pyke.core.progress import Progress
from pyke.errors import NothingToScore
from pyke.graph.graph import LITERAL, Graph
from pyke.graph.roles import is_typing
from pyke.pipeline import embed_graph
from pyke.use import figures
from pyke.use.neighbours.search import Neighbours, nearest_of_many
from pyke.use.reports import Table
from pyke.use.types import _kernels
from pyke.use.types.held_out import split
from pyke.use.types.votes import TypeTable, has_class, usable_mu, vote

PARTS = 5  # of the typed subjects, each withheld in turn …
ENOUGH = 2_000  # … until so many subjects were asked

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Calibration:
    """Predictions for withheld subjects by their votes, 0 … μ: how many were made, and how many of them were right."""

    made: Counts
    right: Counts
    subjects: int  # that were asked
    types: int  # that they truly have

    @property
    def mu(self) -> int:
        """How many neighbours vote."""
        return len(self.made) - 1

    @cached_property
    def confidences(self) -> NDArray[np.float64]:
        """By votes. Each number of votes is given one right and one wrong prediction more, lest a single one be believed."""
        right, made = self.right[1:] + 1, self.made[1:] + 2
        return np.append(0.0, isotonic(right / made, made))  # without votes there is no prediction

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
    """The rising sequence closest to the values by weighted squares: neighbours that fall are pooled until none does."""
    pools: list[tuple[float, float, int]] = []  # mean, weight, values in it
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
    """Embeds the graph without the types of a part of its subjects, and predicts them; a part suffices if it is large."""
    progress = progress or Progress()
    subjects = len(TypeTable.of(graph.types))
    size = round(subjects / PARTS)
    total = _nothing(mu)
    for part in range(PARTS):
        if total.subjects >= ENOUGH or (part and (part + 1) * size > subjects):
            break
        progress.note(
            f"Calibrating: embedding without the types of {size:,} subjects, to see how often predictions of them are right."
        )
        total += _ask_part(graph, config, mu, part, exact, progress)
    if not total.subjects:
        raise NothingToScore(
            "typed subjects have nothing but their types: without these nothing is left of them to predict from"
        )
    return total


def _nothing(mu: int) -> Calibration:
    return Calibration(np.zeros(mu + 1, np.int64), np.zeros(mu + 1, np.int64), 0, 0)


def _ask_part(
    graph: Graph, config: Config, mu: int, part: int, exact: bool | None, progress: Progress
) -> Calibration:
    parts = split(graph, 1 / PARTS, config.seed, config.type_predicate, part)
    known = parts.known
    usable_mu([mu], len(known))
    asked = parts.asked.rows(np.flatnonzero(parts.asked.subjects >= 0))
    if not len(asked):
        return _nothing(mu)
    vectors = embed_graph(parts.graph, config, progress).vectors
    progress.stage("types", len(asked), "subjects")
    ballot = hold_ballot(
        vectors, parts.graph, known, asked.subjects, mu, config, exact=exact, progress=progress
    )
    right = ballot.votes[has_class(asked, ballot.who, ballot.classes)]
    return Calibration(
        np.bincount(ballot.votes, minlength=mu + 1),
        np.bincount(right, minlength=mu + 1),
        len(asked),
        len(asked.classes),
    )


@dataclass(frozen=True)
class Ballot:
    """For every asked subject, each class that has votes."""

    who: Counts  # positions among the asked
    classes: Ids
    votes: Counts
    neighbours: Neighbours


def hold_ballot(
    vectors: Floats,
    graph: Graph,
    known: TypeTable,
    asked: Ids,
    mu: int,
    config: Config,
    *,
    exact: bool | None,
    progress: Progress,
) -> Ballot:
    """Asks the μ nearest typed subjects of each asked term for their classes; a typed term is no voter for itself."""
    found = nearest_of_many(vectors[known.subjects], vectors[asked], mu, positions(asked, known.subjects), exact=exact, threads=config.threads,
                            progress=progress)  # fmt: skip
    may_vote = np.empty(found.ids.shape, bool)
    roles, voters = _roles(graph, config.type_predicate), known.subjects[found.ids]
    parallel_for(
        config.threads,
        len(asked),
        lambda begin, end: _kernels.have_in_common(*roles, asked, voters, begin, end, may_vote),
    )
    return Ballot(*vote(found.ids, known, may_vote), found)


def _roles(graph: Graph, type_predicate: str) -> tuple[Offsets, Ids]:
    """The roles (predicate, side) of every term, ascending, by rows; the giving of types is none."""
    ordinary, number = ~is_typing(graph, type_predicate), 2 * len(graph.predicates)
    as_object = ordinary & (graph.objects != LITERAL)
    keys = np.unique(np.concatenate([
        graph.subjects[ordinary].astype(np.int64) * number + 2 * graph.predicate_positions[ordinary],
        graph.objects[as_object].astype(np.int64) * number + 2 * graph.predicate_positions[as_object] + 1,
    ]))  # fmt: skip
    return np.searchsorted(keys, np.arange(len(graph.terms) + 1) * number), (keys % number).astype(
        np.int32
    )


def reliability_table(calibration: Calibration) -> Table:
    """How often predictions were right, as people read it."""
    c = calibration
    asked_from = [
        (int(c.made[votes:].sum()), int(c.right[votes:].sum())) for votes in range(c.mu + 1)
    ]
    rows = [
        [f"{votes} of {c.mu}", f"{c.made[votes]:,}", f"{c.right[votes] / c.made[votes]:.3f}" if c.made[votes] else "–", f"{c.confidences[votes]:.3f}",
         f"{asked_from[votes][1] / asked_from[votes][0]:.3f}" if asked_from[votes][0] else "–", f"{asked_from[votes][1] / c.types:.3f}"]
        for votes in range(c.mu, 0, -1)
    ]  # fmt: skip
    note = f"{c.subjects:,} subjects whose {c.types:,} types were withheld before the embedding, and then predicted."
    columns = [
        "votes",
        "predictions",
        "right",
        "confidence",
        "right, so many votes or more",
        "withheld types found by then",
    ]
    return Table("How often predictions are right", columns, rows, note)


def reliability_figure(calibration: Calibration) -> Any:
    """Confidence over votes, with how often predictions were right; below, how many there were."""
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
        label="right, of withheld types (± 2 standard errors)",
    )
    above.set(ylabel="part that is right", ylim=(0, 1.05))
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
