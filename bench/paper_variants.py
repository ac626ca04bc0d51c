"""Differences between the paper, its published code and this package, on one graph.

Scores are in-graph type prediction with 10 neighbours (μ). `summed` adds up the type vectors of the
neighbours (the formula), `united` takes their union (the published code). Cluster purity is the
mean over clusters with noise as one (the published code), the sum (the formula), and by size.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import common
from pyke.config import Config
from pyke.core.arrays import BLOCK_ROWS, Floats
from pyke.core.progress import Progress
from pyke.errors import DivergedError
from pyke.evaluate.measures import Measures, measure_in_graph
from pyke.graph.graph import Graph
from pyke.pipeline import Run, embed_graph
from pyke.pipeline.embed import find_forces
from pyke.pipeline.stages import Stages
from pyke.use.neighbours.search import nearest_of_many
from pyke.use.types.votes import TypeTable

MU = 10
READINGS: dict[str, dict[str, Any]] = {
    "Algorithm 1 as printed": {"name": "paper", "rescale": False},
    "… ω = 0.45557, as in the notebooks": {"name": "paper", "rescale": False, "omega": 0.45557},
    "… rescaled after each iteration (preset paper)": {"name": "paper"},
    "… rescaled, ω = 0.45557": {"name": "paper", "omega": 0.45557},
    "… repulsion along the line between particles": {"name": "paper", "repulsion": "radial"},
    "PPMI springs, mass = stiffness": {"similarity": "ppmi"},
    "context springs, mass = stiffness (default)": {},
    "context springs, mass = unit": {"mass": "unit"},
}


def published_update(graph: Graph, omega: float) -> Floats:
    """The update of the published code: points move in turn, and later points use new positions.

    σ is in bits. Coordinates are rescaled to [0, 1] after each iteration. It ends when the energy
    is 0 or the Frobenius norm changes by less than 0.01.
    """
    config = Config.preset("paper")
    springs, repellers = find_forces(graph, Stages(config))
    sigma = (springs.values / np.log(2))[:, None]
    e = np.random.default_rng(config.seed).random((springs.rows, config.dimensions))
    others = [repellers.of(x, BLOCK_ROWS) for x in range(springs.rows)]
    energy = 1.0
    while energy > 0:
        before = np.linalg.norm(e)
        for x in range(springs.rows):
            rows = slice(springs.offsets[x], springs.offsets[x + 1])
            pull, push = e[springs.columns[rows]] - e[x], e[others[x]] - e[x]
            pull[pull == 0] = push[push == 0] = 0.01
            e[x] += energy * ((pull * sigma[rows]).sum(axis=0) - omega * (1 / push).sum(axis=0))
        energy -= config.energy_release
        e = np.nan_to_num(e)
        e = (e - e.min(axis=0)) / (e.max(axis=0) - e.min(axis=0))
        if abs(before - np.linalg.norm(e)) < 0.01:
            break
    return e[: len(graph.terms)].astype(np.float32)


def united_score(vectors: Floats, table: TypeTable) -> float:
    """Mean cosine between the types of a subject and the union of its neighbours' types."""
    points = np.ascontiguousarray(vectors[table.subjects])
    found = nearest_of_many(points, points, MU, np.arange(len(table)), threads=Config().threads).ids
    types = [
        set(table.classes[a:b].tolist())
        for a, b in zip(table.offsets[:-1], table.offsets[1:], strict=True)
    ]
    unions = [set().union(*(types[y] for y in row)) for row in found.tolist()]
    return float(
        np.mean(
            [
                len(own & union) / np.sqrt(len(own) * len(union))
                for own, union in zip(types, unions, strict=True)
            ]
        )
    )


def row_of(title: str, graph: Graph, embed: Callable[[Graph], Floats]) -> dict[str, Any]:
    try:
        vectors = embed(graph)
    except DivergedError as error:
        return {"reading": title, "outcome": str(error).split(".")[0]}
    found = measure_in_graph(vectors, graph.types, Measures(mu=[MU]), Progress())
    assert found.purity
    scores = {
        "summed": found.types.scores[MU],
        "united": united_score(vectors, TypeTable.of(graph.types)),
    }
    purity = {
        "mean": found.purity.mean,
        "sum": found.purity.total,
        "by size": found.purity.weighted,
        "noise": found.purity.noise,
    }
    return {
        "reading": title,
        "outcome": "converges",
        **scores,
        **purity,
        "clusters": found.purity.clusters,
    }


def _simulated(graph: Graph, parameters: dict[str, Any]) -> Floats:
    return embed_graph(graph, Config.preset(**{"name": "default", **parameters})).vectors


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graph", default="iswc")
    options = parser.parse_args()
    graph = Run(common.graph(options.data, options.graph), Config(on_error="skip")).read()
    rows = [
        row_of(title, graph, partial(_simulated, parameters=parameters))
        for title, parameters in READINGS.items()
    ]
    for omega in (1.45557, 0.45557):
        title = f"the published code's update, ω = {omega}"
        rows.append(row_of(title, graph, partial(published_update, omega=omega)))
    columns = {
        "reading": "",
        "outcome": "",
        "summed": ".3f",
        "united": ".3f",
        "mean": ".3f",
        "sum": ".2f",
        "by size": ".3f",
        "noise": ".0%",
        "clusters": "",
    }
    common.finish(columns, rows, [], options.json)


if __name__ == "__main__":
    main()
