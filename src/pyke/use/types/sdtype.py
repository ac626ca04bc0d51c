"""SDType: predict the types of a term from its roles (Paulheim and Bizer, ISWC 2013).

A role is a predicate and a side, see graph/roles.py. Over the typed subjects, with a class c and a
role r:

    P(c)      share of the subjects that have the class: the class prior
    P(c | r)  share of the subjects with this role that have the class
    w(r) = Σ over c of (P(c) − P(c | r))²       how much the role says about types
    score(x, c) = Σ over r of n(x, r) w(r) P(c | r) / Σ over r of n(x, r) w(r)

n(x, r) is the number of triples in which x has the role. The types of x itself never count: if x is
a typed subject, it is removed from all shares first. A term whose roles say nothing about types
gets the class prior.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids, Matrix, Offsets, positions, ranges
from pyke.graph.graph import Graph
from pyke.graph.roles import role_counts_by_term
from pyke.use.types.votes import TypeTable

BLOCK_CELLS = 1 << 20  # pairs of role and class that are expanded at a time
ROUNDING = 1e-12  # a weight of 0 can have such an error

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class RoleTypes:
    """How many typed subjects have each role, and how many of these have each class.

    Role r has the cells keys[offsets[r] : offsets[r + 1]], one for each class of its subjects,
    ascending; a key is r · number of classes + class. `shared` has the number of subjects of each
    cell.
    """

    known: TypeTable
    term_offsets: Offsets  # term x has roles[term_offsets[x] : term_offsets[x + 1]]
    roles: Ids
    counts: Counts  # in how many triples the term has the role
    offsets: Offsets
    keys: Counts
    shared: Counts
    members: Counts  # number of subjects with each role
    class_sizes: Counts  # number of subjects with each class

    @classmethod
    def of(cls, graph: Graph, known: TypeTable, type_predicate: str) -> RoleTypes:
        """Count the types of all roles in a graph. The subjects of `known` are ascending.

        Examples
        --------
        >>> import pyke
        >>> graph = pyke.embed("examples/father.ttl", dimensions=10).graph()
        >>> rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
        >>> found = RoleTypes.of(graph, TypeTable.of(graph.types), rdf_type)
        >>> found.scores(np.array([graph.terms.id("http://example.com/father#anna")])).rows
        1
        """
        term_offsets, roles, counts = role_counts_by_term(graph, type_predicate)
        number, classes = 2 * len(graph.predicates), len(known.class_ids)
        keys, shared = _count_keys(known, term_offsets, roles, classes)
        starts = term_offsets[:-1][known.subjects]
        sizes = term_offsets[1:][known.subjects] - starts
        return cls(
            known,
            term_offsets,
            roles,
            counts,
            np.searchsorted(keys, np.arange(number + 1) * classes),
            keys,
            shared,
            np.bincount(roles[ranges(starts, sizes)], minlength=number),
            np.bincount(known.classes, minlength=classes),
        )

    def scores(self, terms: Ids, top: int | None = None) -> Matrix:
        """Scores from 0 to 1: a row per term, whose columns are positions in `known.class_ids`.

        Parameters
        ----------
        terms : ids; −1 gets an empty row.
        top : keep only this many classes with the highest scores, ties by position.
        """
        parts = [_Block(self, terms[rows]).scores(top) for rows in self._blocks(terms)]
        sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(one.offsets) for one in parts)])
        return Matrix(
            np.cumsum(sizes),
            np.concatenate([np.empty(0, np.int32), *(one.columns for one in parts)]),
            np.concatenate([np.empty(0, np.float32), *(one.values for one in parts)]),
        )

    def _blocks(self, terms: Ids) -> Iterator[slice]:
        """Terms that together have about BLOCK_CELLS pairs of role and class, at least one term."""
        cells = np.append(np.int64(0), np.cumsum(np.diff(self.offsets)[self.roles]))
        work = cells[self.term_offsets[1:][terms]] - cells[self.term_offsets[:-1][terms]]
        ends = np.cumsum(work + len(self.class_sizes))  # the prior has all classes
        begin = 0
        while begin < len(terms):
            before = ends[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, before + BLOCK_CELLS, "right")))
            yield slice(begin, end)
            begin = end


def class_prior(known: TypeTable, terms: Ids, top: int | None = None) -> Matrix:
    """P(c) for every term, without its own types if it is a subject of `known`; as for SDType."""
    nothing = np.zeros(0, np.int64)
    no_roles = np.zeros(int(max(terms, default=0)) + 2, np.int64)
    sizes = np.bincount(known.classes, minlength=len(known.class_ids))
    empty = np.zeros(0, np.int32)
    one = RoleTypes(known, no_roles, empty, nothing, no_roles[:1], nothing, nothing, nothing, sizes)
    return one.scores(terms, top)


def _count_keys(
    known: TypeTable, offsets: Offsets, roles: Ids, classes: int
) -> tuple[Counts, Counts]:
    """Distinct role · classes + class of the known subjects, and how many subjects have each."""
    type_counts = np.diff(known.offsets)
    role_counts = offsets[1:][known.subjects] - offsets[:-1][known.subjects]
    ends = np.cumsum(type_counts * role_counts)
    borders = np.searchsorted(ends, np.arange(0, ends[-1] if len(ends) else 0, BLOCK_CELLS))
    found = []
    for begin, end in zip(borders, [*borders[1:], len(known)], strict=True):
        pairs = ranges(offsets[:-1][known.subjects[begin:end]], role_counts[begin:end])
        owner = np.repeat(np.arange(begin, end), role_counts[begin:end])
        cells = ranges(known.offsets[:-1][owner], type_counts[owner])
        role = np.repeat(roles[pairs].astype(np.int64), type_counts[owner])
        found.append(np.unique(role * classes + known.classes[cells], return_counts=True))
    all_keys = np.concatenate([np.empty(0, np.int64), *(keys for keys, _ in found)])
    all_counts = np.concatenate([np.empty(0, np.int64), *(counts for _, counts in found)])
    keys, cell = np.unique(all_keys, return_inverse=True)
    return keys, np.bincount(cell, weights=all_counts, minlength=len(keys)).astype(np.int64)


class _Block:
    """Some terms with their roles, one after the other, and the types that do not count.

    A pair is a term with one of its roles. `own` are the types of typed terms.
    """

    def __init__(self, learned: RoleTypes, terms: Ids) -> None:
        self.learned, self.terms = learned, terms
        known = learned.known
        self.is_in_graph = terms >= 0
        starts = learned.term_offsets[:-1][terms]
        sizes = np.where(self.is_in_graph, learned.term_offsets[1:][terms] - starts, 0)
        at = ranges(starts, sizes)
        self.owner = np.repeat(np.arange(len(terms)), sizes)  # of each pair: position in `terms`
        self.role, self.count = learned.roles[at], learned.counts[at]
        row = positions(terms, known.subjects)
        self.is_known = (row >= 0) & self.is_in_graph
        self.own_sizes = np.where(self.is_known, np.diff(known.offsets)[row], 0)
        self.own_starts = known.offsets[:-1][row]
        self.own = known.classes[ranges(self.own_starts, self.own_sizes)]
        self.members = learned.members[self.role] - self.is_known[self.owner]
        self.total = len(known) - self.is_known.astype(np.int64)

    def scores(self, top: int | None) -> Matrix:
        """Scores of the block."""
        learned = self.learned
        sizes = np.diff(learned.offsets)[self.role]
        cells = ranges(learned.offsets[:-1][self.role], sizes)
        shared = learned.shared[cells]
        classes = (learned.keys[cells] % len(learned.class_sizes)).astype(np.int32)
        own_pair, own_cell = self._own_cells(sizes)
        weights = self.count * self._weights(shared, classes, sizes, own_pair, own_cell)
        shared[own_cell] -= 1
        totals = np.bincount(self.owner, weights=weights, minlength=len(self.terms))
        says_nothing = totals[self.owner] <= 0
        factor = weights / np.maximum(1, self.members)
        factor[~says_nothing] /= totals[self.owner][~says_nothing]
        factor[says_nothing] = 0
        owner, value = np.repeat(self.owner, sizes), np.repeat(factor, sizes) * shared
        prior = self._prior(np.flatnonzero((totals <= 0) & self.is_in_graph))
        return _matrix(
            np.concatenate([owner, prior[0]]),
            np.concatenate([classes, prior[1]]),
            np.concatenate([value, prior[2]]),
            (len(self.terms), len(learned.class_sizes)),
            top,
        )

    def _own_cells(self, sizes: Offsets) -> tuple[Counts, Counts]:
        """For each pair and each own type: the pair, and its place among all cells of the pairs."""
        learned, number = self.learned, len(self.learned.class_sizes)
        times = self.own_sizes[self.owner]
        pair = np.repeat(np.arange(len(self.owner)), times)
        own = learned.known.classes[ranges(self.own_starts[self.owner], times)]
        role = self.role[pair].astype(np.int64)
        at = np.searchsorted(learned.keys, role * number + own)
        first = np.cumsum(sizes) - sizes
        return pair, first[pair] + at - learned.offsets[role]

    def _weights(
        self, shared: Counts, classes: Ids, sizes: Offsets, own_pair: Counts, own_cell: Counts
    ) -> NDArray[np.float64]:
        """w(r) of each pair, without the own types; 0 if no other subject has the role.

        Σ (P(c) − P(c | r))² is the sum of three sums: one over P(c)², one over P(c | r)² and one
        over products. Own types change each of them by a few terms.
        """
        learned, pairs = self.learned, len(self.owner)
        number = learned.class_sizes

        def sums(at: Counts, values: Counts, size: int) -> Counts:
            return np.bincount(at, weights=values, minlength=size).astype(np.int64)

        cell_pair = np.repeat(np.arange(pairs), sizes)
        squares = sums(cell_pair, shared**2, pairs)
        products = sums(cell_pair, shared * number[classes], pairs)
        own_shared = sums(own_pair, shared[own_cell], pairs)
        term = np.repeat(np.arange(len(self.terms)), self.own_sizes)
        own_number = sums(term, number[self.own], len(self.terms))[self.owner]
        own = self.own_sizes[self.owner]
        total, members = np.maximum(1, self.total)[self.owner], np.maximum(1, self.members)
        found = (
            (int((number**2).sum()) - 2 * own_number + own) / total.astype(np.float64) ** 2
            + (squares - 2 * own_shared + own) / members.astype(np.float64) ** 2
            - 2 * (products - own_shared - own_number + own) / (total * members.astype(np.float64))
        )
        return np.where((self.members > 0) & (found > ROUNDING), found, 0)

    def _prior(self, rows: Counts) -> tuple[Counts, Ids, NDArray[np.float64]]:
        """The class prior of some rows: rows, classes and values."""
        number = len(self.learned.class_sizes)
        sizes = np.tile(self.learned.class_sizes, (len(rows), 1))
        own = self.learned.known.classes[ranges(self.own_starts[rows], self.own_sizes[rows])]
        sizes[np.repeat(np.arange(len(rows)), self.own_sizes[rows]), own] -= 1
        values = sizes / np.maximum(1, self.total[rows])[:, None]
        classes = np.tile(np.arange(number, dtype=np.int32), len(rows))
        return np.repeat(rows, number), classes, values.ravel()


def _matrix(
    rows: Counts, columns: Ids, values: NDArray[np.float64], shape: tuple[int, int], top: int | None
) -> Matrix:
    """Add up values of the same cell; keep positive ones, and the highest of each row."""
    keys, cell = np.unique(rows * shape[1] + columns, return_inverse=True)
    total = np.bincount(cell, weights=values, minlength=len(keys)).astype(np.float32)
    keys, total = keys[total > 0], total[total > 0]
    if top is not None:
        order = np.lexsort((keys, -total, keys // shape[1]))
        row = keys[order] // shape[1]
        rank = np.arange(len(order)) - np.searchsorted(row, row)
        kept = np.sort(order[rank < top])
        keys, total = keys[kept], total[kept]
    offsets = np.searchsorted(keys, np.arange(shape[0] + 1) * shape[1])
    return Matrix(offsets, (keys % shape[1]).astype(np.int32), total)
