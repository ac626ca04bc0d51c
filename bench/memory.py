"""Peak memory that `pyke plan` predicts, compared with the measured peak of `pyke embed`.

Memory is the resident size of the process. `update` adds 5 % of the triples to an embedding of the
others; its prediction is the one that its `--memory` uses. Target: within 15 %. `deviation` is
measured / planned − 1: above 0, the run needed more than planned.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import common
import pyke
from pyke.config import Config
from pyke.pipeline import Run
from pyke.pipeline.budget import sizes_of, update_bytes
from update import late_triples, write_lines

MAX_DEVIATION = 0.15


def measure(path: Path) -> dict[str, Any]:
    """Planned and measured peak of embedding a graph."""
    planned = int(
        json.loads(common.run(common.pyke("plan", path, "--on-error", "skip", "--json")).output)[
            "peak_bytes"
        ]
    )
    with tempfile.TemporaryDirectory() as folder:
        measured = common.run(
            common.pyke("embed", path, "-o", Path(folder) / "out", "--on-error", "skip")
        ).peak_bytes
    return row(path, "embed", planned, measured)


def measure_update(path: Path) -> dict[str, Any]:
    """Planned and measured peak of an update."""
    graph = Run(path, Config(on_error="skip")).read()
    late = late_triples(graph, "triples", seed=0)
    with tempfile.TemporaryDirectory() as folder:
        old, new, before, after = (
            Path(folder) / name for name in ("old.nt", "new.nt", "before", "after")
        )
        write_lines(graph, ~late, old)
        write_lines(graph, late, new)
        common.run(common.pyke("embed", old, "-o", before))
        measured = common.run(common.pyke("update", before, new, "-o", after)).peak_bytes
        sizes = sizes_of(pyke.load(before).graph(), Run(new, Config()).read(keep_all_terms=True))
    return row(path, "update", update_bytes(sizes, Config()), measured)


def row(path: Path, command: str, planned: int, measured: int) -> dict[str, Any]:
    name = path.name.partition(".")[0]
    return {
        "graph": name,
        "command": command,
        "planned MB": planned / 1e6,
        "measured MB": measured / 1e6,
        "deviation": measured / planned - 1,
    }


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument(
        "--graphs", nargs="+", default=["iswc", "wikipathways", "wordnet30", "pleiades"]
    )
    options = parser.parse_args()
    paths = [common.graph(options.data, name) for name in options.graphs]
    common.warm_up()
    rows = [measured(path) for path in paths for measured in (measure, measure_update)]
    misses = [
        f"{row['graph']}, {row['command']}: {row['deviation']:+.0%}"
        for row in rows
        if abs(row["deviation"]) > MAX_DEVIATION
    ]
    common.finish(
        {
            "graph": "",
            "command": "",
            "planned MB": ",.0f",
            "measured MB": ",.0f",
            "deviation": "+.1%",
        },
        rows,
        misses,
        options.json,
    )


if __name__ == "__main__":
    main()
