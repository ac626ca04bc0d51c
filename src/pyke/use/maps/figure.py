"""Draw a map with matplotlib: panels of points, names of regions, labels, legend and notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats
from pyke.use.figures import INK, any_letters
from pyke.use.maps.frame import PAPER, SOFT, Frame, Size, extent_of, limits_of
from pyke.use.maps.labels import Box, Corner, Places, around, beside, centred
from pyke.use.maps.names import shortened
from pyke.use.maps.points import (
    Doubles,
    Key,
    draw_points,
    is_density,
    outside,
    peaks,
    point_area,
)
from pyke.use.maps.spread import group_sizes
from pyke.use.maps.view import MIN_ALIKE

EDGE = "#c3c8d0"  # of a box around three dimensions
MARK_AREA = 0.26  # of a labelled point, relative to the square of the font size, or more
CLEARANCE = 0.15  # between the rim of a point and its label, relative to the font size
MIN_NOTED = 0.01  # share of the points in discs that a note explains
MAX_REGION = 26  # letters of the name of a region


@dataclass(frozen=True, eq=False)
class Panel:
    """Points of a map in drawing order, and the edges of a box around three dimensions.

    Points with the same number in `same` share all their contexts; it is −1 for points without any.
    """

    title: str
    points: Floats  # (n, 2)
    edges: Sequence[Floats] = ()  # (2 ends, 2) each
    same: NDArray[np.int64] | None = None

    def extent(self, marked: Sequence[int]) -> Doubles:
        """(lowest, highest) of the box or of the points, including all marked ones."""
        if self.edges:
            return extent_of(np.concatenate(self.edges))
        return extent_of(self.points, marked)

    def discs(self) -> list[NDArray[np.int64]]:
        """The points of each group of MIN_ALIKE or more that share all their contexts."""
        if self.same is None:
            return []
        rows = np.flatnonzero(group_sizes(self.same) >= MIN_ALIKE)
        rows = rows[np.argsort(self.same[rows], kind="stable")]
        begins = np.flatnonzero(np.diff(self.same[rows], prepend=-2))
        return sorted(np.split(rows, begins[1:]), key=len, reverse=True) if len(rows) else []


@dataclass(frozen=True)
class Labels:
    """The texts beside points: (point, text), the most important first.

    The first `requested` of them determine the borders, too. At most `limit` of the others are
    written. Highlighted points have a ring. `regions` are (points, text) of grey discs.
    """

    texts: Sequence[tuple[int, str]] = ()
    requested: int = 0
    limit: int = 0
    highlighted: Sequence[int] = ()
    regions: Sequence[tuple[NDArray[np.int64], str]] = ()


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure, and what it does not show."""

    figure: Any
    without_place: tuple[int, ...]  # points whose requested labels would overlap others
    outside: int  # points beyond the borders
    alike: int  # points in discs of many terms with the same contexts
    is_density: bool  # instead of points


def map_figure(
    title: str, panels: Sequence[Panel], key: Key, labels: Labels, size: Size, dpi: int
) -> Drawing:
    """Panels of the same points beside one legend."""
    frame = Frame.of(title, len(panels), key, size, dpi)
    always = [*labels.highlighted, *(row for row, _ in labels.texts[: labels.requested])]
    missing: dict[int, None] = {}
    far = np.zeros(len(key.groups), bool)
    for number, panel in enumerate(panels):
        limits = limits_of(panel.extent(always), frame.shape)
        axes = frame.axes(number, limits, panel.title)
        for ends in panel.edges:
            axes.plot(*ends.T, color=EDGE, linewidth=0.8, zorder=0.5)
        draw_points(axes, panel.points, key)
        missing |= dict.fromkeys(_write_texts(axes, panel.points, key, labels, limits, size.font))
        far |= outside(panel.points, limits)
    alike = sum(len(rows) for rows in panels[-1].discs())
    alike = alike if alike >= MIN_NOTED * len(far) else 0
    drawing = Drawing(
        frame.figure, tuple(missing), int(far.sum()), alike, is_density(len(key.groups))
    )
    frame.write_notes(_notes(drawing, len(key.groups)))
    return drawing


def _notes(drawing: Drawing, points: int) -> list[str]:
    """What a reader of the figure should know."""
    notes = []
    if drawing.is_density:
        notes.append("Darker: more points.")
    if drawing.alike:
        notes.append(
            f"Even discs: {drawing.alike:,} points that share all their contexts "
            f"with {MIN_ALIKE} or more others."
        )
    if drawing.outside:
        notes.append(f"Outside the frame: {drawing.outside:,} of {points:,} points.")
    return notes


