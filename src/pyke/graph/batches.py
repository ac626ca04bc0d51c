"""Statements of one piece of text: readers pass them to `build.Collector`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Bytes
from pyke.core.hashing import Dictionary


class LiteralEvents(NamedTuple):
    """What the literals of a piece of text say about their subjects, if the settings ask for it.

    An event is a subject and the key of a feature. A number or a date has a group (its predicate)
    and gets its feature when the values of the whole graph are known.
    """

    size: NDArray[np.int64]  # number of events, and of numbers
    subjects: NDArray[np.int32]
    keys: NDArray[np.uint64]
    number_subjects: NDArray[np.int32]
    groups: NDArray[np.uint64]
    values: NDArray[np.float64]
    predicates: NDArray[np.uint64]  # hash of each term that is a predicate, 0 where unknown
    text: Bytes  # the decoded text of one literal


def literal_events(size: int, statements: int, terms: int) -> LiteralEvents:
    """Space for the literals of `size` bytes. Unused memory pages are never allocated."""
    events = statements + size // 2  # a literal has one value; a word is longer than a byte
    return LiteralEvents(
        size=np.zeros(2, np.int64),
        subjects=np.empty(events, np.int32),
        keys=np.empty(events, np.uint64),
        number_subjects=np.empty(statements, np.int32),
        groups=np.empty(statements, np.uint64),
        values=np.empty(statements, np.float64),
        predicates=np.zeros(terms, np.uint64),
        text=np.empty(size, np.uint8),
    )


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
    events: LiteralEvents


# Indices of Batch.state
LINES, TRIPLES, LITERALS, LABELS, LABEL_BYTES, TRIPLE_TERMS = range(6)

STATE_SIZE = 6

# Columns of Batch.guesses: the next line's predicate, and this predicate's object
NEXT, OBJECT = 0, 1
