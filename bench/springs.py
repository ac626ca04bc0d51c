"""Coarse contexts: scores, time and memory with different numbers of clusters.

Scores are with 10 neighbours (μ), of at most --asked typed subjects. In-graph is the paper's
protocol. Held-out withholds all types of 20 % of the subjects before the embedding. Time is CPU
seconds of `pyke embed` with start, reading and writing. Time and memory are relative to 0 clusters.
LUBM is generated.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import common
import pyke
from pyke.config import Config
from pyke.core.arrays import Floats, Ids
from pyke.evaluate.type_prediction import score
from pyke.graph.graph import Graph
from pyke.pipeline import Run, embed_graph
from pyke.use.neighbours.search import nearest_of_many
from pyke.use.types import _kernels as types_kernels
from pyke.use.types.held_out import split
from pyke.use.types.votes import TypeTable

GRAPHS = ("iswc", "codex-m", "wikipathways", "wordnet30", "pleiades", "lubm")
UNIVERSITIES = 5
MU = 10
MAX_TIME, MAX_MEMORY = 2.2, 1.3  # relative to 0 clusters


def some(table: TypeTable, asked: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Evenly spaced rows of a table."""
    return np.linspace(0, len(table) - 1, min(asked, len(table))).astype(np.int64)


def in_graph(vectors: Floats, types: Ids, asked: int) -> float:
    """The paper's score of some typed subjects, each predicted from all others."""
    known = TypeTable.of(np.array(types))
    points = np.ascontiguousarray(vectors[known.subjects])
    rows = some(known, asked)
    found = nearest_of_many(points, points[rows], MU, rows, exact=True, threads=2)
    truth, each = known.rows(rows), np.empty((len(rows), 1))
    tables = (known.offsets, known.classes, truth.offsets, truth.classes)
    types_kernels.vote_scores(found.ids, *tables, np.array([MU]), 0, len(rows), each)
    return float(each.mean())


def path_of(data: Path, name: str, folder: Path) -> Path:
    """The file of a graph; LUBM is generated."""
    if name != "lubm":
        return common.graph(data, name)
    made = folder / "lubm.nt"
    common.run(common.pyke("lubm", str(UNIVERSITIES), "-o", made))
    return made


def measure(path: Path, graph: Graph, config: Config, asked: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        settings = ("--clusters", config.clusters, "--seed", config.seed, "--on-error", "skip")
        out = Path(folder) / "out"
        child = common.run(common.pyke("embed", path, "-o", out, *map(str, settings)))
        embedding = pyke.load(out)
        inside = in_graph(embedding.vectors, embedding.types, asked)
    parts = split(graph, 0.2, config.seed, config.type_predicate)
    vectors = embed_graph(parts.graph, config).vectors
    withheld = parts.asked.rows(some(parts.asked, asked))
    held = score(vectors, parts.known, withheld, mu=[MU], exact=True, threads=config.threads)
    assert held.votes
    return {
        "clusters": config.clusters,
        "held-out": held.scores[MU],
        "top-1": held.votes.top_1,
        "in-graph": inside,
        "cpu s": child.cpu_seconds,
        "bytes": child.peak_bytes,
    }


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS))
    parser.add_argument("--clusters", nargs="+", type=int, default=[0, 100, 300, 1000])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--asked", type=int, default=5000, help="subjects to predict [5000]")
    options = parser.parse_args()
    common.warm_up("--clusters", "10")
    rows: list[dict[str, Any]] = []
    misses: list[str] = []
    folder = tempfile.TemporaryDirectory()
    for name in options.graphs:
        path = path_of(options.data, name, Path(folder.name))
        graph = Run(path, Config(on_error="skip")).read()
        for seed in options.seeds:
            base: dict[str, Any] = {}
            for clusters in options.clusters:
                config = Config(on_error="skip", seed=seed, clusters=clusters)
                row = measure(path, graph, config, options.asked)
                base = base or row
                row |= {"graph": name, "seed": seed}
                row |= {
                    "time": row["cpu s"] / base["cpu s"],
                    "memory": row["bytes"] / base["bytes"],
                }
                rows.append(row)
                for what, limit in (("time", MAX_TIME), ("memory", MAX_MEMORY)):
                    if row[what] > limit:
                        misses.append(f"{name}, {clusters} clusters: {what} × {row[what]:.2f}")
    columns = {
        "graph": "", "seed": "", "clusters": ",", "held-out": ".4f", "top-1": ".4f",
        "in-graph": ".4f", "cpu s": ".1f", "time": ".2f", "memory": ".2f",
    }  # fmt: skip
    common.finish(columns, rows, misses, options.json)


if __name__ == "__main__":
    main()
