"""A graph as sentences, whose words are term ids: what skip-grams are trained on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyke.evaluate.rivals.registry import Job

WALKS, DEPTH = 10, 4  # of RDF2Vec: walks per entity, steps per walk


def triple_sentences(job: Job) -> list[list[str]]:
    """Triples as sentences of three words."""
    return [[str(word) for word in triple] for triple in job.triples.tolist()]


def random_walks(job: Job) -> list[list[str]]:
    """Random walks from all entities as sentences: entity, predicate, entity, …

    A walk ends early at an entity without outgoing triples.
    """
    return list(_walks(job))


def _walks(job: Job) -> Iterator[list[str]]:
    triples, terms = job.triples, len(job.graph.terms)
    triples = triples[np.argsort(triples[:, 0], kind="stable")]
    first = np.searchsorted(triples[:, 0], np.arange(terms + 1))
    entities = np.unique(triples[:, [0, 2]])
    generator = np.random.default_rng(job.config.seed)
    for _ in range(WALKS):
        walks = np.full((len(entities), 2 * DEPTH + 1), -1, np.int64)
        walks[:, 0] = entities
        for step in range(DEPTH):
            here = walks[:, 2 * step]
            degrees = np.where(here >= 0, first[here + 1] - first[here], 0)
            active = np.flatnonzero(degrees)
            taken = triples[first[here[active]] + generator.integers(0, degrees[active])]
            walks[active, 2 * step + 1], walks[active, 2 * step + 2] = taken[:, 1], taken[:, 2]
        yield from ([str(word) for word in walk if word >= 0] for walk in walks.tolist())
