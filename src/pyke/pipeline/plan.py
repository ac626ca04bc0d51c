"""Memory and time before a run: bytes per stage from counts, and a refusal where they do not fit.

The formulas follow the arrays that each stage holds at once; `bench/memory.py` compares them with what runs really take.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log

from pyke.config import Config, format_size
from pyke.core.arrays import BLOCK_ROWS
from pyke.errors import OverBudget
from pyke.simulation.anneal import stride_of
from pyke.springs.repellers import pool_size

PROGRAM_BYTES = 190_000_000  # the interpreter, the libraries and the loaded kernels
BYTES_PER_READER = 12_000_000  # blocks under way and the pages that the allocator keeps, per thread
ROWS_PER_SECOND = 25e6  # gathered by one thread of the simulation
WRITTEN_PER_SECOND = 400e6


@dataclass(frozen=True)
class Sizes:
    """The counts that decide the memory of a run."""

    links: int = 0  # statements between terms, repeated ones too
    literals: int = 0  # statements with literals
    triples: int = 0
    terms: int = 0
    text_bytes: int = 0  # of terms and labels
    pairs: int = 0  # with a positive similarity
    particles: int = 0
    springs: int = 0

    def grown(self, smaller: Sizes, ratio: float, factor: float) -> Sizes:
        """Extrapolates to `factor` times the text, by how counts grew from a sample that was `ratio` times smaller (Heaps' law)."""
        grown = {}
        for name, value in vars(self).items():
            exponent = log(max(1, value) / max(1, getattr(smaller, name))) / log(ratio)
            grown[name] = int(value * factor ** min(1.0, max(0.0, exponent)))
        return Sizes(**grown)


@dataclass(frozen=True)
class StagePlan:
    """What a stage holds at most, the program itself included, and how long it takes."""

    name: str
    peak_bytes: int
    seconds: float = 0.0


@dataclass(frozen=True)
class Plan:
    """The stages of a run; `share` is the part of the input that the counts come from."""

    sizes: Sizes
    stages: tuple[StagePlan, ...]
    share: float

    @property
    def peak_bytes(self) -> int:
        """The most that is held at one time."""
        return max(stage.peak_bytes for stage in self.stages)

    @property
    def seconds(self) -> float:
        """Of all stages together."""
        return sum(stage.seconds for stage in self.stages)


def reading_bytes(sizes: Sizes, config: Config) -> int:
    """While reading, the dictionary and the statements; then the statements, twice, while they are sorted."""
    slots = 1 << (3 * sizes.terms // 2).bit_length()
    statements = 12 * sizes.links + 16 * sizes.literals
    dictionary = 8 * slots + 16 * sizes.terms + sizes.text_bytes
    sorting = 24 * sizes.links + 8 * sizes.literals + 20 * sizes.terms + sizes.text_bytes
    return (
        PROGRAM_BYTES
        + BYTES_PER_READER * (config.threads + 1)
        + max(statements + dictionary, sorting)
    )


def _held(sizes: Sizes, config: Config) -> int:
    """The program and the graph, which stay until the end."""
    return (
        PROGRAM_BYTES
        + BYTES_PER_READER * config.threads
        + 14 * sizes.triples
        + 8 * sizes.terms
        + sizes.text_bytes
    )


def springs_bytes(sizes: Sizes, config: Config) -> int:
    """The graph, the pairs, and both directions of them by rows."""
    return _held(sizes, config) + 12 * sizes.triples + 28 * sizes.pairs + 40 * sizes.particles


def repellers_bytes(sizes: Sizes, config: Config) -> int:
    """The graph, all similarities, and what is kept of them."""
    similar = 16 * sizes.pairs + 8 * sizes.particles
    return _held(sizes, config) + similar + _forces_bytes(sizes, config)


def _forces_bytes(sizes: Sizes, config: Config) -> int:
    pools = 4 * pool_size(sizes.particles, config.repellers) * (sizes.particles // BLOCK_ROWS + 1)
    return (
        8 * sizes.springs
        + 8 * sizes.particles
        + (2 * config.repellers + 2) * sizes.particles
        + pools
    )


def simulation_bytes(sizes: Sizes, config: Config) -> int:
    """The graph, the forces, and the positions before and after an iteration."""
    positions = 2 * 4 * stride_of(config.dimensions) * sizes.particles
    return _held(sizes, config) + _forces_bytes(sizes, config) + 12 * sizes.particles + positions


def writing_bytes(sizes: Sizes, config: Config) -> int:
    """The graph, the vectors, and the triples in rows."""
    return _held(sizes, config) + 12 * sizes.triples + 4 * config.dimensions * sizes.terms


def update_bytes(sizes: Sizes, config: Config) -> int:
    """The embedding that is there, the graph before and after while it is sorted, the other side of its triples, and the new vectors."""
    terms = 8 * config.dimensions + 80
    return (
        PROGRAM_BYTES
        + BYTES_PER_READER * config.threads
        + 56 * sizes.triples
        + terms * sizes.terms
        + 3 * sizes.text_bytes
    )


_BYTES: dict[str, Callable[[Sizes, Config], int]] = {
    "reading": reading_bytes,
    "springs": springs_bytes,
    "repellers": repellers_bytes,
    "simulation": simulation_bytes,
    "writing": writing_bytes,
}


def plan(
    sizes: Sizes, config: Config, seconds: dict[str, float], iterations: int, share: float = 1.0
) -> Plan:
    """All stages of a run; `seconds` of those that have been measured."""
    rows = sizes.springs + sizes.particles * config.repellers
    seconds = seconds | {
        "simulation": iterations * rows / ROWS_PER_SECOND / config.threads,
        "writing": writing_bytes(sizes, config) / WRITTEN_PER_SECOND,
    }
    stages = tuple(
        StagePlan(name, needed(sizes, config), seconds.get(name, 0.0))
        for name, needed in _BYTES.items()
    )
    return Plan(sizes, stages, share)


def check(made: Plan, config: Config) -> None:
    """Refuses a plan that does not fit into the memory allowed."""
    if config.memory is not None and made.peak_bytes > config.memory:
        raise OverBudget(f"the run needs {format_size(made.peak_bytes)} of memory; {format_size(config.memory)} are allowed. "
                         f"Give --memory {format_size(1.05 * made.peak_bytes).replace(' ', '')} or more, or fewer --dimensions or --k.")  # fmt: skip


def require(stage: str, sizes: Sizes, config: Config) -> None:
    """Refuses a stage that does not fit into the memory allowed, as far as its sizes are known."""
    less = "" if stage == "reading" else ", fewer --dimensions or --k need less"
    _refuse(
        f"{stage} alone",
        _BYTES[stage](sizes, config),
        config,
        f"`pyke plan` tells what the whole run needs; --memory allows more{less}.",
    )


def require_update(sizes: Sizes, config: Config) -> None:
    """Refuses an update that does not fit into the memory allowed."""
    _refuse("the update", update_bytes(sizes, config), config, "--memory allows more.")


def _refuse(what: str, needed: int, config: Config, advice: str) -> None:
    if config.memory is not None and needed > config.memory:
        raise OverBudget(
            f"{what} needs {format_size(needed)} of memory, or more; {format_size(config.memory)} are allowed. {advice}"
        )
