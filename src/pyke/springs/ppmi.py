"""The similarity of the paper: PPMI of two terms that occur in the same triple."""

from __future__ import annotations

import numpy as np

from pyke.graph.graph import Graph
from pyke.springs import _kernels
from pyke.springs.similarity import Around, Similarities


def ppmi_similarities(graph: Graph, threads: int = 1, around: Around | None = None) -> Similarities:  # noqa: ARG001
    """Similarity of each pair of terms that occur in the same triple.

    σ(x, y) = max(0, ln(P(x, y) / (P(x) P(y)))) over triples, x ≠ y. It uses one thread and ignores
    `around`.
    """
    columns = (graph.subjects, graph.predicate_ids, graph.objects)
    occurrences = np.zeros(len(graph.terms), np.int64)
    _kernels.count_occurrences(*columns, occurrences)
    keys = np.empty(3 * len(graph), np.uint64)
    keys = keys[: _kernels.pair_keys(*columns, keys)]
    keys.sort()
    pairs = int(np.count_nonzero(np.diff(keys))) + 1 if len(keys) else 0
    first, second, values = (
        np.empty(pairs, np.int32),
        np.empty(pairs, np.int32),
        np.empty(pairs, np.float32),
    )
    n = _kernels.pair_similarities(keys, occurrences, len(graph), first, second, values)
    return Similarities(len(graph.terms), first[:n], second[:n], values[:n])
