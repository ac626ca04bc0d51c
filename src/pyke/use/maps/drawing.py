"""`draw`: write a map or an animation of an embedding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from pyke.core import files
from pyke.core.arrays import Floats
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.use import figures
from pyke.use.maps import animation, figure
from pyke.use.maps.layout import layout, selected_panel
from pyke.use.maps.selection import Selection, choose
from pyke.use.maps.view import Drawn, View, check_animation, check_map
from pyke.use.maps.web_page import named_points, page
from pyke.use.reports import PAGES


@dataclass(frozen=True)
class _Rendered:
    """The content of a file, and the fields of `Drawn` that depend on how it was drawn."""

    content: bytes
    named: int
    drawn_as: str
    outside: int = 0
    labels_without_place: tuple[str, ...] = ()


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
    selection = choose(embedding, view)
    title = title_of(embedding, view, selection)
    render = _animation if animate else _map
    rendered = render(embedding, path.suffix.lower(), view, selection, title, progress)
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
    )


def _map(
    embedding: Embedding,
    extension: str,
    view: View,
    selection: Selection,
    title: str,
    progress: Progress,
) -> _Rendered:
    """A map as a page or a figure."""
    panels = layout(embedding, view, progress)
    progress.stage("drawing")
    if extension in PAGES:
        frames = panels[-1].points[None, selection.ids]
        return _page(embedding, view, selection, title, frames, [0], "page")
    drawing = figure.map_figure(
        title,
        [selected_panel(panel, selection) for panel in panels],
        selection.key(),
        selection.labels,
        selection.highlighted,
        view.dpi,
    )
    if extension == ".png":
        content = figures.small_png(drawing.figure, view.dpi)
    else:
        content = figures.drawn(drawing.figure, extension[1:], view.dpi)
    requested = selection.labels[: selection.requested]
    missing = tuple(text for row, text in requested if row in drawing.without_place)
    kind = "density" if drawing.is_density else "points"
    return _Rendered(content, len(selection.ids), kind, drawing.outside, missing)


def _animation(
    embedding: Embedding,
    extension: str,
    view: View,
    selection: Selection,
    title: str,
    progress: Progress,
) -> _Rendered:
    """An animation as a page or a video."""
    if extension not in PAGES:
        animation.check_size(len(selection.ids))
    iterations, frames = animation.simulated_frames(embedding, view, selection.ids, progress)
    if extension in PAGES:
        progress.stage("drawing")
        return _page(embedding, view, selection, title, frames, iterations, "film")
    content = animation.video(extension, title, frames, iterations, selection.key(), progress)
    return _Rendered(content, len(selection.ids), "film")


def _page(
    embedding: Embedding,
    view: View,
    selection: Selection,
    title: str,
    frames: Floats,
    iterations: list[int],
    drawn_as: str,
) -> _Rendered:
    named = named_points(selection, view.seed)
    content = page(embedding, selection, title, frames, iterations, named)
    return _Rendered(content, len(named), drawn_as)


def title_of(embedding: Embedding, view: View, selection: Selection) -> str:
    """The title of the view, or the number of terms and their source."""
    inputs = embedding.manifest.get("inputs") or ["a graph"]
    more = f" and {len(inputs) - 1:,} more" if len(inputs) > 1 else ""
    shown = len(selection.ids)
    total = f" of {shown + selection.left_out:,}" if selection.left_out else ""
    return view.title or f"{shown:,}{total} terms of {Path(str(inputs[0])).name}{more}"
