"""Saved results of the stages of a run, from which an interrupted run resumes.

A damaged checkpoint is ignored, as if it had not been saved. Everything that kernels index with is
checked, because they check nothing. The values themselves are trusted if their checksums match.
"""

from __future__ import annotations

import copy
import io
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyke.config import MAX_CLUSTERS, Config
from pyke.core.arrays import BLOCK_ROWS, Floats, Ids, Matrix, Repellers
from pyke.core.checks import check, check_finite, check_ids, check_offsets
from pyke.core.files import Content as FileContent
from pyke.core.files import remove, write_directory
from pyke.core.parallel import Background
from pyke.core.scratch import Scratch
from pyke.core.stored import MANIFEST, Kind, StoredFile, StoredRows, read_manifest
from pyke.errors import DamagedStore, OutputExists, UsageError, WriteError
from pyke.graph.check import check_graph
from pyke.graph.features import Features
from pyke.graph.graph import Census, Graph, Problem
from pyke.graph.terms import Terms, Texts
from pyke.simulation.anneal import Iteration, State, row_stride

Arrays = dict[str, NDArray[Any]]
Content = TypeVar("Content")
VERSION = 1
READING = "reading-"  # begins the names of the parts, with a number
GRAPH, CLUSTERS = "graph", "clusters"  # directories
FORCES, POSITIONS = "springs", "positions"
FIRST = "first_"  # begins the names of those of the first simulation

_IDS: Kind = (("<i4",), None)
_OFFSETS: Kind = (("<i8",), None)
_BYTES: Kind = (("|u1",), None)
_ARRAYS: dict[str, dict[str, Kind]] = {  # of each checkpoint
    GRAPH: {
        "subjects": _IDS,
        "predicate_positions": _IDS,
        "objects": _IDS,
        "predicates": _IDS,
        "types": (("<i4",), 2),
        "labelled": _IDS,
        "term_blob": _BYTES,
        "term_offsets": _OFFSETS,
        "label_blob": _BYTES,
        "label_offsets": _OFFSETS,
        "features": (("<i4",), 2),
        "feature_keys": (("<u8",), None),
        "feature_bins": (("<u8",), 2),
    },
    FORCES: {
        "offsets": _OFFSETS,
        "columns": _IDS,
        "values": (("<f4",), None),
        "pool_offsets": _OFFSETS,
        "pool": _IDS,
        "members": (("<u2", "<u4"), 0),
        "counts": (("<u2",), None),
    },
    CLUSTERS: {"clusters": _IDS},
    POSITIONS: {"positions": (("<f4",), 0)},
}
_FEATURES = ("features", "feature_keys", "feature_bins")
_ROWS_AT_ONCE = BLOCK_ROWS << 8
_BYTES_AT_ONCE = 1 << 25  # of positions


