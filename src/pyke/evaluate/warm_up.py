"""Compile every kernel once, by running each feature on a tiny graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pyke.core.progress import Progress
from pyke.embedding.embedding import load
from pyke.evaluate import evaluate, lubm
from pyke.pipeline.embed import embed
from pyke.pipeline.update import update

MEMBERS = 40  # of each class: enough for a cluster
CLASSES = ("baker", "smith", "weaver")


def compile_all(folder: Path, progress: Progress) -> None:
    """Run embed, update, types, clusters, neighbours, scores and LUBM; `folder` is scratch space."""
    progress.stage("embed")
    embed(_graph(), dimensions=50, preset="paper")
    embed(_graph(), dimensions=50).save(folder / "embedding")
    embedding = load(folder / "embedding")
    progress.stage("update")
    update(embedding, np.array([["http://e/new", "http://e/uses", "http://e/baker/tool0"]]))
    progress.stage("neighbours")
    embedding.nearest_of_many(np.arange(len(embedding)), 5, exact=True)
    progress.stage("types")
    embedding.predict_types(min_confidence=0)
    progress.stage("clusters")
    for exact in (True, False):
        embedding.clusters(5, 5, exact=exact)
    progress.stage("scores")
    evaluate(embedding)
    progress.stage("LUBM")
    lubm.read(lubm.Universities(1))
    next(lubm.lines(lubm.Universities(1), literals=False))


def _graph() -> np.ndarray[tuple[int, int], np.dtype[np.str_]]:
    """Members of three crafts, their tools, and one untyped member of each."""
    rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    rows = []
    for craft in CLASSES:
        for m in range(MEMBERS):
            who = f"http://e/{craft}/{m}"
            rows.append((who, "http://e/uses", f"http://e/{craft}/tool{m % 4}"))
            rows.append((who, "http://e/knows", f"http://e/{craft}/{(7 * m + 1) % MEMBERS}"))
            if m:
                rows.append((who, rdf_type, f"http://e/{craft}"))
    return np.array(rows)
