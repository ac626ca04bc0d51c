"""embed(): the whole flow on one screen."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pyke import __version__
from pyke.config import Config
from pyke.core import files, memory
from pyke.core.arrays import Matrix, Repellers
from pyke.core.compile import DECIDING, version
from pyke.core.progress import Progress
from pyke.embedding import store
from pyke.embedding.embedding import Embedding, load
from pyke.errors import EmptyGraph, Interrupted, OutputExists, PykeError, UsageError
from pyke.graph import batches, build
from pyke.graph.graph import Census, Graph
from pyke.pipeline import plan
from pyke.pipeline.checkpoints import Checkpoints, difference
from pyke.pipeline.plan import Plan, Sizes
from pyke.read import find, objects, tokenize
from pyke.read.objects import Inputs, Source
from pyke.simulation import anneal
from pyke.springs import repellers
from pyke.springs.similarity import similarity
from pyke.springs.strongest import by_rows, strongest_springs

SAMPLE_BYTES = 1_000_000_000  # of text, read for a plan
NO_CHECKPOINTS = Checkpoints(None, {}, 0, False)
TYPICAL_RATIO = 12  # text to compressed text


@dataclass(frozen=True)
class Stage:
    """What a stage took."""

    name: str
    seconds: float
    peak_bytes: int


class Run:
    """One run from a source (None: from a graph that is there already) to an embedding: read → ids → springs → repellers → simulation."""

    def __init__(
        self,
        inputs: Source | None,
        config: Config,
        progress: Progress | None = None,
        share: float = 1.0,
    ) -> None:
        self.config = config
        self.progress = progress or Progress()
        self.share = share  # the part of each input to read: less than all for a plan
        self.sizes = Sizes()
        self.stages: list[Stage] = []
        self.similarity = similarity(config.similarity)
        found = None if inputs is None else objects.rows_or_paths(inputs)
        self.rows = found if isinstance(found, objects.Rows) else None
        self.documents = (
            find.find_documents(found, config.format) if isinstance(found, list) else []
        )
        self.passed_over = find.count_skipped_files(found) if isinstance(found, list) else 0

    def embed(self, checkpoints: Checkpoints = NO_CHECKPOINTS) -> Embedding:
        """Runs every stage that no checkpoint has the result of."""
        return self.embed_graph(checkpoints.load_graph() or self.read(), checkpoints)

    def embed_graph(self, graph: Graph, checkpoints: Checkpoints = NO_CHECKPOINTS) -> Embedding:
        """From a graph on, wherever it comes from."""
        checkpoints.save_graph(graph)
        forces = checkpoints.load_springs() or self.find_forces(graph)
        self._require("simulation", particles=forces[0].rows, springs=len(forces[0].columns))
        checkpoints.save_springs(*forces)

        def keep(state: anneal.State) -> None:
            checkpoints.save_graph(graph, now=True)
            checkpoints.save_springs(*forces, now=True)
            checkpoints.save_state(state)

        with self.stage("simulation", anneal.iterations(self.config), "iterations"):
            rest = anneal.simulate(
                *forces, self.config, self.progress, checkpoints.load_state(), keep
            )
            vectors = np.ascontiguousarray(
                rest.positions[: len(graph.terms), : self.config.dimensions]
            )
        return self._embedding(graph, forces[0], rest, vectors)

    def read(self, keep_all_terms: bool = False) -> Graph:
        """A source → the set of triples over term ids; terms that no counted triple has are no part of it, unless they are to be kept."""
        self._require("reading")
        total = (
            self.rows.count
            if self.rows
            else int(self.share * sum(document.size for document in self.documents)) or None
        )
        with self.stage("reading", total, "rows" if self.rows else "bytes"):
            census = Census(files_passed_over=self.passed_over)
            collector = build.Collector()
            for batch in self._batches(census):
                collector.add(batch)
                self._require("reading", **collector.sizes)
            graph = collector.finish(self.config, census, keep_all_terms)
        self.sizes = replace(self.sizes, triples=len(graph), terms=len(graph.terms))
        return graph

    def _batches(self, census: Census) -> Iterator[batches.Batch]:
        if self.rows:
            return objects.read_batches(self.rows, self.config, census, self.progress.advance)
        return tokenize.read_batches(self.documents, self.config, census, self.progress, self.share)

    def find_forces(self, graph: Graph) -> tuple[Matrix, Repellers]:
        """Who attracts whom, and who repels whom; an error if there is nobody."""
        if not len(graph):
            raise EmptyGraph(
                f"nothing to embed in {', '.join(self.names) or 'the graph'}: {_why_empty(graph.census)}"
            )
        self._require(
            "springs", triples=len(graph), terms=len(graph.terms), pairs=len(graph)
        )  # there are hardly fewer
        with self.stage("springs"):
            pairs = self.similarity(graph, self.config.threads, None)
            self._require("springs", pairs=len(pairs.first), particles=pairs.particles)
            similar = by_rows(pairs, self.config.threads)
            del pairs
            attracting = strongest_springs(similar, self.config.k, self.config.threads)
        self._require("repellers", springs=len(attracting.columns))
        with self.stage("repellers"):
            repelling = repellers.draw_repellers(
                similar, self.config.repellers, self.config.seed, self.config.threads
            )
        return attracting, repelling

    @property
    def names(self) -> list[str]:
        """What is read."""
        return [self.rows.name] if self.rows else [document.name for document in self.documents]

    def fingerprint(self) -> dict[str, Any]:
        """All that decides the result."""
        inputs = [
            [doc.name, doc.size, 0 if doc.name == "-" else os.stat(doc.name).st_mtime_ns]
            for doc in self.documents
        ]
        return {
            "program": __version__,
            "code": version(DECIDING),
            **self.config.effective(),
            "inputs": inputs,
        }

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[None]:
        """Announces a stage and measures it."""
        self.progress.stage(name, total, unit)
        began = time.perf_counter()
        with memory.Watch() as watch:
            yield
        self.stages.append(Stage(name, time.perf_counter() - began, watch.peak))

    def _require(self, stage: str, **counts: int) -> None:
        """Refuses to go on if a stage will not fit into the memory allowed, as far as counts are known."""
        self.sizes = replace(self.sizes, **counts)
        plan.require(stage, self.sizes, self.config)

    def _embedding(
        self, graph: Graph, attracting: Matrix, rest: anneal.Rest, vectors: np.ndarray[Any, Any]
    ) -> Embedding:
        manifest = {
            "program": __version__,
            "config": self.config.as_dict(),
            "inputs": self.names,
            "census": graph.census.as_dict(),
            "particles": attracting.rows,
            "springs": len(attracting.columns),
            "stop_reason": rest.reason,
            "history": rest.history_as_dicts(),
            "stages": [asdict(stage) for stage in self.stages],
        }
        return Embedding(
            vectors,
            graph.terms,
            graph.types,
            graph.triples(),
            graph.labels,
            graph.labelled,
            manifest,
        )


def embed(
    source: Source, *, preset: str = "default", progress: Progress | None = None, **parameters: Any
) -> Embedding:
    """Embeds a graph: RDF files, or what a program holds already. The same triples in the same order give the same vectors.

    Parameters
    ----------
    source : a path, a glob, a directory, or a list of these; an rdflib Graph or Dataset; a DataFrame of pandas or polars, a Table of pyarrow
        or an array of strings with three columns, written as in a TSV file (`<iri>` or a bare name, `_:blank`, `"literal"`); or
        `(ids, terms)`: an (n, 3) array of positions in a list of strings.
    preset : "default" or "paper".
    progress : told how it goes.
    **parameters : any field of `pyke.Config`, for example dimensions=50, k=45, seed=0, similarity="ppmi".

    Examples
    --------
    >>> import pyke
    >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
    >>> len(e.nearest("http://example.com/father#anna", k=3))
    3
    """
    run = Run(source, Config.preset(preset, **parameters), progress)
    if run.rows and (run.config.format or run.config.base):
        raise UsageError(f"format and base are for files, not for {run.rows.name}")
    return run.embed()


def embed_to(
    output: str | os.PathLike[str],
    inputs: Inputs,
    config: Config,
    *,
    force: bool = False,
    resume: bool = False,
    progress: Progress | None = None,
) -> Embedding:
    """Embeds into a directory, keeping checkpoints beside it until it is written."""
    target = Path(output).resolve()
    if not resume:
        files.check_output(target, force)  # before anything is read
    run = Run(inputs, config, progress)
    if resume and (run.rows or any(document.name == "-" for document in run.documents)):
        raise UsageError(
            "what is in no file cannot be told from what it was before: save it to a file to resume"
        )
    fingerprint = run.fingerprint()
    if resume:
        if not force and (finished := _finished(target, fingerprint)):
            run.progress.note(f"{output} is finished: there is nothing to go on with.")
            return finished
        files.check_output(target, force)
    with files.work_directory(target) as work:
        if not resume and (work / "positions").exists():
            run.progress.note(
                "Starting anew: the checkpoint of an earlier run is given up (--resume would have gone on from it)."
            )
        try:
            embedding = run.embed(Checkpoints(work, fingerprint, config.checkpoint_seconds, resume))
        except Interrupted as stopped:
            raise Interrupted(
                stopped.signal_number,
                "The same command with --resume goes on from the last checkpoint.",
            ) from None
        embedding.manifest["fingerprint"] = fingerprint
        with run.stage("writing"):
            embedding.save(target, force)
    embedding.manifest["stages"] = [asdict(stage) for stage in run.stages]
    return embedding


def _finished(target: Path, fingerprint: dict[str, Any]) -> Embedding | None:
    """The embedding in a directory, if it is sound and what a run with this fingerprint ends with; OutputExists if it is another run's."""
    wanted = json.loads(json.dumps(fingerprint))
    try:
        found = load(target)
        if found.manifest.get("fingerprint") == wanted:
            store.verify(target)
            return found
    except PykeError:
        return None
    if isinstance(made := found.manifest.get("fingerprint"), dict):
        raise OutputExists(
            f"{target} is finished, but of another run: {difference(made, wanted)}. --force replaces it"
        )
    return None


