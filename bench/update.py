"""Updates compared with new embeddings: scores and seconds when 5 % of the triples come later.

The late triples are random ones, or all triples of random subjects. The types of 20 % of the typed
subjects are withheld from all embeddings, and predicted with 10 neighbours (μ). `new` embeds all
triples; `update` adds the late ones to an embedding of the others. Seconds are from the N-Triples
file to the embedding in memory, best of all runs, in one process. A simulation uses all cores, and
much of an update uses one: `CPU ratio` compares the work. Scores are means over --seeds, which draw
the withheld types, the late triples and the start positions; `worst` is the largest loss.
Targets: 10 times as fast, and a score at most .01 lower. Triples with blank nodes are never late:
another file cannot name them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import common
from pyke.config import Config
from pyke.embedding.embedding import Embedding
from pyke.evaluate.type_prediction import score
from pyke.graph.graph import LITERAL, Graph
from pyke.pipeline import Run
from pyke.pipeline.update import update
from pyke.use.types.held_out import Split, split
from pyke.use.types.votes import TypeTable

LATE, MU = 0.05, 10
MIN_RATIO, MAX_LOSS = 10.0, 0.01


def late_triples(graph: Graph, which: str, seed: int) -> NDArray[np.bool_]:
    """About 5 % of the triples: random ones, or all triples of random subjects."""
    random = np.random.default_rng(seed)
    late = (
        random.random(len(graph)) < LATE
        if which == "triples"
        else (random.random(len(graph.terms)) < LATE)[graph.subjects]
    )
    blank = np.array([term.startswith("_:") for term in graph.terms])
    late &= ~blank[graph.subjects] & (graph.objects != LITERAL)
    late[late] &= ~blank[graph.objects[late]]
    return late


def write_lines(graph: Graph, chosen: NDArray[np.bool_], path: Path) -> None:
    names = [term if term.startswith("_:") else f"<{term}>" for term in graph.terms]
    with path.open("w") as file:
        file.writelines(
            f"{names[s]} {names[p]} {names[o]} .\n" for s, p, o in graph.triples(chosen).tolist()
        )


def held_out_score(embedding: Embedding, parts: Split, threads: int) -> float:
    """Score of the withheld types. The ids of subjects differ between embeddings."""
    number = {term: i for i, term in enumerate(embedding.terms)}

    def in_embedding(table: TypeTable) -> TypeTable:
        ids = [
            number.get(parts.graph.terms[subject], -1) if subject >= 0 else -1
            for subject in table.subjects.tolist()
        ]
        return replace(table, subjects=np.array(ids, np.int32))

    known = in_embedding(parts.known)
    known = known.rows(np.flatnonzero(known.subjects >= 0))
    return score(
        embedding.vectors, known, in_embedding(parts.asked), mu=[MU], threads=threads
    ).scores[MU]


def best(work: Callable[[], Embedding], runs: int) -> tuple[Embedding, float, float]:
    """The embedding, and the minimum of seconds and of CPU seconds."""
    seconds, processor = [], []
    for _ in range(runs):
        began, used = time.perf_counter(), time.process_time()
        made = work()
        seconds.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    return made, min(seconds), min(processor)


def measure(parts: Split, which: str, config: Config, runs: int) -> dict[str, Any]:
    late = late_triples(parts.graph, which, config.seed)
    with tempfile.TemporaryDirectory() as folder:
        early, later, everything = (
            Path(folder) / name for name in ("early.nt", "later.nt", "everything.nt")
        )
        for chosen, path in ((~late, early), (late, later), (np.ones_like(late), everything)):
            write_lines(parts.graph, chosen, path)
        before = Run(early, config).embed()
        new, new_seconds, new_cpu = best(lambda: Run(everything, config).embed(), runs)
        updated, seconds, cpu = best(lambda: update(before, later, threads=config.threads), runs)
    change = updated.manifest["updates"][-1]
    scores = {
        name: held_out_score(made, parts, config.threads)
        for name, made in (("before", before), ("new", new), ("update", updated))
    }
    counts = {
        "triples": len(late),
        "added": change["added"],
        "new terms": change["new_terms"],
        "placed": change["placed_terms"],
    }
    return {
        **counts,
        **scores,
        "new s": new_seconds,
        "update s": seconds,
        "new cpu": new_cpu,
        "update cpu": cpu,
    }


def summary(measured: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts of the first seed, means of scores, minimum seconds."""
    means = {
        name: float(np.mean([row[name] for row in measured]))
        for name in ("before", "new", "update")
    }
    minimum = {
        name: min(row[name] for row in measured)
        for name in ("new s", "update s", "new cpu", "update cpu")
    }
    worst = min(row["update"] - row["new"] for row in measured)
    ratios = {
        "times as fast": minimum["new s"] / minimum["update s"],
        "CPU ratio": minimum["new cpu"] / minimum["update cpu"],
    }
    return {**measured[0], **means, "worst": worst, **minimum, **ratios}


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graphs", nargs="+", default=["codex-m", "wikipathways", "wordnet30"])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    common.warm_up()
    rows: list[dict[str, Any]] = []
    misses: list[str] = []
    for name in options.graphs:
        configs = [
            Config(on_error="skip", threads=options.threads, seed=seed)
            for seed in range(options.seeds)
        ]
        graph = Run(common.graph(options.data, name), configs[0]).read()
        splits = [split(graph, 0.2, config.seed, config.type_predicate) for config in configs]
        for which in ("triples", "subjects"):
            row = summary(
                [
                    measure(parts, which, config, options.runs)
                    for parts, config in zip(splits, configs, strict=True)
                ]
            )
            rows.append({"graph": name, "late": which, **row})
            if row["times as fast"] < MIN_RATIO:
                ratio = f"{row['times as fast']:.1f} times as fast, target {MIN_RATIO:.0f}"
                misses.append(f"{name}, late {which}: {ratio}")
            if row["update"] < row["new"] - MAX_LOSS:
                misses.append(
                    f"{name}, late {which}: score {row['update']:.4f}, new {row['new']:.4f}"
                )
    columns = {
        "graph": "", "late": "", "triples": ",", "added": ",", "new terms": ",", "placed": ",",
        "before": ".4f", "new": ".4f", "update": ".4f", "worst": "+.4f", "new s": ".2f",
        "update s": ".2f", "times as fast": ".1f", "CPU ratio": ".1f",
    }  # fmt: skip
    common.finish(columns, rows, misses, options.json)


if __name__ == "__main__":
    main()
