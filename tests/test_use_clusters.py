"""Tables of clusters, compared with plain loops."""

from __future__ import annotations

import json
import math
import re
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyke as package
from conftest import Command, read_table
from graphs import TYPE
from pyke.embedding.embedding import Embedding
from pyke.errors import DataError, UsageError
from pyke.graph.terms import Terms, Texts
from pyke.use.clusters import hdbscan
from pyke.use.clusters.describe import Cluster, ClusterTable, _unique, describe
from pyke.use.clusters.traits import Trait

LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
TOWNS = ("paris", "rome", "oslo")


def towns(members: int = 40) -> str:
    """People of three towns, typed, and untyped streets of each town. The towns have labels."""
    lines = []
    for town in TOWNS:
        lines.append(f'<http://e/{town}> {LABEL} "{town.title()}" .\n')
        for m in range(members):
            lines.append(f"<http://e/{town}/p{m}> {TYPE} <http://e/Person> .\n")
            lines.append(f"<http://e/{town}/p{m}> <http://e/livesIn> <http://e/{town}> .\n")
            lines.append(f"<http://e/{town}/p{m}> <http://e/walks> <http://e/{town}/s{m}> .\n")
            lines.append(f"<http://e/{town}> <http://e/hasStreet> <http://e/{town}/s{m}> .\n")
    return "".join(lines)


@pytest.fixture(scope="module")
def embedding(tmp_path_factory: pytest.TempPathFactory) -> Embedding:
    path = tmp_path_factory.mktemp("towns") / "towns.nt"
    path.write_text(towns())
    return package.embed(path, dimensions=8, seed=3)


@pytest.fixture(scope="module")
def found(embedding: Embedding) -> ClusterTable:
    return embedding.clusters(10, 5)


def members(embedding: Embedding, found: ClusterTable, number: int) -> list[str]:
    return [embedding.terms[i] for i in found.ids[found.labels == number]]


def test_predicates_and_classes_are_not_clustered(
    embedding: Embedding, found: ClusterTable
) -> None:
    clustered = {embedding.terms[i] for i in found.ids}
    assert clustered == set(embedding) - {
        "http://e/Person",
        "http://e/livesIn",
        "http://e/walks",
        "http://e/hasStreet",
        TYPE[1:-1],
    }
    typed = {embedding.terms[i] for i in embedding.clusters(10, 5, typed=True).ids}
    assert typed == {term for term in embedding if re.search(r"/p\d", term)}


def test_classes_without_members_are_not_clustered(tmp_path: Path) -> None:
    owl, rdfs = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2000/01/rdf-schema#"
    path = write(tmp_path / "g.nt", "a knows b", "a is A", "knows is Property")
    path.write_text(
        path.read_text()
        + f"<http://e/A> <{rdfs}subClassOf> <http://e/B> .\n<http://e/C> {TYPE} <{owl}Class> .\n"
    )
    made = package.embed(path, dimensions=2)
    assert {made.terms[i] for i in made.clusters().ids} == {"http://e/a", "http://e/b"}
    assert made.export(tmp_path / "g.csv", only="entities").terms == 2


def test_clusters_equal_those_of_hdbscan_the_largest_first(
    embedding: Embedding, found: ClusterTable
) -> None:
    plain = hdbscan.hdbscan(embedding.vectors[found.ids], 10, 5).labels.tolist()
    pairs = set(zip(plain, found.labels.tolist(), strict=True))
    assert len(pairs) == len(set(plain)) == len(found.clusters) + (-1 in plain)
    sizes = Counter(found.labels.tolist())
    assert found.noise == sizes.pop(-1, 0)
    assert (
        [one.size for one in found.clusters]
        == [sizes[one.number] for one in found.clusters]
        == sorted(sizes.values(), reverse=True)
    )


def test_names_say_what_members_share_and_other_terms_do_not(found: ClusterTable) -> None:
    """Streets are grouped by town, and people are one group."""
    assert {one.name for one in found.clusters} == {
        "Person · livesIn",
        *(f"← hasStreet {town.title()}" for town in TOWNS),
    }


