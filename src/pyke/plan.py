"""Memory and time before a run: bytes per stage from counts, and a refusal where they do not fit."""

from __future__ import annotations

from dataclasses import dataclass

from pyke import memory
from pyke.config import Config, format_size
from pyke.errors import OverBudget
from pyke.repulsion import BLOCK_ROWS, POOL
from pyke.simulation import stride_of

ROWS_PER_SECOND = 25e6  # gathered by one thread of the simulation
BYTES_PER_SECOND = 120e6  # of N-Triples, read by one thread


@dataclass(frozen=True)
class Sizes:
    """What decides the memory of a run."""

    statements: int  # with duplicates and literals
    literals: int
    triples: int
    terms: int
    term_bytes: int
    pairs: int = 0  # with a positive similarity
    particles: int = 0
    springs: int = 0


@dataclass(frozen=True)
class StagePlan:
    """A stage's peak, without what the program itself takes, and its time."""

    name: str
    bytes: int
    seconds: float


@dataclass(frozen=True)
class Plan:
    """The stages of a run, and what the program itself takes."""

    base_bytes: int
    stages: tuple[StagePlan, ...]
    exact: bool

    @property
    def peak_bytes(self) -> int:
        """The most that is held at one time."""
        return self.base_bytes + max(stage.bytes for stage in self.stages)

    @property
    def seconds(self) -> float:
        """Of all stages."""
        return sum(stage.seconds for stage in self.stages)
