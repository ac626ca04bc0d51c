"""Maps and animations of an embedding."""

from __future__ import annotations

from pyke.use.maps.drawing import draw
from pyke.use.maps.view import Drawn, Group, View

__all__ = ["Drawn", "Group", "View", "draw"]
