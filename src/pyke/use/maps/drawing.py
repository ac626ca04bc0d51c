"""Maps of an embedding: where its terms lie, in the colours of their types, as a figure or as a page to walk around in."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core import files
from pyke.core.arrays import Floats, Ids
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.embedding.lookup import Lookup, texts_at
from pyke.errors import DivergedError, UsageError
from pyke.pipeline.embed import find_forces
from pyke.pipeline.stages import Stages
from pyke.simulation import anneal
from pyke.use import figures
from pyke.use.maps import figure
from pyke.use.neighbours import search
from pyke.use.reports import PAGES

METHODS = ("pca", "pyke")
ENDINGS = (*figures.FORMATS, "html")

# Paul Tol's "muted" scheme: nine colours that people tell apart, colour-blind or not. Greys are left for the rest.
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

MOST_CANDIDATES = 60  # classes that are looked at to find as many as there are colours
LONGEST_NAME, LONGEST_IN_LEGEND = 34, 21  # letters on a figure
NAMED_UP_TO = 200_000  # points of a page that have their terms in it
ELEVATION, TURN = 22.0, -58.0  # degrees, from which three dimensions are looked at


@dataclass(frozen=True, kw_only=True)
class View:
    """What a map shows, and how."""

    method: str | None = None  # None: pyke for a map, and pca for a film
    three_d: bool = False
    before_and_after: bool = False
    only_types: Sequence[str] = ()  # classes, by IRI or name; all if empty
    label: Sequence[str] = ()  # terms that get a label; if empty, the best connected of each type
    labels: int = 18  # how many of these, at most
    highlight: Sequence[str] = ()  # terms that are ringed, and labelled
    sample: int | None = None  # points, if there are more
    seed: int = 0  # of the sample and of the order in which points are drawn
    title: str = ""
    dpi: int = figures.DPI  # dots per inch of a figure
    prefixes: Mapping[str, str] = field(default_factory=dict)  # for the names of terms

    def __post_init__(self) -> None:
        if self.method not in (None, *METHODS):
            raise UsageError(f"there is no method {self.method!r}; there are: {', '.join(METHODS)}")
        if self.sample is not None and self.sample < 1:
            raise UsageError(f"the sample is {self.sample}; it must be at least 1")
        if self.labels < 0:
            raise UsageError(f"the number of labels is {self.labels}; it must be at least 0")
        if not 20 <= self.dpi <= 1200:
            raise UsageError(f"the figure has {self.dpi} dots per inch; it must have 20 to 1200")
        if self.seed < 0:
            raise UsageError(f"the seed is {self.seed}; it must be at least 0")


@dataclass(frozen=True)
class Group:
    """Points of one colour: those of a class, or those of none in particular."""

    name: str
    term: str | None  # the class
    colour: str
    count: int


@dataclass(frozen=True, eq=False)
class Cast:
    """Who is on a map, in the order in which they are drawn."""

    ids: Ids  # the term of each point
    groups: NDArray[np.uint8]  # the position of each point's group in `legend`
    legend: tuple[Group, ...]
    labels: tuple[tuple[int, str], ...]  # (point, text), the most important first
    asked: int  # how many of the labels were asked for; the others are there if there is room
    ringed: tuple[int, ...]
    left_out: int  # by the sample

    def key(self) -> figure.Key:
        """The legend, for a figure."""
        texts = [
            f"{shortened(group.name, LONGEST_IN_LEGEND)}  {group.count:,}" for group in self.legend
        ]
        return figure.Key(self.groups, [group.colour for group in self.legend], texts)


@dataclass(frozen=True)
class Drawn:
    """What was drawn and written."""

    output: str
    bytes: int
    points: int
    left_out: int  # by the sample
    outside: int  # of the borders of a figure, far out
    named: int  # points whose terms are in the page; all for a figure, where only labels are
    legend: tuple[Group, ...]
    labels_without_place: tuple[str, ...]  # of those that were asked for
    drawn_as: str  # points, density, page or film

    def notes(self) -> list[str]:
        """What someone who looks at it should know."""
        said = []
        if all(group.term is None for group in self.legend):
            said.append(
                "No subject has a type: all points have one colour. If another predicate gives types, embed with --type-predicate IRI."
            )
        if self.left_out:
            said.append(
                f"{self.left_out:,} more terms are not shown: this is a sample, and --sample says how large."
            )
        if self.outside:
            said.append(
                f"{self.outside:,} points lie far out, beyond the borders of the figure; a page (.html) has them all."
            )
        if self.named < self.points:
            said.append(
                f"The terms of {self.named:,} points are in the page, for pointing and searching; with all of them it would be too large."
            )
        if self.labels_without_place:
            said.append(
                f"{len(self.labels_without_place)} labels found no place: {', '.join(self.labels_without_place)}"
            )
        return said


def draw(
    embedding: Embedding,
    path: str | Path,
    view: View,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Drawn:
    """Writes a map: .png, .svg and .pdf are figures, .html is a page."""
    path, progress = Path(path), progress or Progress()
    check_target(path, ENDINGS, view, force)
    is_page = path.suffix.lower() in PAGES
    if is_page and view.before_and_after:
        raise UsageError(
            "a page shows one map; --before-and-after needs .png, .svg or .pdf, and --animate shows both and all between"
        )
    cast = choose(embedding, view)
    panels = layout(embedding, view, progress)
    progress.stage("drawing")
    title = title_of(embedding, view, cast)
    missing: list[str] = []
    outside = 0
    if is_page:
        named = named_points(cast, view.seed)
        content = page(embedding, cast, title, panels[-1].points[None, cast.ids], [0], named)
        kind, count = "page", len(named)
    else:
        drawing = figure.map_figure(
            title,
            [_looked_at(panel, cast) for panel in panels],
            cast.key(),
            cast.labels,
            cast.ringed,
            view.dpi,
        )
        form = path.suffix[1:].lower()
        content = (
            figures.small_png(drawing.figure, view.dpi)
            if form == "png"
            else figures.drawn(drawing.figure, form, view.dpi)
        )
        missing = [text for row, text in cast.labels[: cast.asked] if row in drawing.without_place]
        outside = drawing.outside
        kind, count = "density" if drawing.is_density else "points", len(cast.ids)
    files.write_stream(path, [content], force)
    return Drawn(
        str(path),
        len(content),
        len(cast.ids),
        cast.left_out,
        outside,
        count,
        cast.legend,
        tuple(missing),
        kind,
    )


def check_target(path: Path, endings: Sequence[str], view: View, force: bool) -> None:
    """Refuses what could not be written, before there is anything to write."""
    if path.suffix[1:].lower() not in (*endings, *(["htm"] if "html" in endings else [])):
        raise UsageError(
            f"{path} has no ending that can be written; there are: {', '.join(endings)}"
        )
    if view.dpi != View.dpi and path.suffix[1:].lower() not in figures.FORMATS:
        raise UsageError(
            f"--dpi is for figures ({', '.join(figures.FORMATS)}); leave it out for {path}"
        )
    files.check_file(path, force)


# ---------------------------------------------------------------------------------------------------------------------
# Who is on the map
# ---------------------------------------------------------------------------------------------------------------------


def choose(embedding: Embedding, view: View) -> Cast:
    """The terms of a view with their colours and labels. Greys are drawn first, then colours in random order: none hides another."""
    lookup = embedding.lookup(view.prefixes)
    wanted = [lookup.find_class(name, embedding.types) for name in view.only_types]
    classes = frequent_classes(embedding.types, wanted)
    ranks = ranked(embedding.types, classes, len(embedding))
    ids = (
        np.unique(embedding.types[np.isin(embedding.types[:, 1], wanted), 0])
        if wanted
        else np.arange(len(embedding), dtype=np.int32)
    )
    ringed, named = (
        [lookup.find(term) for term in terms] for terms in (view.highlight, view.label)
    )
    for term in ringed + named:
        if wanted and term not in ids:
            raise UsageError(
                f"{embedding.terms[term]} is to be marked, but has none of the types that are shown"
            )
    kept = _sampled(np.random.default_rng(view.seed).permutation(ids), ringed + named, view.sample)
    kept = kept[np.argsort(ranks[kept] < len(classes), kind="stable")]
    counts = np.bincount(ranks[ids], minlength=len(classes) + 2)
    order = [
        *np.argsort(-counts[: len(classes)], kind="stable").tolist(),
        len(classes),
        len(classes) + 1,
    ]  # the most shown first
    order = [rank for rank in order if counts[rank]]
    groups = np.zeros(len(counts), np.uint8)
    groups[order] = np.arange(len(order))
    groups = groups[ranks[kept]]
    legend = tuple(
        _group(lookup, classes, rank, place, int(counts[rank])) for place, rank in enumerate(order)
    )
    rows = np.full(len(embedding), -1)
    rows[kept] = np.arange(len(kept))
    labels = [
        (int(rows[term]), shortened(lookup.readable(term)))
        for term in dict.fromkeys(ringed + named)
    ]
    asked = len(labels)
    if not view.label:
        names = {text for _, text in labels}
        for term in _prominent(
            embedding, kept, groups, sum(group.term is not None for group in legend), view.labels
        ):
            text = shortened(lookup.readable(term))
            if text not in names:  # one of several with a name is enough
                names.add(text)
                labels.append((int(rows[term]), text))
    return Cast(
        kept,
        groups,
        legend,
        tuple(labels),
        asked,
        tuple(int(rows[term]) for term in ringed),
        len(ids) - len(kept),
    )


def frequent_classes(types: Ids, among: Sequence[int] = ()) -> list[int]:
    """The classes with most subjects that get a colour, the most frequent first; of some, if they are given.

    A class whose subjects all have a rarer colour, as one that everything is of, would colour nobody and is passed over.
    """
    counts = np.bincount(types[np.isin(types[:, 1], among) if among else slice(None), 1])
    candidates = np.argsort(-counts, kind="stable")[
        : min(np.count_nonzero(counts), MOST_CANDIDATES)
    ].tolist()
    chosen: list[int] = []
    for candidate in candidates:
        if len(chosen) == len(PALETTE):
            break
        chosen.append(candidate)
        seen = set(ranked(types, chosen, int(types[:, 0].max()) + 1).tolist())
        chosen = [cls for rank, cls in enumerate(chosen) if rank in seen]
    return chosen


def ranked(types: Ids, classes: Sequence[int], terms: int) -> NDArray[np.int64]:
    """For each term the position of its rarest class in `classes`, which come by frequency.

    It is len(classes) for a term that has only other classes, and one more for a term that has none.
    """
    positions = np.full(int(types[:, 1].max(initial=0)) + 1, -1, np.int64)
    for position, cls in enumerate(classes):
        positions[cls] = position
    ranks = np.full(terms, -2, np.int64)
    np.maximum.at(ranks, types[:, 0], positions[types[:, 1]])
    ranks[ranks < 0] = len(classes) - 1 - ranks[ranks < 0]
    return ranks


def _sampled(order: NDArray[Any], always: Sequence[int], size: int | None) -> NDArray[Any]:
    """The first of a random order, those that are always kept before the others."""
    if size is None or size >= len(order):
        return order
    order = order[np.argsort(~np.isin(order, always), kind="stable")]
    return order[: max(size, len(set(always)))]


def _group(lookup: Lookup, classes: Sequence[int], rank: int, place: int, count: int) -> Group:
    if rank < len(classes):
        return Group(
            lookup.readable(classes[rank]), lookup.terms[classes[rank]], PALETTE[place], count
        )
    return (
        Group("other types", None, OTHER, count)
        if rank == len(classes)
        else Group("no type", None, UNTYPED if classes else OTHER, count)
    )


def _prominent(
    embedding: Embedding, ids: Ids, groups: NDArray[np.integer[Any]], typed: int, wanted: int
) -> list[int]:
    """The best connected terms of each group that has a type, one of each in turn."""
    triples = embedding.triples
    degrees = (
        np.bincount(triples[:, 0], minlength=len(embedding))
        + np.bincount(triples[:, 2] + 1, minlength=len(embedding) + 1)[1:]
    )
    each = -(-wanted // typed) if typed else 0
    best = [
        ids[rows[np.argsort(-degrees[ids[rows]], kind="stable")[:each]]].tolist()
        for rows in (np.flatnonzero(groups == g) for g in range(typed))
    ]
    return [group[turn] for turn in range(each) for group in best if turn < len(group)][:wanted]


def shortened(name: str, letters: int = LONGEST_NAME) -> str:
    """A name that fits on a figure: on one line, and not too long."""
    name = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


# ---------------------------------------------------------------------------------------------------------------------
# Where they lie
# ---------------------------------------------------------------------------------------------------------------------


def layout(embedding: Embedding, view: View, progress: Progress) -> list[figure.Panel]:
    """Coordinates of all terms in two or three dimensions; those of the random start before them, if they are asked for."""
    axes = search.principal_axes(embedding.vectors, 3 if view.three_d else 2)
    points = search.project_on(embedding.vectors, *axes)
    if view.method != "pca":
        points = settled(embedding, points, progress)
    if not view.before_and_after:
        return [figure.Panel("", points)]
    config = embedding.config()
    before = search.project_on(
        anneal.random_start(len(embedding), config)[:, : config.dimensions], *axes
    )
    return [figure.Panel("at the random start", before), figure.Panel("at rest", points)]


def settled(embedding: Embedding, points: Floats, progress: Progress) -> Floats:
    """The simulation in the map's own dimensions: the same springs, from where the principal components put the terms."""
    config = embedding.config(dimensions=points.shape[1])
    forces = find_forces(embedding.graph(), Stages(config, progress))
    start = anneal.random_start(forces[0].rows, config)
    start[: len(points), : config.dimensions] = points
    start[len(points) :] = 0  # contexts begin between their terms
    anneal.place_at_weighted_mean(
        forces[0], start, np.arange(len(start)) < len(points), config.threads
    )
    progress.stage("simulation", anneal.planned_iterations(config), "iterations")
    try:
        rest = anneal.simulate(*forces, config, progress, anneal.State(start, ()))
    except DivergedError:
        raise DivergedError(
            f"in {config.dimensions} dimensions the positions left the finite numbers. --method pca needs no simulation."
        ) from None
    return np.ascontiguousarray(rest.positions[: len(points), : config.dimensions])


