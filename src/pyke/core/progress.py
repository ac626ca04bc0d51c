"""The hook through which a run reports its progress. The command line prints it."""

from __future__ import annotations

from collections.abc import Callable

# Called whenever a kernel is compiled instead of loaded from the cache.
compiling: list[Callable[[], None]] = []


class Progress:
    """Receives stages, iterations and notes, and ignores them. Override the methods to show them.

    A method may raise Interrupted to stop the run.
    """

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """A stage starts; `total` is its amount of work, if known."""

    def advance(self, done: int) -> None:
        """`done` of the stage's total is finished."""

    def iteration(self, number: int, energy: float, objective: float, displacement: float) -> None:
        """An iteration of the simulation is finished."""

    def note(self, message: str) -> None:
        """Receive a message for the user."""
