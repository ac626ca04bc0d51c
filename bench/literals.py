"""Literals as contexts: scores, CPU seconds and memory of each kind of `--literals`.

Each row is a process of its own: it embeds a graph with its types (in-graph, the paper's protocol),
and without the types of 20 % of the subjects (held-out). Scores are means over the seeds, of at
most --asked subjects. Seconds are CPU seconds of all threads from file to vectors, peak is the
memory of these stages; both are ratios to the row without literals.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import common
from pyke.config import Config
from pyke.evaluate.type_prediction import score
from pyke.pipeline import Run, embed_graph
from pyke.use.types.held_out import split
from springs import in_graph, some

GRAPHS = ("iswc", "wikipathways", "wordnet30", "pleiades")
KINDS = ("", "values", "words", "numbers", "values,words,numbers")
SCORES = ("held-out μ=1", "held-out μ=10", "top-1", "in-graph μ=10")


def measure(path: Path, literals: str, seed: int, asked: int) -> dict[str, float]:
    """Scores and cost of one kind."""
    config = Config(on_error="skip", seed=seed, literals=literals)
    began = time.process_time()
    embedding = Run(path, config).embed()
    seconds = time.process_time() - began
    inside = in_graph(embedding.vectors, embedding.types, asked)
    parts = split(embedding.graph(), 0.2, seed, config.type_predicate)
    truth = parts.asked.rows(some(parts.asked, asked))
    vectors = embed_graph(parts.graph, config).vectors
    held = score(vectors, parts.known, truth, mu=[1, 10], exact=True, threads=config.threads)
    if held.votes is None:
        common.stop(f"{path} has nothing to predict")
    found = (held.scores[1], held.scores[10], held.votes.top_1, inside)
    return dict(zip(SCORES, found, strict=True)) | {
        "features": len(embedding.features),
        "seconds": seconds,
        "peak": max(stage["peak_bytes"] for stage in embedding.manifest["stages"]),
    }


def row(path: Path, name: str, literals: str, options: Any) -> dict[str, Any]:
    """Means over the seeds, each in a process of its own."""
    runs = []
    for seed in options.seeds:
        settings = (path, literals, seed, options.asked)
        command = [sys.executable, __file__, "--one", *map(str, settings)]
        runs.append(json.loads(common.run(command).output))
    means = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    print(f"{name} {literals or 'none'} {means}", file=sys.stderr, flush=True)
    return {"graph": name, "literals": literals or "none"} | means


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graphs", nargs="+", default=GRAPHS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--kinds", nargs="+", default=KINDS, metavar="KINDS", help="'' for none")
    parser.add_argument("--asked", type=int, default=5000, help="subjects to predict [5000]")
    parser.add_argument("--one", nargs=4, help="path, kinds of literals, seed, asked; prints JSON")
    options = parser.parse_args()
    if options.one:
        path, literals, seed, asked = options.one
        print(json.dumps(measure(Path(path), literals, int(seed), int(asked))))
        raise SystemExit(0)
    common.warm_up("--literals", KINDS[-1])
    rows: list[dict[str, Any]] = []
    for name in options.graphs:
        path = common.graph(options.data, name)
        found = [row(path, name, kinds, options) for kinds in options.kinds]
        for one in found:
            one |= {"CPU s": one["seconds"] / found[0]["seconds"]}
            one |= {"memory": one["peak"] / found[0]["peak"], "features": int(one["features"])}
        rows += found
    columns = {"graph": "", "literals": "", "features": ",", **dict.fromkeys(SCORES, ".3f")}
    common.finish(columns | {"CPU s": ".2f", "memory": ".2f"}, rows, [], options.json)


if __name__ == "__main__":
    main()
