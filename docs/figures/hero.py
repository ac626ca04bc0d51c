"""Draw the first picture of the README: a map of the noun meanings in WordNet.

    python docs/figures/hero.py wordnet30.nt.gz

The script embeds the graph, arranges the vectors of the noun synsets in the plane with t-SNE, and
writes hero.png beside itself. The arrangement takes about ten minutes on two cores. It is stored in
a file (--points) and used again if you only change the drawing. It needs `pip install '.[all]'`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pyke

HERE = Path(__file__).parent
WORDNET = "http://www.w3.org/2006/03/wn/wn30/"
TOPIC = f"{WORDNET}lexname/noun."
CHILDREN = (f"{WORDNET}schema/hypernymOf", f"{WORDNET}schema/hasInstance")

# Colour and label of each WordNet topic. Labels are placed in this order.
TOPICS = {
    "artifact": ("#4f9dff", "artifacts"),
    "person": ("#c3d3ef", "people"),
    "plant": ("#ff8c42", "plants"),
    "animal": ("#ffc46b", "animals"),
    "act": ("#3ddc6f", "acts"),
    "communication": ("#a8f08a", "communication"),
    "state": ("#ff5d62", "states"),
    "location": ("#ff9aa8", "places"),
    "attribute": ("#a884ff", "qualities"),
    "cognition": ("#d08f7c", "knowledge"),
    "substance": ("#d3bdf0", "substances"),
    "group": ("#e2bfae", "groups"),
    "food": ("#f57ad6", "food"),
    "body": ("#ffb8d9", "body"),
    "event": ("#e8e04a", "events"),
    "time": ("#2fe0e8", "time"),
    "possession": ("#f2f0a0", "possessions"),
    "quantity": ("#d8d8d8", "quantities"),
    "object": ("#a3a9b3", "nature"),
    "phenomenon": ("#7c83e8", "phenomena"),
    "feeling": ("#8f93ff", "feelings"),
    "relation": ("#7f8fd8", "relations"),
    "process": ("#8fe6f2", "processes"),
    "shape": ("#c2a3ff", "shapes"),
    "motive": ("#9d8fe0", ""),
    "Tops": ("#ffffff", ""),  # the highest concepts
}
PAPER, INK = "#0b0f1a", "#eef1f6"
DPI = 118
WIDTH, HEIGHT = round(13.6 * DPI), round(9.6 * DPI)
COLOURS = 128
WORDS = 75  # at most, besides the topics
MIN_CHILDREN = 14  # of a word that names its region
UNCLEAR = {
    "agency",
    "book",
    "class",
    "collection",
    "letter",
    "operation",
    "person",
    "position",
    "quality",
    "terrorist organization",
    "worker",
}

Points = NDArray[np.float32]
Ids = NDArray[np.int32]


def nouns(e: pyke.Embedding) -> tuple[Ids, list[str]]:
    """Return the ids of all noun synsets and the topic of each."""
    topics = {
        i: e.terms[i][len(TOPIC) :]
        for i in np.unique(e.types[:, 1]).tolist()
        if e.terms[i].startswith(TOPIC)
    }
    rows = e.types[np.isin(e.types[:, 1], list(topics))]
    ids, first = np.unique(rows[:, 0], return_index=True)
    return ids, [topics[i] for i in rows[first, 1].tolist()]


def arrange(vectors: Points) -> Points:
    """Return positions in the plane: t-SNE, started from the two principal components."""
    from sklearn.manifold import TSNE

    centred = vectors - vectors.mean(axis=0)
    start = centred @ np.linalg.svd(centred.T @ centred)[0][:, :2]
    start *= 1e-4 / start[:, 0].std()
    plane: Points = TSNE(init=start, random_state=0, n_jobs=-1).fit_transform(centred)
    return plane


def regions(
    e: pyke.Embedding, ids: Ids, points: Points
) -> list[tuple[float, str, NDArray[np.float64]]]:
    """Return (importance, word, position): words whose hyponyms or instances lie close together."""
    row = np.full(len(e), -1)
    row[ids] = np.arange(len(ids))
    lookup = e.lookup()
    predicates = [lookup.find(name) for name in CHILDREN]
    triples = e.triples[np.isin(e.triples[:, 1], predicates)]
    triples = triples[(row[triples[:, 0]] >= 0) & (row[triples[:, 2]] >= 0)]
    triples = triples[np.argsort(triples[:, 0], kind="stable")]
    parents, begins = np.unique(triples[:, 0], return_index=True)
    near = 0.035 * np.ptp(points, axis=0).max()
    found = []
    for parent, members in zip(
        parents.tolist(), np.split(row[triples[:, 2]], begins[1:]), strict=True
    ):
        if len(members) < MIN_CHILDREN:
            continue
        middle = np.median(points[members], axis=0)
        close = np.linalg.norm(points[members] - middle, axis=1) < near
        if close.mean() > 0.6:
            found.append(
                (
                    close.sum() * close.mean(),
                    lookup.readable(parent),
                    points[members][close].mean(axis=0),
                )
            )
    return sorted(found, key=lambda entry: -entry[0])


def picture(points: Points, topics: list[str], limits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the points as an image, (height, width, 3): each is a soft dot."""
    from matplotlib.colors import to_rgb
    from scipy.ndimage import gaussian_filter

    low, high = limits
    place = ((points - low) / (high - low) * (WIDTH, HEIGHT)).astype(int)
    inside = ((place >= 0) & (place < (WIDTH, HEIGHT))).all(axis=1)
    image = np.ones((HEIGHT, WIDTH, 3)) * to_rgb(PAPER)
    names = np.array(topics)
    for topic, (colour, _) in TOPICS.items():
        x, y = place[inside & (names == topic)].T
        count = (
            np.bincount((HEIGHT - 1 - y) * WIDTH + x, minlength=WIDTH * HEIGHT)
            .reshape(HEIGHT, WIDTH)
            .astype(float)
        )
        strength = 1 - np.exp(-3.6 * gaussian_filter(count, 0.0075 * DPI))
        image = 1 - (1 - image) * (1 - strength[:, :, None] * to_rgb(colour))
    return image


