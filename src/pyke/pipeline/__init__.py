"""Complete runs: embed a graph, plan a run, update an embedding."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyke.pipeline.directory import embed_to
    from pyke.pipeline.embed import Run, embed_graph, read_census
    from pyke.pipeline.plan import make_plan

__all__ = ["Run", "embed_graph", "embed_to", "make_plan", "read_census"]

# Imported on first use: a run that is refused at once does not load Numba.
_HOMES = {
    "Run": "embed",
    "embed_graph": "embed",
    "embed_to": "directory",
    "make_plan": "plan",
    "read_census": "embed",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"pyke.pipeline.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'pyke.pipeline' has no attribute {name!r}")
