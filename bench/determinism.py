"""Equal results on all paths: the SHA-256 of vectors.npy.

Compares 1 and 2 threads, the tokenizer and pyoxigraph, plain and compressed input, and runs that
SIGINT or SIGKILL ended during the simulation and that were resumed. Target: one hash. A resumed run
must continue from its checkpoint: it must not read the graph again.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import common

ITERATIONS_BEFORE_SIGNAL = {signal.SIGINT: 2, signal.SIGKILL: 10}
MAX_WAIT = 300.0  # seconds until a checkpoint must exist


def vectors_hash(folder: Path) -> str:
    """SHA-256 of the vectors of an embedding."""
    with open(folder / "vectors.npy", "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def complete_run(output: Path, source: Path, *parameters: str) -> str:
    """Hash of a run without interruption."""
    common.run(common.pyke("embed", source, "-o", output, *parameters))
    return vectors_hash(output)


def stored_iterations(output: Path) -> int:
    """Number of iterations in the checkpoint of an output."""
    try:
        return len(
            json.loads(
                (
                    output.parent / f".{output.name}.pyke" / "positions" / "manifest.json"
                ).read_bytes()
            )["history"]
        )
    except (OSError, ValueError, KeyError):
        return 0  # no checkpoint yet, or it is being replaced


def interrupted_run(number: signal.Signals, output: Path, source: Path) -> tuple[str, int]:
    """Hash of an interrupted and resumed run, and the iterations in its checkpoint."""
    command = common.pyke("embed", source, "-o", output, "--checkpoint-seconds", "0")
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + MAX_WAIT
    while (
        child.poll() is None
        and stored_iterations(output) < ITERATIONS_BEFORE_SIGNAL[number]
        and time.monotonic() < until
    ):
        time.sleep(0.005)
    child.send_signal(number)
    if child.wait() not in (128 + number, -number):
        common.stop(f"{number.name} came too late or had no effect: exit code {child.returncode}")
    kept = stored_iterations(output)
    resumed = json.loads(common.run([*command, "--resume", "--json"]).output)
    if any(stage["name"] == "reading" for stage in resumed["stages"]):
        common.stop(f"after {number.name} the graph was read again: the checkpoint was not used")
    return vectors_hash(output), kept


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument(
        "--graph", default="codex-m", help="a graph without invalid lines [codex-m]"
    )
    options = parser.parse_args()
    packed = common.graph(options.data, options.graph)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = folder / "graph.nt"
        with gzip.open(packed) as unpacked, open(plain, "wb") as file:
            shutil.copyfileobj(unpacked, file)
        for run, source, parameters in (
            ("N-Triples, 1 thread", plain, ["--threads", "1"]),
            ("N-Triples, 2 threads", plain, ["--threads", "2"]),
            ("N-Triples in gzip, 2 threads", packed, ["--threads", "2"]),
            (
                "read as Turtle by pyoxigraph, 1 thread",
                plain,
                ["--threads", "1", "--format", "turtle"],
            ),
            (
                "read as Turtle by pyoxigraph, 2 threads",
                plain,
                ["--threads", "2", "--format", "turtle"],
            ),
        ):
            rows.append(
                {
                    "run": run,
                    "SHA-256 of vectors.npy": complete_run(
                        folder / f"out{len(rows)}", source, *parameters
                    ),
                }
            )
        for number in ITERATIONS_BEFORE_SIGNAL:
            sha, kept = interrupted_run(number, folder / f"out{len(rows)}", plain)
            rows.append(
                {
                    "run": f"{number.name} after {kept} iterations, then --resume",
                    "SHA-256 of vectors.npy": sha,
                }
            )
    different = len({row["SHA-256 of vectors.npy"] for row in rows})
    misses = [f"{different} different results"] if different > 1 else []
    common.finish({"run": "", "SHA-256 of vectors.npy": ""}, rows, misses, options.json)


if __name__ == "__main__":
    main()
