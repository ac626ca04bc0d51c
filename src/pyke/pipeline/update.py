"""New triples, and triples to be removed, without embedding anew: new terms are put in their place, the rest rests.

A new term is put where its springs pull it: to the middle of its contexts, and these to the middle of their members. So is a term of
which most triples changed. Middles lie closer together than what they are the middles of; how much closer, and in which directions,
is learnt from some terms that are known: they are put to the middle of their contexts in the same way, and the linear map from there
to where they truly are is applied to the new ones. To let the old terms move, too, made scores worse: every further iteration draws
what moves together, beside what rests.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke import __version__
from pyke.config import Config
from pyke.core.arrays import Floats, Matrix, ranges
from pyke.core.counts import count_rows
from pyke.core.parallel import in_parts
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import EmptyGraph, UsageError
from pyke.graph.changes import merge_graphs, remove_triples, triples_also_in
from pyke.graph.graph import Graph
from pyke.pipeline import plan
from pyke.pipeline.embed import Run
from pyke.pipeline.plan import Sizes
from pyke.read.objects import Source
from pyke.simulation import _kernels as simulation_kernels
from pyke.simulation import anneal
from pyke.springs.strongest import attracting_around

MOST = 0.5  # a term of which more than this part of the triples changed is put in a new place
PER_DIMENSION, GREATEST_PART = (
    10,
    0.05,
)  # known terms to learn from: so many, but no more than this part of them
LEAST_PER_DIMENSION = 4  # without which nothing is learnt

_READING = ("format", "base", "on_error", "lenient", "threads", "memory")
_STRICT = {"on_error": "stop", "lenient": False}  # whatever the files of the embedding needed
_OF_THE_RUN = (
    "files",
    "fingerprint",
    "particles",
    "springs",
)  # in the manifest, and no longer true

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
    """The embedding of a graph with some triples more, and some less.

    Parameters
    ----------
    added, removed : what `pyke.embed` takes; a triple that is in both is not there in the end.
    **reading : how to read them and run: format, base, on_error, lenient, threads, memory; all else is as the embedding was made.
    """
    if unknown := reading.keys() - _READING:
        raise UsageError(
            f"update has no parameter {min(unknown)!r}; there are added, removed, {', '.join(_READING)}. All else is as the embedding was made."
        )
    if added is None and removed is None:
        raise UsageError("there is nothing to add and nothing to remove")
    if _is_standard_input(added) and _is_standard_input(removed):
        raise UsageError(
            "standard input can be read only once: for what is added, or for what is removed"
        )
    began = time.perf_counter()
    config, progress = (
        embedding.config(
            **_STRICT | {name: value for name, value in reading.items() if value is not None}
        ),
        progress or Progress(),
    )
    if config.rescale:
        raise UsageError(
            "an embedding that was rescaled after each iteration cannot be updated: every particle moves when one does. Embed anew."
        )
    change = read_change(embedding, added, removed, config, progress)
    progress.stage("places", int(change.placed.sum()), "terms")
    adrift = 0
    if change.placed.any():
        change.vectors[change.placed], adrift = _places(change, config)
    record = change.record | {"adrift": adrift, "seconds": time.perf_counter() - began}
    return _embedding(embedding, change, record)


@dataclass(frozen=True)
class Change:
    """A graph after a change, the vectors of its terms, and which of them are to be placed: new ones, and those that changed most."""

    graph: Graph
    vectors: Floats
    placed: Flags
    record: dict[str, Any]


def read_change(
    embedding: Embedding,
    added: Source | None,
    removed: Source | None,
    config: Config,
    progress: Progress,
) -> Change:
    """Reads what is to be added and removed, and makes the graph that there is then: what is removed goes first, from both."""
    graph, vectors = embedding.graph(), embedding.vectors
    changes = np.zeros(len(graph.terms), np.int64)  # triples that each term lost or gained
    more = None if added is None else Run(added, config, progress).read(keep_all_terms=True)
    plan.require_update(sizes_of(graph, more), config)
    gone = missing = 0
    read = [] if more is None else [more.census]
    if removed is not None:
        less = Run(removed, config, progress).read()
        read.append(less.census)
        dropped = triples_also_in(graph, less, config.threads)
        found = triples_also_in(less, graph, config.threads)
        if more is not None:
            found |= triples_also_in(less, more, config.threads)
            more, _ = remove_triples(
                more,
                triples_also_in(more, less, config.threads),
                config.type_predicate,
                keep_all_terms=True,
            )
        gone, missing = (
            int(dropped.sum()),
            less.census.statements - less.census.duplicates - int(found.sum()),
        )
        before = _occurrences(graph)
        graph, new_ids = remove_triples(graph, dropped, config.type_predicate)
        kept = np.flatnonzero(new_ids >= 0)
        vectors, changes = vectors[kept], before[kept] - _occurrences(graph)
    known, triples, occurrences = len(graph.terms), len(graph), _occurrences(graph)
    if more is not None:
        before, graph = occurrences, merge_graphs(graph, more, config)
        occurrences = _occurrences(graph)
        changes = np.concatenate([changes + occurrences[:known] - before, occurrences[known:]])
    if not len(graph):
        raise EmptyGraph("no triple would be left")
    placed = changes > MOST * occurrences
    enlarged = np.empty((len(graph.terms), embedding.vectors.shape[1]), np.float32)
    enlarged[:known] = vectors
    record = {
        "added": len(graph) - triples, "removed": gone, "not_found": missing,
        "new_terms": len(graph.terms) - known, "placed_terms": int(placed.sum()),
        "errors": sum(census.errors for census in read), "first_errors": [str(problem) for census in read for problem in census.problems],
        "inputs": [_name(source) for source in (added, removed)],
    }  # fmt: skip
    return Change(graph, enlarged, placed, record)


def sizes_of(graph: Graph, more: Graph | None) -> Sizes:
    """What decides the memory of an update: both graphs together are the most that there can be."""
    graphs = [graph] if more is None else [graph, more]
    texts = sum(len(texts.blob) for one in graphs for texts in (one.terms, one.labels))
    return Sizes(
        triples=sum(map(len, graphs)), terms=sum(len(one.terms) for one in graphs), text_bytes=texts
    )


def _occurrences(graph: Graph) -> NDArray[np.int64]:
    """In how many triples each term is, for each place that it has in them."""
    counts, uses = (
        np.zeros(len(graph.terms) + 1, np.int64),
        np.zeros(len(graph.predicates), np.int64),
    )
    count_rows(graph.subjects, counts)
    count_rows(graph.objects, counts)  # the literals at the end
    count_rows(graph.predicate_positions, uses)
    counts[graph.predicates] += uses
    return counts[:-1]


def _is_standard_input(source: Source | None) -> bool:
    return any(
        isinstance(one, str) and one == "-"
        for one in (source if isinstance(source, (list, tuple)) else [source])
    )


def _name(source: Source | None) -> Any:
    """What a source is called in the record: its path or paths, or what kind of thing it is."""
    if source is None or isinstance(source, (str, os.PathLike)):
        return source if source is None else os.fspath(source)
    if isinstance(source, (list, tuple)) and all(
        isinstance(path, (str, os.PathLike)) for path in source
    ):
        return [os.fspath(path) for path in source]
    return type(source).__name__


def _places(change: Change, config: Config) -> tuple[Floats, int]:
    """Where terms belong: at the middle of what they are tied to, seen as known terms see theirs; and how many are tied to nothing known."""
    vectors, placed = change.vectors, change.placed
    known = np.flatnonzero(~placed)
    sample = np.zeros(len(vectors), bool)
    size = min(PER_DIMENSION * config.dimensions, int(GREATEST_PART * len(known)))
    sample[np.random.default_rng(config.seed).permutation(known)[:size]] = True
    near = Near.of(attracting_around(change.graph, placed | sample, config), placed | sample)
    middles, is_found = near.middles(vectors, config)
    of_sample, of_placed = sample[near.terms] & is_found, placed[near.terms]
    places = middles[of_placed].astype(np.float64)
    if of_sample.sum() >= LEAST_PER_DIMENSION * config.dimensions:
        places = _as_seen(
            middles[of_sample].astype(np.float64),
            vectors[near.terms[of_sample]].astype(np.float64),
            places,
            config.threads,
        )
    lost = np.flatnonzero(~is_found[of_placed])
    if len(lost):  # tied to nothing that is known: anywhere, as at the start of an embedding
        places[lost] = anneal.start(len(vectors), config)[
            near.terms[of_placed][lost], : config.dimensions
        ]
    return places.astype(np.float32), len(lost)


def _as_seen(here: Doubles, there: Doubles, points: Doubles, threads: int) -> Doubles:
    """Takes points along the linear map that takes `here` to `there` best."""
    middle, target = here.mean(axis=0), there.mean(axis=0)
    here, there = here - middle, there - target
    square = _product(here.T, here, threads)
    if not square.any():  # all of them are at one place, which tells nothing
        return np.asarray(points - middle + target)
    ridge = 1e-3 * np.trace(square) / len(square) * np.eye(len(square))
    spread = np.linalg.solve(square + ridge, _product(here.T, there, threads))
    return np.asarray(_product(points - middle, spread, threads) + target)


def _product(first: Doubles, second: Doubles, threads: int) -> Doubles:
    out: Doubles = np.empty((first.shape[0], second.shape[1]))
    first, second = np.ascontiguousarray(first), np.ascontiguousarray(second)
    in_parts(
        threads,
        len(first),
        lambda begin, end: simulation_kernels.multiply(first, second, begin, end, out),
    )
    return out


@dataclass(frozen=True)
class Near:
    """The part of a system around some terms: these, then the contexts that they are tied to, then what is known of the contexts' members."""

    terms: NDArray[np.int64]
    contexts: NDArray[np.int64]
    known: NDArray[np.int64]
    springs: Matrix  # of the terms and contexts; particles are numbered in the order above

    @classmethod
    def of(cls, attracting: Matrix, chosen: Flags) -> Near:
        """What is around the chosen terms."""
        terms = np.flatnonzero(chosen)
        tied = np.zeros(attracting.rows, bool)
        tied[attracting.columns[_entries(attracting, terms)]] = True
        contexts = len(chosen) + np.flatnonzero(tied[len(chosen) :])
        rows = np.concatenate([terms, contexts])
        entries = _entries(attracting, rows)
        tied[:] = False
        tied[attracting.columns[entries]] = True
        tied[rows] = False
        known = np.flatnonzero(tied)
        numbers = np.empty(attracting.rows, np.int32)
        numbers[np.concatenate([rows, known])] = np.arange(len(rows) + len(known), dtype=np.int32)
        lengths = np.append(np.diff(attracting.offsets)[rows], np.zeros(len(known), np.int64))
        offsets = np.append(np.int64(0), np.cumsum(lengths))
        return cls(
            terms,
            contexts,
            known,
            Matrix(offsets, numbers[attracting.columns[entries]], attracting.values[entries]),
        )

    def middles(self, vectors: Floats, config: Config) -> tuple[Floats, Flags]:
        """The middle of what each term is tied to, as soon as some of that has its place; and which terms have one."""
        unknown = len(self.terms) + len(self.contexts)
        positions = np.zeros((unknown + len(self.known), config.dimensions), np.float32)
        positions[unknown:] = vectors[self.known]
        placed = np.arange(len(positions)) >= unknown
        anneal.put_to_the_middle(self.springs, positions, placed, config.threads)
        return positions[: len(self.terms)], placed[: len(self.terms)]


def _entries(matrix: Matrix, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the entries of some rows are, one row behind the other."""
    return ranges(matrix.offsets[rows], np.diff(matrix.offsets)[rows])


def _embedding(embedding: Embedding, change: Change, record: dict[str, Any]) -> Embedding:
    graph = change.graph
    manifest = {key: value for key, value in embedding.manifest.items() if key not in _OF_THE_RUN}
    manifest |= {
        "program": __version__,
        "census": graph.census.as_dict(),
        "updates": [*embedding.manifest.get("updates", []), record],
    }
    return Embedding(
        change.vectors,
        graph.terms,
        graph.types,
        graph.triples(),
        graph.labels,
        graph.labelled,
        manifest,
    )