def animation(
    title: str, frames: Floats, captions: Sequence[str], key: Key, size: Size, dpi: int
) -> Iterator[NDArray[np.uint8]]:
    """Pictures, (height, width, 3), of moving points; `frames` are (frames, points, 2).

    The borders of each picture follow its points.
    """
    frame = Frame.of(title, 1, key, size, dpi)
    canvas = frame.figure.canvas
    axes = frame.axes(0, limits_of(extent_of(frames[-1]), frame.shape))
    draw_points(axes, frames[-1], key)
    style = {"transform": axes.transAxes, "fontsize": size.font * 1.1, "color": INK}
    caption = axes.text(0.015, 0.025, "", **style)
    caption.set_bbox({"facecolor": PAPER, "edgecolor": "none", "alpha": 0.85, "pad": 3})
    for points, text in zip(frames, captions, strict=True):
        limits = limits_of(extent_of(points), frame.shape)
        axes.set(xlim=limits[::2], ylim=limits[1::2])
        axes.collections[0].set_offsets(points)
        caption.set_text(text)
        with any_letters():
            canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def _write_texts(
    axes: Any, points: Floats, key: Key, labels: Labels, limits: Box, font: float
) -> list[int]:
    """Write names of regions and labels; return the points of requested labels without a place."""
    unit = 72 / axes.figure.dpi
    places = Places(tuple(axes.bbox.extents * unit))
    area = max(MARK_AREA * font**2, point_area(axes, len(points)))
    gap = float(np.sqrt(area / np.pi)) + CLEARANCE * font
    missing, written = [], list(labels.highlighted)
    for row, text in labels.texts[: labels.requested]:
        if _write_label(axes, places, points[row], text, gap, font):
            written.append(row)
        else:
            missing.append(row)
    if labels.limit:
        _write_regions(axes, places, points, key, limits, font)
        for rows, text in labels.regions:
            _write_region(axes, places, points[rows].mean(axis=0), text, SOFT, font)
    free = labels.limit
    for row, text in labels.texts[labels.requested :]:
        if free and _write_label(axes, places, points[row], text, gap, font):
            written.append(row)
            free -= 1
    marks = list(dict.fromkeys([*written, *missing]))
    _draw_marks(axes, points, key, marks, labels.highlighted, area)
    return missing


def _write_label(axes: Any, places: Places, point: Any, text: str, gap: float, font: float) -> bool:
    """Write a label beside a point; return whether there was room."""
    anchor = axes.transData.transform(point) * 72 / axes.figure.dpi
    written, size = _measured(axes, text, {"fontsize": font * 0.9})
    corner = places.put(beside(anchor, size, gap), size, around(anchor, gap - CLEARANCE * font))
    return _moved(axes, written, corner)


def _write_regions(
    axes: Any, places: Places, points: Floats, key: Key, limits: Box, font: float
) -> None:
    """Write the name of each colour where its points are densest, if there is room."""
    from matplotlib.colors import to_hex, to_rgb

    large = font * (1.25 if font > 8 else 1.05)  # a small figure has little room
    for group, place in enumerate(peaks(points, key, limits)):
        if place is not None:
            red, green, blue = (0.62 * part for part in to_rgb(key.colours[group]))
            name = shortened(key.names[group], MAX_REGION)
            _write_region(axes, places, place, name, to_hex((red, green, blue)), large)


def _write_region(
    axes: Any, places: Places, place: Any, text: str, colour: str, font: float
) -> None:
    """Write a name in bold letters over a region, if there is room."""
    style = {"fontsize": font, "fontweight": "bold", "color": colour}
    written, size = _measured(axes, text, style)
    anchor = axes.transData.transform(place) * 72 / axes.figure.dpi
    _moved(axes, written, places.put(centred(anchor, size), size))


def _measured(axes: Any, text: str, style: dict[str, Any]) -> tuple[Any, Doubles]:
    """A text with a halo, and its size in typographic points."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=style["fontsize"] * 0.3, foreground=PAPER, alpha=0.9)]
    common = {"color": INK, "path_effects": halo, "zorder": 5, "parse_math": False}
    written = axes.text(0, 0, text, va="bottom", **common | style)
    with any_letters():
        extent = written.get_window_extent(axes.figure.canvas.get_renderer())
    return written, extent.size * 72 / axes.figure.dpi


def _moved(axes: Any, text: Any, corner: Corner | None) -> bool:
    """Move a text to a corner, in typographic points; remove it if there is none."""
    if corner is None:
        text.remove()
        return False
    pixels = np.array(corner) * axes.figure.dpi / 72
    text.set_position(axes.transData.inverted().transform(pixels))
    return True


def _draw_marks(
    axes: Any,
    points: Floats,
    key: Key,
    rows: Sequence[int],
    highlighted: Sequence[int],
    area: float,
) -> None:
    """Draw a rim around labelled points, and a ring around highlighted ones."""
    axes.scatter(
        *points[list(rows)].T,
        s=area,
        c=[key.colours[key.groups[row]] for row in rows],
        edgecolors=INK,
        linewidths=0.15 * area**0.5,
        zorder=3,
    )
    axes.scatter(
        *points[list(highlighted)].T,
        s=6 * area,
        facecolors="none",
        edgecolors=INK,
        linewidths=0.33 * area**0.5,
        zorder=4,
    )
