"""The coordinates of a map: principal components, or the simulation in two or three dimensions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pyke.config import Config
from pyke.core.arrays import Floats, Matrix, Repellers
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import DivergedError
from pyke.pipeline.embed import find_forces
from pyke.pipeline.stages import Stages
from pyke.simulation import anneal
from pyke.use.maps import figure
from pyke.use.maps.frame import extent_of
from pyke.use.maps.selection import Selection
from pyke.use.maps.spread import same_springs, spread, turned
from pyke.use.maps.view import View
from pyke.use.neighbours import search

ELEVATION, TURN = 22.0, -58.0  # degrees: where three dimensions are viewed from


def layout(embedding: Embedding, view: View, progress: Progress) -> list[figure.Panel]:
    """Coordinates of all terms; with `before_and_after`, those of the random start come first."""
    axes = search.principal_axes(embedding.vectors, 3 if view.three_d else 2)
    result = figure.Panel("", search.project_on(embedding.vectors, *axes))
    if view.method != "pca":
        result = simulated_panel(embedding, result.points, progress)
    if not view.before_and_after:
        return [result]
    config = embedding.config()
    if config.init == "svd":
        title, start = "start", anneal.start(_forces(embedding, config, progress)[0], config)
    else:
        title, start = "random start", anneal.random_start(len(embedding), config)
    start = np.ascontiguousarray(start[: len(embedding), : config.dimensions])
    before = figure.Panel(title, search.project_on(start, *axes))
    return [before, replace(result, title="after the simulation")]


def simulated(embedding: Embedding, points: Floats, progress: Progress) -> Floats:
    """The points of `simulated_panel`."""
    return simulated_panel(embedding, points, progress).points


def simulated_panel(embedding: Embedding, points: Floats, progress: Progress) -> figure.Panel:
    """Run the simulation in the dimensions of `points`, which are the start.

    The springs are those of the embedding. In two dimensions, terms with the same springs are
    spread over a disc, and the map is turned to fill a wide frame.
    """
    config = embedding.config(dimensions=points.shape[1])
    forces = _forces(embedding, config, progress)
    start = anneal.random_start(forces[0].rows, config)
    start[: len(points), : config.dimensions] = points
    start[len(points) :] = 0  # contexts start at the weighted mean of their terms
    placed = np.arange(len(start)) < len(points)
    anneal.place_at_weighted_mean(forces[0], start, placed, config.threads)
    progress.stage("simulation", anneal.planned_iterations(config), "iterations")
    try:
        state = anneal.State(start, ())
        result = anneal.simulate(*forces, config, progress, state, terms=len(points))
    except DivergedError:
        raise DivergedError(
            f"the simulation diverged in {config.dimensions} dimensions. "
            'Use `method="pca"`, which needs no simulation.'
        ) from None
    ended = np.ascontiguousarray(result.positions[: len(points), : config.dimensions])
    if config.dimensions != 2:
        return figure.Panel("", ended)
    numbers = same_springs(forces[0], len(points))
    return figure.Panel("", turned(spread(ended, numbers)), same=numbers)


def _forces(embedding: Embedding, config: Config, progress: Progress) -> tuple[Matrix, Repellers]:
    """Springs and repellers of the graph of an embedding."""
    clusters = np.array(embedding.term_clusters)
    return find_forces(embedding.graph(), Stages(config, progress), clusters)


def selected_panel(panel: figure.Panel, selection: Selection) -> figure.Panel:
    """The selected points of a panel in the plane; three dimensions with a box around them."""
    points = panel.points[selection.ids]
    if points.shape[1] == 2:
        same = None if panel.same is None else panel.same[selection.ids]
        return figure.Panel(panel.title, points, same=same)
    requested = selection.labels[: selection.requested]
    extent = extent_of(points, [row for row, _ in requested])
    corners = np.array(
        [[extent[at >> 2, 0], extent[at >> 1 & 1, 1], extent[at & 1, 2]] for at in range(8)],
        np.float32,
    )
    pairs = [(a, b) for a in range(8) for b in range(a) if (a ^ b).bit_count() == 1]
    edges = [flat(corners[list(pair)]) for pair in pairs]
    return figure.Panel(panel.title, flat(points), edges)


def flat(points: Floats) -> Floats:
    """Points in the plane; three dimensions are viewed from the side and above, in parallel."""
    if points.shape[1] == 2:
        return points
    turn, tilt = np.radians([TURN, ELEVATION])
    right = np.array([-np.sin(turn), np.cos(turn), 0.0])
    up = np.array([-np.cos(turn) * np.sin(tilt), -np.sin(turn) * np.sin(tilt), np.cos(tilt)])
    in_plane: Floats = (points @ np.column_stack([right, up])).astype(np.float32)
    return in_plane
