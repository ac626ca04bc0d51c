"""The paper's running example from end to end: embed, show neighbours, draw the map before and after.

Run by `make demo`; writes demo/father (the embedding) and demo/father.png (the picture).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyke
from pyke.simulation import anneal
from pyke.use import figures

HERE = Path(__file__).parent
OUTPUT = HERE.parent / "demo"
NAMESPACE = "http://example.com/father#"


def run(*arguments: str) -> None:
    """Shows a command and runs it."""
    print("\n$ pyke", *arguments, flush=True)
    subprocess.run([sys.executable, "-m", "pyke", *arguments], check=True)


def text_map(
    embedding: pyke.Embedding,
    chosen: list[int],
    names: list[str],
    width: int = 72,
    height: int = 18,
) -> str:
    """The map as text, for a terminal."""
    points = figures.project(embedding.vectors[chosen])
    points = (points - points.min(axis=0)) / (points.max(axis=0) - points.min(axis=0))
    rows = [[" "] * (width + 14) for _ in range(height)]
    for name, (x, y) in zip(names, points, strict=True):
        row, column = int((1 - y) * (height - 1)), int(x * width)
        rows[row][column : column + len(name) + 2] = f"• {name}"
    return "\n".join("".join(row).rstrip() for row in rows)


def main() -> None:
    """Runs the demo."""
    directory = OUTPUT / "father"
    run("embed", str(HERE / "father.ttl"), "-o", str(directory), "--seed", "2", "--force")
    run("nearest", str(directory), NAMESPACE + "anna", "-k", "5")
    run("verify", str(directory))

    embedding = pyke.load(directory)
    chosen = [i for i, term in enumerate(embedding.terms) if term.startswith(NAMESPACE)]
    names = [embedding.terms[i].removeprefix(NAMESPACE) for i in chosen]
    classes = {
        int(subject): embedding.terms[kind].split("#")[-1] for subject, kind in embedding.types
    }
    groups = [classes.get(i, "") for i in chosen]
    config = pyke.Config(seed=2)
    start = anneal.start(len(embedding), config)[:, : config.dimensions]
    picture = OUTPUT / "father.png"
    figures.before_and_after(
        [("random start", start[chosen]), ("at rest", embedding.vectors[chosen])],
        names,
        groups,
        picture,
    )
    print(
        f"\nThe family at rest (two principal components; the picture with the start beside it is {picture}):\n"
    )
    print(text_map(embedding, chosen, names))


if __name__ == "__main__":
    main()
