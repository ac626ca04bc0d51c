"""Figures."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pyke.files import write_file
from pyke.graph import Floats

GREY = "#8a8f98"
COLOURS = ("#4c72b0", "#dd8452", "#55a868", "#c44e52", "#8172b3", "#937860")


def project(vectors: Floats, dimensions: int = 2) -> Floats:
    """Principal components of the rows, the direction of each fixed so that a figure looks the same every time."""
    centred = np.asarray(vectors, np.float64) - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes[:dimensions]
    axes *= np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    projected: Floats = (centred @ axes.T).astype(np.float32)
    return projected


def before_and_after(panels: Sequence[tuple[str, Floats]], names: Sequence[str], groups: Sequence[str], path: Path) -> None:
    """Panels of the same points, as in the paper's figure of its running example: coloured by group, named."""
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=(5.2 * len(panels), 4.6), layout="constrained")
    colours = dict(zip(sorted(set(groups) - {""}), COLOURS * len(groups), strict=False))
    for axes, (title, vectors) in zip(np.ravel(figure.subplots(1, len(panels))), panels, strict=True):
        points = project(vectors)
        for group in sorted(set(groups)):
            chosen = [i for i, other in enumerate(groups) if other == group]
            axes.scatter(points[chosen, 0], points[chosen, 1], s=55, color=colours.get(group, GREY), label=group or "no type", zorder=2)
        for name, (x, y) in zip(names, points, strict=True):
            axes.annotate(name, (x, y), xytext=(5, 4), textcoords="offset points", fontsize=8, color="#333333")
        axes.set_title(title, fontsize=11)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.margins(0.16)
    axes.legend(fontsize=8, loc="best")
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix.lstrip(".") or "png", dpi=130)
    write_file(path, buffer.getvalue())
