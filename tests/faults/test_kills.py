"""A run that is killed at any moment loses at most the work since its last checkpoint."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from faults.conftest import Figure, memory_folder, times
from faults.runs import content, hidden, run, start, start_on_disk
from graphs import random_graph
from pyke.core.files import remove
from pyke.embedding import store

# Two simulations: the first one finds the clusters.
SETTINGS = (
    *("--dimensions", "4", "--checkpoint-seconds", "0", "--energy-release", "0.1"),
    *("--clusters", "5"),
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kills") / "graph.nt"
    path.write_text(random_graph(2000))
    return path


@pytest.fixture(scope="module")
def complete(graph: Path) -> tuple[str, float]:
    """Hash of the vectors of an undisturbed run, and its seconds."""
    run("info", graph)  # starts the server
    with memory_folder(graph.parent) as folder:
        began = time.monotonic()
        assert run("embed", graph, "-o", folder / "out", *SETTINGS) == 0
        return content(folder / "out"), time.monotonic() - began


def _killed(rng: random.Random, seconds: float, *arguments: str | Path) -> bool:
    """Start a command and kill it at a random moment; whether it was still running."""
    child = start(*arguments)
    child.join(rng.uniform(0, seconds / 3))
    child.kill()
    child.join()
    return child.exitcode == -signal.SIGKILL


def test_a_killed_run_resumes_to_the_same_bits(
    graph: Path,
    complete: tuple[str, float],
    folder: Path,
    rng: random.Random,
    figure: Figure,
) -> None:
    expected, seconds = complete
    kills = times(8, 200)
    out = folder / "out"
    killed = 0
    while killed < kills:  # some runs end before they are killed
        killed += _killed(rng, seconds, "embed", graph, "-o", out, *SETTINGS)
        if not out.exists():
            assert run("embed", graph, "-o", out, "--resume", *SETTINGS) == 0
        assert content(out) == expected
        assert hidden(folder) == []
        store.verify(out)
        remove(out)
    figure("F1", f"{kills} kills at random moments: {kills} resumed to the same bits, 0 lost")


def test_a_killed_run_on_disk_resumes_to_the_same_bits(
    graph: Path, folder: Path, rng: random.Random, figure: Figure
) -> None:
    kills = times(8, 200)
    plain = SETTINGS[:-2]  # clusters need the whole graph
    limited = (*plain, "--memory", "1GB")
    assert run("embed", graph, "-o", folder / "expected", *plain) == 0
    expected, out = content(folder / "expected"), folder / "out"
    began = time.monotonic()
    start_on_disk("embed", graph, "-o", out, *limited).join()
    seconds, killed = time.monotonic() - began, 0
    assert content(out) == expected
    remove(out)
    while killed < kills:  # some runs end before they are killed
        child = start_on_disk("embed", graph, "-o", out, *limited)
        child.join(rng.uniform(0, seconds))
        child.kill()
        child.join()
        killed += child.exitcode == -signal.SIGKILL
        start_on_disk("embed", graph, "-o", out, "--resume", *limited).join()
        assert content(out) == expected
        assert hidden(folder) == []
        store.verify(out)
        remove(out)
    figure("F1", f"{kills} kills of runs on disk: {kills} resumed to the same bits, 0 lost")


def test_a_kill_leaves_the_complete_old_or_the_complete_new_output(
    graph: Path,
    complete: tuple[str, float],
    folder: Path,
    rng: random.Random,
    figure: Figure,
) -> None:
    new, seconds = complete
    kills = times(8, 200)
    out = folder / "out"
    assert run("embed", graph, "-o", out, *SETTINGS, "--seed", "1") == 0
    old = content(out)
    found = {old: 0, new: 0}
    for number in range(kills):
        wanted = SETTINGS if number % 2 == 0 else (*SETTINGS, "--seed", "1")
        before = content(out)
        _killed(rng, 1.2 * seconds, "embed", graph, "-o", out, "--force", *wanted)
        store.verify(out)
        found[content(out)] += 1
        assert content(out) in (before, old if number % 2 else new)
    assert run("embed", graph, "-o", out, "--force", *SETTINGS) == 0
    assert hidden(folder) == []
    figure("F2", f"{kills} kills while an output is replaced: 0 incomplete outputs")


def test_a_kill_while_reading_leaves_no_files_after_the_next_run(
    graph: Path, folder: Path, rng: random.Random, figure: Figure
) -> None:
    kills = times(4, 50)
    out = folder / "out"
    for _ in range(kills):
        _killed(rng, 0.1, "embed", graph, "-o", out, *SETTINGS)
        assert not out.exists()
    assert run("embed", graph, "-o", out, *SETTINGS) == 0
    assert hidden(folder) == []
    figure("F3", f"{kills} kills during the first 0.1 s: 0 files left after the next run")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_soon_with_a_checkpoint(
    graph: Path,
    complete: tuple[str, float],
    folder: Path,
    rng: random.Random,
    figure: Figure,
    number: int,
    code: int,
) -> None:
    expected, seconds = complete
    signals = times(4, 50)
    sent, longest = 0, 0.0
    out = folder / "out"
    while sent < signals:  # some runs end before they get a signal
        child = start("embed", graph, "-o", out, *SETTINGS)
        while not (folder / ".out.pyke").exists() and child.exitcode is None:
            child.join(0.001)  # until the command has started
        child.join(rng.uniform(0, seconds / 3))
        began = time.monotonic()
        with suppress(ProcessLookupError):  # it has ended
            os.kill(child.pid or 0, number)
        child.join()
        if child.exitcode not in (0, -number):  # -number: the output was complete before
            assert child.exitcode == code
            longest = max(longest, time.monotonic() - began)
            sent += 1
            assert run("embed", graph, "-o", out, "--resume", *SETTINGS) == 0
        assert content(out) == expected
        remove(out)
    assert hidden(folder) == []
    assert longest < 2
    figure("F12", f"{signals} × signal {number}: exit code {code}, at most {longest:.2f} s later")
