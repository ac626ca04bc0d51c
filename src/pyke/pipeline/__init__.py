"""The whole run: read, build, find springs, simulate, write. Also planning and updates."""

from __future__ import annotations

from pyke.pipeline.embed import Run, embed_to, make_plan, read_census

__all__ = ["Run", "embed_to", "make_plan", "read_census"]