def test_shares_equal_those_of_a_plain_loop(embedding: Embedding, found: ClusterTable) -> None:
    terms = [embedding.terms[i] for i in found.ids]
    triples = [
        tuple(embedding.terms[i].removeprefix("http://e/") for i in triple)
        for triple in embedding.triples
    ]
    having = {
        f"← hasStreet {town.title()}": {o for s, p, o in triples if (s, p) == (town, "hasStreet")}
        for town in TOWNS
    }
    having |= {
        "livesIn": {s for s, p, _ in triples if p == "livesIn"},
        "Person": {s for s, _, o in triples if o == "Person"},
    }
    for one in found.clusters:
        inside = members(embedding, found, one.number)
        assert one.context
        assert bool(one.types) == ("Person" in one.name)
        for trait in (*one.types, one.context):
            with_it = {f"http://e/{name}" for name in having[trait.text]}
            assert trait.share == pytest.approx(
                sum(term in with_it for term in inside) / len(inside)
            )
            assert trait.usual == pytest.approx(sum(term in with_it for term in terms) / len(terms))


def test_the_exemplar_is_the_member_nearest_to_the_mean(
    embedding: Embedding, found: ClusterTable
) -> None:
    for one in found.clusters:
        inside = members(embedding, found, one.number)
        vectors = [embedding[term].astype(float).tolist() for term in inside]
        mean = [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]
        distances = [math.dist(vector, mean) for vector in vectors]
        assert math.dist(embedding[one.exemplar].astype(float).tolist(), mean) == pytest.approx(
            min(distances), rel=1e-5
        )


def described(path: Path, *heaps: str, **settings: Any) -> list[Cluster]:
    """Descriptions of given clusters; local names have one letter."""
    made = package.embed(path, dimensions=3, **settings)
    number_of = {
        f"http://e/{letter}": number for number, heap in enumerate(heaps) for letter in heap
    }
    ids = np.array(
        [i for i in range(len(made)) if len(made.terms[i]) == len("http://e/a")], np.int32
    )
    labels = np.array([number_of.get(made.terms[i], hdbscan.NOISE) for i in ids], np.int32)
    return list(describe(made, ids, hdbscan.Clustering(labels, True)).clusters)


def lines(*statements: str) -> str:
    """`a knows b c`: a statement for each object."""
    triples = (
        (subject, predicate, each)
        for subject, predicate, *objects in map(str.split, statements)
        for each in objects
    )
    return "".join(
        f"<http://e/{s}> {TYPE if p == 'is' else f'<http://e/{p}>'} <http://e/{o}> .\n"
        for s, p, o in triples
    )


def write(path: Path, *statements: str) -> Path:
    path.write_text(lines(*statements))
    return path


def test_a_class_of_all_terms_does_not_name_a_cluster_with_its_own_class(tmp_path: Path) -> None:
    each = [f"{letter} is Thing {'Cat' if letter in 'abc' else 'Dog'}" for letter in "abcdef"]
    cats, dogs = described(write(tmp_path / "g.nt", *each), "abc", "def")
    assert (cats.name, dogs.name) == ("Cat", "Dog")
    assert [(kind.text, kind.share, kind.usual) for kind in cats.types] == [
        ("Cat", 1.0, 0.5),
        ("Thing", 1.0, 1.0),
    ]
    assert cats.context is None


def test_a_class_that_few_members_have_does_not_name_a_cluster(tmp_path: Path) -> None:
    each = [
        f"{letter} is {kind}"
        for letter, kind in zip("abcdefg", ("A", "A", "A", "B", "B", "C", "D"), strict=True)
    ]
    mixed, rest = described(write(tmp_path / "g.nt", *each, "x is A", "y is A"), "abcdefg", "xy")
    assert mixed.name.startswith("like ")
    assert [(kind.text, round(kind.share, 2)) for kind in mixed.types] == [
        ("A", 0.43),
        ("B", 0.29),
        ("C", 0.14),
    ]
    assert rest.name == "A"


def test_a_predicate_names_a_cluster_without_shared_objects(tmp_path: Path) -> None:
    each = [f"{letter} owns {letter}1" for letter in "abc"] + [
        f"{letter}2 sees {letter}" for letter in "def"
    ]
    owners, seen = described(write(tmp_path / "g.nt", *each), "abc", "def")
    assert (owners.name, seen.name) == ("owns", "← sees")


def test_a_literal_counts_for_its_predicate(tmp_path: Path) -> None:
    path = write(tmp_path / "g.nt", "a knows b", "b knows c", "c knows d", "d knows a")
    path.write_text(
        path.read_text()
        + "".join(f'<http://e/{letter}> <http://e/born> "{letter}" .\n' for letter in "ab")
    )
    born, others = described(path, "ab", "cd", count_literals=True)
    assert born.name == "born"
    assert others.name.startswith("like ")


