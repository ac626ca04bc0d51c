"""Dask: worker processes with certificates, and what happens if one of them dies."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyke
from conftest import Command
from graphs import random_graph
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.errors import (
    ClusterError,
    DamagedStore,
    NoInput,
    OverBudget,
    PykeError,
    SyntaxProblem,
    UsageError,
    WriteError,
)
from pyke.pipeline.distributed import cluster, embed_to
from pyke.pipeline.distributed.cluster import OnCluster, local_cluster, remote_cluster
from pyke.pipeline.partitions.storage import Storage

CONFIG = Config(dimensions=8, threads=1, max_iterations=7, checkpoint_seconds=0)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with local_cluster(2) as client:
        yield client


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "graph.nt"
    path.write_text(random_graph(3000))
    return path


@pytest.fixture(scope="module")
def expected(graph: Path) -> Any:
    return pyke.embed(str(graph), dimensions=8, threads=1, max_iterations=7).vectors


def pids(client: Any) -> list[int]:
    client.wait_for_workers(1)
    return [int(pid) for pid in client.run(os.getpid).values()]


class Killer(Progress):
    """Kills a worker while springs are found, and in an iteration."""

    def __init__(self, client: Any) -> None:
        self.client, self.killed = client, 0

    def stage(self, name: str, *_: Any) -> None:
        if name == "springs":
            self._kill()

    def iteration(self, number: int, *_: float) -> None:
        if number == 4:
            self._kill()

    def _kill(self) -> None:
        os.kill(pids(self.client)[-1], signal.SIGKILL)
        self.killed += 1


def test_workers_talk_with_certificates_and_listen_on_this_computer_only(client: Any) -> None:
    places = [client.scheduler.address, *client.scheduler_info(n_workers=-1)["workers"]]
    assert {place.rpartition(":")[0] for place in places} == {"tls://127.0.0.1"}
    without_certificate = remote_cluster(client.scheduler.address)
    with pytest.raises(ClusterError, match="cannot connect to the scheduler"):
        without_certificate.__enter__()


def test_killed_workers_change_no_bit(
    client: Any, graph: Path, expected: Any, tmp_path: Path
) -> None:
    killer = Killer(client)
    embed_to(tmp_path / "out", str(graph), CONFIG, client, progress=killer)
    assert killer.killed == 2
    assert np.array_equal(pyke.load(tmp_path / "out").vectors, expected)


class At(Progress):
    """Does something when a stage starts, or after the third iteration."""

    def __init__(self, action: Callable[[], Any], name: str = "") -> None:
        self._action, self._name = action, name

    def stage(self, name: str, *_: Any) -> None:
        if name == self._name:
            self._action()

    def iteration(self, number: int, *_: float) -> None:
        if number == 3 and not self._name:
            self._action()


def test_a_hung_worker_is_replaced_and_changes_no_bit(
    graph: Path, expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "HUNG_SECONDS", 4)
    with local_cluster(2) as client:
        hung = pids(client)[-1]
        stop = At(lambda: os.kill(hung, signal.SIGSTOP))
        embed_to(tmp_path / "out", str(graph), CONFIG, client, progress=stop)
    with pytest.raises(ProcessLookupError):
        os.kill(hung, 0)
    assert np.array_equal(pyke.load(tmp_path / "out").vectors, expected)


@pytest.mark.parametrize("stage", ["springs", "simulation"])
def test_storage_that_vanishes_is_an_error(
    client: Any, graph: Path, tmp_path: Path, stage: str
) -> None:
    vanish = At(lambda: shutil.rmtree(tmp_path / ".out.pyke"), stage)
    with pytest.raises(NoInput, match=r"cannot read .*: it does not exist\. All workers"):
        embed_to(tmp_path / "out", str(graph), CONFIG, client, progress=vanish)


ON_A_SMALL_DISK = """
mount -t tmpfs -o size=200k tmpfs "$1" || exit 99
"$2" -m pyke embed "$3" -o "$1/out" --workers 2
"""


def test_a_full_disk_is_an_error(graph: Path, tmp_path: Path) -> None:
    place = (str(tmp_path), sys.executable, str(graph))
    command = ["unshare", "-Urm", "sh", "-c", ON_A_SMALL_DISK, "sh", *place]
    try:
        run = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("this system has no unshare")
    if "cannot write" not in run.stderr and run.returncode in (1, 99):
        pytest.skip(f"cannot mount a small disk: {run.stderr.strip()}")
    assert run.returncode == 74, run.stderr
    assert "the disk is full. Existing output is unchanged." in run.stderr


# A worker that never gets a task beyond the checks.
WORKER = """
import asyncio, sys
{change}
from distributed import Worker

async def work():
    async with Worker(sys.argv[1], nthreads=1) as worker:
        await worker.finished()

