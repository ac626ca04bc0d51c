"""Make a simulated map easier to see without a change of what is near what.

Terms with exactly the same springs have the same forces of attraction: only chance separates them,
and draws rings around their common place. They are spread evenly over a disc instead. A map has no
up and down either: it is turned such that it fills a wide frame.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats, Matrix
from pyke.use.maps.frame import extent_of

MIN_GROUP = 3  # terms with the same springs that are spread
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))  # between successive points of a disc
MIN_APART, MAX_APART = 50, 200  # terms of a disc that overlaps no other, and number of such discs
STEPS = 100  # in which they are moved
WIDE = 1.5  # width of a frame, relative to its height
ANGLES = 60  # that are tried in half a turn
TURN_BY = 20_000  # points that determine the angle


def same_springs(springs: Matrix, terms: int) -> NDArray[np.int64]:
    """For each of the first `terms` rows a number; rows with the same columns have the same one.

    It is −1 for rows without a spring.
    """
    codes = springs.columns.astype(np.uint64) + np.uint64(1)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64
        codes = (codes ^ codes >> np.uint64(shift)) * np.uint64(factor)
    sums = np.append(np.uint64(0), np.cumsum(codes ^ codes >> np.uint64(31)))  # modulo 2⁶⁴
    begins, ends = springs.offsets[:terms], springs.offsets[1 : terms + 1]
    _, numbers = np.unique(sums[ends] - sums[begins], return_inverse=True)
    numbers = numbers.astype(np.int64)
    numbers[begins == ends] = -1
    return numbers


def group_sizes(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of rows with the number of each row; 1 where it is −1."""
    counts = np.bincount(numbers + 1)
    counts[0] = 1
    sizes: NDArray[np.int64] = counts[numbers + 1]
    return sizes


def spread(points: Floats, numbers: NDArray[np.int64]) -> Floats:
    """Points of 2 dimensions with each group of MIN_GROUP or more spread evenly over a disc.

    The centre is the median of the points. The area is proportional to their number: all discs have
    the same density, that of the whole map if it filled a quarter of its frame. The largest discs
    are moved until they do not overlap.
    """
    moved = np.flatnonzero(group_sizes(numbers) >= MIN_GROUP)
    if not len(moved):
        return points
    order = moved[np.argsort(numbers[moved], kind="stable")]
    begins = np.flatnonzero(np.diff(numbers[order], prepend=-2))
    members = np.split(order, begins[1:])
    sizes = np.diff(begins, append=len(order))
    per_point = float(np.prod(np.ptp(extent_of(points), axis=0))) / 4 / len(points)
    radii = np.sqrt(sizes * per_point / np.pi)
    centres = np.array([np.median(points[rows], axis=0) for rows in members], np.float64)
    large = np.argsort(-sizes, kind="stable")[:MAX_APART]
    large = large[sizes[large] >= MIN_APART]
    centres[large] = pushed_apart(centres[large], radii[large])
    result = points.copy()
    for rows, centre, radius in zip(members, centres, radii, strict=True):
        at = np.arange(len(rows))
        far, angle = radius * np.sqrt((at + 0.5) / len(rows)), at * GOLDEN_ANGLE
        result[rows] = centre + np.column_stack([far * np.cos(angle), far * np.sin(angle)])
    return result


def pushed_apart(centres: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """The centres of discs, moved until the discs do not overlap; small ones move farther."""
    centres = centres.copy()
    areas = radii**2
    share = areas[None, :] / (areas[:, None] + areas[None, :])  # of a pair's way that row i goes
    touching = 1.04 * (radii[:, None] + radii[None, :])
    angle = np.arange(len(radii)) * GOLDEN_ANGLE
    aside = np.column_stack([np.cos(angle), np.sin(angle)])
    for _ in range(STEPS):
        way = centres[:, None] - centres[None, :]
        far = np.linalg.norm(way, axis=2)
        overlap = np.maximum(touching - far, 0.0)
        np.fill_diagonal(overlap, 0.0)
        if not overlap.any():
            break
        same = far < 1e-9 * touching  # equal centres have no direction
        direction = np.where(same[..., None], aside[:, None] - aside[None], way)
        lengths = np.maximum(np.linalg.norm(direction, axis=2), 1e-30)
        step = overlap * share / lengths
        centres += 0.5 * (step[..., None] * direction).sum(axis=1)
    return centres


def turned(points: Floats) -> Floats:
    """Points of 2 dimensions, turned such that they are largest in a wide frame."""
    some = points[:: -(-len(points) // TURN_BY)].astype(np.float64)
    angles = np.arange(ANGLES) * (np.pi / ANGLES)

    def height(angle: float) -> float:
        wide, high = np.ptp(extent_of((some @ _rotation(angle)).astype(np.float32)), axis=0)
        return float(max(high, wide / WIDE))

    best = min(angles.tolist(), key=height)
    return (points @ _rotation(best)).astype(np.float32)


def _rotation(angle: float) -> NDArray[np.float64]:
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
