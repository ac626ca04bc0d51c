"""The similarity of the paper on many machines: PPMI of two terms that occur in the same triple.

occur     the number of triples that contain each term, for those who need it
pair_up   the pairs of terms in each triple, for those who count them
weigh     σ of pairs, for the owners of both terms

The owner of the smaller id counts a pair. If that is a predicate and the other term is not, the
owner of the other one does: a frequent predicate has pairs with nearly all terms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.counts import count_rows
from pyke.pipeline.partitions.job import Job, Result, stage
from pyke.pipeline.partitions.layout import Layout
from pyke.pipeline.partitions.pieces import Arrays
from pyke.pipeline.partitions.springs import both_ways
from pyke.pipeline.partitions.triples import (
    columns_of,
    joined,
    linked_terms,
    predicates_of,
    tell,
)
from pyke.springs import _kernels

Keys = NDArray[np.uint64]
_HALF = np.uint64(32)
_LOWER = np.uint64(0xFFFFFFFF)


@stage
def occur(job: Job, owner: int, terms: Layout) -> tuple[dict[str, Arrays], Result]:
    """Count the triples of terms. Those of predicates are told to all."""
    predicates, triples_of = predicates_of(job), job.read("total", 0)["triples_of"]
    by_subject, by_object = columns_of(job, "arrange", owner), columns_of(job, "count", owner)
    begin, end = (terms.ranges_of(owner) or [(0, 0)])[0]
    found = np.zeros(end - begin, np.int64)
    subjects, objects = by_subject[0], by_object[0]
    count_rows(subjects - np.int32(begin), found)
    alone = (objects != by_object[2]) & (objects != predicates[by_object[1]])
    count_rows(objects[alone] - np.int32(begin), found)
    mine = np.flatnonzero((predicates >= begin) & (predicates < end))
    found[predicates[mine] - begin] += triples_of[mine]
    twice = subjects[subjects == predicates[by_subject[1]]]
    np.subtract.at(found, twice - begin, 1)
    asked = linked_terms(terms, begin, end, by_subject, by_object, job.partitions)
    asked[:, predicates[mine] - begin] = True
    asked[owner] = True
    return tell(asked, found, begin), {}


@stage
def pair_up(job: Job, owner: int, terms: Layout) -> tuple[dict[str, Arrays], Result]:
    """The pairs of the triples of some subjects, as keys: smaller id << 32 | larger id."""
    predicates = predicates_of(job)
    subjects, positions, objects = columns_of(job, "arrange", owner)
    keys = np.empty(3 * len(subjects), np.uint64)
    keys = keys[: _kernels.pair_keys(subjects, predicates[positions], objects, keys)]
    smaller, larger = _ids(keys)
    swapped = np.isin(smaller, predicates) & ~np.isin(larger, predicates)
    counters = terms.split(np.where(swapped, larger, smaller), job.partitions)
    return {str(other): {"keys": keys[rows]} for other, rows in enumerate(counters)}, {}


@stage
def weigh(job: Job, owner: int, terms: Layout) -> tuple[dict[str, Arrays], Result]:
    """σ of the pairs that an owner counts, in both directions."""
    keys: Keys = joined(list(job.from_all("pair_up", job.partitions, owner)), "keys")
    keys.sort()
    known = list(job.from_all("occur", job.partitions, owner))
    ids = joined(known, "ids")  # ascending, as the ranges of the owners are
    occurrences = joined(known, "occurrences")
    total = int(job.read("total", 0)["triples_of"].sum())
    numbers = [np.searchsorted(ids, one).astype(np.uint64) for one in _ids(keys)]
    keys = numbers[0] << _HALF | numbers[1]  # in the same order
    del numbers
    pairs = int(np.count_nonzero(np.diff(keys))) + 1 if len(keys) else 0
    first, second = np.empty(pairs, np.int32), np.empty(pairs, np.int32)
    values = np.empty(pairs, np.float32)
    n = _kernels.pair_similarities(keys, occurrences, total, first, second, values)
    found = (ids[first[:n]], ids[second[:n]], values[:n])
    return both_ways([found], terms, job), {"pairs": n}


def _ids(keys: Keys) -> tuple[Ids, Ids]:
    """The smaller and the larger id of each pair."""
    return (keys >> _HALF).astype(np.int32), (keys & _LOWER).astype(np.int32)
