"""The result that users hold: vectors with their terms, the directory on disk, and term lookup."""

from __future__ import annotations

from pyke.embedding.embedding import Embedding, load
from pyke.embedding.neighbours import Neighbour, Neighbourhoods, NeighbourList

__all__ = ["Embedding", "Neighbour", "NeighbourList", "Neighbourhoods", "load"]