def _looked_at(panel: figure.Panel, cast: Cast) -> figure.Panel:
    """The points of a cast in the plane of the paper; three dimensions from a corner, with the box around them."""
    points = panel.points[cast.ids]
    if points.shape[1] == 2:
        return figure.Panel(panel.title, points)
    extent = figure.extent_of(points, [row for row, _ in cast.labels])
    corners = np.array(
        [
            [extent[x, 0], extent[y, 1], extent[z, 2]]
            for x in (0, 1)
            for y in (0, 1)
            for z in (0, 1)
        ],
        np.float32,
    )
    pairs = [(a, b) for a in range(8) for b in range(a) if (a ^ b).bit_count() == 1]
    return figure.Panel(panel.title, flat(points), [flat(corners[list(pair)]) for pair in pairs])


def flat(points: Floats) -> Floats:
    """Points in the plane: three dimensions are seen from the side and a little from above, without perspective."""
    if points.shape[1] == 2:
        return points
    turn, tilt = np.radians([TURN, ELEVATION])
    right = np.array([-np.sin(turn), np.cos(turn), 0.0])
    up = np.array([-np.cos(turn) * np.sin(tilt), -np.sin(turn) * np.sin(tilt), np.cos(tilt)])
    seen: Floats = (points @ np.column_stack([right, up])).astype(np.float32)
    return seen


