"""Which triples state a type."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.graph.graph import LITERAL, Graph


def is_typing(graph: Graph, type_predicate: str) -> NDArray[np.bool_]:
    """Which triples give a type."""
    typing = np.flatnonzero(graph.predicates == graph.terms.find(type_predicate))
    return (
        (graph.predicate_positions == typing[0]) & (graph.objects != LITERAL)
        if len(typing)
        else np.zeros(len(graph), bool)
    )
