"""What pulls and pushes one term in the simulation: its springs and repellers, with names.

A spring leads to another term, or to a context: a particle for what several terms have in common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import BLOCK_ROWS, Floats, Ids, Matrix, Repellers
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.graph.build import sorted_columns
from pyke.graph.graph import LITERAL, Graph
from pyke.graph.roles import OBJECT, SUBJECT
from pyke.pipeline.embed import find_forces
from pyke.pipeline.stages import Stages

NOT_NAMED = -1


@dataclass(frozen=True, eq=False)
class Force:
    """A spring or a repeller, seen from one term.

    Attributes
    ----------
    sigma
        The spring constant; 0 for a repeller.
    term
        The other end, if it is a term.
    predicate, other, is_subject
        The other end, if it is a context: what its members have in common. `other` is None for a
        role; `is_subject` says that members are subjects of the predicate.
    members, weights
        The terms at the other end, and the constants of their springs to it.
    """

    sigma: float
    term: int | None
    predicate: int | None
    other: int | None
    is_subject: bool
    members: Ids
    weights: Floats


@dataclass(frozen=True, eq=False)
class Physics:
    """The springs and repellers of all particles. The first particles are the terms.

    `contexts` are (predicate, other, side) of the particles after the terms, as term ids; NOT_NAMED
    where a particle stands for something else, such as a cluster.
    """

    terms: int
    all_springs: Matrix
    all_repellers: Repellers
    contexts: NDArray[np.int32]

    def springs(self, term: int) -> list[Force]:
        """The springs of a term, the strongest first."""
        columns, values = self._row(term)
        order = np.argsort(-values, kind="stable")
        return [self._force(int(columns[at]), float(values[at])) for at in order]

    def repellers(self, term: int) -> list[Force]:
        """The particles that push a term away."""
        found = self.all_repellers.of(term, BLOCK_ROWS).tolist()
        return [force for force in (self._force(one, 0.0) for one in found) if len(force.members)]

    def _row(self, particle: int) -> tuple[Ids, Floats]:
        row = slice(*self.all_springs.offsets[particle : particle + 2].tolist())
        return self.all_springs.columns[row], self.all_springs.values[row]

    def _force(self, particle: int, sigma: float) -> Force:
        if particle < self.terms:
            own = np.array([particle], np.int32)
            return Force(sigma, particle, None, None, False, own, np.ones(1, np.float32))
        members, weights = self._row(particle)
        at = particle - self.terms
        known = self.contexts[at].tolist() if at < len(self.contexts) else [NOT_NAMED] * 3
        predicate, other, side = known
        return Force(
            sigma,
            None,
            None if predicate == NOT_NAMED else predicate,
            None if other == NOT_NAMED else other,
            side == SUBJECT,
            members,
            weights,
        )


def find_physics(embedding: Embedding, progress: Progress) -> Physics:
    """Find the springs and repellers of an embedding again.

    Examples
    --------
    >>> import pyke
    >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
    >>> anna = e.terms.find("http://example.com/father#anna")
    >>> len(find_physics(e, Progress()).springs(anna)) > 0
    True
    """
    graph, config = embedding.graph(), embedding.config()
    springs, repellers = find_forces(
        graph, Stages(config, progress), np.array(embedding.term_clusters)
    )
    is_context = config.similarity == "context"
    contexts = _contexts(graph) if is_context else np.zeros((0, 3), np.int32)
    return Physics(len(graph.terms), springs, repellers, contexts)


def _contexts(graph: Graph) -> NDArray[np.int32]:
    """(predicate, other, side) of each role and context, in the order of springs/contexts.py."""
    predicates = graph.predicates
    none = np.full(len(predicates), NOT_NAMED, np.int32)
    parts = [
        np.column_stack([predicates, none, np.full_like(none, side)]) for side in (SUBJECT, OBJECT)
    ]
    linked = graph.objects != LITERAL
    subjects, positions, objects = (
        column[linked] for column in (graph.subjects, graph.predicate_positions, graph.objects)
    )
    by_object = sorted_columns([objects, positions, subjects], len(predicates), len(graph.terms))
    # Triples sorted by subject give the contexts of objects, and the other way round.
    for columns, side in (((subjects, positions, objects), OBJECT), (by_object, SUBJECT)):
        first, middle, last = columns
        starts = np.flatnonzero(
            np.append(True, (first[1:] != first[:-1]) | (middle[1:] != middle[:-1]))[: len(first)]
        )
        new = np.append(True, (last[1:] != last[:-1]))[: len(last)]
        new[starts] = True
        different = np.add.reduceat(new, starts) if len(starts) else np.zeros(0, np.int64)
        shared = starts[different > 1]
        sides = np.full(len(shared), side, np.int32)
        parts.append(np.column_stack([predicates[middle[shared]], first[shared], sides]))
    return np.concatenate(parts).astype(np.int32)
