"""Run tasks on the workers of dask.distributed.

Dask sends functions and arguments as pickles: who can connect to a scheduler or a worker can run
code there. So a local cluster listens on this computer only, and asks for certificates, which are
made for it and kept in memory.
"""

from __future__ import annotations

import asyncio
import importlib
import platform
import socket
import time
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from pyke.config import format_size
from pyke.core.compile import VECTOR_KERNELS, version
from pyke.errors import ClusterError, MissingLibrary, OverBudget, PykeError, UsageError
from pyke.pipeline.distributed.costs import check_least_memory
from pyke.pipeline.partitions.storage import Storage

CONNECT_SECONDS = 10
NO_WORKERS_SECONDS = 300  # how long a run waits for another worker if none is left
ALLOWED_FAILURES = 1000  # worker losses that a task survives; the run stops if no worker is left
HUNG_SECONDS = 12  # without a sign of life; Dask looks as often, so it notices within 24
MEMORY_RESTARTS = 5  # of workers that use too much memory, in a run
PAUSED_SECONDS = 60  # how long all workers may wait for memory
_POLL_SECONDS = 2.0
_OVER_MEMORY = "worker-restart-memory"  # Dask's name of the event


class WorkersLost(ClusterError):
    """Results were lost with workers; the run can continue from what is on the storage."""


def _dask() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise MissingLibrary("dask.distributed", "a cluster", "distributed") from None


# -- connections ------------------------------------------------------------------------------


@contextmanager
def local_cluster(workers: int, memory: int | None = None) -> Iterator[Any]:
    """Context manager: a client of some worker processes on this computer."""
    if workers < 1:
        raise UsageError(f"`workers` is {workers}; it must be at least 1")
    if memory is not None:
        check_least_memory(memory, "memory")
    distributed = _dask()
    import dask

    settings = {
        "distributed.scheduler.allowed-failures": ALLOWED_FAILURES,
        "distributed.scheduler.work-stealing": False,  # data stay where they are
        "distributed.scheduler.worker-ttl": f"{HUNG_SECONDS} s",
        "distributed.worker.profile.enabled": False,  # it takes a sample every 10 ms
        # Memory is planned. A worker that Dask pauses would never go on.
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
        # A busy computer takes longer than Dask's 15 s to start a lost worker again.
        "distributed.deploy.lost-worker-timeout": "1 hour",
        # Dask's web servers start in any case; without pages they have nothing to tell.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with dask.config.set(settings):
        security = distributed.security.Security.temporary()
        with (
            distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host="tls://127.0.0.1",
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                security=security,
                memory_limit=memory or "auto",
                silence_logs=50,
            ) as cluster,
            distributed.Client(cluster, security=security, set_as_default=False) as client,
        ):
            yield client


@contextmanager
def remote_cluster(
    address: str, ca: str | None = None, cert: str | None = None, key: str | None = None
) -> Iterator[Any]:
    """Context manager: a client of the scheduler at this address, such as tls://host:8786."""
    distributed, place = _dask(), _place(address)
    security = None
    if ca or cert or key:
        security = distributed.security.Security(
            tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True
        )
    try:
        socket.create_connection(place, CONNECT_SECONDS).close()
        _greet(address, security)
        client = distributed.Client(
            address, security=security, timeout=CONNECT_SECONDS, set_as_default=False
        )
    except (OSError, TimeoutError, ValueError, RuntimeError, TypeError) as error:
        reason = f"{error}".split("\n")[0] or "it gives no answer that Dask understands"
        raise ClusterError(
            f"cannot connect to the scheduler at {address}: {reason}. "
            "Check the address, and the certificates if it starts with tls://."
        ) from None
    with client:
        yield client


def _place(address: str) -> tuple[str, int]:
    """Host and port of a scheduler."""
    with suppress(ValueError):
        parts = urllib.parse.urlsplit(address)
        if parts.scheme in ("tcp", "tls") and parts.hostname and parts.port:
            return parts.hostname, parts.port
    raise UsageError(f"`scheduler` is {address!r}; it must be like tls://host:8786")


def _greet(address: str, security: Any) -> None:
    """Raise an error if no Dask listens there; a client would try again for a long time."""
    arguments = security.get_connection_args("client") if security else {}

    async def greet() -> None:
        comm = await _dask().comm.connect(address, timeout=CONNECT_SECONDS, **arguments)
        await comm.close()

    async def greet_in_time() -> None:
        await asyncio.wait_for(greet(), CONNECT_SECONDS)

    asyncio.run(greet_in_time())


# -- checks -----------------------------------------------------------------------------------


def environment() -> dict[str, str]:
    """What decides the bits of a result, besides the settings."""
    import numba
    import numpy as np

    import pyke

    return {
        "pyke": pyke.__version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "kernels": version(VECTOR_KERNELS),
    }


