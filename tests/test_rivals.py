"""Other ways to vectors: what every method must give, and what is said when one cannot."""

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
from pyke.evaluate.rivals import METHODS, Job, Method
from pyke.pipeline import embed_graph
from pyke.pipeline.checkpoints import Checkpoints
from pyke.springs.ppmi import ppmi_similarities
from pyke.springs.strongest import symmetric_matrix

LITERALS = '<http://e/anna> <http://e/age> "7" .\n<http://e/heinz> <http://e/age> "9" .\n'


def job(text: str = FAMILY, **parameters: object) -> Job:
    settings = {"dimensions": 10, "threads": 1, **parameters}
    return Job(graph_of(text), Config(**settings))  # type: ignore[arg-type]


def vectors_of(name: str, work: Job) -> Floats:
    """What a method gives, if the library that it needs is there."""
    if METHODS[name].library:
        pytest.importorskip(str(METHODS[name].library))
    return METHODS[name].run(work)


@pytest.fixture(autouse=True)
def _one_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals, "EPOCHS", 1)


# The libraries warn of what is to come in other libraries.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_a_method_gives_a_finite_vector_for_each_term_and_the_same_again(name: str) -> None:
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
def test_a_term_that_is_only_a_predicate_is_unknown_to_link_prediction(name: str) -> None:
    work = job(dimensions=4)
    zeros = {work.graph.terms[x] for x in np.flatnonzero(~vectors_of(name, work).any(axis=1))}
    assert zeros == {RDF_TYPE, "http://e/hasChild"}


@pytest.mark.parametrize("name", ["pyke", "paper", "ppmi", "svd", "random"])
def test_another_seed_gives_other_vectors_and_more_threads_do_not(name: str) -> None:
    text = crafts(6)
    found = vectors_of(name, job(text))
    assert (vectors_of(name, job(text, threads=3)) == found).all()
    assert name == "svd" or (vectors_of(name, job(text, seed=1)) != found).any()


@pytest.mark.parametrize(
    ("name", "preset", "more"),
    [("pyke", "default", {}), ("paper", "paper", {}), ("ppmi", "default", {"similarity": "ppmi"})],
)
def test_our_own_methods_are_embeddings_with_the_same_dimensions(
    name: str, preset: str, more: dict[str, str]
) -> None:
    work = job(crafts(6), seed=3)
    config = Config.preset(preset, dimensions=10, seed=3, threads=1, **more)
    assert (METHODS[name].run(work) == embed_graph(work.graph, config).vectors).all()


def test_pyke_takes_all_settings_and_the_paper_keeps_its_own() -> None:
    changed = job(crafts(6), k=3, omega=0.2)
    assert (METHODS["pyke"].run(changed) != METHODS["pyke"].run(job(crafts(6)))).any()
    assert (METHODS["paper"].run(changed) == METHODS["paper"].run(job(crafts(6)))).all()


@pytest.mark.parametrize("dimensions", [1, 3, 200])
def test_svd_gives_the_part_of_the_matrix_that_its_rank_allows(dimensions: int) -> None:
    """Its vectors' products are those of the greatest singular values; more dimensions than terms are filled with zeros."""
    work = job(crafts(8), dimensions=dimensions)
    found = vectors_of("svd", work).astype(np.float64)
    rows = symmetric_matrix(ppmi_similarities(work.graph))
    matrix = np.zeros((rows.rows, rows.rows))
    matrix[np.repeat(np.arange(rows.rows), np.diff(rows.offsets)), rows.columns] = rows.values
    values = np.linalg.svd(matrix, compute_uv=False)
    rank = min(dimensions, len(values) - 1)
    assert found.shape == (len(work.graph.terms), dimensions)
    # The lengths of the columns are the roots of the singular values.
    assert np.sort((found**2).sum(axis=0))[::-1][:rank] == pytest.approx(values[:rank], abs=1e-4)
    products = found.T @ found
    assert np.abs(products - np.diag(np.diag(products))).max() < 1e-3, (
        "the columns stand upright on one another"
    )


