"""What flows between the stages: frozen containers of arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyke.core.arrays import Ids
from pyke.graph.terms import Terms, Texts

LITERAL = -1  # stands in the object column of a triple whose object is a literal


@dataclass(frozen=True)
class Problem:
    """Something wrong with an input: where, and what."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


@dataclass
class Census:
    """What was read, and what became of it: statements = triples + literals left out + duplicates + triple terms."""

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
    bytes: int = 0
    files_passed_over: int = 0  # in directories, for want of an extension of RDF
    problems: list[Problem] = field(default_factory=list)  # the first ones

    def as_dict(self) -> dict[str, Any]:
        """For JSON; the paper's |G|, |V|, |S|, |C| are triples, terms, typed_subjects, classes."""
        values = {name: value for name, value in vars(self).items() if name != "problems"}
        return values | {"first_errors": [str(problem) for problem in self.problems]}


@dataclass(frozen=True)
class Graph:
    """The counted triples over term ids, sorted by subject, predicate, object; each once unless duplicates are kept.

    `predicates` are the ids of the terms that are predicates; the predicate column holds positions in it.
    """

    terms: Terms
    subjects: Ids
    predicates_of: Ids
    objects: Ids  # LITERAL where the object is one
    predicates: Ids
    types: Ids  # (n, 2): typed subject, class
    labels: Texts
    labelled: Ids  # the term that each label is of
    census: Census

    def __len__(self) -> int:
        return len(self.subjects)
