"""Updates: the new graph, unchanged vectors of known terms, and places of new terms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyke
from conftest import Command
from graphs import CRAFTS, TYPE, crafts, many
from pyke.config import Config
from pyke.embedding.embedding import Embedding
from pyke.errors import DamagedStore, EmptyGraph, OverBudget, SyntaxProblem, UsageError
from pyke.pipeline import Run, budget
from pyke.pipeline.update import update
from pyke.springs import find

Triple = tuple[str, str, str]
SETTINGS: dict[str, Any] = {"dimensions": 8, "threads": 1, "seed": 3}


def embedded(path: Path) -> Embedding:
    return Run(path, Config(**SETTINGS)).embed()


def triples_of(embedding: Embedding) -> set[Triple]:
    names = list(embedding.terms)
    return {(names[s], names[p], names[o]) for s, p, o in embedding.triples.tolist()}


def lines(triples: set[Triple]) -> str:
    return "".join(f"<{s}> <{p}> <{o}> .\n" for s, p, o in sorted(triples))


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Embedding:
    path = tmp_path_factory.mktemp("before") / "crafts.nt"
    path.write_text(crafts(60))
    return embedded(path)


@pytest.fixture
def newcomers(tmp_path: Path) -> Path:
    """A new member of each craft, without a type, and one known triple."""
    path = tmp_path / "new.nt"
    new = "".join(
        f"<http://e/{craft}/new> <http://e/uses> <http://e/{craft}/tool1> .\n"
        f"<http://e/{craft}/new> <http://e/knows> <http://e/{craft}/5> .\n"
        for craft in CRAFTS
    )
    path.write_text(f"{new}<http://e/baker/1> <http://e/uses> <http://e/baker/tool1> .\n")
    return path


def test_new_terms_are_placed_near_similar_terms(before: Embedding, newcomers: Path) -> None:
    after = update(before, newcomers)
    for craft in CRAFTS:
        near = [neighbour.term for neighbour in after.nearest(f"http://e/{craft}/new", k=5)]
        assert all(
            term.startswith(f"http://e/{craft}") or (craft, term) == ("baker", "http://e/hermit")
            for term in near
        ), near


def test_vectors_of_known_terms_stay_unchanged(before: Embedding, newcomers: Path) -> None:
    after = update(before, newcomers)
    assert [after.terms[i] for i in range(len(before))] == list(before.terms)
    same = (after.vectors[: len(before)] == before.vectors).all(axis=1)
    assert same.sum() > 0.9 * len(before)
    assert after.manifest["updates"][0]["placed_terms"] == len(after) - same.sum()


def test_the_manifest_records_each_update(before: Embedding, newcomers: Path) -> None:
    after = update(before, newcomers)
    (record,) = after.manifest["updates"]
    assert (record["added"], record["removed"], record["new_terms"], record["not_found"]) == (
        6,
        0,
        3,
        0,
    )
    again = update(after, newcomers)
    assert [record["added"] for record in again.manifest["updates"]] == [6, 0]
    assert again.manifest["census"]["duplicates"] == before.manifest["census"]["duplicates"] + 8


def test_adding_known_triples_changes_nothing(
    before: Embedding, newcomers: Path, tmp_path: Path
) -> None:
    same, new = tmp_path / "same.nt", tmp_path / "new.nt"
    same.write_text(crafts(60))
    new.write_text("".join(newcomers.read_text().splitlines(keepends=True)[:-1]))
    for after in (update(before, same), update(before, new, new)):
        assert after.vectors.tobytes() == before.vectors.tobytes()
        assert (after.triples == before.triples).all()
        assert after.manifest["updates"][0]["placed_terms"] == 0


def test_a_term_with_mostly_changed_triples_is_placed_again(
    before: Embedding, tmp_path: Path
) -> None:
    apprentice = "http://e/baker/7"  # becomes a smith
    old, new = tmp_path / "old.nt", tmp_path / "new.nt"
    old.write_text(lines({triple for triple in triples_of(before) if triple[0] == apprentice}))
    new.write_text(
        "".join(
            f"<{apprentice}> <http://e/{p}> <http://e/smith/{o}> .\n"
            for p, o in (("uses", "tool3"), ("knows", "8"), ("knows", "15"))
        )
    )
    after = update(before, new, old)
    smith, baker = (
        np.linalg.norm(
            after[apprentice]
            - np.mean([after[f"http://e/{craft}/{m}"] for m in range(20, 60)], axis=0)
        )
        for craft in ("smith", "baker")
    )
    assert smith < baker


def test_reading_is_strict_by_default_for_any_embedding(tmp_path: Path) -> None:
    old, new = tmp_path / "old.nt", tmp_path / "new.nt"
    old.write_text(crafts(5) + "nonsense\n")
    new.write_text("<http://e/new> <http://e/knows> <http://e/hermit> .\nmore nonsense\n")
    before = pyke.embed(old, on_error="skip", dimensions=4)
    with pytest.raises(SyntaxProblem, match=r"new\.nt:2"):
        update(before, new)
    record = update(before, new, on_error="skip").manifest["updates"][0]
    assert (record["added"], record["errors"], len(record["first_errors"])) == (1, 1, 1)


def test_new_terms_without_known_neighbours_are_counted(before: Embedding, tmp_path: Path) -> None:
    new = tmp_path / "new.nt"
    new.write_text("<http://x/a> <http://x/p> <http://x/b> .\n")
    assert update(before, new).manifest["updates"][0]["adrift"] == 3


@pytest.mark.parametrize("other", ["dimensions", "type_predicate", "seed", "add"])
def test_update_accepts_parameters_of_reading_only(
    before: Embedding, newcomers: Path, other: str
) -> None:
    given: dict[str, Any] = {other: 3}
    with pytest.raises(UsageError, match=f"update has no parameter '{other}'"):
        update(before, newcomers, **given)


def test_standard_input_for_both_sources_is_refused(before: Embedding) -> None:
    with pytest.raises(UsageError, match="only once"):
        update(before, ["-"], "-", format="ntriples")


@pytest.mark.parametrize("seed", range(4))
def test_a_star_can_be_updated_although_all_means_are_equal(tmp_path: Path, seed: int) -> None:
    """All known leaves have the same weighted mean: there is no linear map to learn."""
    old, new = tmp_path / "old.nt", tmp_path / "new.nt"
    old.write_text(
        "".join(f"<http://e/{leaf}> <http://e/p> <http://e/hub> .\n" for leaf in range(400))
    )
    new.write_text("<http://e/new> <http://e/p> <http://e/hub> .\n")
    after = update(Run(old, Config(dimensions=2, threads=1, seed=seed)).embed(), new)
    assert np.isfinite(after["http://e/new"]).all()


@pytest.mark.parametrize("name", ["triples", "types"])
@pytest.mark.parametrize("stranger", [-2, 10**6])
def test_ids_out_of_range_are_reported_as_damage(
    before: Embedding, newcomers: Path, name: str, stranger: int
) -> None:
    ids = np.array(getattr(before, name))
    ids.flat[-1] = stranger
    damaged: dict[str, Any] = {name: ids}
    with pytest.raises(DamagedStore, match="ids of missing terms"):
        update(replace(before, **damaged), newcomers)


def test_a_predicate_with_mostly_new_triples_is_placed_again(tmp_path: Path) -> None:
    old, new = tmp_path / "old.nt", tmp_path / "new.nt"
    old.write_text(crafts(20) + "<http://e/baker/1> <http://e/fears> <http://e/smith/1> .\n")
    new.write_text(
        "".join(
            f"<http://e/baker/{m}> <http://e/fears> <http://e/weaver/{m}> .\n" for m in range(20)
        )
    )
    before = embedded(old)
    assert (update(before, new)["http://e/fears"] != before["http://e/fears"]).any()


def test_missing_statements_are_counted_once(tmp_path: Path) -> None:
    old, gone = tmp_path / "old.nt", tmp_path / "gone.nt"
    old.write_text(
        "<http://e/a> <http://e/p> <http://e/b> .\n" * 2
        + "<http://e/b> <http://e/p> <http://e/c> .\n"
    )
    gone.write_text(
        "<http://e/a> <http://e/p> <http://e/b> .\n<http://e/a> <http://e/p> <http://e/x> .\n"
    )
    record = update(
        Run(old, Config(**SETTINGS, keep_duplicates=True)).embed(), removed=gone
    ).manifest["updates"][0]
    assert (record["removed"], record["not_found"]) == (2, 1)


def test_updates_can_have_another_syntax_than_the_embedding(
    before: Embedding, tmp_path: Path
) -> None:
    old, new = tmp_path / "old.txt", tmp_path / "new.ttl"
    old.write_text(crafts(5))
    new.write_text("@prefix : <http://e/> . :new :knows :hermit .")
    after = update(pyke.embed(old, format="ntriples", dimensions=4), new)
    assert "http://e/new" in after
    assert after.manifest["updates"][0]["inputs"] == [str(new), None]


def test_errors_of_the_first_run_stay_in_the_census(newcomers: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.nt"
    old.write_text(crafts(5) + "nonsense\n")
    before = pyke.embed(old, on_error="skip", dimensions=4)
    census = update(before, newcomers).manifest["census"]
    assert census["errors"] == 1
    assert census["first_errors"] == before.manifest["census"]["first_errors"]


def test_the_memory_limit_applies_to_updates(
    before: Embedding, newcomers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (
        update(before, newcomers, memory="2GB").vectors.tobytes()
        == update(before, newcomers).vectors.tobytes()
    )
    monkeypatch.setattr(budget, "PROGRAM_BYTES", 0)
    monkeypatch.setattr(budget, "BYTES_PER_READER", 0)
    with pytest.raises(OverBudget, match=r"the update needs .* Increase `memory`"):
        update(before, newcomers, memory=50_000)


def test_updates_do_not_depend_on_the_number_of_threads(before: Embedding, newcomers: Path) -> None:
    results = [
        update(before, newcomers, threads=threads).vectors.tobytes() for threads in (1, 2, 5)
    ]
    assert len(set(results)) == 1


def test_the_census_counts_the_updated_graph(
    before: Embedding, newcomers: Path, tmp_path: Path
) -> None:
    after = update(before, newcomers)
    whole = tmp_path / "whole.nt"
    whole.write_text(lines(triples_of(after)))
    counted = Run(whole, Config()).read().census
    for name in ("triples", "terms", "predicates", "typed_subjects", "classes", "blank_nodes"):
        assert after.manifest["census"][name] == getattr(counted, name), name


def test_adding_and_removing_the_same_triples_restores_the_graph(
    before: Embedding, newcomers: Path, tmp_path: Path
) -> None:
    new = tmp_path / "only-new.nt"
    new.write_text("".join(newcomers.read_text().splitlines(keepends=True)[:-1]))
    back = update(update(before, new), removed=new)
    assert list(back.terms) == list(before.terms)
    assert (back.triples == before.triples).all()
    assert (back.types == before.types).all()


def test_terms_without_triples_are_removed_with_their_vectors(
    before: Embedding, tmp_path: Path
) -> None:
    gone = tmp_path / "gone.nt"
    gone.write_text(
        f"<http://e/hermit> {TYPE} <http://e/baker> .\n"
        "<http://e/nobody> <http://e/uses> <http://e/nothing> .\n"
    )
    after = update(before, removed=gone)
    assert "http://e/hermit" not in after
    assert len(after) == len(before) - 1
    assert (after.manifest["updates"][0]["removed"], after.manifest["updates"][0]["not_found"]) == (
        1,
        1,
    )
    assert (after["http://e/smith/7"] == before["http://e/smith/7"]).all()


names = st.sampled_from([f"http://e/{letter}" for letter in "abcdefg"])
graphs = st.sets(
    st.tuples(names, st.sampled_from(["http://e/p", "http://e/q"]), names), min_size=1, max_size=12
)


@many(60)
@given(old=graphs, new=graphs, gone=graphs)
def test_the_updated_graph_is_the_union_minus_the_removed_triples(
    old: set[Triple], new: set[Triple], gone: set[Triple], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("sets")
    paths = [folder / name for name in ("old.nt", "new.nt", "gone.nt")]
    for path, triples in zip(paths, (old, new, gone), strict=True):
        path.write_text(lines(triples))
    wanted = (old | new) - gone
    if not wanted:
        with pytest.raises(EmptyGraph):
            update(embedded(paths[0]), paths[1], paths[2])
        return
    after = update(embedded(paths[0]), paths[1], paths[2])
    assert triples_of(after) == wanted
    assert len(after.triples) == len(wanted)
    assert set(after.terms) == {term for triple in wanted for term in triple}
    assert np.isfinite(after.vectors).all()


def test_blank_nodes_of_two_files_are_different_terms(tmp_path: Path) -> None:
    old, new = tmp_path / "old.nt", tmp_path / "new.nt"
    old.write_text("<http://e/a> <http://e/p> _:b .\n<http://e/a> <http://e/p> _:u1_b .\n")
    new.write_text("<http://e/a> <http://e/p> _:b .\n_:b <http://e/p> <http://e/a> .\n")
    after = update(embedded(old), new)
    assert {term for term in after if term.startswith("_:")} == {"_:b", "_:u1_b", "_:u2_b"}
    assert len(after.triples) == 4


def test_new_labels_are_added_and_known_labels_stay(tmp_path: Path) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    old, new = tmp_path / "old.nt", tmp_path / "new.nt"
    old.write_text(f'<http://e/a> <http://e/p> <http://e/b> .\n<http://e/a> {label} "A" .\n')
    new.write_text(
        "<http://e/c> <http://e/p> <http://e/a> .\n"
        f'<http://e/c> {label} "C" .\n<http://e/a> {label} "another" .\n'
        f'<http://e/b> {label} "B" .\n'
    )
    after = update(embedded(old), new)
    labels = [after.label(after.terms.id(f"http://e/{name}")) for name in "abc"]
    assert labels == ["A", "B", "C"]


def test_an_update_without_sources_is_refused(before: Embedding) -> None:
    with pytest.raises(UsageError, match="nothing to add"):
        update(before)


def test_updating_a_rescaled_embedding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "crafts.nt"
    path.write_text(crafts(5))
    with pytest.raises(UsageError, match="rescale=True"):
        update(pyke.embed(path, preset="paper", dimensions=4, max_iterations=3), path)


def test_an_embedding_with_ppmi_springs_can_be_updated(tmp_path: Path, newcomers: Path) -> None:
    path = tmp_path / "crafts.nt"
    path.write_text(crafts(20))
    after = update(pyke.embed(path, similarity="ppmi", **SETTINGS), newcomers)
    assert "http://e/baker/new" in after
    assert np.isfinite(after.vectors).all()


def test_new_terms_are_placed_with_the_type_weight_of_the_embedding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, new = tmp_path / "crafts.nt", tmp_path / "new.nt"
    path.write_text(crafts(60))
    person, (one, other, *_) = "http://e/new", CRAFTS
    new.write_text(
        f"<{person}> {TYPE} <http://e/{one}> .\n"
        f"<{person}> <http://e/uses> <http://e/{other}/tool1> .\n"
    )
    made = pyke.embed(path, type_weight=8.0, **SETTINGS)
    after = update(made, new)
    assert np.array_equal(update(made, new, threads=3).vectors, after.vectors)
    monkeypatch.setattr(find, "weigh_types", lambda *_: None)
    unweighted = update(made, new)
    mean = np.mean([made[f"http://e/{one}/{m}"] for m in range(60)], axis=0)
    near, far = (np.linalg.norm(e[person] - mean) for e in (after, unweighted))
    assert near < 0.6 * far


def test_new_terms_join_a_cluster(newcomers: Path, tmp_path: Path) -> None:
    path = tmp_path / "crafts.nt"
    path.write_text(crafts(60))
    made = Run(path, Config(**SETTINGS, clusters=6)).embed()
    after = update(made, newcomers)
    same = (after.vectors[: len(made)] == made.vectors).all(axis=1)
    assert (after.term_clusters[: len(made)] == made.term_clusters)[same].all()
    assert np.isin(after.term_clusters, made.term_clusters).all()
    for craft in CRAFTS:
        near = [neighbour.term for neighbour in after.nearest(f"http://e/{craft}/new", k=3)]
        assert all(term.startswith(f"http://e/{craft}") for term in near), near
    again = update(after, removed=newcomers)
    assert len(again.term_clusters) == len(again)
    for threads in (2, 3):
        other = update(made, newcomers, threads=threads)
        assert np.array_equal(other.vectors, after.vectors)
        assert np.array_equal(other.term_clusters, after.term_clusters)


def test_the_command_reports_skipped_lines_and_unconnected_terms(
    typed: Path, tmp_path: Path, pyke: Command
) -> None:
    new = tmp_path / "new.nt"
    new.write_text("<http://x/a> <http://x/p> <http://x/b> .\nnonsense\n")
    assert pyke("embed", typed, "-o", tmp_path / "out", "--dimensions", "8").returncode == 0
    done = pyke("update", tmp_path / "out", new, "-o", tmp_path / "out2", "--on-error", "skip")
    assert done.returncode == 0, done.stderr
    for told in (
        "Added 1 triple. 3 new terms",
        "3 new terms without any link to existing terms",
        "Skipped 1 invalid line",
        "new.nt:2",
    ):
        assert told in " ".join(done.stdout.split())


def test_the_command_says_that_there_is_nothing_to_add(
    typed: Path, tmp_path: Path, pyke: Command
) -> None:
    empty = tmp_path / "empty.nt"
    empty.touch()
    assert pyke("embed", typed, "-o", tmp_path / "out", "--dimensions", "8").returncode == 0
    for number, (source, is_told) in enumerate(
        [((empty,), True), ((typed,), True), (("--remove", empty), False)]
    ):
        done = pyke("update", tmp_path / "out", *source, "-o", tmp_path / f"out{number}")
        assert done.returncode == 0, done.stderr
        told = "Nothing to add: the input has no triples that the graph lacks." in done.stdout
        assert told is is_told


def test_the_command_refuses_a_damaged_embedding(
    typed: Path, newcomers: Path, tmp_path: Path, pyke: Command
) -> None:
    assert pyke("embed", typed, "-o", tmp_path / "out", "--dimensions", "8").returncode == 0
    vectors = tmp_path / "out" / "vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[:-1] + b"?")
    done = pyke("update", tmp_path / "out", newcomers, "-o", tmp_path / "out2")
    assert (done.returncode, (tmp_path / "out2").exists()) == (65, False)


def test_the_command_writes_a_valid_embedding(
    typed: Path, newcomers: Path, tmp_path: Path, pyke: Command
) -> None:
    assert pyke("embed", typed, "-o", tmp_path / "out", "--dimensions", "8").returncode == 0
    done = pyke("update", tmp_path / "out", newcomers, "-o", tmp_path / "out2")
    assert done.returncode == 0, done.stderr
    assert "Added 6 triples. 3 new terms" in done.stdout
    assert pyke("verify", tmp_path / "out2").returncode == 0
    assert (
        pyke(
            "update", tmp_path / "out2", "-o", tmp_path / "out3", "--remove", newcomers, "--json"
        ).returncode
        == 0
    )
    assert pyke("update", tmp_path / "out", newcomers, "-o", tmp_path / "out2").returncode == 73


@pytest.mark.parametrize(
    ("arguments", "code"), [(["missing.nt"], 66), ([], 2), (["broken.nt"], 65)]
)
def test_bad_input_is_reported_with_its_exit_code(
    arguments: list[str],
    code: int,
    typed: Path,
    tmp_path: Path,
    pyke: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.nt").write_text("<http://e/a> <http://e/p> .\n")
    assert pyke("embed", typed, "-o", "out", "--dimensions", "4").returncode == 0
    done = pyke("update", "out", *arguments, "-o", "out2")
    assert done.returncode == code, done.stderr
    assert not (tmp_path / "out2").exists()
