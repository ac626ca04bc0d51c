"""How good are vectors? The paper's two measures, by its own protocol and by an honest one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pyke.config import Config
from pyke.core.arrays import Floats, Ids
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.evaluate.purity import Purity, purity
from pyke.evaluate.type_prediction import TypePrediction, score
from pyke.graph.graph import Graph
from pyke.pipeline import Run, embed_graph
from pyke.read.objects import Inputs
from pyke.use.clusters.hdbscan import hdbscan
from pyke.use.types.held_out import Split, split
from pyke.use.types.votes import TypeTable, require_classes, usable_mu

__all__ = ["MEASURES", "Evaluation", "Measures", "evaluate", "evaluate_graph", "evaluate_held_out"]

IN_GRAPH, HELD_OUT = "in-graph", "held-out"


@dataclass(frozen=True)
class Measures:
    """What to measure, and how."""

    mu: Sequence[int] | None = None  # the paper's, as far as there are neighbours
    purity: bool = True
    exact: bool | None = None  # by the number of points
    threads: int = Config().threads


MEASURES = Measures()


@dataclass(frozen=True)
class Evaluation:
    """The scores of one set of vectors."""

    protocol: str
    types: TypePrediction
    purity: Purity | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def evaluate(
    embedding: Embedding, measures: Measures = MEASURES, progress: Progress | None = None
) -> Evaluation:
    """Scores an embedding by the paper's protocol: the types that are predicted were in the graph that was embedded.

    Examples
    --------
    >>> import pyke
    >>> from pyke.evaluate import Measures, evaluate
    >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
    >>> sorted(evaluate(e, Measures(mu=[1, 3], purity=False)).types.scores)
    [1, 3]
    """
    return measure_in_graph(embedding.vectors, embedding.types, measures, progress or Progress())


def evaluate_graph(
    inputs: Inputs,
    config: Config | None = None,
    measures: Measures = MEASURES,
    progress: Progress | None = None,
) -> Evaluation:
    """Embeds a graph, then scores the embedding by the paper's protocol."""
    config, progress = config or Config(), progress or Progress()
    graph = Run(inputs, config, progress).read()
    require_classes(TypeTable.of(graph.types))
    usable_mu(measures.mu, graph.census.typed_subjects - 1)  # before the embedding
    embedding = embed_graph(graph, config, progress)
    return measure_in_graph(embedding.vectors, graph.types, measures, progress)


def evaluate_held_out(
    inputs: Inputs,
    config: Config | None = None,
    fraction: float = 0.2,
    measures: Measures = MEASURES,
    progress: Progress | None = None,
) -> Evaluation:
    """Embeds a graph without the types of a random part of its subjects (drawn with the config's seed), then predicts them."""
    config, progress = config or Config(), progress or Progress()
    graph = Run(inputs, config, progress).read()
    parts = split(graph, fraction, config.seed, config.type_predicate)
    usable_mu(measures.mu, len(parts.known))
    embedding = embed_graph(parts.graph, config, progress)
    return measure_held_out(embedding.vectors, parts, measures, progress)


def measure_in_graph(
    vectors: Floats, types: Ids, measures: Measures, progress: Progress
) -> Evaluation:
    """Scores vectors of any origin, one for each term of the graph that the types are of."""
    table = TypeTable.of(types)
    require_classes(table)
    progress.stage("types", len(table), "subjects")
    predicted = score(
        vectors,
        table,
        mu=measures.mu,
        exact=measures.exact,
        threads=measures.threads,
        progress=progress,
    )
    if not measures.purity:
        return Evaluation(IN_GRAPH, predicted, None)
    progress.stage("clusters", len(table), "subjects")
    clustering = hdbscan(
        vectors[table.subjects], exact=measures.exact, threads=measures.threads, progress=progress
    )
    return Evaluation(IN_GRAPH, predicted, purity(clustering, table))


def measure_held_out(
    vectors: Floats, parts: Split, measures: Measures, progress: Progress
) -> Evaluation:
    """Scores vectors of the smaller graph of a split."""
    progress.stage("types", len(parts.asked), "subjects")
    predicted = score(
        vectors,
        parts.known,
        parts.asked,
        mu=measures.mu,
        exact=measures.exact,
        threads=measures.threads,
        progress=progress,
    )
    return Evaluation(HELD_OUT, predicted, None)


def graph_of(inputs: Inputs, config: Config, progress: Progress) -> Graph:
    """Reads a graph that has types to predict."""
    graph = Run(inputs, config, progress).read()
    require_classes(TypeTable.of(graph.types))
    return graph
