"""Figures."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke import search
from pyke.errors import UsageError
from pyke.files import write_file
from pyke.graph import Floats

Doubles = NDArray[np.float64]
Box = tuple[float, float, float, float]  # left, bottom, right, top

GREY = "#8a8f98"
INK, FAINT = "#2b2f36", "#d9dce1"
COLOURS = ("#4c72b0", "#dd8452", "#55a868", "#c44e52", "#8172b3", "#937860")
LINES = (*COLOURS, "#da8bc3", "#8c8c8c", "#ccb974", "#64b5cd", "#2f4b7c", "#a05195", "#003f5c")
MARKERS = "osD^vPX<>*hp8"
FORMATS = ("png", "svg", "pdf")
DPI = 130
GIF_COLOURS = 64
_UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def project(vectors: Floats, dimensions: int = 2) -> Floats:
    """Principal components of the rows."""
    return search.project_on(vectors, *search.principal_axes(vectors, dimensions))


def before_and_after(panels: Sequence[tuple[str, Floats]], names: Sequence[str], groups: Sequence[str], path: Path) -> None:
    """Panels of the same points, as in the paper's figure of its running example: coloured by group, named."""
    figure = new_figure(5.2 * len(panels), 4.6)
    colours = dict(zip(sorted(set(groups) - {""}), COLOURS * len(groups), strict=False))
    for axes, (title, vectors) in zip(np.ravel(figure.subplots(1, len(panels))), panels, strict=True):
        points = project(vectors)
        for group in sorted(set(groups)):
            chosen = [i for i, other in enumerate(groups) if other == group]
            axes.scatter(points[chosen, 0], points[chosen, 1], s=55, color=colours.get(group, GREY), label=group or "no type", zorder=2)
        for name, (x, y) in zip(names, points, strict=True):
            axes.annotate(name, (x, y), xytext=(5, 4), textcoords="offset points", fontsize=8, color="#333333")
        axes.set_title(title, fontsize=11)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.margins(0.16)
    axes.legend(fontsize=8, loc="best")
    draw_to(figure, path)


def new_figure(width: float, height: float) -> Any:
    """An empty figure that no window shows."""
    import matplotlib.figure

    return matplotlib.figure.Figure(figsize=(width, height), layout="constrained")


def scores_over_mu(panels: Mapping[str, Mapping[str, Mapping[int, float]]]) -> Any:
    """The paper's figure of type prediction: a panel per protocol, a line per method, the score over μ."""
    figure = new_figure(5.2 * len(panels) + 1.6, 4.2)
    for axes, (title, lines) in zip(np.ravel(figure.subplots(1, len(panels), sharey=True)), panels.items(), strict=True):
        sizes = sorted({mu for line in lines.values() for mu in line})
        for number, (name, line) in enumerate(lines.items()):
            places = [sizes.index(mu) for mu in sorted(line)]
            style = {"linewidth": 2.6, "zorder": 3} if number == 0 else {"linewidth": 1.2}
            axes.plot(places, [line[mu] for mu in sorted(line)], marker=MARKERS[number % len(MARKERS)], markersize=4,
                      color=LINES[number % len(LINES)], label=name, **style)  # fmt: skip
        axes.set(title=title, xlabel="μ", ylim=(0, 1.02), xticks=range(len(sizes)), xticklabels=sizes)
        axes.grid(alpha=0.25)
    figure.axes[0].set_ylabel("prediction score")
    if len(lines) > 1:
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def trials_figure(trials: Sequence[Mapping[str, Any]], parameters: Sequence[str], base_score: float | None) -> Any:
    """Settings that were tried: the score over each parameter, the dashed line being the score to beat."""
    figure = new_figure(3.4 * len(parameters), 3.4)
    scored = [trial for trial in trials if trial["score"] is not None]
    for axes, name in zip(np.ravel(figure.subplots(1, len(parameters), sharey=True)), parameters, strict=True):
        axes.scatter([trial[name] for trial in scored], [trial["score"] for trial in scored], s=22, color=COLOURS[0])
        if base_score is not None:
            axes.axhline(base_score, color=GREY, linestyle="--", linewidth=1)
        axes.set(xlabel=name.replace("_", " "), xscale="log")
        axes.grid(alpha=0.25)
    figure.axes[0].set_ylabel("held-out score")
    return figure


