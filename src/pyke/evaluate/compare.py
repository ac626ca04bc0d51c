"""PYKE beside its rivals on one graph: both protocols, purity, seconds, memory. Each finished row is kept, so a comparison can go on later."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pyke import __version__
from pyke.config import Config
from pyke.core.arrays import Floats
from pyke.core.files import file_hash, remove, write_file
from pyke.core.progress import Progress
from pyke.errors import Interrupted, MissingLibrary, OutputExists, UsageError
from pyke.evaluate import (
    MEASURES,
    Evaluation,
    Measures,
    graph_of,
    measure_held_out,
    measure_in_graph,
    rivals,
)
from pyke.graph.graph import Graph
from pyke.pipeline import Run
from pyke.pipeline.checkpoints import Checkpoints
from pyke.read.objects import Inputs
from pyke.use.types.held_out import split
from pyke.use.types.votes import usable_mu

OK, TIME_LIMIT, FAILED = "ok", "time limit", "failed"
LOOK_EVERY = 0.2  # seconds between two looks at a method that runs


@dataclass(frozen=True)
class Row:
    """What became of one method."""

    method: str
    status: str
    seconds: float | None = (
        None  # from the graph in memory to its vectors, libraries loaded; in the graph with all types
    )
    peak_bytes: int | None = None  # of the process
    in_graph: dict[str, Any] | None = None
    held_out: dict[str, Any] | None = None
    reason: str = ""
    limit: float | None = None  # the seconds that did not suffice for one of the two embeddings


@dataclass(frozen=True)
class Comparison:
    """All rows, in the order in which the methods were named."""

    graph: str
    settings: dict[str, Any]
    rows: tuple[Row, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Contest:
    """How the methods are compared."""

    methods: Sequence[str] = tuple(rivals.METHODS)
    fraction: float = 0.2
    time_limit: float = 1800.0  # seconds for each embedding
    measures: Measures = MEASURES


def compare(
    inputs: Inputs,
    config: Config | None = None,
    contest: Contest | None = None,
    kept: Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Embeds a graph by several methods, each in a process of its own, and scores their vectors alike.

    `kept` is a JSON file: rows that it has are not computed again, and each new one is added to it at once.
    """
    config, contest, progress = config or Config(), contest or Contest(), progress or Progress()
    methods = list(dict.fromkeys(contest.methods))
    if not methods:
        raise UsageError("no method to compare is named")
    require_libraries(methods)
    settings = _settings(inputs, config, contest)
    rows = {} if kept is None or force else _kept_rows(kept, settings)
    graph = graph_of(inputs, config, progress)
    title = ", ".join(Path(document.name).name for document in Run(inputs, config).documents)
    with tempfile.TemporaryDirectory(prefix="pyke-compare-") as folder:
        arena = _Arena(graph, config, contest, Path(folder), progress)
        for name in methods:  # each row is kept before the next begins
            if name not in rows or (
                rows[name].status == TIME_LIMIT and (rows[name].limit or 0) < contest.time_limit
            ):
                try:
                    rows[name] = arena.run(name)
                except Interrupted as stopped:
                    raise Interrupted(
                        stopped.signal_number,
                        "The same command goes on: finished rows are kept." if kept else "",
                    ) from None
            comparison = Comparison(
                title, settings, tuple(rows[method] for method in methods if method in rows)
            )
            if kept is not None:
                others = tuple(row for method, row in rows.items() if method not in methods)
                everything = Comparison(title, settings, comparison.rows + others).as_dict()
                write_file(kept, json.dumps(everything, indent=1, ensure_ascii=False).encode())
    return comparison


def require_libraries(methods: Iterable[str]) -> None:
    """Refuses methods whose libraries are not installed, before hours are spent on the others."""
    for chosen in map(rivals.method, methods):
        if chosen.library and importlib.util.find_spec(chosen.library) is None:
            raise MissingLibrary(
                chosen.library,
                f"{chosen.title} (leave it out with --methods, or install it)",
                "baselines",
            )


