"""Features that terms have by their literals: a value, a word or a range of numbers of a predicate.

The key of a feature is a hash of predicate, kind and content; see read/_literals.py. Features are
numbered in the order in which they were read.

Numbers and dates of a predicate are divided into ranges (bins) with about as many values each. A
range is known by its smallest value. Equal values are always in the same range.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.checks import check_finite, check_ids, check_sorted

Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class Features:
    """Which terms have which features of literals. All arrays are empty without such features."""

    rows: Ids  # (n, 2): term, feature; sorted and distinct
    keys: Keys  # of each feature
    bins: Keys  # (n, 2): group of numbers, and the bits of a range's smallest value; sorted

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def edges(self) -> NDArray[np.float64]:
        """The smallest value of each range."""
        return np.ascontiguousarray(self.bins[:, 1]).view(np.float64)


NO_FEATURES = Features(
    np.zeros((0, 2), np.int32), np.zeros(0, np.uint64), np.zeros((0, 2), np.uint64)
)


def check_features(features: Features, terms: int) -> None:
    """Raise ValueError unless features from a file have ids in range and are sorted."""
    rows = features.rows
    check_ids(rows[:, 0], 0, terms)
    check_ids(rows[:, 1], 0, len(features))
    check_sorted(*rows.T, distinct=True)
    check_finite(features.edges)
    check_sorted(features.bins[:, 0], features.edges, distinct=True)
