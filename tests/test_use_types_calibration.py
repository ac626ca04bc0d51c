"""Calibration: isotonic regression, votes and confidence compared with independent results."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import crafts, graph_of, many, noisy_crafts, partly_typed
from oracle import RDF_TYPE, Guess
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.graph.graph import Graph
from pyke.pipeline import embed_graph
from pyke.use import figures
from pyke.use.types.bins import BinCalibration
from pyke.use.types.calibration import LEVELS, Calibration, Measured, calibrate
from pyke.use.types.curves import isotonic
from pyke.use.types.folds import FOLDS
from pyke.use.types.held_out import split
from pyke.use.types.predict import Predictor, predict_types, prepare
from pyke.use.types.report import reliability_figure, reliability_table
from pyke.use.types.votes import TypeTable, Voters

CONFIG = Config(dimensions=5, seed=3)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 1.0]), st.integers(1, 50)),
        min_size=1,
        max_size=20,
    )
)
@many(80)
def test_isotonic_regression_equals_that_of_scipy_and_scikit_learn(
    pairs: list[tuple[float, int]],
) -> None:
    from scipy.optimize import isotonic_regression
    from sklearn.isotonic import isotonic_regression as of_sklearn

    values, weights = (list(column) for column in zip(*pairs, strict=True))
    found = isotonic(values, weights)
    assert found == pytest.approx(isotonic_regression(values, weights=weights).x)
    assert found == pytest.approx(of_sklearn(values, sample_weight=weights))


def test_isotonic_regression_keeps_an_increasing_sequence() -> None:
    assert isotonic([0.1, 0.2, 0.9], [1, 5, 2]).tolist() == [0.1, 0.2, 0.9]


SHARES = st.sampled_from([n / 8 for n in range(1, 9)])  # exact in binary
GUESSES = st.builds(Guess, SHARES, st.integers(0, 2), st.integers(0, 2), st.booleans())


def calibration_of(guesses: list[Guess]) -> Calibration:
    columns = ([one.share for one in guesses], [one.type for one in guesses])
    kinds, right = [one.kind for one in guesses], [one.right for one in guesses]
    return BinCalibration(
        Measured(
            np.array(columns[0], np.float64),
            np.array(columns[1], np.int64),
            np.array(kinds, np.int64),
            np.array(right, bool),
            len(guesses),
            len(guesses),
        ),
        mu=8,
    )


def confidence(calibration: Calibration, one: Guess) -> float:
    found = calibration.confidences(
        np.array([one.share]), np.array([one.type]), np.array([one.kind])
    )
    return float(found[0])


@given(st.lists(GUESSES, min_size=2, max_size=60), st.lists(GUESSES, max_size=5))
@many(100)
def test_confidence_equals_the_oracle(guesses: list[Guess], asked: list[Guess]) -> None:
    calibration = calibration_of(guesses)
    strangers = [Guess(0.5, 7, 0, True), Guess(0.5, 0, 9, True), Guess(0.0, 0, 0, True)]
    all_asked = [*asked, *guesses[:5], *strangers]
    expected = oracle.confidences(guesses, all_asked)
    assert [confidence(calibration, one) for one in all_asked] == pytest.approx(expected)
    assert all(0 < found < 1 for found in expected)


def test_a_class_that_is_often_wrong_has_less_confidence() -> None:
    wrong = [Guess(0.5, 1, 0, n % 10 == 0) for n in range(200)]
    calibration = calibration_of([Guess(0.5, 0, 0, n % 10 != 0) for n in range(200)] + wrong)
    assert confidence(calibration, Guess(0.5, 0, 0, True)) > 0.85
    assert confidence(calibration, Guess(0.5, 1, 0, True)) < 0.15
    assert confidence(calibration, Guess(0.5, 2, 0, True)) == pytest.approx(0.5, abs=0.01)


def test_a_kind_that_is_often_wrong_has_less_confidence() -> None:
    wrong = [Guess(0.5, 0, 1, n % 10 == 0) for n in range(200)]
    calibration = calibration_of([Guess(0.5, 0, 0, n % 10 != 0) for n in range(200)] + wrong)
    assert confidence(calibration, Guess(0.5, 0, 0, True)) > 0.8
    assert confidence(calibration, Guess(0.5, 0, 1, True)) < 0.2


def test_few_predictions_are_drawn_towards_the_level_above() -> None:
    """One wrong prediction of a class hardly counts against 400 correct ones."""
    calibration = calibration_of([Guess(0.5, 0, 0, True)] * 400 + [Guess(0.5, 1, 0, False)])
    assert confidence(calibration, Guess(0.5, 1, 0, True)) > 0.9


def test_without_measured_predictions_the_confidence_is_one_half() -> None:
    calibration = calibration_of([])
    assert confidence(calibration, Guess(0.9, 3, 2, True)) == 0.5
    assert all((level.made, level.right) == (0, 0) for level in calibration.levels())
    assert {one.made for one in calibration.like(0.5, 0, 0)} == {0}


@given(st.lists(GUESSES, min_size=2, max_size=60))
@many(100)
def test_a_confidence_names_the_measured_predictions_it_comes_from(guesses: list[Guess]) -> None:
    calibration = calibration_of(guesses)
    for one in guesses[:5]:
        every, same_class, same_kind = calibration.like(one.share, one.type, one.kind)
        assert [like.level for like in (every, same_class, same_kind)] == ["all", "class", "kind"]
        assert every.made >= same_class.made >= same_kind.made >= 1
        same = [g for g in guesses if g.share == one.share]
        assert every.made >= len(same)
        assert same_class.made >= sum(g.type == one.type for g in same)


@given(st.lists(GUESSES, max_size=60))
@many(100)
def test_each_measured_prediction_is_in_one_level(guesses: list[Guess]) -> None:
    calibration = calibration_of(guesses)
    levels = calibration.levels()
    assert [level.at_least for level in levels] == sorted(LEVELS, reverse=True)
    confidences = [confidence(calibration, one) for one in guesses]
    assert sum(level.made for level in levels) == len(guesses)
    bounds = [*(level.at_least for level in levels), 2.0]
    for level, upper in zip(levels, [bounds[-1], *bounds], strict=False):
        inside = [
            (c, one.right)
            for c, one in zip(confidences, guesses, strict=True)
            if level.at_least <= c < upper
        ]
        assert (level.made, level.right) == (len(inside), sum(right for _, right in inside))
        if inside:
            assert level.confidence == pytest.approx(sum(c for c, _ in inside) / len(inside))


def predictor_of(graph: Graph, only_untyped: bool = True, threads: int = 1) -> Predictor:
    made = embed_graph(graph, CONFIG)
    return prepare(made, None, None, only_untyped, None, threads, Progress())


def test_predictions_for_twins_are_counted() -> None:
    """Each twin is predicted as the vector that it has left, by the typed subjects of other folds.

    Neither their evidence nor the evidence of the twin knows the types of its fold.
    """
    graph = graph_of(partly_typed())
    predictor = predictor_of(graph)
    folds, kinds = predictor.folds, predictor.kinds
    truth = oracle.types([(graph.terms[s], RDF_TYPE, graph.terms[c]) for s, c in graph.types])
    names = [graph.terms[int(x)] for x in folds.voters.known.class_ids]
    of_twins, expected, subjects = folds.fold_of(kinds.twins.subjects), [], 0
    for fold in range(FOLDS):
        own = np.isin(graph.types[:, 0], folds.voters.known.subjects[folds.of_voters == fold])
        smaller = folds.typeless.evidence(graph.types[~own])
        voters = Voters.of(smaller, TypeTable.of(graph.types[~own]), None, 1)
        queries, of_queries = kinds.stripped(smaller, of_twins == fold)
        found, _ = voters.votes(queries, Progress())
        class_names = [graph.terms[int(x)] for x in voters.known.class_ids]
        subjects += len(queries)
        for query, kind, share in zip(found.queries, found.classes, found.shares, strict=True):
            pair = (graph.terms[int(queries.own[query])], class_names[int(kind)])
            expected.append((pair[1], int(of_queries[query]), float(share), pair in truth))
    m = predictor.calibration.measured
    columns = (m.classes.tolist(), m.kinds.tolist(), m.shares.tolist(), m.right.tolist())
    assert [(names[c], *rest) for c, *rest in zip(*columns, strict=True)] == expected
    assert m.subjects == m.types == subjects == 51
    assert 0 < m.right.sum() < len(m.right)


def test_no_twins_give_an_empty_calibration() -> None:
    """Only tools are untyped, and no typed subject is used."""
    predictor = predictor_of(graph_of(noisy_crafts(8)))
    assert len(predictor.kinds.twins.subjects) == 0
    assert predictor.calibration.measured.subjects == 0
    assert calibrate(predictor.folds, predictor.kinds, Progress()).levels()[0].made == 0


def test_any_number_of_threads_gives_the_same_bits() -> None:
    graph = graph_of(noisy_crafts(30))
    one, three = (
        vars(predictor_of(graph, False, threads).calibration.measured) for threads in (1, 3)
    )
    for name, column in one.items():
        assert np.array_equal(column, three[name])
    assert one["subjects"] == 90


def withheld_predictions(text: str, lost: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares, confidences and truth of predictions for a fifth of the subjects without types.

    `lost` of their other statements are removed, too.
    """
    graph = graph_of(text)
    parts = split(graph, 0.2, 1, RDF_TYPE)
    asked = {parts.graph.terms[int(s)] for s in parts.asked.subjects if s >= 0}
    if lost:
        rng = np.random.default_rng(5)
        lines = []
        for line in text.splitlines(keepends=True):
            is_asked = line.split(">")[0][1:] in asked
            keep = not is_asked or (RDF_TYPE not in line and rng.random() >= lost)
            lines.append(line if keep else "")
        made = graph_of("".join(lines))
    else:
        made = parts.graph
    found = predict_types(embed_graph(made, Config(dimensions=10)), min_confidence=0)
    chosen = [at for at, one in enumerate(found) if one.term in asked]
    right = [one.term.startswith(f"{one.type}/") for one in found]
    return found.shares[chosen], found.confidences[chosen], np.array(right)[chosen]


