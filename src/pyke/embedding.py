"""What a user holds: vectors with their terms, types and labels."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pyke import search, store
from pyke.errors import UsageError
from pyke.files import Content
from pyke.graph import Census, Floats, Graph, Ids, Terms, Texts


@dataclass(frozen=True)
class Neighbour:
    """A term close to another."""

    term: str
    distance: float
    label: str | None


@dataclass(frozen=True, eq=False)
class Embedding:
    """Vectors of all terms of a graph. Immutable; arrays of a loaded one are mapped from its files.

    Examples
    --------
    >>> import pyke
    >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
    >>> e["http://example.com/father#anna"].shape
    (10,)
    """

    vectors: Floats
    terms: Terms
    types: Ids  # (n, 2): subject, class
    triples: Ids  # (n, 3): subject, predicate, object; −1 where the object is a literal
    labels: Texts
    labelled: Ids  # the term that each label is of, ascending
    manifest: dict[str, Any] = field(repr=False)

    def __len__(self) -> int:
        return len(self.terms)

    def __contains__(self, term: object) -> bool:
        return term in self.terms

    def __iter__(self) -> Iterator[str]:
        return iter(self.terms)

    def __getitem__(self, term: str) -> Floats:
        if not isinstance(term, str):
            raise UsageError(f"an embedding is asked by term, not by {term!r}; rows by number are in .vectors")
        vector: Floats = self.vectors[self.terms.id(term)]
        return vector

    def __repr__(self) -> str:
        census = self.manifest.get("census", {})
        return (f"<pyke.Embedding: {len(self):,} terms × {self.vectors.shape[1]} dimensions, {census.get('triples', 0):,} triples, "
                f"{census.get('typed_subjects', 0):,} typed subjects, {census.get('classes', 0):,} classes>")  # fmt: skip

    def label(self, term_id: int) -> str | None:
        """The label that the graph gives a term."""
        at = int(np.searchsorted(self.labelled, term_id))
        return self.labels[at] if at < len(self.labelled) and self.labelled[at] == term_id else None

    @property
    def predicates(self) -> Ids:
        """The ids of the terms that are predicates, ascending."""
        present = np.zeros(len(self), bool)
        present[self.triples[:, 1]] = True
        return np.flatnonzero(present).astype(np.int32)

    def graph(self) -> Graph:
        """The graph that was embedded."""
        predicates = self.predicates
        positions = np.zeros(len(self), np.int32)
        positions[predicates] = np.arange(len(predicates), dtype=np.int32)
        subjects, used, objects = (np.ascontiguousarray(column) for column in self.triples.T)
        census = Census(**{name: value for name, value in self.manifest["census"].items() if name != "first_errors"})
        return Graph(self.terms, subjects, positions[used], objects, predicates, np.array(self.types), self.labels, np.array(self.labelled), census)

    def nearest(self, term: str | Floats, k: int = 10) -> list[Neighbour]:
        """The k terms closest to a term (without itself) or to a vector, by Euclidean distance."""
        if k < 1:
            raise UsageError(f"k is {k}; it must be at least 1")
        if isinstance(term, str):
            own = self.terms.id(term)
            query = self.vectors[own]
        else:
            own, query = -1, np.asarray(term, np.float32)
            if query.shape != (self.vectors.shape[1],) or not np.isfinite(query).all():
                raise UsageError(f"the vector must have {self.vectors.shape[1]} finite numbers")
        ids, distances = search.nearest(self.vectors, query, k, own)
        return [Neighbour(self.terms[i], float(distance), self.label(i)) for i, distance in zip(ids.tolist(), distances, strict=True)]

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Writes an embedding directory, whole or not at all; `force` replaces one that is there."""
        contents: dict[str, Content] = {
            "vectors.npy": self.vectors,
            "terms.txt": self.terms.blob.data,
            "term_offsets.npy": self.terms.offsets,
            "types.npy": self.types,
            "triples.npy": self.triples,
            "labels.txt": self.labels.blob.data,
            "label_offsets.npy": self.labels.offsets,
            "labelled.npy": self.labelled,
        }
        manifest = {key: value for key, value in self.manifest.items() if key != "files"}
        store.save(Path(path), contents, manifest, force)


def load(path: str | os.PathLike[str]) -> Embedding:
    """Opens an embedding directory."""
    arrays, manifest = store.load(Path(path))
    return Embedding(
        vectors=arrays["vectors.npy"],
        terms=Terms(arrays["terms.txt"], arrays["term_offsets.npy"]),
        types=arrays["types.npy"],
        triples=arrays["triples.npy"],
        labels=Texts(arrays["labels.txt"], arrays["label_offsets.npy"]),
        labelled=arrays["labelled.npy"],
        manifest=manifest,
    )
