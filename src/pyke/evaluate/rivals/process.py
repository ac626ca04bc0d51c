"""Run a method in a child process, with a time limit."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core import system
from pyke.core.arrays import Floats, Ids, Matrix
from pyke.core.children import folders_of, isolated_python_with_packages
from pyke.core.files import remove, temporary_text, write_directory
from pyke.core.progress import Progress
from pyke.errors import DataError, MissingLibrary
from pyke.evaluate.rivals.registry import (
    Job,
    Method,
    Predictor,
    Rival,
    extra_of,
    method,
)
from pyke.graph import changes
from pyke.graph.graph import Graph
from pyke.pipeline.checkpoints import Checkpoints

VECTORS = "vectors.npy"
SCORES = ("offsets.npy", "columns.npy", "values.npy")
POLL_SECONDS = 0.2  # between two checks whether the child has finished
WARM_UP_TRIPLES = 100
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
# Modules that methods with these libraries import: some libraries load them on first use.
_MODULES = {
    "scipy": ("scipy.sparse.linalg",),
    "pycleora": ("pycleora.pycleora",),
    "gensim": ("gensim.models",),
    "pykeen": ("torch", "pykeen.models", "pykeen.sampling", "pykeen.triples"),
}


class MethodFailed(Exception):
    """A method ended with an error. The message is the last line that it printed."""


@dataclass(frozen=True)
class Result:
    """What a method computed, the seconds that it took, and the peak memory of the process."""

    found: Floats | Matrix | dict[str, Any]  # vectors, scores of classes, or chosen settings
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Request:
    """What a child process computes. The graph is stored as a checkpoint.

    A `Predictor` is asked for the types of `subjects`; `choose` asks a `Method` for its settings.
    """

    method: str
    graph: str
    config: dict[str, Any]
    time_limit: float
    settings: dict[str, Any] = field(default_factory=dict)
    subjects: str | None = None  # an .npy file with term ids
    choose: bool = False

    def job(self, graph: Graph) -> Job:
        """The job of the method."""
        return Job(graph, Config(**self.config), self.settings, self.time_limit)


def run_method(request: Request, progress: Progress) -> Result:
    """Run a method on a stored graph in a child process.

    Raises `subprocess.TimeoutExpired` after the time limit, and `MethodFailed` if the child fails.
    """
    module, graph = method(request.method).module or "", Path(request.graph)
    environment = {
        **os.environ,
        **dict.fromkeys(THREAD_VARIABLES, str(request.config["threads"])),
        "PYSTOW_HOME": str(graph.with_name("pystow")),  # PyKEEN would write to ~/.data
    }
    output = graph.with_name(f"{graph.name}-{request.method}")
    arguments = [json.dumps(asdict(request)), str(output), module]
    # The child finds PYKE and the module that registers the method where this process found them.
    folders = folders_of("pyke", module)
    with (
        temporary_text() as errors,
        # In its own session, the child does not receive signals of the terminal: they are for
        # this process, and must not look like a failed method.
        subprocess.Popen(
            isolated_python_with_packages("pyke.evaluate.rivals", arguments, folders),
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=environment,
            start_new_session=True,
        ) as child,
    ):
        try:
            _wait(child, request.time_limit, progress)
        finally:
            child.kill()
        if child.wait():
            errors.seek(0)
            raise MethodFailed(_reason(child.returncode, errors.read()))
    manifest = json.loads((output / "manifest.json").read_bytes())
    found: Any = manifest.get("settings")
    if found is None:
        arrays = [
            np.load(output / name, allow_pickle=False)
            for name in (VECTORS, *SCORES)
            if (output / name).exists()
        ]
        found = arrays[0] if len(arrays) == 1 else Matrix(*arrays)
    remove(output)
    return Result(found, manifest["seconds"], manifest["peak_bytes"])


def _wait(child: subprocess.Popen[bytes], limit: float, progress: Progress) -> None:
    """Wait for the child, and report progress, which may raise Interrupted."""
    began = time.monotonic()
    while time.monotonic() - began < limit:
        progress.advance(int(time.monotonic() - began))
        try:
            child.wait(POLL_SECONDS)
            return
        except subprocess.TimeoutExpired:
            continue
    raise subprocess.TimeoutExpired(child.args, limit)


def _reason(code: int, errors: str) -> str:
    """Why a child failed."""
    if code < 0:
        return f"killed by signal {-code}; the system does this when memory runs out"
    lines = errors.strip().splitlines()
    return lines[-1] if lines else f"exit code {code}"


def main(request: str, output: str, module: str = "") -> None:
    """Run a method in this process. Write its result, with the seconds and the peak memory.

    `request` is a `Request` as JSON. `module` is the module that registers the method, if it is
    not one of ours.
    """
    wanted = Request(**json.loads(request))
    graph = Checkpoints(Path(wanted.graph), {}, 0, resume=True).load_graph()
    if graph is None:
        raise DataError(f"there is no graph in {wanted.graph}")
    if module:
        importlib.import_module(module)
    chosen, job = method(wanted.method), wanted.job(graph)
    if chosen.library or not wanted.choose:
        _warm_up(chosen, job)
    subjects = np.load(wanted.subjects, allow_pickle=False) if wanted.subjects else None
    began = time.perf_counter()
    contents, settings = _compute(chosen, job, subjects, wanted.choose)
    seconds = time.perf_counter() - began
    peak = {"seconds": seconds, "peak_bytes": system.peak_resident_bytes()}
    write_directory(Path(output), contents, {**settings, **peak})


def _compute(
    chosen: Rival, job: Job, subjects: Ids | None, choose: bool
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """What a method computes: arrays by file name, and settings."""
    if isinstance(chosen, Predictor):
        asked = np.empty(0, np.int32) if subjects is None else subjects
        scores = chosen.run(job, asked)
        _check_scores(chosen, job, asked, scores)
        arrays = (scores.offsets, scores.columns, scores.values)
        return dict(zip(SCORES, arrays, strict=True)), {}
    if choose:
        return {}, {"settings": chosen.choose(job) if chosen.choose else {}}
    vectors = chosen.run(job)
    _check_vectors(chosen, job, vectors)
    return {VECTORS: np.ascontiguousarray(vectors, np.float32)}, {}


def _warm_up(chosen: Rival, job: Job) -> None:
    """Load the library of a method, or compile our kernels, before the clock starts."""
    if chosen.library is None:
        is_dropped = np.arange(len(job.graph)) >= WARM_UP_TRIPLES
        few, _ = changes.remove_triples(job.graph, is_dropped, job.config.type_predicate)
        if isinstance(chosen, Predictor):
            chosen.run(replace(job, graph=few), np.unique(few.types[:, 0]))
        else:
            chosen.run(replace(job, graph=few))
        return
    try:
        for module in _MODULES.get(chosen.library, (chosen.library,)):
            importlib.import_module(module)
    except ImportError:
        raise MissingLibrary(chosen.library, chosen.title, extra_of(chosen.library)) from None


def _check_vectors(chosen: Method, job: Job, vectors: Floats) -> None:
    """Raise an error unless a method returned one finite vector per term."""
    shape = (len(job.graph.terms), job.config.dimensions)
    if np.shape(vectors) != shape:
        raise DataError(
            f"{chosen.title} returned an array of shape {np.shape(vectors)}, not {shape}"
        )
    if not np.isfinite(vectors).all():
        raise DataError(f"{chosen.title} returned infinite values or NaN")


def _check_scores(chosen: Predictor, job: Job, subjects: Ids, scores: Matrix) -> None:
    """Raise an error unless a method returned scores of classes for each subject."""
    if scores.rows != len(subjects):
        raise DataError(f"{chosen.title} returned {scores.rows} rows for {len(subjects)} subjects")
    if not ((scores.values >= 0) & (scores.values <= 1)).all():
        raise DataError(f"{chosen.title} returned scores that are not from 0 to 1")
    if not np.isin(scores.columns, job.graph.types[:, 1]).all():
        raise DataError(f"{chosen.title} returned scores of terms that are not classes")
