"""A run keeps to its memory budget, or says at once how much it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import DATA
from faults.conftest import LONG, Figure, times
from faults.runs import content
from graphs import random_graph

BUDGETS = {"256MB": 256e6, "512MB": 512e6, "1GB": 1e9, "2GB": 2e9, "4GB": 4e9}
GRAPHS = ["random", "iswc.nt.gz", "wordnet30.nt.gz"]
COMMAND = (sys.executable, "-m", "pyke", "embed", "--on-error", "skip", "--json")
REFUSED = 75
SMALLEST, LARGEST = 200 << 20, 3 << 30


def _embed(*arguments: str | Path, address_space: int = 0) -> tuple[int, int, str]:
    """Exit code, peak memory in bytes and messages of a run, with limited address space."""
    limit = str(address_space >> 10) if address_space else "unlimited"
    # Without Linux's /proc, the peak of a process counts that of the one that started it: a shell.
    done = subprocess.run(
        ["sh", "-c", 'ulimit -v "$0" && "$@"; exit $?', limit, *COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
    )
    peak = 0
    if done.returncode == 0:
        peak = max(stage["peak_bytes"] for stage in json.loads(done.stdout)["stages"])
    return done.returncode, peak, done.stderr


@pytest.mark.parametrize("name", GRAPHS if LONG else GRAPHS[:1])
def test_the_peak_stays_below_the_budget_and_no_budget_changes_a_bit(
    name: str, tmp_path: Path, figure: Figure
) -> None:
    graph = DATA / name
    if name == "random":
        graph = tmp_path / "graph.nt"
        graph.write_text(random_graph(20_000))
    elif not graph.exists():
        pytest.skip(f"{graph} is missing")
    results, shown = set(), []
    for budget, limit in list(BUDGETS.items())[:: times(4, 1)]:
        out = tmp_path / budget
        code, peak, messages = _embed(graph, "-o", out, "--memory", budget)
        if code == REFUSED:
            assert "--memory" in messages
            shown.append(f"{budget}: refused")
            continue
        assert code == 0, messages
        assert peak <= limit
        results.add(content(out))
        shown.append(f"{budget}: {peak / 1e6:.0f} MB")
    assert len(results) == 1
    figure("F6", f"{name}: {', '.join(shown)}; the vectors are equal")


def test_without_memory_a_run_ends_with_an_error_of_ours(tmp_path: Path, figure: Figure) -> None:
    graph = tmp_path / "graph.nt"
    graph.write_text(random_graph(20_000))
    steps = times(3, 50)
    codes: dict[int, int] = {}
    for step in range(steps):
        limit = SMALLEST + (LARGEST - SMALLEST) * step // (steps - 1)
        code, _, messages = _embed(graph, "-o", tmp_path / str(step), address_space=limit)
        assert code in (0, REFUSED), (limit, code, messages)
        assert "Traceback" not in messages
        codes[code] = codes.get(code, 0) + 1
    assert codes[0]
    figure(
        "F7",
        f"{steps} limits of the address space from 200 MiB to 3 GiB: {codes[0]} runs complete, "
        f"{codes.get(REFUSED, 0)} refused, 0 crashes",
    )
