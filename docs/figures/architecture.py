"""Draw the figure of docs/architecture.md: `python docs/figures/architecture.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from PIL import Image

HERE = Path(__file__).parent
WIDTH, HEIGHT, DPI = 12.6, 6.1, 130
INK, SOFT, PAPER = "#1f2733", "#5b6675", "#ffffff"
MONO = "DejaVu Sans Mono"

# Folder, colour, what it does, its files.
STAGES = [
    ("read/", "#4477aa", "lines → terms", "find  parse\ntokenize  objects\nsandbox  sparql/"),
    ("graph/", "#228833", "terms → ids", "build  graph\nterms  roles\nchanges"),
    ("springs/", "#aa8800", "who attracts\nand repels", "contexts  ppmi\nstrongest\nrepellers"),
    ("simulation/", "#cc5566", "forces move\nthe particles", "anneal\nforces"),
    ("embedding/", "#aa3377", "vectors, terms,\ntypes, triples", "embedding\nstore\nlookup"),
    (
        "use/",
        "#5544aa",
        "neighbours, types,\nclusters, maps …",
        "neighbours/  types/\nclusters/  maps/\nexport/  sklearn",
    ),
]
BOX_WIDTH, GAP = 1.78, 0.28
LEFT = (WIDTH - len(STAGES) * BOX_WIDTH - (len(STAGES) - 1) * GAP) / 2
SAMPLE, STAGE, BOTTOM = 3.88, 1.86, 0.36  # lower edges of the rows


def box(axes: Any, x: float, y: float, width: float, height: float, colour: str, fill: str) -> None:
    """Draw a rounded box."""
    style = "round,pad=0,rounding_size=0.09"
    look = {"boxstyle": style, "edgecolor": colour, "facecolor": fill, "linewidth": 1.3}
    axes.add_patch(FancyBboxPatch((x, y), width, height, **look))


def tint(colour: str, amount: float) -> str:
    """Mix a colour with white."""
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - (255 - part) * amount):02x}" for part in parts)


def bar(axes: Any, y: float, colour: str, name: str, text: str, stages: int = 6) -> None:
    """Draw a folder that spans several stages."""
    width = stages * (BOX_WIDTH + GAP) - GAP
    box(axes, LEFT, y, width, 0.5, colour, tint(colour, 0.10))
    axes.text(
        LEFT + 0.16, y + 0.25, name, fontsize=12, fontweight="bold", color=colour, va="center"
    )
    axes.text(LEFT + 2.1, y + 0.25, text, fontsize=10, color=INK, va="center")


def samples(axes: Any, centres: list[float]) -> None:
    """Show one triple in each stage."""
    y = SAMPLE + 0.62
    small = {"ha": "center", "va": "center", "color": INK}
    axes.text(centres[0], y, "<#anna>\n<#hasChild>\n<#heinz> .", fontsize=9.5, family=MONO, **small)
    axes.text(centres[1], y, "(12, 6, 14)", fontsize=11, family=MONO, **small)
    x = centres[2]
    spring(axes, (x - 0.62, y + 0.02), (x + 0.38, y + 0.3), STAGES[2][1])
    spring(axes, (x - 0.62, y + 0.02), (x + 0.38, y - 0.26), STAGES[2][1])
    axes.plot([x - 0.62], [y + 0.02], "o", color=STAGES[0][1], markersize=8)
    axes.plot([x + 0.38] * 2, [y + 0.3, y - 0.26], "s", color=STAGES[2][1], markersize=8)
    axes.text(x - 0.62, y - 0.22, "anna", fontsize=8.5, **small)
    axes.text(x + 0.38, y + 0.5, "has a child", fontsize=8.5, **small)
    axes.text(x + 0.3, y - 0.47, "parent of heinz", fontsize=8.5, **small)
    cloud(axes, centres[3], y)
    vector = "anna =\n[0.69, 0.98,\n 0.13, …]"
    axes.text(centres[4], y, vector, fontsize=9.5, family=MONO, **small)
    axes.text(centres[5], y, "anna rdf:type\nfemale", fontsize=10.5, fontweight="bold", **small)


def spring(axes: Any, one: tuple[float, float], other: tuple[float, float], colour: str) -> None:
    """Draw a coil between two points."""
    start, end = np.array(one), np.array(other)
    along = np.linspace(0, 1, 160)[:, None]
    across = np.array([-(end - start)[1], (end - start)[0]]) / np.linalg.norm(end - start)
    inner = np.clip((along - 0.16) / 0.68, 0, 1)
    swing = 0.06 * np.sin(inner * 9 * 2 * np.pi) * ((along > 0.16) & (along < 0.84))
    axes.plot(*(start + along * (end - start) + swing * across).T, color=colour, linewidth=1)


def cloud(axes: Any, x: float, y: float) -> None:
    """Draw particles that move to their places."""
    random = np.random.default_rng(4)
    goals = np.array([(-0.38, 0.22), (0.4, 0.12), (-0.05, -0.33)])
    colours = [STAGES[0][1], STAGES[3][1], STAGES[1][1]]
    for goal, colour in zip(goals, colours, strict=True):
        for end in goal + random.normal(0, 0.09, (5, 2)):
            start = end * 0.35 + random.normal(0, 0.12, 2)
            path = np.array([start, end]) + np.array([x, y])
            axes.plot(*path.T, color=tint(colour, 0.45), linewidth=0.9)
            axes.plot(x + end[0], y + end[1], "o", color=colour, markersize=4)


def draw() -> Figure:
    """Draw the stages from left to right, with one triple above them."""
    figure = Figure((WIDTH, HEIGHT), dpi=DPI, facecolor=PAPER)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(0, HEIGHT))
    axes.axis("off")
    bar(axes, 5.36, "#334155", "cli/  evaluate/", "commands · scores, comparisons, tuning, LUBM")
    lefts = [LEFT + number * (BOX_WIDTH + GAP) for number in range(len(STAGES))]
    for x, (name, colour, purpose, files) in zip(lefts, STAGES, strict=True):
        centre = x + BOX_WIDTH / 2
        box(axes, x, SAMPLE, BOX_WIDTH, 1.24, "#d5dae1", "#fafbfc")
        box(axes, x, STAGE, BOX_WIDTH, 1.74, colour, tint(colour, 0.12))
        axes.text(
            centre,
            STAGE + 1.5,
            name,
            fontsize=13,
            fontweight="bold",
            color=colour,
            ha="center",
            va="center",
        )
        axes.text(centre, STAGE + 1.07, purpose, fontsize=9.5, color=INK, ha="center", va="center")
        axes.text(
            centre,
            STAGE + 0.42,
            files,
            fontsize=8.5,
            color=SOFT,
            ha="center",
            va="center",
            linespacing=1.35,
        )
    for x in lefts[1:]:
        for y in (SAMPLE + 0.62, STAGE + 0.87):
            axes.annotate(
                "",
                (x - 0.02, y),
                (x - GAP + 0.02, y),
                arrowprops={"arrowstyle": "-|>", "color": SOFT, "lw": 1.4},
            )
    samples(axes, [x + BOX_WIDTH / 2 for x in lefts])
    bar(
        axes,
        STAGE - 0.76,
        "#0f766e",
        "pipeline/",
        "embed: runs the stages · plan: memory and time · checkpoints · update: new triples",
        stages=5,
    )
    bar(
        axes,
        BOTTOM,
        "#475569",
        "core/",
        "files · inputs · tables · parallel · memory · compile · hashing · random · progress",
    )
    return figure


if __name__ == "__main__":
    figure = draw()
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())[:, :, :3])
    image.quantize(64, dither=Image.Dither.NONE).save(HERE / "architecture.png", optimize=True)
