"""How much the number of triples in a role tells about the class.

Professors of LUBM differ in how many publications they have, not in how many students. So the first
number should count where terms are compared, and the second should not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import keys_of_sets, ranges
from pyke.use.types.evidence import Evidence
from pyke.use.types.votes import TypeTable

STEPS = 2  # groups of numbers between n and 2 n
MAX_SUBJECTS = 1 << 17  # to learn from, evenly spaced; more take memory and hardly tell more


def informative_numbers(evidence: Evidence, known: TypeTable) -> NDArray[np.float64]:
    """For each role, how much of the class its number of triples tells: 0 to 1.

    Among the subjects with the role, this is the mutual information of the classes and of the
    number, in groups of similar numbers, divided by the entropy of the classes. Small samples show
    more information than there is (Miller 1955); the expected excess is subtracted.
    """
    known = known.rows(np.arange(0, len(known), -(-len(known) // MAX_SUBJECTS)))
    starts = evidence.role_offsets[:-1][known.subjects]
    sizes = evidence.role_offsets[1:][known.subjects] - starts
    at = ranges(starts, sizes)
    roles = evidence.roles[at].astype(np.int64)
    groups = np.floor(STEPS * np.log2(1 + evidence.role_counts[at])).astype(np.int64)
    labels = _class_sets(known)[np.repeat(np.arange(len(known)), sizes)]
    number = evidence.number_of_roles
    total = np.bincount(roles, minlength=number)
    with_group, groups = _sums_of_logs(roles, groups, number)
    with_label, labels = _sums_of_logs(roles, labels, number)
    with_both, _ = _sums_of_logs(roles, groups * (labels.max(initial=0) + 1) + labels, number)
    size = np.maximum(total, 1)
    scale = np.log(size)
    entropy = scale - with_label / size
    information = (with_both - with_group - with_label) / size + scale
    distinct = [_distinct(roles, keys, number) - 1 for keys in (groups, labels)]
    information -= distinct[0] * distinct[1] / (2 * size)
    # One set of classes has an entropy of 0, or almost: rounding must not decide.
    told = np.divide(information, entropy, out=np.zeros(number), where=distinct[1] > 0)
    found: NDArray[np.float64] = np.clip(told, 0, 1)
    return found


def _class_sets(known: TypeTable) -> NDArray[np.int64]:
    """A number for each subject, equal for equal sets of classes."""
    keys = keys_of_sets(known.classes, known.offsets, len(known.class_ids))
    found: NDArray[np.int64] = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    return found


def _sums_of_logs(
    roles: NDArray[np.int64], keys: NDArray[np.int64], number: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Σ n ln n over the keys of each role, where n counts a key, and the keys numbered from 0."""
    _, keys = np.unique(keys, return_inverse=True)
    pairs, counts = np.unique(roles * (keys.max(initial=0) + 1) + keys, return_counts=True)
    of_pairs = pairs // (keys.max(initial=0) + 1)
    sums = np.bincount(of_pairs, counts * np.log(counts), number)
    return sums.astype(np.float64), keys.astype(np.int64)


def _distinct(roles: NDArray[np.int64], keys: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """How many different keys each role has."""
    width = keys.max(initial=0) + 1
    return np.bincount(np.unique(roles * width + keys) // width, minlength=number)
