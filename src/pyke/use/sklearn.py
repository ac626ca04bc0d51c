"""PYKE as a scikit-learn transformer: terms in, vectors out."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np

from pyke.config import SETTINGS
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

# All settings but the seed, which scikit-learn calls random_state.
_SETTINGS = {one.name: one.default for one in SETTINGS if one.name != "seed"}
_PARAMETERS = {"graph": None, **_SETTINGS, "unknown": "error", "random_state": 0}


def _signature() -> inspect.Signature:
    """The signature of PykeEmbedder, from the table of settings; scikit-learn reads it."""
    first, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("self", first)]
    for name, default in _PARAMETERS.items():
        kind = first if name == "graph" else keyword
        parameters.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(parameters)


class PykeEmbedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Embed a graph, then transform terms to their vectors.

    In a pipeline the samples are terms and the graph is a parameter: `PykeEmbedder(graph)`.
    On its own, `fit` takes the graph. Remove the triples that state what you want to predict.

    Parameters
    ----------
    graph : the source, as for `pyke.embed`; None: `fit` receives it.
    unknown : for terms without a vector: "error" or "zeros".
    random_state : the seed; a RandomState or None draws one.
    dimensions, similarity, k, … : every setting of `pyke.Config` except the seed.

    Attributes
    ----------
    embedding_ : the resulting `pyke.Embedding`.

    Examples
    --------
    >>> from pyke.sklearn import PykeEmbedder
    >>> family = PykeEmbedder(dimensions=10).fit("examples/father.ttl")
    >>> family.transform(["http://example.com/father#anna"]).shape
    (1, 10)
    """

    def __init__(self, graph: Source | None = None, **parameters: Any) -> None:
        if wrong := parameters.keys() - _PARAMETERS.keys():
            raise TypeError(f"PykeEmbedder has no parameter {min(wrong)!r}")
        self.graph = graph
        for name, default in _PARAMETERS.items():
            if name != "graph":
                setattr(self, name, parameters.get(name, default))

    __init__.__signature__ = _signature()  # type: ignore[attr-defined]

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803, ARG002
        """Embed the graph: the parameter `graph`, or X if it is None."""
        if self.unknown not in UNKNOWN:
            raise UsageError(
                f"`unknown` is {self.unknown!r}; it must be one of: {', '.join(UNKNOWN)}"
            )
        settings = {name: getattr(self, name) for name in _SETTINGS}
        self.embedding_: Embedding = embed(
            X if self.graph is None else self.graph, seed=_seed(self.random_state), **settings
        )
        self._n_features_out = self.dimensions
        return self

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """The vectors of terms: a list, a series, an array or a data frame with one column."""
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
        """The vectors of the terms X; if X is the graph, of all `embedding_.terms`, in order."""
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
    """The samples as strings."""
    array = np.asarray(terms, object)
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] != 1):
        raise DataError(f"the terms have shape {array.shape}; they must be one column")
    names = array.ravel().tolist()
    for row, name in enumerate(names):
        if not isinstance(name, str):
            raise DataError(
                f"term {row} is {str(name)[:60]!r}, a {type(name).__name__}; it must be a string"
            )
    return names
