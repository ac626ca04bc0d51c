"""Predict missing facts: objects that subjects lack but similar subjects have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.embedding.lookup import MAX_LISTED
from pyke.errors import NothingToScore, UsageError
from pyke.graph.graph import LITERAL, Graph
from pyke.graph.roles import states_type
from pyke.use.facts.facts import MIN_SUBJECTS, Facts, Reason, Studied
from pyke.use.facts.links import MIN_STRENGTH, Links
from pyke.use.facts.space import Groups, Space
from pyke.use.facts.trial import MIN_LIKELIHOOD, Trial, run_trial, withhold
from pyke.use.types.predictions import check_selection

FUNCTIONAL = 0.95  # if this share of the subjects has a single object, at most one is predicted


def complete(
    embedding: Embedding,
    predicates: Sequence[str] | None = None,
    *,
    mu: int | None = None,
    min_confidence: float = 0.9,
    precision: float | None = None,
    unmeasured: bool = False,
    exact: bool | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Facts:
    """Predict the objects that entities lack but similar entities have.

    Parameters
    ----------
    embedding
        The embedding, with its graph.
    predicates
        Only these: IRIs, prefixed names, labels or local names. By default all but the one that
        states types.
    mu
        Number of nearest subjects that vote (μ); 20 by default, if there are as many.
    min_confidence
        Drop facts with a lower confidence, from 0 to 1.
    precision
        Use this instead of `min_confidence` to keep as many facts as possible while this share of
        them is expected to be correct, from 0 to 1.
    unmeasured
        Also keep facts of predicates of which fewer than five withheld facts were predicted with
        such a confidence, so that their precision was not measured.
    exact
        True or False for an exact or an approximate search; by default the number of terms decides.
    threads
        Number of threads; by default all cores. The result does not depend on it.
    progress
        Receives progress reports.

    Examples
    --------
    >>> import pyke
    >>> import pandas as pd
    >>> rows = [(f"e:p{n}", "e:lives", f"e:town{n % 2}") for n in range(39)]
    >>> rows += [(f"e:p{n}", "e:votes", f"e:town{n % 2}") for n in range(40)]
    >>> e = pyke.embed(pd.DataFrame(rows), dimensions=10)
    >>> complete(e, ["lives"], min_confidence=0.5)[0].object
    'e:town1'
    """
    check_selection(min_confidence, precision)
    progress = progress or Progress()
    chosen = find_predicates(embedding, predicates)
    predictor = prepare(embedding, chosen, mu, exact, threads, progress)
    found = _predict(predictor, embedding, progress)
    return found.select(min_confidence, precision, unmeasured)


def _predict(predictor: Predictor, embedding: Embedding, progress: Progress) -> Facts:
    """All facts, with their confidence."""
    rows, asked = _vote(predictor, progress)
    order = np.lexsort(
        (rows["objects"], -rows["confidences"], rows["predicates"], rows["subjects"])
    )
    return Facts(
        embedding,
        **{name: column[order] for name, column in rows.items()},
        measured=np.ones(len(order), bool),  # `select` decides
        not_measured=np.zeros(0, np.int32),
        min_confidence=0.0,
        entities=len(predictor.space.entities),
        studied=predictor.studied(asked),
        trial=predictor.trial,
    )


def _vote(predictor: Predictor, progress: Progress) -> tuple[dict[str, Any], dict[int, int]]:
    """The arrays of all facts, and for how many entities each predicate was predicted."""
    space, trial = predictor.space, predictor.trial
    progress.stage("facts", len(space.entities), "entities")
    lacking = space.lacking(space.entities, progress)
    likelihoods = trial.likelihood(lacking)
    lacking_of = Groups(lacking.predicates)
    parts: list[dict[str, Any]] = []
    asked: dict[int, int] = {}
    for predicate in predictor.chosen:
        rows = lacking_of.of(predicate)
        rows = rows[likelihoods[rows] >= MIN_LIKELIHOOD]
        entities = lacking.entities[rows]
        asked[predicate] = len(rows)
        only_best = predictor.functional[predicate]
        votes = space.vote_objects(predicate, entities, only_best, progress)
        number = np.full(len(votes.subjects), predicate, np.int64)
        parts.append(
            {
                "subjects": votes.subjects,
                "predicates": space.graph.predicates[number],
                "objects": votes.objects,
                "votes": votes.votes.astype(np.int32),
                "shares": votes.shares,
                "links": votes.links,
                "confidences": trial.confidences.of(votes, predicate),
                "likelihoods": likelihoods[rows][np.searchsorted(entities, votes.subjects)],
            }
        )
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, asked


@dataclass(frozen=True)
class Predictor:
    """Everything that the prediction of facts needs."""

    space: Space
    trial: Trial
    functional: dict[int, bool]  # predicates that can be predicted; if subjects have one object
    chosen: list[int]  # those to predict
    refused: dict[int, Reason]  # those to predict that cannot be

    def studied(self, asked: dict[int, int]) -> tuple[Studied, ...]:
        """All predicates, those with the most subjects first."""
        found = []
        for predicate in (*self.chosen, *self.refused):
            rows = self.space.by_predicate.of(predicate)
            found.append(
                Studied(
                    int(self.space.graph.predicates[predicate]),
                    predicate,
                    len(np.unique(self.space.graph.subjects[rows])),
                    asked.get(predicate, 0),
                    self.functional.get(predicate, False),
                    self.refused.get(predicate),
                )
            )
        return tuple(sorted(found, key=lambda one: (-one.subjects, one.predicate)))


def find_predicates(
    embedding: Embedding, names: Sequence[str] | None, prefixes: dict[str, str] | None = None
) -> list[int] | None:
    """Term ids of predicates by name; None for all."""
    if names is None:
        return None
    lookup = embedding.lookup(prefixes)
    found = [lookup.find_predicate(name, embedding.triples) for name in names]
    stated = embedding.terms.find(embedding.config().type_predicate)
    if stated in found:
        raise UsageError(
            f"`predicates`: {embedding.terms[stated]} states types. Use `pyke types` or "
            "Embedding.predict_types."
        )
    return sorted(set(found))


def find_entity(embedding: Embedding, term: str) -> int:
    """Term id of an entity by name; classes and predicates have no predicted facts."""
    found = embedding.lookup().find(term)
    if found not in embedding.entities:
        what = "predicate" if found in embedding.predicates else "class"
        raise NothingToScore(
            f"{embedding.terms[found]} is a {what}, and facts are predicted for entities only"
        )
    return found


def prepare(
    embedding: Embedding,
    chosen: Sequence[int] | None,
    mu: int | None,
    exact: bool | None,
    threads: int | None,
    progress: Progress,
    need_objects: bool = True,
) -> Predictor:
    """Embed the graph and measure, with a fifth of the facts withheld."""
    if mu is not None and mu < 1:
        raise UsageError(f"`mu` is {mu}; it must be at least 1")
    config, graph = embedding.config(threads=threads), embedding.graph()
    is_fact = ~states_type(graph, config.type_predicate)
    if not is_fact.any():
        raise NothingToScore("all triples state types. Use `pyke types` to predict types.")
    usable = np.unique(graph.predicate_positions[is_fact]).tolist()
    functional, reasons = _judge(graph, usable, config.type_predicate)
    wanted = [one for one in usable if chosen is None or graph.predicates[one] in chosen]
    refused = {one: reasons[one] for one in wanted if one in reasons}
    if need_objects and len(refused) == len(wanted):
        raise NothingToScore(_nothing(embedding, graph, refused))
    progress.note("Embedding the graph as it is, and once more without a fifth of its facts.")
    entities = embedding.entities
    space = Space.of(graph, entities, config, mu, exact, progress)
    withheld = withhold(graph, config.type_predicate, config.seed)
    smaller = Space.of(withheld.graph, entities, config, mu, exact, progress)
    if not len(smaller.entities):
        raise NothingToScore("no facts can be predicted: all terms are predicates or classes.")
    if mu is not None and mu >= len(smaller.entities):
        raise NothingToScore(
            f"`mu` is {mu}, but only {len(smaller.entities) - 1:,} entities can be neighbours; "
            "use a smaller `mu`"
        )
    trial = run_trial(space, withheld, smaller, functional, progress)
    wanted = [one for one in wanted if one in functional]
    return Predictor(space, trial, functional, wanted, refused)


def _judge(
    graph: Graph, predicates: list[int], type_predicate: str
) -> tuple[dict[int, bool], dict[int, Reason]]:
    """Predicates that can be predicted, and whether subjects have one object; the others."""
    rows_of, links = Groups(graph.predicate_positions), Links(graph, type_predicate)
    functional: dict[int, bool] = {}
    refused: dict[int, Reason] = {}
    for predicate in predicates:
        rows = rows_of.of(predicate)
        rows = rows[graph.objects[rows] != LITERAL]
        pairs = np.unique(np.column_stack([graph.subjects[rows], graph.objects[rows]]), axis=0)
        subjects, counts = np.unique(pairs[:, 0], return_counts=True)
        if not len(pairs):
            refused[predicate] = Reason.LITERALS
        elif len(counts) < MIN_SUBJECTS:
            refused[predicate] = Reason.FEW
        elif (
            len(np.unique(pairs[:, 1])) == len(pairs)
            and links.strengths(predicate, subjects).max() < MIN_STRENGTH
        ):
            refused[predicate] = Reason.DIFFERENT
        else:
            functional[predicate] = bool((counts == 1).mean() >= FUNCTIONAL)
    return functional, refused


def _nothing(embedding: Embedding, graph: Graph, refused: dict[int, Reason]) -> str:
    """The message if no predicate can be predicted: the reasons with some of their predicates."""
    lookup = embedding.lookup()
    parts = []
    for reason in dict.fromkeys(refused.values()):
        chosen = [predicate for predicate, why in refused.items() if why is reason]
        names = [lookup.readable(int(graph.predicates[one])) for one in chosen[:MAX_LISTED]]
        more = f" and {len(chosen) - MAX_LISTED:,} more" if len(chosen) > MAX_LISTED else ""
        parts.append(f"{reason} ({', '.join(names)}{more})")
    return f"no predicate can be completed: {'; '.join(parts)}"
