"""Calibration: isotonic regression, votes and confidence compared with independent results."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import (
    CRAFTS,
    FAMILY,
    GRAPHS,
    TYPE,
    TYPED,
    as_meant,
    as_text,
    crafts,
    graph_of,
    many,
    noisy_crafts,
    triples_in,
)
from oracle import RDF_TYPE, Triple
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.errors import NothingToScore
from pyke.graph.graph import Graph
from pyke.pipeline import embed_graph
from pyke.use import figures
from pyke.use.types import calibration
from pyke.use.types.calibration import PARTS, Calibration, calibrate, isotonic
from pyke.use.types.held_out import split
from pyke.use.types.predict import predict_types
from pyke.use.types.report import reliability_figure, reliability_table
from pyke.use.types.votes import TypeTable, votes_of_neighbours

CONFIG = Config(dimensions=5, seed=3)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 1.0]), st.integers(1, 50)),
        min_size=1,
        max_size=20,
    )
)
@many(200)
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


def test_confidence_never_falls_with_more_votes_and_stays_below_1() -> None:
    counted = Calibration(np.array([0, 10, 4, 0, 8]), np.array([0, 1, 0, 0, 8]), 10, 12)
    assert counted.mu == 4
    assert (np.diff(counted.confidences) >= 0).all()
    assert counted.confidences == pytest.approx([0, 3 / 18, 3 / 18, 1 / 2, 9 / 10])


def test_more_votes_with_fewer_correct_predictions_have_the_pooled_confidence() -> None:
    counted = Calibration(np.array([0, 8, 18]), np.array([0, 4, 4]), 20, 20)
    assert counted.confidences == pytest.approx([0, 10 / 30, 10 / 30])


def test_a_single_correct_prediction_gives_a_confidence_of_two_thirds() -> None:
    assert Calibration(np.array([0, 1]), np.array([0, 1]), 1, 1).confidences[1] == pytest.approx(
        2 / 3
    )


@given(GRAPHS, st.integers(1, 3), st.booleans())
@many(120)
def test_the_nearest_typed_subjects_that_share_a_role_vote(
    triples: list[Triple], mu: int, count_literals: bool
) -> None:
    triples = [(s, RDF_TYPE if n % 3 == 0 else p, o) for n, (s, p, o) in enumerate(triples)]
    triples += TYPED
    graph = graph_of(as_text(triples), count_literals=count_literals)
    meant = oracle.counted(as_meant(triples), count_literals=count_literals)
    table = TypeTable.of(graph.types)
    vectors = (
        np.random.default_rng(len(triples)).normal(size=(len(graph.terms), 4)).astype(np.float32)
    )
    named = dict(zip(graph.terms, vectors.tolist(), strict=True))
    queries = np.arange(len(graph.terms), dtype=np.int32)
    counted, _ = votes_of_neighbours(
        vectors, graph, table, queries, mu, CONFIG, exact=None, progress=Progress()
    )
    found: dict[str, Counter[str]] = {name: Counter() for name in graph.terms}
    for who, kind, votes in zip(
        counted.queries.tolist(), counted.classes.tolist(), counted.votes.tolist(), strict=True
    ):
        found[graph.terms[int(queries[who])]][graph.terms[int(table.class_ids[kind])]] = votes
    assert found == {name: oracle.votes(meant, named, name, mu) for name in graph.terms}


def counted_by_hand(graph: Graph, mu: int, part: int) -> tuple[Counter[int], Counter[int]]:
    """Predictions and correct predictions by votes, for the subjects of one part."""
    parts = split(graph, 1 / PARTS, CONFIG.seed, RDF_TYPE, part)
    vectors = embed_graph(parts.graph, CONFIG).vectors
    terms = parts.graph.terms
    named = dict(zip(terms, vectors.tolist(), strict=True))
    statements = list(triples_in(parts.graph))
    truth = oracle.types(list(triples_in(graph)))
    made, right = Counter[int](), Counter[int]()
    for subject in (terms[s] for s in parts.asked.subjects.tolist() if s >= 0):
        for kind, votes in oracle.votes(statements, named, subject, mu).items():
            made[votes] += 1
            right[votes] += (subject, kind) in truth
    return made, right


def test_predictions_for_withheld_subjects_are_counted() -> None:
    graph, mu = graph_of(noisy_crafts(8)), 4
    found = calibrate(graph, CONFIG, mu)
    made, right = Counter[int](), Counter[int]()
    for part in range(4):  # 24 subjects in fifths of 5: the fifth part would lack one
        more_made, more_right = counted_by_hand(graph, mu, part)
        made, right = made + more_made, right + more_right
    assert found.subjects == found.types == 20
    assert found.made.tolist() == [made[votes] for votes in range(mu + 1)]
    assert found.right.tolist() == [right[votes] for votes in range(mu + 1)]
    assert 0 < found.right.sum() < found.made.sum()


def test_subjects_with_nothing_but_types_are_skipped() -> None:
    """The hermit has only a type, so it has no vector. Each other subject is withheld once."""
    graph = graph_of(crafts(8))
    assert calibrate(graph, CONFIG, 3).subjects == 25 - 1


def test_each_subject_is_withheld_at_most_once() -> None:
    graph = graph_of(crafts(8))
    asked = [split(graph, 1 / PARTS, 5, RDF_TYPE, part) for part in range(PARTS)]
    names = [
        parts.graph.terms[s] for parts in asked for s in parts.asked.subjects.tolist() if s >= 0
    ]
    assert len(names) == len(set(names)) == 24


def test_one_part_is_enough_if_it_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(noisy_crafts(10))
    monkeypatch.setattr(calibration, "MIN_SUBJECTS", 7)
    assert calibrate(graph, CONFIG, 3).subjects == 12


@pytest.mark.parametrize("similarity", ["context", "ppmi"])
def test_the_number_of_threads_does_not_change_the_calibration(similarity: str) -> None:
    graph = graph_of(noisy_crafts(30))
    one, three = (
        calibrate(graph, Config(dimensions=5, threads=threads, similarity=similarity), 5)
        for threads in (1, 3)
    )
    assert (one.made == three.made).all()
    assert (one.right == three.right).all()


def test_more_neighbours_than_known_subjects_are_refused() -> None:
    """Six typed subjects: one is withheld, and five can be neighbours."""
    graph = graph_of(FAMILY + f"<http://e/eva> {TYPE} <http://e/female> .\n")
    with pytest.raises(NothingToScore, match="use a smaller `mu`"):
        calibrate(graph, CONFIG, 6)


def test_two_typed_subjects_are_too_few() -> None:
    with pytest.raises(NothingToScore, match="at least one must be withheld"):
        calibrate(
            graph_of(f"<e:a> {TYPE} <e:c> .\n<e:b> {TYPE} <e:d> .\n<e:a> <e:p> <e:b> .\n"),
            CONFIG,
            1,
        )


def test_the_expected_precision_holds_on_withheld_types() -> None:
    """600 of 3,000 subjects are withheld: predictions are correct as often as expected.

    The calibration, on 2,400 others, and the truth are means of samples: their difference has a
    standard error.
    """
    graph = graph_of(noisy_crafts(1000))
    parts = split(graph, 0.2, 1, RDF_TYPE)
    found = predict_types(embed_graph(parts.graph, Config(dimensions=10)), min_confidence=0)
    asked = np.isin(found.subjects, parts.asked.subjects)
    truth = np.array([prediction.term.startswith(f"{prediction.type}/") for prediction in found])
    for chosen in (found.votes <= 4, found.votes > 4, found.votes >= 9, found.votes > 0):
        promised, right = found.confidences[asked & chosen], truth[asked & chosen]
        error = (promised * (1 - promised)).mean() ** 0.5 * (
            1 / len(right) + 1 / (4 * len(right))
        ) ** 0.5
        assert len(right) > 100
        assert abs(promised.mean() - right.mean()) < 3 * error
    assert (
        truth[asked & (found.votes >= 9)].mean() > truth[asked & (found.votes <= 4)].mean() + 0.5
    ), "votes tell something"


def test_home_pages_are_not_predicted_to_be_people() -> None:
    """They lie near people, but no typed subject is the object of `homepage`."""
    graph = graph_of(noisy_crafts(40, homepages=10))
    found = predict_types(embed_graph(graph, CONFIG), min_confidence=0)
    assert not [prediction for prediction in found if prediction.term.endswith(".html")]
    assert found.asked == 30 + 36
    assert found.without_voters == 30 + 36, "tools are used, and nobody with a type is"


def test_one_typed_home_page_votes_for_the_others() -> None:
    text = noisy_crafts(40, homepages=10) + "".join(
        f"<http://e/{craft}/0.html> {TYPE} <http://e/Page> .\n" for craft in CRAFTS
    )
    found = predict_types(embed_graph(graph_of(text), CONFIG), min_confidence=0)
    pages = [prediction for prediction in found if prediction.term.endswith(".html")]
    assert pages
    assert {prediction.type for prediction in pages} == {"http://e/Page"}


def test_the_reliability_table_shows_how_often_predictions_are_correct() -> None:
    counted = Calibration(np.array([0, 40, 0, 50]), np.array([0, 10, 0, 45]), 60, 64)
    table = reliability_table(counted)
    assert [row[0] for row in table.rows] == ["3 of 3", "2 of 3", "1 of 3"]
    assert table.rows[0] == ["3 of 3", "50", "0.900", f"{46 / 52:.3f}", "0.900", f"{45 / 64:.3f}"]
    assert table.rows[1][1:3] == ["0", "–"]
    assert table.rows[2][-2:] == [f"{55 / 90:.3f}", f"{55 / 64:.3f}"]
    assert "64 types were withheld from 60 subjects" in table.note


@pytest.mark.parametrize("mu", [1, 10, 50])
def test_the_reliability_figure_can_be_drawn(mu: int) -> None:
    made = np.arange(mu + 1)
    assert figures.drawn(reliability_figure(Calibration(made, made // 2, 9, 9)), "png").startswith(
        b"\x89PNG"
    )
