"""How well the nearest neighbours tell a term's types: the paper's type prediction score at μ = 10, default parameters.

Score: mean over x ∈ S of cos(type(x), Σ type(y) over the μ nearest y ∈ S other than x); neighbours are exact, by Euclidean
distance; at most 5,000 x are asked, drawn with a fixed seed, among all of S. The types are in the graph that is embedded, as in
the paper. With --held-out a random 20 % of S lose all their rdf:type triples before the embedding, and are predicted from the
nearest of the others; one that has no other triple has no vector and scores 0. Targets are for the first protocol.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import common
import pyke
from pyke.config import RDF_TYPE
from pyke.graph import Graph
from pyke.pipeline import Run

TARGETS = {"iswc": 0.97, "wikipathways": 0.975, "codex-m": 0.93, "wordnet30": 0.97}
MU, HELD_OUT, SEED = 10, 0.2, 7
CELLS = 1 << 26  # distances held at a time

Ids = NDArray[np.int64]
Vectors = NDArray[np.float32]
Table = NDArray[np.uint8]  # a row per subject, a column per class


def nearest(points: Vectors, queries: Vectors, own: Ids, count: int) -> Ids:
    """Rows of the `count` points nearest to each query, its own row left out (−1: it has none)."""
    middle = points.mean(axis=0, dtype=np.float64)
    centred = points - middle
    squares = np.einsum("ij,ij->i", centred, centred)
    found = np.empty((len(queries), count), np.int64)
    step = max(1, CELLS // len(points))
    for begin in range(0, len(queries), step):
        some = slice(begin, begin + step)
        distances = squares - 2 * ((queries[some] - middle) @ centred.T)  # less |x|², the same for all y
        with_own = np.flatnonzero(own[some] >= 0)
        distances[with_own, own[some][with_own]] = np.inf
        found[some] = np.argpartition(distances, count - 1, axis=1)[:, :count]
    return found


def score(points: Vectors, point_types: Table, queries: Vectors, query_types: Table, own: Ids) -> float:
    """Σ over the queries of the cosine between their types and their neighbours' types."""
    total = 0.0
    neighbours = nearest(points, queries, own, min(MU, len(points) - 1))
    for theirs, rows in zip(query_types.astype(np.float64), neighbours, strict=True):
        voted = point_types[rows].sum(axis=0, dtype=np.float64)
        total += float(theirs @ voted / np.sqrt((theirs @ theirs) * (voted @ voted)))
    return total


def type_table(types: NDArray[Any]) -> tuple[Ids, Table]:
    """Pairs (subject, class) → S, and a row of zeros and ones over C for each of it."""
    subjects, row = np.unique(types[:, 0], return_inverse=True)
    classes, column = np.unique(types[:, 1], return_inverse=True)
    table = np.zeros((len(subjects), len(classes)), np.uint8)
    table[row, column] = 1
    return subjects.astype(np.int64), table


def in_graph(path: Path, preset: str, options: Any) -> dict[str, Any]:
    """The paper's protocol."""
    embedding = pyke.embed(path, preset=preset, on_error="skip", seed=options.seed)
    subjects, table = type_table(embedding.types)
    asked = np.sort(np.random.default_rng(SEED).permutation(len(subjects))[: options.queries])
    points = embedding.vectors[subjects]
    return {"typed subjects": len(subjects), "asked": len(asked), "score": score(points, table, points[asked], table[asked], asked) / len(asked)}


def without_types(source: Path, target: Path, subjects: set[str]) -> None:
    """Copies N-Triples without the types of some subjects."""
    with gzip.open(source, "rt", encoding="utf-8", newline="\n") as lines, open(target, "w", encoding="utf-8", newline="\n") as copy:
        for line in lines:
            subject, predicate, _ = line.split(" ", 2)
            if predicate != f"<{RDF_TYPE}>" or subject.strip("<>") not in subjects:
                copy.write(line)


def held_out(path: Path, preset: str, options: Any) -> dict[str, Any]:
    """What someone with missing types needs."""
    full: Graph = Run(path, pyke.Config(on_error="skip")).read()
    subjects, table = type_table(full.types)
    hidden = np.sort(np.random.default_rng(SEED).permutation(len(subjects))[: round(HELD_OUT * len(subjects))])
    names = {int(row): full.terms[int(subjects[row])] for row in hidden}
    with tempfile.TemporaryDirectory() as folder:
        reduced = Path(folder) / "reduced.nt"
        without_types(path, reduced, set(names.values()))
        embedding = pyke.embed(reduced, preset=preset, on_error="skip", seed=options.seed)
    ids = {term: i for i, term in enumerate(embedding.terms)}
    known = [row for row in range(len(subjects)) if row not in names and full.terms[int(subjects[row])] in ids]
    if set(np.unique(embedding.types[:, 0]).tolist()) - {ids[full.terms[int(subjects[row])]] for row in known}:
        common.stop(f"{path.name}: types that should have been left out are still there")
    asked = hidden[np.sort(np.random.default_rng(SEED).permutation(len(hidden))[: options.queries])]
    found = [int(row) for row in asked if names[int(row)] in ids]
    points = embedding.vectors[[ids[full.terms[int(subjects[row])]] for row in known]]
    queries = embedding.vectors[[ids[names[row]] for row in found]]
    total = score(points, table[known], queries, table[found], np.full(len(found), -1))
    return {"typed subjects": len(subjects), "asked": len(asked), "without a vector": len(asked) - len(found), "score": total / len(asked)}


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(TARGETS))
    parser.add_argument("--held-out", action="store_true", help="predict types that were left out of the graph")
    parser.add_argument("--queries", type=int, default=5_000, help="most subjects asked [5000]")
    parser.add_argument("--seed", type=int, default=0, help="seed of the embedding [0]")
    options = parser.parse_args()
    measure = held_out if options.held_out else in_graph
    runs = [(graph, "default") for graph in options.graphs] + ([("iswc", "paper")] if "iswc" in options.graphs else [])
    rows: list[dict[str, Any]] = []
    for graph, preset in runs:
        target = TARGETS.get(graph) if preset == "default" and not options.held_out else None
        rows.append({"graph": graph, "preset": preset, **measure(common.graph(options.data, graph), preset, options), "target": target})
    misses = [f"{row['graph']}: {row['score']:.4f}, not {row['target']}" for row in rows if row["target"] and row["score"] < row["target"]]
    columns = {"graph": "", "preset": "", "typed subjects": ",", "asked": ",", "score": ".4f"}
    common.finish(columns | ({"without a vector": ","} if options.held_out else {"target": ".3f"}), rows, misses, options.json)


if __name__ == "__main__":
    main()
