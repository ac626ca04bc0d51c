"""Other methods: what each must return, and errors when one fails."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import CRAFTS, FAMILY, as_text, crafts, graph_of, many, noisy_crafts
from oracle import RDF_TYPE
from pyke.config import Config
from pyke.core.arrays import Floats, Ids, Matrix
from pyke.errors import DataError, MissingLibrary, UsageError
from pyke.evaluate import rivals
from pyke.evaluate.rivals import (
    METHODS,
    Job,
    Method,
    Predictor,
    _kernels,
    process,
    sentences,
    trained,
)
from pyke.evaluate.rivals.process import Request
from pyke.graph.changes import remove_triples
from pyke.graph.roles import states_type
from pyke.pipeline import embed_graph
from pyke.pipeline.checkpoints import Checkpoints
from pyke.springs.ppmi import ppmi_similarities
from pyke.springs.strongest import symmetric_matrix

LITERALS = '<http://e/anna> <http://e/age> "7" .\n<http://e/heinz> <http://e/age> "9" .\n'


def job(text: str = FAMILY, **parameters: object) -> Job:
    settings = {"dimensions": 10, "threads": 1, **parameters}
    return Job(graph_of(text), Config(**settings))  # type: ignore[arg-type]


VECTORS = {name: one for name, one in METHODS.items() if isinstance(one, Method)}
PREDICTORS = {name: one for name, one in METHODS.items() if isinstance(one, Predictor)}


def vectors_of(name: str, work: Job) -> Floats:
    """Vectors of a method; skips the test if its library is missing."""
    if VECTORS[name].library:
        pytest.importorskip(str(VECTORS[name].library))
    return VECTORS[name].run(work)


@pytest.fixture(autouse=True)
def _few_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trained, "EPOCHS", 1)
    monkeypatch.setattr(trained, "MAX_EPOCHS", 3)
    monkeypatch.setattr(trained, "MAX_PASSES", trained.PASSES)


# The libraries raise deprecation warnings about other libraries.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", VECTORS)
def test_a_method_returns_a_finite_vector_for_each_term_and_is_deterministic(name: str) -> None:
    work = job()
    found = vectors_of(name, work)
    assert found.shape == (9, 10)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert (vectors_of(name, work) == found).all(), "one seed, one thread: the same bits"
    subjects = [
        work.graph.terms.id(f"http://e/{who}")
        for who in ("stefan", "markus", "anna", "heinz", "michelle")
    ]
    assert found[subjects].any(axis=1).all()
    assert len(np.unique(found[subjects], axis=0)) > 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["transe", "distmult", "complex", "cp", "rescal"])
def test_link_prediction_gives_zeros_to_terms_that_are_only_predicates(name: str) -> None:
    work = job(dimensions=4)
    zeros = {work.graph.terms[x] for x in np.flatnonzero(~vectors_of(name, work).any(axis=1))}
    assert zeros == {RDF_TYPE, "http://e/hasChild"}


@pytest.mark.parametrize("name", ["pyke", "paper", "ppmi", "svd", "random"])
def test_vectors_depend_on_the_seed_and_not_on_the_number_of_threads(name: str) -> None:
    text = crafts(6)
    found = vectors_of(name, job(text))
    assert (vectors_of(name, job(text, threads=3)) == found).all()
    assert name == "svd" or (vectors_of(name, job(text, seed=1)) != found).any()


@pytest.mark.parametrize(
    ("name", "preset", "more"),
    [("pyke", "default", {}), ("paper", "paper", {}), ("ppmi", "default", {"similarity": "ppmi"})],
)
def test_our_own_methods_equal_embeddings_with_their_settings(
    name: str, preset: str, more: dict[str, str]
) -> None:
    work = job(crafts(6), seed=3)
    config = Config.preset(preset, dimensions=10, seed=3, threads=1, **more)
    assert (VECTORS[name].run(work) == embed_graph(work.graph, config).vectors).all()


def test_pyke_uses_all_settings_and_the_paper_keeps_its_own() -> None:
    changed = job(crafts(6), k=3, omega=0.2)
    assert (VECTORS["pyke"].run(changed) != VECTORS["pyke"].run(job(crafts(6)))).any()
    assert (VECTORS["paper"].run(changed) == VECTORS["paper"].run(job(crafts(6)))).all()


@pytest.mark.parametrize("dimensions", [1, 3, 200])
def test_svd_returns_the_best_approximation_of_its_rank(dimensions: int) -> None:
    """It uses the largest singular values; dimensions beyond the rank are zeros."""
    work = job(crafts(8), dimensions=dimensions)
    found = vectors_of("svd", work).astype(np.float64)
    rows = symmetric_matrix(ppmi_similarities(work.graph))
    matrix = np.zeros((rows.rows, rows.rows))
    matrix[np.repeat(np.arange(rows.rows), np.diff(rows.offsets)), rows.columns] = rows.values
    values = np.linalg.svd(matrix, compute_uv=False)
    rank = min(dimensions, len(values) - 1)
    assert found.shape == (len(work.graph.terms), dimensions)
    # The squared norms of the columns are the singular values.
    assert np.sort((found**2).sum(axis=0))[::-1][:rank] == pytest.approx(values[:rank], abs=1e-4)
    products = found.T @ found
    assert np.abs(products - np.diag(np.diag(products))).max() < 1e-3, "the columns are orthogonal"


# --------------------------------------------------------------------------------------------------
# Chosen settings
# --------------------------------------------------------------------------------------------------

CHOOSING = [name for name, one in VECTORS.items() if one.choose]


def chosen_by(name: str, work: Job) -> dict[str, Any]:
    pytest.importorskip(str(VECTORS[name].library))
    choose = VECTORS[name].choose
    assert choose is not None
    return choose(work)


def test_the_trained_methods_choose_their_settings() -> None:
    assert {"word2vec", "rdf2vec", "transe", "distmult", "complex", "cp", "rescal"} == {*CHOOSING}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHOOSING)
def test_a_choice_is_deterministic_and_used(name: str) -> None:
    work = job(crafts(6))
    settings = chosen_by(name, work)
    assert settings == chosen_by(name, work) == json.loads(json.dumps(settings))
    assert 0 < settings["validation_score"] <= 1
    found = vectors_of(name, replace(work, settings=settings))
    assert np.isfinite(found).all()
    more = {**settings, "epochs": settings["epochs"] + 1}
    assert (found != vectors_of(name, replace(work, settings=more))).any()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["distmult", "word2vec"])
def test_too_few_types_leave_the_default_settings(name: str) -> None:
    work = job("<e:a> <e:p> <e:b> .\n" + as_text([("e:a", RDF_TYPE, "e:c")]))
    assert chosen_by(name, work) == {}
    assert np.isfinite(vectors_of(name, work)).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["distmult", "word2vec"])
def test_a_choice_without_time_takes_the_first_settings(name: str) -> None:
    settings = chosen_by(name, replace(job(crafts(6)), time_limit=0.0))
    first = {"distmult": {**trained.LINK_GRID[0], "epochs": 1}, "word2vec": {"sample": 0.0}}
    assert first[name].items() <= settings.items()


class Curve:
    """A model whose score after each epoch is known."""

    def __init__(self, scores: list[float]) -> None:
        self.scores, self.epochs = scores, 0

    def train(self) -> None:
        self.epochs += 1

    def vectors(self) -> Floats:
        return np.full((1, 1), self.scores[self.epochs - 1], np.float32)


@pytest.mark.parametrize(
    ("curves", "winner", "epochs"),
    [
        ([[0.5, 0.75, 0.25, 0.25, 1.0, 1.0]], 0, 2),  # two scores without a better one end it
        ([[0.5, 0.25, 0.75, 0.25, 0.875, 1.0]], 0, 6),
        ([[0.5] * 6, [0.75] * 6], 1, 1),
        ([[0.25, 1.0] + [1.0] * 4, [0.5] * 6], 1, 1),  # the slower one was dropped
        ([[0.25] * 6, [0.5] * 6, [0.5, 0.625] + [0.125] * 4, [0.125] * 6], 2, 2),
    ],
)
def test_a_race_keeps_the_better_half_and_stops_when_scores_stop_rising(
    monkeypatch: pytest.MonkeyPatch, curves: list[list[float]], winner: int, epochs: int
) -> None:
    monkeypatch.setattr(trained, "MAX_EPOCHS", 6)
    monkeypatch.setattr(trained.Validation, "score", lambda _, vectors: float(vectors[0, 0]))
    grid = tuple({"number": n} for n in range(len(curves)))
    found = trained.race(job(crafts(6)), lambda _, one: Curve(curves[one["number"]]), grid)
    assert (found["number"], found["epochs"]) == (winner, epochs)


def test_the_rounds_of_a_race_share_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four models, an epoch of a second each, 24 seconds: 2, 4 and 8 epochs in three rounds."""
    clock = {"now": 0.0}

    class Slow(Curve):
        def train(self) -> None:
            super().train()
            clock["now"] += 1

    monkeypatch.setattr(trained, "EPOCHS", 100)
    monkeypatch.setattr(trained, "MAX_EPOCHS", 100)
    monkeypatch.setattr(trained.Validation, "seconds", lambda _: clock["now"])
    monkeypatch.setattr(trained.Validation, "score", lambda _, vectors: float(vectors[0, 0]))
    models = [Slow([n + epoch / 100 for epoch in range(100)]) for n in range(4)]
    work = replace(job(crafts(6)), time_limit=24 / trained.CHOICE_SHARE)
    found = trained.race(
        work, lambda _, one: models[one["number"]], tuple({"number": n} for n in range(4))
    )
    assert [model.epochs for model in models] == [2, 2, 6, 14]
    assert (found["number"], found["epochs"]) == (3, 14)


