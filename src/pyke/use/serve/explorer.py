"""The embedding that is explored, and everything that is derived from it once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pyke.core import system
from pyke.core.arrays import Floats, Ids
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.embedding.lookup import local_name, texts_at
from pyke.embedding.scan import spaced
from pyke.graph.graph import LITERAL
from pyke.use.maps.names import worth_a_label
from pyke.use.neighbours import search
from pyke.use.search.index import SearchIndex, by_degree
from pyke.use.serve import limits
from pyke.use.serve.answers import Refused
from pyke.use.serve.child import Answer, Child
from pyke.use.serve.jobs import Compute, Job, Lane

Prepare = Callable[["Explorer", int, Progress], Answer]

# Up to this many terms, comparing with all of them is faster than sorting them into tiles once.
COMPARE_ALL_UP_TO = 20_000


class Explorer:
    """An embedding with its indexes. Requests read it from several threads.

    If the `directory` of the embedding is given, the longest computations have processes of their
    own.
    """

    def __init__(
        self,
        embedding: Embedding,
        other: Embedding | None = None,
        directory: Path | None = None,
    ) -> None:
        self.embedding = embedding
        self.other = other  # to compare with
        self.directory = directory
        self.lookup = embedding.lookup()
        self._stopping = threading.Event()
        # Indexes are needed at once; predictions and simulations take longer and wait.
        self._quick = Lane(self._stopping)
        self._slow = Lane(self._stopping, self._quick, limits.PATIENCE_SECONDS)
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._children: list[Child] = []
        # Each is read from the directory now: damage is found before the server starts.
        self.vectors: Floats = embedding.vectors
        self.triples: Ids = embedding.triples
        self.types: Ids = embedding.types
        self.subjects = np.ascontiguousarray(self.triples[:, 0])
        self.typed_subjects = np.ascontiguousarray(self.types[:, 0])

    def job(self, name: str, compute: Compute, quick: bool = False) -> Job:
        """The job of this name; every caller gets the same one."""
        with self._lock:
            if name not in self._jobs:
                lane = self._quick if quick else self._slow
                self._jobs[name] = Job(name, compute, lane)
            return self._jobs[name]

    def answering(self, task: str, prepare: Prepare, argument: int) -> Job:
        """The job of a task; its result answers terms. `tasks` has the same function by name."""
        return self.job(task, lambda progress: self._begin(task, prepare, argument, progress))

    def once(self, task: str, prepare: Prepare, argument: int = 0) -> Job:
        """The job of a task that has a single answer, which is its result."""

        def compute(progress: Progress) -> bytes:
            answer = self._begin(task, prepare, argument, progress)
            found = answer(0)
            if isinstance(answer, Child):
                answer.end()
            return found

        return self.job(f"{task} {argument}" if argument else task, compute)

    def _begin(self, task: str, prepare: Prepare, argument: int, progress: Progress) -> Answer:
        if self.directory is None:
            return prepare(self, argument, progress)
        child = Child(task, argument, self.directory, self.embedding.manifest)
        self._children = [one for one in self._children if not one.has_ended] + [child]
        child.compute(progress)
        return child

    def stop(self) -> None:
        """Stop all jobs at their next safe point, and end their processes."""
        self._stopping.set()
        for child in self._children:
            child.end()

    @property
    def search_index(self) -> Job:
        """The index of names."""

        def compute(_: Progress) -> SearchIndex:
            index = SearchIndex(self.embedding)
            index.find("a", 1)  # compiles the kernel; requests do not wait for it
            system.release_pages(self.embedding.terms.blob)  # the index has all names
            return index

        return self.job("search", compute, quick=True)

    @property
    def neighbour_index(self) -> Job:
        """The index of vectors; only large graphs need it."""

        def compute(_: Progress) -> search.ExactIndex:
            index = search.ExactIndex(self.vectors)
            index.search(self.vectors[:1], 1, np.zeros(1, np.int64))  # compiles the kernel
            system.release_pages(self.vectors)  # the index has a copy
            return index

        return self.job("neighbours", compute, quick=True)

    @cached_property
    def census(self) -> dict[str, int]:
        """Numbers of terms, triples, typed subjects, classes and predicates."""
        return {
            "terms": len(self.embedding),
            "triples": len(self.triples),
            "typed_subjects": self._distinct(self.types[:, 0]),
            "classes": self._distinct(self.types[:, 1]),
            "predicates": len(self.embedding.predicates),
        }

    def _distinct(self, ids: Ids) -> int:
        """How many terms there are among some ids, without sorting them."""
        present = np.zeros(len(self.embedding), bool)
        present[ids] = True
        return int(np.count_nonzero(present))

    @cached_property
    def popular(self) -> Ids:
        """All terms, those with most triples first."""
        return by_degree(self.embedding)

    @cached_property
    def popular_entities(self) -> Ids:
        """Terms that are worth a label on a map, those with most triples first."""
        allowed = worth_a_label(self.embedding, ())
        entity = np.zeros(len(self.embedding), bool)
        entity[self.embedding.entities] = True
        return self.popular[(allowed & entity)[self.popular]]

    @cached_property
    def sample_ranks(self) -> Ids:
        """The place of each term in a fixed random order."""
        return np.random.default_rng(0).permutation(len(self.embedding)).astype(np.int32)

    def sample(self, limit: int) -> Ids:
        """The first terms of the random order, ascending."""
        return np.flatnonzero(self.sample_ranks < limit).astype(np.int32)

    @cached_property
    def by_object(self) -> tuple[Ids, Ids]:
        """(objects, ascending; the triple of each), without literals."""
        objects = self.triples[:, 2]
        order = np.argsort(objects, kind="stable").astype(np.int32)
        order = order[np.searchsorted(objects[order], LITERAL, "right") :]
        return np.ascontiguousarray(objects[order]), order

    def start_indexes(self) -> None:
        """Start what every page needs."""
        self.search_index.start()
        if len(self.embedding) > COMPARE_ALL_UP_TO:
            self.neighbour_index.start()

    @property
    def is_indexed(self) -> bool:
        """Whether all indexes are there; until then, some answers take longer."""
        is_small = len(self.embedding) <= COMPARE_ALL_UP_TO
        return self.search_index.ready() and (is_small or self.neighbour_index.ready())

    def nearest(self, term: int, k: int, among: Ids | None = None) -> tuple[Ids, Floats]:
        """Ids and distances of the k terms closest to a term."""
        query = self.vectors[term]
        if among is not None:
            at, distances = search.nearest(self.vectors[among], query, k + 1)
            near, kept = among[at], among[at] != term
            return near[kept][:k], distances[kept][:k]
        k = min(k, len(self.embedding) - 1)
        is_large = len(self.embedding) > COMPARE_ALL_UP_TO
        if k < 1 or not is_large or not self.neighbour_index.ready():
            return search.nearest(self.vectors, query, k, term)
        found = self.neighbour_index.result().search(query[None], k, np.array([term]))
        return found.ids[0], np.sqrt(found.squares[0])

    def check_term(self, term: int) -> int:
        """Return the id of a term, or refuse it."""
        if term >= len(self.embedding):
            raise Refused(404, "unknown_term", "There is no term with this id.")
        return term

    def types_of(self, term: int) -> Ids:
        """The classes of a term."""
        begin, end = np.searchsorted(self.typed_subjects, [term, term + 1])
        classes: Ids = self.types[begin:end, 1]
        return classes

    def named(self, ids: Any) -> list[dict[str, Any]]:
        """Terms as the page shows them: id, IRI, label, and a name to read."""
        ids = np.asarray(ids, np.int32)
        terms, labels = texts_at(self.embedding.terms, ids), self.lookup.labels_of(ids)
        return [
            {"id": at, "iri": term, "label": label, "name": readable(term, label)}
            for at, term, label in zip(ids.tolist(), terms, labels, strict=True)
        ]


def readable(term: str, label: str | None) -> str:
    """The label of a term, or its local name as people write it."""
    if label:
        return label
    return term if term.startswith("_:") else spaced(local_name(term)).strip() or term
