"""Complete runs: embed a graph, plan a run, update an embedding."""

from __future__ import annotations

from pyke.pipeline.directory import embed_to
from pyke.pipeline.embed import Run, embed_graph, read_census
from pyke.pipeline.plan import make_plan

__all__ = ["Run", "embed_graph", "embed_to", "make_plan", "read_census"]
