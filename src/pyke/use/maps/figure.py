"""Draw a map with matplotlib: points or density, labels, legend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats
from pyke.use.figures import DPI, FAINT, INK, any_letters

Doubles = NDArray[np.float64]

Box = tuple[float, float, float, float]  # left, bottom, right, top

POINTS_UP_TO = 20_000  # drawn one by one; more would smear, and are drawn as density

CIRCLES_UP_TO = 5_000  # written as circles into SVG and PDF; more become an image in it

PANEL_WIDTH, LEGEND_WIDTH, TITLE_HEIGHT, EDGE = 6.6, 2.3, 0.45, 0.1  # inches

FILM_WIDTH, FILM_DPI = 5.0, 90

LEAST_HEIGHT = 0.66  # of a panel, as a part of its width

MARGIN = 0.04

LEAST_CROWD, FAR_OUT, ROOM = (
    500,
    0.002,
    0.15,
)  # points of which 0.2 % on each side may lie far out, and the room that they have nevertheless

LEAST_ALPHA = 0.35  # of a pixel of a density with the fewest points

LABEL_GAP = 4.0  # typographic points between a point and its name


@dataclass(frozen=True, eq=False)
class Panel:
    """Points of a map in the order in which they are drawn, and the edges of the box around them if they have a depth."""

    title: str
    points: Floats  # (n, 2)
    edges: Sequence[Floats] = ()  # (2 ends, 2) each

    def extent(self, marked: Sequence[int]) -> Doubles:
        """(lowest, highest) of what is shown: the box, or the points, those that are marked in any case."""
        return (
            extent_of(np.concatenate(self.edges)) if self.edges else extent_of(self.points, marked)
        )


@dataclass(frozen=True, eq=False)
class Key:
    """What colours say: point i has the colour of group groups[i]; `texts` and `colours` are those of the groups."""

    groups: NDArray[np.uint8]
    colours: Sequence[str]
    texts: Sequence[str]


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure, the labels that found no place in it, the points beyond its borders, and whether it shows density instead of points."""

    figure: Any
    without_place: tuple[int, ...]  # points
    outside: int
    is_density: bool


def map_figure(
    title: str,
    panels: Sequence[Panel],
    key: Key,
    labels: Sequence[tuple[int, str]],
    ringed: Sequence[int] = (),
    dpi: int = DPI,
) -> Drawing:
    """Panels of the same points beside one legend. Labels are (point, text), the most important first; ringed points stand out."""
    import matplotlib.figure
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    marked = [*ringed, *(row for row, _ in labels)]
    extents = [panel.extent(marked) for panel in panels]
    shape = max(_height_of(extent) for extent in extents)
    width, height = (
        PANEL_WIDTH * len(panels) + LEGEND_WIDTH,
        PANEL_WIDTH * shape + TITLE_HEIGHT + (TITLE_HEIGHT / 2 if len(panels) > 1 else 0),
    )
    figure = matplotlib.figure.Figure(figsize=(width, height), dpi=dpi)
    FigureCanvasAgg(figure)  # which measures texts
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
        _draw_marks(axes, panel.points, key, labels, ringed)
        missing |= dict.fromkeys(_write_labels(axes, panel.points, labels))
        outside |= _outside(panel.points, limits)
        axes.set_title(panel.title, fontsize=10, color=INK, parse_math=False)
    _write_title(figure, title)
    _draw_legend(figure, key, (PANEL_WIDTH * len(panels) + EDGE) / width)
    return Drawing(figure, tuple(missing), int(outside.sum()), len(key.groups) > POINTS_UP_TO)


