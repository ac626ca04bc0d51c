"""What a run leaves behind while it works, so that another can go on: stage results and positions."""

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


class Checkpoints:
    """Saved results of one run, told apart by a fingerprint of all that decides the result. Without a directory, none."""

    def __init__(
        self, directory: Path | None, fingerprint: dict[str, Any], every: float, resume: bool
    ) -> None:
        self._directory, self._fingerprint, self._every = (
            directory,
            json.loads(json.dumps(fingerprint)),
            every,
        )
        self._last = time.monotonic()
        self._kept: set[str] = set()  # stage results that are there, and do not change any more
        if directory and not resume:
            for name in ("graph", "springs", "positions"):
                remove(directory / name)

    # -- graph ---------------------------------------------------------------------------------------------------------

    def save_graph(self, graph: Graph, now: bool = False) -> None:
        """Keeps the graph, now or if the last checkpoint is long ago."""
        if "graph" not in self._kept:
            self._save("graph", _arrays_of(graph), {"census": asdict(graph.census)}, now)

    def load_graph(self) -> Graph | None:
        """The kept graph."""
        found = self._load("graph")
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

    # -- springs and repellers -----------------------------------------------------------------------------------------

    def save_springs(self, springs: Matrix, repellers: Repellers, now: bool = False) -> None:
        """Keeps P and N, now or if the last checkpoint is long ago."""
        if "springs" not in self._kept:
            self._save("springs", {**vars(springs), **vars(repellers)}, {}, now)

    def load_springs(self) -> tuple[Matrix, Repellers] | None:
        """The kept P and N."""
        found = self._load("springs")
        if found is None:
            return None
        arrays, _ = found
        springs = Matrix(arrays.pop("offsets"), arrays.pop("columns"), arrays.pop("values"))
        return springs, Repellers(**arrays)

    # -- positions -----------------------------------------------------------------------------------------------------

    def save_state(self, state: State) -> None:
        """Keeps positions; the simulation says when."""
        self._save(
            "positions",
            {"positions": state.positions},
            {"history": [asdict(iteration) for iteration in state.history]},
            now=True,
        )

    def load_state(self) -> State | None:
        """The kept positions."""
        found = self._load("positions")
        if found is None:
            return None
        arrays, extra = found
        return State(
            arrays["positions"], tuple(Iteration(**iteration) for iteration in extra["history"])
        )

    # ------------------------------------------------------------------------------------------------------------------

    def _save(self, name: str, arrays: Arrays, extra: dict[str, Any], now: bool) -> None:
        if self._directory is None or not (now or time.monotonic() - self._last >= self._every):
            return
        manifest = {"checkpoint": VERSION, "fingerprint": self._fingerprint, **extra}
        write_directory(
            self._directory / name,
            {f"{key}.npy": array for key, array in arrays.items()},
            manifest,
            replace=True,
        )
        self._kept.add(name)
        self._last = time.monotonic()

    def _load(self, name: str) -> tuple[Arrays, dict[str, Any]] | None:
        """A whole checkpoint of this run, or None. One of another run is an error; a damaged one is passed over."""
        if self._directory is None or not (self._directory / name / MANIFEST).is_file():
            return None
        path = self._directory / name
        found = _read_whole(path)
        if found is None:
            remove(path)
            return None
        arrays, manifest = found
        if manifest["fingerprint"] != self._fingerprint:
            raise UsageError(f"the checkpoint in {self._directory} is of another run: {difference(manifest['fingerprint'], self._fingerprint)}. "
                             "Give the same inputs and parameters, or leave --resume out to start anew.")  # fmt: skip
        self._kept.add(name)
        return arrays, manifest


def _read_whole(path: Path) -> tuple[Arrays, dict[str, Any]] | None:
    """The arrays and the manifest of a checkpoint, or None if it is damaged."""
    try:
        manifest = json.loads((path / MANIFEST).read_bytes())
        if manifest["checkpoint"] != VERSION or any(
            file_hash(path / file) != entry["sha256"] for file, entry in manifest["files"].items()
        ):
            return None
        return {
            Path(file).stem: np.load(path / file, allow_pickle=False) for file in manifest["files"]
        }, manifest
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _arrays_of(graph: Graph) -> Arrays:
    arrays = {name: value for name, value in vars(graph).items() if isinstance(value, np.ndarray)}
    arrays |= {"term_blob": graph.terms.blob, "term_offsets": graph.terms.offsets}
    arrays |= {"label_blob": graph.labels.blob, "label_offsets": graph.labels.offsets}
    return arrays


def difference(theirs: Any, ours: dict[str, Any]) -> str:
    """The first thing in which two fingerprints differ."""
    for key, value in ours.items():
        if key == "inputs" and isinstance(theirs, dict) and theirs.get(key) != value:
            return "the inputs are others, or have changed since"
        if not isinstance(theirs, dict) or theirs.get(key) != value:
            return f"{key} was {theirs.get(key) if isinstance(theirs, dict) else '?'!r} and is {value!r}"
    return "it has other parameters"
