"""The terms on a map, with their colours and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import UsageError
from pyke.use.maps.classes import ClassTree
from pyke.use.maps.groups import Grouping, by_cluster, by_namespace, by_type
from pyke.use.maps.names import automatic_labels, shortened
from pyke.use.maps.points import Key
from pyke.use.maps.view import Group, View

# From Paul Tol's schemes. For readers who do not see red, green or blue, these colours and the grey
# differ at least twice as much as those of the scheme "muted": by 14 or more in CIELAB.
PALETTE = (
    "#0077bb",
    "#ee6677",
    "#228833",
    "#ddcc77",
    "#aa3377",
    "#33bbee",
    "#332288",
    "#aaaa00",
    "#cc3311",
)
OTHER, UNTYPED = "#a3a8b0", "#d7dade"

MAX_LEGEND_NAME = 40  # letters in a legend


@dataclass(frozen=True, eq=False)
class Selection:
    """The points of a map, in drawing order.

    Attributes
    ----------
    ids
        The term of each point.
    groups
        The position of each point's group in `legend`.
    legend
        The groups; those with a colour come first.
    heading
        What the groups are: type, cluster or namespace.
    labels
        (point, text), the most important first; there are more than find a place.
    requested
        The number of labels that the user requested; the others are optional.
    optional
        The maximum number of other labels.
    highlighted
        The points with a ring.
    left_out
        The number of terms that are not in the sample.
    """

    ids: Ids
    groups: NDArray[np.uint8]
    legend: tuple[Group, ...]
    heading: str
    labels: tuple[tuple[int, str], ...]
    requested: int
    optional: int
    highlighted: tuple[int, ...]
    left_out: int

    def key(self) -> Key:
        """The colours and texts of the legend."""
        return Key(
            self.groups,
            [group.colour for group in self.legend],
            [shortened(group.name, MAX_LEGEND_NAME) for group in self.legend],
            [group.count for group in self.legend],
            self.heading,
            sum(group.colour in PALETTE for group in self.legend),
        )


def choose(embedding: Embedding, view: View, progress: Progress | None = None) -> Selection:
    """The terms that a view shows.

    Grey points are drawn first, then colours in random order: no group covers another.
    """
    lookup, tree = embedding.lookup(view.prefixes), ClassTree.of(embedding)
    known = tree.with_superclasses()
    shown = [lookup.find_class(name, known) for name in view.only_types]
    asked = [lookup.find_class(name, known) for name in view.classes]
    ids = np.arange(len(embedding), dtype=np.int32)
    if shown:
        ids = np.flatnonzero(tree.masks(shown, len(embedding)) > 0).astype(np.int32)
    highlighted = [lookup.find(term) for term in view.highlight]
    marked = [*highlighted, *(lookup.find(term) for term in view.label)]
    for term in marked:
        if shown and term not in ids:
            raise UsageError(
                f"cannot label {embedding.terms[term]}: it has none of the types in `only_types`"
            )
    order = np.random.default_rng(view.seed).permutation(ids)
    kept = sampled(order, marked, view.sample)
    colours = len(PALETTE)
    if view.colour_by == "cluster":
        grouping = by_cluster(embedding, kept, colours, progress or Progress())
    elif view.colour_by == "namespace":
        grouping = by_namespace(embedding, kept, colours)
    else:
        grouping = by_type(embedding, tree, lookup, kept, colours, asked or shown)
    ranks = grouping.of_term
    kept = kept[np.argsort(ranks[kept] < len(grouping.names), kind="stable")]
    counts = np.bincount(ranks[kept], minlength=len(grouping.names) + 2)
    legend, group_of_rank = _legend(grouping, counts)
    groups = group_of_rank[ranks[kept]]
    rows = np.full(len(embedding), -1)
    rows[kept] = np.arange(len(kept))
    terms = list(dict.fromkeys(marked))
    labels = [(int(rows[term]), shortened(lookup.title(term))) for term in terms]
    if not view.label:
        coloured = int((counts[: len(grouping.names)] > 0).sum())
        used = {text for _, text in labels}
        labels += [
            entry
            for entry in automatic_labels(
                embedding, lookup, kept, groups, coloured, view.labels, (*shown, *asked)
            )
            if entry[1] not in used
        ]
    return Selection(
        ids=kept,
        groups=groups,
        legend=legend,
        heading=grouping.heading,
        labels=tuple(labels),
        requested=len(terms),
        optional=0 if view.label else view.labels,
        highlighted=tuple(int(rows[term]) for term in highlighted),
        left_out=len(ids) - len(kept),
    )


def sampled(order: NDArray[Any], always: Sequence[int], size: int | None) -> NDArray[Any]:
    """The first `size` of a random order; the ids in `always` are always kept."""
    if size is None or size >= len(order):
        return order
    order = order[np.argsort(~np.isin(order, always), kind="stable")]
    return order[: max(size, len(set(always)))]


def _legend(
    grouping: Grouping, counts: NDArray[np.int64]
) -> tuple[tuple[Group, ...], NDArray[np.uint8]]:
    """The groups that have points, largest first, and the group of each rank."""
    coloured = len(grouping.names)
    typed = np.argsort(-counts[:coloured], kind="stable").tolist()
    order = [rank for rank in (*typed, coloured, coloured + 1) if counts[rank]]
    group_of_rank = np.zeros(len(counts), np.uint8)
    group_of_rank[order] = np.arange(len(order))
    legend = []
    for place, rank in enumerate(order):
        count = int(counts[rank])
        if rank < coloured:
            name, term = grouping.names[rank], grouping.terms[rank]
            group = Group(name, term, PALETTE[place], count)
        elif rank == coloured:
            group = Group(grouping.other, None, OTHER, count)
        else:
            group = Group(grouping.none, None, UNTYPED if coloured else OTHER, count)
        legend.append(group)
    return tuple(legend), group_of_rank
