"""What a graph says about each term besides its types, as a vector.

The graph is embedded without the triples that state types. Then every context is placed at the
weighted mean of its members, and every term at the weighted mean of its contexts. So typed and
untyped terms are compared alike: neither is pulled by its own class.

The types of *other* terms do count: (predicate, side, class of the other term) is a context. A term
has it whether it is typed itself or not. The simulation knows nothing of classes. So the evidence
can be read out again without the types of some subjects (see folds.py), at a small cost.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import Floats, Ids, Matrix, Offsets, positions, ranges
from pyke.core.progress import Progress
from pyke.errors import NothingToScore
from pyke.graph.changes import remove_triples
from pyke.graph.graph import NO_TYPES, Graph
from pyke.graph.roles import Numbers, role_counts_by_term, states_type
from pyke.pipeline import embed_graph
from pyke.simulation.anneal import place_at_weighted_mean
from pyke.springs.contexts import context_roles, context_similarities
from pyke.springs.events import join
from pyke.springs.groups import (
    WEIGHT,
    class_roles,
    class_similarities,
    group_roles,
    group_similarities,
)
from pyke.springs.strongest import strongest_springs, symmetric_matrix

# Of the coarse contexts, if the embedding has none. They cost a second simulation. Clusters of the
# read-out instead of clusters of this embedding would tell a term about itself: its neighbours are
# clustered by what they have in common with it.
CLUSTERS = 1000
CLASS_WEIGHT = 4  # of contexts of classes, beside those of clusters
# Once from the simulated positions, and once more from the read-out, which knows the classes.
ROUNDS = 2
ROUNDING = 1e-4  # of a sum of weights
TERMS_AT_ONCE = 1 << 12  # whose contexts are gathered at a time


class Roles(NamedTuple):
    """Roles of some queries: row i is roles[offsets[i] : offsets[i + 1]], ascending."""

    offsets: Offsets
    roles: Ids
    sizes: NDArray[np.float64]  # ln(1 + triples)

    @classmethod
    def of(cls, owners: Numbers, roles: Ids, triples: Numbers, number: int) -> Roles:
        """From entries with the query of each, ascending. Those without triples are left out."""
        has = triples > 0
        offsets = np.append(np.int64(0), np.cumsum(np.bincount(owners[has], minlength=number)))
        return cls(offsets, roles[has], np.log1p(triples[has].astype(np.float64)))


@dataclass(frozen=True)
class Evidence:
    """Vectors of all terms, and the contexts and roles that they come from; no own types."""

    vectors: Floats  # (terms, dimensions)
    contexts: Matrix  # row x: the strongest contexts of term x, with σ
    places: Floats  # (contexts, dimensions): means of `members` …
    members: Floats  # … (terms, dimensions) …
    masses: Floats  # … with weights that add up to this: σ of the members
    context_roles: Ids  # the role of each context
    first_coarse: int  # coarse contexts come last: from this one on those of clusters …
    first_class: int  # … and from this one on those of classes
    predicates: Ids  # term id of the predicate of roles 2 p and 2 p + 1
    role_offsets: Offsets  # term x has the roles roles[role_offsets[x] : role_offsets[x + 1]] …
    roles: Ids  # … ascending …
    role_counts: Numbers  # … in this many triples

    @property
    def is_role(self) -> NDArray[np.bool_]:
        """Which contexts stand for a role alone: they come first."""
        return np.arange(len(self.context_roles)) < self.number_of_roles

    @property
    def is_coarse(self) -> NDArray[np.bool_]:
        """Which contexts stand for a role and a cluster or class."""
        return np.arange(len(self.context_roles)) >= self.first_coarse

    @property
    def is_of_class(self) -> NDArray[np.bool_]:
        """Which contexts stand for a role and a class."""
        return np.arange(len(self.context_roles)) >= self.first_class

    def weights_of(self, contexts: Ids) -> Floats:
        """The weight of the similarities of each context, by which its PPMI is multiplied."""
        weights = np.array([1, WEIGHT, WEIGHT * CLASS_WEIGHT], np.float32)
        return weights[(contexts >= self.first_coarse) + 1 * (contexts >= self.first_class)]

    @cached_property
    def role_sizes(self) -> NDArray[np.float64]:
        """ln(1 + triples) for each entry of `roles`."""
        return np.log1p(self.role_counts.astype(np.float64))

    def roles_of(self, terms: Ids) -> Roles:
        """The roles of some terms, and how often they have them."""
        starts = self.role_offsets[:-1][terms]
        numbers = self.role_offsets[1:][terms] - starts
        at = ranges(starts, numbers)
        owners = np.repeat(np.arange(len(terms)), numbers)
        return Roles.of(owners, self.roles[at], self.role_counts[at], len(terms))

    def times_in_role(self, terms: Ids, roles: Ids) -> Numbers:
        """In how many triples each term has the role beside it."""
        owners = np.repeat(np.arange(len(self.role_offsets) - 1), np.diff(self.role_offsets))
        keys = owners * self.number_of_roles + self.roles
        at = positions(terms.astype(np.int64) * self.number_of_roles + roles, keys)
        return np.where(at >= 0, self.role_counts[at], 0)

    @property
    def number_of_roles(self) -> int:
        """Two for each predicate that does not state types."""
        return 2 * len(self.predicates)

    def without_members(self) -> Evidence:
        """All that `vectors_without` needs."""
        return replace(self, members=self.members[:0].copy())

    def without_places(self) -> Evidence:
        """Vectors, contexts and roles: all that voting needs, in half of the memory."""
        return replace(
            self,
            vectors=self.vectors.copy(),  # of their own: they share their memory with the places
            places=self.places[:0].copy(),
            members=self.members[:0].copy(),
            masses=self.masses[:0].copy(),
        )

    def has_vector(self, terms: Ids) -> NDArray[np.bool_]:
        """Which terms have a context at all."""
        return np.diff(self.contexts.offsets)[terms] > 0

    def vectors_without(self, role: int, terms: Ids) -> tuple[Floats, NDArray[np.bool_]]:
        """Vectors of some terms without their contexts in a role, and which have a context left."""
        starts = self.contexts.offsets[:-1][terms]
        sizes = self.contexts.offsets[1:][terms] - starts
        at = ranges(starts, sizes)
        owners = np.repeat(np.arange(len(terms)), sizes)
        contexts, sigma = self.contexts.columns[at], self.contexts.values[at]
        kept = self.context_roles[contexts] != role
        owners = owners[kept]
        vectors = self.mean_places(owners, contexts[kept], sigma[kept], len(terms))
        return vectors, np.bincount(owners, minlength=len(terms)) > 0

    def mean_places(
        self,
        owners: Offsets,
        contexts: Ids,
        sigma: Floats,
        number: int,
        without: tuple[Ids, Floats] | None = None,
    ) -> Floats:
        """Weighted mean of the places of some contexts for each of `number` owners.

        `owners` is ascending. Owners without contexts get zeros. `without` has a term for each
        owner, or −1, and its σ in each context: it does not count among the members of the
        contexts, unless it is the only one. With many members, it hardly does anyway.
        """
        found = np.zeros((number, self.places.shape[1]), np.float32)
        borders = np.searchsorted(owners, np.arange(0, number + TERMS_AT_ONCE, TERMS_AT_ONCE))
        for begin, end in itertools.pairwise(borders):
            if begin == end:
                continue
            weights = sigma[begin:end, None].astype(np.float64)
            starts = np.flatnonzero(np.diff(owners[begin:end], prepend=-1))
            places = weights * self.places[contexts[begin:end]]
            if without is not None:
                terms = without[0][owners[begin:end], None]
                part = without[1][begin:end, None] / self.masses[contexts[begin:end], None]
                part = np.where((terms >= 0) & (part < 1 - ROUNDING), part, 0) * weights
                places -= part * self.members[terms[:, 0]]
                weights = weights - part
            total = np.add.reduceat(places, starts)
            found[owners[begin:end][starts]] = total / np.add.reduceat(weights, starts)
        return found


@dataclass(frozen=True)
class Typeless:
    """A graph that was embedded without its types."""

    graph: Graph  # without the triples that state types
    vectors: Floats
    clusters: Ids  # of each term
    config: Config

    @classmethod
    def of(cls, graph: Graph, config: Config, progress: Progress) -> Typeless:
        """Embed a graph without its types, with coarse contexts of clusters."""
        stated = states_type(graph, config.type_predicate)
        if stated.all():
            raise NothingToScore(
                "all triples state types, so there is nothing that types can be predicted from"
            )
        progress.note(
            "Embedding the graph without its types, so that typed and untyped terms are compared "
            "alike."
        )
        typeless, _ = remove_triples(graph, stated, config.type_predicate, keep_all_terms=True)
        settings = replace(config, clusters=config.clusters or CLUSTERS)
        embedding = embed_graph(typeless, settings, progress)
        return cls(typeless, embedding.vectors, embedding.term_clusters, settings)

    def evidence(self, types: Ids) -> Evidence:
        """The evidence, if these types (pairs of term and class) are known."""
        return read_out(self.graph, self.vectors, self.clusters, self.config, types, ROUNDS)


def find_evidence(graph: Graph, config: Config, progress: Progress) -> Evidence:
    """Embed a graph without its types, and place its terms at the mean of their contexts.

    Examples
    --------
    >>> import pyke
    >>> graph = pyke.embed("examples/father.ttl", dimensions=10).graph()
    >>> found = find_evidence(graph, pyke.Config(dimensions=10), pyke.Progress())
    >>> found.vectors.shape == (len(graph.terms), 10)
    True
    """
    return Typeless.of(graph, config, progress).evidence(graph.types)


def evidence_of(graph: Graph, config: Config, progress: Progress) -> Evidence:
    """Embed a graph, and place its terms at the mean of their contexts.

    Triples that state types give contexts, but no roles.
    """
    embedding = embed_graph(graph, config, progress)
    found = read_out(graph, embedding.vectors, embedding.term_clusters, config)
    return found.without_members()


def read_out(
    graph: Graph,
    vectors: Floats,
    clusters: Ids,
    config: Config,
    types: Ids = NO_TYPES,
    rounds: int = 1,
) -> Evidence:
    """Place contexts at the mean of their members, then terms at the mean of their contexts.

    A context has all its members. The strongest ones would be the terms with the fewest triples,
    and a frequent class would be where terms are of which hardly anything is known. A term has its
    strongest contexts.

    `clusters` has none, or one for each term, for the coarse contexts; `types` are pairs of term
    and class, for the coarse contexts of classes. Each further round starts from the terms.
    """
    parts, roles = [context_similarities(graph, config.threads)], [context_roles(graph)]
    first_coarse = first_class = len(roles[0])
    if len(clusters):
        parts.append(group_similarities(graph, clusters, config.type_predicate))
        roles.append(group_roles(graph, clusters, config.type_predicate))
        first_class += len(roles[-1])
    if len(types):
        of_classes = class_similarities(graph, types, config.type_predicate)
        parts.append(replace(of_classes, values=of_classes.values * np.float32(CLASS_WEIGHT)))
        roles.append(class_roles(graph, types, config.type_predicate))
    terms = len(graph.terms)
    pairs = join(terms, *parts)
    del parts  # here and below: releases memory before the next large arrays
    matrix = symmetric_matrix(pairs, config.threads)
    del pairs
    springs = strongest_springs(matrix, config.k, config.threads)
    positions = np.zeros((springs.rows, vectors.shape[1]), np.float32)
    positions[:terms] = vectors
    is_term = np.arange(springs.rows) < terms
    for _ in range(rounds):
        members = positions[:terms].copy()
        place_at_weighted_mean(matrix, positions, is_term.copy(), config.threads)
        positions[:terms] = 0
        place_at_weighted_mean(springs, positions, ~is_term, config.threads)
    size = springs.offsets[terms]
    return Evidence(
        positions[:terms],
        Matrix(
            springs.offsets[: terms + 1].copy(),
            springs.columns[:size] - np.int32(terms),
            springs.values[:size].copy(),
        ),
        positions[terms:],
        members,
        _masses(matrix, terms),
        np.concatenate(roles),
        first_coarse,
        first_class,
        graph.predicates,
        *role_counts_by_term(graph, config.type_predicate),
    )


def _masses(matrix: Matrix, terms: int) -> Floats:
    """The sum of σ of each context."""
    offsets = matrix.offsets[terms:]
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    values = matrix.values[offsets[0] : offsets[-1]]
    return np.bincount(owners, values, len(offsets) - 1).astype(np.float32)
