"""Place labels beside points without overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Box = tuple[float, float, float, float]  # left, bottom, right, top

LABEL_GAP = 4.0  # typographic points between the centre of a point and its label


def place_labels(
    anchors: Sequence[Any] | NDArray[np.float64],
    sizes: Sequence[Any] | NDArray[np.float64],
    bounds: Box,
    gap: float = LABEL_GAP,
) -> list[tuple[float, float] | None]:
    """The lower left corner of each label, `gap` from its anchor; earlier labels come first.

    It is None where the label would overlap another or leave the bounds.
    """
    placed: list[Box] = []
    corners: list[tuple[float, float] | None] = []
    for (x, y), (wide, high) in zip(anchors, sizes, strict=True):
        right, left, middle = x + gap, x - gap - wide, x - wide / 2
        above, below, level = y + gap, y - gap - high, y - high / 2
        candidates = [
            (right, level),
            (left, level),
            (middle, above),
            (middle, below),
            (right, above),
            (right, below),
            (left, above),
            (left, below),
        ]
        for corner in candidates:
            box = (*corner, corner[0] + wide, corner[1] + high)
            if _inside(box, bounds) and not any(_overlap(box, other) for other in placed):
                placed.append(box)
                corners.append((float(corner[0]), float(corner[1])))
                break
        else:
            corners.append(None)
    return corners


def _inside(box: Box, bounds: Box) -> bool:
    left, bottom, right, top = bounds
    return box[0] >= left and box[1] >= bottom and box[2] <= right and box[3] <= top


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
