"""The types of subjects, and the votes of neighbours for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids, Offsets, ranges
from pyke.errors import NothingToScore, UsageError

MU = (1, 3, 5, 10, 15, 30, 50, 100)  # the paper's

REFERENCE_MU = 10  # for the figures that are given once: ties, top-1 and F1


@dataclass(frozen=True)
class TypeTable:
    """Who is of which class: subject i, a term's id, has classes[offsets[i] : offsets[i + 1]], positions in `class_ids`."""

    subjects: Ids
    offsets: Offsets
    classes: Ids
    class_ids: Ids

    @classmethod
    def of(cls, types: Ids) -> TypeTable:
        """Pairs (subject, class), sorted, as a graph and an embedding have them."""
        subjects, counts = np.unique(types[:, 0], return_counts=True)
        class_ids, classes = np.unique(types[:, 1], return_inverse=True)
        offsets = np.append(np.int64(0), np.cumsum(counts, dtype=np.int64))
        return cls(
            subjects.astype(np.int32), offsets, classes.astype(np.int32), class_ids.astype(np.int32)
        )

    def __len__(self) -> int:
        return len(self.subjects)

    def rows(self, chosen: NDArray[np.integer]) -> TypeTable:
        """Some of the subjects, in this order."""
        counts = np.diff(self.offsets)[chosen]
        offsets = np.append(np.int64(0), np.cumsum(counts, dtype=np.int64))
        return TypeTable(
            self.subjects[chosen],
            offsets,
            self.classes[ranges(self.offsets[:-1][chosen], counts)],
            self.class_ids,
        )


def usable_mu(wanted: Sequence[int] | None, others: int) -> tuple[int, ...]:
    """The values of μ to score, ascending: those wanted, or the paper's as far as there are neighbours."""
    if wanted is None:
        usable = tuple(mu for mu in MU if mu <= others)
        if not usable:
            raise NothingToScore(
                "there is one typed subject; its type cannot be predicted from others"
            )
        return usable
    if not wanted or min(wanted) < 1:
        raise UsageError(f"μ is {min(wanted, default='missing')}; it must be at least 1")
    if max(wanted) > others:
        raise NothingToScore(
            f"μ is {max(wanted)}, but only {others:,} typed subjects can be neighbours. Take a smaller μ."
        )
    return tuple(sorted(set(wanted)))


def require_classes(table: TypeTable) -> None:
    """Refuses types that tell nothing."""
    if len(table) == 0:
        raise NothingToScore(
            "no subject has a type: there is nothing to predict. If another predicate gives types, name it: --type-predicate IRI"
        )
    if len(table.class_ids) == 1:
        raise NothingToScore(
            f"all {len(table):,} typed subjects have one and the same class: every prediction would be right"
        )


def vote(
    ids: Ids, known: TypeTable, may_vote: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], Ids, NDArray[np.int64]]:
    """Neighbours (asked, μ) → every pair of asked and class that some neighbour has, in order, and how many neighbours have it."""
    classes = len(known.class_ids)
    asked, place = np.nonzero(np.ones(ids.shape, bool) if may_vote is None else may_vote)
    voters = known.rows(ids[asked, place])
    pairs, votes = np.unique(
        np.repeat(asked, np.diff(voters.offsets)) * classes + voters.classes, return_counts=True
    )
    return pairs // classes, (pairs % classes).astype(np.int32), votes


def has_class(truth: TypeTable, who: NDArray[np.int64], classes: Ids) -> NDArray[np.bool_]:
    """Whether subject who[i] is of class classes[i]."""
    number = len(truth.class_ids)
    true_pairs = np.repeat(np.arange(len(truth)), np.diff(truth.offsets)) * number + truth.classes
    return np.isin(who * number + classes, true_pairs, assume_unique=True)
