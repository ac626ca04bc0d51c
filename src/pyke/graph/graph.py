"""The graph that all stages share, and the counts of what was read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.graph.features import NO_FEATURES, Features
from pyke.graph.terms import Terms, Texts

LITERAL = -1  # object id of a triple with a literal object
NO_CLUSTER = -1  # cluster of a term that has none
NO_CLUSTERS: Ids = np.empty(0, np.int32)  # of the terms of a graph that were not clustered
NO_TYPES: Ids = np.empty((0, 2), np.int32)


@dataclass(frozen=True)
class Problem:
    """A problem in an input: its place and a message."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


@dataclass
class Census:
    """Counts of what was read.

    Without counted literals, statements = triples + literals + duplicates + triple_terms.
    """

    statements: int = 0
    triples: int = 0
    literals: int = 0
    duplicates: int = 0
    triple_terms: int = 0
    errors: int = 0
    terms: int = 0
    terms_only_with_literals: int = 0
    blank_nodes: int = 0
    predicates: int = 0
    typed_subjects: int = 0
    classes: int = 0
    features: int = 0  # of literals, that at least two terms share
    bytes: int = 0
    files_passed_over: int = 0  # skipped in directories: not RDF, or not regular files
    problems: list[Problem] = field(default_factory=list)  # the first few

    def as_dict(self) -> dict[str, Any]:
        """Counts for JSON.

        In the paper, triples are |G|, terms |V|, typed subjects |S| and classes |C|.
        """
        values = {name: value for name, value in vars(self).items() if name != "problems"}
        return values | {"first_errors": [str(problem) for problem in self.problems]}


@dataclass(frozen=True)
class Graph:
    """Triples over term ids, sorted by subject, predicate and object.

    Each triple occurs once unless the configuration keeps duplicates.
    """

    terms: Terms
    subjects: Ids
    predicate_positions: Ids  # positions in `predicates`
    objects: Ids  # LITERAL where the object is a literal
    predicates: Ids  # term ids of the distinct predicates, ascending
    types: Ids  # (n, 2): typed subject, class
    labels: Texts
    labelled: Ids  # term id of each label
    census: Census
    features: Features = NO_FEATURES

    def __len__(self) -> int:
        return len(self.subjects)

    @property
    def predicate_ids(self) -> Ids:
        """Term id of each triple's predicate."""
        return self.predicates[self.predicate_positions]

    def triples(self, rows: NDArray[Any] | slice = slice(None)) -> Ids:
        """(n, 3) term ids of subjects, predicates and objects, of all or of some rows."""
        predicates = self.predicates[self.predicate_positions[rows]]
        return np.column_stack([self.subjects[rows], predicates, self.objects[rows]])
