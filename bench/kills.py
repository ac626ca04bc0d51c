"""Runs that kill -9 ends at random moments, up to three times each, and that are resumed.

Target: every run ends with the bits of an uninterrupted run, and leaves no other files. Prints the
seed of the moments.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import common
from determinism import vectors_hash

PARAMETERS = (
    "--on-error",
    "skip",
    "--checkpoint-seconds",
    "0",
    "--energy-release",
    "0.01",
)  # 100 iterations, a checkpoint after each


def killed(command: list[str], seconds: float) -> bool:
    """Kill a run after some seconds. Returns whether it was still running."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            return True
    return False


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    source = common.graph(options.data, "iswc")
    rng = random.Random(options.seed)
    kills = same = clean = 0
    with tempfile.TemporaryDirectory() as name:
        output = Path(name) / "out"
        command = common.pyke("embed", source, "-o", output, *PARAMETERS)
        common.run(command)
        began = time.perf_counter()
        shutil.rmtree(output)
        common.run(command)
        seconds, expected = time.perf_counter() - began, vectors_hash(output)
        for _ in range(options.runs):
            shutil.rmtree(output)
            for _ in range(3):
                if not output.exists():
                    kills += killed([*command, "--resume"], rng.uniform(0.3, seconds))
            if not output.exists():
                common.run([*command, "--resume"])
            same += vectors_hash(output) == expected
            clean += [path.name for path in output.parent.iterdir()] == ["out"]
    row = {
        "seed": options.seed,
        "runs": options.runs,
        "kills": kills,
        "same bits": same,
        "no other files": clean,
    }
    misses = [
        f"only {number} of {options.runs} {what}"
        for what, number in (("have the same bits", same), ("leave no other files", clean))
        if number < options.runs
    ]
    common.finish(dict.fromkeys(row, ""), [row], misses, options.json)


if __name__ == "__main__":
    main()
