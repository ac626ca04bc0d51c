"""Compare PYKE with other methods on one graph: both protocols, purity, seconds and memory.

Each finished row is stored, so a stopped comparison can be resumed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pyke import __version__
from pyke.config import Config
from pyke.core.arrays import Matrix
from pyke.core.files import temporary_directory, write_directory, write_file
from pyke.core.progress import Progress
from pyke.core.stored import file_hash
from pyke.errors import Interrupted, MissingLibrary, OutputExists, UsageError
from pyke.evaluate import rivals
from pyke.evaluate.measures import (
    HELD_OUT,
    IN_GRAPH,
    MEASURES,
    Evaluation,
    Measures,
    measure_held_out,
    measure_in_graph,
    read_typed_graph,
)
from pyke.evaluate.rivals.process import MethodFailed, Request, Result, run_method
from pyke.evaluate.rivals.registry import Method
from pyke.evaluate.type_prediction import evenly_spaced, score_classes
from pyke.graph.graph import Graph
from pyke.pipeline import Run
from pyke.pipeline.checkpoints import Checkpoints
from pyke.read.objects import Inputs
from pyke.use.types.held_out import split
from pyke.use.types.votes import TypeTable, usable_mu

OK, TIME_LIMIT, FAILED = "ok", "time limit", "failed"


@dataclass(frozen=True)
class Row:
    """Result of one method.

    A method that predicts types without vectors has one score instead of a score for each number
    of neighbours (μ), and no purity.
    """

    method: str
    status: str
    seconds: float | None = None  # from the graph in memory, with all types, to its vectors
    peak_bytes: int | None = None  # of the process
    in_graph: dict[str, Any] | None = None
    held_out: dict[str, Any] | None = None
    reason: str = ""
    limit: float | None = None  # the time limit in seconds, if the method exceeded it
    chosen: dict[str, Any] | None = None  # settings that the method chose, if it chooses any
    choice_seconds: float | None = None  # of the choice; they are not part of `seconds`


@dataclass(frozen=True)
class Comparison:
    """All rows, in the order in which the methods were given."""

    graph: str
    settings: dict[str, Any]
    rows: tuple[Row, ...]

    def as_dict(self) -> dict[str, Any]:
        """The comparison as a dictionary for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Setup:
    """How to compare.

    Parameters
    ----------
    methods : names of methods; all by default.
    fraction : fraction of the typed subjects whose types are withheld.
    time_limit : maximum seconds for each embedding. A method that chooses settings takes about a
        third of it for the choice.
    measures : what to measure.
    """

    methods: Sequence[str] | None = None
    fraction: float = 0.2
    time_limit: float = 1800.0
    measures: Measures = MEASURES


Contest = Setup  # the former name