@pytest.mark.filterwarnings("ignore")
def test_a_step_moves_and_constrains_only_the_entities_of_its_batch() -> None:
    pytest.importorskip("pykeen")
    import torch

    settings = {"loss": "default", "learning_rate": 0.5, "batches": 1}
    model = trained.LinkModel(job(crafts(6)), "TransE", settings, {"embedding_dim": 4})
    (part,) = model._representations
    weight = model._table(part).weight.data
    weight *= 3  # a constrained row has length 1
    before = weight.clone()
    model._triples, model._batch = model._triples[:1], 1
    model.train()
    lengths = torch.linalg.norm(weight, dim=1)
    moved = (weight != before).any(dim=1)
    ends = model._triples[0, [0, 2]]
    assert moved[ends].all()
    assert lengths[moved] == pytest.approx(torch.ones(int(moved.sum())), abs=1e-5)
    assert 2 <= moved.sum() <= 2 + trained.NEGATIVES < len(weight)


@pytest.mark.parametrize(
    ("sentences_", "words", "expected"),
    [(10, 3, 200), (10**5, 3, 10), (10**6, 3, 10), (10**7, 3, 3), (10**7, 9, 2), (10**6, 9, 10)],
)
def test_skip_grams_read_few_sentences_more_often(
    monkeypatch: pytest.MonkeyPatch, sentences_: int, words: int, expected: int
) -> None:
    monkeypatch.setattr(trained, "MAX_PASSES", 200)
    sentence = ["w"] * words
    assert trained.passes([sentence] * sentences_) == expected