def draw_to(figure: Any, path: Path) -> None:
    """Writes a figure; the extension tells the format."""
    write_file(path, drawn(figure, path.suffix.lstrip(".").lower() or "png"))


def drawn(figure: Any, form: str, dpi: int = DPI) -> bytes:
    """A figure as bytes, the same in every run."""
    import matplotlib as mpl

    if form not in FORMATS:
        raise UsageError(f"a figure cannot be written as {form!r}; it can be: {', '.join(FORMATS)}")
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "pyke"}), _any_letters():
        figure.savefig(buffer, format=form, dpi=dpi, metadata=_UNDATED.get(form))
    return buffer.getvalue()


def small_png(figure: Any, dpi: int = DPI) -> bytes:
    """A figure of many points as PNG in 256 colours that cover all of its own: a quarter of the bytes, and no difference to the eye."""
    from PIL import Image

    picture = np.asarray(Image.open(io.BytesIO(drawn(figure, "png", dpi))).convert("RGB"))
    buffer = io.BytesIO()
    _in_colours(picture, _palette(picture, 256)).save(buffer, "PNG", optimize=True, dpi=(dpi, dpi))
    return buffer.getvalue()


def gif(pictures: Sequence[NDArray[np.uint8]], durations: Sequence[int]) -> bytes:
    """Pictures, (height, width, 3), as a film that goes round; each is shown for some milliseconds. The colours are those of the last."""
    palette = _palette(pictures[-1], GIF_COLOURS)
    first, *others = [_in_colours(picture, palette) for picture in pictures]
    buffer = io.BytesIO()
    first.save(buffer, "GIF", save_all=True, append_images=others, duration=list(durations), loop=0)
    return buffer.getvalue()


def _palette(picture: NDArray[np.uint8], colours: int) -> NDArray[np.uint8]:
    """(colours, 3): those that cover a picture best. Every fourth pixel is looked at, in a quarter of the time."""
    from PIL import Image

    chosen = Image.fromarray(picture[::2, ::2].copy()).quantize(colours, Image.Quantize.MAXCOVERAGE, kmeans=1)
    return np.array(chosen.getpalette(), np.uint8).reshape(-1, 3)[:colours]


def _in_colours(picture: NDArray[np.uint8], palette: NDArray[np.uint8]) -> Any:
    """The picture with each pixel in the nearest colour of a palette. Pillow's own way is not exact, and makes white paper grey."""
    from PIL import Image

    codes, where = np.unique(picture.astype(np.int32) @ np.array([1 << 16, 1 << 8, 1], np.int32), return_inverse=True)
    own = np.column_stack([codes >> 16, codes >> 8 & 255, codes & 255])
    parts = [((own[at : at + 4096, None] - palette.astype(np.int32)) ** 2).sum(axis=2).argmin(axis=1) for at in range(0, len(own), 4096)]
    image = Image.frombytes("P", picture.shape[1::-1], np.concatenate(parts).astype(np.uint8)[where.ravel()].tobytes())
    image.putpalette(palette.tobytes())
    return image


