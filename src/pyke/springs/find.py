"""All similarities of a graph: those of its terms, of coarse contexts and of literals if wanted."""

from __future__ import annotations

from pyke.config import Config
from pyke.core.arrays import Ids
from pyke.graph.graph import Graph
from pyke.springs.contexts import weigh_types
from pyke.springs.events import join
from pyke.springs.groups import group_similarities
from pyke.springs.literals import literal_similarities
from pyke.springs.similarity import Around, Similarities, similarity


def find_similarities(
    graph: Graph, config: Config, clusters: Ids, around: Around | None = None
) -> Similarities:
    """The similarities that the settings ask for; `clusters` has none or one for each term."""
    parts = [similarity(config.similarity)(graph, config.threads, around)]
    if config.type_weight != 1:
        weigh_types(graph, config.type_predicate, config.type_weight, parts[0])
    if len(clusters):
        parts.append(group_similarities(graph, clusters, config.type_predicate, around))
    if len(graph.features) and config.literals:
        parts.append(literal_similarities(graph, around))
    return join(len(graph.terms), *parts) if len(parts) > 1 else parts[0]