def test_settings_with_larger_batches_drop_out_if_batches_cannot_grow() -> None:
    """Otherwise a large graph would train the same settings twice, once for four times as long."""
    assert trained.link_grid(10_000) == trained.LINK_GRID
    assert [one["batches"] for one in trained.link_grid(10**6)] == [1, 1, 1]


def test_a_model_with_larger_batches_trains_for_as_many_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its score after one epoch is lower, after four epochs higher."""
    monkeypatch.setattr(trained, "MAX_EPOCHS", 2)
    monkeypatch.setattr(trained.Validation, "score", lambda _, vectors: float(vectors[0, 0]))
    curves = {1: [0.5, 0.5], 4: [0.25, 0.25, 0.25, 0.75, 0.5, 0.5, 0.5, 0.5]}
    grid = ({"batches": 1}, {"batches": 4})
    found = trained.race(job(crafts(6)), lambda _, one: Curve(curves[one["batches"]]), grid)
    assert (found["batches"], found["epochs"]) == (4, 4)


def test_a_choice_sees_no_type_that_it_asks_for() -> None:
    work = job(crafts(6))
    validation = trained.Validation(work)
    asked = {validation.job.graph.terms[x] for x in validation.parts.asked.subjects.tolist()}
    typed = {validation.job.graph.terms[x] for x in validation.job.graph.types[:, 0].tolist()}
    assert asked
    assert typed
    assert not asked & typed


def test_a_training_that_diverges_has_the_lowest_score() -> None:
    work = job(crafts(6))
    validation = trained.Validation(work)
    assert validation.score(np.full((len(validation.job.graph.terms), 2), np.nan, "f4")) == -1


@pytest.mark.parametrize(
    ("triples", "batch"), [(0, 16), (600, 16), (60_000, 1024), (140_000, 4096), (10**8, 4096)]
)
def test_small_graphs_have_small_batches(triples: int, batch: int) -> None:
    assert trained.batch_size(triples) == batch


# --------------------------------------------------------------------------------------------------
# Methods without vectors
# --------------------------------------------------------------------------------------------------


def scores_of(name: str, work: Job, subjects: Ids) -> list[dict[int, float]]:
    """Score by class, for each subject."""
    found = PREDICTORS[name].run(work, subjects)
    assert found.rows == len(subjects)
    return [
        dict(zip(found.columns[a:b].tolist(), found.values[a:b].tolist(), strict=True))
        for a, b in pairwise(found.offsets)
    ]


@pytest.mark.parametrize("name", PREDICTORS)
def test_a_predictor_gives_scores_of_classes_and_is_deterministic(name: str) -> None:
    work = job(noisy_crafts(12))
    subjects = np.unique(work.graph.types[:, 0])
    found = scores_of(name, work, subjects)
    assert {kind for row in found for kind in row} <= set(work.graph.types[:, 1].tolist())
    assert all(0 < value <= 1 for row in found for value in row.values())
    assert all(found)
    threads = replace(work.config, threads=3)
    assert found == scores_of(name, replace(work, config=threads), subjects)


def linked_crafts() -> str:
    """Each member of a craft knows two others: the class of one is a context of the others."""
    return noisy_crafts(8) + "".join(
        f"<http://e/{craft}/{n}> <http://e/knows> <http://e/{craft}/{(n + step) % 8}> .\n"
        for craft in CRAFTS
        for n in range(8)
        for step in (1, 3)
    )


@pytest.mark.parametrize("name", PREDICTORS)
def test_the_own_types_of_a_subject_do_not_affect_its_scores(name: str) -> None:
    """A subject gets another class, which others have, too: its scores keep every bit."""
    work = job(linked_crafts())
    subjects = np.unique(work.graph.types[:, 0])
    found = scores_of(name, work, subjects)
    classes = np.unique(work.graph.types[:, 1])
    for x, row in zip(subjects[::5], found[::5], strict=True):
        stated = states_type(work.graph, RDF_TYPE) & (work.graph.subjects == x)
        other = classes[classes != work.graph.objects[stated]][0]
        objects = np.where(stated, other, work.graph.objects)
        types = work.graph.types.copy()
        types[types[:, 0] == x, 1] = other
        graph = replace(work.graph, objects=objects, types=types)
        (changed,) = scores_of(name, replace(work, graph=graph), np.array([x], np.int32))
        assert row == changed


@pytest.mark.parametrize("name", [name for name in PREDICTORS if name != "types"])
def test_a_subject_without_its_types_has_the_same_scores(name: str) -> None:
    """The types of some others are withheld from `types`, too: see use/types/folds.py."""
    work = job(linked_crafts())
    subjects = np.unique(work.graph.types[:, 0])
    found = scores_of(name, work, subjects)
    for x, row in zip(subjects[::5], found[::5], strict=True):
        dropped = states_type(work.graph, RDF_TYPE) & (work.graph.subjects == x)
        graph, _ = remove_triples(work.graph, dropped, RDF_TYPE, keep_all_terms=True)
        (alone,) = scores_of(name, replace(work, graph=graph), np.array([x], np.int32))
        assert row == pytest.approx(alone)


def test_springs_and_roles_predict_the_crafts_and_the_prior_does_not() -> None:
    work = job(crafts(12))
    subjects, classes = work.graph.types.T.copy()
    right = {
        name: np.mean(
            [
                bool(row) and max(row, key=lambda kind: row[kind]) == kind
                for row, kind in zip(scores_of(name, work, subjects), classes, strict=True)
            ]
        )
        for name in ("springs", "prior")
    }
    assert right["springs"] > 0.9
    assert right["prior"] < 0.6


CELLS = st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=8)


@given(CELLS, CELLS, st.integers(1, 5), st.booleans())
@many(100)
def test_the_largest_products_equal_those_of_dense_matrices(
    rows: list[list[int]], points: list[list[int]], k: int, alike: bool
) -> None:
    """Also where a query is one of the points, and where products are equal."""
    points = rows if alike else points
    own = np.arange(len(rows)) if alike else np.full(len(rows), -1)
    sparse = []
    for dense in (np.array(rows), np.array(points).T):
        offsets = np.append(0, np.cumsum((dense > 0).sum(axis=1)))
        others = np.nonzero(dense)[1].astype(np.int32)
        sparse.append(_kernels.Sparse(offsets, others, dense[dense > 0].astype(np.float32)))
    ids = np.full((len(rows), k), -1, np.int32)
    products = np.zeros((len(rows), k), np.float32)
    _kernels.largest_products(sparse[0], sparse[1], own, 0, len(rows), ids, products)
    for q, row in enumerate(rows):
        dots = [sum(a * b for a, b in zip(row, point, strict=True)) for point in points]
        best = sorted((-dot, y) for y, dot in enumerate(dots) if dot > 0 and y != own[q])[:k]
        assert ids[q, : len(best)].tolist() == [y for _, y in best]
        assert products[q, : len(best)].tolist() == [-dot for dot, _ in best]
        assert (ids[q, len(best) :] == -1).all()


# --------------------------------------------------------------------------------------------------
# Input of the methods
# --------------------------------------------------------------------------------------------------


def test_a_job_has_the_triples_without_literals() -> None:
    work = Job(graph_of(FAMILY + LITERALS, count_literals=True), Config())
    named = {tuple(work.graph.terms[x] for x in triple) for triple in work.triples.tolist()}
    assert len(work.triples) == len(named) == 8
    assert ("http://e/anna", "http://e/hasChild", "http://e/heinz") in named


def test_walks_follow_triples_from_every_entity_and_end_without_outgoing_triples() -> None:
    work = job(
        as_text(
            [
                ("e:a", "e:p", "e:b"),
                ("e:b", "e:q", "e:c"),
                ("e:b", "e:p", "e:a"),
                ("e:c", "e:p", "e:d"),
            ]
        )
    )
    triples = {tuple(map(str, triple)) for triple in work.triples.tolist()}
    walks = list(sentences.random_walks(work))
    entities = {str(work.graph.terms.id(name)) for name in ("e:a", "e:b", "e:c", "e:d")}
    assert sorted(walk[0] for walk in walks) == sorted([*entities] * sentences.WALKS)
    for walk in walks:
        steps = [tuple(walk[at : at + 3]) for at in range(0, len(walk) - 1, 2)]
        assert set(steps) <= triples
        assert len(steps) <= sentences.DEPTH
        assert len(steps) == sentences.DEPTH or not [
            triple for triple in triples if triple[0] == walk[-1]
        ]
    assert walks == list(sentences.random_walks(work))
    # Walks use both outgoing triples of b.
    b = str(work.graph.terms.id("e:b"))
    assert len({walk[1] for walk in walks if walk[0] == b}) == 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["svd", "cleora", "word2vec", "transe"])
def test_the_libraries_accept_every_seed(name: str) -> None:
    """Our seeds have 64 bits."""
    assert np.isfinite(vectors_of(name, job(seed=2**64 - 1, dimensions=4))).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["complex", "cp"])
def test_vectors_can_have_an_odd_number_of_dimensions(name: str) -> None:
    """A complex number takes two dimensions."""
    assert vectors_of(name, job(dimensions=5)).shape == (9, 5)


# --------------------------------------------------------------------------------------------------
# In a child process
# --------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A graph on disk."""
    Checkpoints(tmp_path / "kept", {}, 0, resume=False).save_graph(graph_of(FAMILY), now=True)
    return tmp_path / "kept"


