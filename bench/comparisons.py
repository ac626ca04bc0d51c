"""Compare PYKE with all other methods on iswc, codex-m and wikipathways, or on LUBM (`lubm`).

Runs `pyke compare` with one thread, as in the paper; it takes two to three hours. `make baselines`
installs the methods. Rows and pages are stored in --folder, so a stopped run can be resumed. On the
largest graphs (`--graphs wordnet30 pleiades`), `--subjects 5000 --mu 10 --no-purity` saves
hours.
Targets with 10 neighbours (μ): first in held-out scores, at most .02 below the best in-graph score.
"""

from __future__ import annotations

import json
import subprocess
from argparse import Namespace
from pathlib import Path

import common
from predictors import UNIVERSITIES
from pyke.evaluate import tables
from pyke.evaluate.compare import Comparison, Row
from pyke.use import figures, reports

GRAPHS = ("iswc", "codex-m", "wikipathways")
MU, MAX_DISTANCE = 10, 0.02


def file_of(graph: str, options: Namespace) -> Path:
    """The file of a graph; LUBM is generated."""
    if graph != "lubm":
        return common.graph(options.data, graph)
    path: Path = options.folder / "lubm.nt"
    if not path.exists():
        common.run(common.pyke("lubm", str(UNIVERSITIES), "-o", path))
    return path


def misses_of(comparison: Comparison) -> list[str]:
    done = [row for row in comparison.rows if row.in_graph and row.held_out]
    scores = {
        row.method: [
            tables.score_at(found or {}, MU) or 0.0 for found in (row.in_graph, row.held_out)
        ]
        for row in done
    }
    best_in, best_held = (max(score[column] for score in scores.values()) for column in (0, 1))
    ours_in, ours_held = scores["pyke"]
    misses = (
        []
        if ours_held >= best_held
        else [f"{comparison.graph}: held-out {ours_held:.4f}, the best is {best_held:.4f}"]
    )
    return misses + (
        []
        if ours_in >= best_in - MAX_DISTANCE
        else [f"{comparison.graph}: in-graph {ours_in:.4f}, the best is {best_in:.4f}"]
    )


def summary(comparisons: dict[str, Comparison]) -> reports.Table:
    """A row per method: both scores, weighted purity and seconds on each graph."""
    columns = [
        "method",
        *(f"{graph} {what}" for graph in comparisons for what in ("in", "held", "purity", "s")),
    ]
    found = {
        graph: tables.comparison_table(comparison) for graph, comparison in comparisons.items()
    }
    places = (1, 2, 5, 8)  # columns in the table of one graph
    titles = [row[0] for row in next(iter(found.values())).rows]
    rows: list[list[str]] = []
    best: set[tuple[int, int]] = set()
    for r, title in enumerate(titles):
        cells = [title]
        for table in found.values():
            at = next(i for i, row in enumerate(table.rows) if row[0] == title)
            best |= {
                (r, len(cells) + n) for n, place in enumerate(places) if (at, place) in table.best
            }
            cells += [
                table.rows[at][place].removeprefix("0") if place < 8 else table.rows[at][place]
                for place in places
            ]
        rows.append(cells)
    return reports.Table("All", columns, rows, best=frozenset(best))


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS))
    parser.add_argument("--folder", type=Path, default=common.ROOT / "build" / "comparisons")
    parser.add_argument("--methods", help="as in `pyke compare` [all]; pyke is always needed")
    parser.add_argument("--subjects", help="as in `pyke compare` [all]")
    parser.add_argument("--mu", help="as in `pyke compare` [the paper's]; 10 is always needed")
    parser.add_argument("--no-purity", action="store_true", help="as in `pyke compare`")
    parser.add_argument("--time-limit", default="20m", help="maximum time of one embedding [20m]")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    misses: list[str] = []
    done: dict[str, Comparison] = {}
    for graph in options.graphs:
        report = options.folder / f"{graph}.html"
        settings = ("--on-error", "skip", "--threads", "1", "--time-limit", options.time_limit)
        given = {"--methods": options.methods, "--subjects": options.subjects, "--mu": options.mu}
        methods = [word for name, value in given.items() if value for word in (name, value)]
        methods += ["--no-purity"] if options.no_purity else []
        path = file_of(graph, options)
        command = common.pyke("compare", path, *settings, *methods, "--report", report)
        subprocess.run([*command, "--json"], check=True, stdout=subprocess.DEVNULL)
        kept = json.loads(report.with_suffix(".json").read_bytes())
        comparison = Comparison(
            kept["graph"], kept["settings"], tuple(Row(**row) for row in kept["rows"])
        )
        done[graph] = comparison
        figures.draw_to(tables.curves(comparison), report.with_suffix(".png"))
        misses += misses_of(comparison)
        if not options.json:
            print(
                f"\n{graph}\n\n{tables.markdown(tables.comparison_table(comparison))}", flush=True
            )
    if not options.json:
        print(f"\n{tables.markdown(summary(done))}\n")
    common.finish({}, [], misses, options.json)


if __name__ == "__main__":
    main()
