"""The paper's running example: embed a family, show neighbours, draw a map.

`make demo` runs this. It writes the embedding to demo/father and the map to demo/father.png.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import pyke

HERE = Path(__file__).parent
OUTPUT = HERE.parent / "demo"
NAMESPACE = "http://example.com/father#"
WIDTH, HEIGHT = 72, 18  # characters of the map in the terminal

NEXT = """
{picture} shows the map beside the random start.

Next steps:
  source .venv/bin/activate
  pyke embed your-graph.ttl -o out    embed your own graph
  pyke nearest out "a label or IRI"   list the nearest neighbours of a term
  pyke plot out -o map.html           draw a map to explore in a browser
  pyke --help                         all commands
"""


def run(*arguments: str) -> None:
    """Print a command and run it."""
    print("\n$ pyke", *arguments, flush=True)
    subprocess.run([sys.executable, "-m", "pyke", *arguments], check=True)


def text_map(names: list[str], vectors: np.ndarray) -> str:
    """Draw the first two principal components as text."""
    centred = vectors - vectors.mean(axis=0)
    points = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    points = (points - points.min(axis=0)) / np.ptp(points, axis=0)
    rows = [[" "] * (WIDTH + 14) for _ in range(HEIGHT)]
    for name, (x, y) in zip(names, points, strict=True):
        row, column = int((1 - y) * (HEIGHT - 1)), int(x * WIDTH)
        rows[row][column : column + len(name) + 2] = f"• {name}"
    return "\n".join("".join(row).rstrip() for row in rows)


def main() -> None:
    """Run the demo."""
    directory, picture = OUTPUT / "father", OUTPUT / "father.png"
    run("embed", str(HERE / "father.ttl"), "-o", str(directory), "--seed", "2", "--force")
    run("nearest", str(directory), NAMESPACE + "anna", "-k", "5")

    embedding = pyke.load(directory)
    family = [term for term in embedding.terms if term.startswith(NAMESPACE)]
    names = [term.removeprefix(NAMESPACE) for term in family]
    title = "The family before and after the simulation"
    embedding.plot(
        picture, method="pca", before_and_after=True, label=family, title=title, dpi=100, force=True
    )
    print("\nThe family after the simulation (two principal components):\n")
    print(text_map(names, np.array([embedding[term] for term in family])))
    print(NEXT.format(picture=picture.relative_to(HERE.parent)))


if __name__ == "__main__":
    main()