def request(method: str, graph: Path, **more: Any) -> str:
    """A request to a child process."""
    config = Config(dimensions=3, threads=1).as_dict()
    return json.dumps(asdict(Request(method, str(graph), config, 60.0, **more)))


def test_vectors_are_written_with_seconds_and_peak_memory(kept: Path, tmp_path: Path) -> None:
    process.main(request("random", kept), str(tmp_path / "out"))
    vectors = np.load(tmp_path / "out" / "vectors.npy")
    assert (vectors == VECTORS["random"].run(job(dimensions=3))).all()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert 0 <= manifest["seconds"] < 60
    assert manifest["peak_bytes"] > 10**7


def test_a_missing_library_is_named(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The method imports this module; gensim itself may be loaded already.
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(MissingLibrary, match=r"RDF2Vec needs gensim.*make baselines"):
        process.main(request("rdf2vec", kept), str(tmp_path / "out"))


def test_infinite_values_and_nan_are_rejected(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        METHODS,
        "random",
        Method("nonsense", lambda work: np.full((len(work.graph.terms), 3), np.nan, np.float32)),
    )
    with pytest.raises(DataError, match="nonsense returned infinite values or NaN"):
        process.main(request("random", kept), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_scores_of_classes_are_written(kept: Path, tmp_path: Path) -> None:
    work = job(dimensions=3)
    subjects = np.unique(work.graph.types[:, 0])
    np.save(tmp_path / "subjects.npy", subjects)
    wanted = request("sdtype", kept, subjects=str(tmp_path / "subjects.npy"))
    process.main(wanted, str(tmp_path / "out"))
    expected = PREDICTORS["sdtype"].run(work, subjects)
    for name in ("offsets", "columns", "values"):
        assert (np.load(tmp_path / "out" / f"{name}.npy") == getattr(expected, name)).all()


WRONG = {
    "1 rows for 2": Matrix(np.array([0, 0]), np.empty(0, np.int32), np.empty(0, np.float32)),
    "not from 0 to 1": Matrix(np.array([0, 0, 1]), np.zeros(1, np.int32), np.full(1, 2, "f4")),
    "terms that are not classes": Matrix(
        np.array([0, 0, 1]), np.zeros(1, np.int32), np.ones(1, np.float32)
    ),
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_scores_of_classes_are_rejected(
    words: str, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "subjects.npy", np.array([0, 1], np.int32))
    monkeypatch.setitem(METHODS, "prior", Predictor("nonsense", lambda *_: WRONG[words]))
    wanted = request("prior", kept, subjects=str(tmp_path / "subjects.npy"))
    with pytest.raises(DataError, match=f"nonsense returned .*{words}"):
        process.main(wanted, str(tmp_path / "out"))


def test_an_unknown_method_is_rejected_with_a_list_of_all_methods() -> None:
    with pytest.raises(UsageError, match="'transh'; there are: pyke, paper, ppmi"):
        rivals.method("transh")


def test_a_missing_graph_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no graph"):
        process.main(request("random", tmp_path / "nowhere"), str(tmp_path / "out"))


def test_each_library_has_the_extra_that_installs_it() -> None:
    extras = {library: rivals.extra_of(library) for library in ("scipy", "gensim", "pykeen")}
    assert extras == {"scipy": "evaluate", "gensim": "baselines", "pykeen": "baselines"}
