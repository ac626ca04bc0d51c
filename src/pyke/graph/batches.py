"""Statements of one piece of text: readers pass them to `build.Collector`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Bytes
from pyke.core.hashing import Dictionary


class Batch(NamedTuple):
    """The terms of one piece of text, and statements over the ids of these terms.

    A statement with a literal object has a row in `literals` and a hash of the literal in
    `literal_keys`. If its predicate is a label predicate, `label_blob` also holds the text.
    """

    terms: Dictionary
    state: NDArray[np.int64]  # counters, indexed by the constants below
    triples: NDArray[np.int32]  # (n, 3)
    literals: NDArray[np.int32]  # (n, 2): subject, predicate
    literal_keys: NDArray[np.uint64]
    labels: NDArray[np.int64]  # (n, 3): subject, rank of the language, end of the text
    label_blob: Bytes
    guesses: NDArray[np.int32]  # (terms, 2): what followed each predicate last time, or −1


# Indices of Batch.state
LINES, TRIPLES, LITERALS, LABELS, LABEL_BYTES, TRIPLE_TERMS = range(6)

STATE_SIZE = 6

# Columns of Batch.guesses: the next line's predicate, and this predicate's object
NEXT, OBJECT = 0, 1
