"""Draw a map with matplotlib: points or density, labels, legend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats
from pyke.use.figures import DPI, FAINT, INK, any_letters
from pyke.use.maps.labels import LABEL_GAP, Box, place_labels

Doubles = NDArray[np.float64]

POINTS_UP_TO = 20_000  # drawn one by one; more are drawn as density
CIRCLES_UP_TO = 5_000  # vector shapes in SVG and PDF; more become an image

PANEL_WIDTH, LEGEND_WIDTH, TITLE_HEIGHT, EDGE = 6.6, 2.3, 0.45, 0.1  # inches
ANIMATION_WIDTH, ANIMATION_DPI = 5.0, 90
MIN_HEIGHT = 0.66  # of a panel, relative to its width
MARGIN = 0.04

# From MIN_CROWD points on, the FAR_OUT part on each side does not determine the borders, which lie
# ROOM times the extent of the other points beyond them.
MIN_CROWD, FAR_OUT, ROOM = 500, 0.002, 0.15

MIN_ALPHA = 0.35  # of the pixels of a density with the fewest points
MARK_AREA = 22.0  # square typographic points of a labelled point, or more if points are larger
CLEARANCE = 1.3  # typographic points between the rim of a point and its label


@dataclass(frozen=True, eq=False)
class Panel:
    """Points of a map in drawing order, and the edges of a box around three dimensions."""

    title: str
    points: Floats  # (n, 2)
    edges: Sequence[Floats] = ()  # (2 ends, 2) each

    def extent(self, marked: Sequence[int]) -> Doubles:
        """(lowest, highest) of the box or of the points, including all marked ones."""
        if self.edges:
            return extent_of(np.concatenate(self.edges))
        return extent_of(self.points, marked)


@dataclass(frozen=True, eq=False)
class Key:
    """The legend: point i belongs to group groups[i], which has a colour and a text."""

    groups: NDArray[np.uint8]
    colours: Sequence[str]
    texts: Sequence[str]


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure, and what it does not show."""

    figure: Any
    without_place: tuple[int, ...]  # points whose labels would overlap others
    outside: int  # points beyond the borders
    is_density: bool  # instead of points


def map_figure(
    title: str,
    panels: Sequence[Panel],
    key: Key,
    labels: Sequence[tuple[int, str]],
    highlighted: Sequence[int] = (),
    dpi: int = DPI,
) -> Drawing:
    """Panels of the same points beside one legend.

    Labels are (point, text), the most important first. Highlighted points have a ring.
    """
    import matplotlib.figure
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    marked = [*highlighted, *(row for row, _ in labels)]
    extents = [panel.extent(marked) for panel in panels]
    shape = max(_height_of(extent) for extent in extents)
    width, height = (
        PANEL_WIDTH * len(panels) + LEGEND_WIDTH,
        PANEL_WIDTH * shape + TITLE_HEIGHT + (TITLE_HEIGHT / 2 if len(panels) > 1 else 0),
    )
    figure = matplotlib.figure.Figure(figsize=(width, height), dpi=dpi)
    FigureCanvasAgg(figure)  # measures texts
    missing: dict[int, None] = {}
    outside = np.zeros(len(key.groups), bool)
    for number, (panel, extent) in enumerate(zip(panels, extents, strict=True)):
        place = (
            (number * PANEL_WIDTH + EDGE) / width,
            EDGE / height,
            (PANEL_WIDTH - 2 * EDGE) / width,
            (PANEL_WIDTH * shape - EDGE) / height,
        )
        limits = _limits(extent, shape)
        axes = _empty_axes(figure, place, limits)
        for ends in panel.edges:
            axes.plot(*ends.T, color=FAINT, linewidth=0.8, zorder=0.5)
        _draw_points(axes, panel.points, key)
        _draw_marks(axes, panel.points, key, labels, highlighted)
        missing |= dict.fromkeys(_write_labels(axes, panel.points, labels))
        outside |= _outside(panel.points, limits)
        axes.set_title(panel.title, fontsize=10, color=INK, parse_math=False)
    _write_title(figure, title)
    _draw_legend(figure, key, (PANEL_WIDTH * len(panels) + EDGE) / width)
    return Drawing(figure, tuple(missing), int(outside.sum()), len(key.groups) > POINTS_UP_TO)


