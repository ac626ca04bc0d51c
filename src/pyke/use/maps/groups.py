"""Which colour each term has: by type, by cluster or by namespace."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.embedding.lookup import PREFIXES, Lookup, texts_at
from pyke.use.clusters.describe import cluster
from pyke.use.maps.classes import ClassTree, Patterns, most_distinctive, smallest
from pyke.use.maps.names import distinct

# Namespaces, from fine to coarse: to the last separator, the first part of the path, the host.
NAMESPACES = (r".*[/#:]", r"\w+://[^/]*/?(?:[^/#]+[/#])?|[^:]*:", r"\w+:(?://[^/]*/?)?")
MIN_COVER = 0.8  # share of the points that namespaces with a colour should have


@dataclass(frozen=True, eq=False)
class Grouping:
    """The group of each term; points of a group have one colour.

    Attributes
    ----------
    of_term
        The group of each term: a position in `names`, or len(names) for other groups, or
        len(names) + 1 for terms without any.
    names
        The name of each group with a colour.
    terms
        The class of each group, if groups are classes.
    heading, other, none
        What the groups are, and what the legend calls terms of other groups and of none.
    """

    of_term: NDArray[np.int64]
    names: Sequence[str]
    terms: Sequence[str | None]
    heading: str
    other: str
    none: str


def by_type(
    embedding: Embedding,
    tree: ClassTree,
    lookup: Lookup,
    shown: Ids,
    colours: int,
    chosen: Sequence[int] = (),
) -> Grouping:
    """Groups of subjects by class: those chosen, or those that distinguish most shown terms."""
    candidates = list(chosen) or tree.largest()
    masks = tree.masks(candidates, len(embedding))
    patterns = Patterns.of(masks[shown], len(candidates))
    bits = list(range(len(candidates))) if chosen else most_distinctive(patterns, colours)
    of_term = smallest(masks, patterns.sizes(), bits)
    of_term[of_term < 0] = len(bits)
    of_term[masks < 0] = len(bits) + 1
    classes = [candidates[bit] for bit in bits]
    iris = [embedding.terms[kind] for kind in classes]
    names = distinct(lookup, classes)
    return Grouping(of_term, names, iris, "type", "other types", "no type")


def by_cluster(embedding: Embedding, shown: Ids, colours: int, progress: Progress) -> Grouping:
    """Groups of entities by cluster of the vectors: the largest ones among the shown terms."""
    found = cluster(embedding, progress=progress)
    numbers = np.full(len(embedding), -1, np.int64)
    numbers[found.ids] = found.labels
    return _largest(
        numbers,
        [one.name for one in found.clusters],
        shown,
        colours,
        ("cluster", "other clusters", "no cluster"),
    )


def by_namespace(embedding: Embedding, shown: Ids, colours: int) -> Grouping:
    """Groups of terms by the beginning of their IRIs.

    Namespaces are as fine as possible, such that those with a colour have most of the terms.
    """
    iris = texts_at(embedding.terms, np.arange(len(embedding)))
    for pattern in NAMESPACES:
        begin = re.compile(pattern).match
        spaces = [
            "" if iri.startswith("_:") else _short(found[0] if (found := begin(iri)) else iri)
            for iri in iris
        ]
        counts = Counter(spaces[term] for term in shown.tolist())
        blank = counts.pop("", 0)
        largest = [space for space, _ in counts.most_common(colours)]
        if sum(counts[space] for space in largest) >= MIN_COVER * (len(shown) - blank):
            break
    position = {space: number for number, space in enumerate(counts)}
    numbers = np.array([position.get(space, -1) for space in spaces], np.int64)
    words = ("namespace", "other namespaces", "blank nodes")
    return _largest(numbers, list(counts), shown, colours, words)


def _largest(
    numbers: NDArray[np.int64],
    names: Sequence[str],
    shown: Ids,
    colours: int,
    words: tuple[str, str, str],
) -> Grouping:
    """The largest groups among the shown terms; numbers[x] is the group of term x, or −1."""
    counts = np.bincount(numbers[shown] + 1, minlength=len(names) + 1)[1:]
    order = np.argsort(-counts, kind="stable")[:colours]
    order = order[counts[order] > 0]
    new = np.full(len(names) + 1, len(order), np.int64)
    new[order] = np.arange(len(order))
    new[-1] = len(order) + 1
    chosen = [names[number] for number in order.tolist()]
    return Grouping(new[numbers], chosen, [None] * len(chosen), *words)


@lru_cache(1 << 16)
def _short(namespace: str) -> str:
    """A prefix such as `foaf:`, or the namespace without http:// and www."""
    for prefix, namespaces in PREFIXES.items():
        if namespace in namespaces.split():
            return f"{prefix}:"
    return re.sub(r"^\w+://(www\.)?", "", namespace)