def read_census(inputs: Inputs, config: Config, progress: Progress | None = None) -> Census:
    """Counts what is in some files, without embedding; even if that is nothing."""
    return Run(inputs, config, progress).read().census


def make_plan(
    inputs: Inputs,
    config: Config,
    progress: Progress | None = None,
    sample_bytes: int = SAMPLE_BYTES,
) -> Plan:
    """What a run would take. Small inputs are counted to the end; of large ones a part, and a third of it, to see how counts grow."""
    found = Run(inputs, config).documents
    if any(not os.path.isfile(document.name) for document in found):
        raise UsageError(
            "standard input or a pipe can be read only once: save it to a file to plan a run"
        )
    total = sum(document.size for document in found)
    text = sum(document.size * (TYPICAL_RATIO if document.compression else 1) for document in found)
    share = min(1.0, sample_bytes / max(1, text))
    unlimited = replace(config, memory=None)
    run, read = _sample(Run(inputs, unlimited, progress, share))
    sizes = run.sizes
    if read < total:
        smaller, smaller_read = _sample(Run(inputs, unlimited, progress, share / 3))
        if smaller_read < read:
            sizes = sizes.grown(smaller.sizes, read / smaller_read, total / read)
    seconds = {stage.name: stage.seconds * total / read for stage in run.stages}
    return plan.plan(sizes, config, seconds, anneal.iterations(config), read / total)


def _sample(run: Run) -> tuple[Run, int]:
    """Counts a part of a graph; the run that knows the counts, and the bytes that it read."""
    graph = run.read()
    run.find_forces(graph)
    return run, graph.census.bytes


def _why_empty(census: Census) -> str:
    if census.statements == 0:
        return f"it has no triples{f', and {census.errors:,} lines could not be read' if census.errors else ''}"
    return f"its {census.literals:,} triples have literals as objects, which are no terms. --count-literals lets them count for their subjects."