def compare(
    inputs: Inputs,
    config: Config | None = None,
    setup: Setup | None = None,
    rows_file: Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Run several methods on a graph, each in its own process, and score their vectors or types.

    Parameters
    ----------
    inputs : the graph, in files.
    config : settings of PYKE; all methods share its dimensions, seed and threads.
    setup : which methods to compare, and how.
    rows_file : a JSON file. Its rows are not computed again, and each new row is added at once.
    force : replace `rows_file`.
    progress : receives progress.

    Examples
    --------
    >>> from pyke.config import Config
    >>> from pyke.evaluate import Measures
    >>> from pyke.evaluate.compare import Setup, compare
    >>> setup = Setup(["random"], 0.4, 60.0, Measures(mu=[1], purity=False))
    >>> [row.method for row in compare("examples/father.ttl", Config(dimensions=4), setup).rows]
    ['random']
    """
    config, setup, progress = config or Config(), setup or Setup(), progress or Progress()
    methods = list(dict.fromkeys(rivals.names() if setup.methods is None else setup.methods))
    if not methods:
        raise UsageError("`methods` is empty; name at least one method")
    require_libraries(methods)
    settings = _settings(inputs, config, setup)
    rows = {} if rows_file is None or force else _stored_rows(rows_file, settings)
    graph = read_typed_graph(inputs, config, progress)
    title = ", ".join(Path(document.name).name for document in Run(inputs, config).documents)
    with temporary_directory() as folder:
        runner = _Runner(graph, config, setup, folder, progress)
        for name in methods:
            if name not in rows or _deserves_more_time(rows[name], setup.time_limit):
                try:
                    rows[name] = runner.run(name)
                except Interrupted as stopped:
                    advice = "Finished rows are stored; run the same command again to resume."
                    raise Interrupted(stopped.signal_number, advice if rows_file else "") from None
            done = tuple(rows[method] for method in methods if method in rows)
            if rows_file is not None:  # store each row before the next method starts
                others = tuple(row for method, row in rows.items() if method not in methods)
                content = Comparison(title, settings, done + others).as_dict()
                text = json.dumps(content, indent=1, ensure_ascii=False)
                # A file name that is not UTF-8 has lone surrogates: JSON keeps them as \udcXX.
                write_file(rows_file, text.encode("utf-8", "backslashreplace"))
    return Comparison(title, settings, done)


def _deserves_more_time(row: Row, time_limit: float) -> bool:
    """Whether a method exceeded a lower time limit."""
    return row.status == TIME_LIMIT and (row.limit or 0) < time_limit


def require_libraries(methods: Iterable[str]) -> None:
    """Raise an error if a method needs a library that is not installed, before any method runs."""
    for chosen in map(rivals.method, methods):
        if chosen.library and importlib.util.find_spec(chosen.library) is None:
            purpose = f"{chosen.title}, one of the `methods`,"
            raise MissingLibrary(chosen.library, purpose, rivals.extra_of(chosen.library))


class _Runner:
    """Runs and scores methods. It stores the graph of each protocol on disk."""

    def __init__(
        self, graph: Graph, config: Config, setup: Setup, folder: Path, progress: Progress
    ) -> None:
        self.graph, self.config, self.setup = graph, config, setup
        self.folder, self.progress = folder, progress
        self.parts = split(graph, setup.fraction, config.seed, config.type_predicate)
        usable_mu(setup.measures.mu, len(self.parts.known))
        tables = {IN_GRAPH: TypeTable.of(graph.types), HELD_OUT: self.parts.asked}
        most = setup.measures.most
        self.asked = {name: evenly_spaced(table, most) for name, table in tables.items()}
        for name, which in ((IN_GRAPH, graph), (HELD_OUT, self.parts.graph)):
            Checkpoints(folder / name, {}, 0, resume=False).save_graph(which, now=True)
            subjects = self.asked[name].subjects
            write_directory(folder / f"{name}-asked", {"subjects.npy": subjects[subjects >= 0]}, {})

    def run(self, name: str) -> Row:
        """Run a method by both protocols. Keep what was done before a time limit or a failure."""
        rival, done = rivals.method(name), Row(name, OK)
        try:
            if isinstance(rival, Method) and rival.choose:
                choice = self._choose(name)
                assert isinstance(choice.found, dict)
                done = replace(done, chosen=choice.found, choice_seconds=choice.seconds)
            if isinstance(rival, Method) or rival.in_graph:
                found = self._run(name, IN_GRAPH, done.chosen)
                self.progress.note(f"{rival.title}: {found.seconds:.1f} s")
                done = replace(done, seconds=found.seconds, peak_bytes=found.peak_bytes)
                done = replace(done, in_graph=self._score(found, IN_GRAPH))
            found = self._run(name, HELD_OUT, done.chosen)
            if done.seconds is None:
                done = replace(done, seconds=found.seconds, peak_bytes=found.peak_bytes)
            return replace(done, held_out=self._score(found, HELD_OUT))
        except subprocess.TimeoutExpired:
            self.progress.note(f"{rival.title}: stopped at the time limit")
            return replace(done, status=TIME_LIMIT, limit=self.setup.time_limit)
        except MethodFailed as error:
            self.progress.note(f"{rival.title} failed: {error}")
            return replace(done, status=FAILED, reason=str(error))

    def _choose(self, name: str) -> Result:
        """Let a method choose settings on the graph without the withheld types."""
        return self._start(replace(self._request(name, HELD_OUT), choose=True))

    def _run(self, name: str, protocol: str, settings: dict[str, Any] | None) -> Result:
        """Run a method on the graph of a protocol."""
        return self._start(replace(self._request(name, protocol), settings=settings or {}))

    def _request(self, name: str, protocol: str) -> Request:
        return Request(
            name,
            str(self.folder / protocol),
            self.config.as_dict(),
            self.setup.time_limit,
            subjects=str(self.folder / f"{protocol}-asked" / "subjects.npy"),
        )

    def _start(self, request: Request) -> Result:
        self.progress.stage(request.method, unit="s")
        return run_method(request, self.progress)

    def _score(self, result: Result, protocol: str) -> dict[str, Any]:
        """Scores of vectors or of predicted types."""
        found, measures = result.found, self.setup.measures
        if isinstance(found, Matrix):
            return {"types": asdict(score_classes(found, self.asked[protocol])), "purity": None}
        vectors = np.asarray(found)
        if protocol == IN_GRAPH:
            return _scores(measure_in_graph(vectors, self.graph.types, measures, self.progress))
        return _scores(measure_held_out(vectors, self.parts, measures, self.progress))


def _scores(evaluation: Evaluation) -> dict[str, Any]:
    """The scores of the vectors in an evaluation."""
    found = evaluation.as_dict()
    return {"types": found["types"], "purity": found["purity"]}


def _settings(inputs: Inputs, config: Config, setup: Setup) -> dict[str, Any]:
    """Everything that the rows of one comparison have in common."""
    documents = Run(inputs, config).documents
    if any(not os.path.isfile(document.name) for document in documents):
        raise UsageError(
            "standard input or a pipe can be read only once; save it to a file to compare"
        )
    measures = setup.measures
    settings: dict[str, Any] = {
        "inputs": [file_hash(Path(document.name)) for document in documents],
        "held_out": setup.fraction,
        "program": __version__,
        "threads": config.threads,
        "rivals": rivals.SETTINGS,
        "mu": list(measures.mu) if measures.mu else None,
        "purity": measures.purity,
        "exact": measures.exact,
        "subjects": measures.most,
        **config.effective(),
    }
    stored: dict[str, Any] = json.loads(json.dumps(settings))  # as it is read back from a file
    return stored


def _stored_rows(path: Path, settings: dict[str, Any]) -> dict[str, Row]:
    """The rows of an earlier comparison with the same settings."""
    if not os.path.exists(path):
        return {}
    try:
        found = json.loads(path.read_bytes())
        rows = {row["method"]: Row(**row) for row in found["rows"]}
        before = dict(found["settings"])
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputExists(
            f"{path} exists, but is not a comparison. Pass `force=True` to replace it."
        ) from None
    keys = {*before, *settings}
    changed = sorted(key for key in keys if before.get(key) != settings.get(key))
    if changed:
        raise OutputExists(
            f"{path} has a comparison with other settings ({', '.join(changed)}). "
            "Name another report, or pass `force=True` to replace it."
        )
    return {name: row for name, row in rows.items() if row.status != FAILED}
