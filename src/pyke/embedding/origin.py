"""The settings and the graph that an embedding was made from."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from pyke.config import Config
from pyke.core.arrays import Ids
from pyke.errors import DamagedStore, UsageError
from pyke.graph.graph import LITERAL, Census, Graph, Problem

if TYPE_CHECKING:
    from pyke.embedding.vectors import TermVectors

_SUBCLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
_CLASSES = ("http://www.w3.org/2000/01/rdf-schema#Class", "http://www.w3.org/2002/07/owl#Class")
_ADVICE = "Check the directory with `pyke verify`."


def config_of(embedding: TermVectors, changes: dict[str, Any]) -> Config:
    """Return the settings of an embedding for another run, with changes; None changes nothing.

    Number of threads, memory limit, syntax and base are those of the machine and the files.
    """
    older = {"clusters": 0}  # what settings meant before they existed
    free = {"threads": 0, "memory": None, "format": None, "base": None}
    try:
        made = asdict(Config(**(older | embedding.manifest["config"] | free)))
    except (KeyError, TypeError, UsageError) as error:
        raise DamagedStore(f"the manifest has no valid settings: {error}. {_ADVICE}") from None
    given = {name: value for name, value in changes.items() if value is not None}
    return Config.preset("default", **made | given)


def graph_of(embedding: TermVectors) -> Graph:
    """Return the graph of an embedding; ids are checked because kernels do not check them."""
    e = embedding
    subjects, used, objects = (np.ascontiguousarray(column) for column in e.triples.T)
    types, labelled = np.array(e.types), np.array(e.labelled)
    for ids, low in ((subjects, 0), (used, 0), (objects, LITERAL), (types, 0), (labelled, 0)):
        if ids.size and not low <= ids.min() <= ids.max() < len(e):
            raise DamagedStore(f"triples, types or labels have ids of missing terms. {_ADVICE}")
    predicates = e.predicates
    positions = np.zeros(len(e), np.int32)
    positions[predicates] = np.arange(len(predicates), dtype=np.int32)
    census = _census(e.manifest)
    return Graph(
        e.terms,
        subjects,
        positions[used],
        objects,
        predicates,
        types,
        e.labels,
        labelled,
        census,
        e.features,
    )


def _census(manifest: dict[str, Any]) -> Census:
    """Return the counts in a manifest."""
    try:
        counts = dict(manifest["census"])
        problems = [Problem(*problem.split(": ", 1)) for problem in counts.pop("first_errors")]
        return Census(**counts, problems=problems)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedStore(f"the manifest has no valid counts: {error}. {_ADVICE}") from None


def predicates_of(embedding: TermVectors) -> Ids:
    """Return the ids of the predicates, ascending."""
    present = np.zeros(len(embedding), bool)
    present[embedding.triples[:, 1]] = True
    return np.flatnonzero(present).astype(np.int32)


def classes_of(embedding: TermVectors) -> Ids:
    """Return the ids of the terms that are used or declared as classes, ascending."""
    find, types = embedding.terms.find, embedding.types
    subjects, predicates, objects = embedding.triples.T
    subclass = predicates == find(_SUBCLASS)
    declared = np.isin(types[:, 1], [find(kind) for kind in _CLASSES])
    # Types of predicates are in the triples, but not in `types`.
    used = objects[predicates == find(embedding.config().type_predicate)]
    found = [used, subjects[subclass], objects[subclass], types[declared, 0], types[:, 1]]
    ids = np.concatenate(found)
    return np.unique(ids[ids != LITERAL])


def entities_of(embedding: TermVectors) -> Ids:
    """Return the ids of the terms that are neither predicates nor classes, ascending."""
    present = np.ones(len(embedding), bool)
    present[embedding.predicates] = False
    present[embedding.classes] = False
    return np.flatnonzero(present).astype(np.int32)