class Checkpoints:
    """Checkpoints of one run. A fingerprint of everything that determines the result identifies it.

    Without a directory, nothing is saved and nothing is found. `note` receives a warning if the
    disk is full: the run continues without a checkpoint.

    A thread writes graph, clusters and forces, which do not change, beside the next stages. As a
    context manager, this waits for it.
    """

    def __init__(
        self,
        directory: Path | None,
        fingerprint: dict[str, Any],
        every: float,
        resume: bool,
        note: Callable[[str], None] | None = None,
    ) -> None:
        self._directory = directory
        self._fingerprint = json.loads(json.dumps(fingerprint))
        self._every = every  # seconds between checkpoints
        self._note = note
        self._last = time.monotonic()
        self._saved: set[str] = set()  # graph, clusters and forces do not change once saved
        self.can_resume = directory is not None
        self._prefix = ""  # of the names of forces and positions
        self._background = Background()
        if directory and not resume:
            for name in (*_ARRAYS, FIRST + FORCES, FIRST + POSITIONS):
                remove(directory / name)
            self.remove_parts(READING, 0)

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._background.wait(silent=error is not None)

    def remove_parts(self, name: str, first: int) -> None:
        """Remove parts of a checkpoint, from this number."""
        for path in self._directory.glob(f"{name}[0-9]*") if self._directory else ():
            if int(path.name.removeprefix(name)) >= first:
                remove(path)

    def before_clusters(self) -> Checkpoints:
        """Checkpoints of the simulation that the clusters come from: forces and positions."""
        earlier = copy.copy(self)
        earlier._prefix = FIRST
        return earlier

    @classmethod
    def not_to_resume(cls, directory: Path) -> Checkpoints:
        """A temporary place for what leaves memory; no run resumes from it."""
        made = cls(directory, {}, math.inf, resume=False)
        made.can_resume = False
        return made

    @property
    def scratch(self) -> Scratch:
        """Where scratch files go: beside the output, if there is one."""
        return Scratch(self._directory)

    # -- graph --------------------------------------------------------------------------------

    def save_graph(self, graph: Graph, now: bool = False) -> None:
        """Save the graph if a checkpoint is due, or `now`."""
        if GRAPH not in self._saved:
            self.save(GRAPH, _arrays_of(graph), {"census": asdict(graph.census)}, now)

    def has(self, name: str) -> bool:
        """Whether a checkpoint is saved."""
        return name in self._saved

    def load_graph(self) -> Graph | None:
        """The saved graph."""
        return self.load(GRAPH, _ARRAYS[GRAPH], _graph_of)

    # -- clusters -----------------------------------------------------------------------------

    def save_clusters(self, clusters: Ids, now: bool = False) -> None:
        """Save the clusters if a checkpoint is due, or `now`. They end the first simulation."""
        if len(clusters) and CLUSTERS not in self._saved:
            self.save(CLUSTERS, {"clusters": clusters}, {}, now)

    def load_clusters(self, terms: int) -> Ids | None:
        """The saved clusters of this number of terms."""

        def clusters_of(arrays: Arrays, _: dict[str, Any]) -> Ids:
            clusters: Ids = arrays["clusters"]
            check(len(clusters) == terms, "not one cluster per term")
            check_ids(clusters, 0, MAX_CLUSTERS)
            return clusters

        return self.load(CLUSTERS, _ARRAYS[CLUSTERS], clusters_of)

    # -- springs and repellers ----------------------------------------------------------------

    def save_forces(self, springs: Matrix, repellers: Repellers, now: bool = False) -> None:
        """Save springs and repellers if a checkpoint is due, or `now`."""
        if self._prefix + FORCES not in self._saved:
            self.save(self._prefix + FORCES, {**vars(springs), **vars(repellers)}, {}, now)

    def load_forces(self, terms: int) -> tuple[Matrix, Repellers] | None:
        """The saved springs and repellers of a graph with this number of terms."""

        def forces_of(arrays: Arrays, _: dict[str, Any]) -> tuple[Matrix, Repellers]:
            springs = Matrix(arrays.pop("offsets"), arrays.pop("columns"), arrays.pop("values"))
            repellers = Repellers(**arrays)
            check(springs.rows >= terms, "there are fewer particles than terms")
            check_springs(springs)
            check_repellers(repellers, springs.rows)
            return springs, repellers

        return self.load(self._prefix + FORCES, _ARRAYS[FORCES], forces_of)

    # -- positions ----------------------------------------------------------------------------

    def save_state(self, state: State) -> None:
        """Save positions; the simulation decides when."""
        history = [asdict(iteration) for iteration in state.history]
        positions = state.positions
        arrays = {
            "positions": positions
            if isinstance(positions, np.ndarray)
            else _as_file(positions.shape, positions.blocks())
        }
        self.save(self._prefix + POSITIONS, arrays, {"history": history}, now=True)

    def load_state(self, particles: int, config: Config) -> State | None:
        """The saved positions of this number of particles."""

        def state_of(arrays: Arrays, extra: dict[str, Any]) -> State:
            positions: Any = arrays["positions"]
            check(positions.shape == (particles, row_stride(config.dimensions)), "wrong shape")
            rows = max(1, _BYTES_AT_ONCE // (4 * row_stride(config.dimensions)))
            for begin in range(0, particles, rows):
                check_finite(positions[begin : begin + rows])
            history = tuple(Iteration(**iteration) for iteration in extra["history"])
            check_finite(np.array([list(vars(one).values()) for one in history], np.float64))
            return State(positions, history)

        return self.load(self._prefix + POSITIONS, _ARRAYS[POSITIONS], state_of)

    # -----------------------------------------------------------------------------------------

    def save(
        self, name: str, arrays: Mapping[str, FileContent], extra: dict[str, Any], now: bool
    ) -> None:
        """Save arrays that do not change: `now`, or beside the next stages if it is time to."""
        if self._directory is None or not (now or time.monotonic() - self._last >= self._every):
            return
        self._background.wait()
        if name in self._saved and name in (GRAPH, CLUSTERS, self._prefix + FORCES):
            return  # by the thread
        self._last = time.monotonic()
        target, save = self._directory / name, partial(self._write, name, arrays, extra)
        if now:
            save(target)
        else:
            self._background.start(partial(save, target))

    def _write(
        self, name: str, arrays: Mapping[str, FileContent], extra: dict[str, Any], target: Path
    ) -> None:
        manifest = {"checkpoint": VERSION, "fingerprint": self._fingerprint, **extra}
        contents = {f"{key}.npy": array for key, array in arrays.items()}
        try:
            write_directory(target, contents, manifest, force=True)
            self._saved.add(name)
            if name == GRAPH:
                self.remove_parts(READING, 0)
            if name == CLUSTERS:  # those of the first simulation are not needed any more
                for other in (FORCES, POSITIONS):
                    remove(target.with_name(FIRST + other))
        except (WriteError, OutputExists) as error:
            if self._note:
                self._note(f"No checkpoint: {str(error).rstrip('.')}. The run continues.")
            self._note = None  # one warning is enough

    def load(
        self,
        name: str,
        kinds: dict[str, Kind],
        content_of: Callable[[Arrays, dict[str, Any]], Content],
    ) -> Content | None:
        """A checkpoint of this run, if there is a valid one. One of another run is an error."""
        if self._directory is None or not (self._directory / name / MANIFEST).is_file():
            return None
        path = self._directory / name
        try:
            arrays, manifest = _read(path, kinds)
            if manifest["fingerprint"] == self._fingerprint:
                content = content_of(arrays, manifest)
                self._saved.add(name)
                return content
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            remove(path)
            return None
        changed = difference(manifest["fingerprint"], self._fingerprint)
        raise UsageError(
            f"the checkpoint in {self._directory} belongs to another run: {changed}. "
            "Use the same inputs and parameters, or omit `resume=True` to start over."
        )


NO_CHECKPOINTS = Checkpoints(None, {}, 0, False)


def _as_file(shape: tuple[int, int], rows: Iterator[Floats]) -> Iterator[bytes | memoryview]:
    """Rows of float32 in NumPy's format, some at a time."""
    header = io.BytesIO()
    entries = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, entries)
    yield header.getvalue()
    for block in rows:
        yield block.data.cast("B")


