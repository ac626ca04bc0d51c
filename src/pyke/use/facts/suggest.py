"""Suggest properties: predicates that an entity lacks but similar entities have."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pyke.core.notebook import html_table
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.use.facts.complete import find_entity, prepare


@dataclass(frozen=True)
class Suggestion:
    """A predicate that an entity lacks."""

    predicate: str
    label: str | None
    votes: int  # of the nearest entities, those that have it
    share: float  # their part of the weight of all
    likelihood: float  # the measured share of entities like this that have it


@dataclass(frozen=True)
class Suggestions:
    """Predicates that an entity lacks but similar entities have, the likeliest first."""

    term: str
    label: str | None
    mu: int  # nearest entities that vote
    predicates: tuple[Suggestion, ...]

    def __len__(self) -> int:
        return len(self.predicates)

    def __repr__(self) -> str:
        names = ", ".join(f"{one.predicate} ({one.likelihood:.2f})" for one in self.predicates[:3])
        return f"<Suggestions for {self.term}: {names or 'none'}>"

    def _repr_html_(self) -> str:
        """For notebooks."""
        rows = [
            (one.predicate, one.label, f"{one.votes} of {self.mu}", f"{one.likelihood:.3f}")
            for one in self.predicates
        ]
        return html_table(["predicate", "label", "votes", "likelihood"], rows, title=repr(self))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def suggest(
    embedding: Embedding,
    term: str,
    *,
    mu: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Suggestions:
    """Suggest predicates that an entity lacks but similar entities have.

    Parameters
    ----------
    embedding
        The embedding, with its graph.
    term
        IRI, prefixed name or label.
    mu
        Number of nearest entities that vote (μ); 20 by default, if there are as many.
    threads
        Number of threads; by default all cores.
    progress
        Receives progress reports.

    Examples
    --------
    >>> import pyke
    >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
    >>> suggest(e, "michelle").term
    'http://example.com/father#michelle'
    """
    progress = progress or Progress()
    own = find_entity(embedding, term)
    predictor = prepare(embedding, None, mu, None, threads, progress, need_objects=False)
    space = predictor.space
    found = space.lacking(np.array([own], np.int32), progress)
    likelihoods = predictor.trial.likelihood(found)
    rows = []
    for at in np.lexsort((found.predicates, -found.shares, -likelihoods)).tolist():
        predicate = int(space.graph.predicates[found.predicates[at]])
        rows.append(
            Suggestion(
                embedding.terms[predicate],
                embedding.label(predicate),
                int(found.votes[at]),
                float(found.shares[at]),
                float(likelihoods[at]),
            )
        )
    return Suggestions(embedding.terms[own], embedding.label(own), space.voters, tuple(rows))
