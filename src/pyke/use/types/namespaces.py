"""Which terms come from the same source, and whether anything of this source is typed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.parallel import parallel_for
from pyke.graph.graph import Graph
from pyke.graph.roles import Numbers

SMALL_NAMESPACE = 10  # entities
MIN_TYPED_SHARE = 0.1  # of the entities of a namespace or host


class Namespaces:
    """Namespaces of the entities of a graph, and whether their entities are typed at all.

    A namespace with few entities says little, so its host counts instead. `of_terms` has the number
    of the namespace or host of each term.
    """

    def __init__(self, graph: Graph, typed: Ids, asked: Ids, threads: int) -> None:
        from pyke.use.types._kernels import namespace_hashes  # loads Numba

        terms = len(graph.terms)
        hashes = np.empty((2, terms), np.uint64)
        parallel_for(
            threads,
            terms,
            lambda begin, end: namespace_hashes(
                graph.terms.blob, graph.terms.offsets, begin, end, hashes[0], hashes[1]
            ),
        )
        entities = np.union1d(typed, asked)
        spaces, sizes, is_typed = _groups_of(hashes[0], entities, typed)
        hosts, _, is_typed_host = _groups_of(hashes[1], entities, typed)
        self._is_small: NDArray[np.bool_] = (sizes < SMALL_NAMESPACE)[spaces]
        self._is_new = ~np.where(self._is_small, is_typed_host[hosts], is_typed[spaces])
        self.of_terms: Numbers = np.where(self._is_small, terms + hosts, spaces)

    def are_small(self, terms: Ids) -> NDArray[np.bool_]:
        """Which terms are in a namespace with few entities."""
        return self._is_small[terms]

    def are_new(self, terms: Ids) -> NDArray[np.bool_]:
        """Which terms are in a namespace, or of a host, where hardly any entity is typed."""
        return self._is_new[terms]


def _groups_of(
    hashes: NDArray[np.uint64], entities: Ids, typed: Ids
) -> tuple[Numbers, Numbers, NDArray[np.bool_]]:
    """The group of each term, its number of entities, and whether enough of them are typed."""
    groups: Numbers = np.unique(hashes, return_inverse=True)[1]
    sizes = np.bincount(groups[entities], minlength=len(groups))
    known = np.bincount(groups[typed], minlength=len(groups))
    return groups, sizes, (known > 0) & (known >= MIN_TYPED_SHARE * sizes)
