"""Statements read from a stretch of text: what readers pass to `build`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Bytes
from pyke.core.hashing import Dictionary


class Batch(NamedTuple):
    """What was read from a stretch of text: its own small dictionary, and statements over its ids.

    state is indexed by the constants below. A statement with a literal has its row in `literals` and the literal's hash in
    `literal_keys`; one that names its subject also leaves the text in `label_blob`.
    """

    terms: Dictionary
    state: NDArray[np.int64]
    triples: NDArray[np.int32]  # (n, 3)
    literals: NDArray[np.int32]  # (n, 2): subject, predicate
    literal_keys: NDArray[np.uint64]
    labels: NDArray[np.int64]  # (n, 3): subject, rank of its language, end of its text
    label_blob: Bytes
    habits: NDArray[np.int32]  # (terms, 2): what came after a predicate last time, or −1


# Batch.state
LINES, TRIPLES, LITERALS, LABELS, LABEL_BYTES, TRIPLE_TERMS = range(6)

STATE_SIZE = 6

# Batch.habits
NEXT, OBJECT = 0, 1
