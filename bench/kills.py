"""kill -9 at random instants: runs are killed up to three times each, resumed, and compared with an undisturbed one.

Target: every resumed run ends with the same bits, and nothing is left beside its output. The seed of the instants is printed.
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
    """Kills a run after some time; whether it still ran."""
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
        seconds, wanted = time.perf_counter() - began, vectors_hash(output)
        for _ in range(options.runs):
            shutil.rmtree(output)
            for _ in range(3):
                if not output.exists():
                    kills += killed([*command, "--resume"], rng.uniform(0.3, seconds))
            if not output.exists():
                common.run([*command, "--resume"])
            same += vectors_hash(output) == wanted
            clean += [path.name for path in output.parent.iterdir()] == ["out"]
    row = {
        "seed": options.seed,
        "runs": options.runs,
        "kills": kills,
        "same bits": same,
        "nothing left behind": clean,
    }
    misses = [
        f"only {number} of {options.runs} {what}"
        for what, number in (("same", same), ("clean", clean))
        if number < options.runs
    ]
    common.finish(dict.fromkeys(row, ""), [row], misses, options.json)


if __name__ == "__main__":
    main()