def test_a_duplicate_triple_counts_once(tmp_path: Path) -> None:
    path = write(tmp_path / "g.nt", "a in x1", "b in x1", "c in y1", "d in y1")
    path.write_text(2 * path.read_text())
    for one in described(path, "ab", "cd", keep_duplicates=True):
        assert one.context
        assert (one.context.share, one.context.usual) == (1.0, 0.5)


def test_shared_contexts_need_little_memory_besides_the_triples() -> None:
    """A hundred predicates; each leads from all members of a cluster to the same term."""
    people, size = 1000, 100
    subjects, predicates = (column.ravel() for column in np.mgrid[:people, people : people + 100])
    triples = np.column_stack([subjects, predicates, subjects // size]).astype(np.int32)
    terms = Terms.of(f"e:{i}" for i in range(people + 100))
    none = np.zeros((0, 2), np.int32)
    made = Embedding(
        np.zeros((len(terms), 2), np.float32),
        terms,
        none,
        triples,
        Texts.of([]),
        none[:, 0],
        {"config": {}},
    )
    ids = np.arange(people, dtype=np.int32)
    found = hdbscan.Clustering((ids // size).astype(np.int32), True)
    describe(made, ids, found)  # compiles
    tracemalloc.start()
    names = [one.name for one in describe(made, ids, found).clusters]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert names == [f"{people} {number}" for number in range(people // size)]
    assert most < 100 * len(triples)


def test_clusters_with_the_same_description_have_different_names(tmp_path: Path) -> None:
    each = [f"{letter} is Cat" for letter in "abcdefgh"]
    names = [one.name for one in described(write(tmp_path / "g.nt", *each), "abcd", "efgh")]
    assert len(set(names)) == 2
    assert all(name.startswith("Cat · like ") for name in names)


def test_names_are_unique_in_any_case() -> None:
    assert _unique(["a", "b", "a", "", "a · like x", ""], ["x", "x", "x", "y", "z", "y"]) == [
        "a · like x",
        "b",
        "a · like x (2)",
        "like y",
        "a · like x (3)",
        "like y (2)",
    ]


def test_names_shorten_long_labels(tmp_path: Path) -> None:
    path = write(tmp_path / "g.nt", "a in x1", "b in x1", "c in y1", "d in y1")
    path.write_text(path.read_text() + f'<http://e/x1> {LABEL} "{"long " * 50}" .\n')
    (name,) = (one.name for one in described(path, "ab", "cd") if "long" in one.name)
    assert len(name) <= 45
    assert name.endswith("…")


def test_no_clusters_make_an_empty_table(tmp_path: Path) -> None:
    assert described(write(tmp_path / "g.nt", "a in b"), "") == []
    nothing = package.embed(tmp_path / "g.nt", dimensions=3).clusters()
    assert (nothing.clusters, nothing.noise, nothing.labels.tolist()) == ([], 2, [-1, -1])


def test_a_graph_without_entities_is_refused(tmp_path: Path) -> None:
    made = package.embed(write(tmp_path / "g.nt", "a is a"), dimensions=2)
    with pytest.raises(DataError, match="there are no entities to cluster"):
        made.clusters()
    made = package.embed(write(tmp_path / "g.nt", "a in b"), dimensions=2)
    with pytest.raises(DataError, match="there are no typed entities to cluster"):
        made.clusters(typed=True)


def test_invalid_sizes_are_refused(embedding: Embedding) -> None:
    with pytest.raises(UsageError, match="`min_cluster_size` is 1; it must be at least 2"):
        embedding.clusters(1, 0)


# --------------------------------------------------------------------------------------------------
# The command
# --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def out(embedding: Embedding, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cluster") / "out"
    embedding.save(path)
    return path


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_terms_and_clusters_are_written_as_tables_that_other_programs_read(
    pyke: Command, out: Path, found: ClusterTable, embedding: Embedding, tmp_path: Path, ending: str
) -> None:

    table, summary = tmp_path / f"terms{ending}", tmp_path / f"clusters{ending}"
    run = pyke(
        "cluster",
        out,
        "-o",
        table,
        "--summary",
        summary,
        "--min-cluster-size",
        "10",
        "--min-samples",
        "5",
        "--json",
    )
    told = json.loads(run.stdout)
    assert (told["noise"], told["terms"], told["exact"]) == (found.noise, len(found.ids), True)
    terms, rows = read_table(table), read_table(summary)
    assert terms["term"].tolist() == [embedding.terms[i] for i in found.ids]
    assert terms["cluster"].tolist() == found.labels.tolist()
    assert terms.set_index("term").loc["http://e/rome", "label"] == "Rome"
    names = {one.number: one.name for one in found.clusters}
    assert [name for name in terms["name"] if isinstance(name, str)] == [
        names[label] for label in found.labels.tolist() if label >= 0
    ]
    assert (
        rows["name"].tolist()
        == [one.name for one in found.clusters]
        == [one["name"] for one in told["clusters"]]
    )
    assert rows["size"].tolist() == [one.size for one in found.clusters]
    assert rows["exemplar"].tolist() == [one.exemplar for one in found.clusters]


def test_clusters_are_shown_with_the_share_of_noise(
    pyke: Command, out: Path, found: ClusterTable, tmp_path: Path
) -> None:
    sizes = ("--min-cluster-size", "10", "--min-samples", "5")
    shown = pyke("cluster", out, "-o", tmp_path / "terms.csv", *sizes).stdout
    assert f"Wrote {len(found.clusters)} clusters" in shown
    only_shown = pyke("cluster", out, *sizes).stdout
    assert f"Found {len(found.clusters)} clusters." in only_shown
    assert f"{found.noise:,} of {len(found.ids):,} terms" in shown
    assert "approximate" not in shown


def test_clusters_report_that_they_are_approximate(
    pyke: Command, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hdbscan, "MAX_EXACT", 10)
    sizes = ("--min-cluster-size", "10", "--min-samples", "5")
    assert "approximate" in pyke("cluster", out, "-o", tmp_path / "a.csv", *sizes).stdout
    assert (
        "approximate"
        not in pyke("cluster", out, "-o", tmp_path / "b.csv", "--exact", *sizes).stdout
    )


def test_an_embedding_without_clusters_is_an_error_with_advice(
    pyke: Command, out: Path, tmp_path: Path
) -> None:
    run = pyke("cluster", out, "-o", tmp_path / "terms.csv", "--min-cluster-size", "500")
    assert run.returncode == 65
    assert "all 243 terms are noise" in run.stderr
    assert "--min-cluster-size" in run.stderr
    assert not (tmp_path / "terms.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("-o", "t.xlsx"), 2, ".parquet"),
        (("-o", "-"), 2, "must be files"),
        (("-o", "t.csv", "--summary", "s.txt"), 2, "s.txt"),
        (("-o", "t.csv", "--summary", "./t.csv"), 2, "are the same file"),
        (("-o", "kept.csv"), 73, "--force"),
        (("-o", "t.csv", "--summary", "kept.csv"), 73, "--force"),
        (("-o", "kept.csv/t.csv"), 74, "cannot write"),
        (("-o", "t.csv", "--min-cluster-size", "1"), 2, "at least 2"),
        (("-o", "t.csv", "--min-samples", "x"), 2, "min-samples"),
        (("-o", "t.csv", "--threads", "-3"), 2, "threads is -3"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_invalid_input_has_its_exit_code_and_advice(
    pyke: Command,
    out: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kept.csv").write_text("kept")
    run = pyke("cluster", out, *arguments)
    assert (run.returncode, words in run.stderr) == (code, True), run.stderr
    assert "Traceback" not in run.stderr
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("kept.csv", "kept")]


def test_a_table_shows_its_counts(found: ClusterTable) -> None:
    assert repr(found) == (
        f"<ClusterTable: {len(found.clusters)} clusters of {len(found.ids)} terms, "
        f"{found.noise} of them noise>"
    )
    approximate = ClusterTable(found.ids, found.labels, found.clusters, False)
    assert "approximate clusters" in repr(approximate)


def test_notebooks_show_the_largest_clusters_with_escaped_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pyke.use.clusters.describe.SHOWN", 1)
    hostile = "<script>alert(1)</script>"
    trait = Trait(hostile, 0.5, 0.1, hostile)
    clusters = [Cluster(n, hostile, 1, (trait,), trait if n else None, hostile) for n in range(3)]
    ids = np.arange(3, dtype=np.int32)
    shown = ClusterTable(ids, ids, clusters, True)._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt; 50%" in shown
    assert "… 2 more" in shown