@contextmanager
def _any_letters() -> Iterator[None]:
    """Letters that the font does not have become boxes, and that is all."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


# ---------------------------------------------------------------------------------------------------------------------
# Maps: many points in the colours of their groups, a few with names
# ---------------------------------------------------------------------------------------------------------------------

POINTS_UP_TO = 20_000  # drawn one by one; more would smear, and are drawn as density
CIRCLES_UP_TO = 5_000  # written as circles into SVG and PDF; more become an image in it
PANEL_WIDTH, LEGEND_WIDTH, TITLE_HEIGHT, EDGE = 6.6, 2.3, 0.45, 0.1  # inches
FILM_WIDTH, FILM_DPI = 5.0, 90
LEAST_HEIGHT = 0.66  # of a panel, as a part of its width
MARGIN = 0.04
LEAST_CROWD, FAR_OUT, ROOM = 500, 0.002, 0.15  # points of which 0.2 % on each side may lie far out, and the room that they have nevertheless
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
        return extent_of(np.concatenate(self.edges)) if self.edges else extent_of(self.points, marked)


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
    title: str, panels: Sequence[Panel], key: Key, labels: Sequence[tuple[int, str]], ringed: Sequence[int] = (), dpi: int = DPI
) -> Drawing:
    """Panels of the same points beside one legend. Labels are (point, text), the most important first; ringed points stand out."""
    import matplotlib.figure
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    marked = [*ringed, *(row for row, _ in labels)]
    extents = [panel.extent(marked) for panel in panels]
    shape = max(_height_of(extent) for extent in extents)
    width, height = PANEL_WIDTH * len(panels) + LEGEND_WIDTH, PANEL_WIDTH * shape + TITLE_HEIGHT + (TITLE_HEIGHT / 2 if len(panels) > 1 else 0)
    figure = matplotlib.figure.Figure(figsize=(width, height), dpi=dpi)
    FigureCanvasAgg(figure)  # which measures texts
    missing: dict[int, None] = {}
    outside = np.zeros(len(key.groups), bool)
    for number, (panel, extent) in enumerate(zip(panels, extents, strict=True)):
        place = ((number * PANEL_WIDTH + EDGE) / width, EDGE / height, (PANEL_WIDTH - 2 * EDGE) / width, (PANEL_WIDTH * shape - EDGE) / height)
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


def film(title: str, frames: Floats, captions: Sequence[str], key: Key) -> Iterator[NDArray[np.uint8]]:
    """Pictures, (height, width, 3), of points that move: frames are (frames, points, 2). The view widens and narrows with them."""
    import matplotlib.figure
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    width, height = FILM_WIDTH + LEGEND_WIDTH, FILM_WIDTH + TITLE_HEIGHT
    figure = matplotlib.figure.Figure(figsize=(width, height), dpi=FILM_DPI)
    canvas: Any = FigureCanvasAgg(figure)
    place = (EDGE / width, EDGE / height, (FILM_WIDTH - 2 * EDGE) / width, (FILM_WIDTH - EDGE) / height)
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
        with _any_letters():
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
    half = half if half > 1e-6 * max(abs(x), abs(y)) else max(abs(x), abs(y), 1.0)  # all points are one
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
        axes.imshow(image, extent=(left, right, bottom, top), origin="lower", aspect="auto", interpolation="nearest", zorder=1)
        return
    from matplotlib.colors import to_rgba_array

    area = float(np.clip(12_000 / len(points), 2.2, 60.0))
    axes.scatter(*points.T, s=area, c=to_rgba_array(list(key.colours))[key.groups], linewidths=0, alpha=0.7 if len(points) > 2_000 else 1.0,
                 zorder=1, rasterized=len(points) > CIRCLES_UP_TO)  # fmt: skip


def density_image(points: Floats, key: Key, limits: Box, width: int, height: int) -> NDArray[np.uint8]:
    """(height, width, 4): the mean colour of the points in each pixel, the more opaque the more points; the lowest row first.

    Opacity is spread evenly over the densities that occur (histogram equalisation), so that sparse and crowded places both show.
    """
    from matplotlib.colors import to_rgba_array

    left, bottom, right, top = limits
    inside = ~_outside(points, limits)
    points, groups = points[inside], key.groups[inside]
    columns = np.clip((points[:, 0] - left) * (width / (right - left)), 0, width - 1).astype(np.int64)
    rows = np.clip((points[:, 1] - bottom) * (height / (top - bottom)), 0, height - 1).astype(np.int64)
    pixels = rows * width + columns
    total, colour = np.zeros((height, width)), np.zeros((height, width, 3))
    for group, rgb in enumerate(to_rgba_array(list(key.colours))[:, :3]):
        count = _softened(np.bincount(pixels[groups == group], minlength=width * height).reshape(height, width))
        total += count
        colour += count[:, :, None] * rgb
    filled = total > 0
    image = np.zeros((height, width, 4), np.uint8)
    levels = np.log(total[filled])
    amounts, borders = np.histogram(levels, 256)
    alpha = LEAST_ALPHA + (1 - LEAST_ALPHA) * np.interp(levels, borders[1:], np.cumsum(amounts) / len(levels))
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


def _draw_marks(axes: Any, points: Floats, key: Key, labels: Sequence[tuple[int, str]], ringed: Sequence[int]) -> None:
    """Points with a name have a rim; ringed ones a wide ring."""
    marks = list(dict.fromkeys([*ringed, *(row for row, _ in labels)]))
    axes.scatter(*points[marks].T, s=22, c=[key.colours[key.groups[row]] for row in marks], edgecolors=INK, linewidths=0.8, zorder=3)
    axes.scatter(*points[list(ringed)].T, s=150, facecolors="none", edgecolors=INK, linewidths=1.6, zorder=4)


def _write_labels(axes: Any, points: Floats, labels: Sequence[tuple[int, str]]) -> list[int]:
    """Writes the labels that find a place; gives the points of those that do not."""
    from matplotlib.patheffects import withStroke

    figure, unit = axes.figure, 72 / axes.figure.dpi
    halo = [withStroke(linewidth=2.4, foreground="white", alpha=0.85)]
    texts = [axes.annotate(text, points[row], xytext=(0, 0), textcoords="offset points", fontsize=7.5, color=INK, path_effects=halo,
                           zorder=5, parse_math=False, annotation_clip=False) for row, text in labels]  # fmt: skip
    renderer = figure.canvas.get_renderer()
    with _any_letters():
        sizes = [text.get_window_extent(renderer).size * unit for text in texts]
    anchors = axes.transData.transform(points[[row for row, _ in labels]]) * unit if labels else np.zeros((0, 2))
    corners = place_labels(anchors, sizes, tuple(axes.bbox.extents * unit))
    for text, anchor, corner in zip(texts, anchors, corners, strict=True):
        if corner is None:
            text.remove()
        else:
            text.set_position((corner[0] - anchor[0], corner[1] - anchor[1]))
            text.set_verticalalignment("bottom")
    return [row for (row, _), corner in zip(labels, corners, strict=True) if corner is None]


def place_labels(anchors: Sequence[Any] | Doubles, sizes: Sequence[Any] | Doubles, bounds: Box) -> list[tuple[float, float] | None]:
    """The lower left corner of each label beside its anchor, the first labels first; None where it would meet another or the border."""
    placed: list[Box] = []
    corners: list[tuple[float, float] | None] = []
    for (x, y), (wide, high) in zip(anchors, sizes, strict=True):
        right, left, middle = x + LABEL_GAP, x - LABEL_GAP - wide, x - wide / 2
        above, below, level = y + LABEL_GAP, y - LABEL_GAP - high, y - high / 2
        tries = [(right, level), (left, level), (middle, above), (middle, below), (right, above), (right, below), (left, above), (left, below)]
        for corner in tries:
            box = (*corner, corner[0] + wide, corner[1] + high)
            inside = box[0] >= bounds[0] and box[1] >= bounds[1] and box[2] <= bounds[2] and box[3] <= bounds[3]
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
    figure.text(*place, title, fontsize=12, fontweight="bold", color=INK, va="top", parse_math=False)


def _draw_legend(figure: Any, key: Key, left: float) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], marker="o", linestyle="", color=colour, markersize=7) for colour in key.colours]
    place = (left, 1 - TITLE_HEIGHT / figure.get_figheight())
    # The texts are set afterwards: as labels, those that begin with an underscore would be left out.
    legend = figure.legend(handles, [str(number) for number in range(len(handles))], loc="upper left", bbox_to_anchor=place, frameon=False,
                           fontsize=8.5, labelcolor=INK, handletextpad=0.3, borderaxespad=0, labelspacing=0.7)  # fmt: skip
    for text, shown in zip(legend.get_texts(), key.texts, strict=True):
        text.set_parse_math(False)
        text.set_text(shown)
