"""What a user holds: vectors with their terms, types and labels."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config, thread_count
from pyke.core.arrays import Floats, Ids, positions
from pyke.core.files import Content
from pyke.core.progress import Progress
from pyke.embedding import store
from pyke.embedding.lookup import Lookup
from pyke.errors import DamagedStore, UnknownTerm, UsageError
from pyke.graph.graph import LITERAL, Census, Graph, Problem
from pyke.graph.terms import Terms, Texts

if TYPE_CHECKING:
    from pyke.read.objects import Source
    from pyke.use.clusters.describe import ClusterTable
    from pyke.use.export import Written
    from pyke.use.maps import Drawn
    from pyke.use.types.explain import Explanation
    from pyke.use.types.predictions import Predictions


_SUBCLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
_CLASSES = ("http://www.w3.org/2000/01/rdf-schema#Class", "http://www.w3.org/2002/07/owl#Class")
SHOWN = 5  # terms, and numbers of each vector, in a notebook


@dataclass(frozen=True)
class Neighbour:
    """A term close to another."""

    term: str
    distance: float
    label: str | None


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """The nearest terms of many queries, a row each, nearest first; −1 and infinity where there are no more."""

    ids: Ids  # (queries, k); fewer columns, if there are fewer than k terms
    distances: Floats  # as ids
    exact: bool
    recall: float  # the part of the true neighbours that is among them; 1 if exact


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

    def __post_init__(self) -> None:
        for name in ("vectors", "types", "triples", "labelled"):
            view = getattr(self, name).view()  # whoever made the array may go on with it
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    def __len__(self) -> int:
        return len(self.terms)

    def __contains__(self, term: object) -> bool:
        return term in self.terms

    def __iter__(self) -> Iterator[str]:
        return iter(self.terms)

    def __getitem__(self, term: str) -> Floats:
        if not isinstance(term, str):
            raise UsageError(
                f"an embedding is asked by term, not by {term!r}; rows by number are in .vectors"
            )
        vector: Floats = self.vectors[self.terms.id(term)]
        return vector

    def __repr__(self) -> str:
        census = self.manifest.get("census", {})
        return (f"<pyke.Embedding: {len(self):,} terms × {self.vectors.shape[1]} dimensions, {census.get('triples', 0):,} triples, "
                f"{census.get('typed_subjects', 0):,} typed subjects, {census.get('classes', 0):,} classes>")  # fmt: skip

    def _repr_html_(self) -> str:
        """For notebooks: the first terms, with the beginnings of their vectors."""
        rows = ""
        for at, vector in enumerate(self.vectors[:SHOWN, :SHOWN]):
            numbers = " ".join(f"{number:.3f}" for number in vector) + (
                " …" if self.vectors.shape[1] > SHOWN else ""
            )
            rows += f"<tr><td>{html.escape(self.terms[at])}</td><td>{html.escape(self.label(at) or '')}</td><td>{numbers}</td></tr>"
        more = f"<tr><td>… {len(self) - SHOWN:,} more</td></tr>" if len(self) > SHOWN else ""
        return f"<p>{html.escape(repr(self))}</p><table><tr><th>term</th><th>label</th><th>vector</th></tr>{rows}{more}</table>"

    def label(self, term_id: int) -> str | None:
        """The label that the graph gives a term."""
        return self.lookup().label(term_id)

    def lookup(self, prefixes: Mapping[str, str] | None = None) -> Lookup:
        """Finds terms by IRI, prefixed name or label; prefixes beside the well-known ones can be given.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10)
        >>> e.terms[e.lookup({"f": "http://example.com/father#"}).find("f:anna")]
        'http://example.com/father#anna'
        """
        return Lookup(self.terms, self.labels, self.labelled, prefixes or {})

    @property
    def predicates(self) -> Ids:
        """The ids of the terms that are predicates, ascending."""
        present = np.zeros(len(self), bool)
        present[self.triples[:, 1]] = True
        return np.flatnonzero(present).astype(np.int32)

    @property
    def classes(self) -> Ids:
        """The ids of the terms that are used as classes, or said to be some, ascending."""
        find, (subjects, predicates, objects) = self.terms.find, self.triples.T
        below = predicates == find(_SUBCLASS)
        said = np.isin(self.types[:, 1], [find(kind) for kind in _CLASSES])
        used = objects[
            predicates == find(self.config().type_predicate)
        ]  # of predicates, too, which `types` leaves out
        found = np.concatenate(
            [used, subjects[below], objects[below], self.types[said, 0], self.types[:, 1]]
        )
        return np.unique(found[found != LITERAL])

    @property
    def entities(self) -> Ids:
        """The ids of the terms that are neither predicates nor classes, ascending."""
        present = np.ones(len(self), bool)
        present[self.predicates] = False
        present[self.classes] = False
        return np.flatnonzero(present).astype(np.int32)

    def config(self, **changes: Any) -> Config:
        """The settings that it was made with, for another run: on all cores, for files of any syntax, and with whatever is changed."""
        try:
            made = asdict(
                Config(
                    **(
                        self.manifest["config"]
                        | {"threads": 0, "memory": None, "format": None, "base": None}
                    )
                )
            )
        except (KeyError, TypeError, UsageError) as error:
            raise DamagedStore(
                f"the manifest does not tell the settings of the embedding: {error}. `pyke verify` checks the directory."
            ) from None
        return Config.preset(
            "default",
            **made | {name: value for name, value in changes.items() if value is not None},
        )

    def graph(self) -> Graph:
        """The graph that was embedded."""
        subjects, used, objects = (np.ascontiguousarray(column) for column in self.triples.T)
        types, labelled = np.array(self.types), np.array(self.labelled)
        for ids, least in ((subjects, 0), (used, 0), (objects, LITERAL), (types, 0), (labelled, 0)):
            if ids.size and not least <= ids.min() <= ids.max() < len(
                self
            ):  # kernels do not look where they write
                raise DamagedStore(
                    "there are triples, types or labels of terms that are not there. `pyke verify` checks the directory."
                )
        predicates = self.predicates
        positions = np.zeros(len(self), np.int32)
        positions[predicates] = np.arange(len(predicates), dtype=np.int32)
        try:
            counts = dict(self.manifest["census"])
            problems = [Problem(*problem.split(": ", 1)) for problem in counts.pop("first_errors")]
            census = Census(**counts, problems=problems)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedStore(
                f"the manifest does not tell what was counted: {error}. `pyke verify` checks the directory."
            ) from None
        return Graph(
            self.terms,
            subjects,
            positions[used],
            objects,
            predicates,
            types,
            self.labels,
            labelled,
            census,
        )

    def nearest(
        self, term: str | Floats, k: int = 10, *, among: str | None = None, predicates: bool = False
    ) -> list[Neighbour]:
        """The k terms closest to a term (without itself) or to a vector, by Euclidean distance.

        A term is given by IRI, prefixed name or label. `among` names a class: only terms of that type; `predicates`: only predicates.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> {neighbour.term for neighbour in e.nearest("http://example.com/father#anna", among="http://example.com/father#female")}
        {'http://example.com/father#michelle'}
        """
        query = [term] if isinstance(term, str) else np.atleast_1d(term)[None]
        found = self.nearest_of_many(query, k, among=among, predicates=predicates)
        return [
            Neighbour(self.terms[i], float(distance), self.label(i))
            for i, distance in zip(found.ids[0].tolist(), found.distances[0], strict=True)
            if i >= 0
        ]

    def nearest_of_many(
        self,
        queries: Sequence[str] | NDArray[Any],
        k: int = 10,
        *,
        among: str | None = None,
        predicates: bool = False,
        exact: bool | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Neighbourhoods:
        """The k terms closest to each of many: names of terms, their ids (an array of integers), or vectors (an array with a row each).

        Exact, or by an index where that takes less time, unless `exact` says which; the recall of an index is measured.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> e.nearest_of_many(["http://example.com/father#anna", "http://example.com/father#heinz"], k=3).ids.shape
        (2, 3)
        """
        from pyke.use.neighbours import search

        if k < 1:
            raise UsageError(f"k is {k}; it must be at least 1")
        own, vectors = self._queries(queries)
        chosen = self._chosen(among, predicates)
        points = self.vectors if chosen is None else self.vectors[chosen]
        if chosen is not None:
            own = positions(own, chosen)
        found = search.nearest_of_many(
            points,
            vectors,
            min(k, len(points)),
            own,
            exact=exact,
            threads=thread_count(threads),
            progress=progress,
        )
        ids = found.ids if chosen is None else np.where(found.ids < 0, -1, chosen[found.ids])
        return Neighbourhoods(ids, np.sqrt(found.squares), found.exact, found.recall)

    def _queries(self, queries: Sequence[str] | NDArray[Any]) -> tuple[NDArray[np.int64], Floats]:
        """(the id of each query or −1, its vector)."""
        if isinstance(queries, str):
            raise UsageError(f"many terms are asked for as a list, not as {queries!r}")
        if not isinstance(queries, np.ndarray) and all(isinstance(name, str) for name in queries):
            found = self.lookup().find_all(queries)
            for name, term in zip(queries, found, strict=True):
                if not isinstance(term, int):
                    self.lookup().find(name)  # says what is wrong
            queries = np.array(found, np.int64)
        if (
            isinstance(queries, np.ndarray)
            and queries.ndim == 1
            and np.issubdtype(queries.dtype, np.integer)
        ):
            if len(queries) and not 0 <= queries.min() <= queries.max() < len(self):
                raise UnknownTerm(
                    f"ids of terms are 0 to {len(self) - 1:,}; {queries.min()} to {queries.max()} were asked for"
                )
            return queries.astype(np.int64), self.vectors[queries]
        try:
            with np.errstate(over="ignore"):  # too large becomes infinite, and is refused
                vectors = np.asarray(queries, np.float32)
        except (TypeError, ValueError):
            vectors = np.zeros(0, np.float32)
        if (
            vectors.ndim != 2
            or vectors.shape[1] != self.vectors.shape[1]
            or not np.isfinite(vectors).all()
        ):
            raise UsageError(f"the vector must have {self.vectors.shape[1]} finite numbers")
        return np.full(len(vectors), -1, np.int64), vectors

    def _chosen(self, among: str | None, predicates: bool) -> Ids | None:
        """The ids of the terms that may be neighbours, ascending; None for all."""
        if among is None:
            return self.predicates if predicates else None
        if predicates:
            raise UsageError(
                "among a class there are no predicates: types are kept of the other terms. Ask for one or the other."
            )
        return np.unique(
            self.types[self.types[:, 1] == self.lookup().find_class(among, self.types), 0]
        )

    def export(
        self,
        target: str | os.PathLike[str] | None = None,
        to: str | None = None,
        *,
        only: str = "all",
        **options: Any,
    ) -> Written:
        """Writes the embedding for another program, whole or not at all.

        Parameters
        ----------
        target
            The file or directory to write; its ending tells the format, unless `to` does. None for a database.
        to
            A name in `pyke.export.FORMATS`: parquet, csv, word2vec, postgres …
        only
            all; typed (subjects); entities (neither predicates nor classes); predicates.
        **options
            Those of `pyke.export.Options`: force, threads; neighbours (atlas); dsn, table, index (postgres). And progress.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = e.export(f"{folder}/father.csv", only="predicates")
        >>> written.format, written.terms
        ('csv', 5)
        """
        from pyke.use.export import export

        return export(self, target, to, only=only, **options)

    def plot(
        self,
        path: str | os.PathLike[str],
        *,
        animate: bool = False,
        force: bool = False,
        progress: Progress | None = None,
        **view: Any,
    ) -> Drawn:
        """Writes a map (.png, .svg, .pdf, .html) or, with `animate`, a film of the annealing (.gif, .mp4, .html); what it shows.

        `view` is any field of `pyke.maps.View`, for example three_d=True, only_types=["Person"], highlight=["http://e/anna"], sample=5000.

        Examples
        --------
        >>> import pyke, tempfile
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [(group.name, group.count) for group in e.plot(f"{folder}/map.png").legend]
        [('male', 4), ('Class', 3), ('female', 2), ('no type', 7)]
        """
        from pyke.use.maps import View, draw

        return draw(self, Path(path), View(**view), animate=animate, force=force, progress=progress)

    def clusters(
        self,
        min_cluster_size: int = 26,
        min_samples: int = 29,
        *,
        typed: bool = False,
        exact: bool | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> ClusterTable:
        """Clusters of the terms that are no predicates and no classes, by density (HDBSCAN), each described; `typed`: of terms with a type.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10)
        >>> len(e.clusters().clusters)  # six people are too few for one
        0
        """
        from pyke.use.clusters.describe import cluster

        return cluster(
            self,
            min_cluster_size,
            min_samples,
            typed=typed,
            exact=exact,
            threads=threads,
            progress=progress,
        )

    def predict_types(self, **options: Any) -> Predictions:
        """Types that terms lack, each with the chance that it is right; measuring that takes at least one more embedding.

        `options` are those of `pyke.prediction.predict_types`: mu, min_confidence, precision, only_untyped, calibration, exact, threads, progress.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> found = e.predict_types(mu=2, only_untyped=False, min_confidence=0.9)
        >>> found.asked, len(found)  # so few examples make nobody so sure
        (9, 0)
        """
        from pyke.use.types.predict import predict_types

        return predict_types(self, **options)

    def explain(self, term: str, mu: int = 10) -> Explanation:
        """Which typed neighbours vote for the types of a term, given by IRI, prefixed name or label, and what it has in common with them.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> why = e.explain("http://example.com/father#anna", mu=4)
        >>> len(why.voters), why.shared[0].predicate
        (4, 'http://example.com/father#hasChild')
        """
        from pyke.use.types.explain import explain

        return explain(self, term, mu)

    def update(
        self, added: Source | None = None, removed: Source | None = None, **reading: Any
    ) -> Embedding:
        """The embedding of the graph with some triples more and some less, which are whatever `pyke.embed` takes; the rest rests."""
        from pyke.pipeline.update import update

        return update(self, added, removed, **reading)

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
