"""What a similarity is: its input, its result, and the table of registered ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats, Ids
from pyke.errors import UsageError
from pyke.graph.graph import Graph


@dataclass(frozen=True)
class Similarities:
    """Positive similarities between particles; each unordered pair occurs once.

    The first particles are the terms of the graph. A similarity may add others after them.
    """

    particles: int
    first: Ids
    second: Ids
    values: Floats


@dataclass(frozen=True)
class Around:
    """Limits the work to the top K springs of some terms and of the particles tied to them.

    A similarity may omit pairs that cannot affect those.
    """

    terms: NDArray[np.bool_]
    k: int


# (graph, threads, around) → similarities
Similarity = Callable[[Graph, int, Around | None], Similarities]

_REGISTERED: dict[str, Similarity] = {}


def register(name: str, similarity: Similarity) -> None:
    """Make a similarity available as `similarity=name` in Python and on the command line."""
    _REGISTERED[name] = similarity


def registered() -> tuple[str, ...]:
    """Names of all registered similarities."""
    return tuple(_REGISTERED)


def similarity(name: str) -> Similarity:
    """The registered similarity of this name."""
    if name not in _REGISTERED:
        known = ", ".join(_REGISTERED)
        raise UsageError(f"`similarity` is {name!r}; it must be one of: {known}")
    return _REGISTERED[name]
