"""Answers for the map: coordinates, groups of points with their legend, and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.responses import Response

from pyke.core.arrays import Floats, Ids
from pyke.core.progress import Progress
from pyke.use.maps.layout import simulated
from pyke.use.neighbours import search
from pyke.use.serve import limits
from pyke.use.serve.answers import Refused, json_answer, numbers_answer
from pyke.use.serve.child import Answer
from pyke.use.serve.explorer import Explorer
from pyke.use.serve.groups import GroupsOfTerms, group_by
from pyke.use.serve.jobs import Job

LAYOUTS = ("components", "simulation")
LABELS = 80  # of the best-connected terms in a part of the map


def coordinates_of(explorer: Explorer, layout: str, dimensions: int) -> Floats:
    """Coordinates of all terms, (terms, dimensions)."""
    start = _components(explorer, dimensions)
    job = start

    def simulation(progress: Progress) -> Floats:
        start.wait(limits.SECONDS)
        return simulated(explorer.embedding, start.result(), progress)

    if layout == "components":
        start.wait(limits.SECONDS)
    else:
        job = explorer.job(f"simulation {dimensions}", simulation)
    found: Floats = job.result()
    return found


def _components(explorer: Explorer, dimensions: int) -> Job:
    """The principal components of the vectors."""

    def compute(_: Progress) -> Floats:
        axes = search.principal_axes(explorer.vectors, dimensions)
        return search.project_on(explorer.vectors, *axes)

    return explorer.job(f"components {dimensions}", compute, quick=True)


def warm_up(explorer: Explorer) -> None:
    """Start what the first picture needs, and then the indexes."""
    _components(explorer, 2).start()
    _groups(explorer, "type").start()
    explorer.start_indexes()
    explorer.job("labels", lambda _: explorer.popular_entities, quick=True).start()


def points(
    explorer: Explorer, layout: str, dimensions: int, box: list[float] | None, limit: int
) -> Response:
    """Count, dimensions, ids and coordinates of points, in the box if one is given.

    If there are more than `limit`, it is a sample: those of a fixed random order.
    """
    coordinates = coordinates_of(explorer, layout, dimensions)
    ids = explorer.sample(limit) if box is None else _inside(coordinates, box, dimensions)
    if len(ids) > limit:
        ids = np.sort(ids[np.argsort(explorer.sample_ranks[ids])[:limit]])
    head = np.array([len(ids), dimensions], np.uint32)
    return numbers_answer(head, ids.astype(np.uint32), coordinates[ids])


def _inside(coordinates: Floats, box: list[float], dimensions: int) -> Ids:
    if dimensions != 2:
        raise Refused(400, "invalid_parameter", "`box` is for maps with two dimensions.")
    left, low, right, high = box
    x, y = coordinates.T
    return np.flatnonzero((x >= left) & (x <= right) & (y >= low) & (y <= high)).astype(np.int32)


def grouping(explorer: Explorer, by: str) -> GroupsOfTerms:
    """The groups of all terms."""
    if by == "cluster":
        return GroupsOfTerms.from_bytes(explorer.once("clusters", prepare_clusters).result())
    job = _groups(explorer, by)
    job.wait(limits.SECONDS)
    found: GroupsOfTerms = job.result()
    return found


def prepare_clusters(explorer: Explorer, _: int, progress: Progress) -> Answer:
    """Find the clusters of all terms."""
    body = group_by(explorer.embedding, "cluster", progress).to_bytes()
    return lambda _: body


def _groups(explorer: Explorer, by: str) -> Job:
    """The groups by type or namespace."""

    def compute(progress: Progress) -> GroupsOfTerms:
        return group_by(explorer.embedding, by, progress)

    return explorer.job(f"groups by {by}", compute, quick=True)


def legend(explorer: Explorer, by: str) -> Response:
    """The groups of a map: name, number of terms; the class of a group, if it is one."""
    groups = grouping(explorer, by).legend
    return json_answer(
        {
            "by": by,
            "groups": [
                {"name": one.name, "iri": one.term, "count": one.count, "kind": one.kind}
                for one in groups
            ],
        }
    )


def groups(explorer: Explorer, by: str) -> Response:
    """The group of each term: one byte, its position in the legend."""
    return numbers_answer(grouping(explorer, by).groups)


def labels(
    explorer: Explorer,
    layout: str,
    dimensions: int,
    box: list[float] | None,
    by: str,
    hide: list[int],
) -> Response:
    """The best-connected terms of a part of the map, with their coordinates."""
    coordinates = coordinates_of(explorer, layout, dimensions)
    popular = explorer.popular_entities
    if box is not None:
        inside = np.zeros(len(coordinates), bool)
        inside[_inside(coordinates, box, dimensions)] = True
        popular = popular[inside[popular]]
    if hide:
        popular = popular[~np.isin(grouping(explorer, by).groups[popular], hide)]
    chosen = _distinct(explorer, popular)
    places = coordinates[[one["id"] for one in chosen]]
    return json_answer(
        {
            "labels": [
                {"id": one["id"], "text": one["name"], "at": [round(float(x), 5) for x in place]}
                for one, place in zip(chosen, places, strict=True)
            ]
        }
    )


def _distinct(explorer: Explorer, popular: Ids) -> list[dict[str, Any]]:
    """The first terms, of those with the same name one."""
    seen: dict[str, dict[str, Any]] = {}
    for one in explorer.named(popular[: 3 * LABELS]):
        seen.setdefault(one["name"], one)
    return list(seen.values())[:LABELS]
