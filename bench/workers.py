"""Runs on 1, 2 and 4 worker processes of this computer, compared with one process.

Workers talk over TCP with certificates. Targets: the same SHA-256 of `vectors.npy`; fewer bytes
exchanged per iteration than if every worker got all positions; with `--kills`, the same SHA-256
although workers are killed (-9) at random moments; with `--stop`, they are stopped (SIGSTOP)
instead, and replaced within 30 s. CPU seconds are those of all workers: a computer
with two cores cannot show more. Prints the seed of the moments.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import common
from determinism import vectors_hash
from pyke.config import Config
from pyke.pipeline.distributed import embed_to
from pyke.pipeline.distributed.cluster import local_cluster

COLUMNS = {
    "workers": "",
    "sha256": "",
    "seconds": ".1f",
    "cpu_seconds": ".1f",
    "simulation_seconds": ".1f",
    "MB_per_iteration": ".1f",
    "MB_on_the_wire": ".1f",
    "all_gather_MB": ".1f",
    "ratio": ".2f",
    "exchange_files_MB": ".0f",
    "peak_MB": ".0f",
    "kills": "",
    "replaced_after_s": ".0f",
}
REPLACED_SECONDS = 30.0


def worker_figures(dask_worker: Any) -> tuple[float, int]:
    """CPU seconds of a worker, and the bytes that it sent to others."""
    return time.process_time(), dask_worker.transfer_outgoing_bytes_total


@contextlib.contextmanager
def killer(
    client: Any, kills: int, every: float, seed: int, number: signal.Signals
) -> Iterator[list[float]]:
    """Kill or stop random workers at random moments, about `every` seconds apart.

    Yields the seconds until each process is gone.
    """
    rng, done = random.Random(seed), threading.Event()
    killed: list[float] = []

    def kill() -> None:
        while len(killed) < kills and not done.wait(rng.uniform(0.2, 2 * every)):
            processes = [int(one) for one in client.run(os.getpid, on_error="ignore").values()]
            if processes:
                process, began = rng.choice(processes), time.perf_counter()
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, number)
                    while time.perf_counter() - began < 10 * REPLACED_SECONDS:
                        os.kill(process, 0)
                        time.sleep(0.1)
                killed.append(time.perf_counter() - began)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        done.set()
        thread.join()


def on_workers(
    source: Path, output: Path, workers: int, config: Config, options: argparse.Namespace
) -> dict[str, Any]:
    """Embed on some workers; the row of the table."""
    with local_cluster(workers) as client:
        began, before = time.perf_counter(), client.run(worker_figures)
        number = signal.SIGSTOP if options.stop else signal.SIGKILL
        with killer(client, options.kills, options.every, options.seed, number) as killed:
            manifest = embed_to(output, str(source), config, client)
        seconds, after = time.perf_counter() - began, client.run(worker_figures)
    used = manifest["cluster"]
    iterations = len(manifest["history"])
    stages = {stage["name"]: stage["seconds"] for stage in manifest["stages"]}
    known = [one for one in after if one in before]
    sent = sum(after[one][1] - before[one][1] for one in known)
    return {
        "workers": workers,
        "sha256": vectors_hash(output)[:16],
        "seconds": seconds,
        "cpu_seconds": sum(after[one][0] - before[one][0] for one in known),
        "simulation_seconds": stages["simulation"],
        "MB_per_iteration": used["halo_bytes"] / 1e6,
        "MB_on_the_wire": sent / iterations / 1e6,
        "all_gather_MB": used["all_gather_bytes"] / 1e6,
        "ratio": used["halo_bytes"] / max(1, used["all_gather_bytes"]),
        "exchange_files_MB": sum(used["written_bytes"].values()) / 1e6,
        "peak_MB": max(used["peak_bytes"].values()) / 1e6,
        "kills": len(killed),
        "replaced_after_s": max(killed, default=0.0),
        "stages": stages,
        "task_cpu_seconds": used["cpu_seconds"],
        "particles": manifest["particles"],
        "springs": manifest["springs"],
        "terms": manifest["census"]["terms"],
        "triples": manifest["census"]["triples"],
    }


def on_one_machine(source: Path, output: Path) -> dict[str, Any]:
    """Embed in one process with one thread; the row of the table."""
    done = common.run(common.pyke("embed", source, "-o", output, "--threads", "1", "--json"))
    return {
        "workers": "none",
        "sha256": vectors_hash(output)[:16],
        "seconds": done.seconds,
        "cpu_seconds": done.cpu_seconds,
        "peak_MB": done.peak_bytes / 1e6,
    }


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--universities", type=int, default=50, help="size of LUBM")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--kills", type=int, default=0, help="with this many kills of workers")
    parser.add_argument("--stop", action="store_true", help="stop workers instead of killing them")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between kills, about")
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--graph", type=Path, help="N-Triples instead of LUBM")
    parser.add_argument("--expect", help="SHA-256 of a run on one machine, to skip it")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        source = options.graph or Path(name) / "lubm.nt"
        if not options.graph:
            common.run(common.pyke("lubm", str(options.universities), "-o", source))
        expected = options.expect
        if not expected:
            rows.append(on_one_machine(source, Path(name) / "alone"))
            expected = rows[0]["sha256"]
        config = Config(checkpoint_seconds=0 if options.kills else 30.0)
        for workers in options.workers:
            output = Path(name) / f"workers-{workers}"
            row = on_workers(source, output, workers, config, options)
            print(row, file=sys.stderr, flush=True)  # should a later run fail
            rows.append(row)
    misses = [
        f"{row['workers']} workers give other bits" for row in rows if row["sha256"] != expected
    ]
    misses += [
        f"{row['workers']} workers exchange more than all positions"
        for row in rows
        if row.get("ratio", 0) > 1
    ]
    misses += [
        f"a worker of {row['workers']} was replaced after {row['replaced_after_s']:.0f} s"
        for row in rows
        if row.get("replaced_after_s", 0) > REPLACED_SECONDS
    ]
    common.finish(COLUMNS, rows, misses, options.json)


if __name__ == "__main__":
    # Child processes of workers count when they end.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
