"""Which types are predicted, which are kept, and which requests are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oracle
import pyke
from conftest import ROOT
from graphs import FAMILY, TYPE, partly_typed, triples_in
from pyke.embedding.embedding import Embedding
from pyke.errors import DamagedStore, NothingToScore, UsageError
from pyke.use.types.calibration import Calibration
from pyke.use.types.predict import fewest_votes, predict_types
from pyke.use.types.predictions import Predictions

MU = 4


@pytest.fixture(scope="module")
def embedding(tmp_path_factory: pytest.TempPathFactory) -> Embedding:
    path = tmp_path_factory.mktemp("partly") / "partly.nt"
    path.write_text(partly_typed())
    return pyke.embed(path, dimensions=5)


@pytest.fixture(scope="module")
def everything(embedding: Embedding) -> Predictions:
    return predict_types(embedding, mu=MU, min_confidence=0)


def pairs(found: Predictions) -> dict[tuple[str, str], int]:
    return {(prediction.term, prediction.type): prediction.votes for prediction in found}


def embed(tmp_path: Path, text: str, **parameters: Any) -> Embedding:
    path = tmp_path / "graph.nt"
    path.write_text(text)
    return pyke.embed(path, dimensions=5, **parameters)


def by_hand(embedding: Embedding, asked: set[str]) -> dict[tuple[str, str], int]:
    statements = list(triples_in(embedding.graph()))
    vectors = dict(zip(embedding.terms, embedding.vectors.tolist(), strict=True))
    return {
        (name, kind): n
        for name in asked
        for kind, n in oracle.votes(statements, vectors, name, MU).items()
    }


def test_types_are_predicted_for_untyped_entities(
    embedding: Embedding, everything: Predictions
) -> None:
    statements = list(triples_in(embedding.graph()))
    strange = (
        oracle.predicates(statements)
        | oracle.classes(statements)
        | oracle.typed_subjects(statements)
    )
    asked = oracle.vocabulary(statements) - strange
    votes = by_hand(embedding, asked)
    assert everything.asked == len(asked)
    assert pairs(everything) == votes
    assert everything.without_voters == len(asked) - len({name for name, _ in votes})


def test_types_are_not_predicted_for_classes(tmp_path: Path) -> None:
    rdfs, owl = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2002/07/owl#"
    classes = f"<http://e/uses> {TYPE} <{owl}ObjectProperty> .\n"
    classes += f"<http://e/baker> <{rdfs}subClassOf> <http://e/Top> .\n"
    classes += f"<http://e/Top> <{rdfs}subClassOf> <http://e/Root> .\n"
    without, with_classes = (
        embed(tmp_path, partly_typed() + more).predict_types(mu=MU, min_confidence=0)
        for more in ("", classes)
    )
    assert with_classes.asked == without.asked
    assert not {prediction.term for prediction in with_classes} & {
        f"{owl}ObjectProperty",
        "http://e/Top",
        "http://e/Root",
    }


def test_further_types_of_typed_subjects_are_predicted_on_request(
    embedding: Embedding,
) -> None:
    """A class that has a type is a typed subject; what is stated is not predicted."""
    found = predict_types(embedding, mu=MU, min_confidence=0, only_untyped=False)
    statements = list(triples_in(embedding.graph()))
    untyped_classes = oracle.classes(statements) - oracle.typed_subjects(statements)
    asked = oracle.vocabulary(statements) - oracle.predicates(statements) - untyped_classes
    stated = oracle.types(statements)
    assert found.asked == len(asked)
    assert pairs(found) == {
        pair: n for pair, n in by_hand(embedding, asked).items() if pair not in stated
    }


def test_predictions_are_sorted_by_subject_and_descending_confidence(
    everything: Predictions,
) -> None:
    order = [
        (subject, -votes)
        for subject, votes in zip(
            everything.subjects.tolist(), everything.votes.tolist(), strict=True
        )
    ]
    assert order == sorted(order)


def test_confidence_depends_on_the_votes(everything: Predictions) -> None:
    assert (
        everything.confidences.tolist()
        == everything.calibration.confidences[everything.votes].tolist()
    )
    assert len(set(everything.confidences.tolist())) > 1


@pytest.mark.parametrize("least", [0.2, 0.5, 0.8, 1.0])
def test_exactly_the_predictions_with_enough_confidence_are_kept(
    embedding: Embedding, everything: Predictions, least: float
) -> None:
    found = predict_types(
        embedding, mu=MU, min_confidence=least, calibration=everything.calibration
    )
    enough = {
        (prediction.term, prediction.type)
        for prediction in everything
        if prediction.confidence >= least
    }
    assert set(pairs(found)) == enough


@pytest.mark.parametrize("precision", [0.0, 0.3, 0.6, 0.75, 0.9, 1.0])
def test_a_precision_keeps_as_many_predictions_as_possible(
    embedding: Embedding, everything: Predictions, precision: float
) -> None:
    found = predict_types(embedding, mu=MU, precision=precision, calibration=everything.calibration)
    possible = [[p for p in everything if p.votes >= fewest] for fewest in range(1, MU + 2)]
    good = [
        kept
        for kept in possible
        if not kept or sum(p.confidence for p in kept) >= precision * len(kept)
    ]
    assert len(found) == max(len(kept) for kept in good)
    assert found.expected_right >= precision or len(found) == 0


def test_a_precision_that_is_out_of_reach_keeps_no_predictions() -> None:
    counted = Calibration(np.array([0, 9, 9]), np.array([0, 1, 5]), 9, 9)
    assert fewest_votes(np.array([0, 5, 5]), counted, 0.0, 0.99) == 3
    assert fewest_votes(np.array([0, 5, 5]), counted, 0.99, None) == 3
    assert fewest_votes(np.array([0, 0, 0]), counted, 0.0, 0.0) == 3


def test_the_number_of_threads_does_not_change_predictions(
    embedding: Embedding, everything: Predictions
) -> None:
    found = predict_types(embedding, mu=MU, min_confidence=0, threads=3)
    assert pairs(found) == pairs(everything)
    assert found.confidences.tolist() == everything.confidences.tolist()


def test_a_saved_embedding_gives_the_same_predictions(
    embedding: Embedding, everything: Predictions, tmp_path: Path
) -> None:
    embedding.save(tmp_path / "out")
    found = pyke.load(tmp_path / "out").predict_types(mu=MU, min_confidence=0)
    assert pairs(found) == pairs(everything)
    assert found.confidences.tolist() == everything.confidences.tolist()


def test_another_predicate_can_state_types(everything: Predictions, tmp_path: Path) -> None:
    text = partly_typed().replace(TYPE, "<http://e/isA>")
    found = embed(tmp_path, text, type_predicate="http://e/isA").predict_types(
        mu=MU, min_confidence=0
    )
    assert pairs(found) == pairs(everything)
    assert found.type_predicate == "http://e/isA"


def test_the_father_example_has_enough_subjects_for_two_neighbours_but_not_for_ten() -> None:
    father = pyke.embed(ROOT / "examples" / "father.ttl", dimensions=5)
    with pytest.raises(NothingToScore, match="only 8 typed subjects can be neighbours"):
        father.predict_types()
    assert father.predict_types(mu=2, min_confidence=0, only_untyped=False).asked == 9


def test_a_calibration_for_another_number_of_neighbours_is_refused(
    embedding: Embedding, everything: Predictions
) -> None:
    with pytest.raises(UsageError, match="measured with `mu=4`, not 5"):
        predict_types(embedding, mu=5, calibration=everything.calibration)


@pytest.mark.parametrize(
    "options",
    [
        {"min_confidence": -0.1},
        {"min_confidence": 1.1},
        {"min_confidence": float("nan")},
        {"precision": 90},
    ],
    ids=str,
)
def test_a_share_outside_0_and_1_is_refused(
    embedding: Embedding, options: dict[str, float]
) -> None:
    with pytest.raises(UsageError, match="must be from 0 to 1"):
        predict_types(embedding, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("mu", [0, -3])
def test_fewer_than_one_neighbour_is_refused(embedding: Embedding, mu: int) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        predict_types(embedding, mu=mu)


def test_a_graph_without_types_or_with_one_class_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NothingToScore, match="no subject has a type"):
        embed(tmp_path, "<e:a> <e:p> <e:b> .\n").predict_types()
    with pytest.raises(NothingToScore, match="have the same class"):
        embed(tmp_path, FAMILY.replace("female", "male")).predict_types()


def test_a_graph_without_untyped_entities_is_an_error_that_names_the_parameter(
    tmp_path: Path,
) -> None:
    family = embed(tmp_path, FAMILY)
    with pytest.raises(NothingToScore, match="`only_untyped=False`"):
        family.predict_types(mu=2)
    assert family.predict_types(mu=2, only_untyped=False).asked == 5


def test_an_embedding_without_settings_is_refused(embedding: Embedding) -> None:
    stranger = Embedding(
        embedding.vectors,
        embedding.terms,
        embedding.types,
        embedding.triples,
        embedding.labels,
        embedding.labelled,
        {},
    )
    with pytest.raises(DamagedStore, match="settings"):
        predict_types(stranger, mu=2)
