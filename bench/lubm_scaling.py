"""Does the runtime grow with the size of the graph? The paper's experiment: LUBM(5) … LUBM(200), K = 5, 10, 20, a straight line through each.

Seconds are those of `pyke embed` from an N-Triples file to an embedding directory, best of --runs; in the fit, size is in millions of
counted triples. A graph that `pyke plan` says will not fit into the memory (--memory, or 90 % of what is free) is left out and named.
The fit is also given for processor seconds, which others on the machine hardly disturb.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import common
from pyke.evaluate import lubm
from pyke.use import figures

SIZES, SPRINGS = (5, 10, 20, 50, 100, 200), (5, 10, 20)
LEAST_R2 = 0.99


def free_bytes() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


def measure(path: Path, folder: Path, k: int, memory: int, runs: int) -> dict[str, Any] | None:
    """Wall and processor seconds of the best run; None if the graph would not fit."""
    best: dict[str, Any] | None = None
    for _ in range(runs):
        child = common.run(
            common.pyke(
                "embed",
                path,
                "-o",
                folder / "out",
                "--force",
                "--k",
                str(k),
                "--memory",
                str(memory),
                "--json",
            ),
            fail=False,
        )
        if child.code == 75:
            return None
        if child.code:
            common.stop(child.errors[-2000:])
        found = json.loads(child.output)
        row = {
            "triples": found["census"]["triples"],
            "seconds": child.seconds,
            "cpu": child.cpu_seconds,
            "peak": child.peak_bytes,
        }
        best = row if best is None or child.seconds < best["seconds"] else best
    return best


def fit(sizes: list[float], seconds: list[float]) -> tuple[float, float, float]:
    """Ordinary least squares: coefficient, intercept, R²."""
    x, y = np.array(sizes), np.array(seconds)
    design = np.column_stack([x, np.ones_like(x)])
    (slope, intercept), *_ = np.linalg.lstsq(design, y, rcond=None)
    rest = y - design @ np.array([slope, intercept])
    return (
        float(slope),
        float(intercept),
        float(1 - rest @ rest / ((y - y.mean()) @ (y - y.mean()))),
    )


def draw(points: list[dict[str, Any]], fits: list[dict[str, Any]], path: Path) -> None:
    figure = figures.new_figure(6.4, 4.4)
    axes = figure.subplots()
    for row, colour in zip(fits, figures.COLOURS, strict=False):
        chosen = [point for point in points if point["K"] == row["K"]]
        axes.scatter(
            [p["M triples"] for p in chosen], [p["seconds"] for p in chosen], color=colour, s=26
        )
        ends = np.array([0, max(p["M triples"] for p in points)])
        axes.plot(
            ends,
            row["coefficient"] * ends + row["intercept"],
            color=colour,
            label=f"K = {row['K']} (R² = {row['R²']:.4f})",
        )
    axes.set(
        xlabel="million triples",
        ylabel="seconds, whole run",
        title="Runtime of pyke embed on LUBM",
        ylim=0,
    )
    axes.grid(alpha=0.25)
    axes.legend()
    figures.draw_to(figure, path)


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=list(SIZES),
        help="numbers of universities [5 10 20 50 100 200]",
    )
    parser.add_argument(
        "--k", type=int, nargs="+", default=list(SPRINGS), help="springs per particle [5 10 20]"
    )
    parser.add_argument("--runs", type=int, default=1, help="runs of each [1]")
    parser.add_argument("--memory", type=int, help="most bytes to use [90 %% of what is free]")
    parser.add_argument("--figure", type=Path, help="draw it, to .png, .svg or .pdf")
    options = parser.parse_args()
    common.warm_up()
    memory = options.memory or int(0.9 * free_bytes())
    points: list[dict[str, Any]] = []
    misses: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            path = Path(folder) / f"lubm{size}.nt"
            lubm.write(lubm.Universities(size), path, literals=False)
            for k in options.k:
                found = measure(path, Path(folder), k, memory, options.runs)
                if found is None:
                    print(
                        f"LUBM({size}), K = {k}: needs more than {memory / 1e9:.1f} GB, left out",
                        flush=True,
                    )
                    continue
                points.append({"universities": size, "K": k, "M triples": found["triples"] / 1e6, "seconds": found["seconds"],
                               "cpu": found["cpu"], "GB": found["peak"] / 1e9})  # fmt: skip
                print(
                    f"LUBM({size}), K = {k}: {found['seconds']:.1f} s, {found['cpu']:.1f} processor seconds",
                    file=sys.stderr,
                    flush=True,
                )
            path.unlink()
    fits = []
    for k in options.k:
        chosen = [point for point in points if point["K"] == k]
        slope, intercept, r2 = fit([p["M triples"] for p in chosen], [p["seconds"] for p in chosen])
        fits.append({"K": k, "coefficient": slope, "intercept": intercept, "R²": r2,
                     "R² of processor seconds": fit([p["M triples"] for p in chosen], [p["cpu"] for p in chosen])[2]})  # fmt: skip
        if r2 < LEAST_R2:
            misses.append(f"K = {k}: R² is {r2:.4f}, not {LEAST_R2}")
    if options.figure:
        draw(points, fits, options.figure)
    if options.json:
        common.finish({}, [{"points": points, "fits": fits}], misses, True)
    common.table(
        {
            "universities": "",
            "K": "",
            "M triples": ".2f",
            "seconds": ".1f",
            "cpu": ".1f",
            "GB": ".2f",
        },
        points,
    )
    common.finish(
        {
            "K": "",
            "coefficient": ".2f",
            "intercept": ".2f",
            "R²": ".4f",
            "R² of processor seconds": ".4f",
        },
        fits,
        misses,
        False,
    )


if __name__ == "__main__":
    main()
