"""`pyke nearest`, and the methods that it calls."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import oracle
import pyke as package
from conftest import Command, read_table
from graphs import CRAFTS
from pyke.cli.nearest import KINDS
from pyke.embedding.embedding import Embedding
from pyke.errors import UnknownTerm, UsageError

BAKER = "http://e/baker/3"


@pytest.fixture(scope="module")
def crafts(typed: Path) -> Embedding:
    return package.embed(typed, dimensions=8, seed=1)


@pytest.fixture(scope="module")
def out(crafts: Embedding, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nearest") / "out"
    crafts.save(path)
    return path


def plainly(
    embedding: Embedding, term: str, k: int, candidates: list[int] | None = None
) -> list[str]:
    """Return the nearest terms, found by a plain loop."""
    vectors = embedding.vectors.tolist()
    own = embedding.terms.id(term)
    order = oracle.nearest(vectors, vectors[own], len(vectors), own)
    return [embedding.terms[i] for i in order if candidates is None or i in candidates][:k]


def test_neighbours_equal_those_of_a_plain_loop(crafts: Embedding) -> None:
    assert [neighbour.term for neighbour in crafts.nearest(BAKER, 12)] == plainly(crafts, BAKER, 12)


@pytest.mark.parametrize("term", [BAKER, "http://e/smith/1", "http://e/uses", "http://e/smith"])
def test_neighbours_among_a_class_have_that_type(crafts: Embedding, term: str) -> None:
    smith = crafts.terms.id("http://e/smith")
    members = [int(subject) for subject, kind in crafts.types if kind == smith]
    found = crafts.nearest(term, 100, among="http://e/smith")
    assert [neighbour.term for neighbour in found] == plainly(crafts, term, 100, members)
    assert len(found) == 20 - (term == "http://e/smith/1")


@pytest.mark.parametrize("name", ["smith", "SMITH", "<http://e/smith>", "e:smith"])
def test_a_class_is_found_by_iri_prefixed_name_or_local_name(
    pyke: Command, out: Path, crafts: Embedding, name: str
) -> None:
    rows = json.loads(
        pyke("nearest", out, BAKER, "--among", name, "--prefix", "e=http://e/", "--json").stdout
    )
    assert [row["term"] for row in rows] == [
        neighbour.term for neighbour in crafts.nearest(BAKER, among="smith")
    ]
    assert all(row["term"].startswith("http://e/smith/") for row in rows)


def test_neighbours_among_predicates_are_predicates(crafts: Embedding) -> None:
    found = [neighbour.term for neighbour in crafts.nearest(BAKER, predicates=True)]
    assert found == plainly(crafts, BAKER, 10, crafts.predicates.tolist())
    assert len(found) == 3


@pytest.mark.parametrize("exact", [None, True, False])
def test_many_queries_give_the_same_results_as_single_ones(
    crafts: Embedding, exact: bool | None
) -> None:
    terms = [f"http://e/{craft}/{m}" for craft in CRAFTS for m in range(20)]
    for options in ({}, {"among": "http://e/weaver"}):
        found = crafts.nearest_of_many(terms, 5, exact=exact, threads=1, **options)  # type: ignore[arg-type]
        assert found.exact == (exact is not False)
        for term, ids, distances in zip(terms, found.ids, found.distances, strict=True):
            alone = crafts.nearest(term, 5, **options)  # type: ignore[call-overload]
            assert distances.tolist() == pytest.approx(
                [neighbour.distance for neighbour in alone], rel=1e-4, abs=1e-6
            )
            if found.exact:
                assert [crafts.terms[i] for i in ids] == [neighbour.term for neighbour in alone]


def test_many_queries_are_names_ids_or_vectors(crafts: Embedding) -> None:
    ids = np.array([crafts.terms.id(BAKER), crafts.terms.id("http://e/uses")])
    by_name = crafts.nearest_of_many([BAKER, "http://e/uses"], 4)
    by_id = crafts.nearest_of_many(ids, 4)
    by_vector = crafts.nearest_of_many(crafts.vectors[ids], 5)
    assert by_name.ids.tolist() == by_id.ids.tolist() == by_vector.ids[:, 1:].tolist()
    assert by_vector.ids[:, 0].tolist() == ids.tolist()  # a vector is its own nearest neighbour
    assert (
        by_vector.ids.tolist()
        == crafts.nearest_of_many(crafts.vectors[ids].tolist(), 5).ids.tolist()
    )
    assert crafts.nearest_of_many([], 3).ids.shape == (0, 3)


def test_rows_with_too_few_neighbours_end_with_minus_one_and_infinity(crafts: Embedding) -> None:
    found = crafts.nearest_of_many([BAKER, "http://e/uses"], 10**12, predicates=True)
    assert (found.ids >= 0).tolist() == [[True, True, True], [True, True, False]]
    assert np.isinf(found.distances).tolist() == (found.ids < 0).tolist()


def test_invalid_queries_are_refused(crafts: Embedding) -> None:
    for k in (0, -3):
        with pytest.raises(UsageError, match="at least 1"):
            crafts.nearest(BAKER, k)
    for vector in (
        [1.0],
        np.zeros(9),
        np.full(8, np.nan),
        "1",
        [["a"] * 8],
        np.zeros((8, 1)),
        np.full(8, 1e300),
        5,
        None,
        [1, "a"],
    ):
        with pytest.raises((UsageError, UnknownTerm)):
            crafts.nearest(vector)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="must be a list of terms"):
        crafts.nearest_of_many(BAKER)
    for ids in ([-1], [0, 10**6]):
        with pytest.raises(UnknownTerm, match="ids of terms are 0 to"):
            crafts.nearest_of_many(np.array(ids))
    with pytest.raises(
        UnknownTerm,
        match=r"no subject has the type 'http://e/uses'. Frequent types: baker, smith, weaver",
    ):
        crafts.nearest(BAKER, among="http://e/uses")
    with pytest.raises(UsageError, match="exclude each other"):
        crafts.nearest(BAKER, among="http://e/baker", predicates=True)
    with pytest.raises(UnknownTerm, match="Did you mean"):
        crafts.nearest_of_many([BAKER, "http://e/baker/33"])


@pytest.mark.parametrize(
    "code",
    [
        "import pyke; pyke.load({out!r}).nearest({term!r})",
        "from pyke.cli import app; app(['nearest', {out!r}, {term!r}], standalone_mode=False)",
    ],
    ids=["python", "command"],
)
def test_neighbours_of_one_term_are_found_without_loading_heavy_libraries(
    out: Path, code: str
) -> None:
    code = "import sys; " + code.format(out=str(out), term=BAKER) + "; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numba", "scipy", "matplotlib", "pyoxigraph", "pandas", "pyarrow", "usearch"}
    assert not heavy & set(run.stdout.split())


# ------------------------------------------------------------------------------------------------
# The command
# ------------------------------------------------------------------------------------------------


def test_each_of_several_terms_has_its_own_table(pyke: Command, out: Path) -> None:
    shown = pyke(
        "nearest", out, "http://e/baker/1", "e:smith/2", "--prefix", "e=http://e/", "-k", "2"
    ).stdout
    assert shown.index("http://e/baker/1") < shown.index("http://e/smith/2")
    assert shown.count("\n1  ") == shown.count("\n2  ") == 2


def test_json_is_a_list_of_rows(pyke: Command, out: Path, crafts: Embedding) -> None:
    rows = json.loads(
        pyke(
            "nearest",
            out,
            BAKER,
            "http://e/uses",
            "-k",
            "3",
            "--among",
            "e:weaver",
            "--prefix",
            "e=http://e/",
            "--json",
        ).stdout
    )
    assert [set(row) for row in rows] == [set(KINDS)] * 6
    assert [row["rank"] for row in rows] == [1, 2, 3, 1, 2, 3]
    near = crafts.nearest("http://e/uses", 3, among="http://e/weaver")
    assert [(row["query"], row["term"]) for row in rows[3:]] == [
        ("http://e/uses", neighbour.term) for neighbour in near
    ]
    assert [np.float32(row["distance"]) for row in rows[3:]] == [
        np.float32(neighbour.distance) for neighbour in near
    ]


def test_a_query_vector_is_given_as_numbers_or_in_a_file(
    pyke: Command, out: Path, crafts: Embedding, tmp_path: Path
) -> None:
    own = crafts[BAKER]
    by_numbers = json.loads(
        pyke("nearest", out, "--vector", ",".join(map(str, own.tolist())), "--json").stdout
    )
    np.save(tmp_path / "one.npy", own)
    np.save(tmp_path / "two.npy", crafts.vectors[:2])
    by_file = json.loads(
        pyke("nearest", out, "--vector-file", tmp_path / "one.npy", "--json").stdout
    )
    assert (
        [row["term"] for row in by_numbers]
        == [row["term"] for row in by_file]
        == [BAKER, *plainly(crafts, BAKER, 9)]
    )
    both = json.loads(
        pyke("nearest", out, "--vector-file", tmp_path / "two.npy", "-k", "1", "--json").stdout
    )
    assert [(row["query"], row["term"]) for row in both] == [
        ("0", crafts.terms[0]),
        ("1", crafts.terms[1]),
    ]


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".jsonl", ".parquet", ".csv.gz"])
def test_a_batch_is_written_as_a_table_that_pandas_reads(
    pyke: Command, out: Path, crafts: Embedding, tmp_path: Path, ending: str
) -> None:

    (tmp_path / "lines.txt").write_text(f"{BAKER}\n\n  <http://e/uses>  \nhttp://e/hermit")
    table = tmp_path / f"table{ending}"
    run = pyke("nearest", out, "--batch", tmp_path / "lines.txt", "-o", table, "-k", "4", "--json")
    assert json.loads(run.stdout) == {
        "output": str(table),
        "queries": 3,
        "skipped": 0,
        "exact": True,
        "recall": 1.0,
    }
    rows = read_table(table)
    assert list(rows.columns) == list(KINDS)
    assert rows["query"].tolist() == [BAKER] * 4 + ["<http://e/uses>"] * 4 + ["http://e/hermit"] * 4
    assert rows["term"].tolist() == [
        near
        for term in (BAKER, "http://e/uses", "http://e/hermit")
        for near in plainly(crafts, term, 4)
    ]
    assert (
        rows["distance"].to_numpy(np.float32).tolist()
        == crafts.nearest_of_many([BAKER, "http://e/uses", "http://e/hermit"], 4)
        .distances.ravel()
        .tolist()
    )


def test_a_batch_is_read_from_standard_input_and_written_to_standard_output(
    pyke: Command, out: Path
) -> None:
    run = pyke(
        "nearest", out, "--batch", "-", "-k", "2", stdin=f"{BAKER}\nhttp://e/hermit\n".encode()
    )
    rows = list(csv.DictReader(io.StringIO(run.stdout), delimiter="\t"))
    assert [row["query"] for row in rows] == [BAKER] * 2 + ["http://e/hermit"] * 2
    assert "2 neighbours of 2 terms, exact." in run.stderr
    run = pyke("nearest", out, "--batch", "-", "-k", "1", "--json", stdin=BAKER.encode())
    assert json.loads(run.stdout)["query"] == BAKER


def test_unknown_terms_stop_a_batch_or_are_skipped_and_counted(
    pyke: Command, out: Path, tmp_path: Path
) -> None:
    lines = "".join(
        f"{name}\n" for name in (BAKER, "nobody", "nowhere", "http://e/hermit", "x", "y", "z")
    )
    (tmp_path / "lines.txt").write_text(lines)
    table = tmp_path / "table.tsv"
    run = pyke("nearest", out, "--batch", tmp_path / "lines.txt", "-o", table)
    assert run.returncode == 65
    assert "5 of 7 lines are unknown terms: line 2: " in run.stderr
    assert "and 2 more. Use --on-error skip" in run.stderr
    assert not table.exists()
    run = pyke("nearest", out, "--batch", tmp_path / "lines.txt", "-o", table, "--on-error", "skip")
    assert run.returncode == 0
    assert "Skipped 5 of 7 lines: unknown terms" in run.stdout
    assert {
        row["query"] for row in csv.DictReader(table.read_text().splitlines(), delimiter="\t")
    } == {BAKER, "http://e/hermit"}


def test_the_recall_of_an_index_is_reported(
    pyke: Command, out: Path, crafts: Embedding, tmp_path: Path
) -> None:
    assert "Neighbours are approximate" in pyke("nearest", out, BAKER, "--approximate").stdout
    (tmp_path / "lines.txt").write_text("\n".join(crafts.terms), "utf-8-sig")
    run = pyke(
        "nearest",
        out,
        "--batch",
        tmp_path / "lines.txt",
        "-o",
        tmp_path / "table.csv",
        "--approximate",
    )
    assert "approximate (recall 100.00%)" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "only one of them"),
        (("--batch", "/dev/zero"), 65, "a line is longer than 16 MiB"),
        ((BAKER, "--vector", "1"), 2, "only one of them"),
        (("http://e/bakr/3",), 66, "Did you mean <http://e/baker/3>"),
        (("zz:zz",), 66, "zz=IRI"),
        ((BAKER, "--prefix", "e"), 2, "name=IRI"),
        ((BAKER, "--among", "nothing"), 66, "nothing"),
        ((BAKER, "-k", "0"), 2, "at least 1"),
        ((BAKER, "--exact", "--approximate"), 2, "use either"),
        (("--vector", "1,2"), 2, "8 finite numbers"),
        (("--vector", "1,b"), 2, "commas"),
        (("--vector", "nan,1,1,1,1,1,1,1"), 2, "8 finite numbers"),
        (("--vector", "1e30,1,1,1,1,1,1,1"), 65, "Scale"),
        (("--vector-file", "missing.npy"), 66, "missing.npy"),
        (("--vector-file", "."), 66, "cannot open"),
        (("--vector-file", "text.txt"), 65, "not an array"),
        (("--vector-file", "empty.txt"), 65, "not an array"),
        (("--vector-file", "objects.npy"), 65, "not an array"),
        (("--vector-file", "ids.npy"), 65, "not an array"),
        (("--vector-file", "cube.npy"), 2, "8 finite numbers"),
        (("--vector-file", "scalar.npy"), 2, "8 finite numbers"),
        (("--batch", "missing.txt"), 66, "missing.txt"),
        (("--batch", "empty.txt"), 65, "is empty"),
        (("--batch", "text.txt", "--on-error", "skip"), 65, "1 of 1 lines are unknown terms"),
        (("--batch", "text.txt", "--on-error", "maybe"), 2, "stop or skip"),
        (("--batch", "binary.txt"), 65, "are unknown terms"),
        ((BAKER, "-o", "table.xlsx"), 2, ".csv, .tsv, .jsonl, .parquet"),
        ((BAKER, "-o", "table.parquet.gz"), 2, ".parquet"),
        ((BAKER, "-o", "text.csv"), 73, "--force"),
        ((BAKER, "-o", "text.csv/table.csv"), 74, "cannot write"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_invalid_input_gives_an_exit_code_and_advice(
    pyke: Command,
    out: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (
        ("text.txt", b"nobody"),
        ("empty.txt", b"\n \n"),
        ("binary.txt", bytes(range(256))),
        ("text.csv", b"kept"),
    ):
        Path(name).write_bytes(content)
    np.save("objects.npy", np.array([object()]), allow_pickle=True)
    np.save("ids.npy", np.arange(8))
    np.save("cube.npy", np.zeros((2, 2, 8), np.float32))
    np.save("scalar.npy", np.float32(1))
    run = pyke("nearest", out, *arguments)
    assert (run.returncode, words in run.stderr) == (code, True), run.stderr
    assert "Traceback" not in run.stderr
    assert run.stdout == ""
    assert Path("text.csv").read_bytes() == b"kept"
    assert not [path for path in Path().iterdir() if path.suffix in (".xlsx", ".tsv", ".parquet")]
