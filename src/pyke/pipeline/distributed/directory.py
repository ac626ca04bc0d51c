"""Embed on a cluster into a directory on shared storage."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from pyke import __version__
from pyke.config import Config
from pyke.core import files
from pyke.core.compile import VECTOR_KERNELS, version
from pyke.core.progress import Progress
from pyke.errors import OutputExists, UsageError
from pyke.pipeline.checkpoints import difference
from pyke.pipeline.distributed.cluster import OnCluster, WorkersLost, check_storage, check_workers
from pyke.pipeline.distributed.costs import (
    TEXT_PER_TRIPLE,
    TRIPLES_PER_TERM,
    Counts,
    check_least_memory,
    partitions_for,
)
from pyke.pipeline.distributed.parts import Part, cut, find_inputs
from pyke.pipeline.distributed.run import Flow, check_settings
from pyke.pipeline.partitions.executor import Executor
from pyke.pipeline.partitions.job import Job
from pyke.pipeline.partitions.storage import Storage, exists, filesystem, local_path
from pyke.pipeline.stages import Stages
from pyke.read.find import Document, count_skipped_files, text_bytes
from pyke.read.tokenize import check_base

ATTEMPTS = 20  # to continue after workers were lost
_WORK = "cluster"  # folder in the work directory of an output
_JOB = "job.json"


def embed_to(
    output: str | os.PathLike[str],
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    config: Config,
    client: Any,
    *,
    force: bool = False,
    resume: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Embed on the workers of a `distributed.Client`, and return the manifest of the embedding.

    Inputs and output are paths on a file system that all workers share, or URLs of fsspec, such as
    s3://bucket/graph.nt. The vectors are those of one machine, to the bit.
    """
    threads = check_workers(client)
    return embed_with(
        OnCluster(client), threads, output, inputs, config,
        force=force, resume=resume, progress=progress,
        check=lambda scratch: check_storage(client, scratch),
    )  # fmt: skip


def embed_with(
    executor: Executor,
    workers: int,
    output: str | os.PathLike[str],
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    config: Config,
    *,
    force: bool = False,
    resume: bool = False,
    progress: Progress | None = None,
    check: Callable[[Storage], None] = lambda _: None,
) -> dict[str, Any]:
    """The same with any executor; `check` may refuse the storage."""
    check_settings(config)
    check_base(config)
    if config.memory is not None:
        check_least_memory(config.memory, "memory")
    several = [inputs] if isinstance(inputs, str | os.PathLike) else inputs
    given = [os.fspath(one) for one in several]
    documents = find_inputs(given, config.format)
    target = os.fspath(output)
    partitions = partitions_for(estimate(documents), workers, config.memory)
    with _work(target, force, resume) as scratch:
        check(scratch)
        found = fingerprint(documents, config)
        job, parts = _job(scratch, documents, config, partitions, found, resume)
        names = [document.name for document in documents]
        for attempt in range(ATTEMPTS):
            stages = Stages(config, progress, names)
            flow = Flow(job, executor, stages, parts, workers)
            flow.census.files_passed_over = count_skipped_files(given)
            try:
                manifest = flow.embed(_absolute(target), force, found)
                break
            except WorkersLost as error:
                if attempt == ATTEMPTS - 1:
                    raise
                stages.progress.note(f"{error}. The run continues from the last checkpoint.")
        scratch.remove_all()
    return manifest | {"cluster": asdict(flow.used) | {"partitions": job.partitions}}


def estimate(documents: Sequence[Document]) -> Counts:
    """Counts of documents, by their size alone."""
    text = text_bytes(documents)
    triples = text / TEXT_PER_TRIPLE
    return Counts.like_lubm(triples, triples / TRIPLES_PER_TERM)


def fingerprint(documents: Sequence[Document], config: Config) -> dict[str, Any]:
    """Everything that determines the vectors: program, settings and inputs."""
    inputs = [[one.name, one.size, _state(one.name)] for one in documents]
    return {
        "program": __version__,
        "code": version(VECTOR_KERNELS),
        **config.effective(),
        "inputs": inputs,
    }


def _state(name: str) -> int | str:
    """What changes with the content of an input: its time, or what its storage tells about it."""
    if path := local_path(name):
        return os.stat(path).st_mtime_ns
    system, place = filesystem(name)
    return str(system.ukey(place))


def _job(
    scratch: Storage,
    documents: Sequence[Document],
    config: Config,
    partitions: int,
    found: dict[str, Any],
    resume: bool,
) -> tuple[Job, list[Part]]:
    """The job of an earlier run that continues, or a new one."""
    saved = scratch.read_json(_JOB) if resume else None
    if saved and saved["fingerprint"] != json.loads(json.dumps(found)):
        raise UsageError(
            f"the checkpoint in {scratch.url} belongs to another run: "
            f"{difference(saved['fingerprint'], found)}. "
            "Use the same inputs and parameters, or omit `resume=True` to start over."
        )
    if not saved:
        saved = {
            "fingerprint": found, "partitions": partitions, "hash_seed": secrets.randbits(63) + 1
        }  # fmt: skip
        scratch.write_json(_JOB, saved)
    parts = cut(documents, saved["partitions"])
    one_thread = replace(config, threads=1)  # a worker runs as many tasks as it has threads
    return Job(scratch, one_thread, saved["hash_seed"], len(parts), saved["partitions"]), parts


@contextmanager
def _work(output: str, force: bool, resume: bool) -> Iterator[Storage]:
    """Context manager: storage for the run, beside its output."""
    path = local_path(output)
    if path is not None:
        files.check_output_directory(path, force)
        with files.work_directory(path) as work:
            if not resume:
                files.remove(work / _WORK)
            yield Storage(str(work / _WORK))
        return
    if exists(output) and not force:
        raise OutputExists(f"{output} exists; pass `force=True` to replace it")
    parent, _, name = output.rstrip("/").rpartition("/")
    scratch = Storage(f"{parent}/.{name}.pyke")
    if not resume:
        scratch.remove_all()
    yield scratch


def _absolute(output: str) -> str:
    path = local_path(output)
    return output if path is None else str(path)
