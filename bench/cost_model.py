"""Fit the constants of `pyke plan --workers` on LUBM graphs, and test them on larger ones.

Runs on worker processes of this computer. Prints the constants, and predicted and measured CPU
seconds, exchanged bytes and memory of runs that the fit has not seen. CPU seconds depend on the
machine and on what else it does. Target: within 20 % for a held-out run.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import common
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.pipeline.distributed import costs, embed_to
from pyke.pipeline.distributed.cluster import local_cluster

CONFIG = Config(threads=1, checkpoint_seconds=1e6)
COLUMNS = {"run": "", "what": "", "predicted": ".3g", "measured": ".3g", "ratio": ".2f"}
TOLERANCE = 0.2
Run = dict[str, Any]


class Meter(Progress):
    """CPU seconds of all workers at the start of each stage."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.at: dict[str, float] = {}

    def stage(self, name: str, *_: Any) -> None:
        """A stage starts."""
        self.at[name] = sum(self._client.run(time.process_time).values())


def measure(source: Path, folder: Path, workers: int) -> Run:
    """Embed a graph on some workers; counts and costs of the run."""
    with local_cluster(workers) as client:
        embed_to(folder / "warm-up", str(folder / "small.nt"), CONFIG, client, force=True)
        meter = Meter(client)
        made = embed_to(folder / "out", str(source), CONFIG, client, force=True, progress=meter)
    used, census = made["cluster"], made["census"]
    return {
        "name": name_of(source, workers),
        "workers": workers,
        "counts": {
            "triples": census["triples"],
            "terms": census["terms"],
            "text_bytes": census["bytes"],
            "pairs": used["pairs"],
            "particles": made["particles"],
            "springs": made["springs"],
        },
        "cpu": used["cpu_seconds"],
        "written": used["written_bytes"],
        "peak": used["peak_bytes"],
        "halo": used["halo_bytes"] / 4 / CONFIG.dimensions,
        "simulation": meter.at["writing"] - meter.at["simulation"],
    }


def name_of(source: Path, workers: int) -> str:
    """The name of a run."""
    return f"{source.stem}, {workers} workers"


def measured(source: Path, folder: Path, workers: int, kept: Path) -> Run:
    """The costs of a run; those of an earlier one if they were kept."""
    runs: dict[str, Run] = json.loads(kept.read_text()) if kept.exists() else {}
    name = name_of(source, workers)
    if name not in runs:
        runs[name] = measure(source, folder, workers)
        kept.write_text(json.dumps(runs, indent=1))
    return runs[name] | {"counts": costs.Counts(**runs[name]["counts"])}


def slope(units: Sequence[float], costs_: Sequence[float]) -> float:
    """The cost of a unit, besides a constant part."""
    return max(0.0, float(np.polyfit(units, costs_, 1)[0]))


def fit_simulation(runs: Sequence[Run]) -> None:
    """CPU seconds per row, byte and task: those with the smallest relative errors."""
    from scipy.optimize import nnls

    names = ("ROW_SECONDS", "HALO_SECONDS", "STEP_SECONDS")
    parts = []
    for name in names:
        for other in names:
            setattr(costs, other, float(other == name))
        parts.append([simulation_cpu(run) / run["simulation"] for run in runs])
    found, _ = nnls(np.array(parts).T, np.ones(len(runs)))
    for name, value in zip(names, found.tolist(), strict=True):
        setattr(costs, name, value)
        print(f"{name} = {value:.3g}")


def simulation_cpu(run: Run) -> float:
    """CPU seconds of a simulation by the constants of the model and the rows that travelled."""
    return costs.simulation_cpu(run["counts"], CONFIG, run["workers"], run["halo"] / run["workers"])


