"""One result whatever the way: the SHA-256 of vectors.npy for 1 and 2 threads, the tokenizer and pyoxigraph as reader, packed and
plain input, and runs that were interrupted by SIGINT or killed by SIGKILL in mid-simulation and resumed.

Target: one hash. A resumed run has to have gone on from its checkpoint: it must not have read the graph again.
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
PATIENCE = 300.0  # seconds until a checkpoint must be there


def vectors_hash(folder: Path) -> str:
    """What this is about."""
    with open(folder / "vectors.npy", "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def undisturbed(output: Path, source: Path, *parameters: str) -> str:
    """Hash of a run from start to end."""
    common.run(common.pyke("embed", source, "-o", output, *parameters))
    return vectors_hash(output)


def iterations_kept(output: Path) -> int:
    """Iterations in the checkpoint beside an output."""
    try:
        return len(
            json.loads(
                (
                    output.parent / f".{output.name}.pyke" / "positions" / "manifest.json"
                ).read_bytes()
            )["history"]
        )
    except (OSError, ValueError, KeyError):
        return 0  # none yet, or just being replaced


def disturbed(number: signal.Signals, output: Path, source: Path) -> tuple[str, int]:
    """Hash of a run that a signal ended and another went on with, and the iterations that were kept in between."""
    command = common.pyke("embed", source, "-o", output, "--checkpoint-seconds", "0")
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + PATIENCE
    while (
        child.poll() is None
        and iterations_kept(output) < ITERATIONS_BEFORE_SIGNAL[number]
        and time.monotonic() < until
    ):
        time.sleep(0.005)
    child.send_signal(number)
    if child.wait() not in (128 + number, -number):
        common.stop(f"{number.name} came too late or was not heard: exit code {child.returncode}")
    kept = iterations_kept(output)
    resumed = json.loads(common.run([*command, "--resume", "--json"]).output)
    if any(stage["name"] == "reading" for stage in resumed["stages"]):
        common.stop(f"after {number.name} the graph was read again: the checkpoint was not used")
    return vectors_hash(output), kept


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graph", default="codex-m", help="a graph without bad lines [codex-m]")
    options = parser.parse_args()
    packed = common.graph(options.data, options.graph)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = folder / "graph.nt"
        with gzip.open(packed) as unpacked, open(plain, "wb") as file:
            shutil.copyfileobj(unpacked, file)
        for way, source, parameters in (
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
                    "way": way,
                    "SHA-256 of vectors.npy": undisturbed(
                        folder / f"out{len(rows)}", source, *parameters
                    ),
                }
            )
        for number in ITERATIONS_BEFORE_SIGNAL:
            sha, kept = disturbed(number, folder / f"out{len(rows)}", plain)
            rows.append(
                {
                    "way": f"{number.name} after {kept} iterations, then --resume",
                    "SHA-256 of vectors.npy": sha,
                }
            )
    different = len({row["SHA-256 of vectors.npy"] for row in rows})
    misses = [f"{different} different results"] if different > 1 else []
    common.finish({"way": "", "SHA-256 of vectors.npy": ""}, rows, misses, options.json)


if __name__ == "__main__":
    main()
