"""Where tasks run. The flow of a run is the same on a cluster and in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Executor(Protocol):
    """Runs tasks. What `submit` returns may be an argument of later tasks."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function where its arguments are; return its result, or a promise of it."""

    def results(self, submitted: Sequence[Any]) -> list[Any]:
        """Wait for results, which are small."""

    def workers(self) -> object:
        """What changes when workers come or go."""


class InProcess:
    """Runs each task at once, in this process."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function now."""
        return function(*arguments)

    def results(self, submitted: Sequence[Any]) -> list[Any]:
        """All results are there."""
        return list(submitted)

    def workers(self) -> object:
        """There is one."""
        return 1
