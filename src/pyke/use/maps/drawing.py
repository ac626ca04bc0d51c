"""`draw`: write a map or an animation of an embedding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyke.core import files
from pyke.core.arrays import Floats
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.use import figures
from pyke.use.maps import animation, figure
from pyke.use.maps.layout import layout, selected_panel
from pyke.use.maps.names import common_name
from pyke.use.maps.selection import Selection, choose
from pyke.use.maps.view import Drawn, View, check_animation, check_map
from pyke.use.maps.web_page import named_points, page
from pyke.use.reports import PAGES

MAX_GREY, MIN_GREY = 8, 0.004  # grey discs with a name: their number, and share of the points


@dataclass(frozen=True, eq=False)
class _Job:
    """What to draw."""

    embedding: Embedding
    view: View
    selection: Selection
    title: str
    extension: str
    progress: Progress


@dataclass(frozen=True)
class _Rendered:
    """The content of a file, and the fields of `Drawn` that depend on how it was drawn."""

    content: bytes
    named: int
    drawn_as: str
    outside: int = 0
    labels_without_place: tuple[str, ...] = ()
    alike: int = 0


def draw(
    embedding: Embedding,
    path: str | Path,
    view: View,
    *,
    animate: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> Drawn:
    """Write a map (.png, .svg, .pdf, .html), or with `animate` an animation (.gif, .mp4, .html)."""
    path, progress = Path(path), progress or Progress()
    if animate:
        check_animation(embedding, path, view, force)
        view = replace(view, sample=animation.SAMPLE if view.sample is None else view.sample)
    else:
        check_map(path, view, force)
    selection = choose(embedding, view, progress)
    title = title_of(embedding, view, selection)
    job = _Job(embedding, view, selection, title, path.suffix.lower(), progress)
    rendered = _animation(job) if animate else _map(job)
    files.write_stream(path, [rendered.content], force)
    return Drawn(
        output=str(path),
        bytes=len(rendered.content),
        points=len(selection.ids),
        left_out=selection.left_out,
        outside=rendered.outside,
        named=rendered.named,
        legend=selection.legend,
        labels_without_place=rendered.labels_without_place,
        drawn_as=rendered.drawn_as,
        coloured_by=selection.heading,
        alike=rendered.alike,
    )


def _map(job: _Job) -> _Rendered:
    """A map as a page or a figure."""
    selection, dpi = job.selection, job.view.dpi
    panels = layout(job.embedding, job.view, job.progress)
    job.progress.stage("drawing")
    if job.extension in PAGES:
        return _page(job, panels[-1].points[None, selection.ids], [0], "page")
    shown = [selected_panel(panel, selection) for panel in panels]
    drawing = figure.map_figure(
        job.title,
        shown,
        selection.key(),
        figure.Labels(
            selection.labels,
            selection.requested,
            selection.optional,
            selection.highlighted,
            _grey_discs(job, shown[-1]),
        ),
        job.view.figure_size(),
        dpi,
    )
    if job.extension == ".png":
        content = figures.small_png(drawing.figure, dpi)
    else:
        content = figures.drawn(drawing.figure, job.extension[1:], dpi)
    requested = selection.labels[: selection.requested]
    missing = tuple(text for row, text in requested if row in drawing.without_place)
    kind = "density" if drawing.is_density else "points"
    return _Rendered(content, len(selection.ids), kind, drawing.outside, missing, drawing.alike)


def _grey_discs(job: _Job, panel: figure.Panel) -> list[tuple[NDArray[np.int64], str]]:
    """The largest discs of grey points, with the name of what all their terms have in common."""
    key, lookup = job.selection.key(), job.embedding.lookup(job.view.prefixes)
    named: list[tuple[NDArray[np.int64], str]] = []
    for rows in panel.discs()[: 4 * MAX_GREY]:
        grey = key.groups[rows] >= key.coloured
        if grey.mean() > 0.5 and len(rows) >= MIN_GREY * len(key.groups) and len(named) < MAX_GREY:
            name = common_name(job.embedding, lookup, int(job.selection.ids[rows[0]]))
            named += [(rows, name)] if name else []
    return named


def _animation(job: _Job) -> _Rendered:
    """An animation as a page or a video."""
    ids = job.selection.ids
    if job.extension not in PAGES:
        animation.check_size(len(ids))
    iterations, frames = animation.simulated_frames(job.embedding, job.view, ids, job.progress)
    if job.extension in PAGES:
        job.progress.stage("drawing")
        return _page(job, frames, iterations, "film")
    content = animation.video(
        job.extension,
        job.title,
        frames,
        iterations,
        job.selection.key(),
        job.view.film_size(),
        job.progress,
    )
    return _Rendered(content, len(ids), "film")


def _page(job: _Job, frames: Floats, iterations: list[int], drawn_as: str) -> _Rendered:
    """A map or an animation as a page."""
    named = named_points(job.selection, job.view.seed)
    content = page(job.embedding, job.selection, job.title, frames, iterations, named)
    return _Rendered(content, len(named), drawn_as)


def title_of(embedding: Embedding, view: View, selection: Selection) -> str:
    """The title of the view, or the number of terms and their source."""
    inputs = embedding.manifest.get("inputs") or ["a graph"]
    more = f" and {len(inputs) - 1:,} more" if len(inputs) > 1 else ""
    shown = len(selection.ids)
    total = f" of {shown + selection.left_out:,}" if selection.left_out else ""
    title = view.title or f"{shown:,}{total} terms of {Path(str(inputs[0])).name}{more}"
    return title.encode("utf-8", "replace").decode()  # a file name may not be UTF-8
