"""Compile every kernel once, by running each feature on a small graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pyke.config import Config
from pyke.core.progress import Progress
from pyke.embedding.embedding import load
from pyke.evaluate import evaluate, lubm
from pyke.evaluate.rivals.direct import spring_neighbours
from pyke.evaluate.rivals.registry import Job
from pyke.pipeline.embed import Run, embed, find_forces
from pyke.pipeline.stages import Stages
from pyke.pipeline.update import update
from pyke.simulation.anneal import Forces, simulate_forces
from pyke.simulation.layouts import Layout
from pyke.springs.events import event_similarities
from pyke.use.search import SearchIndex

# Enough members for the search of many neighbours and for an update that learns a linear map.
MEMBERS = 130
CLASSES = ("baker", "smith", "weaver")
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def compile_all(folder: Path, progress: Progress) -> None:
    """Run embed, update, types, clusters, scores and LUBM; `folder` is scratch space."""
    progress.stage("embed")
    embed(_graph(), dimensions=2, preset="paper")
    embed(_star(), dimensions=2, similarity="ppmi", repellers=20)
    event_similarities(np.zeros(2, np.int32), np.zeros(2, np.int32), number=1)
    embed(_graph(), dimensions=2, literals="words", clusters=3)
    embed(_graph(), dimensions=2, init="svd", updates="stochastic")
    for preset in ("default", "paper"):
        _simulate_in_quarters(Config.preset(preset, dimensions=2))
    embed(_graph(), dimensions=2).save(folder / "embedding")
    embedding = load(folder / "embedding")
    progress.stage("update")
    change = np.array([["http://e/new", "http://e/uses", "http://e/baker/tool0"]])
    update(embedding, change, _graph()[:2])
    progress.stage("neighbours")
    embedding.nearest_of_many(np.arange(len(embedding)), 5, exact=True)
    progress.stage("search")
    SearchIndex(embedding).find("a")
    progress.stage("types")
    embedding.predict_types(min_confidence=0)
    progress.stage("clusters")
    for exact in (True, False):
        embedding.clusters(5, 5, exact=exact)
    progress.stage("scores")
    evaluate(embedding)
    job = Job(embedding.graph(), embedding.config())
    spring_neighbours(job, np.unique(embedding.types[:, 0]))
    progress.stage("LUBM")
    one = lubm.Universities(1)
    lubm.read(one)
    for _ in lubm.lines(one, literals=False):
        pass


def _simulate_in_quarters(config: Config) -> None:
    """Simulate as a small memory limit does."""
    forces = find_forces(Run(_graph(), config).read(), Stages(config))
    held = Forces(*forces, config, Layout(quarters=True))
    simulate_forces(held, config, Progress())


def _graph() -> np.ndarray[tuple[int, int], np.dtype[np.str_]]:
    """Members of three crafts with their tools and labels; every second one has a type."""
    rows = []
    for craft in CLASSES:
        for m in range(MEMBERS):
            who = f"http://e/{craft}/{m}"
            rows.append((who, "http://e/uses", f"http://e/{craft}/tool{m % 4}"))
            rows.append((who, "http://e/knows", f"http://e/{craft}/{(7 * m + 1) % MEMBERS}"))
            rows.append((who, LABEL, f'"{craft} {m}"'))
            if m % 2:
                rows.append((who, RDF_TYPE, f"http://e/{craft}"))
    return np.array(rows)


def _star() -> np.ndarray[tuple[int, int], np.dtype[np.str_]]:
    """A hub with many leaves: it finds too few repellers in its pool, and draws others."""
    leaves = [(f"http://e/leaf{i}", "http://e/of", "http://e/hub") for i in range(300)]
    others = [(f"http://e/a{i}", "http://e/to", f"http://e/b{i}") for i in range(12)]
    return np.array(leaves + others)
