"""How a simulation holds its positions and springs: the less memory, the more time."""

from __future__ import annotations

from dataclasses import dataclass

QUARTERS = 4
CACHE_LINE = 16  # float32 values; rows are padded to complete cache lines
SPRINGS_AT_ONCE = 1 << 20  # in a slab, at most
ROWS_OF_SLAB = 1 << 16  # particles in a slab, at most


def row_stride(dimensions: int) -> int:
    """Length of a row of positions: the dimensions and the padding."""
    return -(-dimensions // CACHE_LINE) * CACHE_LINE


@dataclass(frozen=True)
class Layout:
    """Where positions and springs are during a simulation. Every layout gives the same bits.

    Complete rows need two copies of all positions. Quarters, each with every fourth dimension, need
    one copy and one quarter; those that are not `in_memory` are in scratch files and are read and
    written in each iteration. Springs that are not in memory are on disk with the repellers; then
    memory holds one quarter and one slab.
    """

    quarters: bool = False
    in_memory: int = QUARTERS  # quarters
    springs_in_memory: bool = True  # and repellers

    @property
    def name(self) -> str:
        """The layout in a few words, for plans and the manifest."""
        if not self.quarters:
            return "rows"
        on_disk = [f"{QUARTERS - self.in_memory} quarters"] if self.in_memory < QUARTERS else []
        on_disk += [] if self.springs_in_memory else ["springs"]
        return "quarters" + (f", {' and '.join(on_disk)} on disk" if on_disk else "")


ROWS = Layout()
# From the fastest to the smallest.
LAYOUTS = (
    ROWS,
    *(Layout(True, number) for number in range(QUARTERS, -1, -1)),
    Layout(True, 0, springs_in_memory=False),
)
