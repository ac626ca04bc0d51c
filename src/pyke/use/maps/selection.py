"""The terms on a map, with their colours and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.embedding.embedding import Embedding
from pyke.embedding.lookup import Lookup
from pyke.errors import UsageError
from pyke.use.maps import figure
from pyke.use.maps.view import Group, View

# Paul Tol's "muted" scheme: nine colours that colour-blind readers can distinguish.
PALETTE = (
    "#332288",
    "#cc6677",
    "#117733",
    "#ddcc77",
    "#88ccee",
    "#aa4499",
    "#44aa99",
    "#999933",
    "#882255",
)
OTHER, UNTYPED = "#a3a8b0", "#d7dade"

MAX_CANDIDATES = 60  # classes to consider for the colours
MAX_NAME, MAX_LEGEND_NAME = 34, 21  # letters on a figure


@dataclass(frozen=True, eq=False)
class Selection:
    """The points of a map, in drawing order.

    Attributes
    ----------
    ids
        The term of each point.
    groups
        The position of each point's group in `legend`.
    labels
        (point, text), the most important first.
    requested
        The number of labels that the user requested; the others are optional.
    highlighted
        The points with a ring.
    left_out
        The number of terms that are not in the sample.
    """

    ids: Ids
    groups: NDArray[np.uint8]
    legend: tuple[Group, ...]
    labels: tuple[tuple[int, str], ...]
    requested: int
    highlighted: tuple[int, ...]
    left_out: int

    def key(self) -> figure.Key:
        """The colours and texts of the legend."""
        texts = [
            f"{shortened(group.name, MAX_LEGEND_NAME)}  {group.count:,}" for group in self.legend
        ]
        return figure.Key(self.groups, [group.colour for group in self.legend], texts)


def choose(embedding: Embedding, view: View) -> Selection:
    """The terms that a view shows.

    Grey points are drawn first, then colours in random order: no group covers another.
    """
    lookup = embedding.lookup(view.prefixes)
    shown = [lookup.find_class(name, embedding.types) for name in view.only_types]
    classes = frequent_classes(embedding.types, shown)
    ranks = ranked(embedding.types, classes, len(embedding))
    ids = np.arange(len(embedding), dtype=np.int32)
    if shown:
        ids = np.unique(embedding.types[np.isin(embedding.types[:, 1], shown), 0])
    highlighted = [lookup.find(term) for term in view.highlight]
    marked = [*highlighted, *(lookup.find(term) for term in view.label)]
    for term in marked:
        if shown and term not in ids:
            raise UsageError(
                f"cannot label {embedding.terms[term]}: it has none of the types in `only_types`"
            )
    order = np.random.default_rng(view.seed).permutation(ids)
    kept = sampled(order, marked, view.sample)
    kept = kept[np.argsort(ranks[kept] < len(classes), kind="stable")]
    counts = np.bincount(ranks[ids], minlength=len(classes) + 2)
    legend, group_of_rank = _legend(lookup, classes, counts)
    groups = group_of_rank[ranks[kept]]
    rows = np.full(len(embedding), -1)
    rows[kept] = np.arange(len(kept))
    terms = list(dict.fromkeys(marked))
    labels = [(int(rows[term]), shortened(lookup.readable(term))) for term in terms]
    if not view.label:
        typed = sum(group.term is not None for group in legend)
        candidates = _best_connected(embedding, kept, groups, typed, view.labels)
        labels += _distinct_labels(lookup, rows, candidates, {text for _, text in labels})
    return Selection(
        ids=kept,
        groups=groups,
        legend=legend,
        labels=tuple(labels),
        requested=len(terms),
        highlighted=tuple(int(rows[term]) for term in highlighted),
        left_out=len(ids) - len(kept),
    )


def frequent_classes(types: Ids, among: Sequence[int] = ()) -> list[int]:
    """The classes that get a colour: those with most subjects, most frequent first.

    A subject has the colour of its rarest class. A class whose subjects all have rarer classes, for
    example owl:Thing, would colour no point and is skipped.
    """
    counts = np.bincount(types[np.isin(types[:, 1], among) if among else slice(None), 1])
    size = min(np.count_nonzero(counts), MAX_CANDIDATES)
    candidates = np.argsort(-counts, kind="stable")[:size].tolist()
    chosen: list[int] = []
    for candidate in candidates:
        if len(chosen) == len(PALETTE):
            break
        chosen.append(candidate)
        used = set(ranked(types, chosen, int(types[:, 0].max()) + 1).tolist())
        chosen = [cls for rank, cls in enumerate(chosen) if rank in used]
    return chosen


def ranked(types: Ids, classes: Sequence[int], terms: int) -> NDArray[np.int64]:
    """For each term the position of its rarest class in `classes`, which are sorted by frequency.

    It is len(classes) for a term with other classes only, and len(classes) + 1 for one without any.
    """
    positions = np.full(int(types[:, 1].max(initial=0)) + 1, -1, np.int64)
    for position, cls in enumerate(classes):
        positions[cls] = position
    ranks = np.full(terms, -2, np.int64)
    np.maximum.at(ranks, types[:, 0], positions[types[:, 1]])
    ranks[ranks < 0] = len(classes) - 1 - ranks[ranks < 0]
    return ranks


def sampled(order: NDArray[Any], always: Sequence[int], size: int | None) -> NDArray[Any]:
    """The first `size` of a random order; the ids in `always` are always kept."""
    if size is None or size >= len(order):
        return order
    order = order[np.argsort(~np.isin(order, always), kind="stable")]
    return order[: max(size, len(set(always)))]


def _legend(
    lookup: Lookup, classes: Sequence[int], counts: NDArray[np.int64]
) -> tuple[tuple[Group, ...], NDArray[np.uint8]]:
    """The groups, largest class first, and the group of each rank; `counts` are terms per rank."""
    typed = np.argsort(-counts[: len(classes)], kind="stable").tolist()
    order = [rank for rank in (*typed, len(classes), len(classes) + 1) if counts[rank]]
    group_of_rank = np.zeros(len(counts), np.uint8)
    group_of_rank[order] = np.arange(len(order))
    legend = []
    for place, rank in enumerate(order):
        count = int(counts[rank])
        if rank < len(classes):
            cls = classes[rank]
            group = Group(lookup.readable(cls), lookup.terms[cls], PALETTE[place], count)
        elif rank == len(classes):
            group = Group("other types", None, OTHER, count)
        else:
            group = Group("no type", None, UNTYPED if classes else OTHER, count)
        legend.append(group)
    return tuple(legend), group_of_rank


def _best_connected(
    embedding: Embedding, ids: Ids, groups: NDArray[np.integer[Any]], typed: int, limit: int
) -> list[int]:
    """The terms with most triples in each of the first `typed` groups, one per group in turn."""
    triples = embedding.triples
    degrees = (
        np.bincount(triples[:, 0], minlength=len(embedding))
        + np.bincount(triples[:, 2] + 1, minlength=len(embedding) + 1)[1:]
    )
    per_group = -(-limit // typed) if typed else 0
    best = [
        ids[rows[np.argsort(-degrees[ids[rows]], kind="stable")[:per_group]]].tolist()
        for rows in (np.flatnonzero(groups == g) for g in range(typed))
    ]
    in_turn = [group[turn] for turn in range(per_group) for group in best if turn < len(group)]
    return in_turn[:limit]


def _distinct_labels(
    lookup: Lookup, rows: NDArray[np.int64], terms: Sequence[int], used: set[str]
) -> list[tuple[int, str]]:
    """Labels of terms; of several with one text, the first."""
    labels = []
    for term in terms:
        text = shortened(lookup.readable(term))
        if text not in used:
            used.add(text)
            labels.append((int(rows[term]), text))
    return labels


def shortened(name: str, letters: int = MAX_NAME) -> str:
    """A name on one line, with at most `letters` letters."""
    name = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return name if len(name) <= letters else f"{name[: letters - 1]}…"