def title_of(embedding: Embedding, view: View, cast: Cast) -> str:
    """The title that was asked for, or what is on the map."""
    inputs = embedding.manifest.get("inputs") or ["a graph"]
    source = Path(str(inputs[0])).name + (
        f" and {len(inputs) - 1:,} more" if len(inputs) > 1 else ""
    )
    part = f" of {len(cast.ids) + cast.left_out:,}" if cast.left_out else ""
    return view.title or f"{len(cast.ids):,}{part} terms of {source}"


# ---------------------------------------------------------------------------------------------------------------------
# A page to walk around in
# ---------------------------------------------------------------------------------------------------------------------


def named_points(cast: Cast, seed: int) -> NDArray[np.int64]:
    """The points whose terms are told on a page, ascending: all, or those with labels and a sample."""
    if len(cast.ids) <= NAMED_UP_TO:
        return np.arange(len(cast.ids))
    order = np.random.default_rng(seed).permutation(len(cast.ids))
    return np.sort(_sampled(order, [row for row, _ in cast.labels], NAMED_UP_TO))


def page(
    embedding: Embedding,
    cast: Cast,
    title: str,
    frames: Floats,
    numbers: Sequence[int],
    named: NDArray[np.int64],
) -> bytes:
    """One page of HTML that needs nothing else. `frames` are coordinates, (frames, points, 2 or 3), after the iterations `numbers`.

    Terms are hostile: they stand in JSON or packed, and the page's script writes them as text only; no other script may run.
    """
    told = f"{len(cast.ids):,} points"
    if cast.left_out:
        told += f", a sample of {len(cast.ids) + cast.left_out:,}"
    if len(named) < len(cast.ids):
        told += f"; the terms of {len(named):,} of them are in this page"
    data = {
        "dimensions": frames.shape[2],
        "frames": numbers,
        "points": len(cast.ids),
        "coordinates": _packed(np.ascontiguousarray(frames, "<f4")),
        "groups": _packed(cast.groups),
        "legend": [
            {"name": group.name, "colour": group.colour, "count": group.count}
            for group in cast.legend
        ],
        "labels": cast.labels,
        "ringed": cast.ringed,
        "named": None if len(named) == len(cast.ids) else _packed(named.astype("<i4")),
        "names": base64.b64encode(
            gzip.compress(json.dumps(_names(embedding, cast.ids[named])).encode(), mtime=0)
        ).decode(),
        "view": [ELEVATION, TURN],
    }
    parts = {
        name: (resources.files("pyke.use.maps") / "page" / f"map.{name}").read_text("utf-8")
        for name in ("html", "css", "js")
    }
    return (
        Template(parts["html"])
        .substitute(
            title=html.escape(title),
            told=html.escape(told),
            style=parts["css"],
            script=parts["js"],
            style_hash=_hash(parts["css"]),
            script_hash=_hash(parts["js"]),
            data=json.dumps(data).replace("<", "\\u003c"),
        )
        .encode()
    )


def _names(embedding: Embedding, ids: Ids) -> dict[str, Any]:
    """Terms, labels and types of some; types as positions in the list of classes."""
    lookup = embedding.lookup()
    classes, positions = np.unique(embedding.types[:, 1], return_inverse=True)
    begins, ends = (np.searchsorted(embedding.types[:, 0], ids, side) for side in ("left", "right"))
    types = positions.tolist()
    return {
        "terms": texts_at(embedding.terms, ids),
        "labels": lookup.labels_of(ids),
        "types": [
            types[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
        ],
        "classes": [lookup.readable(term) for term in classes.tolist()],
    }


def _packed(array: NDArray[Any]) -> str:
    return base64.b64encode(array.tobytes()).decode()


def _hash(text: str) -> str:
    """What a browser compares an inline script or style with before it takes it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
