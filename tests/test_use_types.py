"""Which types are predicted, which are kept, and which requests are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import oracle
import pyke
from conftest import ROOT
from graphs import CRAFTS, FAMILY, TYPE, Recorded, noisy_crafts, partly_typed, triples_in
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import DamagedStore, NothingToScore, UsageError
from pyke.graph.graph import LITERAL, Graph
from pyke.springs.similarity import Around, Similarities
from pyke.use.types.folds import FOLDS, Folds
from pyke.use.types.predict import predict_types
from pyke.use.types.predictions import Predictions

MU = 4


@pytest.fixture(scope="module")
def embedding(tmp_path_factory: pytest.TempPathFactory) -> Embedding:
    path = tmp_path_factory.mktemp("partly") / "partly.nt"
    path.write_text(partly_typed())
    return pyke.embed(path, dimensions=5)


@pytest.fixture(scope="module")
def everything(embedding: Embedding) -> Predictions:
    return predict_types(embedding, mu=MU, min_confidence=0, unmeasured=True)


def pairs(found: Predictions) -> dict[tuple[str, str], int]:
    return {(prediction.term, prediction.type): prediction.votes for prediction in found}


def embed(tmp_path: Path, text: str, **parameters: Any) -> Embedding:
    path = tmp_path / "graph.nt"
    path.write_text(text)
    return pyke.embed(path, dimensions=5, **parameters)


def by_hand(embedding: Embedding, asked: set[str]) -> dict[tuple[str, str], int]:
    """Votes of the nearest by the read-out, for the terms that have one.

    On a typed subject, only those of other folds vote, in the read-out without its fold.
    """
    graph = embedding.graph()
    statements = list(triples_in(graph))
    folds = Folds.of(graph, embedding.config(), MU, None, Progress())
    everyone = np.arange(len(graph.terms), dtype=np.int32)
    fold_of = dict(zip(graph.terms, folds.fold_of(everyone).tolist(), strict=True))
    has = folds.voters.evidence.has_vector(everyone)
    with_vector = [name for name, any_context in zip(graph.terms, has, strict=True) if any_context]
    found = {}
    for fold in range(-1, FOLDS):
        evidence = folds.voters_for(fold).evidence
        vectors = dict(zip(graph.terms, evidence.vectors.tolist(), strict=True))
        voters = [name for name in with_vector if fold_of[name] not in (-1, fold)]
        for name in asked & {name for name in with_vector if fold_of[name] == fold}:
            votes = oracle.weighted_votes(statements, vectors, voters, name, MU)
            found.update({(name, kind): ballot.votes for kind, ballot in votes.items()})
    return found


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
        embed(tmp_path, partly_typed() + more).predict_types(
            mu=MU, min_confidence=0, unmeasured=True
        )
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
    found = predict_types(embedding, mu=MU, min_confidence=0, only_untyped=False, unmeasured=True)
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
        (subject, -confidence)
        for subject, confidence in zip(
            everything.subjects.tolist(), everything.confidences.tolist(), strict=True
        )
    ]
    assert order == sorted(order)
    assert len(set(everything.confidences.tolist())) > 3


def test_shares_of_a_subject_add_up_to_at_most_1(everything: Predictions) -> None:
    """Each voter has one class, and all members of crafts share a role."""
    sums = np.bincount(everything.subjects, everything.shares)
    assert (sums <= 1 + 1e-9).all()
    members = np.unique(everything.subjects[everything.measured])
    assert sums[members] == pytest.approx(1)


def test_predictions_of_an_unmeasured_kind_are_kept_only_on_request(
    embedding: Embedding, everything: Predictions
) -> None:
    """Tools are used, but only one typed subject is: nothing measures predictions for them."""
    found = predict_types(embedding, mu=MU, min_confidence=0)
    tools = {one.term for one in everything if "/tool" in one.term}
    assert tools
    assert {one.term for one in everything if not one.measured} == tools
    assert list(found) == [one for one in everything if one.term not in tools]
    assert found.asked == everything.asked
    group = found.not_measured()[0]
    assert group.roles == (("http://e/uses", False),)
    assert group.namespace is None


def test_all_asked_terms_can_be_unmeasured(tmp_path: Path) -> None:
    """The calibration is empty, and nothing is predicted unless it is asked for."""
    text = noisy_crafts(8) + f"<http://e/baker/tool1> {TYPE} <http://e/Tool> .\n"
    made = embed(tmp_path, text)
    assert len(made.predict_types(min_confidence=0)) == 0
    found = made.predict_types(min_confidence=0, unmeasured=True)
    assert {one.type for one in found} <= {"http://e/Tool"}
    assert found.calibration.measured.subjects == 0
    assert set(found.confidences.tolist()) <= {0.5}
    json.dumps(found.as_dict())


@pytest.mark.parametrize("least", [0.2, 0.5, 0.8, 1.0])
def test_exactly_the_predictions_with_enough_confidence_are_kept(
    embedding: Embedding, everything: Predictions, least: float
) -> None:
    found = predict_types(embedding, mu=MU, min_confidence=least, unmeasured=True)
    assert list(found) == [one for one in everything if one.confidence >= least]


def test_a_precision_selects_as_in_the_result(
    embedding: Embedding, everything: Predictions
) -> None:
    found = predict_types(embedding, mu=MU, precision=0.5)
    assert list(found) == list(everything.select(precision=0.5))
    assert 0 < len(found) < len(everything)


def test_a_class_that_only_withheld_subjects_have_is_never_predicted(tmp_path: Path) -> None:
    """The class of the hermit, who has no vector, has no voters."""
    text = partly_typed() + f"<http://e/hermit> {TYPE} <http://e/Hermit> .\n"
    found = embed(tmp_path, text).predict_types(mu=MU, min_confidence=0, only_untyped=False)
    assert "http://e/Hermit" not in {one.type for one in found}
    assert len(found)


@pytest.mark.parametrize(
    "settings",
    [
        {"similarity": "ppmi"},
        {"count_literals": True},
        {"keep_duplicates": True},
        {"preset": "paper"},
    ],
    ids=str,
)
def test_types_are_predicted_with_all_kinds_of_embeddings(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    text = partly_typed() + FAMILY + '<http://e/baker/0> <http://e/name> "B" .\n' * 2
    found = embed(tmp_path, text, **settings).predict_types(min_confidence=0)
    assert {f"http://e/{craft}/1" for craft in CRAFTS} <= {one.term for one in found}
    assert np.isfinite(found.shares).all()
    assert ((found.confidences > 0) & (found.confidences < 1)).all()


def test_one_dimension_is_enough(tmp_path: Path) -> None:
    (tmp_path / "graph.nt").write_text(partly_typed())
    found = pyke.embed(tmp_path / "graph.nt", dimensions=1).predict_types(min_confidence=0)
    assert found.predicted_subjects == 9


def test_a_registered_similarity_can_be_used(tmp_path: Path) -> None:
    def links(graph: Graph, threads: int, around: Around | None) -> Similarities:
        """Similarity 1 of subjects and objects."""
        pairs = np.column_stack([graph.subjects, graph.objects])[graph.objects != LITERAL]
        pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
        ones = np.ones(len(pairs), np.float32)
        return Similarities(len(graph.terms), pairs[:, 0].copy(), pairs[:, 1].copy(), ones)

    with patch.dict("pyke.springs.similarity._REGISTERED", {"links": links}):
        found = embed(tmp_path, partly_typed(), similarity="links").predict_types(min_confidence=0)
    assert found.predicted_subjects == 9


def test_the_number_of_threads_does_not_change_predictions(
    embedding: Embedding, everything: Predictions
) -> None:
    found = predict_types(embedding, mu=MU, min_confidence=0, unmeasured=True, threads=3)
    assert pairs(found) == pairs(everything)
    assert found.confidences.tolist() == everything.confidences.tolist()


def test_a_saved_embedding_gives_the_same_predictions(
    embedding: Embedding, everything: Predictions, tmp_path: Path
) -> None:
    embedding.save(tmp_path / "out")
    found = pyke.load(tmp_path / "out").predict_types(mu=MU, min_confidence=0, unmeasured=True)
    assert pairs(found) == pairs(everything)
    assert found.confidences.tolist() == everything.confidences.tolist()


def test_another_predicate_can_state_types(everything: Predictions, tmp_path: Path) -> None:
    text = partly_typed().replace(TYPE, "<http://e/isA>")
    found = embed(tmp_path, text, type_predicate="http://e/isA").predict_types(
        mu=MU, min_confidence=0, unmeasured=True
    )
    assert pairs(found) == pairs(everything)
    assert found.confidences.tolist() == everything.confidences.tolist()
    assert found.type_predicate == "http://e/isA"


def test_as_many_neighbours_as_there_are_vote_by_default() -> None:
    father = pyke.embed(ROOT / "examples" / "father.ttl", dimensions=5)
    found = father.predict_types(min_confidence=0, only_untyped=False)
    assert found.asked == 9
    with pytest.raises(NothingToScore, match=f"only {found.calibration.mu} typed subjects"):
        father.predict_types(mu=found.calibration.mu + 1, only_untyped=False)


def test_more_neighbours_than_typed_subjects_are_refused_before_the_work(
    embedding: Embedding,
) -> None:
    progress = Recorded()
    with pytest.raises(NothingToScore, match="use a smaller `mu`"):
        predict_types(embedding, mu=1000, progress=progress)
    assert progress.stages == []


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


def test_a_graph_without_untyped_entities_has_no_predictions(tmp_path: Path) -> None:
    family = embed(tmp_path, FAMILY)
    found = family.predict_types(mu=2)
    assert (len(found), found.asked, found.not_measured()) == (0, 0, [])
    assert len(found.select(precision=0.5, unmeasured=True)) == 0
    assert family.predict_types(mu=1, only_untyped=False).asked == 5


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
