"""Long computations of the server in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from asking import Client
from graphs import crafts, graph_of
from pyke.config import Config
from pyke.core import system
from pyke.core.progress import Progress
from pyke.embedding.embedding import load
from pyke.errors import Interrupted
from pyke.pipeline.embed import embed_graph
from pyke.use.serve import limits
from pyke.use.serve.application import application
from pyke.use.serve.child import Child, Impossible
from pyke.use.serve.explorer import Explorer
from pyke.use.serve.guard import Access

LONG = ["/api/types?term=5", "/api/facts?term=5", "/api/film", "/api/film?dimensions=3",
        "/api/legend?by=cluster", "/api/groups?by=cluster"]  # fmt: skip


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served") / "out"
    embed_graph(graph_of(crafts()), Config(dimensions=8)).save(path)
    return path


@pytest.fixture
def explorer(directory: Path) -> Iterator[Explorer]:
    made = Explorer(load(directory), directory=directory)
    yield made
    made.stop()


def _child(explorer: Explorer, task: str = "types") -> Child:
    return Child(task, 5, explorer.directory or Path(), explorer.embedding.manifest)


def _process(child: Child) -> int:
    return child._process.pid


def _until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_answers_are_those_of_one_process(explorer: Explorer) -> None:
    here = Client(application(Explorer(explorer.embedding), Access(8000)))
    there = Client(application(explorer, Access(8000)))
    for target in LONG:
        expected, found = here.finished(target), there.finished(target)
        assert (found.status, found.headers, found.body) == (200, expected.headers, expected.body)
    again = there.get("/api/types?term=7")  # the process answers further terms at once
    assert again.body == here.get("/api/types?term=7").body
    assert len([one for one in explorer._children if not one.has_ended]) == 2  # types and facts
    here.close()
    there.close()


def test_a_reason_comes_from_the_process(tmp_path: Path) -> None:
    text = "".join(f"<http://e/{n}> <http://e/p> <http://e/{n % 3}> .\n" for n in range(9))
    embed_graph(graph_of(text), Config(dimensions=4)).save(tmp_path / "out")
    explorer = Explorer(load(tmp_path / "out"), directory=tmp_path / "out")
    client = Client(application(explorer, Access(8000)))
    answer = client.finished("/api/types?term=0")
    assert (answer.status, answer.json["error"]["code"]) == (409, "impossible")
    assert "No subject of this graph has a type" in answer.json["error"]["message"]
    assert all(one.has_ended for one in explorer._children)
    client.close()


def test_progress_is_reported_and_may_end_the_process(explorer: Explorer) -> None:
    stages: list[tuple[str, int | None]] = []

    class Impatient(Progress):
        def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
            stages.append((name, total))
            if name == "simulation":
                raise Interrupted(signal.SIGTERM)

    child = _child(explorer)
    with pytest.raises(Interrupted):
        child.compute(Impatient())
    assert child.has_ended
    assert [name for name, _ in stages][:2] == ["springs", "repellers"]
    assert (stages[-1][1] or 0) > 1


def test_a_process_without_reports_is_ended_too(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Impatient(Progress):
        def advance(self, done: int) -> None:
            raise Interrupted(signal.SIGTERM)

    monkeypatch.setattr("pyke.use.serve.child.LOOK_SECONDS", 0.01)
    child = _child(explorer)
    with pytest.raises(Interrupted):
        child.compute(Impatient())
    assert child.has_ended


def test_a_replaced_directory_is_noticed(directory: Path, tmp_path: Path) -> None:
    embed_graph(graph_of(crafts()), Config(dimensions=8, seed=1)).save(tmp_path / "out")
    child = Child("types", 5, tmp_path / "out", load(directory).manifest)
    with pytest.raises(Impossible, match="directory was replaced"):
        child.compute(Progress())


def test_a_killed_process_is_an_error_and_the_next_question_starts_another(
    explorer: Explorer, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client(application(explorer, Access(8000)))
    first = client.finished("/api/types?term=5")
    (child,) = explorer._children
    os.kill(_process(child), signal.SIGKILL)
    _until(lambda: child.has_ended)
    assert client.finished("/api/types?term=5").body == first.body
    (other,) = (one for one in explorer._children if not one.has_ended)
    os.kill(_process(other), signal.SIGKILL)
    with pytest.raises(Impossible, match="without free memory"):
        other._message()
    assert "exit code -9" in caplog.text
    client.close()


def test_a_failed_process_says_no_more_than_that(
    explorer: Explorer, capfd: pytest.CaptureFixture[str]
) -> None:
    child = _child(explorer, "no such task")
    with pytest.raises(Impossible, match=r"an error in PYKE$"):
        child.compute(Progress())
    assert "KeyError" in capfd.readouterr().err  # the log of the server


def test_a_process_ends_when_nobody_asks(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IDLE_SECONDS", 0.1)
    child = _child(explorer)
    child.compute(Progress())
    _until(lambda: child.has_ended)


def test_processes_end_with_the_explorer(explorer: Explorer) -> None:
    client = Client(application(explorer, Access(8000)))
    client.finished("/api/types?term=5")
    explorer.stop()
    _until(lambda: all(child.has_ended for child in explorer._children))
    client.close()


SERVER = """
import sys
from pathlib import Path
from pyke.core.progress import Progress
from pyke.embedding.embedding import load
from pyke.use.serve.child import Child
child = Child("types", 5, Path(sys.argv[1]), load(sys.argv[1]).manifest)
child.compute(Progress())
print(child._process.pid, flush=True)
sys.stdin.read()
"""


def test_a_process_ends_with_a_killed_server(directory: Path) -> None:
    command = [sys.executable, "-c", SERVER, str(directory)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        process = int(server.stdout.readline())
        assert system.process_exists(process)
        server.kill()
    _until(lambda: not _runs(process))


def _runs(process: int) -> bool:
    """Whether a process exists and is not only waiting to be collected."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
