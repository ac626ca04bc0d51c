"""Pairs of terms that another predicate links already, in either direction.

If a paper has a `creator`, this is probably also its `maker`; and who `made` the paper is, too.
The strength of a link for a predicate p is a share: of the pairs (x, y) with this link, where x is
a subject of p, how many are facts x p y?
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids, Offsets, ranges
from pyke.graph.graph import LITERAL, Graph
from pyke.graph.roles import OBJECT, SUBJECT, states_type

MIN_STRENGTH = 0.1
# Failures that are added to the pairs of each link: a link that few pairs have is not a rule.
FAILURES = 2


class Linked(NamedTuple):
    """Terms y that are linked with x: one entry for each pair, sorted by x and y."""

    subjects: Ids
    objects: Ids
    strengths: NDArray[np.float64]  # of the strongest link …
    kinds: Ids  # … and its role: predicate and side of x


class Links:
    """All links of a graph, sorted by x."""

    def __init__(self, graph: Graph, type_predicate: str) -> None:
        chosen = (graph.objects != LITERAL) & ~states_type(graph, type_predicate)
        subjects, objects = graph.subjects[chosen], graph.objects[chosen]
        roles = 2 * graph.predicate_positions[chosen]
        first = np.concatenate([subjects, objects])
        order = np.argsort(first, kind="stable")
        self._others = np.concatenate([objects, subjects])[order]
        self._kinds = np.concatenate([roles + SUBJECT, roles + OBJECT])[order]
        self._offsets = np.searchsorted(first[order], np.arange(len(graph.terms) + 1))
        self._terms, self._roles = len(graph.terms), 2 * len(graph.predicates)

    def _of(self, terms: Ids) -> tuple[Ids, Offsets]:
        """Each link of some terms: the term, and the position of the link."""
        starts = self._offsets[terms]
        sizes = self._offsets[terms + 1] - starts
        return np.repeat(terms, sizes), ranges(starts, sizes)

    def strengths(self, predicate: int, subjects: Ids) -> NDArray[np.float64]:
        """The strength of each kind of link for a predicate, from all its subjects."""
        owners, at = self._of(subjects)
        kinds, own = self._kinds[at], 2 * predicate + SUBJECT
        pairs = owners.astype(np.int64) * self._terms + self._others[at]
        is_fact = np.isin(pairs, pairs[kinds == own])
        made = np.bincount(kinds, minlength=self._roles)
        right = np.bincount(kinds[is_fact], minlength=self._roles)
        right[own] = 0
        return right / (made + FAILURES)

    def linked(self, strengths: NDArray[np.float64], subjects: Ids) -> Linked:
        """Terms that are linked with some subjects, with the strongest link of each pair."""
        owners, at = self._of(subjects)
        strong = strengths[self._kinds[at]] >= MIN_STRENGTH
        owners, at = owners[strong], at[strong]
        others, kinds = self._others[at], self._kinds[at]
        order = np.lexsort((kinds, -strengths[kinds], others, owners))
        pairs = owners[order].astype(np.int64) * self._terms + others[order]
        first = order[np.unique(pairs, return_index=True)[1]]
        return Linked(owners[first], others[first], strengths[kinds[first]], kinds[first])
