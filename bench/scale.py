"""LUBM of several sizes on one machine: seconds and peak memory per stage, planned and measured.

`--memory` gives budgets; each is a run, and all runs of a size must give the same vectors. With
`--checkpoints`, each run is repeated without checkpoints, and the difference is their cost. Seconds
of a machine with other programs say little: CPU seconds are those of all threads. `--refusals`
measures only how soon a budget is refused that cannot work. Targets: peak memory within the budget;
memory and CPU seconds within 15 % of the plan and on a straight line (R² ≥ 0.99); equal vectors;
refusals within a CPU second.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import common
from pyke.config import parse_size

MAX_DEVIATION, MIN_FIT = 0.15, 0.99
NEVER = "1000000000"  # seconds between checkpoints
HOPELESS, OVER_BUDGET = "250MB", 75  # a budget, and its exit code


def run(path: Path, folder: Path, memory: str, *more: str) -> dict[str, Any]:
    """A run and its plan."""
    budget = [] if memory == "none" else ["--memory", memory]
    out = folder / "out"
    planned = json.loads(common.run(common.pyke("plan", path, "--json", *budget, *more)).output)
    child = common.run(common.pyke("embed", path, "-o", out, "--force", "--json", *budget, *more))
    with open(out / "vectors.npy", "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    return {"plan": planned, "child": child, "made": json.loads(child.output), "sha256": digest}


def rows_of(size: int, memory: str, found: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each stage, and one for the run."""
    planned = {stage["name"]: stage for stage in found["plan"]["stages"]}
    shared = {"LUBM": size, "budget": memory}
    rows = [
        {
            **shared,
            "stage": stage["name"],
            "planned CPU s": planned[stage["name"]]["cpu_seconds"],
            "seconds": stage["seconds"],
            "CPU s": stage["cpu_seconds"],
            "planned GB": planned[stage["name"]]["peak_bytes"] / 1e9,
            "GB": stage["peak_bytes"] / 1e9,
        }
        for stage in found["made"]["stages"]
    ]
    whole = {
        **shared,
        "stage": "whole run",
        "planned CPU s": found["plan"]["cpu_seconds"],
        "seconds": found["child"].seconds,
        "CPU s": found["child"].cpu_seconds,
        "planned GB": found["plan"]["peak_bytes"] / 1e9,
        "GB": found["child"].peak_bytes / 1e9,
        "positions": found["plan"]["holding"],
        "sha256": found["sha256"],
    }
    return [*rows, whole]


def refusal(path: Path, folder: Path, size: int) -> dict[str, Any]:
    """How soon a budget is refused that cannot work."""
    child = common.run(
        common.pyke("embed", path, "-o", folder / "out", "--memory", HOPELESS), False
    )
    if child.code != OVER_BUDGET:
        common.stop(f"{path} was not refused:\n{child.errors}")
    row = {"LUBM": size, "budget": HOPELESS, "stage": "refusal", "GB": child.peak_bytes / 1e9}
    return row | {"seconds": child.seconds, "CPU s": child.cpu_seconds}


def misses_of(rows: list[dict[str, Any]]) -> list[str]:
    """Missed targets of the complete runs."""
    misses = [
        f"LUBM({row['LUBM']}): refused after {row['CPU s']:.2f} CPU seconds"
        for row in rows
        if row["stage"] == "refusal" and row["CPU s"] > 1
    ]
    digests: dict[int, str] = {}
    for row in (row for row in rows if row["stage"] == "whole run"):
        name = f"LUBM({row['LUBM']}), {row['budget']}"
        deviation = row["GB"] / row["planned GB"] - 1
        if abs(deviation) > MAX_DEVIATION:
            misses.append(f"{name}: memory {deviation:+.0%}")
        deviation = row["CPU s"] / row["planned CPU s"] - 1
        if abs(deviation) > MAX_DEVIATION:
            misses.append(f"{name}: CPU seconds {deviation:+.0%}")
        budget = row["budget"].partition(",")[0]
        if budget != "none" and row["GB"] > parse_size(budget) / 1e9:
            misses.append(f"{name}: {row['GB']:.2f} GB exceed the budget")
        if digests.setdefault(row["LUBM"], row["sha256"]) != row["sha256"]:
            misses.append(f"{name}: other vectors")
    return misses


def curved(rows: list[dict[str, Any]]) -> list[str]:
    """Missed targets of the straight lines of CPU seconds and memory over size."""
    runs = [row for row in rows if row["stage"] == "whole run" and row["budget"] == "none"]
    if len(runs) < 3:
        return []
    sizes = [row["LUBM"] for row in runs]
    misses = []
    for column in ("CPU s", "GB"):
        fit = statistics.correlation(sizes, [row[column] for row in runs]) ** 2
        print(f"{column}: R² of the straight line {fit:.4f}", file=sys.stderr)
        if fit < MIN_FIT:
            misses.append(f"{column}: R² {fit:.3f}")
    return misses


COLUMNS = {
    "LUBM": "",
    "budget": "",
    "stage": "",
    "seconds": ".1f",
    "planned CPU s": ".1f",
    "CPU s": ".1f",
    "planned GB": ".2f",
    "GB": ".2f",
    "positions": "",
    "sha256": "",
}


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 50, 100], metavar="N")
    parser.add_argument("--memory", nargs="+", default=["none"], help="budgets, or none [none]")
    parser.add_argument("--threads", default="0", help="number of threads [all cores]")
    parser.add_argument("--files", type=Path, help="folder with lubmN.nt.gz; made if missing")
    parser.add_argument("--checkpoints", action="store_true", help="also without checkpoints")
    parser.add_argument("--refusals", action="store_true", help="only refusals")
    options = parser.parse_args()
    common.warm_up()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=options.files) as folder:
        for size in options.sizes:
            path = (options.files or Path(folder)) / f"lubm{size}.nt.gz"
            if not path.exists():
                common.run(common.pyke("lubm", str(size), "-o", path))
            if options.refusals:
                rows.append(refusal(path, Path(folder), size))
                continue
            for memory in options.memory:
                more = ["--threads", options.threads]
                found = run(path, Path(folder), memory, *more)
                rows += rows_of(size, memory, found)
                if options.checkpoints:
                    without = run(path, Path(folder), memory, *more, "--checkpoint-seconds", NEVER)
                    rows += rows_of(size, f"{memory}, no checkpoints", without)
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    common.finish(COLUMNS, rows, misses_of(rows) + curved(rows), options.json)


if __name__ == "__main__":
    main()
