"""Collect the features of literals while a graph is read; select and merge them."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import GrowingArray, Ids
from pyke.graph import _kernels
from pyke.graph.batches import LiteralEvents
from pyke.graph.features import NO_FEATURES, Features, Keys

BINS = 16
SHARED = 2  # subjects of a feature that is kept


class FeatureCollector:
    """Collects the features and the numbers of batches, in order."""

    def __init__(self) -> None:
        self._subjects, self._keys = GrowingArray(np.int32), GrowingArray(np.uint64)
        self._number_subjects = GrowingArray(np.int32)
        self._groups, self._values = GrowingArray(np.uint64), GrowingArray(np.float64)

    def growing(self) -> dict[str, GrowingArray]:
        """Everything that was collected so far, by name."""
        return dict(vars(self))

    @property
    def used(self) -> int:
        """The number of features and numbers so far, including repeated ones."""
        return self._keys.used + self._values.used

    def add(self, events: LiteralEvents, ids: Ids) -> None:
        """Add the next batch; ids[x] is the id of its term x."""
        count, numbers = events.size.tolist()
        if count:
            self._subjects.take(count)[:] = ids[events.subjects[:count]]
            self._keys.take(count)[:] = events.keys[:count]
        if numbers:
            self._number_subjects.take(numbers)[:] = ids[events.number_subjects[:numbers]]
            self._groups.take(numbers)[:] = events.groups[:numbers]
            self._values.take(numbers)[:] = events.values[:numbers]

    def finish(
        self, new_ids: Ids, known: Features = NO_FEATURES, minimum: int = SHARED
    ) -> Features:
        """Number the features, and drop those of fewer than `minimum` terms.

        new_ids[x] is −1 for a term that is not in the graph. Groups of numbers that are known
        already keep their ranges.
        """
        if not self.used:
            return NO_FEATURES
        binned, keys, bins = self._bin_numbers(new_ids, known)
        self._subjects.take(len(binned))[:] = binned
        self._keys.take(len(binned))[:] = keys
        del binned, keys
        return _numbered(self._subjects.finish(), self._keys.finish(), new_ids, bins, minimum)

    def _bin_numbers(self, new_ids: Ids, known: Features) -> tuple[Ids, Keys, Keys]:
        """The term and the key of each number's range, and all ranges."""
        subjects, groups, values = (
            column.finish() for column in (self._number_subjects, self._groups, self._values)
        )
        kept = np.flatnonzero(new_ids[subjects] >= 0)
        order = kept[np.lexsort((subjects[kept], values[kept], groups[kept]))]
        subjects, groups, values = subjects[order], groups[order], values[order]
        new = np.ones(len(order), bool)
        new[1:] = (
            (subjects[1:] != subjects[:-1])
            | (values[1:] != values[:-1])
            | (groups[1:] != groups[:-1])
        )
        subjects, groups, values = subjects[new], groups[new], values[new]
        edges = np.empty(len(values), np.float64)
        _kernels.quantile_bins(groups, values, BINS, edges)
        known_groups = np.ascontiguousarray(known.bins[:, 0])
        _kernels.known_bins(groups, values, known_groups, known.edges, edges)
        keys, bits = np.empty(len(values), np.uint64), edges.view(np.uint64)
        _kernels.combine_keys(groups, bits, keys)
        found = np.column_stack([groups, bits])
        return subjects, keys, _distinct_bins(np.concatenate([known.bins, found]))


def select_features(features: Features, new_ids: Ids, minimum: int = SHARED) -> Features:
    """The features of the terms that are left; new_ids[x] is −1 for a term that is gone."""
    if not len(features):
        return features
    subjects, numbers = features.rows.T
    return _table(new_ids[subjects], numbers, features.keys, features.bins, minimum)


def merge_features(features: Features, more: Features, ids: Ids) -> Features:
    """The features of two graphs; ids[x] is the id of a term of the second, or −1."""
    if not len(more):
        return features
    subjects = np.concatenate([features.rows[:, 0], ids[more.rows[:, 0]]])
    keys = np.concatenate([features.keys[features.rows[:, 1]], more.keys[more.rows[:, 1]]])
    bins = _distinct_bins(np.concatenate([features.bins, more.bins]))
    return _numbered(subjects, keys, None, bins, SHARED)


# ---------------------------------------------------------------------------------------------


def _numbered(subjects: Ids, keys: Keys, new_ids: Ids | None, bins: Keys, minimum: int) -> Features:
    """Number keys in the order of their first appearance. Subjects are old ids, if `new_ids`."""
    numbers = np.empty(len(keys), np.int32)
    table = np.full(1 << (3 * len(keys) // 2 + 1).bit_length(), -1, np.int32)
    # A random seed prevents planned collisions in the hash table.
    seed = np.uint64(secrets.randbits(64))
    count = _kernels.number_keys(keys, seed, table, numbers)
    del table
    if new_ids is not None:
        subjects = new_ids[subjects]
    return _table(subjects, numbers, keys[:count], bins, minimum)


def _table(subjects: Ids, numbers: Ids, keys: Keys, bins: Keys, minimum: int) -> Features:
    """Sort rows, drop subjects −1, repeated rows and rare features, and renumber the others."""
    left = np.flatnonzero(subjects >= 0)
    packed = subjects[left].astype(np.uint64)
    packed <<= np.uint64(32)
    packed |= numbers[left].astype(np.uint64)
    del left
    packed.sort()
    packed = packed[: _kernels.drop_repeated(packed)]
    rows = np.empty((len(packed), 2), np.int32)
    rows[:, 0] = packed >> np.uint64(32)
    rows[:, 1] = packed & np.uint64(0xFFFFFFFF)
    del packed
    kept = np.bincount(rows[:, 1], minlength=len(keys)) >= minimum
    rows = rows[kept[rows[:, 1]]]
    rows[:, 1] = (np.cumsum(kept, dtype=np.int32) - 1)[rows[:, 1]]
    return Features(rows, keys[kept], bins)


def _distinct_bins(bins: Keys) -> Keys:
    """Ranges in the order of their groups and values, each once."""
    values: NDArray[Any] = np.ascontiguousarray(bins[:, 1]).view(np.float64)
    bins = bins[np.lexsort((values, bins[:, 0]))]
    new = np.ones(len(bins), bool)
    new[1:] = (bins[1:] != bins[:-1]).any(axis=1)
    return np.ascontiguousarray(bins[new])
