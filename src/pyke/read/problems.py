"""Problems in inputs: stop at the first one, or skip and count them."""

from __future__ import annotations

from typing import Protocol

from pyke.config import Config
from pyke.errors import SyntaxProblem
from pyke.graph.graph import Census, Problem

PROBLEMS_KEPT = 10


class Report(Protocol):
    """A function that handles a problem in a document."""

    def __call__(self, line: int, message: str, count: int = 1, /) -> None:
        """Handle a problem at a line, 0 if unknown, for which `count` statements are skipped."""


def handle_problem(
    problem: Problem, advice: str, config: Config, census: Census, count: int = 1
) -> None:
    """Raise SyntaxProblem, or with `on_error="skip"` count the problem and keep the first few."""
    if config.on_error == "stop":
        raise SyntaxProblem(f"{problem}. {advice}")
    census.errors += count
    if len(census.problems) < PROBLEMS_KEPT:
        census.problems.append(problem)
