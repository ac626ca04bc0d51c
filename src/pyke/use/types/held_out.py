"""The held-out protocol: withhold the types of some subjects before the embedding."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pyke.errors import NothingToScore, UsageError
from pyke.graph.changes import remove_triples
from pyke.graph.graph import Graph
from pyke.graph.roles import states_type
from pyke.use.types.votes import TypeTable, require_classes


@dataclass(frozen=True)
class Split:
    """A graph without the withheld types, and the subjects with their types under its ids.

    Both tables have the same `class_ids`.
    """

    graph: Graph
    known: TypeTable
    asked: TypeTable  # subject −1: it had only types, so it is not in the graph


def split(graph: Graph, fraction: float, seed: int, type_predicate: str, part: int = 0) -> Split:
    """Withhold all types of a random part of the typed subjects.

    Parameters
    ----------
    graph
        The graph with all its types.
    fraction
        The part of the typed subjects whose types are withheld, between 0 and 1.
    seed
        Decides the order of the subjects.
    type_predicate
        The predicate that states types.
    part
        Parts with different numbers have no subject in common.

    Examples
    --------
    >>> import pyke
    >>> graph = pyke.embed("examples/father.ttl", dimensions=10).graph()
    >>> parts = split(graph, 0.5, 1, "http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    >>> len(parts.known), len(parts.asked)
    (5, 4)
    """
    if not 0 < fraction < 1:
        raise UsageError(f"`held_out` is {fraction}; it must be between 0 and 1")
    table = TypeTable.of(graph.types)
    require_classes(table)
    size = round(fraction * len(table))
    order = np.random.default_rng(seed).permutation(len(table))
    withheld = np.zeros(len(table), bool)
    withheld[order[part * size : (part + 1) * size]] = True
    if not withheld.any() or withheld.all():
        raise NothingToScore(
            f"`held_out` is {fraction:g}: of {len(table):,} typed subjects, it withholds the types "
            f"of {withheld.sum():,}. At least one must lose its types, and one must keep them."
        )
    is_withheld = np.zeros(len(graph.terms), bool)
    is_withheld[table.subjects[withheld]] = True
    removed = states_type(graph, type_predicate) & is_withheld[graph.subjects]
    smaller, new_ids = remove_triples(graph, removed, type_predicate)

    def renamed(rows: TypeTable) -> TypeTable:
        return replace(rows, subjects=new_ids[rows.subjects], class_ids=new_ids[rows.class_ids])

    known, asked = (table.rows(np.flatnonzero(chosen)) for chosen in (~withheld, withheld))
    return Split(smaller, renamed(known), renamed(asked))