@pytest.mark.parametrize("lost", [0.0, 0.6], ids=["random subjects", "stripped subjects"])
def test_the_expected_precision_holds_on_withheld_types(lost: float) -> None:
    """Predictions for withheld types are correct as often as expected.

    The second protocol also takes most statements of the asked subjects away, so that they are
    unlike the typed ones. Confidence and truth are means of samples: their difference has a
    standard error, of which the predictions of one subject share a part.
    """
    shares, promised, right = withheld_predictions(noisy_crafts(500), lost)
    median = float(np.median(shares))
    for chosen in (shares <= median, shares > median, promised > 0.5, shares > 0):
        mean, number = promised[chosen].mean(), int(chosen.sum())
        error = float(np.sqrt((promised[chosen] * (1 - promised[chosen])).mean() / number))
        assert number > 50
        assert abs(mean - right[chosen].mean()) < 4 * error
    low, high = (right[chosen].mean() for chosen in (shares <= median, promised > 0.5))
    assert high > low + 0.3, "shares tell something"


def test_stripped_subjects_have_less_confidence() -> None:
    text = noisy_crafts(200)
    all_statements, few = (withheld_predictions(text, lost)[1] for lost in (0.0, 0.6))
    assert few.max() < all_statements.max()


def test_subjects_with_nothing_but_types_are_not_measured() -> None:
    """The hermit has only a type, so it has no vector."""
    assert predictor_of(graph_of(crafts(8)), False).calibration.measured.subjects == 24


