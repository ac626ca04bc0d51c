"""Dask: worker processes with certificates, and what happens if one of them dies."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
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
    PykeError,
    SyntaxProblem,
    UsageError,
    WriteError,
)
from pyke.pipeline.distributed import cluster, embed_to
from pyke.pipeline.distributed.cluster import OnCluster, local_cluster, remote_cluster
from pyke.pipeline.distributed.storage import Storage

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


@pytest.mark.parametrize(
    "options",
    [["--workers", "0"], ["--workers", "2", "--scheduler", "tcp://h:1"], ["--tls-ca", "a.pem"]],
)
def test_options_that_contradict_each_other_are_refused(
    pyke: Command, graph: Path, tmp_path: Path, options: list[str]
) -> None:
    run = pyke("embed", graph, "-o", tmp_path / "out", *options)
    assert run.returncode == 2
