"""Explain predicted facts: which neighbours vote, and which predicates link the two terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import NothingToScore
from pyke.graph.roles import SUBJECT, decode_role
from pyke.use.facts.complete import Predictor, find_entity, find_predicates, prepare
from pyke.use.facts.trial import MIN_LIKELIHOOD
from pyke.use.types.calibration import Like
from pyke.use.types.explain import Shared, Voter, explain_query


@dataclass(frozen=True)
class Link:
    """Another predicate that links the subject with an object."""

    predicate: str
    is_subject: bool  # the explained term is its subject
    strength: float  # of the pairs with this link, the share that are facts, too


@dataclass(frozen=True)
class Candidate:
    """An object that the subject may have.

    `alike` are the measured predictions that the confidence comes from: all with a similar score,
    those of this predicate, and those of this object.
    """

    object: str
    label: str | None
    votes: int
    share: float  # of the weight of all neighbours
    link: Link | None
    confidence: float
    alike: tuple[Like, ...]
    stated: bool  # the graph states this fact


@dataclass(frozen=True)
class FactExplanation:
    """The votes for the objects of a term and a predicate.

    `likelihood` is the share of entities like this that have the predicate; None if the term has
    it, or if hardly any of its nearest entities has it.
    """

    term: str
    label: str | None
    predicate: str
    predicate_label: str | None
    likelihood: float | None
    candidates: tuple[Candidate, ...]
    voters: tuple[Voter, ...]  # their types are the objects that they vote for
    shared: tuple[Shared, ...]

    def __repr__(self) -> str:
        best = ", ".join(f"{one.object} ({one.confidence:.2f})" for one in self.candidates[:3])
        return f"<FactExplanation of {self.term} {self.predicate}: {best or 'no candidates'}>"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def explain_facts(
    embedding: Embedding,
    term: str,
    predicates: Sequence[str] | None = None,
    *,
    mu: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[FactExplanation, ...]:
    """Explain the predicted facts of a term; as long as predicting those of all terms.

    Parameters
    ----------
    embedding
        The embedding, with its graph.
    term
        IRI, prefixed name or label.
    predicates
        IRIs, prefixed names, labels or local names; by default all that the term lacks but
        similar entities have.
    mu
        Number of nearest subjects that vote (μ); 20 by default, if there are as many.
    threads
        Number of threads; by default all cores.
    progress
        Receives progress reports.
    """
    progress = progress or Progress()
    own = find_entity(embedding, term)
    chosen = find_predicates(embedding, predicates)
    predictor = prepare(embedding, chosen, mu, None, threads, progress)
    return explain_facts_with(predictor, embedding, own, chosen is not None, progress)


def explain_facts_with(
    predictor: Predictor, embedding: Embedding, own: int, every: bool, progress: Progress
) -> tuple[FactExplanation, ...]:
    """Explain the predicted facts of a term, given by id, with what was prepared.

    `every` includes predicates that it has, or that its like have not.
    """
    lacking = predictor.space.lacking(np.array([own], np.int32), progress)
    likelihoods = predictor.trial.likelihood(lacking)
    likely = dict(zip(lacking.predicates.tolist(), likelihoods.tolist(), strict=True))
    wanted = [one for one in predictor.chosen if every or likely.get(one, 0) >= MIN_LIKELIHOOD]
    wanted.sort(key=lambda one: (-likely.get(one, 0), one))
    return tuple(_explain(embedding, predictor, own, p, likely.get(p), progress) for p in wanted)


def _explain(
    e: Embedding,
    predictor: Predictor,
    own: int,
    predicate: int,
    likelihood: float | None,
    progress: Progress,
) -> FactExplanation:
    space, subjects = predictor.space, np.array([own], np.int32)
    voters = space.object_voters(predicate)
    if voters is None:
        raise NothingToScore("the subjects of this predicate have no other triples")
    query = space.queries(predicate, subjects)
    why = explain_query(e, voters, query, lambda _: (), "measured", progress)
    name = int(space.graph.predicates[predicate])
    return FactExplanation(
        e.terms[own],
        e.label(own),
        e.terms[name],
        e.label(name),
        likelihood,
        _candidates(e, predictor, own, predicate, progress),
        why.voters,
        why.shared,
    )


def _candidates(
    e: Embedding, predictor: Predictor, own: int, predicate: int, progress: Progress
) -> tuple[Candidate, ...]:
    """Objects with votes or links, those with the best score first."""
    space, subjects = predictor.space, np.array([own], np.int32)
    found = space.vote_objects(predicate, subjects, False, progress)
    linked = space.linked(predicate, subjects)
    links = {
        int(term): Link(
            e.terms[int(space.graph.predicates[p])], bool(side == SUBJECT), float(strength)
        )
        for term, (p, side), strength in zip(
            linked.objects, map(decode_role, linked.kinds), linked.strengths, strict=True
        )
    }
    objects = found.objects.astype(np.int64)
    confidences = predictor.trial.confidences.of(found, predicate)
    name = int(space.graph.predicates[predicate])
    own_triples = e.triples[(e.triples[:, 0] == own) & (e.triples[:, 1] == name)]
    stated = set(own_triples[:, 2].tolist())
    return tuple(
        Candidate(
            e.terms[int(objects[at])],
            e.label(int(objects[at])),
            int(found.votes[at]),
            float(found.shares[at]),
            links.get(int(objects[at])),
            float(confidences[at]),
            predictor.trial.confidences.like(found, predicate, at),
            int(objects[at]) in stated,
        )
        for at in np.lexsort((objects, -found.scores)).tolist()
    )
