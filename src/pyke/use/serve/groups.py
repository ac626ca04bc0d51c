"""The colours of the map: those of `pyke plot`, for all terms."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.use.maps.classes import ClassTree
from pyke.use.maps.groups import by_cluster, by_namespace, by_type
from pyke.use.serve.answers import json_bytes

GROUPINGS = ("type", "cluster", "namespace")
COLOURS = 12


@dataclass(frozen=True)
class Part:
    """Terms of one colour: those of a class, cluster or namespace, or all others."""

    name: str
    term: str | None  # the class
    count: int
    kind: str  # named, other or none


@dataclass(frozen=True, eq=False)
class GroupsOfTerms:
    """The group of each term, as a position in the legend."""

    groups: NDArray[np.uint8]
    legend: tuple[Part, ...]

    def to_bytes(self) -> bytes:
        """A line with the legend, then one byte for each term."""
        return json_bytes([astuple(part) for part in self.legend]) + b"\n" + self.groups.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> GroupsOfTerms:
        """The groups that `to_bytes` wrote."""
        legend, _, groups = data.partition(b"\n")
        parts = tuple(Part(*part) for part in json.loads(legend))
        return cls(np.frombuffer(groups, np.uint8), parts)


def group_by(embedding: Embedding, by: str, progress: Progress) -> GroupsOfTerms:
    """Group all terms. The largest groups have names, the others share one."""
    everything = np.arange(len(embedding), dtype=np.int32)
    if by == "cluster":
        found = by_cluster(embedding, everything, COLOURS, progress)
    elif by == "namespace":
        found = by_namespace(embedding, everything, COLOURS)
    else:
        tree, lookup = ClassTree.of(embedding), embedding.lookup()
        found = by_type(embedding, tree, lookup, everything, COLOURS)
    texts: list[tuple[str, str | None, str]] = [
        (name, term, "named") for name, term in zip(found.names, found.terms, strict=True)
    ]
    texts += [(found.other, None, "other"), (found.none, None, "none")]
    counts = np.bincount(found.of_term, minlength=len(texts))
    order = np.argsort(-counts[:-2], kind="stable").tolist()
    order = [rank for rank in (*order, len(texts) - 2, len(texts) - 1) if counts[rank]]
    position = np.zeros(len(texts), np.uint8)
    position[order] = np.arange(len(order))
    legend = [
        Part(name, term, int(counts[rank]), kind)
        for rank, (name, term, kind) in ((rank, texts[rank]) for rank in order)
    ]
    return GroupsOfTerms(position[found.of_term], tuple(legend))
