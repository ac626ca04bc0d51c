"""Maps of `pyke plot`: scores of both methods, and a picture of a million points.

The score is type prediction with 10 neighbours (μ), computed from the two coordinates of the map
instead of the vectors. The picture is compared with a scatter plot of matplotlib. Targets: the
default method scores at least as well as principal components; the picture has less than 1 MB.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import pyke
from common import finish, graph, parser, table
from pyke.core.progress import Progress
from pyke.evaluate.type_prediction import score
from pyke.graph.terms import Terms, Texts
from pyke.use import figures
from pyke.use.maps import View, figure, points
from pyke.use.maps.layout import layout
from pyke.use.maps.selection import PALETTE
from pyke.use.maps.view import METHODS
from pyke.use.types.votes import TypeTable

GRAPHS = ("iswc", "codex-m", "wikipathways")
MU = 10
POINTS = 10**6


def same_types(path: Path) -> dict[str, Any]:
    """Scores of the vectors and of both maps of a graph."""
    embedding = pyke.embed(path, on_error="skip")
    known, threads = TypeTable.of(embedding.types), pyke.Config().threads
    row: dict[str, Any] = {
        "graph": path.name.split(".")[0],
        "50 dimensions": score(embedding.vectors, known, mu=[MU], threads=threads).scores[MU],
    }
    for method in METHODS:
        (panel,) = layout(embedding, View(method=method), Progress())
        row[method] = score(panel.points, known, mu=[MU], threads=threads).scores[MU]
    return row


def a_million_points() -> list[dict[str, Any]]:
    """Seconds and bytes of a PNG: as a density, and as a scatter plot in the same figure."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 5, (40, 2))
    places = (centres[rng.integers(0, 40, POINTS)] + rng.normal(size=(POINTS, 2))).astype(
        np.float32
    )
    panels, view = [figure.Panel("", places)], View()
    groups = rng.integers(0, 9, POINTS).astype(np.uint8)
    key = points.Key(groups, PALETTE, [str(number) for number in range(9)], [0] * 9)
    rows: list[dict[str, Any]] = []
    for name, limit in (("density", points.POINTS_UP_TO), ("scatter", POINTS)):
        points.POINTS_UP_TO = limit
        began = time.perf_counter()
        drawing = figure.map_figure(
            "a million points", panels, key, figure.Labels(), view.figure_size(), view.dpi
        )
        content = figures.small_png(drawing.figure, view.dpi)
        rows.append(
            {"drawn as": name, "seconds": time.perf_counter() - began, "kB": len(content) / 1000}
        )
    points.POINTS_UP_TO = 20_000
    return [row | {"times density": row["seconds"] / rows[0]["seconds"]} for row in rows]


def a_million_terms() -> dict[str, Any]:
    """Seconds and bytes of a picture and a page of a million terms."""
    rng = np.random.default_rng(0)
    terms = Terms.of(f"http://example.com/term/{number}" for number in range(POINTS))
    types = np.column_stack([np.arange(POINTS), rng.integers(0, 20, POINTS)]).astype(np.int32)
    nothing = np.zeros(0, np.int32)
    vectors = rng.normal(size=(POINTS, 50)).astype(np.float32)
    embedding = pyke.Embedding(
        vectors, terms, types, np.zeros((0, 3), np.int32), Texts.of([]), nothing, {}
    )
    with tempfile.TemporaryDirectory() as folder:
        row: dict[str, Any] = {"terms": POINTS}
        for form in ("png", "html"):
            began = time.perf_counter()
            drawn = embedding.plot(Path(folder) / f"map.{form}", method="pca")
            row |= {f"{form} seconds": time.perf_counter() - began, f"{form} MB": drawn.bytes / 1e6}
    return row


def main() -> None:
    options = parser(__doc__).parse_args()
    scores = [same_types(graph(options.data, name)) for name in GRAPHS]
    pictures, terms = a_million_points(), a_million_terms()
    misses = [
        f"{row['graph']}: pyke {row['pyke']:.3f}, pca {row['pca']:.3f}"
        for row in scores
        if row["pyke"] < row["pca"]
    ]
    misses += [f"a picture of {row['kB']:.0f} kB" for row in pictures[:1] if row["kB"] > 1000]
    if not options.json:
        table({"graph": "", "50 dimensions": ".3f", "pca": ".3f", "pyke": ".3f"}, scores)
        table({"drawn as": "", "seconds": ".2f", "times density": ".1f", "kB": ".0f"}, pictures)
        table(
            {
                "terms": ",",
                "png seconds": ".1f",
                "png MB": ".2f",
                "html seconds": ".1f",
                "html MB": ".1f",
            },
            [terms],
        )
    finish({}, [*scores, *pictures, terms], misses, options.json)


if __name__ == "__main__":
    main()
