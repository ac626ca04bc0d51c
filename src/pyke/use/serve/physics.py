"""Answers about the simulation: its film, and what pulls and pushes one term."""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.responses import Response

from pyke.core.arrays import Floats, Ids
from pyke.core.progress import Progress
from pyke.use.maps.animation import simulated_frames
from pyke.use.maps.view import View
from pyke.use.physics import Force, Physics, find_physics
from pyke.use.serve.answers import finished_numbers, json_answer, number_bytes
from pyke.use.serve.child import Answer, Impossible
from pyke.use.serve.explorer import Explorer
from pyke.use.serve.maps import coordinates_of

FILM_POINTS = 3_000


def film(explorer: Explorer, dimensions: int) -> Response:
    """Positions of a sample after each iteration."""
    return finished_numbers(explorer.once("film", prepare_film, dimensions).result())


def prepare_film(explorer: Explorer, dimensions: int, progress: Progress) -> Answer:
    """Run the simulation again."""
    if explorer.embedding.manifest.get("updates"):
        raise Impossible(
            "This embedding was updated: a simulation from the start would end elsewhere."
        )
    ids, view = explorer.sample(FILM_POINTS), View(three_d=dimensions == 3)
    iterations, frames = simulated_frames(explorer.embedding, view, ids, progress)
    head = np.array([len(iterations), len(ids), dimensions, *iterations], np.uint32)
    body = number_bytes(head, ids.astype(np.uint32), frames)
    return lambda _: body


def forces(explorer: Explorer, term: int, layout: str, dimensions: int) -> Response:
    """Springs with their constants σ, and repellers, with the places of their other ends."""
    explorer.check_term(term)
    coordinates = coordinates_of(explorer, layout, dimensions)
    physics: Physics = explorer.job(
        "forces", lambda progress: find_physics(explorer.embedding, progress)
    ).result()
    springs = [_force(explorer, one, coordinates) for one in physics.springs(term)]
    repellers = [_force(explorer, one, coordinates) for one in physics.repellers(term)]
    return json_answer({"term": term, "springs": springs, "repellers": repellers})


def _force(explorer: Explorer, force: Force, coordinates: Floats) -> dict[str, Any]:
    """A force as the page shows it; a context is at the weighted mean of its members."""
    place = np.average(coordinates[force.members], axis=0, weights=force.weights)

    def named(term: int | None) -> dict[str, Any] | None:
        return None if term is None else explorer.named(np.array([term], np.int32))[0]

    members: Ids = force.members
    return {
        "sigma": force.sigma,
        "at": [round(float(x), 5) for x in place],
        "members": len(members),
        "term": named(force.term),
        "predicate": named(force.predicate),
        "other": named(force.other),
        "is_subject": force.is_subject,
    }
