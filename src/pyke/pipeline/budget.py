"""The memory of each stage, computed from counts, and the refusal of stages that exceed `memory`.

The formulas follow the arrays that a stage holds at the same time. `bench/memory.py` compares them
with measured peaks. A run that is refused at once does not load Numba: the functions that need a
module with kernels import it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log

from pyke.config import Config, format_size
from pyke.core.arrays import BLOCK_ROWS
from pyke.errors import OverBudget
from pyke.graph.graph import Graph
from pyke.simulation.layouts import (
    LAYOUTS,
    QUARTERS,
    ROWS,
    ROWS_OF_SLAB,
    SPRINGS_AT_ONCE,
    Layout,
    row_stride,
)

PROGRAM_BYTES = 190_000_000  # the interpreter, the libraries and the loaded kernels
QUARTER_BYTES = 30_000_000  # rows in work and pages of the allocator, of a simulation on quarters
HUB_RANGES = 64
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
    hub: int = 0  # triples with objects of the busiest range of terms, one of HUB_RANGES
    roles: int = 0  # pairs of terms and their roles

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
    """The largest of three: statements and dictionary; two copies of the statements during sorting;
    two copies of the terms when those that are not used are removed.

    Features of literals are numbered and sorted beside the sorted statements.
    """
    slots = 1 << (3 * sizes.terms // 2).bit_length()
    statements = 12 * sizes.links + 16 * sizes.literals
    dictionary = 8 * slots + 16 * sizes.terms + sizes.text_bytes
    sorting = 24 * sizes.links + 8 * sizes.literals + 20 * sizes.terms + sizes.text_bytes
    readers = BYTES_PER_READER * (config.threads + 1)
    selecting = 12 * sizes.links + 45 * sizes.terms + 2 * sizes.text_bytes
    collected = (statements + dictionary) * 17 // 16  # arrays grow in steps of an eighth
    read = max(collected + 12 * sizes.events, sorting + 32 * sizes.events, selecting)
    return PROGRAM_BYTES + readers + read


def _graph_bytes(sizes: Sizes, config: Config) -> int:
    """The program and the graph, which stay in memory until the end."""
    program = PROGRAM_BYTES + BYTES_PER_READER * config.threads
    features = 10 * sizes.features
    return program + 14 * sizes.triples + 8 * sizes.terms + sizes.text_bytes + features


def springs_bytes(sizes: Sizes, config: Config) -> int:
    """The larger of two: graph and pairs; pairs and their symmetric matrix, beside the graph.

    The matrix needs no graph: it stays in memory only if the limit allows this.
    """
    finding = _graph_bytes(sizes, config) + 12 * sizes.triples + 13 * sizes.pairs
    return max(finding, _matrix_bytes(sizes, config, keeps_graph(sizes, config)))


def keeps_graph(sizes: Sizes, config: Config) -> bool:
    """Whether the graph stays in memory when the pairs become springs."""
    needed = _matrix_bytes(sizes, config, graph_in_memory=True)
    return config.memory is None or needed <= config.memory


def _matrix_bytes(sizes: Sizes, config: Config, graph_in_memory: bool) -> int:
    graph = _graph_bytes(sizes if graph_in_memory else Sizes(), config)
    return graph + 28 * sizes.pairs + 40 * sizes.particles


def repellers_bytes(sizes: Sizes, config: Config) -> int:
    """All similarities, and the springs and repellers that are kept; the graph if it stays."""
    graph = _graph_bytes(sizes if keeps_graph(sizes, config) else Sizes(), config)
    similarities = 16 * sizes.pairs + 8 * sizes.particles
    return graph + similarities + _forces_bytes(sizes, config)


def _forces_bytes(sizes: Sizes, config: Config) -> int:
    """Springs, repellers and the pools of repellers."""
    return 8 * sizes.springs + _repellers_bytes(sizes, config)


def _repellers_bytes(sizes: Sizes, config: Config) -> int:
    """Repellers, their pools, and the offsets of the springs."""
    from pyke.springs.repellers import pool_size

    pools = 4 * pool_size(sizes.particles, config.repellers) * (sizes.particles // BLOCK_ROWS + 1)
    return (8 + 2 * config.repellers + 2) * sizes.particles + pools


@dataclass(frozen=True)
class Holding:
    """How a simulation uses memory: its layout, and whether the graph stays in memory."""

    layout: Layout = ROWS
    graph_in_memory: bool = True

    @property
    def name(self) -> str:
        """The holding in a few words."""
        return self.layout.name + ("" if self.graph_in_memory else ", graph on disk")


def simulation_bytes(sizes: Sizes, config: Config, holding: Holding | None = None) -> int:
    """The program, the graph, the forces and the positions; without a holding, the chosen one."""
    holding = holding or holding_of(sizes, config)
    layout, stride = holding.layout, row_stride(config.dimensions)
    graph = _graph_bytes(sizes if holding.graph_in_memory else Sizes(), config)
    if not layout.springs_in_memory:
        return graph + QUARTER_BYTES + _slab_bytes(sizes, config)
    fixed = graph + _repellers_bytes(sizes, config) + 6 * sizes.particles
    if not layout.quarters:
        return fixed + 8 * sizes.springs + 2 * 4 * stride * sizes.particles
    # Quarters in memory and the buffer of their new positions, and one that is read from disk.
    buffer = layout.in_memory > 0
    quarters = layout.in_memory + buffer + (layout.in_memory < QUARTERS)
    squares = 4 * config.repellers * (1 if buffer and 4 * config.repellers <= stride else 2)
    positions = (stride * quarters + squares + 4) * sizes.particles
    return fixed + QUARTER_BYTES + 12 * sizes.springs + positions


def _slab_bytes(sizes: Sizes, config: Config) -> int:
    """A quarter of all positions, who moves, and a slab before and after its step."""
    stride = row_stride(config.dimensions)
    rows, springs = (
        min(sizes.particles, 2 * ROWS_OF_SLAB),
        min(sizes.springs, 2 * SPRINGS_AT_ONCE),
    )
    slab = (stride + 10 * config.repellers + 30) * rows + 12 * springs
    return (stride + 2) * sizes.particles + slab


def holding_of(sizes: Sizes, config: Config) -> Holding:
    """The fastest holding that fits into `config.memory`, or the smallest one if none does."""
    holdings = _holdings(config)
    if config.memory is None:
        return holdings[0]
    fitting = (one for one in holdings if simulation_bytes(sizes, config, one) <= config.memory)
    smallest = min(holdings, key=lambda one: simulation_bytes(sizes, config, one))
    return next(fitting, smallest)


def _holdings(config: Config) -> list[Holding]:
    """From the fastest to the smallest. The singular vectors need complete rows."""
    layouts = LAYOUTS[:1] if config.init == "svd" else LAYOUTS
    return [Holding(layout, graph) for layout in layouts for graph in (True, False)]


def least_bytes(sizes: Sizes, config: Config) -> int:
    """The smallest memory in which a run can succeed."""
    smallest = replace(config, memory=1)
    return max(
        needed(sizes, smallest)
        for name, needed in STAGE_BYTES.items()
        if name != "clusters" or config.clusters
    )


def disk_bytes(sizes: Sizes, config: Config) -> dict[str, int]:
    """Disk space at the end of each stage, at most: checkpoints, scratch files and the output."""
    text = 12 * sizes.triples + 8 * sizes.terms + sizes.text_bytes
    graph = text + 10 * sizes.features
    forces = graph + _forces_bytes(sizes, config)
    # A new checkpoint of positions replaces the old one when it is complete.
    positions = forces + 2 * 4 * row_stride(config.dimensions) * sizes.particles
    output = positions + graph + 4 * config.dimensions * sizes.terms
    used = {"reading": graph, "springs": graph, "repellers": forces, "clusters": positions}
    return {**used, "simulation": positions + scratch_bytes(sizes, config), "writing": output}


def scratch_bytes(sizes: Sizes, config: Config) -> int:
    """Disk space of the simulation: quarters, springs and repellers that are not in memory."""
    layout = holding_of(sizes, config).layout
    quarters = row_stride(config.dimensions) * sizes.particles * (QUARTERS - layout.in_memory)
    if layout.springs_in_memory:
        return quarters
    work = (8 * config.repellers + 8) * sizes.particles  # that a step adds up
    return quarters + 12 * sizes.springs + work + _repellers_bytes(sizes, config)


def clusters_bytes(sizes: Sizes, config: Config) -> int:
    """The graph, the vectors of the terms, and the sample for the centroids."""
    from pyke.springs.kmeans import SAMPLE_PER_CLUSTER

    sample = min(sizes.terms, SAMPLE_PER_CLUSTER * config.clusters)
    vectors = 4 * config.dimensions * (sizes.terms + sample)
    return _graph_bytes(sizes, config) + vectors + 24 * sizes.terms


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
    require_bytes(stage, STAGE_BYTES[stage](sizes, config), config)


def require_bytes(stage: str, needed: int, config: Config) -> None:
    """Raise OverBudget if the bytes that a stage needs exceed `config.memory`."""
    fewer = "" if stage == "reading" else ", or reduce `dimensions` or `k`"
    advice = f"Increase `memory`{fewer}. `pyke plan` estimates the complete run."
    _require(stage, needed, config, advice)


def require_update(sizes: Sizes, config: Config) -> None:
    """Raise OverBudget if an update exceeds `config.memory`."""
    _require("the update", update_bytes(sizes, config), config, "Increase `memory`.")


def _require(name: str, needed: int, config: Config, advice: str) -> None:
    if config.memory is not None and needed > config.memory:
        raise OverBudget(
            f"{name} needs at least {format_size(needed)} of memory; "
            f"the limit is {format_size(config.memory)}. {advice}"
        )
