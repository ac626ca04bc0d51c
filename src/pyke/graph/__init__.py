"""The graph over term ids, and how it is built and changed."""

from __future__ import annotations

from pyke.graph.graph import LITERAL, Census, Graph
from pyke.graph.terms import Terms, Texts

__all__ = ["LITERAL", "Census", "Graph", "Terms", "Texts"]