asyncio.run(work())
"""


@contextmanager
def foreign_worker(change: str, folder: Path) -> Iterator[Any]:
    """Context manager: a client of one worker, in a process that is changed at first."""
    distributed = pytest.importorskip("distributed")
    quiet = {"n_workers": 0, "dashboard_address": None, "protocol": "tcp", "host": "127.0.0.1"}
    command = [sys.executable, "-c", WORKER.format(change=change)]
    with (
        distributed.LocalCluster(**quiet) as scheduler,
        distributed.Client(scheduler, set_as_default=False) as client,
        subprocess.Popen(
            [*command, scheduler.scheduler_address], cwd=folder, stderr=subprocess.DEVNULL
        ) as worker,
    ):
        try:
            client.wait_for_workers(1, timeout=60)
            yield client
        finally:
            worker.kill()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("sys.modules['pyke'] = None", "cannot import PYKE: .*Install pyke-embeddings"),
        ("import pyke; pyke.__version__ = '0.0.1'", r"has another pyke .*: 0\.0\.1 instead of"),
    ],
    ids=["no PYKE", "another PYKE"],
)
def test_a_worker_that_cannot_run_the_tasks_is_found(
    graph: Path, tmp_path: Path, change: str, message: str
) -> None:
    with (
        foreign_worker(change, tmp_path) as client,
        pytest.raises(ClusterError, match=message),
    ):
        embed_to(tmp_path / "out", str(graph), CONFIG, client)


def test_too_little_memory_for_a_worker_is_refused(
    pyke: Command, graph: Path, tmp_path: Path
) -> None:
    run = pyke("embed", graph, "-o", tmp_path / "out", "--workers", "2", "--memory", "100MB")
    assert run.returncode == 75
    assert "a worker needs more than 286 MB; --memory is 100 MB" in run.stderr


def test_workers_that_use_too_much_memory_are_an_error(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "check_least_memory", lambda *_: None)
    monkeypatch.setattr(cluster, "MEMORY_RESTARTS", 1)
    message = r"need more memory than they have \(400 MB each\)"
    with local_cluster(1, 400_000_000) as client:
        executor = OnCluster(client)
        task = executor.submit(_use_memory, 600_000_000)
        with pytest.raises(OverBudget, match=message):
            executor.results([task])


def _use_memory(size: int) -> None:
    kept = np.ones(size, np.uint8)
    threading.Event().wait(60)
    del kept


def test_a_worker_without_the_storage_is_found(
    client: Any, graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Storage, "write", lambda *_: None)
    with pytest.raises(ClusterError, match=r"cannot use .*all workers share"):
        embed_to(tmp_path / "out", str(graph), CONFIG, client)


def test_another_version_on_a_worker_is_found(
    client: Any, graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = cluster.environment()
    monkeypatch.setattr(cluster, "environment", lambda: ours | {"numba": "0.1"})
    with pytest.raises(ClusterError, match=r"has another numba .* instead of 0\.1"):
        embed_to(tmp_path / "out", str(graph), CONFIG, client)


def test_another_python_on_a_worker_is_found(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "python_version_tuple", lambda: ("3", "9", "1"))
    with pytest.raises(ClusterError, match=r"has Python 3\.\d+, this computer has 3\.9\."):
        cluster.check_workers(client)


def test_an_error_of_a_task_is_that_of_the_run(client: Any) -> None:
    executor = OnCluster(client)
    for kind in (UsageError, WriteError, NoInput, DamagedStore, SyntaxProblem):
        task = executor.submit(_fail, kind)
        with pytest.raises(kind, match="the disk is full"):
            executor.results([task])


def _fail(kind: type[PykeError]) -> None:
    raise kind("the disk is full")


def test_an_unreachable_scheduler_is_an_error(pyke: Command, graph: Path, tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    run = pyke("embed", graph, "-o", tmp_path / "out", "--scheduler", f"tcp://127.0.0.1:{port}")
    assert run.returncode == 69
    assert f"cannot connect to the scheduler at tcp://127.0.0.1:{port}" in run.stderr


def test_something_else_at_the_address_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:  # accepts, and never answers
        mute = remote_cluster(f"tcp://127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(ClusterError, match=r"no answer that Dask understands|Timed out"):
            mute.__enter__()


@pytest.mark.parametrize("address", ["host", "host:8786", "http://host:80", "tcp://h", "tcp://h:x"])
def test_an_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="must be like tls://host:8786"):
        remote_cluster(address).__enter__()


@pytest.mark.parametrize(
    "options",
    [["--workers", "0"], ["--workers", "2", "--scheduler", "tcp://h:1"], ["--tls-ca", "a.pem"]],
)
def test_options_that_contradict_each_other_are_refused(
    pyke: Command, graph: Path, tmp_path: Path, options: list[str]
) -> None:
    run = pyke("embed", graph, "-o", tmp_path / "out", *options)
    assert run.returncode == 2
