"""Maps and animations of an embedding."""

from __future__ import annotations

from pyke.use.maps.drawing import Drawn, Group, View, draw

__all__ = ["Drawn", "Group", "View", "draw"]
