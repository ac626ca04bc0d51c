"""PYKE as a transformer of scikit-learn: terms in, vectors out."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

import numpy as np

from pyke.config import RDF_TYPE, Config
from pyke.core.arrays import Floats
from pyke.embedding.embedding import Embedding
from pyke.errors import DataError, MissingLibrary, PykeError, UnknownTerm, UsageError
from pyke.pipeline.embed import embed
from pyke.read.objects import Source

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise MissingLibrary("scikit-learn", "pyke.sklearn", "sklearn") from None

UNKNOWN = ("error", "zeros")


class PykeEmbedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Embeds a graph; then turns terms into their vectors.

    In a pipeline the samples are terms, and the graph is a parameter: `PykeEmbedder(graph)`. On its own, `fit` takes the graph.
    Whatever is to be predicted must not be in the graph: leave out the triples that say it.

    Parameters
    ----------
    graph : what `pyke.embed` takes; None: what `fit` is given.
    unknown : for terms without a vector "error", or "zeros".
    random_state : the seed; a RandomState or None draws one.
    dimensions, similarity, k, repellers, … : as in `pyke.Config`.

    Attributes
    ----------
    embedding_ : the `pyke.Embedding` that was made.

    Examples
    --------
    >>> from pyke.sklearn import PykeEmbedder
    >>> family = PykeEmbedder(dimensions=10).fit("examples/father.ttl")
    >>> family.transform(["http://example.com/father#anna", "http://example.com/father#heinz"]).shape
    (2, 10)
    """

    def __init__(
        self,
        graph: Source | None = None,
        *,
        dimensions: int = 50,
        similarity: str = "context",
        k: int = 45,
        repellers: int = 5,
        omega: float = 1.0,
        energy_release: float = 0.0414,
        max_iterations: int = 1000,
        epsilon: float = 1e-3,
        on_error: str = "stop",
        lenient: bool = False,
        keep_duplicates: bool = False,
        count_literals: bool = False,
        type_predicate: str = RDF_TYPE,
        threads: int = 0,
        unknown: str = "error",
        random_state: Any = 0,
    ) -> None:
        self.graph = graph
        self.dimensions = dimensions
        self.similarity = similarity
        self.k = k
        self.repellers = repellers
        self.omega = omega
        self.energy_release = energy_release
        self.max_iterations = max_iterations
        self.epsilon = epsilon
        self.on_error = on_error
        self.lenient = lenient
        self.keep_duplicates = keep_duplicates
        self.count_literals = count_literals
        self.type_predicate = type_predicate
        self.threads = threads
        self.unknown = unknown
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803, ARG002
        """Embeds the graph: the parameter, or X if there is none."""
        if self.unknown not in UNKNOWN:
            raise UsageError(
                f"unknown is {self.unknown!r}; it must be one of: {', '.join(UNKNOWN)}"
            )
        known = {field.name for field in fields(Config)}
        parameters = {
            name: value for name, value in self.get_params(deep=False).items() if name in known
        }
        self.embedding_: Embedding = embed(
            X if self.graph is None else self.graph, seed=_seed(self.random_state), **parameters
        )
        self._n_features_out = self.dimensions
        return self

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """The vectors of terms, given by IRI, prefixed name or label: a list, a series, an array or a frame of one column."""
        check_is_fitted(self, "embedding_")
        found = self.embedding_.lookup().find_all(_names(X))
        for name in found:
            if isinstance(name, PykeError) and not (
                isinstance(name, UnknownTerm) and self.unknown == "zeros"
            ):
                raise name
        ids = np.array([-1 if isinstance(name, PykeError) else name for name in found], np.int64)
        vectors = np.zeros((len(ids), self.embedding_.vectors.shape[1]), np.float32)
        vectors[ids >= 0] = self.embedding_.vectors[ids[ids >= 0]]
        return vectors

    def fit_transform(self, X: Any, y: Any = None) -> Floats:  # noqa: N803
        """The vectors of the terms X; of all terms of the graph, in the order of `embedding_.terms`, where X is the graph."""
        self.fit(X, y)
        return self.transform(X) if self.graph is not None else np.array(self.embedding_.vectors)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = tags.input_tags.string = True
        return tags


def _seed(random_state: Any) -> int:
    return int(
        random_state
        if isinstance(random_state, (int, np.integer))
        else check_random_state(random_state).randint(2**31)
    )


def _names(terms: Any) -> list[str]:
    """What the samples are called; one column, whatever it comes in."""
    array = np.asarray(terms, object)
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] != 1):
        raise DataError(f"the terms have the shape {array.shape}; there must be one column of them")
    names = array.ravel().tolist()
    for row, name in enumerate(names):
        if not isinstance(name, str):
            raise DataError(
                f"term {row} is {str(name)[:60]!r}, a {type(name).__name__}; terms are texts. Terms are counted from 0."
            )
    return names
