"""A graph that can leave memory during the simulation, which does not need it."""

from __future__ import annotations

from pyke.core.system import release_free_memory
from pyke.errors import WriteError
from pyke.graph.graph import Graph
from pyke.pipeline.checkpoints import GRAPH, NO_CHECKPOINTS, Checkpoints


class HeldGraph:
    """A graph in memory, or in its checkpoint on disk."""

    def __init__(self, graph: Graph, checkpoints: Checkpoints = NO_CHECKPOINTS) -> None:
        self._graph: Graph | None = graph
        self._checkpoints = checkpoints
        self.terms = len(graph.terms)

    @property
    def graph(self) -> Graph:
        """The graph, read again if it was put on disk."""
        if self._graph is None:
            self._graph = self._checkpoints.load_graph()
        if self._graph is None:
            raise WriteError(
                "the graph was put on disk and cannot be read again. Increase `memory`."
            )
        return self._graph

    def save(self, now: bool = False) -> None:
        """Save the graph if a checkpoint is due, or `now`."""
        if self._graph is not None:
            self._checkpoints.save_graph(self._graph, now)

    def put_on_disk(self) -> None:
        """Release the memory of the graph; without a directory for checkpoints it stays."""
        self.save(now=True)
        if self._checkpoints.has(GRAPH):
            self._graph = None
            release_free_memory()
