"""Complete what a person types to the terms of a graph."""

from __future__ import annotations

from pyke.use.search.index import Found, SearchIndex

__all__ = ["Found", "SearchIndex"]
