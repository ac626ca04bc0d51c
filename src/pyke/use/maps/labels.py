"""Place texts on a map without overlaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Box = tuple[float, float, float, float]  # left, bottom, right, top
Corner = tuple[float, float]

LABEL_GAP = 4.0  # typographic points between the centre of a point and its label


class Places:
    """The places of texts inside bounds; earlier texts come first."""

    def __init__(self, bounds: Box) -> None:
        self._bounds = bounds
        self._taken: list[Box] = []

    def put(self, corners: Iterable[Corner], size: Any, mark: Box | None = None) -> Corner | None:
        """The first lower left corner where a text of a size fits; None if there is none.

        `mark` is the box of the point that the text describes: it stays visible, too.
        """
        wide, high = size
        if mark and (not _inside(mark, self._bounds) or self._meets(mark)):
            return None
        for x, y in corners:
            box = (x, y, x + wide, y + high)
            if _inside(box, self._bounds) and not self._meets(box):
                self._taken += [box, mark] if mark else [box]
                return (float(x), float(y))
        return None

    def _meets(self, box: Box) -> bool:
        return any(_overlap(box, other) for other in self._taken)


def place_labels(
    anchors: Sequence[Any] | NDArray[np.float64],
    sizes: Sequence[Any] | NDArray[np.float64],
    bounds: Box,
    gap: float = LABEL_GAP,
) -> list[Corner | None]:
    """The lower left corner of each label, `gap` from its anchor; earlier labels come first.

    It is None where the label would overlap another one or its anchor, or leave the bounds.
    """
    places = Places(bounds)
    return [
        places.put(beside(anchor, size, gap), size, around(anchor, gap / 2))
        for anchor, size in zip(anchors, sizes, strict=True)
    ]


def beside(anchor: Any, size: Any, gap: float) -> list[Corner]:
    """Corners of a text beside a point, the best first."""
    (x, y), (wide, high) = anchor, size
    right, left, middle = x + gap, x - gap - wide, x - wide / 2
    above, below, level = y + gap, y - gap - high, y - high / 2
    return [
        (right, level),
        (left, level),
        (middle, above),
        (middle, below),
        (right, above),
        (right, below),
        (left, above),
        (left, below),
    ]


def centred(anchor: Any, size: Any) -> list[Corner]:
    """Corners of a text over a region: in its middle, or a little higher or lower."""
    (x, y), (wide, high) = anchor, size
    steps = (0.0, 1.1, -1.1, 2.2, -2.2, 3.3, -3.3)
    return [
        (x - wide * part, y - high / 2 + step * high) for step in steps for part in (0.5, 0.2, 0.8)
    ]


def around(anchor: Any, radius: float) -> Box:
    """The box of a point."""
    x, y = anchor
    return (x - radius, y - radius, x + radius, y + radius)


def _inside(box: Box, bounds: Box) -> bool:
    left, bottom, right, top = bounds
    return box[0] >= left and box[1] >= bottom and box[2] <= right and box[3] <= top


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