def fit(runs: Sequence[Run]) -> None:
    """Set the constants of the model to those of some runs, and print them."""
    for name, cost in costs.COSTS.items():
        units = [getattr(run["counts"], cost.unit) for run in runs]
        shares = [unit / run["workers"] for unit, run in zip(units, runs, strict=True)]
        costs.COSTS[name] = costs.Cost(
            cost.unit,
            slope(units, [run["cpu"][name] for run in runs]),
            slope(units, [run["written"][name] for run in runs]),
            slope(shares, [run["peak"][name] for run in runs]),
        )
        print(f'    "{name}": {costs.COSTS[name]},')
    fit_simulation(runs)
    several = [run for run in runs if run["workers"] > 1]
    own = [run["counts"].particles / run["workers"] for run in several]
    needed = []
    for run, size in zip(several, own, strict=True):
        pools = size / 4 * (1 - 1 / run["workers"])
        needed.append(max(1.0, run["halo"] / run["workers"] - pools))
    exponent, factor = np.polyfit(np.log(own), np.log(needed), 1)
    costs.HALO_FACTOR, costs.HALO_EXPONENT = float(np.exp(factor)), float(exponent)
    print(f"HALO_FACTOR, HALO_EXPONENT = {costs.HALO_FACTOR:.3g}, {costs.HALO_EXPONENT:.3g}")
    counts = runs[-1]["counts"]
    print(f"TEXT_PER_TRIPLE = {counts.text_bytes / counts.triples:.3g}")
    print(f"CONTEXTS_PER_TRIPLE = {(counts.particles - counts.terms) / counts.triples:.3g}")
    print(f"PAIRS_PER_TRIPLE = {counts.pairs / counts.triples:.3g}")
    print(f"SPRINGS_PER_PAIR = {counts.springs / counts.pairs:.3g}\n")


def compare(run: Run) -> list[Run]:
    """Predicted and measured costs of a run."""
    counts, workers = run["counts"], run["workers"]
    plan = costs.plan_cluster(counts, CONFIG, workers)
    stages = {stage.name: stage for stage in plan.stages}
    units = {name: getattr(counts, cost.unit) for name, cost in costs.COSTS.items()}
    predicted_cpu = {name: cost.cpu_seconds * units[name] for name, cost in costs.COSTS.items()}
    reading = [name for name in costs.COSTS if name not in ("events", "forces")]
    rows = [
        ("CPU seconds, reading", sum(predicted_cpu[n] for n in reading),
         sum(run["cpu"][n] for n in reading)),
        ("CPU seconds, springs", predicted_cpu["events"] + predicted_cpu["forces"],
         run["cpu"]["events"] + run["cpu"]["forces"]),
        ("CPU seconds, simulation", simulation_cpu(run), run["simulation"]),
        ("MB between stages", sum(stages[n].exchanged_bytes for n in costs.COSTS) / 1e6,
         sum(run["written"].values()) / 1e6),
        ("MB per iteration", plan.halo_bytes / 1e6, run["halo"] * 4 * CONFIG.dimensions / 1e6),
        ("MB of a worker until the simulation",
         max(stages[n].memory_bytes for n in costs.COSTS) / 1e6,
         max(run["peak"].values()) / 1e6),
    ]  # fmt: skip
    return [
        {
            "run": run["name"],
            "what": what,
            "predicted": predicted,
            "measured": measured,
            "ratio": predicted / measured if measured else 1.0,
        }
        for what, predicted, measured in rows
    ]


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument(
        "--universities", type=int, nargs="*", default=[5, 10, 20],
        help="sizes to fit; none tests the constants of the program",
    )  # fmt: skip
    parser.add_argument("--held-out", type=int, nargs="+", default=[50])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--graphs", type=Path, help="folder with lubmN.nt, to save time")
    parser.add_argument("--runs", type=Path, help="file to keep measured runs in, to go on later")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        common.run(common.pyke("lubm", "1", "-o", folder / "small.nt"))
        found = {}
        for size in (*options.universities, *options.held_out):
            source = (options.graphs or folder) / f"lubm{size}.nt"
            if not source.exists():
                common.run(common.pyke("lubm", str(size), "-o", source))
            kept = options.runs or folder / "runs.json"
            found[size] = [measured(source, folder, one, kept) for one in options.workers]
    if options.universities:
        fit([run for size in options.universities for run in found[size]])
    rows = [row for size in options.held_out for run in found[size] for row in compare(run)]
    misses = [
        f"{row['what']} of {row['run']}: predicted {row['ratio']:.2f} times the measured value"
        for row in rows
        if abs(np.log(max(row["ratio"], 1e-9))) > np.log(1 + TOLERANCE)
    ]
    common.finish(COLUMNS, rows, misses, options.json)


if __name__ == "__main__":
    main()
