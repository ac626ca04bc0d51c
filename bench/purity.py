"""Cluster purity, and what changes it: iterations, repulsion, springs, starts, order of updates.

Purity is the paper's second measure: HDBSCAN with clusters of at least 26 and 29 samples on the
vectors of all typed subjects, weighted by size, with noise as one cluster. Clusters of more than
200,000 subjects are approximate. `pure` is the purity without noise, `largest` the largest share
that one impure cluster takes from the purity. Scores are with 10 neighbours (μ) of at most --asked
subjects: in-graph, and held-out without the types of 20 % of the subjects. `facts` is top-1 of
another predicate, withheld in the same way: what vectors tell besides types. Time is CPU seconds of
springs and simulation relative to the first variant.
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import common
from predictors import read
from pyke.config import PRESETS, Config
from pyke.core.arrays import Floats, Ids
from pyke.evaluate.purity import cluster_purities, purity
from pyke.evaluate.rivals.builtin import factorise
from pyke.evaluate.type_prediction import TypePrediction, score
from pyke.graph.changes import remove_triples
from pyke.graph.graph import LITERAL, Graph
from pyke.graph.roles import states_type
from pyke.pipeline import embed_graph
from pyke.springs.ppmi import ppmi_similarities
from pyke.use.clusters.hdbscan import hdbscan
from pyke.use.types.held_out import split
from pyke.use.types.votes import TypeTable
from springs import in_graph, some

GRAPHS = ("iswc", "codex-m", "wikipathways", "lubm", "wordnet30", "pleiades")
MU = 10

Embed = Callable[[Graph, Config], Floats]


def plain(graph: Graph, config: Config) -> Floats:
    return embed_graph(graph, config).vectors


def normalised(graph: Graph, config: Config) -> Floats:
    """Vectors of length 1."""
    vectors = plain(graph, config)
    return np.asarray(vectors / np.maximum(1e-12, np.linalg.norm(vectors, axis=1, keepdims=True)))


def whitened(graph: Graph, config: Config) -> Floats:
    """Principal components with the same variance."""
    vectors = plain(graph, config).astype(np.float64)
    vectors -= vectors.mean(axis=0)
    values, axes = np.linalg.eigh(vectors.T @ vectors / len(vectors))
    points: Floats = (vectors @ (axes / np.sqrt(np.maximum(values, 1e-12)))).astype(np.float32)
    return points


def factorised(graph: Graph, config: Config) -> Floats:
    """Truncated SVD of the PPMI matrix, a rival; the type weight multiplies subject and class."""
    pairs = ppmi_similarities(graph)
    stated = np.isin(_keys(pairs.first, pairs.second), _keys(*graph.types.T))
    weights = np.where(stated, config.type_weight, 1).astype(np.float32)
    return factorise(replace(pairs, values=pairs.values * weights), config)


def _keys(first: Ids, second: Ids) -> Any:
    low, high = np.minimum(first, second), np.maximum(first, second)
    return low.astype(np.int64) << 32 | high


VARIANTS: dict[str, tuple[dict[str, Any], Embed]] = {
    "default": ({}, plain),
    "Δe = .03": ({"energy_release": 0.03}, plain),
    "Δe = .02": ({"energy_release": 0.02}, plain),
    "Δe = .01": ({"energy_release": 0.01}, plain),
    "ω = .1": ({"omega": 0.1}, plain),
    "ω = 10": ({"omega": 10.0}, plain),
    "no repellers": ({"repellers": 0}, plain),
    "20 repellers": ({"repellers": 20}, plain),
    "no repulsion in the last 3": ({"repel_above": 0.12}, plain),
    "no repulsion in the last 5": ({"repel_above": 0.2}, plain),
    "no repulsion in the last 10": ({"repel_above": 0.4}, plain),
    "--preset clusters": (PRESETS["clusters"], plain),
    **{f"--type-weight {w}": ({"type_weight": w}, plain) for w in (2, 4, 8, 16)},
    **{
        f"--preset clusters --type-weight {w}": ({**PRESETS["clusters"], "type_weight": w}, plain)
        for w in (2, 4, 8, 16)
    },
    "alternating, no repulsion in the last 5": (
        {"updates": "alternating", "repel_above": 0.2},
        plain,
    ),
    "20 dimensions": ({"dimensions": 20}, plain),
    "100 dimensions": ({"dimensions": 100}, plain),
    "300 clusters": ({"clusters": 300}, plain),
    "300 clusters, Δe = .02": ({"clusters": 300, "energy_release": 0.02}, plain),
    "svd": ({"init": "svd"}, plain),
    "alternating": ({"updates": "alternating"}, plain),
    "stochastic, Δe = .0207": ({"updates": "stochastic", "energy_release": 0.0207}, plain),
    "svd, alternating": ({"init": "svd", "updates": "alternating"}, plain),
    "SVD of PPMI": ({}, factorised),
    "SVD of PPMI, types × 8": ({"type_weight": 8}, factorised),
    "length 1": ({}, normalised),
    "whitened": ({}, whitened),
}


def other_predicate(graph: Graph, type_predicate: str) -> str:
    """The predicate with most triples, of those whose objects have ten subjects in the mean."""
    linked = (graph.objects != LITERAL) & ~states_type(graph, type_predicate)
    positions, objects = graph.predicate_positions[linked], graph.objects[linked]
    number = len(graph.predicates)
    triples = np.bincount(positions, minlength=number)
    different = np.unique(np.column_stack([positions, objects]), axis=0)[:, 0]
    shared = triples >= 10 * np.bincount(different, minlength=number)
    return graph.terms[int(graph.predicates[np.argmax(triples * shared)])]


def held_out(
    graph: Graph, config: Config, embed: Embed, predicate: str, asked: int
) -> TypePrediction:
    """Withhold the objects of a predicate of 20 % of its subjects, and predict them."""
    nothing = np.zeros(len(graph), bool)
    named, _ = remove_triples(graph, nothing, predicate, keep_all_terms=True)
    parts = split(named, 0.2, config.seed, predicate)
    truth = parts.asked.rows(some(parts.asked, asked))
    options: dict[str, Any] = {"mu": [MU], "exact": True, "threads": config.threads}
    return score(embed(parts.graph, config), parts.known, truth, **options)


def clustered(vectors: Floats, graph: Graph, threads: int) -> dict[str, Any]:
    """Purity of the clusters of all typed subjects."""
    table = TypeTable.of(graph.types)
    clustering = hdbscan(vectors[table.subjects], threads=threads)
    found = purity(clustering, table)
    sizes, purities = cluster_purities(clustering.labels, table)
    shares = (sizes * (1 - purities) / len(table))[int(found.noise > 0) :]
    return {
        "purity": found.weighted,
        "pure": found.weighted_without_noise,
        "largest": float(shares.max(initial=0)),
        "clusters": found.clusters,
        "noise": found.noise,
    }


def measure(graph: Graph, config: Config, embed: Embed, options: Namespace) -> dict[str, Any]:
    began = time.process_time()
    vectors = embed(graph, config)
    seconds, asked = time.process_time() - began, options.asked
    held = held_out(graph, config, embed, config.type_predicate, asked)
    other = held_out(graph, config, embed, other_predicate(graph, config.type_predicate), asked)
    assert held.votes
    assert other.votes
    return {
        **({} if options.scores_only else clustered(vectors, graph, config.threads)),
        "in-graph": in_graph(vectors, graph.types, asked),
        "held-out": held.scores[MU],
        "top-1": held.votes.top_1,
        "facts": other.votes.top_1,
        "seconds": seconds,
    }


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS))
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--asked", type=int, default=5000, help="subjects to predict [5000]")
    parser.add_argument("--scores-only", action="store_true", help="no clusters")
    options = parser.parse_args()
    if unknown := set(options.variants) - {*VARIANTS}:
        common.stop(f"no variants: {', '.join(unknown)}; there are: {', '.join(VARIANTS)}")
    rows: list[dict[str, Any]] = []
    for name in options.graphs:
        graph = read(options.data, name)
        embed_graph(graph, Config(max_iterations=1, clusters=10))  # loads the kernels
        for seed in options.seeds:
            base = 0.0
            for title in options.variants:
                settings, embed = VARIANTS[title]
                row = measure(graph, Config(seed=seed, **settings), embed, options)
                base = base or row["seconds"]
                row |= {"graph": name, "seed": seed, "variant": title}
                rows.append(row | {"time": row["seconds"] / base})
                print(rows[-1], file=sys.stderr, flush=True)
    columns = {
        "graph": "", "seed": "", "variant": "", "purity": ".3f", "pure": ".3f", "largest": ".3f",
        "clusters": "", "noise": ".0%", "in-graph": ".4f", "held-out": ".4f", "top-1": ".4f",
        "facts": ".4f", "time": ".2f",
    }  # fmt: skip
    common.finish(columns, rows, [], options.json)


if __name__ == "__main__":
    main()
