"""Saved results of the stages of a run, from which an interrupted run resumes."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Matrix, Repellers
from pyke.core.files import MANIFEST, file_hash, remove, write_directory
from pyke.errors import UsageError
from pyke.graph.graph import Census, Graph, Problem
from pyke.graph.terms import Terms, Texts
from pyke.simulation.anneal import Iteration, State

Arrays = dict[str, NDArray[Any]]
VERSION = 1
GRAPH, FORCES, POSITIONS = "graph", "springs", "positions"  # directory names


class Checkpoints:
    """Checkpoints of one run. A fingerprint of everything that determines the result identifies it.

    Without a directory, nothing is saved and nothing is found.
    """

    def __init__(
        self, directory: Path | None, fingerprint: dict[str, Any], every: float, resume: bool
    ) -> None:
        self._directory = directory
        self._fingerprint = json.loads(json.dumps(fingerprint))
        self._every = every  # seconds between checkpoints
        self._last = time.monotonic()
        self._saved: set[str] = set()  # graph and forces do not change once they are saved
        if directory and not resume:
            for name in (GRAPH, FORCES, POSITIONS):
                remove(directory / name)

    # -- graph --------------------------------------------------------------------------------

    def save_graph(self, graph: Graph, now: bool = False) -> None:
        """Save the graph if a checkpoint is due, or `now`."""
        if GRAPH not in self._saved:
            self._save(GRAPH, _arrays_of(graph), {"census": asdict(graph.census)}, now)

    def load_graph(self) -> Graph | None:
        """The saved graph."""
        found = self._load(GRAPH)
        if found is None:
            return None
        arrays, extra = found
        problems = [Problem(**problem) for problem in extra["census"].pop("problems")]
        return Graph(
            terms=Terms(arrays.pop("term_blob"), arrays.pop("term_offsets")),
            labels=Texts(arrays.pop("label_blob"), arrays.pop("label_offsets")),
            census=Census(**extra["census"], problems=problems),
            **arrays,
        )

    # -- springs and repellers ----------------------------------------------------------------

    def save_forces(self, springs: Matrix, repellers: Repellers, now: bool = False) -> None:
        """Save springs and repellers if a checkpoint is due, or `now`."""
        if FORCES not in self._saved:
            self._save(FORCES, {**vars(springs), **vars(repellers)}, {}, now)

    def load_forces(self) -> tuple[Matrix, Repellers] | None:
        """The saved springs and repellers."""
        found = self._load(FORCES)
        if found is None:
            return None
        arrays, _ = found
        springs = Matrix(arrays.pop("offsets"), arrays.pop("columns"), arrays.pop("values"))
        return springs, Repellers(**arrays)

    # -- positions ----------------------------------------------------------------------------

    def save_state(self, state: State) -> None:
        """Save positions; the simulation decides when."""
        history = [asdict(iteration) for iteration in state.history]
        self._save(POSITIONS, {"positions": state.positions}, {"history": history}, now=True)

    def load_state(self) -> State | None:
        """The saved positions."""
        found = self._load(POSITIONS)
        if found is None:
            return None
        arrays, extra = found
        history = tuple(Iteration(**iteration) for iteration in extra["history"])
        return State(arrays["positions"], history)

    # -----------------------------------------------------------------------------------------

    def _save(self, name: str, arrays: Arrays, extra: dict[str, Any], now: bool) -> None:
        if self._directory is None or not (now or time.monotonic() - self._last >= self._every):
            return
        manifest = {"checkpoint": VERSION, "fingerprint": self._fingerprint, **extra}
        contents = {f"{key}.npy": array for key, array in arrays.items()}
        write_directory(self._directory / name, contents, manifest, force=True)
        self._saved.add(name)
        self._last = time.monotonic()

    def _load(self, name: str) -> tuple[Arrays, dict[str, Any]] | None:
        """A checkpoint of this run, if there is a valid one. One of another run is an error."""
        if self._directory is None or not (self._directory / name / MANIFEST).is_file():
            return None
        path = self._directory / name
        found = _read_valid(path)
        if found is None:
            remove(path)
            return None
        arrays, manifest = found
        if manifest["fingerprint"] != self._fingerprint:
            changed = difference(manifest["fingerprint"], self._fingerprint)
            raise UsageError(
                f"the checkpoint in {self._directory} belongs to another run: {changed}. "
                "Use the same inputs and parameters, or omit `resume=True` to start over."
            )
        self._saved.add(name)
        return arrays, manifest


NO_CHECKPOINTS = Checkpoints(None, {}, 0, False)


def _read_valid(path: Path) -> tuple[Arrays, dict[str, Any]] | None:
    """The arrays and the manifest of a checkpoint, or None if it is damaged."""
    try:
        manifest = json.loads((path / MANIFEST).read_bytes())
        entries = manifest["files"].items()
        if manifest["checkpoint"] != VERSION or any(
            file_hash(path / file) != entry["sha256"] for file, entry in entries
        ):
            return None
        arrays = {Path(file).stem: np.load(path / file, allow_pickle=False) for file, _ in entries}
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return arrays, manifest


def _arrays_of(graph: Graph) -> Arrays:
    arrays = {name: value for name, value in vars(graph).items() if isinstance(value, np.ndarray)}
    arrays |= {"term_blob": graph.terms.blob, "term_offsets": graph.terms.offsets}
    arrays |= {"label_blob": graph.labels.blob, "label_offsets": graph.labels.offsets}
    return arrays


def difference(theirs: Any, ours: dict[str, Any]) -> str:
    """The first difference between the fingerprint of an earlier run and of this one."""
    if not isinstance(theirs, dict):
        return "it has no fingerprint"
    for key, value in ours.items():
        if theirs.get(key) == value:
            continue
        if key == "inputs":
            return "the inputs are different or have changed"
        return f"{key} was {theirs.get(key)!r} and is now {value!r}"
    return "it has other parameters"
