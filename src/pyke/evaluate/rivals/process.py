"""Run a method in a child process, with a time limit."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pyke.config import Config
from pyke.core import system
from pyke.core.arrays import Floats
from pyke.core.children import folders_of, isolated_python_with_packages
from pyke.core.files import remove, temporary_text, write_directory
from pyke.core.progress import Progress
from pyke.errors import DataError, MissingLibrary
from pyke.evaluate.rivals.registry import Job, Method, method
from pyke.graph import changes
from pyke.pipeline.checkpoints import Checkpoints

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
    "pykeen": ("torch", "pykeen.models", "pykeen.training", "pykeen.triples"),
}


class MethodFailed(Exception):
    """A method ended with an error. The message is the last line that it printed."""


@dataclass(frozen=True)
class Result:
    """Vectors of a method, the seconds to compute them, and the peak memory of the process."""

    vectors: Floats
    seconds: float
    peak_bytes: int


def run_method(
    name: str, graph: Path, config: Config, time_limit: float, progress: Progress
) -> Result:
    """Run a method on a stored graph in a child process.

    Raises `subprocess.TimeoutExpired` after `time_limit` seconds, and `MethodFailed` if the child
    fails.
    """
    module = method(name).module or ""
    environment = {
        **os.environ,
        **dict.fromkeys(THREAD_VARIABLES, str(config.threads)),
        "PYSTOW_HOME": str(graph.with_name("pystow")),  # PyKEEN would write to ~/.data
    }
    output = graph.with_name(f"{graph.name}-{name}")
    arguments = [name, str(graph), str(output), json.dumps(config.as_dict()), module]
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
            _wait(child, time_limit, progress)
        finally:
            child.kill()
        if child.wait():
            errors.seek(0)
            raise MethodFailed(_reason(child.returncode, errors.read()))
    vectors = np.load(output / "vectors.npy", allow_pickle=False)
    manifest = json.loads((output / "manifest.json").read_bytes())
    remove(output)
    return Result(vectors, manifest["seconds"], manifest["peak_bytes"])


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


def main(name: str, graph: str, output: str, settings: str, module: str = "") -> None:
    """Run a method in this process. Write its vectors, with the seconds and the peak memory.

    `module` is the module that registers the method, if it is not one of ours.
    """
    loaded = Checkpoints(Path(graph), {}, 0, resume=True).load_graph()
    if loaded is None:
        raise DataError(f"there is no graph in {graph}")
    if module:
        importlib.import_module(module)
    chosen = method(name)
    job = Job(loaded, Config(**json.loads(settings)))
    _warm_up(chosen, job)
    began = time.perf_counter()
    vectors = chosen.run(job)
    seconds = time.perf_counter() - began
    _check(chosen, job, vectors)
    write_directory(
        Path(output),
        {"vectors.npy": np.ascontiguousarray(vectors, np.float32)},
        {"seconds": seconds, "peak_bytes": system.peak_resident_bytes()},
    )


def _warm_up(chosen: Method, job: Job) -> None:
    """Load the library of a method, or compile our kernels, before the clock starts."""
    if chosen.library is None:
        is_dropped = np.arange(len(job.graph)) >= WARM_UP_TRIPLES
        few, _ = changes.remove_triples(job.graph, is_dropped, job.config.type_predicate)
        chosen.run(replace(job, graph=few))
        return
    try:
        for module in _MODULES.get(chosen.library, (chosen.library,)):
            importlib.import_module(module)
    except ImportError:
        raise MissingLibrary(chosen.library, chosen.title, "baselines") from None


def _check(chosen: Method, job: Job, vectors: Floats) -> None:
    """Raise an error unless a method returned one finite vector per term."""
    shape = (len(job.graph.terms), job.config.dimensions)
    if np.shape(vectors) != shape:
        raise DataError(
            f"{chosen.title} returned an array of shape {np.shape(vectors)}, not {shape}"
        )
    if not np.isfinite(vectors).all():
        raise DataError(f"{chosen.title} returned infinite values or NaN")