def film(
    title: str, frames: Floats, captions: Sequence[str], key: Key
) -> Iterator[NDArray[np.uint8]]:
    """Pictures, (height, width, 3), of points that move: frames are (frames, points, 2). The view widens and narrows with them."""
    import matplotlib.figure
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    width, height = FILM_WIDTH + LEGEND_WIDTH, FILM_WIDTH + TITLE_HEIGHT
    figure = matplotlib.figure.Figure(figsize=(width, height), dpi=FILM_DPI)
    canvas: Any = FigureCanvasAgg(figure)
    place = (
        EDGE / width,
        EDGE / height,
        (FILM_WIDTH - 2 * EDGE) / width,
        (FILM_WIDTH - EDGE) / height,
    )
    axes = _empty_axes(figure, place, _limits(extent_of(frames[-1]), 1.0))
    _draw_points(axes, frames[-1], key)
    _write_title(figure, title)
    caption = axes.text(0.02, 0.02, "", transform=axes.transAxes, fontsize=9, color=INK)
    _draw_legend(figure, key, (FILM_WIDTH + EDGE) / width)
    for points, text in zip(frames, captions, strict=True):
        limits = _limits(extent_of(points), 1.0)
        axes.set(xlim=limits[::2], ylim=limits[1::2])
        axes.collections[0].set_offsets(points)
        caption.set_text(text)
        with any_letters():
            canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def extent_of(points: Floats, always: Sequence[int] = ()) -> Doubles:
    """(lowest, highest) of what is shown: the points, but for the few of very many that lie so far out that the others would shrink."""
    ends = np.array([points.min(axis=0), points.max(axis=0)], np.float64)
    if len(points) < LEAST_CROWD:
        return ends
    low, high = np.quantile(points, [FAR_OUT, 1 - FAR_OUT], axis=0).astype(np.float64)
    room = (high - low) * ROOM
    marked = np.concatenate([points[list(always)], [low - room], [high + room]])
    extent: Doubles = np.clip([marked.min(axis=0), marked.max(axis=0)], *ends)
    return extent


def _limits(extent: Doubles, shape: float) -> Box:
    """The borders of a panel that shows this, at one scale in both directions."""
    (x, y), (wide, high) = extent.mean(axis=0), np.ptp(extent, axis=0) / 2 * (1 + 2 * MARGIN)
    half = max(wide, high / shape)
    half = (
        half if half > 1e-6 * max(abs(x), abs(y)) else max(abs(x), abs(y), 1.0)
    )  # all points are one
    return x - half, y - half * shape, x + half, y + half * shape


def _height_of(extent: Doubles) -> float:
    """The height of a panel that this fills, as a part of its width."""
    wide, high = np.ptp(extent, axis=0)
    return float(np.clip(high / wide, LEAST_HEIGHT, 1.0)) if wide else 1.0


