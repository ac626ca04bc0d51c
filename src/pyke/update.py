"""New triples, and triples to be removed, without embedding anew: what is near the change moves, the rest rests.

New terms move, so do terms of which a good part of the triples changed, and the contexts that these are tied to; all others stay
where they are. What is new is put at once where its springs pull it: to the middle of its contexts, and these to the middle of their
members.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke import ids, repulsion, simulation, springs
from pyke.config import Config
from pyke.embedding import Embedding
from pyke.errors import EmptyGraph, UsageError
from pyke.graph import LITERAL, Floats, Graph, Ids, Matrix
from pyke.pipeline import Run
from pyke.progress import Progress
from pyke.sources import Source
from pyke.version import __version__

ITERATIONS = 3
MUCH = 0.2  # the part of a term's triples that must change for it to move

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Change:
    """A graph after a change: the vectors of its terms, not a number where a term is new, and which terms are to move."""

    graph: Graph
    vectors: Floats
    moving: Flags
    added: int  # triples that were not there
    removed: int
    not_found: int  # triples that were to be removed, but are not there


def update(
    embedding: Embedding, added: Source | None = None, removed: Source | None = None, *, progress: Progress | None = None, **reading: Any
) -> Embedding:
    """The embedding of a graph with some triples more, and some less.

    Parameters
    ----------
    added, removed : what `pyke.embed` takes.
    **reading : how to read them and run, such as on_error="skip" or threads=2; all else is as the embedding was made.
    """
    if added is None and removed is None:
        raise UsageError("there is nothing to add and nothing to remove")
    began = time.perf_counter()
    config, progress = embedding.config(**reading), progress or Progress()
    if config.rescale:
        raise UsageError("an embedding that was rescaled after each iteration cannot be updated: every particle moves when one does. Embed anew.")
    change = read_change(embedding, added, removed, config, progress)
    progress.stage("springs")
    attracting = springs.strongest(springs.by_rows(springs.similarity(config.similarity)(change.graph)), config.k)
    near = Near.of(attracting, change.moving)
    progress.stage("simulation", ITERATIONS, "iterations")
    vectors, new_terms = change.vectors, int(np.isnan(change.vectors[:, 0]).sum())
    if len(near.moving):
        positions = near.relax(near.place(change.vectors, config), config, progress)
        terms = near.moving[near.moving < len(vectors)]
        vectors[terms] = positions[: len(terms), : config.dimensions]
    record = {
        "added": change.added, "removed": change.removed, "not_found": change.not_found, "new_terms": new_terms,
        "moved_terms": int(change.moving.sum()), "seconds": time.perf_counter() - began,
    }  # fmt: skip
    return _embedding(embedding, change.graph, vectors, attracting, record)


def read_change(embedding: Embedding, added: Source | None, removed: Source | None, config: Config, progress: Progress) -> Change:
    """Reads what is to be added and removed, and makes the graph that there is then."""
    graph, known = embedding.graph(), len(embedding)
    before, gone, missing = len(graph), 0, 0
    changes = np.zeros(known, np.int64)  # triples of each term
    if added is not None:
        more = Run(added, config, progress).read()
        graph, places = ids.joined(graph, more, config)
        changes = _occurrences(len(graph.terms), places[more.subjects], places[more.objects[more.objects != LITERAL]])
    grown, kept = len(graph) - before, np.arange(len(graph.terms))
    if removed is not None:
        less = Run(removed, config, progress).read()
        dropped = ids.occurring_in(graph, less, config.threads)
        gone, missing = int(dropped.sum()), less.census.statements - int(dropped.sum())
        changes += _occurrences(len(graph.terms), graph.subjects[dropped], graph.objects[dropped])
        graph, new_ids = ids.without(graph, dropped, config.type_predicate)
        kept = np.flatnonzero(new_ids >= 0)
    if not len(graph):
        raise EmptyGraph("no triple would be left")
    vectors = np.empty((len(kept), embedding.vectors.shape[1]), np.float32)
    old = int(np.searchsorted(kept, known))
    np.take(embedding.vectors, kept[:old], axis=0, out=vectors[:old])
    vectors[old:] = np.nan
    moving = changes[kept] > MUCH * _occurrences(len(kept), graph.subjects, graph.objects[graph.objects != LITERAL])
    moving[old:] = True
    return Change(graph, vectors, moving, grown, gone, missing)


def _occurrences(terms: int, subjects: Ids, objects: Ids) -> NDArray[np.int64]:
    return np.bincount(subjects, minlength=terms) + np.bincount(objects, minlength=terms)


@dataclass(frozen=True)
class Near:
    """The part of a system that a change moves: its moving particles come first, then those that they are tied to, which rest."""

    moving: NDArray[np.int64]  # particles of the whole system
    resting: NDArray[np.int64]
    springs: Matrix

    @classmethod
    def of(cls, attracting: Matrix, terms: Flags) -> Near:
        """Some terms move, and the contexts that they are tied to."""
        first = np.flatnonzero(terms)
        tied = _row_entries(attracting, first)
        contexts = np.unique(attracting.columns[tied])
        moving = np.concatenate([first, contexts[contexts >= len(terms)].astype(np.int64)])
        entries = _row_entries(attracting, moving)
        columns = attracting.columns[entries]
        is_resting = np.zeros(attracting.rows, bool)
        is_resting[columns] = True
        is_resting[moving] = False
        resting = np.flatnonzero(is_resting)
        places = np.empty(attracting.rows, np.int32)
        places[moving] = np.arange(len(moving), dtype=np.int32)
        places[resting] = len(moving) + np.arange(len(resting), dtype=np.int32)
        lengths = np.diff(attracting.offsets)[moving]
        offsets = np.concatenate([[0], np.cumsum(lengths), np.full(len(resting), lengths.sum())]).astype(np.int64)
        return cls(moving, resting, Matrix(offsets, places[columns], attracting.values[entries]))

    def place(self, vectors: Floats, config: Config) -> Floats:
        """Positions to begin with: those that are known, and for others the middle of what they are tied to, as soon as some of it is known."""
        particles = np.concatenate([self.moving, self.resting])
        positions = np.zeros((len(particles), simulation.stride_of(config.dimensions)), np.float32)
        is_term = particles < len(vectors)
        positions[is_term, : config.dimensions] = vectors[particles[is_term]]
        unknown = ~is_term | np.isnan(positions[:, 0])
        rows = np.repeat(np.arange(self.springs.rows), np.diff(self.springs.offsets))
        while len(usable := np.flatnonzero(unknown[rows] & ~unknown[self.springs.columns])):
            lengths = np.bincount(rows[usable], minlength=self.springs.rows)
            offsets = np.append(np.int64(0), np.cumsum(lengths))
            known = Matrix(offsets, self.springs.columns[usable], self.springs.values[usable])
            positions[unknown] = 0
            positions = simulation.at_the_middle(known, positions, config)
            unknown &= lengths == 0
        if unknown.any():
            positions[unknown] = simulation.start(len(particles), config)[unknown]
        return positions

    def relax(self, positions: Floats, config: Config, progress: Progress) -> Floats:
        """A few iterations of the usual law; what rests is repelled by nothing and tied to nothing."""
        repellers = repulsion.draw_repellers(self.springs, config.repellers, config.seed, config.threads)
        repellers.counts[len(self.moving) :] = 0
        short = replace(config, max_iterations=ITERATIONS, energy_release=1 / ITERATIONS, epsilon=0.0, stop_when_j_rises=False)
        return simulation.simulate(self.springs, repellers, short, progress, simulation.State(positions, ())).positions


def _row_entries(matrix: Matrix, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the entries of some rows are."""
    lengths = np.diff(matrix.offsets)[rows]
    begins = np.repeat(matrix.offsets[:-1][rows] - np.append(np.int64(0), np.cumsum(lengths)[:-1]), lengths) if len(rows) else np.zeros(0, np.int64)
    return begins + np.arange(len(begins))


def _embedding(embedding: Embedding, graph: Graph, vectors: Floats, attracting: Matrix, record: dict[str, Any]) -> Embedding:
    manifest = {key: value for key, value in embedding.manifest.items() if key != "files"}
    manifest |= {
        "program": __version__, "census": graph.census.as_dict(), "particles": attracting.rows, "springs": len(attracting.columns),
        "updates": [*embedding.manifest.get("updates", []), record],
    }  # fmt: skip
    triples = np.column_stack([graph.subjects, graph.predicates[graph.predicates_of], graph.objects])
    return Embedding(vectors, graph.terms, graph.types, triples, graph.labels, graph.labelled, manifest)
