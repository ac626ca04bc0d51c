"""The one hook through which a run tells how it goes. This one is silent; the command line has those that people see."""

from __future__ import annotations


class Progress:
    """Told of stages and iterations. A method may raise Interrupted: the run then keeps what it has and stops."""

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """A stage begins; `total` is the amount of work in it, if that is known."""

    def advance(self, done: int) -> None:
        """`done` of the stage's total is done."""

    def iteration(self, number: int, energy: float, objective: float, displacement: float) -> None:
        """An iteration of the simulation is done."""

    def note(self, message: str) -> None:
        """Something a user wants to know."""