def animation(
    title: str, frames: Floats, captions: Sequence[str], key: Key
) -> Iterator[NDArray[np.uint8]]:
    """Pictures, (height, width, 3), of moving points; `frames` are (frames, points, 2).

    The borders of each picture follow its points.
    """
    import matplotlib.figure
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    width, height = ANIMATION_WIDTH + LEGEND_WIDTH, ANIMATION_WIDTH + TITLE_HEIGHT
    figure = matplotlib.figure.Figure(figsize=(width, height), dpi=ANIMATION_DPI)
    canvas: Any = FigureCanvasAgg(figure)
    place = (
        EDGE / width,
        EDGE / height,
        (ANIMATION_WIDTH - 2 * EDGE) / width,
        (ANIMATION_WIDTH - EDGE) / height,
    )
    axes = _empty_axes(figure, place, _limits(extent_of(frames[-1]), 1.0))
    _draw_points(axes, frames[-1], key)
    _write_title(figure, title)
    caption = axes.text(0.02, 0.02, "", transform=axes.transAxes, fontsize=9, color=INK)
    _draw_legend(figure, key, (ANIMATION_WIDTH + EDGE) / width)
    for points, text in zip(frames, captions, strict=True):
        limits = _limits(extent_of(points), 1.0)
        axes.set(xlim=limits[::2], ylim=limits[1::2])
        axes.collections[0].set_offsets(points)
        caption.set_text(text)
        with any_letters():
            canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def extent_of(points: Floats, always: Sequence[int] = ()) -> Doubles:
    """(lowest, highest) of the points; of many points, the few farthest are ignored.

    Points in `always` count in any case.
    """
    ends = np.array([points.min(axis=0), points.max(axis=0)], np.float64)
    if len(points) < MIN_CROWD:
        return ends
    low, high = np.quantile(points, [FAR_OUT, 1 - FAR_OUT], axis=0).astype(np.float64)
    room = (high - low) * ROOM
    marked = np.concatenate([points[list(always)], [low - room], [high + room]])
    extent: Doubles = np.clip([marked.min(axis=0), marked.max(axis=0)], *ends)
    return extent


def _limits(extent: Doubles, shape: float) -> Box:
    """The borders of a panel that shows an extent at one scale in both directions."""
    (x, y), (wide, high) = extent.mean(axis=0), np.ptp(extent, axis=0) / 2 * (1 + 2 * MARGIN)
    half = max(wide, high / shape)
    if half <= 1e-6 * max(abs(x), abs(y)):  # all points are equal
        half = max(abs(x), abs(y), 1.0)
    return x - half, y - half * shape, x + half, y + half * shape


def _height_of(extent: Doubles) -> float:
    """The height of a panel that an extent fills, relative to its width."""
    wide, high = np.ptp(extent, axis=0)
    return float(np.clip(high / wide, MIN_HEIGHT, 1.0)) if wide else 1.0