# ---------------------------------------------------------------------------------------------------------------------
# What the methods are fed
# ---------------------------------------------------------------------------------------------------------------------


def test_a_job_has_the_triples_between_terms() -> None:
    work = Job(graph_of(FAMILY + LITERALS, count_literals=True), Config())
    named = {tuple(work.graph.terms[x] for x in triple) for triple in work.triples.tolist()}
    assert len(work.triples) == len(named) == 8
    assert ("http://e/anna", "http://e/hasChild", "http://e/heinz") in named


def test_walks_follow_triples_from_every_entity_and_end_where_none_leads_on() -> None:
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
    walks = list(rivals._walks(work))
    entities = {str(work.graph.terms.id(name)) for name in ("e:a", "e:b", "e:c", "e:d")}
    assert sorted(walk[0] for walk in walks) == sorted([*entities] * rivals.WALKS)
    for walk in walks:
        steps = [tuple(walk[at : at + 3]) for at in range(0, len(walk) - 1, 2)]
        assert set(steps) <= triples
        assert len(steps) <= rivals.DEPTH
        assert len(steps) == rivals.DEPTH or not [
            triple for triple in triples if triple[0] == walk[-1]
        ]
    assert walks == list(rivals._walks(work))
    # Both ways out of b are taken.
    b = str(work.graph.terms.id("e:b"))
    assert len({walk[1] for walk in walks if walk[0] == b}) == 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["svd", "cleora", "word2vec", "transe"])
def test_every_seed_that_we_take_is_one_for_the_libraries(name: str) -> None:
    """Ours have 64 bits."""
    assert np.isfinite(vectors_of(name, job(seed=2**64 - 1, dimensions=4))).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["complex", "cp"])
def test_an_odd_number_of_dimensions_is_what_one_gets(name: str) -> None:
    """Complex numbers take two each."""
    assert vectors_of(name, job(dimensions=5)).shape == (9, 5)


# ---------------------------------------------------------------------------------------------------------------------
# In a process of its own
# ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A graph on disk."""
    Checkpoints(tmp_path / "kept", {}, 0, resume=False).save_graph(graph_of(FAMILY), now=True)
    return tmp_path / "kept"


SETTINGS = json.dumps(Config(dimensions=3, threads=1).as_dict())


def test_vectors_are_written_with_the_time_and_the_memory_they_took(
    kept: Path, tmp_path: Path
) -> None:
    rivals.main("random", str(kept), str(tmp_path / "out"), SETTINGS)
    vectors = np.load(tmp_path / "out" / "vectors.npy")
    assert (vectors == METHODS["random"].run(job(dimensions=3))).all()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert 0 <= manifest["seconds"] < 60
    assert manifest["peak_bytes"] > 10**7


def test_a_library_that_is_not_installed_is_named(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        sys.modules, "gensim.models", None
    )  # what the adapter imports; gensim itself may be loaded by now
    with pytest.raises(MissingLibrary, match=r"RDF2Vec needs gensim.*pyke-embeddings\[baselines\]"):
        rivals.main("rdf2vec", str(kept), str(tmp_path / "out"), SETTINGS)


def test_numbers_that_are_not_finite_are_refused(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        METHODS,
        "random",
        Method("nonsense", lambda work: np.full((len(work.graph.terms), 3), np.nan, np.float32)),
    )
    with pytest.raises(DataError, match="nonsense gave numbers that are not finite"):
        rivals.main("random", str(kept), str(tmp_path / "out"), SETTINGS)
    assert not (tmp_path / "out").exists()


def test_an_unknown_method_is_refused_with_a_list_of_those_there_are() -> None:
    with pytest.raises(UsageError, match="'transh'; there are: pyke, paper, ppmi"):
        rivals.method("transh")


def test_without_a_graph_there_is_nothing_to_embed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no graph"):
        rivals.main("random", str(tmp_path / "nowhere"), str(tmp_path / "out"), SETTINGS)
