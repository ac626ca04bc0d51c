"""The one hook through which a run reports progress. This one is silent; the command line prints."""

from __future__ import annotations

from collections.abc import Callable

# Called whenever a kernel is compiled instead of loaded from the cache.
compiling: list[Callable[[], None]] = []


class Progress:
    """Receives stages, iterations and notes. A method may raise Interrupted to stop the run."""

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """A stage starts; `total` is the amount of work in it, if known."""

    def advance(self, done: int) -> None:
        """`done` of the stage's total is finished."""

    def iteration(self, number: int, energy: float, objective: float, displacement: float) -> None:
        """An iteration of the simulation is finished."""

    def note(self, message: str) -> None:
        """A message for the user."""