def test_the_reliability_table_shows_how_often_predictions_are_correct() -> None:
    calibration = calibration_of(
        [Guess(1.0, 0, 0, n != 0) for n in range(500)]
        + [Guess(0.125, 1, 0, n % 5 == 0) for n in range(500)]
    )
    table = reliability_table(calibration)
    rising = sorted(LEVELS)
    intervals = [f"{low:g} – {high:g}" for low, high in itertools.pairwise(rising)]
    assert [row[0] for row in table.rows] == ["0.99 and more", *intervals[::-1]]
    filled = [row for row in table.rows if row[1] != "0"]
    high, low = confidence(calibration, Guess(1.0, 0, 0, True)), 0.2
    assert filled[0][1:] == ["500", "0.998", f"{high:.3f}", "0.998", "0.499"]
    assert filled[1][1:3] == ["500", "0.200"]
    assert float(filled[1][3]) == pytest.approx(low, abs=0.01)
    assert filled[1][4:] == ["0.599", "0.599"]
    assert table.rows[-1][1:4] == ["0", "–", "–"]
    assert "Measured 1,000 times" in table.note


def test_the_reliability_table_of_no_predictions_has_no_figures() -> None:
    assert {cell for row in reliability_table(calibration_of([])).rows for cell in row[1:]} == {
        "0",
        "–",
    }


@pytest.mark.parametrize("number", [0, 1, 50])
def test_the_reliability_figure_can_be_drawn(number: int) -> None:
    calibration = calibration_of([Guess(n % 8 / 8, 0, 0, n % 3 == 0) for n in range(number)])
    assert figures.drawn(reliability_figure(calibration), "png").startswith(b"\x89PNG")