def check_workers(client: Any) -> int:
    """Raise ClusterError unless all workers have the same PYKE; the number of their threads."""

    def probe() -> dict[str, str]:  # nested: it is sent by value, a worker needs no PYKE to load it
        import importlib

        try:
            module = importlib.import_module("pyke.pipeline.distributed.cluster")
        except ImportError as error:
            return {"missing": str(error)}
        found: dict[str, str] = module.environment()
        return found

    _wait_for_workers(client)
    _check_python(client)
    ours = environment()
    for worker, theirs in client.run(probe, on_error="return").items():
        if isinstance(theirs, BaseException):
            raise ClusterError(f"the worker {worker} fails: {theirs}")
        if "missing" in theirs:
            raise ClusterError(
                f"the worker {worker} cannot import PYKE: {theirs['missing']}. Install "
                f"pyke-embeddings[distributed] {ours['pyke']} there."
            )
        for name, value in ours.items():
            if theirs.get(name) != value:
                raise ClusterError(
                    f"the worker {worker} has another {name} than this computer: "
                    f"{theirs.get(name)} instead of {value}. Install the same versions everywhere."
                )
    return sum(_threads(client).values())


def _check_python(client: Any) -> None:
    """Raise ClusterError if a worker has another Python, which cannot run what we send."""
    ours = ".".join(platform.python_version_tuple()[:2])
    for worker, found in client.get_versions()["workers"].items():
        theirs = ".".join(found["packages"]["python"].split(".")[:2])
        if theirs != ours:
            raise ClusterError(
                f"the worker {worker} has Python {theirs}, this computer has {ours}. "
                "Install the same version everywhere."
            )


def _wait_for_workers(client: Any) -> None:
    try:
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except TimeoutError:
        raise ClusterError(
            f"the scheduler at {client.scheduler.address} has no workers. Start some with "
            "`dask worker`."
        ) from None


def _threads(client: Any) -> dict[str, int]:
    found: dict[str, int] = client.nthreads()
    return found


def _workers(client: Any) -> list[dict[str, Any]]:
    """What the scheduler knows about each worker."""
    return list(client.scheduler_info(n_workers=-1)["workers"].values())


def _memory_limit(workers: list[dict[str, Any]]) -> int:
    return max((worker["memory_limit"] or 0 for worker in workers), default=0)


def check_storage(client: Any, scratch: Storage) -> None:
    """Raise ClusterError unless all workers see the same storage as this computer."""
    scratch.write("client", [b"pyke"])
    for worker, problem in client.run(_sees, scratch, on_error="return").items():
        if problem:
            raise ClusterError(
                f"the worker {worker} cannot use {scratch.url}: {problem}. Write the output to a "
                "folder or URL that this computer and all workers share."
            )


def _sees(scratch: Storage) -> str:
    """A problem with the storage, or nothing."""
    try:
        scratch.read("client", 0, 8)
    except PykeError as error:
        return str(error)
    return ""


# -- tasks ------------------------------------------------------------------------------------


class OnCluster:
    """Runs tasks on workers. Results stay there until they are asked for."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._distributed = _dask()
        self._restarts = len(client.get_events(_OVER_MEMORY))  # before this run
        self._limit = _memory_limit(_workers(client))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function on the worker that has most of its arguments.

        No worker is asked for by name: Dask forgets tasks for one that died when no other was left.
        """
        with self._losses():
            return self._client.submit(function, *arguments, pure=False)

    def results(self, submitted: Sequence[Any]) -> list[Any]:
        """Wait for results, and fetch them."""
        with self._losses():
            for future in submitted:
                self._wait(future)
            found: list[Any] = self._client.gather(list(submitted))
            return found

    def workers(self) -> object:
        """The addresses of the workers."""
        with self._losses():
            return tuple(sorted(_threads(self._client)))

    def _wait(self, future: Any) -> None:
        """Wait for one result, as long as workers can work."""
        since: dict[str, float] = {}  # when a problem began
        while True:
            try:
                with self._client.as_current():
                    self._distributed.wait([future], timeout=_POLL_SECONDS)
                break
            except TimeoutError:
                self._check_progress(since)
        if future.status == "error":
            raise future.exception()

    def _check_progress(self, since: dict[str, float]) -> None:
        """Raise an error if workers cannot work; `since` has the beginning of each problem."""
        if self._client.status != "running":
            raise ClusterError("the connection to the scheduler was lost")
        now, states = time.monotonic(), {worker["status"] for worker in _workers(self._client)}
        problems = {"none": not states, "paused": states == {"paused"}}
        for name, is_so in problems.items():
            since[name] = since.get(name, now) if is_so else now
        if now - since["none"] > NO_WORKERS_SECONDS:
            raise ClusterError(
                f"no worker is left since {NO_WORKERS_SECONDS} s. Start workers, and run the same "
                "command with `resume=True`."
            )
        restarts = len(self._client.get_events(_OVER_MEMORY)) - self._restarts
        if restarts > MEMORY_RESTARTS or now - since["paused"] > PAUSED_SECONDS:
            raise OverBudget(
                f"workers need more memory than they have ({format_size(self._limit)} each). "
                "Use more workers, or workers with more memory."
            )

    @contextmanager
    def _losses(self) -> Iterator[None]:
        """Turn the errors of Dask into those of PYKE."""
        distributed = self._distributed
        lost = (
            distributed.scheduler.KilledWorker,
            distributed.client.FutureCancelledError,
            distributed.client.FuturesCancelledError,
            distributed.comm.CommClosedError,
        )
        try:
            yield
        except PykeError:
            raise
        except lost as error:
            raise WorkersLost(f"workers were lost: {error}") from None
        except MemoryError:
            raise ClusterError("a worker has too little memory. Use more workers.") from None