def label(axes: Any, taken: list[Any], text: str, at: Any, **style: Any) -> None:
    """Write a text centred at a point, unless it would overlap another one or the border."""
    from matplotlib.patheffects import withStroke

    written = axes.text(
        *at,
        text,
        ha="center",
        va="center",
        path_effects=[withStroke(linewidth=3, foreground=PAPER, alpha=0.9)],
        **style,
    )
    box = written.get_window_extent(axes.figure.canvas.get_renderer())
    room = box.expanded(1.06, 1.25)
    border = axes.figure.bbox
    fits = (
        room.x0 > border.x0 and room.y0 > border.y0 and room.x1 < border.x1 and room.y1 < border.y1
    )
    if fits and not any(room.overlaps(other) for other in taken):
        taken.append(room)
    else:
        written.remove()


def draw(e: pyke.Embedding, ids: Ids, topics: list[str], points: Points, path: Path) -> None:
    """Draw the map and write it as a PNG with few colours."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import to_rgb
    from matplotlib.figure import Figure
    from PIL import Image

    low, high = np.quantile(points, [0.001, 0.999], axis=0)
    limits = np.array([low, high]) + np.array([[-0.03], [0.03]]) * (
        high - low
    )  # the axes of t-SNE have no unit
    figure = Figure((WIDTH / DPI, HEIGHT / DPI), dpi=DPI)
    canvas: Any = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.axis("off")
    axes.imshow(picture(points, topics, limits), extent=limits.T.ravel(), aspect="auto")
    names, taken = np.array(topics), []
    for topic, (colour, name) in TOPICS.items():
        if name:
            tint = 0.35 * np.array(to_rgb(colour)) + 0.65
            label(
                axes,
                taken,
                name,
                np.median(points[names == topic], axis=0),
                fontsize=17,
                fontweight="bold",
                color=tint,
            )
    before = len(taken)
    for _, word, at in regions(e, ids, points):
        if len(taken) < before + WORDS and word not in UNCLEAR:
            label(axes, taken, word, at, fontsize=9.5, color=INK)
    canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())[:, :, :3])
    image.quantize(
        COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
    ).save(path, optimize=True)


def main() -> None:
    """Embed, arrange and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graph", help="WordNet 3.0 as RDF, or its embedding directory")
    parser.add_argument(
        "--points", type=Path, default=Path("hero-points.npy"), help="file for the arrangement"
    )
    parser.add_argument("--output", type=Path, default=HERE / "hero.png")
    options = parser.parse_args()
    is_embedding = Path(options.graph).is_dir()
    e = pyke.load(options.graph) if is_embedding else pyke.embed(options.graph, on_error="skip")
    ids, topics = nouns(e)
    if not options.points.exists():
        np.save(options.points, arrange(np.array(e.vectors[ids])))
    draw(e, ids, topics, np.load(options.points), options.output)


if __name__ == "__main__":
    main()
