"""The paper's two measures, by two protocols.

In-graph is the paper's protocol: the types to predict were part of the embedded graph. Held-out
withholds the types of some subjects before the embedding, and then predicts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyke.config import Config
from pyke.core.arrays import Floats, Ids
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.evaluate.purity import Purity, purity
from pyke.evaluate.type_prediction import (
    DirectPrediction,
    TypePrediction,
    evenly_spaced,
    score,
    score_classes,
)
from pyke.graph.graph import Graph
from pyke.pipeline import Run, embed_graph
from pyke.read.objects import Inputs
from pyke.use.clusters.hdbscan import hdbscan
from pyke.use.types.held_out import Split, split
from pyke.use.types.predict import class_shares
from pyke.use.types.votes import TypeTable, require_classes, usable_mu

IN_GRAPH, HELD_OUT = "in-graph", "held-out"


@dataclass(frozen=True)
class Measures:
    """What to measure.

    Parameters
    ----------
    mu : numbers of neighbours (μ) that vote on a type; the paper's list by default.
    purity : also measure the purity of clusters, which are always of all subjects.
    exact : exact neighbours and clusters; by default, exact up to a number of points.
    threads : number of threads.
    most : predict the types of at most this many subjects, evenly spaced; of all by default.
    """

    mu: Sequence[int] | None = None
    purity: bool = True
    exact: bool | None = None
    threads: int = Config().threads
    most: int | None = None


MEASURES = Measures()


@dataclass(frozen=True)
class Evaluation:
    """Scores of one set of vectors."""

    protocol: str
    types: TypePrediction  # by the vectors as they are
    purity: Purity | None
    predictor: DirectPrediction | None = None  # by `pyke types`, held-out only

    def as_dict(self) -> dict[str, Any]:
        """The scores as a dictionary for JSON."""
        return asdict(self)


def evaluate(
    embedding: Embedding, measures: Measures = MEASURES, progress: Progress | None = None
) -> Evaluation:
    """Score an embedding by the paper's protocol: its graph included the types to predict.

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
    """Embed a graph, then score the embedding by the paper's protocol.

    Examples
    --------
    >>> from pyke.config import Config
    >>> from pyke.evaluate import Measures, evaluate_graph
    >>> measures = Measures(mu=[1, 3], purity=False)
    >>> found = evaluate_graph("examples/father.ttl", Config(dimensions=10), measures)
    >>> found.protocol
    'in-graph'
    """
    config, progress = config or Config(), progress or Progress()
    graph = Run(inputs, config, progress).read()
    require_classes(TypeTable.of(graph.types))
    usable_mu(measures.mu, graph.census.typed_subjects - 1)  # fail before the embedding
    embedding = embed_graph(graph, config, progress)
    return measure_in_graph(embedding.vectors, graph.types, measures, progress)


def evaluate_held_out(
    inputs: Inputs,
    config: Config | None = None,
    fraction: float = 0.2,
    measures: Measures = MEASURES,
    progress: Progress | None = None,
) -> Evaluation:
    """Embed a graph without the types of some subjects, then predict these types.

    Parameters
    ----------
    inputs : the graph.
    config : settings of the embedding; its seed also draws the subjects.
    fraction : fraction of the typed subjects that lose their types.
    measures : what to measure.
    progress : receives progress.

    Examples
    --------
    >>> from pyke.config import Config
    >>> from pyke.evaluate import Measures, evaluate_held_out
    >>> config, measures = Config(dimensions=10), Measures(mu=[1])
    >>> evaluate_held_out("examples/father.ttl", config, 0.4, measures).protocol
    'held-out'
    """
    config, progress = config or Config(), progress or Progress()
    graph = Run(inputs, config, progress).read()
    parts = split(graph, fraction, config.seed, config.type_predicate)
    parts = replace(parts, asked=evenly_spaced(parts.asked, measures.most))
    usable_mu(measures.mu, len(parts.known))  # fail before the embedding
    embedding = embed_graph(parts.graph, config, progress)
    found = measure_held_out(embedding.vectors, parts, measures, progress)
    asked = parts.asked.subjects[parts.asked.subjects >= 0]
    shares = class_shares(parts.graph, asked, config, progress, measures.exact)
    return replace(found, predictor=score_classes(shares, parts.asked))


def measure_in_graph(
    vectors: Floats, types: Ids, measures: Measures, progress: Progress
) -> Evaluation:
    """Score vectors of any method, one for each term of the graph that has these types."""
    table = TypeTable.of(types)
    require_classes(table)
    progress.stage("types", min(len(table), measures.most or len(table)), "subjects")
    predicted = score(
        vectors,
        table,
        mu=measures.mu,
        most=measures.most,
        exact=measures.exact,
        threads=measures.threads,
        progress=progress,
    )
    if not measures.purity:
        return Evaluation(IN_GRAPH, predicted, None)
    clustering = hdbscan(
        vectors[table.subjects], exact=measures.exact, threads=measures.threads, progress=progress
    )
    return Evaluation(IN_GRAPH, predicted, purity(clustering, table))


def measure_held_out(
    vectors: Floats, parts: Split, measures: Measures, progress: Progress
) -> Evaluation:
    """Score vectors of the graph without the withheld types."""
    asked = len(parts.asked)
    progress.stage("types", min(asked, measures.most or asked), "subjects")
    predicted = score(
        vectors,
        parts.known,
        parts.asked,
        mu=measures.mu,
        most=measures.most,
        exact=measures.exact,
        threads=measures.threads,
        progress=progress,
    )
    return Evaluation(HELD_OUT, predicted, None)


def read_typed_graph(inputs: Inputs, config: Config, progress: Progress) -> Graph:
    """Read a graph. Raise an error if it has no types to predict."""
    graph = Run(inputs, config, progress).read()
    require_classes(TypeTable.of(graph.types))
    return graph
