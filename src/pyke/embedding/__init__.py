"""The result that users hold: vectors with their terms, the directory on disk, and term lookup."""

from __future__ import annotations

from pyke.embedding.embedding import Embedding, Neighbour, Neighbourhoods, load

__all__ = ["Embedding", "Neighbour", "Neighbourhoods", "load"]