def _empty_axes(figure: Any, place: Box, limits: Box) -> Any:
    axes = figure.add_axes(place)
    axes.set(xlim=limits[::2], ylim=limits[1::2], xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_color(FAINT)
    return axes


def _outside(points: Floats, limits: Box) -> NDArray[np.bool_]:
    left, bottom, right, top = limits
    x, y = points.T
    far: NDArray[np.bool_] = (x < left) | (x > right) | (y < bottom) | (y > top)
    return far


def _draw_points(axes: Any, points: Floats, key: Key) -> None:
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

    area = float(np.clip(12_000 / len(points), 2.2, 60.0))
    axes.scatter(*points.T, s=area, c=to_rgba_array(list(key.colours))[key.groups], linewidths=0, alpha=0.7 if len(points) > 2_000 else 1.0,
                 zorder=1, rasterized=len(points) > CIRCLES_UP_TO)  # fmt: skip


def density_image(
    points: Floats, key: Key, limits: Box, width: int, height: int
) -> NDArray[np.uint8]:
    """(height, width, 4): the mean colour of the points in each pixel, the more opaque the more points; the lowest row first.

    Opacity is spread evenly over the densities that occur (histogram equalisation), so that sparse and crowded places both show.
    """
    from matplotlib.colors import to_rgba_array

    left, bottom, right, top = limits
    inside = ~_outside(points, limits)
    points, groups = points[inside], key.groups[inside]
    columns = np.clip((points[:, 0] - left) * (width / (right - left)), 0, width - 1).astype(
        np.int64
    )
    rows = np.clip((points[:, 1] - bottom) * (height / (top - bottom)), 0, height - 1).astype(
        np.int64
    )
    pixels = rows * width + columns
    total, colour = np.zeros((height, width)), np.zeros((height, width, 3))
    for group, rgb in enumerate(to_rgba_array(list(key.colours))[:, :3]):
        count = _softened(
            np.bincount(pixels[groups == group], minlength=width * height).reshape(height, width)
        )
        total += count
        colour += count[:, :, None] * rgb
    filled = total > 0
    image = np.zeros((height, width, 4), np.uint8)
    levels = np.log(total[filled])
    amounts, borders = np.histogram(levels, 256)
    alpha = LEAST_ALPHA + (1 - LEAST_ALPHA) * np.interp(
        levels, borders[1:], np.cumsum(amounts) / len(levels)
    )
    image[filled, :3] = np.rint(255 * colour[filled] / total[filled][:, None])
    image[filled, 3] = np.rint(255 * alpha)
    return image


def _softened(counts: NDArray[np.int64]) -> Doubles:
    """Counts with each point spread over its pixel and, by half and quarter, those around: one pixel alone is hard to see."""
    soft = counts.astype(np.float64)
    for _ in range(2):
        wider = soft.copy()
        wider[1:] += soft[:-1] / 2
        wider[:-1] += soft[1:] / 2
        soft = wider.T
    return soft


def _draw_marks(
    axes: Any, points: Floats, key: Key, labels: Sequence[tuple[int, str]], ringed: Sequence[int]
) -> None:
    """Points with a name have a rim; ringed ones a wide ring."""
    marks = list(dict.fromkeys([*ringed, *(row for row, _ in labels)]))
    axes.scatter(
        *points[marks].T,
        s=22,
        c=[key.colours[key.groups[row]] for row in marks],
        edgecolors=INK,
        linewidths=0.8,
        zorder=3,
    )
    axes.scatter(
        *points[list(ringed)].T, s=150, facecolors="none", edgecolors=INK, linewidths=1.6, zorder=4
    )


def _write_labels(axes: Any, points: Floats, labels: Sequence[tuple[int, str]]) -> list[int]:
    """Writes the labels that find a place; gives the points of those that do not."""
    from matplotlib.patheffects import withStroke

    figure, unit = axes.figure, 72 / axes.figure.dpi
    halo = [withStroke(linewidth=2.4, foreground="white", alpha=0.85)]
    texts = [axes.annotate(text, points[row], xytext=(0, 0), textcoords="offset points", fontsize=7.5, color=INK, path_effects=halo,
                           zorder=5, parse_math=False, annotation_clip=False) for row, text in labels]  # fmt: skip
    renderer = figure.canvas.get_renderer()
    with any_letters():
        sizes = [text.get_window_extent(renderer).size * unit for text in texts]
    anchors = (
        axes.transData.transform(points[[row for row, _ in labels]]) * unit
        if labels
        else np.zeros((0, 2))
    )
    corners = place_labels(anchors, sizes, tuple(axes.bbox.extents * unit))
    for text, anchor, corner in zip(texts, anchors, corners, strict=True):
        if corner is None:
            text.remove()
        else:
            text.set_position((corner[0] - anchor[0], corner[1] - anchor[1]))
            text.set_verticalalignment("bottom")
    return [row for (row, _), corner in zip(labels, corners, strict=True) if corner is None]


def place_labels(
    anchors: Sequence[Any] | Doubles, sizes: Sequence[Any] | Doubles, bounds: Box
) -> list[tuple[float, float] | None]:
    """The lower left corner of each label beside its anchor, the first labels first; None where it would meet another or the border."""
    placed: list[Box] = []
    corners: list[tuple[float, float] | None] = []
    for (x, y), (wide, high) in zip(anchors, sizes, strict=True):
        right, left, middle = x + LABEL_GAP, x - LABEL_GAP - wide, x - wide / 2
        above, below, level = y + LABEL_GAP, y - LABEL_GAP - high, y - high / 2
        tries = [
            (right, level),
            (left, level),
            (middle, above),
            (middle, below),
            (right, above),
            (right, below),
            (left, above),
            (left, below),
        ]
        for corner in tries:
            box = (*corner, corner[0] + wide, corner[1] + high)
            inside = (
                box[0] >= bounds[0]
                and box[1] >= bounds[1]
                and box[2] <= bounds[2]
                and box[3] <= bounds[3]
            )
            if inside and not any(_meet(box, other) for other in placed):
                placed.append(box)
                corners.append((float(corner[0]), float(corner[1])))
                break
        else:
            corners.append(None)
    return corners


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


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
    # The texts are set afterwards: as labels, those that begin with an underscore would be left out.
    legend = figure.legend(handles, [str(number) for number in range(len(handles))], loc="upper left", bbox_to_anchor=place, frameon=False,
                           fontsize=8.5, labelcolor=INK, handletextpad=0.3, borderaxespad=0, labelspacing=0.7)  # fmt: skip
    for text, shown in zip(legend.get_texts(), key.texts, strict=True):
        text.set_parse_math(False)
        text.set_text(shown)
