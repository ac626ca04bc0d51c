"""Runtime over the size of the graph: the paper's experiment on LUBM(5) to LUBM(200).

Fits a straight line for each number of springs (K = 5, 10, 20). Seconds are those of `pyke embed`
from an N-Triples file to an embedding directory, best of --runs. In the fit, sizes are millions of
triples. Graphs that need more than --memory, or 90 % of the free memory, are skipped. The fit is
also given for CPU seconds, which hardly depend on the load of the machine. Target: R² ≥ 0.99.
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
MIN_R2 = 0.99


def free_bytes() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


def measure(path: Path, folder: Path, k: int, memory: int, runs: int) -> dict[str, Any] | None:
    """Wall and CPU seconds of the best run; None if the graph needs too much memory."""
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
            "M triples": found["census"]["triples"] / 1e6,
            "seconds": child.seconds,
            "CPU seconds": child.cpu_seconds,
            "GB": child.peak_bytes / 1e9,
        }
        best = row if best is None or child.seconds < best["seconds"] else best
    return best


def fit(sizes: list[float], seconds: list[float]) -> tuple[float, float, float]:
    """Ordinary least squares: coefficient, intercept, R²."""
    x, y = np.array(sizes), np.array(seconds)
    design = np.column_stack([x, np.ones_like(x)])
    (slope, intercept), *_ = np.linalg.lstsq(design, y, rcond=None)
    residuals = y - design @ np.array([slope, intercept])
    return (
        float(slope),
        float(intercept),
        float(1 - residuals @ residuals / ((y - y.mean()) @ (y - y.mean()))),
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
        ylabel="seconds of a complete run",
        title="Runtime of pyke embed on LUBM",
        ylim=0,
    )
    axes.grid(alpha=0.25)
    axes.legend()
    figures.draw_to(figure, path)


def measure_all(options: Any, memory: int) -> list[dict[str, Any]]:
    """A point for each size and number of springs; skips graphs that need too much memory."""
    points: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            path = Path(folder) / f"lubm{size}.nt"
            lubm.write(lubm.Universities(size), path, literals=False)
            for k in options.k:
                found = measure(path, Path(folder), k, memory, options.runs)
                if found is None:
                    note = f"skipped: it needs more than {memory / 1e9:.1f} GB"
                else:
                    points.append({"universities": size, "K": k, **found})
                    note = f"{found['seconds']:.1f} s, {found['CPU seconds']:.1f} CPU seconds"
                print(f"LUBM({size}), K = {k}: {note}", file=sys.stderr, flush=True)
            path.unlink()
    return points


def fit_all(points: list[dict[str, Any]], springs: list[int]) -> list[dict[str, Any]]:
    """A straight line for each number of springs."""
    fits = []
    for k in springs:
        chosen = [point for point in points if point["K"] == k]
        sizes = [point["M triples"] for point in chosen]
        slope, intercept, r2 = fit(sizes, [point["seconds"] for point in chosen])
        cpu_r2 = fit(sizes, [point["CPU seconds"] for point in chosen])[2]
        row = {"K": k, "coefficient": slope, "intercept": intercept, "R²": r2}
        fits.append({**row, "R² of CPU seconds": cpu_r2})
    return fits


POINT_COLUMNS = {
    "universities": "",
    "K": "",
    "M triples": ".2f",
    "seconds": ".1f",
    "CPU seconds": ".1f",
    "GB": ".2f",
}
FIT_COLUMNS = {
    "K": "",
    "coefficient": ".2f",
    "intercept": ".2f",
    "R²": ".4f",
    "R² of CPU seconds": ".4f",
}


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
    parser.add_argument(
        "--memory", type=int, help="maximum bytes to use [90 %% of the free memory]"
    )
    parser.add_argument("--figure", type=Path, help="draw a figure to .png, .svg or .pdf")
    options = parser.parse_args()
    common.warm_up()
    points = measure_all(options, options.memory or int(0.9 * free_bytes()))
    fits = fit_all(points, options.k)
    misses = [
        f"K = {row['K']}: R² is {row['R²']:.4f}, target {MIN_R2}"
        for row in fits
        if row["R²"] < MIN_R2
    ]
    if options.figure:
        draw(points, fits, options.figure)
    if options.json:
        common.finish({}, [{"points": points, "fits": fits}], misses, True)
    common.table(POINT_COLUMNS, points)
    common.finish(FIT_COLUMNS, fits, misses, False)


if __name__ == "__main__":
    main()
