"""Update an embedding: add and remove triples, and place new terms. Other vectors stay unchanged.

New terms are placed, and known terms most of whose triples changed:

1. A context goes to the weighted mean of its known members, a term to the weighted mean of its
   contexts.
2. Weighted means lie closer together than the points they average. A linear map corrects this. It
   is learnt from a sample of known terms, from their weighted means to their true positions.
3. If the embedding has clusters, a placed term joins the cluster with the nearest mean.

Simulating further iterations around the new terms gave worse scores: particles that move contract
next to particles that are fixed.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke import __version__
from pyke.config import Config
from pyke.core.arrays import Floats, Ids, Matrix, ranges
from pyke.core.counts import count_rows
from pyke.core.parallel import parallel_for
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import DamagedStore, EmptyGraph, UsageError
from pyke.graph.changes import merge_graphs, remove_triples, triples_also_in
from pyke.graph.graph import NO_CLUSTER, Graph
from pyke.pipeline.budget import require_update, sizes_of
from pyke.pipeline.embed import Run, as_embedding
from pyke.read.objects import Source
from pyke.simulation import _kernels as simulation_kernels
from pyke.simulation import anneal
from pyke.springs import kmeans
from pyke.springs.strongest import springs_around

MAX_CHANGED = 0.5  # a term with a larger fraction of changed triples is placed again
SAMPLE_PER_DIMENSION = 10  # known terms to learn the map from
MAX_SAMPLE = 0.05  # as a fraction of the known terms
MIN_SAMPLE_PER_DIMENSION = 4  # with fewer, no map is learnt

_READING = ("format", "base", "on_error", "lenient", "threads", "memory")
_STRICT = {"on_error": "stop", "lenient": False}  # defaults, whatever the embedding was made with
_OUTDATED = ("files", "sha256", "fingerprint", "particles", "springs")  # keys of the manifest

Flags = NDArray[np.bool_]
Doubles = NDArray[np.float64]


def update(
    embedding: Embedding,
    added: Source | None = None,
    removed: Source | None = None,
    *,
    progress: Progress | None = None,
    **reading: Any,
) -> Embedding:
    """Add triples to an embedding and remove others. Vectors of known terms stay unchanged.

    Parameters
    ----------
    added, removed
        Sources as for `pyke.embed`. A triple in both is removed.
    progress
        Receives stages.
    **reading
        How to read and run: format, base, on_error, lenient, threads, memory. All other settings
        are those of the embedding.

    Examples
    --------
    >>> import pyke
    >>> e = pyke.embed("examples/father.ttl", dimensions=10)
    >>> same = update(e, added="examples/father.ttl")
    >>> bool((same.vectors == e.vectors).all())
    True
    """
    began, progress = time.perf_counter(), progress or Progress()
    config = _checked_config(embedding, reading)
    _check_sources(added, removed)
    change = read_change(embedding, added, removed, config, progress)
    progress.stage("places", int(change.placed.sum()), "terms")
    unconnected = 0
    if change.placed.any():
        change.vectors[change.placed], unconnected = _find_places(change, config)
        _join_clusters(change, config)
    record = change.record | {"adrift": unconnected, "seconds": time.perf_counter() - began}
    manifest = {key: value for key, value in embedding.manifest.items() if key not in _OUTDATED}
    manifest |= {
        "program": __version__,
        "census": change.graph.census.as_dict(),
        "updates": [*embedding.manifest.get("updates", []), record],
    }
    return as_embedding(change.graph, change.vectors, manifest, change.clusters)


def _checked_config(embedding: Embedding, reading: dict[str, Any]) -> Config:
    """The settings of the embedding, with those for reading the change."""
    if unknown := reading.keys() - _READING:
        raise UsageError(
            f"update has no parameter {min(unknown)!r}. Its parameters are: added, removed, "
            f"{', '.join(_READING)}. All other settings are those of the embedding."
        )
    given = {name: value for name, value in reading.items() if value is not None}
    config = embedding.config(**_STRICT | given)
    if config.rescale:
        raise UsageError(
            "an embedding made with `rescale=True` cannot be updated, because all its vectors "
            "change with each particle. Embed the complete graph again."
        )
    if config.dimensions != embedding.dimensions:
        raise DamagedStore(
            f"the vectors have {embedding.dimensions} dimensions, but the settings of this "
            f"embedding say {config.dimensions}. Embed the graph again."
        )
    return config


def _check_sources(added: Source | None, removed: Source | None) -> None:
    if added is None and removed is None:
        raise UsageError("nothing to add and nothing to remove: pass `added` or `removed`")
    if _is_standard_input(added) and _is_standard_input(removed):
        raise UsageError(
            "standard input can be read only once: use it for `added` or for `removed`"
        )


# -- the graph after the change ---------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """The graph after a change, the vectors of its terms, and which terms are to be placed.

    Terms to be placed have no cluster yet. Without clusters, `clusters` is empty.
    """

    graph: Graph
    vectors: Floats
    clusters: Ids
    placed: Flags
    record: dict[str, Any]


def read_change(
    embedding: Embedding,
    added: Source | None,
    removed: Source | None,
    config: Config,
    progress: Progress,
) -> Change:
    """Read the triples to add and to remove, and build the new graph. Removal applies to both."""
    graph, vectors, clusters = embedding.graph(), embedding.vectors, embedding.term_clusters
    changes = np.zeros(len(graph.terms), np.int64)  # triples that each term lost or gained
    more = None if added is None else Run(added, config, progress).read(True, graph.features)
    require_update(sizes_of(graph) if more is None else sizes_of(graph, more), config)
    gone = missing = 0
    read = [] if more is None else [more.census]
    if removed is not None:
        less = Run(removed, replace(config, literals=""), progress).read()
        read.append(less.census)
        dropped = triples_also_in(graph, less, config.threads)
        found = triples_also_in(less, graph, config.threads)
        if more is not None:
            found |= triples_also_in(less, more, config.threads)
            cancelled = triples_also_in(more, less, config.threads)
            more, _ = remove_triples(more, cancelled, config.type_predicate, keep_all_terms=True)
        different = less.census.statements - less.census.duplicates
        gone, missing = int(dropped.sum()), different - int(found.sum())
        before = _occurrences(graph)
        graph, new_ids = remove_triples(graph, dropped, config.type_predicate)
        kept = np.flatnonzero(new_ids >= 0)
        vectors, changes = vectors[kept], before[kept] - _occurrences(graph)
        clusters = clusters[kept] if len(clusters) else clusters
    known, triples, occurrences = len(graph.terms), len(graph), _occurrences(graph)
    if more is not None:
        before, graph = occurrences, merge_graphs(graph, more, config)
        occurrences = _occurrences(graph)
        changes = np.concatenate([changes + occurrences[:known] - before, occurrences[known:]])
    if not len(graph):
        raise EmptyGraph("the update removes all triples")
    placed = changes > MAX_CHANGED * occurrences
    enlarged = np.empty((len(graph.terms), embedding.vectors.shape[1]), np.float32)
    enlarged[:known] = vectors
    if len(clusters):
        clusters = np.append(clusters, np.full(len(graph.terms) - known, NO_CLUSTER, np.int32))
        clusters[placed] = NO_CLUSTER
    record = {
        "added": len(graph) - triples,
        "removed": gone,
        "not_found": missing,
        "new_terms": len(graph.terms) - known,
        "placed_terms": int(placed.sum()),
        "errors": sum(census.errors for census in read),
        "first_errors": [str(problem) for census in read for problem in census.problems],
        "inputs": [_name(source) for source in (added, removed)],
    }
    return Change(graph, enlarged, clusters, placed, record)


def _occurrences(graph: Graph) -> NDArray[np.int64]:
    """Number of positions in triples that each term has."""
    counts = np.zeros(len(graph.terms) + 1, np.int64)
    count_rows(graph.subjects, counts)
    count_rows(graph.objects, counts)  # literals, −1, count at the end
    uses = np.zeros(len(graph.predicates), np.int64)
    count_rows(graph.predicate_positions, uses)
    counts[graph.predicates] += uses
    return counts[:-1]


def _is_standard_input(source: Source | None) -> bool:
    paths = source if isinstance(source, (list, tuple)) else [source]
    return any(isinstance(path, str) and path == "-" for path in paths)


def _name(source: Source | None) -> Any:
    """Name of a source in the record: its path or paths, or its type."""
    if source is None or isinstance(source, (str, os.PathLike)):
        return source if source is None else os.fspath(source)
    if isinstance(source, (list, tuple)) and all(
        isinstance(path, (str, os.PathLike)) for path in source
    ):
        return [os.fspath(path) for path in source]
    return type(source).__name__


# -- places of terms --------------------------------------------------------------------------


def _find_places(change: Change, config: Config) -> tuple[Floats, int]:
    """Positions of the terms to be placed, and how many of them have no known neighbour."""
    vectors, placed = change.vectors, change.placed
    known = np.flatnonzero(~placed)
    sample = np.zeros(len(vectors), bool)
    size = min(SAMPLE_PER_DIMENSION * config.dimensions, int(MAX_SAMPLE * len(known)))
    sample[np.random.default_rng(config.seed).permutation(known)[:size]] = True
    chosen = placed | sample
    springs = springs_around(change.graph, chosen, config, change.clusters)
    near = Neighbourhood.of(springs, chosen)
    means, is_found = near.weighted_means(vectors, config)
    of_sample, of_placed = sample[near.terms] & is_found, placed[near.terms]
    places = means[of_placed].astype(np.float64)
    if of_sample.sum() >= MIN_SAMPLE_PER_DIMENSION * config.dimensions:
        here = means[of_sample].astype(np.float64)
        there = vectors[near.terms[of_sample]].astype(np.float64)
        places = _map_linearly(here, there, places, config.threads)
    unconnected = np.flatnonzero(~is_found[of_placed])
    if len(unconnected):
        start = anneal.random_start(len(vectors), config)[:, : config.dimensions]
        places[unconnected] = start[near.terms[of_placed][unconnected]]
    return places.astype(np.float32), len(unconnected)


def _join_clusters(change: Change, config: Config) -> None:
    """Give each placed term the cluster whose known terms have the nearest mean."""
    clusters, known = change.clusters, np.flatnonzero(change.clusters >= 0)
    if not len(known):
        return
    numbers, positions = np.unique(clusters[known], return_inverse=True)
    centroids = kmeans.means(change.vectors[known], positions.astype(np.int32), len(numbers))
    points = change.vectors[change.placed]
    clusters[change.placed] = numbers[kmeans.nearest_centroids(points, centroids, config.threads)]


def _map_linearly(here: Doubles, there: Doubles, points: Doubles, threads: int) -> Doubles:
    """Apply to points the affine map that fits `here` → `there` best (ridge regression)."""
    mean, target = here.mean(axis=0), there.mean(axis=0)
    here, there = here - mean, there - target
    square = _product(here.T, here, threads)
    if not square.any():  # all at one position: only the shift can be learnt
        return np.asarray(points - mean + target)
    ridge = 1e-3 * np.trace(square) / len(square) * np.eye(len(square))
    spread = np.linalg.solve(square + ridge, _product(here.T, there, threads))
    return np.asarray(_product(points - mean, spread, threads) + target)


def _product(first: Doubles, second: Doubles, threads: int) -> Doubles:
    """Matrix product with the same bits for any number of threads."""
    out: Doubles = np.empty((first.shape[0], second.shape[1]))
    first, second = np.ascontiguousarray(first), np.ascontiguousarray(second)

    def multiply(begin: int, end: int) -> None:
        simulation_kernels.multiply(first, second, begin, end, out)

    parallel_for(threads, len(first), multiply)
    return out


@dataclass(frozen=True)
class Neighbourhood:
    """The particles around some terms: the terms, their contexts, and the contexts' other members.

    `springs` numbers the particles in this order and has rows for terms and contexts only.
    """

    terms: NDArray[np.int64]
    contexts: NDArray[np.int64]
    known: NDArray[np.int64]
    springs: Matrix

    @classmethod
    def of(cls, springs: Matrix, chosen: Flags) -> Neighbourhood:
        """The neighbourhood of the chosen terms."""
        terms = np.flatnonzero(chosen)
        linked = np.zeros(springs.rows, bool)
        linked[springs.columns[_entries(springs, terms)]] = True
        contexts = len(chosen) + np.flatnonzero(linked[len(chosen) :])
        rows = np.concatenate([terms, contexts])
        entries = _entries(springs, rows)
        linked[:] = False
        linked[springs.columns[entries]] = True
        linked[rows] = False
        known = np.flatnonzero(linked)
        numbers = np.empty(springs.rows, np.int32)
        numbers[np.concatenate([rows, known])] = np.arange(len(rows) + len(known), dtype=np.int32)
        lengths = np.append(np.diff(springs.offsets)[rows], np.zeros(len(known), np.int64))
        offsets = np.append(np.int64(0), np.cumsum(lengths))
        inside = Matrix(offsets, numbers[springs.columns[entries]], springs.values[entries])
        return cls(terms, contexts, known, inside)

    def weighted_means(self, vectors: Floats, config: Config) -> tuple[Floats, Flags]:
        """The weighted mean of each term's contexts, and which terms have one."""
        unknown = len(self.terms) + len(self.contexts)
        positions = np.zeros((unknown + len(self.known), config.dimensions), np.float32)
        positions[unknown:] = vectors[self.known]
        placed = np.arange(len(positions)) >= unknown
        anneal.place_at_weighted_mean(self.springs, positions, placed, config.threads)
        return positions[: len(self.terms)], placed[: len(self.terms)]


def _entries(matrix: Matrix, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indices of the entries of some rows, concatenated."""
    return ranges(matrix.offsets[rows], np.diff(matrix.offsets)[rows])
