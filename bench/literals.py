"""Literals as contexts: scores, CPU seconds and memory of each kind of `--literals`.

Each row is a process of its own: it embeds a graph with its types (in-graph, the paper's protocol),
and without the types of 20 % of the subjects (held-out). Scores are means over the seeds. Seconds
are CPU seconds of all threads from file to vectors, peak is the memory of these stages; both are
ratios to the row without literals. Large graphs ask 5,000 of the withheld subjects.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import common
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.evaluate import Measures
from pyke.evaluate.measures import measure_held_out, measure_in_graph
from pyke.pipeline import Run, embed_graph
from pyke.use.types.held_out import split

GRAPHS = ("iswc", "wikipathways", "wordnet30", "pleiades")
KINDS = ("", "values", "words", "numbers", "values,words,numbers")
MAX_ASKED = 5000
SCORES = ("held-out μ=1", "held-out μ=10", "top-1", "in-graph μ=10")


def measure(path: Path, literals: str, seed: int) -> dict[str, float]:
    """Scores and cost of one kind."""
    config = Config(on_error="skip", seed=seed, literals=literals)
    measures, quiet = Measures(mu=[1, 10], purity=False, threads=config.threads), Progress()
    began = time.process_time()
    embedding = Run(path, config).embed()
    seconds = time.process_time() - began
    known = measure_in_graph(embedding.vectors, embedding.types, measures, quiet).types
    parts = split(embedding.graph(), 0.2, seed, config.type_predicate)
    if len(parts.asked) > MAX_ASKED:
        rows = np.linspace(0, len(parts.asked) - 1, MAX_ASKED).astype(np.int64)
        parts = replace(parts, asked=parts.asked.rows(rows))
    held = embed_graph(parts.graph, config)
    withheld = measure_held_out(held.vectors, parts, measures, quiet).types
    if withheld.votes is None:
        common.stop(f"{path} has nothing to predict")
    found = (withheld.scores[1], withheld.scores[10], withheld.votes.top_1, known.scores[10])
    return dict(zip(SCORES, found, strict=True)) | {
        "features": len(embedding.features),
        "seconds": seconds,
        "peak": max(stage["peak_bytes"] for stage in embedding.manifest["stages"]),
    }


def row(path: Path, name: str, literals: str, seeds: list[int]) -> dict[str, Any]:
    """Means over the seeds, each in a process of its own."""
    runs = []
    for seed in seeds:
        command = [sys.executable, __file__, "--one", str(path), literals, str(seed)]
        runs.append(json.loads(common.run(command).output))
    means = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    print(f"{name} {literals or 'none'} {means}", file=sys.stderr, flush=True)
    return {"graph": name, "literals": literals or "none"} | means


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graphs", nargs="+", default=GRAPHS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--one", nargs=3, help="a path, kinds of literals and a seed; prints JSON")
    options = parser.parse_args()
    if options.one:
        path, literals, seed = options.one
        print(json.dumps(measure(Path(path), literals, int(seed))))
        raise SystemExit(0)
    first = common.graph(options.data, options.graphs[0])
    row(first, "warm-up", KINDS[-1], options.seeds[:1])  # compiles the kernels
    rows: list[dict[str, Any]] = []
    for name in options.graphs:
        path = common.graph(options.data, name)
        found = [row(path, name, kinds, options.seeds) for kinds in KINDS]
        for one in found:
            one |= {"CPU s": one["seconds"] / found[0]["seconds"]}
            one |= {"memory": one["peak"] / found[0]["peak"], "features": int(one["features"])}
        rows += found
    columns = {"graph": "", "literals": "", "features": ",", **dict.fromkeys(SCORES, ".3f")}
    common.finish(columns | {"CPU s": ".2f", "memory": ".2f"}, rows, [], options.json)


if __name__ == "__main__":
    main()