def _empty_axes(figure: Any, place: Box, limits: Box) -> Any:
    """Axes without ticks."""
    axes = figure.add_axes(place)
    axes.set(xlim=limits[::2], ylim=limits[1::2], xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_color(FAINT)
    return axes


def _outside(points: Floats, limits: Box) -> NDArray[np.bool_]:
    """Which points are beyond the borders."""
    left, bottom, right, top = limits
    x, y = points.T
    far: NDArray[np.bool_] = (x < left) | (x > right) | (y < bottom) | (y > top)
    return far


def _point_area(points: int) -> float:
    """The area of each of this many points, in square typographic points."""
    return float(np.clip(12_000 / points, 2.2, 60.0))


def _draw_points(axes: Any, points: Floats, key: Key) -> None:
    """Draw points one by one, or as density if there are too many."""
    if len(points) > POINTS_UP_TO:
        (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
        size = axes.get_window_extent().size.round().astype(int)
        image = density_image(points, key, (left, bottom, right, top), *size.tolist())
        axes.imshow(
            image,
            extent=(left, right, bottom, top),
            origin="lower",
            aspect="auto",
            interpolation="nearest",
            zorder=1,
        )
        return
    from matplotlib.colors import to_rgba_array

    axes.scatter(
        *points.T,
        s=_point_area(len(points)),
        c=to_rgba_array(list(key.colours))[key.groups],
        linewidths=0,
        alpha=0.7 if len(points) > 2_000 else 1.0,
        zorder=1,
        rasterized=len(points) > CIRCLES_UP_TO,
    )


def density_image(
    points: Floats, key: Key, limits: Box, width: int, height: int
) -> NDArray[np.uint8]:
    """(height, width, 4), lowest row first: the mean colour of the points in each pixel.

    Pixels with more points are more opaque. Histogram equalisation of the opacity makes sparse and
    crowded areas both visible.
    """
    from matplotlib.colors import to_rgba_array

    left, bottom, right, top = limits
    inside = ~_outside(points, limits)
    points, groups = points[inside], key.groups[inside]
    x = (points[:, 0] - left) * (width / (right - left))
    y = (points[:, 1] - bottom) * (height / (top - bottom))
    columns = np.clip(x, 0, width - 1).astype(np.int64)
    pixels = np.clip(y, 0, height - 1).astype(np.int64) * width + columns
    total, colour = np.zeros((height, width)), np.zeros((height, width, 3))
    for group, rgb in enumerate(to_rgba_array(list(key.colours))[:, :3]):
        count = _blurred(
            np.bincount(pixels[groups == group], minlength=width * height).reshape(height, width)
        )
        total += count
        colour += count[:, :, None] * rgb
    filled = total > 0
    image = np.zeros((height, width, 4), np.uint8)
    levels = np.log(total[filled])
    counts, borders = np.histogram(levels, 256)
    alpha = MIN_ALPHA + (1 - MIN_ALPHA) * np.interp(
        levels, borders[1:], np.cumsum(counts) / len(levels)
    )
    image[filled, :3] = np.rint(255 * colour[filled] / total[filled][:, None])
    image[filled, 3] = np.rint(255 * alpha)
    return image


def _blurred(counts: NDArray[np.int64]) -> Doubles:
    """Spread each point over the pixels around: a single pixel is hard to see."""
    soft = counts.astype(np.float64)
    for _ in range(2):
        wider = soft.copy()
        wider[1:] += soft[:-1] / 2
        wider[:-1] += soft[1:] / 2
        soft = wider.T
    return soft


def _draw_marks(
    axes: Any,
    points: Floats,
    key: Key,
    labels: Sequence[tuple[int, str]],
    highlighted: Sequence[int],
) -> None:
    """Draw a rim around labelled points, and a ring around highlighted ones."""
    marks = list(dict.fromkeys([*highlighted, *(row for row, _ in labels)]))
    axes.scatter(
        *points[marks].T,
        s=max(MARK_AREA, _point_area(len(points))),
        c=[key.colours[key.groups[row]] for row in marks],
        edgecolors=INK,
        linewidths=0.8,
        zorder=3,
    )
    axes.scatter(
        *points[list(highlighted)].T,
        s=max(150, 3 * _point_area(len(points))),
        facecolors="none",
        edgecolors=INK,
        linewidths=1.6,
        zorder=4,
    )


def _write_labels(axes: Any, points: Floats, labels: Sequence[tuple[int, str]]) -> list[int]:
    """Write the labels that do not overlap; return the points of the others."""
    from matplotlib.patheffects import withStroke

    figure, unit = axes.figure, 72 / axes.figure.dpi
    halo = [withStroke(linewidth=2.4, foreground="white", alpha=0.85)]
    style = {"fontsize": 7.5, "color": INK, "path_effects": halo, "zorder": 5}
    style |= {"parse_math": False, "annotation_clip": False}
    texts = [
        axes.annotate(text, points[row], xytext=(0, 0), textcoords="offset points", **style)
        for row, text in labels
    ]
    renderer = figure.canvas.get_renderer()
    with any_letters():
        sizes = [text.get_window_extent(renderer).size * unit for text in texts]
    rows = [row for row, _ in labels]
    anchors = axes.transData.transform(points[rows]) * unit if rows else np.zeros((0, 2))
    radius = np.sqrt(max(MARK_AREA, _point_area(len(points))) / np.pi)
    gap = max(LABEL_GAP, float(radius) + CLEARANCE)
    corners = place_labels(anchors, sizes, tuple(axes.bbox.extents * unit), gap)
    for text, anchor, corner in zip(texts, anchors, corners, strict=True):
        if corner is None:
            text.remove()
        else:
            text.set_position((corner[0] - anchor[0], corner[1] - anchor[1]))
            text.set_verticalalignment("bottom")
    return [row for row, corner in zip(rows, corners, strict=True) if corner is None]


def _write_title(figure: Any, title: str) -> None:
    place = (EDGE / figure.get_figwidth(), 1 - 0.12 / figure.get_figheight())
    figure.text(
        *place, title, fontsize=12, fontweight="bold", color=INK, va="top", parse_math=False
    )


def _draw_legend(figure: Any, key: Key, left: float) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker="o", linestyle="", color=colour, markersize=7)
        for colour in key.colours
    ]
    place = (left, 1 - TITLE_HEIGHT / figure.get_figheight())
    # The texts are set afterwards: matplotlib hides labels that begin with an underscore.
    legend = figure.legend(
        handles,
        [str(number) for number in range(len(handles))],
        loc="upper left",
        bbox_to_anchor=place,
        frameon=False,
        fontsize=8.5,
        labelcolor=INK,
        handletextpad=0.3,
        borderaxespad=0,
        labelspacing=0.7,
    )
    for text, shown in zip(legend.get_texts(), key.texts, strict=True):
        text.set_parse_math(False)
        text.set_text(shown)
