"""Draw the figures of docs/explanation/physics.md: `python docs/figures/physics.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import pyke
from pyke.config import Config
from pyke.evaluate.lubm import Universities, read
from pyke.pipeline import embed_graph
from pyke.use.figures import COLOURS, GREY, draw_to, new_figure

HERE = Path(__file__).parent
FATHER = HERE.parent.parent / "examples" / "father.ttl"
Places = dict[str, tuple[float, float]]
BLUE, ORANGE, GREEN, RED = COLOURS[:4]


def forces() -> Any:
    """The two forces over the distance, and where they balance."""
    figure = new_figure(7.6, 3.4)
    axes = figure.subplots()
    d = np.linspace(0.05, 4, 400)
    for sigma, style in ((0.5, ":"), (1.0, "-"), (2.0, "--")):
        axes.plot(d, sigma * d, color=BLUE, linestyle=style, label=f"spring, σ d, σ = {sigma:g}")
        axes.plot(np.sqrt(1 / sigma), np.sqrt(sigma), "o", color="black", markersize=5, zorder=3)
    axes.plot(d, 1 / d, color=RED, label="repulsion, ω / d, ω = 1")
    axes.annotate("where they balance", (1, 1), xytext=(1.3, 1.05), fontsize=8)
    axes.set(xlabel="distance d", ylabel="size of the force", xlim=(0, 4), ylim=(0, 4))
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.grid(alpha=0.25)
    return figure


def contexts() -> Any:
    """The springs of four triples: the paper's, and context springs."""
    figure = new_figure(9.2, 3.7)
    left, right = figure.subplots(1, 2)
    people, places = ["anna", "heinz"], ["paris", "rome"]
    at: Places = {
        "anna": (0, 2),
        "heinz": (0, 0),
        "paris": (4, 2),
        "rome": (4, 0),
        "bornIn": (2, 1),
        "Person": (-1.6, 1),
        "type": (-0.8, 1),
    }
    springs = [
        ("anna", "bornIn"),
        ("bornIn", "paris"),
        ("anna", "paris"),
        ("heinz", "bornIn"),
        ("bornIn", "rome"),
        ("heinz", "rome"),
    ]
    springs += [(person, other) for person in people for other in ("type", "Person")] + [
        ("type", "Person")
    ]
    _network(left, "PPMI: terms of one triple attract each other", at, springs, {})
    roles: Places = {
        "who bornIn": (1.5, 2.7),
        "where bornIn": (2.6, -0.7),
        "who type Person": (-1.4, 1),
    }
    at = {"anna": (0, 2), "heinz": (0, 0), "paris": (4, 2), "rome": (4, 0), "bornIn": (2.05, 1)}
    springs = [(person, role) for person in people for role in ("who bornIn", "who type Person")]
    springs += [(place, "where bornIn") for place in places] + [
        ("bornIn", "who bornIn"),
        ("bornIn", "where bornIn"),
    ]
    _network(right, "context: terms with the same surroundings share particles", at, springs, roles)
    return figure


def _network(
    axes: Any, title: str, terms: Places, springs: list[tuple[str, str]], added: Places
) -> None:
    places = terms | added
    for one, other in springs:
        axes.plot(
            *zip(places[one], places[other], strict=True), color=GREY, linewidth=1.2, zorder=1
        )
    for group, colour, marker in ((terms, BLUE, "o"), (added, ORANGE, "s")):
        for name, (x, y) in group.items():
            axes.scatter(x, y, s=110, color=colour, marker=marker, zorder=2)
            white = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
            place = {"xytext": (0, 9), "textcoords": "offset points", "ha": "center"}
            axes.annotate(name, (x, y), **place, fontsize=9, bbox=white)
    axes.set_title(title, fontsize=10)
    axes.margins(0.14)
    axes.axis("off")


def annealing() -> Any:
    """Energy, J and displacement over the iterations, on LUBM(1)."""
    history = embed_graph(read(Universities(1)), Config(seed=7)).manifest["history"]
    figure = new_figure(9.2, 2.9)
    numbers = np.arange(1, len(history) + 1)
    for axes, key, title, colour in zip(
        figure.subplots(1, 3),
        ("energy", "objective", "displacement"),
        ("energy E", "J = Σ d over springs − Σ d over repellers", "total displacement"),
        (ORANGE, BLUE, GREEN),
        strict=True,
    ):
        axes.plot(numbers, [entry[key] for entry in history], color=colour)
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("iteration", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.25)
    figure.axes[2].set_yscale("log")
    return figure


def family() -> Any:
    """The running example in two dimensions, after the first, the fifth and the last iteration."""
    figure = new_figure(10.4, 3.8)
    groups = {"male": BLUE, "female": ORANGE}
    for axes, iterations in zip(figure.subplots(1, 3), (1, 5, 1000), strict=True):
        e = pyke.embed(FATHER, dimensions=2, seed=1, max_iterations=iterations)
        type_of = {e.terms[subject]: e.terms[kind].split("#")[-1] for subject, kind in e.types}
        colours = [groups.get(type_of.get(term, ""), GREY) for term in e.terms]
        axes.scatter(*e.vectors.T, s=40, c=colours, zorder=2)
        done = len(e.manifest["history"])
        axes.set_title(f"after {done} iteration{'s' if done > 1 else ''}", fontsize=10)
        axes.set(xticks=[], yticks=[])
        axes.margins(0.15)
        figure.draw_without_rendering()
        _write_names(axes, [term.split("#")[-1] for term in e.terms], e.vectors)
    return figure


def _write_names(axes: Any, names: list[str], points: Any) -> None:
    """Write each name beside its point, where it covers no other point or name."""
    from matplotlib.transforms import Bbox

    beside = [(7, 0, "left", "center"), (-7, 0, "right", "center")]
    above = [(0, 6, "center", "bottom"), (0, -6, "center", "top")]
    corners = [(5, 5, "left", "bottom"), (-5, -5, "right", "top")]
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in axes.transData.transform(points)]
    for number, (name, point) in enumerate(zip(names, points, strict=True)):
        others = taken[:number] + taken[number + 1 :]
        for x, y, across, along in beside + above + corners:
            place = {"xytext": (x, y), "textcoords": "offset points", "ha": across, "va": along}
            text = axes.annotate(name, point, **place, fontsize=7)
            box = text.get_window_extent()
            inside = axes.bbox.containsx(box.x0) and axes.bbox.containsx(box.x1)
            if inside and not any(box.overlaps(other) for other in others):
                taken.append(box)
                break
            text.remove()


FIGURES = {"forces": forces, "contexts": contexts, "annealing": annealing, "family": family}

if __name__ == "__main__":
    for name, draw in FIGURES.items():
        draw_to(draw(), HERE / f"{name}.png")
