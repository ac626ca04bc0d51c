"""Draw the points of a map: one by one, or as a density if there are many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats
from pyke.use.maps.labels import Box

Doubles = NDArray[np.float64]

POINTS_UP_TO = 20_000  # drawn one by one; more are drawn as density
CIRCLES_UP_TO = 5_000  # vector shapes in SVG and PDF; more become an image
COVER = 0.16  # share of a panel that the areas of its points have together …
MIN_AREA, MAX_AREA = 0.6, 60.0  # … within these limits, in square typographic points
MIN_REGION, MIN_REGION_SHARE = 10, 0.005  # points of a group that make a region
MIN_ALPHA = 0.35  # of the pixels of a density with the fewest points


@dataclass(frozen=True, eq=False)
class Key:
    """The colours: point i belongs to group groups[i], which has a colour, a name and a count.

    The first `coloured` groups have a colour of their own; the others are grey.
    """

    groups: NDArray[np.uint8]
    colours: Sequence[str]
    names: Sequence[str]
    counts: Sequence[int]
    heading: str = "type"
    coloured: int = 0


def outside(points: Floats, limits: Box) -> NDArray[np.bool_]:
    """Which points are beyond the borders."""
    left, bottom, right, top = limits
    x, y = points.T
    far: NDArray[np.bool_] = (x < left) | (x > right) | (y < bottom) | (y > top)
    return far


def is_density(points: int) -> bool:
    """Whether this many points are drawn as a density."""
    return points > POINTS_UP_TO


def point_area(axes: Any, points: int) -> float:
    """The area of each of this many points, in square typographic points."""
    wide, high = axes.get_window_extent().size * 72 / axes.figure.dpi
    return float(np.clip(COVER * wide * high / max(points, 1), MIN_AREA, MAX_AREA))


def draw_points(axes: Any, points: Floats, key: Key) -> None:
    """Draw points one by one, or as density if there are too many."""
    if is_density(len(points)):
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
        s=point_area(axes, len(points)),
        c=to_rgba_array(list(key.colours))[key.groups],
        linewidths=0,
        alpha=0.75 if len(points) > 2_000 else 0.9,
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
    inside = ~outside(points, limits)
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


def peaks(points: Floats, key: Key, limits: Box) -> list[tuple[float, float] | None]:
    """The densest place of each coloured group inside the borders; None if few points are there.

    The place is the mean of the points in the densest part of a grid.
    """
    left, bottom, right, top = limits
    columns, rows = 40, 24
    x = (points[:, 0] - left) * (columns / (right - left))
    y = (points[:, 1] - bottom) * (rows / (top - bottom))
    places: list[tuple[float, float] | None] = []
    for group in range(key.coloured):
        own = np.flatnonzero((key.groups == group) & ~outside(points, limits))
        if len(own) < max(MIN_REGION, MIN_REGION_SHARE * len(points)):
            places.append(None)
            continue
        column = np.clip(x[own], 0, columns - 1).astype(int)
        row = np.clip(y[own], 0, rows - 1).astype(int)
        counts = np.bincount(row * columns + column, minlength=rows * columns)
        best = int(_blurred(counts.reshape(rows, columns)).argmax())
        near = (abs(row - best // columns) <= 1) & (abs(column - best % columns) <= 1)
        middle = points[own[near]].mean(axis=0, dtype=np.float64)
        places.append((float(middle[0]), float(middle[1])))
    return places
