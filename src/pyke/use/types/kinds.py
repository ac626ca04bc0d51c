"""Kinds of evidence: which terms look alike to a prediction, typed or not.

Untyped terms are not a random sample of typed ones. An external IRI that occurs only as the object
of skos:exactMatch is another population than the subjects of a graph. So confidence is measured on
typed subjects that look like the asked terms:

- Two terms are of the same **kind** if they have the same roles and if their namespaces are alike.
- A **twin** of a kind is a typed subject with all of its roles, or nearly all. It keeps only these
  roles, and as many triples in each as the asked terms have.

A kind without twins is not measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats, Ids, Offsets, keys_of_sets, positions, ranges
from pyke.graph.roles import OBJECT, SUBJECT, Numbers
from pyke.use.types.evidence import Evidence, Roles
from pyke.use.types.namespaces import Namespaces
from pyke.use.types.votes import Queries

# To measure in total. On wordnet30, 150,000 instead of 60,000 take 5 % more CPU seconds of the
# command, and the likelihood on withheld types is higher.
TWINS = 150_000
# Of each kind, if there are as many, until TWINS is reached; then MIN_ALIKE.
MIN_TWINS = 50
# A kind is measured on typed subjects with exactly its roles if there are at least this many. With
# fewer, subjects with further roles become twins, too: rare classes need many twins.
MIN_EXACT = 300
MIN_ALIKE = 5  # typed subjects that a kind needs to be measured
CANDIDATES = 1 << 18  # typed subjects to choose twins from
MIN_SIMILARITY = 0.01  # of a twin that loses triples


class Status(IntEnum):
    """Whether predictions for a term are measured, or the reason why not."""

    MEASURED = 0
    NEW_NAMESPACE = 1  # hardly any entity of its namespace, or host, has a type
    NO_TWINS = 2  # too few typed subjects have its roles


@dataclass(frozen=True)
class NotMeasured:
    """Terms that are unlike all typed subjects."""

    terms: int
    example: int  # term id
    roles: tuple[tuple[int, bool], ...]  # predicate, and whether the terms are its subjects …
    in_new_namespace: bool  # … or hardly any entity of the namespace of the example has a type
    of_host: bool  # … or of its host


@dataclass(frozen=True)
class Twins:
    """Typed subjects, each with its kind and the evidence that it keeps.

    Twin i keeps the roles in roles[offsets[i] : offsets[i + 1]], ascending: those of its kind.
    """

    subjects: Ids
    kinds: Numbers
    offsets: Offsets
    roles: Ids
    had: Numbers  # triples of the subject in each role
    triples: Numbers  # that it keeps of them
    classes: Numbers  # contexts of classes that it keeps in each role, if it has as many

    def rows(self, chosen: NDArray[np.bool_]) -> Twins:
        """Some of the twins."""
        at = np.flatnonzero(chosen)
        numbers = np.diff(self.offsets)[at]
        entries = ranges(self.offsets[:-1][at], numbers)
        return Twins(
            self.subjects[at],
            self.kinds[at],
            np.append(np.int64(0), np.cumsum(numbers)),
            self.roles[entries],
            self.had[entries],
            self.triples[entries],
            self.classes[entries],
        )


class Kinds:
    """The kinds of the asked terms, and the twins to measure them on.

    Twins are chosen from the typed subjects in `typed`, ascending ids.
    """

    def __init__(
        self,
        evidence: Evidence,
        namespaces: Namespaces,
        typed: Ids,
        asked: Ids,
        seed: int,
    ) -> None:
        self.evidence, self.namespaces, self.asked = evidence, namespaces, asked
        self._seed, self._rng = seed, np.random.default_rng([seed, 7])
        if len(typed) > CANDIDATES:
            typed = np.sort(self._rng.choice(typed, CANDIDATES, replace=False))
        self._typed = typed
        keys = keys_of_sets(evidence.roles, evidence.role_offsets, evidence.number_of_roles)
        _, self.first, self.of_asked = np.unique(
            keys[asked] * np.uint64(2) + namespaces.are_small(asked),
            return_index=True,
            return_inverse=True,
        )
        self.sizes = np.bincount(self.of_asked, minlength=len(self.first))
        self.is_measured = np.zeros(len(self.first), bool)
        self.twins = self._find_twins()
        with_contexts = np.unique(self._kept(evidence, self.twins)[0])
        tried, left = (
            np.bincount(kinds, minlength=len(self.first))
            for kinds in (self.twins.kinds, self.twins.kinds[with_contexts])
        )
        self.is_measured &= left >= np.minimum(tried, MIN_ALIKE)

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def status(self) -> NDArray[np.int64]:
        """The status of each asked term."""
        is_new = self.namespaces.are_new(self.asked)
        found = np.where(is_new, Status.NEW_NAMESPACE, Status.MEASURED)
        return np.where(self.is_measured[self.of_asked], found, Status.NO_TWINS)

    def kind_of(self, term: int) -> tuple[int, Status]:
        """The kind of an asked term, and its status."""
        at = int(np.searchsorted(self.asked, term))
        return int(self.of_asked[at]), Status(int(self.status[at]))

    def roles(self, kind: int) -> Ids:
        """The roles of a kind, ascending."""
        return self._roles_of(int(self.asked[self.first[kind]]))

    def _roles_of(self, term: int) -> Ids:
        offsets = self.evidence.role_offsets
        return self.evidence.roles[offsets[term] : offsets[term + 1]]

    def not_measured(self) -> list[NotMeasured]:
        """Terms without a measured confidence, the most frequent first."""
        is_new, no_twins = (self.status == s for s in (Status.NEW_NAMESPACE, Status.NO_TWINS))
        found = [
            NotMeasured(size, int(self.asked[at]), (), True, number >= len(self.evidence.vectors))
            for number, at, size in _groups(self.namespaces.of_terms[self.asked], is_new)
        ]
        with_roles: dict[tuple[int, ...], tuple[int, int]] = {}  # in large and in small namespaces
        for kind, at, size in _groups(self.of_asked, no_twins):
            key = tuple(self.roles(kind).tolist())
            others, first = with_roles.get(key, (0, at))
            with_roles[key] = others + size, min(first, at)
        for key, (size, at) in with_roles.items():
            sides = ((role >> 1, role & 1) for role in key)
            roles = tuple((int(self.evidence.predicates[p]), side == SUBJECT) for p, side in sides)
            found.append(NotMeasured(size, int(self.asked[at]), roles, False, False))
        return sorted(found, key=lambda one: (-one.terms, one.example))

    def _find_twins(self) -> Twins:
        members = _RoleMembers(self.evidence, self._typed)
        is_small = self.namespaces.are_small(self._typed)
        order = np.argsort(self.of_asked, kind="stable")
        starts = np.append(0, np.cumsum(self.sizes))
        found: list[tuple[Ids, Ids, int]] = []
        left = TWINS
        for kind in np.lexsort((self.first, -self.sizes)).tolist():
            alike = members.with_roles(self.roles(kind))
            own = self.asked[order[starts[kind] : starts[kind + 1]]]
            alike = alike[is_small[alike] == self.namespaces.are_small(own[:1])]
            self.is_measured[kind] = len(alike) >= MIN_ALIKE
            if not self.is_measured[kind]:
                continue
            share = TWINS * int(self.sizes[kind]) // len(self.asked)
            number = min(max(MIN_TWINS, share), max(left, MIN_ALIKE))
            chosen = self._choose(alike, members.compare(alike, self.roles(kind)), kind, number)
            left = max(0, left - len(chosen))
            sample = np.resize(self._rng.permutation(own), len(chosen))  # each about as often
            found.append((self._typed[chosen], sample, kind))
        empty = np.zeros(0, np.int32)
        numbers = [len(subjects) for subjects, _, _ in found]
        return self._matched(
            np.concatenate([empty, *(subjects for subjects, _, _ in found)]),
            np.concatenate([empty, *(asked for _, asked, _ in found)]),
            np.repeat([kind for _, _, kind in found], numbers).astype(np.int64),
        )

    def _choose(self, alike: Offsets, compared: _Compared, kind: int, number: int) -> Offsets:
        """The candidates that are most alike: at most `number`, and if need be fewer.

        Those with the same roles come first, then those with the fewest other roles: classes that
        are described in detail would be too frequent among those with many. A kind that the graph
        only refers to is different. What the graph refers to in the same way is alike, however much
        it says about it. If MIN_EXACT have no other roles, or are referred to in no other way, they
        are the twins. Only if fewer than MIN_TWINS have all roles, others that differ in the fewest
        roles are twins, too.
        """
        lacked, more, more_as_object = compared
        is_described = bool((self.roles(kind) & 1 == SUBJECT).any())
        besides = more if is_described else (more > 0).astype(np.int64) + (more_as_object > 0)
        ranks = np.where(lacked == 0, besides, besides.max(initial=0) + lacked + more)
        others = more if is_described else more_as_object
        complete = int(np.count_nonzero(lacked == 0))
        exact = int(np.count_nonzero(lacked + others == 0))
        number = min(number, exact if exact >= MIN_EXACT else max(complete, MIN_TWINS))
        return alike[np.lexsort((self._rng.random(len(alike)), ranks))[:number]]

    def _matched(self, subjects: Ids, asked: Ids, kinds: Numbers) -> Twins:
        """Twins with as much evidence in each role as a sample of asked terms of their kind.

        In each role, the twin with the n-th most triples keeps as many as the asked term with the
        n-th most. So twins lose nothing if asked terms have as much as they have, and each keeps
        its own mix of roles: to take what it shares with one asked term would leave it less.
        """
        e = self.evidence
        starts = e.role_offsets[:-1][asked]
        numbers = e.role_offsets[1:][asked] - starts
        owners, roles = np.repeat(np.arange(len(asked)), numbers), e.roles[ranges(starts, numbers)]

        def matched(of_twins: Numbers, of_asked: Numbers) -> Numbers:
            ties = self._rng.random(len(roles))  # the most alike twins come first
            orders = [np.lexsort((ties, one, roles, kinds[owners])) for one in (of_twins, of_asked)]
            found = np.empty_like(of_asked)
            found[orders[0]] = of_asked[orders[1]]
            return np.minimum(found, of_twins)

        had, triples = (e.times_in_role(terms[owners], roles) for terms in (subjects, asked))
        classes = (_classes_in_role(e, terms[owners], roles) for terms in (subjects, asked))
        offsets = np.append(np.int64(0), np.cumsum(numbers))
        kept = matched(had, triples), matched(*classes)
        return Twins(subjects, kinds, offsets, roles, had, *kept)

    def stripped(self, evidence: Evidence, chosen: NDArray[np.bool_]) -> tuple[Queries, Numbers]:
        """Some twins with as much evidence as asked terms have, and the kind of each.

        A twin itself is a member of its contexts, with all its evidence. So they are placed again
        without it, if some evidence is set aside. Twins without contexts are left out.
        """
        twins = self.twins.rows(chosen)
        owners, contexts, sigma = self._kept(evidence, twins)
        of_few = self._similarities(evidence, twins, owners, contexts, sigma)
        offsets = evidence.contexts.offsets
        had = offsets[1:][twins.subjects] - offsets[:-1][twins.subjects]
        is_whole = np.bincount(owners, minlength=len(had)) == had
        without = np.where(is_whole, np.int32(-1), twins.subjects), sigma
        vectors = evidence.mean_places(owners, contexts, of_few, len(had), without)
        usable = np.unique(owners)
        is_usable = np.bincount(usable, minlength=len(had)) > 0
        return Queries(
            vectors[usable], twins.subjects[usable], self._roles_kept(twins.rows(is_usable))
        ), twins.kinds[usable]

    def _similarities(
        self, e: Evidence, twins: Twins, owners: Offsets, contexts: Ids, sigma: Floats
    ) -> Floats:
        """σ of twins, if they had only the triples that they keep.

        PPMI is relative to all triples of a term, so it is higher if there are fewer of them. A
        role or a coarse context has fewer itself, if the twin keeps only a part of the role.
        """
        totals = np.append(0, np.cumsum(e.role_counts))[e.role_offsets]
        had = np.diff(totals)[twins.subjects]
        of_twins = np.repeat(np.arange(len(had)), np.diff(twins.offsets))
        change = np.log(had / np.bincount(of_twins, twins.triples, len(had)))[owners]
        entries = self._entries(e, twins, owners, contexts)
        parts = np.log(np.maximum(twins.triples, 1) / np.maximum(twins.had, 1))[entries]
        change += np.where(e.is_role[contexts] | e.is_coarse[contexts], parts, 0)
        found: Floats = sigma + e.weights_of(contexts) * change.astype(np.float32)
        return np.maximum(found, np.float32(MIN_SIMILARITY), out=found)

    def _entries(self, e: Evidence, twins: Twins, owners: Offsets, contexts: Ids) -> Offsets:
        """The role of each context among those that its twin keeps; −1 if it keeps none of it."""
        of_twins = np.repeat(np.arange(len(twins.subjects)), np.diff(twins.offsets))
        roles, number = e.context_roles[contexts], e.number_of_roles
        return positions(owners * number + roles, of_twins * number + twins.roles)

    def _roles_kept(self, twins: Twins) -> Roles:
        """The roles that twins keep, and how often."""
        owners = np.repeat(np.arange(len(twins.subjects)), np.diff(twins.offsets))
        return Roles.of(owners, twins.roles, twins.triples, len(twins.subjects))

    def _kept(self, e: Evidence, twins: Twins) -> tuple[Offsets, Ids, Floats]:
        """Positions of twins, and the contexts and σ that they keep of the evidence.

        A twin keeps only roles of its kind. In each role it keeps at most `triples` contexts, as
        many of clusters, and at most `classes` of classes.
        """
        starts = e.contexts.offsets[:-1][twins.subjects]
        sizes = e.contexts.offsets[1:][twins.subjects] - starts
        at = ranges(starts, sizes)
        owners = np.repeat(np.arange(len(sizes)), sizes)
        contexts, sigma = e.contexts.columns[at], e.contexts.values[at]
        roles, entry = e.context_roles[contexts], self._entries(e, twins, owners, contexts)
        allowed = np.append(twins.triples, 0)[entry]  # −1: not a role of its kind
        is_role = e.is_role[contexts]
        allowed[is_role & (allowed > 0)] = np.iinfo(np.int64).max
        of_class = e.is_of_class[contexts]
        allowed[of_class] = np.append(twins.classes, 0)[entry[of_class]]
        # A role itself and coarse contexts do not take the place of a context.
        levels = e.is_coarse[contexts].astype(np.int64) + of_class
        columns = (levels, is_role, roles, owners)
        drawn = np.random.default_rng([self._seed, 8]).random(len(owners))
        order = np.lexsort((drawn, *columns))
        changes = [np.diff(column[order].astype(np.int64), prepend=-1) != 0 for column in columns]
        begins = np.flatnonzero(np.logical_or.reduce(changes))
        rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
        kept = np.sort(order[rank < allowed[order]])
        return owners[kept], contexts[kept], sigma[kept]


def _groups(groups: Numbers, chosen: NDArray[np.bool_]) -> list[tuple[int, int, int]]:
    """Number, first position and size of each group among the chosen positions."""
    at = np.flatnonzero(chosen)
    numbers, first, sizes = np.unique(groups[at], return_index=True, return_counts=True)
    return list(zip(numbers.tolist(), at[first].tolist(), sizes.tolist(), strict=True))


def _classes_in_role(evidence: Evidence, terms: Ids, roles: Ids) -> Numbers:
    """How many contexts of classes each term has in the role beside it."""
    asked, contexts = np.unique(terms), evidence.contexts
    starts, ends = contexts.offsets[:-1][asked], contexts.offsets[1:][asked]
    columns = contexts.columns[ranges(starts, ends - starts)]
    owners = np.repeat(asked.astype(np.int64), ends - starts)
    of_class, number = evidence.is_of_class[columns], evidence.number_of_roles
    found = owners[of_class] * number + evidence.context_roles[columns[of_class]]
    keys, counts = np.unique(found, return_counts=True)
    at = positions(terms.astype(np.int64) * number + roles, keys)
    return np.where(at >= 0, np.append(counts, 0)[at], 0)


class _Compared(NamedTuple):
    """Of some roles, how many each subject lacks, and how many others it has."""

    lacked: Numbers
    more: Numbers
    more_as_object: Numbers  # those of `more` in which it is the object


class _RoleMembers:
    """Typed subjects by role, as bits."""

    def __init__(self, evidence: Evidence, typed: Ids) -> None:
        starts = evidence.role_offsets[:-1][typed]
        sizes = evidence.role_offsets[1:][typed] - starts
        roles = evidence.roles[ranges(starts, sizes)]
        order = np.argsort(roles, kind="stable")
        self._rows = np.repeat(np.arange(len(typed)), sizes)[order]
        self._borders = np.searchsorted(roles[order], np.arange(evidence.number_of_roles + 1))
        self._typed, self._numbers = len(typed), sizes
        is_object = roles[order] & 1 == OBJECT
        self._as_object = np.bincount(self._rows[is_object], minlength=len(typed))
        self._bits: dict[int, NDArray[np.uint8]] = {}

    def with_roles(self, roles: Ids) -> Offsets:
        """Positions of the typed subjects with the more frequent half of these roles.

        A subject with many roles hardly has an equal. Without roles, there are none.
        """
        if not len(roles):
            return np.zeros(0, np.int64)
        sizes = np.diff(self._borders)[roles]
        frequent = roles[np.argsort(-sizes, kind="stable")[: (len(roles) + 1) // 2]]
        shared = np.bitwise_and.reduce([self._members(role) for role in frequent.tolist()])
        return np.flatnonzero(np.unpackbits(shared, count=self._typed))

    def compare(self, chosen: Offsets, roles: Ids) -> _Compared:
        """Compare the roles of chosen subjects with some roles."""
        shared, as_object = np.zeros((2, len(chosen)), np.int64)
        for role in roles.tolist():
            has = self._members(role)[chosen >> 3] >> (7 - (chosen & 7)).astype(np.uint8) & 1
            shared += has
            if role & 1 == OBJECT:
                as_object += has
        return _Compared(
            len(roles) - shared,
            self._numbers[chosen] - shared,
            self._as_object[chosen] - as_object,
        )

    def _members(self, role: int) -> NDArray[np.uint8]:
        if role not in self._bits:
            has = np.zeros(self._typed, bool)
            has[self._rows[self._borders[role] : self._borders[role + 1]]] = True
            self._bits[role] = np.packbits(has)
        return self._bits[role]
