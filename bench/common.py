"""Shared code of the benchmarks: data, child processes with their time and memory, tables."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("PYKE_DATA") or ROOT.parent / "shared" / "data")
FATHER = ROOT / "examples" / "father.ttl"
POLL_SECONDS = 0.01  # between two checks of the memory of a child


@dataclass(frozen=True)
class Child:
    """A finished child process."""

    code: int
    seconds: float
    cpu_seconds: float  # of all threads; hardly affected by other programs
    peak_bytes: int
    output: str
    errors: str


def parser(about: str | None) -> argparse.ArgumentParser:
    """Parser with the options of every benchmark; `about` is its docstring."""
    made = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument(
        "--data",
        type=Path,
        default=DATA,
        help="folder with the graphs [$PYKE_DATA or ../shared/data]",
    )
    made.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return made


def stop(message: str) -> NoReturn:
    """Stop a benchmark that cannot run."""
    print(message, file=sys.stderr)
    raise SystemExit(2)


def need(path: Path) -> Path:
    """The path itself; stops the benchmark if the file is missing."""
    if not path.is_file():
        stop(f"{path} is missing. Set --data or PYKE_DATA to the folder with the graphs.")
    return path


def version_of_code() -> str:
    """A key of the package's source code: another one after each change."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def graph(data: Path, name: str) -> Path:
    """Path of a graph in the data folder."""
    return need(data / f"{name}.nt.gz")


def pyke(*arguments: str | Path) -> list[str]:
    """A command line that runs `pyke` of this interpreter."""
    script = shutil.which("pyke", path=str(Path(sys.executable).parent)) or shutil.which("pyke")
    return [
        script or stop("the command pyke is not installed: pip install -e ."),
        *map(str, arguments),
    ]


def run(command: Sequence[str], fail: bool = True) -> Child:
    """Run a command. A failure stops the benchmark, unless `fail` is False.

    The peak memory is the maximum of rusage and of VmHWM, which is polled while the child runs.
    """
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        began = time.perf_counter()
        child = subprocess.Popen(command, stdout=output, stderr=errors)
        watch = _Watch(child.pid)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        peak = max(watch.stop(), usage.ru_maxrss * 1024)
        output.seek(0)
        errors.seek(0)
        ended = Child(
            child.returncode,
            seconds,
            usage.ru_utime + usage.ru_stime,
            peak,
            output.read(),
            errors.read(),
        )
    if ended.code and fail:
        stop(f"{' '.join(command)}\nended with exit code {ended.code}:\n{ended.errors[-2000:]}")
    return ended


class _Watch(threading.Thread):
    """Polls the peak memory of a child while it runs."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._status, self._ended, self._peak = Path(f"/proc/{pid}/status"), threading.Event(), 0
        self.start()

    def run(self) -> None:
        while not self._ended.wait(POLL_SECONDS):
            try:
                lines = self._status.read_text().splitlines()
            except OSError:
                return
            self._peak = max(
                [
                    self._peak,
                    *(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")),
                ]
            )

    def stop(self) -> int:
        self._ended.set()
        self.join()
        return self._peak


def warm_up(*more: str | Path) -> None:
    """Compile the kernels: embed a graph that is large enough to call all of them."""
    with tempfile.TemporaryDirectory() as folder:
        many = Path(folder) / "many.nt"
        label = "<http://www.w3.org/2000/01/rdf-schema#label>"
        many.write_text(
            "".join(
                f'<e:{i}> <e:p{i % 3}> <e:{i * 7 % 5000}> .\n<e:{i}> {label} "é" .\n'
                for i in range(5000)
            )
        )
        run(pyke("embed", many, "-o", Path(folder) / "out", *more))


def table(columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as Markdown; `columns` maps titles to formats."""
    numeric = [any(isinstance(row.get(title), int | float) for row in rows) for title in columns]
    print("| " + " | ".join(columns) + " |")
    print("|" + "|".join("---:" if number else "---" for number in numeric) + "|")
    for row in rows:
        print(
            "| "
            + " | ".join(
                "–" if row.get(title) is None else format(row[title], form)
                for title, form in columns.items()
            )
            + " |"
        )
    print()


def finish(
    columns: Mapping[str, str],
    rows: Iterable[Mapping[str, Any]],
    misses: Sequence[str],
    as_json: bool,
) -> NoReturn:
    """Print rows and missed targets; `columns` maps titles to formats. Exits with 1 on a miss."""
    rows = list(rows)
    if as_json:
        print(json.dumps({"rows": rows, "misses": misses}, indent=1))
    else:
        if columns:
            table(columns, rows)
        print("\n".join(f"MISSED: {miss}" for miss in misses) or "All targets met.")
    raise SystemExit(bool(misses))
