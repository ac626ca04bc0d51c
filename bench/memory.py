"""The peak that `pyke plan` announces beside the peak that `pyke embed` reaches (resident bytes of the process, by the kernel).

Target: within 15 % of each other. `deviation` is measured / planned − 1: above 0, the run took more than planned.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import common

GREATEST_DEVIATION = 0.15


def measure(path: Path) -> dict[str, Any]:
    """Plan and truth for one graph."""
    planned = int(json.loads(common.run(common.pyke("plan", path, "--on-error", "skip", "--json")).output)["peak_bytes"])
    with tempfile.TemporaryDirectory() as folder:
        measured = common.run(common.pyke("embed", path, "-o", Path(folder) / "out", "--on-error", "skip")).peak_bytes
    return {"graph": path.name.partition(".")[0], "planned MB": planned / 1e6, "measured MB": measured / 1e6, "deviation": measured / planned - 1}


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graphs", nargs="+", default=["iswc", "wikipathways", "wordnet30", "pleiades"])
    options = parser.parse_args()
    paths = [common.graph(options.data, name) for name in options.graphs]
    common.warm_up()
    rows = [measure(path) for path in paths]
    misses = [f"{row['graph']}: {row['deviation']:+.0%}" for row in rows if abs(row["deviation"]) > GREATEST_DEVIATION]
    common.finish({"graph": "", "planned MB": ",.0f", "measured MB": ",.0f", "deviation": "+.1%"}, rows, misses, options.json)


if __name__ == "__main__":
    main()