class _Arena:
    """The two graphs, on disk, and the scoring."""

    def __init__(
        self, graph: Graph, config: Config, contest: Contest, folder: Path, progress: Progress
    ) -> None:
        self.graph, self.config, self.contest, self.folder, self.progress = (
            graph,
            config,
            contest,
            folder,
            progress,
        )
        self.parts = split(graph, contest.fraction, config.seed, config.type_predicate)
        usable_mu(contest.measures.mu, len(self.parts.known))
        for name, which in (("in-graph", graph), ("held-out", self.parts.graph)):
            Checkpoints(folder / name, {}, 0, resume=False).save_graph(which, now=True)

    def run(self, name: str) -> Row:
        """One method, by both protocols; what was done before a time limit or a failure stays."""
        title = rivals.method(name).title
        took: dict[str, Any] = {"seconds": None, "peak_bytes": None}
        in_graph = None
        try:
            vectors, took = self._embed(name, "in-graph")
            self.progress.note(f"{title}: {took['seconds']:.1f} s")
            in_graph = self._score(
                measure_in_graph(vectors, self.graph.types, self.contest.measures, self.progress)
            )
            vectors, _ = self._embed(name, "held-out")
            held_out = self._score(
                measure_held_out(vectors, self.parts, self.contest.measures, self.progress)
            )
        except subprocess.TimeoutExpired:
            self.progress.note(f"{title}: over the time limit")
            return Row(
                name,
                TIME_LIMIT,
                took["seconds"],
                took["peak_bytes"],
                in_graph,
                limit=self.contest.time_limit,
            )
        except _Failed as error:
            self.progress.note(f"{title} failed: {error}")
            return Row(
                name, FAILED, took["seconds"], took["peak_bytes"], in_graph, reason=str(error)
            )
        return Row(name, OK, took["seconds"], took["peak_bytes"], in_graph, held_out)

    def _score(self, evaluation: Evaluation) -> dict[str, Any]:
        return {key: value for key, value in evaluation.as_dict().items() if key != "protocol"}

    def _embed(self, name: str, protocol: str) -> tuple[Floats, dict[str, Any]]:
        """The vectors that a method gives in a process of its own, and what they took."""
        output = self.folder / f"{name}-{protocol}"
        command = [
            sys.executable,
            "-m",
            "pyke.evaluate.rivals",
            name,
            str(self.folder / protocol),
            str(output),
            json.dumps(self.config.as_dict()),
        ]
        self.progress.stage(name, unit="s")
        threads = dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"),
            str(self.config.threads),
        )
        with (
            tempfile.TemporaryFile("w+", errors="replace") as errors,
            # In a session of its own: a signal at the terminal is for us, and must not look like a method that failed.
            subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env={**os.environ, **threads},
                start_new_session=True,
            ) as child,
        ):
            try:
                _wait(child, self.contest.time_limit, self.progress)
            finally:
                child.kill()
            if child.wait():
                errors.seek(0)
                lines = errors.read().strip().splitlines() or [f"exit code {child.returncode}"]
                raise _Failed(
                    lines[-1]
                    if child.returncode > 0
                    else f"killed by signal {-child.returncode}; by the system, if memory ran out"
                )
        vectors, took = (
            np.load(output / "vectors.npy", allow_pickle=False),
            json.loads((output / "manifest.json").read_bytes()),
        )
        remove(output)
        return vectors, took


class _Failed(Exception):
    """A method ended with an error, whose last line this is."""


def _wait(child: subprocess.Popen[bytes], limit: float, progress: Progress) -> None:
    """Waits for a child, hearing signals meanwhile."""
    began = time.monotonic()
    while time.monotonic() - began < limit:
        progress.advance(int(time.monotonic() - began))
        try:
            child.wait(LOOK_EVERY)
            return
        except subprocess.TimeoutExpired:
            continue
    raise subprocess.TimeoutExpired(child.args, limit)


def _settings(inputs: Inputs, config: Config, contest: Contest) -> dict[str, Any]:
    """All that rows of one comparison have in common."""
    documents = Run(inputs, config).documents
    if any(not os.path.isfile(document.name) for document in documents):
        raise UsageError(
            "standard input or a pipe can be read only once: save it to a file to compare"
        )
    hashes = [file_hash(Path(document.name)) for document in documents]
    measures = {
        "mu": list(contest.measures.mu) if contest.measures.mu else None,
        "purity": contest.measures.purity,
        "exact": contest.measures.exact,
    }
    made: dict[str, Any] = json.loads(
        json.dumps(
            {
                "inputs": hashes,
                "held_out": contest.fraction,
                "program": __version__,
                "threads": config.threads,
                "rivals": rivals.SETTINGS,
                **measures,
                **config.effective(),
            }
        )
    )
    return made


def _kept_rows(kept: Path, settings: dict[str, Any]) -> dict[str, Row]:
    """The rows of an earlier comparison, if it was the same."""
    if not kept.exists():
        return {}
    try:
        found = json.loads(kept.read_bytes())
        rows = {row["method"]: Row(**row) for row in found["rows"]}
        before = dict(found["settings"])
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputExists(
            f"{kept} is there, but it is no comparison; --force replaces it"
        ) from None
    if before != settings:
        changed = sorted(
            key for key in {*before, *settings} if before.get(key) != settings.get(key)
        )
        raise OutputExists(
            f"{kept} has a comparison with other settings ({', '.join(changed)}); name another report, or --force to replace it"
        )
    return {name: row for name, row in rows.items() if row.status != FAILED}
