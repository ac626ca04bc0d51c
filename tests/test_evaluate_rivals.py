"""Other methods: what each must return, and errors when one fails."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from graphs import FAMILY, as_text, crafts, graph_of
from oracle import RDF_TYPE
from pyke.config import Config
from pyke.core.arrays import Floats
from pyke.errors import DataError, MissingLibrary, UsageError
from pyke.evaluate import rivals
from pyke.evaluate.rivals import METHODS, Job, Method, builtin, process
from pyke.pipeline import embed_graph
from pyke.pipeline.checkpoints import Checkpoints
from pyke.springs.ppmi import ppmi_similarities
from pyke.springs.strongest import symmetric_matrix

LITERALS = '<http://e/anna> <http://e/age> "7" .\n<http://e/heinz> <http://e/age> "9" .\n'


def job(text: str = FAMILY, **parameters: object) -> Job:
    settings = {"dimensions": 10, "threads": 1, **parameters}
    return Job(graph_of(text), Config(**settings))  # type: ignore[arg-type]


def vectors_of(name: str, work: Job) -> Floats:
    """Vectors of a method; skips the test if its library is missing."""
    if METHODS[name].library:
        pytest.importorskip(str(METHODS[name].library))
    return METHODS[name].run(work)


@pytest.fixture(autouse=True)
def _one_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtin, "EPOCHS", 1)


# The libraries raise deprecation warnings about other libraries.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
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
    assert (METHODS[name].run(work) == embed_graph(work.graph, config).vectors).all()


def test_pyke_uses_all_settings_and_the_paper_keeps_its_own() -> None:
    changed = job(crafts(6), k=3, omega=0.2)
    assert (METHODS["pyke"].run(changed) != METHODS["pyke"].run(job(crafts(6)))).any()
    assert (METHODS["paper"].run(changed) == METHODS["paper"].run(job(crafts(6)))).all()


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
    walks = list(builtin.random_walks(work))
    entities = {str(work.graph.terms.id(name)) for name in ("e:a", "e:b", "e:c", "e:d")}
    assert sorted(walk[0] for walk in walks) == sorted([*entities] * builtin.WALKS)
    for walk in walks:
        steps = [tuple(walk[at : at + 3]) for at in range(0, len(walk) - 1, 2)]
        assert set(steps) <= triples
        assert len(steps) <= builtin.DEPTH
        assert len(steps) == builtin.DEPTH or not [
            triple for triple in triples if triple[0] == walk[-1]
        ]
    assert walks == list(builtin.random_walks(work))
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


SETTINGS = json.dumps(Config(dimensions=3, threads=1).as_dict())


def test_vectors_are_written_with_seconds_and_peak_memory(kept: Path, tmp_path: Path) -> None:
    process.main("random", str(kept), str(tmp_path / "out"), SETTINGS)
    vectors = np.load(tmp_path / "out" / "vectors.npy")
    assert (vectors == METHODS["random"].run(job(dimensions=3))).all()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert 0 <= manifest["seconds"] < 60
    assert manifest["peak_bytes"] > 10**7


def test_a_missing_library_is_named(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The method imports this module; gensim itself may be loaded already.
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(
        MissingLibrary, match=r"RDF2Vec needs gensim.*pip install '\.\[baselines\]'"
    ):
        process.main("rdf2vec", str(kept), str(tmp_path / "out"), SETTINGS)


def test_infinite_values_and_nan_are_rejected(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        METHODS,
        "random",
        Method("nonsense", lambda work: np.full((len(work.graph.terms), 3), np.nan, np.float32)),
    )
    with pytest.raises(DataError, match="nonsense returned infinite values or NaN"):
        process.main("random", str(kept), str(tmp_path / "out"), SETTINGS)
    assert not (tmp_path / "out").exists()


def test_an_unknown_method_is_rejected_with_a_list_of_all_methods() -> None:
    with pytest.raises(UsageError, match="'transh'; there are: pyke, paper, ppmi"):
        rivals.method("transh")


def test_a_missing_graph_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no graph"):
        process.main("random", str(tmp_path / "nowhere"), str(tmp_path / "out"), SETTINGS)
