"""Several runs on one output: one at a time, and never a mixture."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from faults.conftest import Figure, times
from faults.runs import call, content, hidden, run, start
from graphs import random_graph
from pyke.core import files
from pyke.core.files import remove
from pyke.embedding import store
from pyke.errors import OutputExists

SETTINGS = ("--dimensions", "4", "--checkpoint-seconds", "0", "--energy-release", "0.5")
RUNS = 3
REFUSED = 73


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("locks") / "graph.nt"
    path.write_text(random_graph(300))
    return path


@pytest.fixture(scope="module")
def alone(graph: Path) -> tuple[list[str], float]:
    """The vectors of each run when it is alone, and its seconds; the seeds differ."""
    found = []
    for seed in range(RUNS):
        out = graph.parent / str(seed)
        began = time.monotonic()
        assert run("embed", graph, "-o", out, *SETTINGS, "--seed", str(seed)) == 0
        found.append(content(out))
    assert len(set(found)) == RUNS
    return found, time.monotonic() - began


@pytest.mark.parametrize("force", [False, True], ids=["new", "replaced"])
def test_of_three_runs_one_writes_at_a_time(
    graph: Path,
    alone: tuple[list[str], float],
    tmp_path: Path,
    rng: random.Random,
    figure: Figure,
    force: bool,
) -> None:
    results, seconds = alone
    races = times(5, 100)
    more = ["--force"] if force else []
    out = tmp_path / "out"
    wins = 0
    for _ in range(races):
        children = []
        for seed in range(RUNS):
            settings = (*SETTINGS, "--seed", str(seed), *more)
            children.append(start("embed", graph, "-o", out, *settings))
            # Together, or while another one ends.
            time.sleep(rng.choice([0, rng.uniform(0, 2 * seconds)]))
        codes = []
        for child in children:
            child.join()
            codes.append(child.exitcode)
        won = [seed for seed in range(RUNS) if codes[seed] == 0]
        assert set(codes) <= {0, REFUSED}
        assert won
        assert force or len(won) == 1
        assert content(out) in [results[seed] for seed in won]
        store.verify(out)
        assert hidden(tmp_path) == []
        wins += len(won)
        remove(out)
    how = "replace" if force else "write"
    figure(
        "F11",
        f"{races} × {RUNS} runs {how} one output together: {wins} succeed, "
        f"{RUNS * races - wins} refused, 0 mixed outputs",
    )


def hold_again_and_again(output: Path, seed: str, rounds: int) -> None:
    """Take the lock many times; fail if another process has it at the same time."""
    rng = random.Random(seed)
    taken = 0
    while taken < rounds:
        try:
            with files.work_directory(output) as work:
                mark = os.open(output.with_name("held"), os.O_CREAT | os.O_EXCL)
                os.close(mark)
                if rng.random() < 0.5:  # a checkpoint
                    (work / "graph").mkdir(exist_ok=True)
                time.sleep(rng.uniform(0, 0.002))
                assert (work / "lock").exists(), "another process removed the lock"
                output.with_name("held").unlink()
                taken += 1
                if rng.random() < 0.3:
                    raise ZeroDivisionError
        except (OutputExists, ZeroDivisionError):
            time.sleep(rng.uniform(0, 0.002))


def test_a_lock_is_held_by_one_process_at_a_time(
    tmp_path: Path, rng: random.Random, figure: Figure
) -> None:
    rounds = times(100, 5000)
    processes = [
        call(hold_again_and_again, tmp_path / "out", str(rng.random()), rounds) for _ in range(RUNS)
    ]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    figure("F11", f"{RUNS} processes take a lock {rounds:,} times each: never two at a time")
