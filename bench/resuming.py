"""A run that is killed while it reads: what its checkpoints cost, and what they save.

LUBM(N) is embedded without and with checkpoints every few seconds. Then a run is killed (SIGKILL)
when it has written some of them, and resumed. CPU seconds are those of the stage "reading".
Targets: equal vectors, checkpoints cost at most 5 % (of CPU time), and the resumed run reads less.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import common

MAX_COST = 0.05
NEVER = "1000000000"


def row(name: str, made: dict[str, Any], out: Path) -> dict[str, Any]:
    """A row for a complete run."""
    stage = next(stage for stage in made["stages"] if stage["name"] == "reading")
    with open(out / "vectors.npy", "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    return {"run": name, "CPU s": stage["cpu_seconds"], "sha256": digest}


def embed(path: Path, out: Path, *more: str) -> dict[str, Any]:
    """Embed in a few iterations."""
    command = common.pyke("embed", path, "-o", out, "--json", "--max-iterations", "2", *more)
    made: dict[str, Any] = json.loads(common.run(command).output)
    return made


def kill(path: Path, out: Path, parts: int, *more: str) -> int:
    """Kill a run when it has written this many checkpoints of reading; their bytes."""
    command = common.pyke("embed", path, "-o", out, "--max-iterations", "2", *more)
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    work = out.with_name(f".{out.name}.pyke")
    while child.poll() is None and not (work / f"reading-{parts - 1}").exists():
        time.sleep(0.01)
    if child.poll() is not None:
        common.stop("the run ended before it was killed; use a larger size")
    child.kill()
    child.wait()
    return sum(file.stat().st_size for file in work.glob("reading-*/*"))


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--size", type=int, default=50, metavar="N")
    parser.add_argument("--every", default="2", help="seconds between checkpoints [2]")
    parser.add_argument("--parts", type=int, default=3, help="checkpoints before the kill [3]")
    options = parser.parse_args()
    common.warm_up()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "lubm.nt.gz", Path(folder) / "out"
        common.run(common.pyke("lubm", str(options.size), "-o", path))
        often = ("--checkpoint-seconds", options.every)
        made = embed(path, out, "--force", "--checkpoint-seconds", NEVER)
        rows.append(row("no checkpoints", made, out))
        rows.append(row("checkpoints", embed(path, out, "--force", *often), out))
        saved = kill(path, out, options.parts, "--force", *often)
        made = embed(path, out, "--force", "--resume", *often)
        rows.append(row("killed and resumed", made, out) | {"saved GB": saved / 1e9})
    plain, kept, resumed = rows
    misses = [] if len({one["sha256"] for one in rows}) == 1 else ["the vectors are not equal"]
    if kept["CPU s"] > (1 + MAX_COST) * plain["CPU s"]:
        misses.append(f"checkpoints cost {kept['CPU s'] / plain['CPU s'] - 1:.0%}")
    if resumed["CPU s"] >= plain["CPU s"]:
        misses.append("the resumed run did not read less")
    common.finish({"run": "", "CPU s": ".2f", "saved GB": ".2f", "sha256": ""}, rows, misses,
                  options.json)  # fmt: skip


if __name__ == "__main__":
    main()
