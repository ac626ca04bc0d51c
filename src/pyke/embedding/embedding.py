"""The embedding that users hold, and everything they can do with it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from pyke.config import thread_count
from pyke.core.arrays import Floats, positions
from pyke.core.files import Content
from pyke.core.progress import Progress
from pyke.embedding import store
from pyke.embedding.neighbours import Neighbourhoods, NeighbourList
from pyke.embedding.queries import allowed_terms, query_vectors
from pyke.embedding.vectors import TermVectors
from pyke.errors import UsageError

if TYPE_CHECKING:
    from pyke.read.objects import Source
    from pyke.use.clusters.describe import ClusterTable
    from pyke.use.export import Written
    from pyke.use.facts.facts import Facts
    from pyke.use.facts.suggest import Suggestions
    from pyke.use.maps import Drawn
    from pyke.use.types.explain import Explanation
    from pyke.use.types.predictions import Predictions


__all__ = ["Embedding", "Neighbourhoods", "load"]


@dataclass(frozen=True, eq=False, repr=False)
class Embedding(TermVectors):
    """Vectors of all terms of a graph. It is immutable; a loaded one maps its arrays from files.

    Wherever a method takes a term, it takes an IRI, a prefixed name, a label, or a local name that
    only one term has.

    Examples
    --------
    >>> import pyke
    >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
    >>> e
    <pyke.Embedding: 16 terms × 10 dimensions, 18 triples, 9 typed subjects, 4 classes>
    >>> e["anna"].shape, "anna" in e, "nobody" in e
    ((10,), True, False)
    """

    @overload
    def nearest(
        self,
        term: str | Floats | list[float],
        k: int = ...,
        *,
        among: str | None = ...,
        predicates: bool = ...,
    ) -> NeighbourList: ...
    @overload
    def nearest(
        self,
        term: list[str] | tuple[str, ...],
        k: int = ...,
        *,
        among: str | None = ...,
        predicates: bool = ...,
    ) -> list[NeighbourList]: ...
    def nearest(
        self, term: Any, k: int = 10, *, among: str | None = None, predicates: bool = False
    ) -> NeighbourList | list[NeighbourList]:
        """Return the k terms closest to a term (without itself) or vector, nearest first.

        A list of terms gives a list of results in the same order. For arrays and for very many
        queries use `nearest_of_many`. Distances are Euclidean.

        Parameters
        ----------
        term
            A term, a list of terms, or a vector.
        k
            The number of neighbours.
        among
            A class: only terms of this type.
        predicates
            Only predicates.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> [neighbour.term for neighbour in e.nearest("anna", among="female")]
        ['http://example.com/father#michelle']
        >>> [near[0].term for near in e.nearest(["anna", "michelle"], k=1)]
        ['http://example.com/father#michelle', 'http://example.com/father#anna']
        """
        if isinstance(term, np.ndarray) and term.ndim > 1:
            raise UsageError("`term` is one vector; use nearest_of_many() for an array of vectors")
        several = isinstance(term, list | tuple) and all(isinstance(one, str) for one in term)
        one = [term] if isinstance(term, str) else np.atleast_1d(term)[None]
        found = self.nearest_of_many(
            term if several else one, k, among=among, predicates=predicates
        )
        lists = found.as_lists(self.lookup())
        return lists if several else lists[0]

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
        """Return the k terms closest to each of many queries, as arrays.

        Parameters
        ----------
        queries
            Terms, an array of ids, or an array with one vector per row.
        k, among, predicates
            As in `nearest`.
        exact
            True for an exact search, False for an index, None for the faster one. The recall of
            an index is measured.
        threads
            The number of threads; None for all cores.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> e.nearest_of_many(["anna", "heinz"], k=3).ids.shape
        (2, 3)
        """
        from pyke.use.neighbours import search

        if not isinstance(k, int | np.integer) or k < 1:
            raise UsageError(f"`k` is {k!r}; it must be a whole number, at least 1")
        asked, vectors = query_vectors(self, queries)
        chosen = allowed_terms(self, among, predicates)
        points = self.vectors if chosen is None else self.vectors[chosen]
        found = search.nearest_of_many(
            points,
            vectors,
            min(k, len(points)),
            asked if chosen is None else positions(asked, chosen),
            exact=exact,
            threads=thread_count(threads),
            progress=progress,
        )
        ids = found.ids if chosen is None else np.where(found.ids < 0, -1, chosen[found.ids])
        distances = np.sqrt(found.squares)
        return Neighbourhoods(
            ids, distances, found.exact, found.recall, asked.astype(np.int32), self.terms
        )

    def export(
        self,
        target: str | os.PathLike[str] | None = None,
        to: str | None = None,
        *,
        only: str = "all",
        **options: Any,
    ) -> Written:
        """Write the embedding for another program. A failed export leaves the target unchanged.

        Parameters
        ----------
        target
            The file or directory to write. Its extension gives the format, unless `to` is given.
            None for a database.
        to
            A name in `pyke.export.FORMATS`: parquet, csv, word2vec, postgres …
        only
            all, typed (subjects), entities (neither predicates nor classes), or predicates.
        **options
            `progress`, and the fields of `pyke.export.Options`: force, threads; neighbours,
            layout, clusters (for atlas); dsn, table, index (for postgres).

        Examples
        --------
        >>> import pyke, tempfile
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
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
        """Draw a map to .png, .svg, .pdf or .html, and return what it shows.

        With `animate`, draw an animation of the simulation to .gif, .mp4 or .html. `view` is any
        field of `pyke.maps.View`, for example three_d=True, only_types=["Person"], sample=5000.

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
        """Cluster the entities by density (HDBSCAN), and describe each cluster.

        `typed` clusters only entities with a type.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10)
        >>> len(e.clusters().clusters)  # six people are too few
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
        """Predict missing types, each with a measured confidence.

        The graph is embedded once more, without its types. `options` are those of
        `pyke.use.types.predict.predict_types`: mu, min_confidence, precision, unmeasured,
        only_untyped, exact, threads, progress.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> found = e.predict_types(mu=2, only_untyped=False, min_confidence=0.9)
        >>> found.asked, len(found)  # too few examples for this confidence
        (9, 0)
        """
        from pyke.use.types.predict import predict_types

        return predict_types(self, **options)

    def complete(self, predicates: Sequence[str] | None = None, **options: Any) -> Facts:
        """Predict facts that entities lack but similar entities have, each with a confidence.

        The graph is embedded twice more. `options` are those of
        `pyke.use.facts.complete.complete`: mu, min_confidence, precision, unmeasured, exact,
        threads, progress.

        Examples
        --------
        >>> import pyke
        >>> import pandas as pd
        >>> rows = [(f"e:p{n}", "e:lives", f"e:town{n % 2}") for n in range(39)]
        >>> rows += [(f"e:p{n}", "e:votes", f"e:town{n % 2}") for n in range(40)]
        >>> e = pyke.embed(pd.DataFrame(rows), dimensions=10)
        >>> [(fact.term, fact.object) for fact in e.complete(["lives"], min_confidence=0.5)]
        [('e:p39', 'e:town1')]
        """
        from pyke.use.facts.complete import complete

        return complete(self, predicates, **options)

    def suggest(self, term: str, mu: int | None = None) -> Suggestions:
        """Suggest predicates that an entity lacks but similar entities have.

        The graph is embedded twice more.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> e.suggest("michelle").term
        'http://example.com/father#michelle'
        """
        from pyke.use.facts.suggest import suggest

        return suggest(self, term, mu=mu)

    def explain(self, term: str, mu: int | None = None) -> Explanation:
        """Explain the predicted types of a term: who votes, and what the voters share with it.

        The graph is embedded once more, without its types.

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
        """Return the embedding of the graph with triples added and removed.

        `added` and `removed` are sources as in `pyke.embed`. Other vectors stay unchanged.

        Examples
        --------
        >>> import pyke
        >>> import pandas as pd
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> father = "http://example.com/father#"
        >>> row = (f"{father}anna", f"{father}hasChild", f"{father}otto")
        >>> len(e.update(pd.DataFrame([row]))) - len(e)
        1
        """
        from pyke.pipeline.update import update

        return update(self, added, removed, **reading)

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write an embedding directory; `force` replaces an existing one.

        Examples
        --------
        >>> import pyke, tempfile
        >>> e = pyke.embed("examples/father.ttl", dimensions=10)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     e.save(f"{folder}/out")
        ...     len(pyke.load(f"{folder}/out"))
        16
        """
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
        if len(self.term_clusters):
            contents["clusters.npy"] = self.term_clusters
        if len(self.features):
            contents |= {
                "features.npy": self.features.rows,
                "feature_keys.npy": self.features.keys,
                "feature_bins.npy": self.features.bins,
            }
        manifest = {key: value for key, value in self.manifest.items() if key != "files"}
        store.save(Path(path), contents, manifest, force)


def load(path: str | os.PathLike[str]) -> Embedding:
    """Open an embedding directory. Its arrays are mapped, and checked when they are first used.

    Examples
    --------
    >>> import pyke, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pyke.embed("examples/father.ttl", dimensions=10).save(f"{folder}/out")
    ...     pyke.load(f"{folder}/out").dimensions
    10
    """
    return Embedding.stored(store.load(Path(path)))
