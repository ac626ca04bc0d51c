"""Embed graphs that are too large for one machine, on the workers of dask.distributed."""

from __future__ import annotations

from pyke.pipeline.distributed.directory import embed_to

__all__ = ["embed_to"]
