"""Vectors with names: the data of an embedding, found by term."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, SupportsIndex

import numpy as np

from pyke.config import Config
from pyke.core.arrays import Floats, Ids
from pyke.core.notebook import data_frame, html_table
from pyke.embedding import origin
from pyke.embedding.lookup import Lookup, texts_at
from pyke.embedding.queries import as_vectors, check_ids
from pyke.embedding.store import PARTS, Store
from pyke.errors import UsageError
from pyke.graph.features import NO_FEATURES, Features
from pyke.graph.graph import NO_CLUSTERS, Graph
from pyke.graph.terms import Terms, Texts

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 5  # terms, and numbers of each vector, in a notebook


@dataclass(frozen=True, eq=False)
class TermVectors:
    """The arrays of an embedding, which cannot be written, and the vectors by term."""

    vectors: Floats
    terms: Terms
    types: Ids  # (n, 2): subject, class
    triples: Ids  # (n, 3): subject, predicate, object; −1 where the object is a literal
    labels: Texts
    labelled: Ids  # the term of each label, ascending
    manifest: dict[str, Any] = field(repr=False)
    # The cluster of each term, −1 for none; empty if the embedding was made without clusters.
    term_clusters: Ids = field(default_factory=lambda: NO_CLUSTERS)
    features: Features = field(default_factory=lambda: NO_FEATURES, repr=False)  # of literals

    def __post_init__(self) -> None:
        for name in ("vectors", "types", "triples", "labelled", "term_clusters"):
            view = getattr(self, name).view()  # the caller may continue to write to its own array
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    @classmethod
    def stored(cls, store: Store) -> Self:
        """An embedding whose fields are checked when they are first used."""
        loaded = cls.__new__(cls)
        object.__setattr__(loaded, "manifest", store.manifest)
        object.__setattr__(loaded, "_store", store)
        return loaded

    if not TYPE_CHECKING:  # for type checkers, other attributes do not exist

        def __getattr__(self, name: str) -> Any:
            """Take a field from the store; called only if it is not set yet."""
            if name not in PARTS or "_store" not in vars(self):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            object.__setattr__(self, name, PARTS[name](self._store))
            return vars(self)[name]

    def __len__(self) -> int:
        return len(self.terms)

    def __contains__(self, term: object) -> bool:
        return isinstance(term, str) and isinstance(self.lookup().find_all([term])[0], int)

    def __iter__(self) -> Iterator[str]:
        return iter(self.terms)

    def __getitem__(self, term: str) -> Floats:
        if not isinstance(term, str):
            raise UsageError(f"{term!r} is not the name of a term; rows by number are in .vectors")
        vector: Floats = self.vectors[self.lookup().find(term)]
        return vector

    def __repr__(self) -> str:
        census = self.manifest.get("census", {})
        return (
            f"<pyke.Embedding: {len(self):,} terms × {self.dimensions} dimensions, "
            f"{census.get('triples', 0):,} triples, "
            f"{census.get('typed_subjects', 0):,} typed subjects, "
            f"{census.get('classes', 0):,} classes>"
        )

    def _repr_html_(self) -> str:
        """Return a table for notebooks: the first terms with the first numbers of their vectors."""
        dots = " …" if self.dimensions > SHOWN else ""
        rows = [
            (self.terms[at], self.label(at), " ".join(f"{x:.3f}" for x in vector) + dots)
            for at, vector in enumerate(self.vectors[:SHOWN, :SHOWN])
        ]
        headers = ["term", "label", "vector"]
        return html_table(headers, rows, title=repr(self), more=len(self) - SHOWN)

    @property
    def dimensions(self) -> int:
        """The number of dimensions of the vectors."""
        return int(self.vectors.shape[1])

    @property
    def predicates(self) -> Ids:
        """The ids of the predicates, ascending."""
        return origin.predicates_of(self)

    @property
    def classes(self) -> Ids:
        """The ids of the terms that are used or declared as classes, ascending."""
        return origin.classes_of(self)

    @property
    def entities(self) -> Ids:
        """The ids of the terms that are neither predicates nor classes, ascending."""
        return origin.entities_of(self)

    def config(self, **changes: Any) -> Config:
        """Return the settings of this embedding for another run, with changes.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10)
        >>> e.config(seed=3).dimensions, e.config(seed=3).seed
        (10, 3)
        """
        return origin.config_of(self, changes)

    def graph(self) -> Graph:
        """Return the graph of this embedding.

        Examples
        --------
        >>> import pyke
        >>> len(pyke.embed("examples/father.ttl", dimensions=10).graph())
        18
        """
        return origin.graph_of(self)

    def lookup(self, prefixes: Mapping[str, str] | None = None) -> Lookup:
        """Return the object that finds terms by name; `prefixes` override the well-known ones.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10)
        >>> e.terms[e.lookup({"f": "http://example.com/father#"}).find("f:anna")]
        'http://example.com/father#anna'
        """
        return Lookup(self.terms, self.labels, self.labelled, prefixes or {})

    def label(self, term: str | SupportsIndex) -> str | None:
        """Return the label of a term, given by name or id, or None if the graph has no label.

        Examples
        --------
        >>> import pyke
        >>> print(pyke.embed("examples/father.ttl", dimensions=10).label("anna"))
        None
        """
        lookup = self.lookup()
        if isinstance(term, str):
            return lookup.label(lookup.find(term))
        try:
            at = operator.index(term)
        except TypeError:
            raise UsageError(f"`term` is {term!r}; it must be a name or an id") from None
        check_ids(self, np.array([at]))
        return lookup.label(at)

    def distance(self, a: str | Floats, b: str | Floats) -> float:
        """Return the Euclidean distance between two terms or vectors.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> e.distance("anna", "michelle") == e.nearest("anna", k=1)[0].distance
        True
        """
        one, other = (self[x] if isinstance(x, str) else as_vectors(self, [x])[0] for x in (a, b))
        difference = (one - other)[None]
        return float(np.sqrt(np.einsum("ij,ij->i", difference, difference))[0])

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with one row per term: `label`, `types`, and the vector `d0`, `d1`, …

        `types` is a tuple of IRIs. pandas must be installed.

        Examples
        --------
        >>> import pyke
        >>> frame = pyke.embed("examples/father.ttl", dimensions=2, seed=7).to_pandas()
        >>> frame.loc["http://example.com/father#anna", "types"]
        ('http://example.com/father#female',)
        >>> list(frame.columns)
        ['label', 'types', 'd0', 'd1']
        """
        types: list[tuple[str, ...]] = [()] * len(self)
        for subject, kind in zip(
            self.types[:, 0].tolist(), texts_at(self.terms, self.types[:, 1]), strict=True
        ):
            types[subject] += (kind,)
        labels = self.lookup().labels_of(np.arange(len(self), dtype=np.int32))
        numbers = {f"d{i}": self.vectors[:, i] for i in range(self.dimensions)}
        frame = data_frame({"label": labels, "types": types} | numbers, index=list(self.terms))
        return frame.rename_axis("term")
