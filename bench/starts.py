"""Starts and orders of updates: scores, iterations and CPU seconds of `--init` and `--updates`.

Scores are with 10 neighbours (μ), of at most --asked subjects. Purity is exact and takes longest:
--no-purity. --only-complete leaves out the runs with half of the iterations. Time is CPU seconds of
springs, start and simulation, of all threads, relative to the first row of the same graph and seed.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import common
import pyke
from pyke.config import Config
from pyke.evaluate.purity import purity
from pyke.evaluate.type_prediction import score
from pyke.graph.graph import Graph
from pyke.pipeline import Run, embed_graph
from pyke.use.clusters.hdbscan import hdbscan
from pyke.use.types.held_out import split
from pyke.use.types.votes import TypeTable
from springs import in_graph, some

GRAPHS = ("iswc", "codex-m", "wikipathways", "wordnet30", "pleiades")
MU = 10
HALF = 0.0828  # energy released per iteration: 13 iterations instead of 25
WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"energy_release": HALF},
    {"init": "svd"},
    {"init": "svd", "energy_release": HALF},
    {"updates": "alternating"},
    {"updates": "alternating", "energy_release": HALF},
    {"init": "svd", "updates": "alternating", "energy_release": HALF},
    {"updates": "stochastic"},
    {"updates": "stochastic", "energy_release": 0.0207},
)


def weighted_purity(embedding: pyke.Embedding, threads: int) -> float:
    table = TypeTable.of(np.array(embedding.types))
    clustering = hdbscan(embedding.vectors[table.subjects], exact=True, threads=threads)
    return purity(clustering, table).weighted


def measure(graph: Graph, config: Config, with_purity: bool, asked: int) -> dict[str, Any]:
    began = time.process_time()
    embedding = embed_graph(graph, config)
    seconds = time.process_time() - began
    parts = split(graph, 0.2, config.seed, config.type_predicate)
    vectors = embed_graph(parts.graph, config).vectors
    truth = parts.asked.rows(some(parts.asked, asked))
    held = score(vectors, parts.known, truth, mu=[MU], exact=True, threads=config.threads)
    assert held.votes
    return {
        "init": config.init,
        "updates": config.updates,
        "iterations": len(embedding.manifest["history"]),
        "held-out": held.scores[MU],
        "top-1": held.votes.top_1,
        "in-graph": in_graph(embedding.vectors, embedding.types, asked),
        "purity": weighted_purity(embedding, config.threads) if with_purity else None,
        "seconds": seconds,
    }


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--asked", type=int, default=5000, help="subjects to predict [5000]")
    parser.add_argument("--no-purity", action="store_true")
    parser.add_argument("--only-complete", action="store_true")
    options = parser.parse_args()
    halves = {HALF} if options.only_complete else set()
    ways = [way for way in WAYS if way.get("energy_release") not in halves]
    if options.only_complete:  # a random half of the particles needs twice the iterations
        ways.remove({"updates": "stochastic"})
    rows: list[dict[str, Any]] = []
    for name in options.graphs:
        graph = Run(common.graph(options.data, name), Config(on_error="skip")).read()
        for way in ways:  # loads the kernels
            embed_graph(graph, Config(**{**way, "max_iterations": 1}))
        for seed in options.seeds:
            base = 0.0
            for way in ways:
                config = Config(seed=seed, **way)
                row = measure(graph, config, not options.no_purity, options.asked)
                base = base or row["seconds"]
                rows.append({"graph": name, "seed": seed, **row, "time": row["seconds"] / base})
                print(rows[-1], file=sys.stderr, flush=True)
    columns = {
        "graph": "", "seed": "", "init": "", "updates": "", "iterations": "", "held-out": ".4f",
        "top-1": ".4f", "in-graph": ".4f", "purity": ".3f", "time": ".2f",
    }  # fmt: skip
    common.finish(columns, rows, [], options.json)


if __name__ == "__main__":
    main()
