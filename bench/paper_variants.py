"""Where the paper, its published code and this package differ, in figures: one graph (iswc unless named), one row per reading of the paper.

Scores are in-graph type prediction at μ = 10, with the neighbours' type vectors summed (the formula) and united (the published code), and
cluster purity as mean over clusters with the noise as one (the published code), as the sum that the formula prints, and by size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import common
from pyke.config import Config
from pyke.errors import DivergedError
from pyke.evaluate import Measures, measure_in_graph
from pyke.evaluate.type_prediction import TypeTable
from pyke.graph import Floats, Graph
from pyke.pipeline import Run
from pyke.progress import Progress
from pyke.search import nearest_of_many

MU = 10
READINGS: dict[str, dict[str, Any]] = {
    "Algorithm 1 as printed": {"name": "paper", "rescale": False},
    "… ω = 0.45557, as in the notebooks": {"name": "paper", "rescale": False, "omega": 0.45557},
    "… rescaled after each iteration (preset paper)": {"name": "paper"},
    "… rescaled, ω = 0.45557": {"name": "paper", "omega": 0.45557},
    "… repulsion along the line": {"name": "paper", "repulsion": "radial"},
    "PPMI springs, mass = stiffness": {"similarity": "ppmi"},
    "context springs, mass = stiffness (default)": {},
    "context springs, mass = unit": {"mass": "unit"},
}


def united_score(vectors: Floats, table: TypeTable) -> float:
    """The mean cosine between a subject's types and the union of its neighbours'."""
    points = np.ascontiguousarray(vectors[table.subjects])
    found = nearest_of_many(points, points, MU, np.arange(len(table)), threads=Config().threads).ids
    types = [set(table.classes[a:b].tolist()) for a, b in zip(table.offsets[:-1], table.offsets[1:], strict=True)]
    unions = [set().union(*(types[y] for y in row)) for row in found.tolist()]
    return float(np.mean([len(own & union) / np.sqrt(len(own) * len(union)) for own, union in zip(types, unions, strict=True)]))


def row_of(title: str, graph: Graph, parameters: dict[str, Any]) -> dict[str, Any]:
    try:
        vectors = Run(None, Config.preset(**parameters)).embed_graph(graph).vectors
    except DivergedError as error:
        return {"reading": title, "outcome": str(error).split(".")[0]}
    found = measure_in_graph(vectors, graph.types, Measures(mu=[MU]), Progress())
    assert found.purity
    scores = {"summed": found.types.scores[MU], "united": united_score(vectors, TypeTable.of(graph.types))}
    purity = {"mean": found.purity.mean, "sum": found.purity.total, "by size": found.purity.weighted, "noise": found.purity.noise}
    return {"reading": title, "outcome": "rests", **scores, **purity, "clusters": found.purity.clusters}


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graph", default="iswc")
    options = parser.parse_args()
    graph = Run(common.graph(options.data, options.graph), Config(on_error="skip")).read()
    rows = [row_of(title, graph, {"name": "default", **parameters}) for title, parameters in READINGS.items()]
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
