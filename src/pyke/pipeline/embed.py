"""The algorithm: read → springs → repellers → simulation → embedding.

With `clusters`, a first simulation comes before: springs → repellers → first simulation → clusters.
The springs of the second one have coarse contexts besides, which need the clusters of the terms.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyke import __version__
from pyke.config import RDF_TYPE, Config
from pyke.core.arrays import Floats, Ids, Matrix, Repellers
from pyke.core.compile import VECTOR_KERNELS, version
from pyke.core.files import temporary_directory
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import DataError, EmptyGraph, Interrupted, UsageError
from pyke.graph.batches import Batch
from pyke.graph.features import NO_FEATURES, Features
from pyke.graph.graph import NO_CLUSTERS, Census, Graph
from pyke.pipeline.budget import Holding, holding_of, keeps_graph, sizes_of
from pyke.pipeline.checkpoints import NO_CHECKPOINTS, Checkpoints
from pyke.pipeline.held import HeldGraph
from pyke.pipeline.reading import Reading
from pyke.pipeline.stages import Stages
from pyke.read import find, objects, tokenize
from pyke.read.objects import Inputs, Source
from pyke.simulation import anneal
from pyke.springs.find import find_similarities
from pyke.springs.kmeans import clusters_of
from pyke.springs.repellers import draw_repellers
from pyke.springs.similarity import similarity
from pyke.springs.strongest import strongest_springs, symmetric_matrix


def embed(
    source: Source, *, preset: str = "default", progress: Progress | None = None, **parameters: Any
) -> Embedding:
    """Embed a graph from RDF files or from Python objects.

    The same triples in the same order give the same vectors.

    Parameters
    ----------
    source
        One of:

        - a path, a glob, a directory, or a list of these;
        - an rdflib Graph or Dataset;
        - a pandas or polars DataFrame, a pyarrow Table, or an array of strings, with three columns
          written as in a TSV file: `<iri>` or a bare name, `_:blank`, `"literal"`;
        - `(ids, terms)`: an (n, 3) array of positions in a list of strings.
    preset
        "default", "paper", "fast" or "clusters".
    progress
        Receives stages and iterations.
    **parameters
        Any field of `pyke.Config`, such as dimensions=50, k=45, seed=0, similarity="ppmi".

    Examples
    --------
    >>> import pyke
    >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
    >>> len(e.nearest("http://example.com/father#anna", k=3))
    3
    """
    run = Run(source, Config.preset(preset, **parameters), progress)
    if run.rows and (run.config.format or run.config.base):
        raise UsageError(f"`format` and `base` apply to files, not to {run.rows.name}")
    return run.embed_in_memory()


def embed_graph(graph: Graph, config: Config, progress: Progress | None = None) -> Embedding:
    """Embed a graph that has been read already.

    Examples
    --------
    >>> from pyke.config import Config
    >>> from pyke.pipeline import Run, embed_graph
    >>> config = Config(dimensions=10)
    >>> graph = Run("examples/father.ttl", config).read()
    >>> embed_graph(graph, config).vectors.shape == (len(graph.terms), 10)
    True
    """
    stages = Stages(config, progress)
    stages.sizes = sizes_of(graph)
    return _embed_graph(HeldGraph(graph), stages)


def _embed_graph(
    held: HeldGraph, stages: Stages, checkpoints: Checkpoints = NO_CHECKPOINTS
) -> Embedding:
    """Springs → repellers → simulation → embedding, except stages that checkpoints cover."""
    config = stages.config
    checkpoints.save_graph(held.graph)
    clusters: Ids = NO_CLUSTERS
    if config.clusters:
        known = checkpoints.load_clusters(held.terms)
        clusters = _find_clusters(held, stages, checkpoints) if known is None else known
        checkpoints.save_clusters(clusters)
    made = _simulate("simulation", held, clusters, stages, checkpoints)
    manifest = {
        "program": __version__,
        "config": config.as_dict(),
        "inputs": stages.inputs,
        "census": held.graph.census.as_dict(),
        "particles": stages.sizes.particles,
        "springs": stages.sizes.springs,
        "stop_reason": made.reason,
        "history": made.history,
        "stages": stages.as_dicts(),
    }
    return as_embedding(held.graph, made.vectors, manifest, clusters)


def find_clusters(graph: Graph, stages: Stages) -> Ids:
    """The cluster of each term, by a simulation with the springs of the graph alone."""
    return _find_clusters(HeldGraph(graph), stages, NO_CHECKPOINTS)


def _find_clusters(held: HeldGraph, stages: Stages, checkpoints: Checkpoints) -> Ids:
    config, earlier = stages.config, checkpoints.before_clusters()
    points = _simulate("first simulation", held, NO_CLUSTERS, stages, earlier).vectors
    stages.require("clusters")
    with stages.stage("clusters"):
        return clusters_of(points, config.clusters, config.seed, config.threads)


@dataclass(frozen=True)
class _Simulated:
    """The end of a simulation."""

    vectors: Floats  # of the terms
    history: list[dict[str, Any]]
    reason: str


def _simulate(
    name: str, held: HeldGraph, clusters: Ids, stages: Stages, checkpoints: Checkpoints
) -> _Simulated:
    """Springs → repellers → simulation."""
    config, terms = stages.config, held.terms
    known = checkpoints.load_forces(terms)
    springs, repellers = known or find_forces(held.graph, stages, clusters, held.put_on_disk)
    del known
    particles = springs.rows
    stages.require("simulation", particles=particles, springs=len(springs.columns))
    holding = holding_of(stages.sizes, config)
    if holding != Holding():
        stages.progress.note(f"To stay within `memory`, positions are held as: {holding.name}.")
    if not holding.graph_in_memory:
        held.put_on_disk()
    in_memory = holding.layout.springs_in_memory
    checkpoints.save_forces(springs, repellers, now=not in_memory)
    forces = anneal.Forces(springs, repellers, config, holding.layout, checkpoints.scratch)
    kept = [(springs, repellers)] if in_memory else []
    del springs, repellers

    def keep(state: anneal.State) -> None:
        held.save(now=True)
        checkpoints.save_clusters(clusters, now=True)
        for springs_and_repellers in kept:
            checkpoints.save_forces(*springs_and_repellers, now=True)
        checkpoints.save_state(state)

    saved = checkpoints.load_state(particles, config)
    to_keep = keep if checkpoints.can_resume else None
    with stages.stage(name, anneal.planned_iterations(config), "iterations"):
        result = anneal.simulate_forces(forces, config, stages.progress, saved, to_keep, terms)
    del forces
    kept.clear()
    vectors = result.vectors(terms, config.dimensions)
    return _Simulated(vectors, result.history_as_dicts(), result.reason)


def find_forces(
    graph: Graph,
    stages: Stages,
    clusters: Ids = NO_CLUSTERS,
    put_on_disk: Callable[[], None] | None = None,
) -> tuple[Matrix, Repellers]:
    """Springs (who attracts whom, how strongly) and repellers (who repels whom) of a graph.

    `put_on_disk` releases the memory of the graph, if the limit asks for it.
    """
    if not len(graph):
        where = ", ".join(stages.inputs) or "the graph"
        raise EmptyGraph(f"nothing to embed in {where}: {why_empty(graph.census)}")
    config = stages.config
    if not len(clusters):  # not twice
        _require_literals(graph, stages)
    # The number of pairs is not known yet; there are hardly fewer than triples.
    stages.require("springs", triples=len(graph), terms=len(graph.terms), pairs=len(graph))
    with stages.stage("springs"):
        pairs = find_similarities(graph, config, clusters)
        stages.require("springs", pairs=len(pairs.first), particles=pairs.particles)
        if put_on_disk and not keeps_graph(stages.sizes, config):
            del graph  # the last reference but that of the caller
            put_on_disk()
        similarities = symmetric_matrix(pairs, config.threads)
        del pairs  # releases memory before the next large arrays
        springs = strongest_springs(similarities, config.k, config.threads)
    stages.require("repellers", springs=len(springs.columns))
    with stages.stage("repellers"):
        repellers = draw_repellers(similarities, config.repellers, config.seed, config.threads)
    return springs, repellers


def as_embedding(
    graph: Graph, vectors: Floats, manifest: Mapping[str, Any], clusters: Ids
) -> Embedding:
    """The embedding of a graph: one vector for each of its terms."""
    return Embedding(
        vectors,
        graph.terms,
        graph.types,
        graph.triples(),
        graph.labels,
        graph.labelled,
        dict(manifest),
        clusters,
        graph.features,
    )


class Run:
    """A run on one source, which is opened and named but not read yet.

    Examples
    --------
    >>> from pyke.config import Config
    >>> from pyke.pipeline import Run
    >>> Run("examples/father.ttl", Config()).read().census.triples
    18
    """

    def __init__(
        self, source: Source, config: Config, progress: Progress | None = None, share: float = 1.0
    ) -> None:
        similarity(config.similarity)  # an unknown name is an error before anything is read
        found = objects.rows_or_paths(source)
        self.rows = found if isinstance(found, objects.Rows) else None
        paths = found if isinstance(found, list) else []
        self.documents = [] if self.rows else find.find_documents(paths, config.format)
        self.passed_over = find.count_skipped_files(paths)
        names = [self.rows.name] if self.rows else [document.name for document in self.documents]
        self.config = config
        self.stages = Stages(config, progress, names)
        self.share = share  # the fraction of each document to read; a plan reads a sample

    def embed(
        self, checkpoints: Checkpoints = NO_CHECKPOINTS, known: list[Graph] | None = None
    ) -> Embedding:
        """Run all stages, except those whose result is in a checkpoint.

        `known` has the graph if it has been read; it is removed from there, so that it can leave
        memory.
        """
        graph = known.pop() if known else checkpoints.load_graph()
        graph = graph or self.read(checkpoints=checkpoints)
        held = HeldGraph(graph, checkpoints)
        del graph  # the last reference but that of `held`
        _require_types(held.graph, self.stages)
        return _embed_graph(held, self.stages, checkpoints)

    def embed_in_memory(self) -> Embedding:
        """Run all stages without an output; a limit of memory needs a temporary directory."""
        if self.config.memory is None:
            return self.embed()
        with temporary_directory() as directory:
            return self.embed(Checkpoints.not_to_resume(directory))

    def read(
        self,
        keep_all_terms: bool = False,
        known: Features = NO_FEATURES,
        checkpoints: Checkpoints = NO_CHECKPOINTS,
    ) -> Graph:
        """Read the source into a graph.

        Terms that occur in no counted triple are removed, unless `keep_all_terms` is set. `known`
        are the features of a graph that this one will be added to.
        """
        self.stages.require("reading")
        with self.stages.stage("reading", *self.amount()):
            reading = Reading(checkpoints, self.config, Census(files_passed_over=self.passed_over))
            for _ in self.collect(reading):
                self.stages.require("reading", **reading.collector.sizes)
            return self.finish(reading, keep_all_terms, known)

    def collect(self, reading: Reading) -> Iterator[None]:
        """Read the source; stop before each batch, and at the end."""
        try:
            for batch in self._batches(reading):
                yield
                reading.collector.add(batch)
            yield
        except Interrupted:
            reading.save()
            raise

    def finish(
        self, reading: Reading, keep_all_terms: bool = False, known: Features = NO_FEATURES
    ) -> Graph:
        """The graph of everything that was collected."""
        graph = reading.collector.finish(self.config, reading.census, keep_all_terms, known)
        kept = {"triples": len(graph), "terms": len(graph.terms)}
        sizes = replace(self.stages.sizes, features=len(graph.features.rows), **kept)
        self.stages.sizes = sizes
        return graph

    def amount(self) -> tuple[int | None, str]:
        """How much there is to read, if known, and its unit."""
        if self.rows:
            return self.rows.count, "rows"
        return int(self.share * sum(document.size for document in self.documents)) or None, "bytes"

    def _batches(self, reading: Reading) -> Iterator[Batch]:
        config, census, progress = self.config, reading.census, self.stages.progress
        if self.rows:
            return objects.read_batches(self.rows, config, census, progress.advance)
        start, passed = reading.start, reading.passed
        return tokenize.read_batches(
            self.documents, config, census, progress, self.share, start, passed
        )

    def fingerprint(self) -> dict[str, Any]:
        """Everything that determines the vectors: program, settings and inputs."""
        inputs = [
            [doc.name, doc.size, 0 if doc.name == "-" else os.stat(doc.name).st_mtime_ns]
            for doc in self.documents
        ]
        return {
            "program": __version__,
            "code": version(VECTOR_KERNELS),
            **self.config.effective(),
            "inputs": inputs,
        }


def read_census(inputs: Inputs, config: Config, progress: Progress | None = None) -> Census:
    """Count the content of some files without embedding them.

    Examples
    --------
    >>> from pyke.config import Config
    >>> read_census("examples/father.ttl", Config()).triples
    18
    """
    return Run(inputs, config, progress).read().census


def _require_literals(graph: Graph, stages: Stages) -> None:
    """Raise DataError if the settings ask for literals and the graph has none."""
    wanted = stages.config.literals
    if wanted and not graph.census.literals:
        where = ", ".join(stages.inputs) or "the graph"
        raise DataError(f"`literals` is {wanted!r}, but {where} has no literals. Omit `literals`.")
    if wanted and not len(graph.features):
        stages.progress.note(
            f"`literals` is {wanted!r}, but no two terms have such literals in common, so they "
            "change nothing."
        )


def _require_types(graph: Graph, stages: Stages) -> None:
    """Raise DataError if settings weigh types that the graph lacks; note a wrong predicate."""
    weight, predicate = stages.config.type_weight, stages.config.type_predicate
    if weight != 1 and len(graph) and not len(graph.types):
        where = ", ".join(stages.inputs) or "the graph"
        raise DataError(
            f"`type_weight` is {weight:g}, but {where} states no types with <{predicate}>. "
            "Omit `type_weight`, or set `type_predicate`."
        )
    if predicate != RDF_TYPE and not len(graph.types):
        stages.progress.note(
            f"No triple has the predicate <{predicate}> (`type_predicate`), so no term has a type. "
            "Give its complete IRI."
        )


def why_empty(census: Census) -> str:
    """The reason why a graph has no triples."""
    if census.statements:
        return (
            f"all of its {census.literals:,} triples have literal objects, which are skipped. "
            "Use `count_literals=True` to count them for their subjects and predicates"
        )
    errors = f", and {census.errors:,} lines could not be read" if census.errors else ""
    return f"it has no triples{errors}"
