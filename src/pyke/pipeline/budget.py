"""The memory of each stage, computed from counts, and the refusal of stages that exceed `memory`.

The formulas follow the arrays that a stage holds at the same time. `bench/memory.py` compares them
with measured peaks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log

from pyke.config import Config, format_size
from pyke.core.arrays import BLOCK_ROWS
from pyke.errors import OverBudget
from pyke.graph.graph import Graph
from pyke.simulation.anneal import row_stride
from pyke.springs.kmeans import SAMPLE_PER_CLUSTER
from pyke.springs.repellers import pool_size

PROGRAM_BYTES = 190_000_000  # the interpreter, the libraries and the loaded kernels
BYTES_PER_READER = 12_000_000  # per thread: blocks in work, and pages that the allocator keeps


@dataclass(frozen=True)
class Sizes:
    """The counts that determine the memory of a run."""

    links: int = 0  # statements between terms, including repeated ones
    literals: int = 0  # statements with literals
    events: int = 0  # features of literals, including repeated ones
    features: int = 0  # pairs of term and feature that are kept
    triples: int = 0
    terms: int = 0
    text_bytes: int = 0  # of terms and labels
    pairs: int = 0  # with a positive similarity
    particles: int = 0
    springs: int = 0

    def grown(self, smaller: Sizes, ratio: float, factor: float) -> Sizes:
        """Extrapolate to `factor` times the text (Heaps' law).

        The exponents come from the growth between a sample `ratio` times smaller and this one.
        """
        grown = {}
        for name, value in vars(self).items():
            exponent = log(max(1, value) / max(1, getattr(smaller, name))) / log(ratio)
            grown[name] = int(value * factor ** min(1.0, max(0.0, exponent)))
        return Sizes(**grown)


def sizes_of(*graphs: Graph) -> Sizes:
    """Sizes of some graphs together."""
    texts = [texts for graph in graphs for texts in (graph.terms, graph.labels)]
    return Sizes(
        features=sum(len(graph.features.rows) for graph in graphs),
        triples=sum(len(graph) for graph in graphs),
        terms=sum(len(graph.terms) for graph in graphs),
        text_bytes=sum(len(text.blob) for text in texts),
    )


def reading_bytes(sizes: Sizes, config: Config) -> int:
    """The larger of two: statements and dictionary; two copies of the statements during sorting.

    Features of literals are numbered and sorted beside the sorted statements.
    """
    slots = 1 << (3 * sizes.terms // 2).bit_length()
    statements = 12 * sizes.links + 16 * sizes.literals
    dictionary = 8 * slots + 16 * sizes.terms + sizes.text_bytes
    sorting = 24 * sizes.links + 8 * sizes.literals + 20 * sizes.terms + sizes.text_bytes
    readers = BYTES_PER_READER * (config.threads + 1)
    read = max(statements + dictionary + 12 * sizes.events, sorting + 32 * sizes.events)
    return PROGRAM_BYTES + readers + read


def _graph_bytes(sizes: Sizes, config: Config) -> int:
    """The program and the graph, which stay in memory until the end."""
    program = PROGRAM_BYTES + BYTES_PER_READER * config.threads
    features = 10 * sizes.features
    return program + 14 * sizes.triples + 8 * sizes.terms + sizes.text_bytes + features


def springs_bytes(sizes: Sizes, config: Config) -> int:
    """The graph, the pairs, and the symmetric matrix of the pairs."""
    pairs = 28 * sizes.pairs + 40 * sizes.particles
    return _graph_bytes(sizes, config) + 12 * sizes.triples + pairs


def repellers_bytes(sizes: Sizes, config: Config) -> int:
    """The graph, all similarities, and the springs and repellers that are kept."""
    similarities = 16 * sizes.pairs + 8 * sizes.particles
    return _graph_bytes(sizes, config) + similarities + _forces_bytes(sizes, config)


def _forces_bytes(sizes: Sizes, config: Config) -> int:
    """Springs, repellers and the pools of repellers."""
    pools = 4 * pool_size(sizes.particles, config.repellers) * (sizes.particles // BLOCK_ROWS + 1)
    rows = 8 + 2 * config.repellers + 2
    return 8 * sizes.springs + rows * sizes.particles + pools


def simulation_bytes(sizes: Sizes, config: Config) -> int:
    """The graph, the forces, and the positions before and after an iteration."""
    positions = 2 * 4 * row_stride(config.dimensions) * sizes.particles
    forces = _forces_bytes(sizes, config) + 14 * sizes.particles
    return _graph_bytes(sizes, config) + forces + positions


def clusters_bytes(sizes: Sizes, config: Config) -> int:
    """The graph, the positions, the vectors of the terms, and the sample for the centroids."""
    positions = 4 * row_stride(config.dimensions) * sizes.particles
    sample = min(sizes.terms, SAMPLE_PER_CLUSTER * config.clusters)
    vectors = 4 * config.dimensions * (sizes.terms + sample)
    return _graph_bytes(sizes, config) + positions + vectors + 24 * sizes.terms


def writing_bytes(sizes: Sizes, config: Config) -> int:
    """The graph, the vectors, and the table of triples."""
    vectors = 4 * config.dimensions * sizes.terms
    return _graph_bytes(sizes, config) + 12 * sizes.triples + vectors


def update_bytes(sizes: Sizes, config: Config) -> int:
    """The old embedding, the graph before and after during sorting, and the new vectors."""
    program = PROGRAM_BYTES + BYTES_PER_READER * config.threads
    terms = (8 * config.dimensions + 80) * sizes.terms
    return program + 56 * sizes.triples + terms + 3 * sizes.text_bytes + 50 * sizes.features


STAGE_BYTES: dict[str, Callable[[Sizes, Config], int]] = {
    "reading": reading_bytes,
    "springs": springs_bytes,
    "repellers": repellers_bytes,
    "simulation": simulation_bytes,
    "clusters": clusters_bytes,
    "writing": writing_bytes,
}


def require(stage: str, sizes: Sizes, config: Config) -> None:
    """Raise OverBudget if a stage exceeds `config.memory` with the counts known so far."""
    fewer = "" if stage == "reading" else ", or reduce `dimensions` or `k`"
    advice = f"Increase `memory`{fewer}. `pyke plan` estimates the complete run."
    _require(stage, STAGE_BYTES[stage](sizes, config), config, advice)


def require_update(sizes: Sizes, config: Config) -> None:
    """Raise OverBudget if an update exceeds `config.memory`."""
    _require("the update", update_bytes(sizes, config), config, "Increase `memory`.")


def _require(name: str, needed: int, config: Config, advice: str) -> None:
    if config.memory is not None and needed > config.memory:
        raise OverBudget(
            f"{name} needs at least {format_size(needed)} of memory; "
            f"the limit is {format_size(config.memory)}. {advice}"
        )
