"""The honest protocol: some subjects lose their types before the embedding, and are then predicted from the others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pyke.errors import NothingToScore, UsageError
from pyke.graph.changes import remove_triples
from pyke.graph.graph import Graph
from pyke.graph.roles import is_typing
from pyke.use.types.votes import TypeTable, require_classes


@dataclass(frozen=True)
class Split:
    """A graph without the withheld types, and both kinds of subjects under its ids. Classes are positions in one list."""

    graph: Graph
    known: TypeTable
    asked: TypeTable  # subject −1: none of its triples was left, so it will have no vector


def split(graph: Graph, fraction: float, seed: int, type_predicate: str, part: int = 0) -> Split:
    """Withholds all types of a random part of the typed subjects; parts of other numbers have other subjects."""
    if not 0 < fraction < 1:
        raise UsageError(
            f"the part of the subjects to hold out is {fraction}; it must be between 0 and 1"
        )
    table = TypeTable.of(graph.types)
    require_classes(table)
    chosen = np.zeros(len(table), bool)
    size = round(fraction * len(table))
    chosen[np.random.default_rng(seed).permutation(len(table))[part * size : (part + 1) * size]] = (
        True
    )
    if not chosen.any() or chosen.all():
        raise NothingToScore(
            f"{fraction:g} of {len(table):,} typed subjects leaves nobody to predict, or nobody to predict from"
        )
    is_withheld = np.zeros(len(graph.terms), bool)
    is_withheld[table.subjects[chosen]] = True
    smaller, new_ids = remove_triples(
        graph, is_typing(graph, type_predicate) & is_withheld[graph.subjects], type_predicate
    )
    known, asked = table.rows(np.flatnonzero(~chosen)), table.rows(np.flatnonzero(chosen))
    classes = new_ids[table.class_ids]
    return Split(
        smaller,
        *(
            replace(part, subjects=new_ids[part.subjects], class_ids=classes)
            for part in (known, asked)
        ),
    )
