"""The parts of a figure around the points: borders, axes, title, legend and notes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyke.core.arrays import Floats
from pyke.core.text import cut
from pyke.use.figures import FAINT, INK, any_letters
from pyke.use.maps.labels import Box
from pyke.use.maps.points import Doubles, Key

PAPER, SOFT = "#ffffff", "#6b727d"

# From MIN_CROWD points on, the borders contain 99.5 % of them: FAR_OUT is cut on each of 4 sides.
MIN_CROWD, FAR_OUT = 500, 0.005 / 4
MARGIN = 0.04  # beyond the outermost points, relative to the extent
MAX_LEGEND = 0.34  # of the width of a figure


@dataclass(frozen=True)
class Size:
    """The size of a figure in inches, and its smallest common font size in typographic points."""

    width: float
    height: float
    font: float

    @property
    def em(self) -> float:
        """The font size in inches."""
        return self.font / 72


def extent_of(points: Floats, always: Sequence[int] = ()) -> Doubles:
    """(lowest, highest) of the points; of many points, of the middle 99.5 %.

    Points in `always` count in any case.
    """
    ends = np.array([points.min(axis=0), points.max(axis=0)], np.float64)
    if len(points) < MIN_CROWD:
        return ends
    middle = np.quantile(points, [FAR_OUT, 1 - FAR_OUT], axis=0).astype(np.float64)
    marked = np.concatenate([points[list(always)], middle])
    extent: Doubles = np.array([marked.min(axis=0), marked.max(axis=0)], np.float64)
    return extent


def limits_of(extent: Doubles, shape: float) -> Box:
    """The borders of a panel that shows an extent at one scale; `shape` is height by width."""
    (x, y), (wide, high) = extent.mean(axis=0), np.ptp(extent, axis=0) / 2 * (1 + 2 * MARGIN)
    half = max(wide, high / shape)
    if half <= 1e-6 * max(abs(x), abs(y)):  # all points are equal
        half = max(abs(x), abs(y), 1.0)
    return x - half, y - half * shape, x + half, y + half * shape


@dataclass(frozen=True, eq=False)
class Frame:
    """An empty figure with a title, places for panels side by side, and a legend."""

    figure: Any
    size: Size
    places: Sequence[Box]  # left, bottom, width, height of each panel, relative to the figure
    column: float  # left end of the legend, relative to the figure

    @classmethod
    def of(cls, title: str, panels: int, key: Key, size: Size, dpi: int) -> Frame:
        """A frame whose panels have all the space that title and legend leave."""
        import matplotlib.figure
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        figure = matplotlib.figure.Figure(figsize=(size.width, size.height), dpi=dpi)
        figure.set_facecolor(PAPER)
        FigureCanvasAgg(figure)  # measures texts
        em, gap = size.em, 1.2 * size.em
        top = size.height - 3.2 * em
        text = _text(figure, title, size.font * 1.6, weight="bold")
        text.set(x=gap / size.width, y=1 - 1.0 * em / size.height, va="top")
        column = size.width - _draw_legend(figure, key, size, top) - gap
        wide = (column - gap) / panels - gap
        bottom = gap
        places = [
            (
                (gap + number * (wide + gap)) / size.width,
                bottom / size.height,
                wide / size.width,
                (top - bottom - (1.8 * em if panels > 1 else 0)) / size.height,
            )
            for number in range(panels)
        ]
        return cls(figure, size, places, column / size.width)

    @property
    def shape(self) -> float:
        """The height of a panel relative to its width."""
        _, _, wide, high = self.places[0]
        return high * self.size.height / (wide * self.size.width)

    def axes(self, number: int, limits: Box, title: str = "") -> Any:
        """Axes without ticks at the place of a panel."""
        axes = self.figure.add_axes(self.places[number])
        axes.set(xlim=limits[::2], ylim=limits[1::2], xticks=[], yticks=[])
        for spine in axes.spines.values():
            spine.set(color=FAINT, linewidth=0.8)
        axes.set_title(title, fontsize=self.size.font * 1.1, color=INK, parse_math=False)
        return axes

    def write_notes(self, notes: Sequence[str]) -> None:
        """Write notes in small letters below the legend."""
        font = self.size.font * 0.75
        letters = max(12, int((1 - self.column) * self.size.width / (font / 72) / 0.52) - 2)
        lines = [line for note in notes for line in textwrap.wrap(note, letters)]
        text = _text(self.figure, "\n".join(lines), font, SOFT)
        text.set(x=self.column, y=1.2 * self.size.em / self.size.height, va="bottom")
        text.set_linespacing(1.35)


def _text(figure: Any, text: str, font: float, color: str = INK, **style: Any) -> Any:
    return figure.text(0, 0, text, fontsize=font, color=color, parse_math=False, **style)


def _width(text: Any) -> float:
    """The width of a text in inches."""
    figure = text.figure
    with any_letters():
        return float(text.get_window_extent(figure.canvas.get_renderer()).width / figure.dpi)


def _fit(text: Any, width: float) -> float:
    """Shorten a text until it has at most a width, in inches; return its width."""
    while (wide := _width(text)) > width and len(text.get_text()) > 2:
        shown = text.get_text().rstrip("…")
        text.set_text(cut(shown, len(shown) - 1))
    return wide


def _draw_legend(figure: Any, key: Key, size: Size, top: float) -> float:
    """Draw the legend at the right; return its width in inches."""
    from matplotlib.lines import Line2D

    em, font = size.em, size.font * 1.08
    row = min(2.0 * em, (top - 5 * em) / max(len(key.names) + 1, 1))
    heading = _text(figure, f"{key.heading}s".capitalize(), font, weight="bold")
    names = [_text(figure, name, font) for name in key.names]
    counts = [_text(figure, f"{count:,}", font, SOFT, ha="right") for count in key.counts]
    number = max((_width(text) for text in counts), default=0.0)
    room = MAX_LEGEND * size.width - number - 3.2 * em
    wide = max((_fit(text, room) for text in names), default=0.0)
    width = max(1.5 * em + wide + 1.4 * em + number, 11 * em)
    left = size.width - 1.2 * em - width
    x = left / size.width
    heading.set(x=x, y=(top - 0.2 * em) / size.height, va="top")
    for at, (name, count, colour) in enumerate(zip(names, counts, key.colours, strict=True)):
        y = (top - 1.0 * em - (at + 1) * row) / size.height
        dot = Line2D([x + 0.45 * em / size.width], [y], marker="o", color=colour, linestyle="")
        dot.set(markersize=font * 0.85, markeredgewidth=0, transform=figure.transFigure)
        figure.add_artist(dot)
        name.set(x=x + 1.5 * em / size.width, y=y, va="center_baseline")
        count.set(x=1 - 1.2 * em / size.width, y=y, va="center_baseline")
    return width
