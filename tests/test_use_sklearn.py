"""The scikit-learn transformer: scikit-learn's own checks, pipelines, unknown terms."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import pyke
from graphs import CRAFTS, TYPE, crafts
from pyke.errors import DataError, UnknownTerm, UsageError
from pyke.use.sklearn import PykeEmbedder

# X is a graph or a list of terms. These checks fit a matrix of numbers, or require
# scikit-learn's own words for refusing one. The tests below cover what applies here.
WITH_NUMBERS = """
    fit_score_takes_y estimators_overwrite_params dont_overwrite_parameters
    estimators_fit_returns_self readonly_memmap_input n_features_in_after_fitting
    positive_only_tag_during_fit estimators_dtypes complex_data dtype_object
    estimators_empty_data_messages pipeline_consistency estimators_nan_inf estimator_sparse_tag
    estimator_sparse_array estimator_sparse_matrix estimators_pickle
    f_contiguous_array_estimator transformer_data_not_an_array transformer_general
    transformer_preserve_dtypes methods_sample_order_invariance methods_subset_invariance
    fit2d_1sample fit2d_1feature dict_unchanged fit_idempotent fit_check_is_fitted n_features_in
    fit2d_predict1d
"""
EXPECTED = {
    f"check_{name}": "X is a graph or a list of terms, never a matrix of numbers"
    for name in WITH_NUMBERS.split()
}


@parametrize_with_checks([PykeEmbedder()], expected_failed_checks=lambda _: EXPECTED)  # type: ignore[untyped-decorator]
def test_the_checks_of_scikit_learn_that_apply_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def untyped() -> pd.DataFrame:
    """The crafts without a word of who has which."""
    rows = [
        line.removesuffix(" .").split(" ", 2) for line in crafts().splitlines() if TYPE not in line
    ]
    return pd.DataFrame(rows, columns=["subject", "predicate", "object"])


@pytest.fixture(scope="module")
def people() -> tuple[list[str], list[str]]:
    """Who there is, and their crafts."""
    return [f"http://e/{craft}/{m}" for craft in CRAFTS for m in range(20)], [
        craft for craft in CRAFTS for _ in range(20)
    ]


def test_a_pipeline_predicts_crafts_that_the_graph_does_not_state(
    untyped: pd.DataFrame, people: tuple[list[str], list[str]]
) -> None:
    terms, truth = people
    pipeline = make_pipeline(
        PykeEmbedder(untyped, dimensions=10, random_state=1), LogisticRegression()
    )
    scores = cross_val_score(pipeline, np.array(terms), np.array(truth), cv=4)
    assert scores.mean() > 0.8  # chance is a third


def test_parameters_can_be_searched(
    untyped: pd.DataFrame, people: tuple[list[str], list[str]]
) -> None:
    pipeline = make_pipeline(PykeEmbedder(untyped, max_iterations=3), LogisticRegression())
    search = GridSearchCV(pipeline, {"pykeembedder__dimensions": [2, 5]}, cv=2, refit=False)
    search.fit(*people)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_vectors_are_those_of_embed(typed: Path) -> None:
    embedder = PykeEmbedder(dimensions=7, k=9, repellers=3, random_state=5).fit(typed)
    expected = pyke.embed(typed, dimensions=7, k=9, repellers=3, seed=5)
    assert embedder.embedding_.vectors.tobytes() == expected.vectors.tobytes()
    terms = ["http://e/smith/3", "http://e/knows", "http://e/smith/3"]
    assert np.array_equal(embedder.transform(terms), np.array([expected[term] for term in terms]))


@pytest.mark.parametrize(
    "turn",
    [
        list,
        np.array,
        pd.Series,
        lambda terms: pd.DataFrame({"term": terms}),
        lambda terms: np.array(terms)[:, None],
    ],
)
def test_terms_may_be_any_kind_of_column(typed: Path, turn: Any) -> None:
    embedder = PykeEmbedder(dimensions=4, max_iterations=2).fit(typed)
    terms = ["http://e/smith/3", "<http://e/knows>"]
    assert np.array_equal(embedder.transform(turn(terms)), embedder.transform(terms))


def test_no_terms_have_no_vectors(typed: Path) -> None:
    assert PykeEmbedder(dimensions=4, max_iterations=2).fit(typed).transform([]).shape == (0, 4)


def test_fit_transform_gives_all_vectors_of_a_graph_or_those_of_terms(typed: Path) -> None:
    every = PykeEmbedder(dimensions=4, max_iterations=2)
    vectors = every.fit_transform(typed)
    assert np.array_equal(vectors, every.transform(list(every.embedding_.terms)))
    some = PykeEmbedder(typed, dimensions=4, max_iterations=2).fit_transform(["http://e/knows"])
    assert np.array_equal(some[0], every.embedding_["http://e/knows"])


def test_a_term_without_a_vector_is_an_error_or_zeros(typed: Path) -> None:
    embedder = PykeEmbedder(dimensions=4, max_iterations=2).fit(typed)
    with pytest.raises(UnknownTerm, match="no term 'http://e/nobody'"):
        embedder.transform(["http://e/knows", "http://e/nobody"])
    vectors = embedder.set_params(unknown="zeros").transform(["http://e/knows", "http://e/nobody"])
    assert vectors[0].any()
    assert not vectors[1].any()


def test_invalid_parameters_are_refused_by_fit(typed: Path) -> None:
    with pytest.raises(UsageError, match="`unknown` is 'nan'; it must be one of: error, zeros"):
        PykeEmbedder(unknown="nan").fit(typed)
    with pytest.raises(UsageError, match="`dimensions` is 0"):
        PykeEmbedder(dimensions=0).fit(typed)


def test_terms_must_be_one_column_of_strings(typed: Path) -> None:
    embedder = PykeEmbedder(dimensions=4, max_iterations=2).fit(typed)
    with pytest.raises(DataError, match="term 1 is 'nan', a float"):
        embedder.transform(["http://e/knows", float("nan")])
    with pytest.raises(DataError, match=r"the terms have shape \(1, 2\)"):
        embedder.transform([["http://e/knows", "http://e/uses"]])


def test_a_random_state_draws_a_seed(typed: Path) -> None:
    def vectors(state: Any) -> bytes:
        return (
            PykeEmbedder(dimensions=4, max_iterations=2, random_state=state)
            .fit(typed)
            .embedding_.vectors.tobytes()
        )

    assert vectors(np.random.RandomState(3)) == vectors(np.random.RandomState(3))
    assert vectors(None) != vectors(None)


def test_a_clone_has_the_parameters_and_is_not_fitted(typed: Path) -> None:
    embedder = PykeEmbedder(str(typed), dimensions=4, max_iterations=2).fit(None)
    twin = clone(embedder)
    assert twin.get_params() == embedder.get_params()
    assert not hasattr(twin, "embedding_")


def test_a_fitted_transformer_survives_pickling(typed: Path) -> None:
    embedder = PykeEmbedder(dimensions=4, max_iterations=2).fit(typed)
    again = pickle.loads(pickle.dumps(embedder))
    assert np.array_equal(
        again.transform(["http://e/knows"]), embedder.transform(["http://e/knows"])
    )


def test_vectors_can_be_a_data_frame_with_named_columns(typed: Path) -> None:
    embedder = PykeEmbedder(typed, dimensions=2, max_iterations=2).set_output(transform="pandas")
    frame = embedder.fit_transform(pd.Series(["http://e/knows"], index=["k"]))
    assert (
        list(frame.columns)
        == list(embedder.get_feature_names_out())
        == ["pykeembedder0", "pykeembedder1"]
    )
    assert list(frame.index) == ["k"]


def test_every_parameter_has_the_default_of_the_config() -> None:
    ours = PykeEmbedder().get_params()
    config = vars(pyke.Config())
    assert {name: ours[name] for name in ours if name in config and name != "threads"} == {
        name: config[name] for name in ours if name in config and name != "threads"
    }
