"""Types of subjects, and the votes of their neighbours.

The nearest typed subjects of a term vote for their own classes. A neighbour votes only if it shares
a role (predicate and side, see graph/roles.py) with the term: a home page lies near a person, but
has none of a person's roles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import Floats, Ids, Offsets, positions, ranges
from pyke.core.parallel import parallel_for
from pyke.core.progress import Progress
from pyke.errors import NothingToScore, UsageError
from pyke.graph.graph import Graph
from pyke.graph.roles import roles_by_term
from pyke.use.neighbours.search import Neighbours, nearest_of_many

MU = (1, 3, 5, 10, 15, 30, 50, 100)  # the values in the paper
REFERENCE_MU = 10  # the default, and the value at which ties, top-1 and F1 are measured

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class TypeTable:
    """Classes of typed subjects.

    Subject i has the classes classes[offsets[i] : offsets[i + 1]], which are positions in
    `class_ids`.
    """

    subjects: Ids  # term ids
    offsets: Offsets
    classes: Ids
    class_ids: Ids  # term ids

    @classmethod
    def of(cls, types: Ids) -> TypeTable:
        """From sorted pairs (subject, class), as in `Graph.types` and `Embedding.types`."""
        subjects, counts = np.unique(types[:, 0], return_counts=True)
        class_ids, classes = np.unique(types[:, 1], return_inverse=True)
        offsets = np.append(np.int64(0), np.cumsum(counts, dtype=np.int64))
        return cls(
            subjects.astype(np.int32), offsets, classes.astype(np.int32), class_ids.astype(np.int32)
        )

    def __len__(self) -> int:
        return len(self.subjects)

    def rows(self, chosen: NDArray[np.integer]) -> TypeTable:
        """Some of the subjects, in the given order."""
        counts = np.diff(self.offsets)[chosen]
        offsets = np.append(np.int64(0), np.cumsum(counts, dtype=np.int64))
        return TypeTable(
            self.subjects[chosen],
            offsets,
            self.classes[ranges(self.offsets[:-1][chosen], counts)],
            self.class_ids,
        )


def usable_mu(wanted: Sequence[int] | None, others: int) -> tuple[int, ...]:
    """Numbers of neighbours (μ) to use, ascending.

    By default these are the values in the paper, up to the number of other typed subjects.
    """
    if wanted is None:
        usable = tuple(mu for mu in MU if mu <= others)
        if not usable:
            raise NothingToScore(
                "there is only one typed subject; types are predicted from those of other subjects"
            )
        return usable
    if not wanted or min(wanted) < 1:
        raise UsageError(f"`mu` is {min(wanted, default='missing')}; it must be at least 1")
    if max(wanted) > others:
        raise NothingToScore(
            f"`mu` is {max(wanted)}, but only {others:,} typed subjects can be neighbours; "
            "use a smaller `mu`"
        )
    return tuple(sorted(set(wanted)))


def require_classes(table: TypeTable) -> None:
    """Raise NothingToScore unless subjects have at least two different classes."""
    if len(table) == 0:
        raise NothingToScore(
            "no subject has a type, so no types can be predicted. If another predicate states "
            "types, embed the graph with this `type_predicate`."
        )
    if len(table.class_ids) == 1:
        raise NothingToScore(
            f"all {len(table):,} typed subjects have the same class, so there is nothing to predict"
        )


class ClassVotes(NamedTuple):
    """Votes for classes: one entry for each query and class that has votes, in this order."""

    queries: Counts  # positions of the queries
    classes: Ids  # positions in the class_ids of the voters
    votes: Counts


def vote(ids: Ids, known: TypeTable, is_voter: NDArray[np.bool_] | None = None) -> ClassVotes:
    """Count the classes of neighbours: ids (queries, μ) are rows of `known`."""
    classes = len(known.class_ids)
    queries, columns = np.nonzero(np.ones(ids.shape, bool) if is_voter is None else is_voter)
    voters = known.rows(ids[queries, columns])
    pairs, votes = np.unique(
        np.repeat(queries, np.diff(voters.offsets)) * classes + voters.classes, return_counts=True
    )
    return ClassVotes(pairs // classes, (pairs % classes).astype(np.int32), votes)


def votes_of_neighbours(
    vectors: Floats,
    graph: Graph,
    known: TypeTable,
    queries: Ids,
    mu: int,
    config: Config,
    *,
    exact: bool | None,
    progress: Progress,
) -> tuple[ClassVotes, Neighbours]:
    """Votes of the μ nearest typed subjects of each query; a subject does not vote for itself."""
    from pyke.use.types._kernels import share_a_role  # loads Numba

    own = positions(queries, known.subjects)
    found = nearest_of_many(
        vectors[known.subjects],
        vectors[queries],
        mu,
        own,
        exact=exact,
        threads=config.threads,
        progress=progress,
    )
    offsets, roles = roles_by_term(graph, config.type_predicate)
    neighbours = known.subjects[found.ids]
    is_voter = np.empty(found.ids.shape, bool)

    def compare(begin: int, end: int) -> None:
        share_a_role(offsets, roles, queries, neighbours, begin, end, is_voter)

    parallel_for(config.threads, len(queries), compare)
    return vote(found.ids, known, is_voter), found


def has_class(truth: TypeTable, rows: Counts, classes: Ids) -> NDArray[np.bool_]:
    """Whether the subject in row rows[i] has the class classes[i]."""
    number = len(truth.class_ids)
    true_pairs = np.repeat(np.arange(len(truth)), np.diff(truth.offsets)) * number + truth.classes
    return np.isin(rows * number + classes, true_pairs, assume_unique=True)