def _read(path: Path, kinds: dict[str, Kind]) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and the manifest of a checkpoint; checksums, types and shapes are checked."""
    manifest = read_manifest(path)
    if manifest["checkpoint"] != VERSION or manifest["files"].keys() != {f"{x}.npy" for x in kinds}:
        raise DamagedStore(f"{path} is not a checkpoint of this version")
    arrays = {}
    for name, kind in kinds.items():
        file = StoredFile.open(path, f"{name}.npy", manifest)
        file.check_sum(always=True)
        # Kernels take writable arrays; positions are copied to where the simulation holds them.
        rows: Any = StoredRows(file, kind)
        arrays[name] = rows if name == "positions" else rows[:]
    return arrays, manifest


def census_of(extra: dict[str, Any]) -> Census:
    """The census in a checkpoint."""
    counts = extra["census"]
    problems = [Problem(str(one["place"]), str(one["message"])) for one in counts.pop("problems")]
    check(all(type(count) is int for count in counts.values()), "counts are not numbers")
    return Census(**counts, problems=problems)


def _graph_of(arrays: Arrays, extra: dict[str, Any]) -> Graph:
    """The graph in a checkpoint."""
    graph = Graph(
        terms=Terms(arrays.pop("term_blob"), arrays.pop("term_offsets")),
        labels=Texts(arrays.pop("label_blob"), arrays.pop("label_offsets")),
        census=census_of(extra),
        features=Features(*(arrays.pop(name) for name in _FEATURES)),
        **arrays,
    )
    check_graph(graph)
    return graph


def check_springs(springs: Matrix) -> None:
    """Raise ValueError unless offsets and columns are in range and all σ are positive."""
    check(len(springs.columns) == len(springs.values), "columns and values differ in length")
    check_offsets(springs.offsets, len(springs.columns))
    check_ids(springs.columns, 0, springs.rows)
    check_finite(springs.values)
    check(springs.values.min(initial=1) > 0, "a spring is not positive")


def check_repellers(repellers: Repellers, particles: int) -> None:
    """Raise ValueError unless all repellers of this number of particles are in range."""
    members, counts, offsets = repellers.members, repellers.counts, repellers.pool_offsets
    check(len(members) == len(counts) == particles, "not one row of repellers per particle")
    check(counts.max(initial=0) <= members.shape[1], "more repellers than columns")
    check(len(offsets) == -(-particles // BLOCK_ROWS) + 1, "not one pool per block")
    check_offsets(offsets, len(repellers.pool))
    check_ids(repellers.pool, 0, particles)
    pool_sizes = np.diff(offsets)
    for begin in range(0, particles, _ROWS_AT_ONCE):
        rows = np.arange(begin, min(begin + _ROWS_AT_ONCE, particles))
        counted = np.arange(members.shape[1]) < counts[rows, None]
        outside = members[rows] >= pool_sizes[rows // BLOCK_ROWS, None]
        check(not (counted & outside).any(), "a repeller is not in its pool")


def _arrays_of(graph: Graph) -> Arrays:
    arrays = {name: value for name, value in vars(graph).items() if isinstance(value, np.ndarray)}
    arrays |= {"term_blob": graph.terms.blob, "term_offsets": graph.terms.offsets}
    arrays |= {"label_blob": graph.labels.blob, "label_offsets": graph.labels.offsets}
    features = (graph.features.rows, graph.features.keys, graph.features.bins)
    arrays |= dict(zip(_FEATURES, features, strict=True))
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
