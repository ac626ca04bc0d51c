"""File to vectors: `pyke embed` compared with pycleora, 50 dimensions, complete processes.

pycleora gets the same triples (those without literals, see peer_pycleora.py), once with its default
of 40 iterations and once with 4. Runs alternate; the minimum time and the maximum memory of each
count. Targets: at least as fast as pycleora's default, and at most 2.5 GB. `times ours` above 1
means that pyke is faster.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import common

MAX_BYTES = 2.5e9
OURS, DEFAULT, FOUR = (
    "pyke embed",
    "pycleora, its default (40 iterations)",
    "pycleora, 4 iterations",
)


def runs(path: Path, folder: Path) -> dict[str, list[str]]:
    """The commands to compare."""
    peer = [sys.executable, str(Path(__file__).with_name("peer_pycleora.py")), str(path)]
    return {
        OURS: common.pyke(
            "embed", path, "-o", folder / "out", "--on-error", "skip", "--force", "--json"
        ),
        DEFAULT: [*peer, "0", str(folder)],
        FOUR: [*peer, "4", str(folder)],
    }


def stages(name: str, child: common.Child) -> dict[str, float]:
    """Seconds per stage, as the program reports them."""
    printed = json.loads(child.output)
    if name != OURS:
        return dict(printed)
    return {stage["name"]: stage["seconds"] for stage in printed["stages"]}


def measure(path: Path, repeat: int) -> list[dict[str, Any]]:
    """One row per program."""
    graph = path.name.partition(".")[0]
    with tempfile.TemporaryDirectory() as folder:
        commands = runs(path, Path(folder))
        rounds = [
            {name: common.run(command) for name, command in commands.items()} for _ in range(repeat)
        ]
    best = {
        name: min((each[name] for each in rounds), key=lambda child: child.seconds)
        for name in commands
    }
    return [
        {
            "graph": graph,
            "program": name,
            "seconds": child.seconds,
            "times ours": child.seconds / best[OURS].seconds,
        }
        | {
            "CPU seconds": min(each[name].cpu_seconds for each in rounds),
            "peak GB": max(each[name].peak_bytes for each in rounds) / 1e9,
            "stages": stages(name, child),
        }
        for name, child in best.items()
    ]


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graphs", nargs="+", default=["pleiades", "wordnet30"])
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    paths = [common.graph(options.data, name) for name in options.graphs]
    common.warm_up()
    rows = [row for path in paths for row in measure(path, options.repeat)]
    misses = [
        f"{row['graph']}: slower than pycleora's default"
        for row in rows
        if row["program"] == DEFAULT and row["times ours"] < 1
    ]
    misses += [
        f"{row['graph']}: {row['peak GB']:.2f} GB"
        for row in rows
        if row["program"] == OURS and row["peak GB"] * 1e9 > MAX_BYTES
    ]
    if not options.json:
        for row in rows:
            if row["program"] == FOUR:
                how = "at least as fast as" if row["times ours"] >= 1 else "slower than"
                print(f"{row['graph']}: {how} 4 iterations of pycleora (no target).")
        print()
    common.finish(
        {
            "graph": "",
            "program": "",
            "seconds": ".1f",
            "times ours": ".2f",
            "CPU seconds": ".1f",
            "peak GB": ".2f",
        },
        rows,
        misses,
        options.json,
    )


if __name__ == "__main__":
    main()
