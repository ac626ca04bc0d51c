"""Exports: each format reads back bit by bit in its own library; special terms; invalid targets."""

from __future__ import annotations

import csv
import gzip
import json
import re
import resource
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file

import pyke as package
from conftest import Command
from graphs import Recorded, made_up
from pyke.core.arrays import Floats
from pyke.core.files import write_stream
from pyke.core.progress import Progress
from pyke.core.tables import number_lines
from pyke.embedding.embedding import Embedding
from pyke.errors import DataError, Interrupted, OutputExists, UsageError, WriteError
from pyke.graph.terms import Terms, Texts
from pyke.use import export as export_module
from pyke.use.clusters.describe import cluster
from pyke.use.export import FORMATS, Options, Outcome, Rows, embedding_atlas, register, rows, tables
from pyke.use.maps import View
from pyke.use.maps.layout import layout


def types_of(e: Embedding) -> list[list[str]]:
    """The classes of each term, by a plain loop."""
    return [[e.terms[int(kind)] for who, kind in e.types if who == i] for i in range(len(e))]


def labels_of(e: Embedding) -> list[str | None]:
    """The label of each term."""
    return [e.label(i) for i in range(len(e))]


def same_bits(actual: Any, expected: Floats) -> bool:
    """Equal bit by bit: −0 differs from 0."""
    actual = np.asarray(actual)
    return actual.dtype == np.float32 and np.array_equal(
        np.ascontiguousarray(actual).view(np.int32), expected.view(np.int32)
    )


@pytest.fixture(params=["one part", "many parts"])
def e(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Embedding:
    """An embedding, written in one part and in parts of a few rows."""
    if request.param == "many parts":
        monkeypatch.setattr(rows.Rows.parts, "__defaults__", (200,))
        monkeypatch.setattr(tables, "GROUP_BYTES", 400)
    return made_up()


# --------------------------------------------------------------------------------------------------
# Round trips
# --------------------------------------------------------------------------------------------------


def test_parquet_reads_back_in_pyarrow_pandas_and_polars(e: Embedding, tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    e.export(path)
    table = pq.read_table(path)
    assert table.schema.field("types").type == pa.list_(pa.field("element", pa.string()))
    assert table.schema.field("vector").type.list_size == 7
    assert table["term"].to_pylist() == list(e.terms)
    assert table["label"].to_pylist() == labels_of(e)
    assert table["types"].to_pylist() == types_of(e)
    assert same_bits(
        table["vector"].combine_chunks().flatten().to_numpy().reshape(-1, 7), e.vectors
    )
    frame = pd.read_parquet(path)
    assert frame["term"].tolist() == list(e.terms)
    assert same_bits(np.stack(frame["vector"].to_numpy()), e.vectors)
    polar = pl.read_parquet(path)
    assert polar["types"].to_list() == types_of(e)
    assert same_bits(polar["vector"].to_numpy(), e.vectors)


@pytest.mark.parametrize(
    ("name", "separator"), [("e.csv", ","), ("e.tsv", "\t"), ("e.csv.gz", ","), ("e.tsv.zst", "\t")]
)
def test_csv_and_tsv_read_back_in_pandas_polars_and_python(
    e: Embedding, tmp_path: Path, name: str, separator: str
) -> None:
    path = tmp_path / name
    assert e.export(path, threads=2).format == name[2:5]
    frame = pd.read_csv(
        path,
        sep=separator,
        keep_default_na=False,
        dtype=dict.fromkeys([f"d{i}" for i in range(7)], np.float32),
    )
    assert list(frame.columns) == ["term", *(f"d{i}" for i in range(7))]
    terms = list(e.terms)
    assert frame["term"].tolist() == terms
    assert np.allclose(frame.iloc[:, 1:], e.vectors, rtol=1e-6)  # pandas reads 1e-45 its own way
    polar = pl.read_csv(
        path, separator=separator, schema_overrides={f"d{i}": pl.Float32 for i in range(7)}
    )
    assert polar["term"].fill_null("").to_list() == terms
    assert same_bits(polar.drop("term").to_numpy(order="c"), e.vectors)
    if not name.endswith(".zst"):
        with (
            gzip.open(path, "rt", newline="")
            if name.endswith(".gz")
            else path.open(newline="") as file
        ):
            lines = list(csv.reader(file, delimiter=separator))[1:]
        assert [line[0] for line in lines] == terms
        assert same_bits(np.array([line[1:] for line in lines], np.float32), e.vectors)


def test_numbers_have_the_fewest_digits_that_read_back(tmp_path: Path) -> None:
    made_up().export(tmp_path / "e.tsv")
    with (tmp_path / "e.tsv").open(newline="") as file:
        first = list(csv.reader(file, delimiter="\t"))[1]
    assert first[1:] == ["0", "-0", "1e-45", "3.4028235e+38", "16777216", "0.33333334", "-1e-7"]


@given(
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=20)
)
def test_every_float_reads_back_exactly(numbers: list[float]) -> None:
    vectors = np.array([numbers], np.float32)
    zero = np.zeros((0, 2), np.int32)
    one = Embedding(vectors, Terms.of(["x"]), zero, zero, Texts.of([]), zero[:, 0], {})
    (part,) = rows.choose(one, "all", Progress()).parts()
    assert same_bits(
        np.array([bytes(number_lines(" ", part.vectors)).split()], np.float32), vectors
    )


def test_npy_writes_a_directory_of_vectors_and_terms(e: Embedding, tmp_path: Path) -> None:
    e.export(tmp_path / "e", "npy")
    assert same_bits(np.load(tmp_path / "e" / "vectors.npy"), e.vectors)
    text, offsets = (
        (tmp_path / "e" / "terms.txt").read_bytes(),
        np.load(tmp_path / "e" / "term_offsets.npy"),
    )
    assert [text[a : b - 1].decode() for a, b in pairwise(offsets)] == list(e.terms)
    assert json.loads((tmp_path / "e" / "manifest.json").read_text())["terms"] == len(e)


@pytest.mark.parametrize("name", ["word2vec", "word2vec-binary"])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_gensim_loads_word2vec(e: Embedding, tmp_path: Path, name: str, ending: str) -> None:
    path = tmp_path / f"e.w2v{ending}"
    written = e.export(path, name)
    loaded = KeyedVectors.load_word2vec_format(str(path), binary=name.endswith("binary"))
    assert same_bits(loaded.vectors, e.vectors)
    keys = [re.sub(r"[\0- ]", lambda found: f"%{ord(found[0]):02X}", term) for term in e.terms]
    assert loaded.index_to_key == keys
    assert written.altered == 2
    assert "2 keys" in written.note


def test_word2vec_binary_equals_what_gensim_writes(e: Embedding, tmp_path: Path) -> None:
    e.export(tmp_path / "ours.bin", "word2vec-binary")
    loaded = KeyedVectors.load_word2vec_format(str(tmp_path / "ours.bin"), binary=True)
    loaded.save_word2vec_format(str(tmp_path / "theirs.bin"), binary=True)
    assert (tmp_path / "ours.bin").read_bytes() == (tmp_path / "theirs.bin").read_bytes()


@pytest.mark.parametrize("twins", [("http://e/a b", "http://e/a%20b"), ("a%20b c", "a b%20c")])
def test_word2vec_rejects_terms_that_would_share_a_key(
    tmp_path: Path, twins: tuple[str, str]
) -> None:
    zero = np.zeros((0, 2), np.int32)
    two = Embedding(
        np.zeros((2, 3), np.float32), Terms.of(twins), zero, zero, Texts.of([]), zero[:, 0], {}
    )
    with pytest.raises(DataError, match="one key"):
        two.export(tmp_path / "e.vec")
    assert not list(tmp_path.iterdir())


def test_safetensors_reads_back(e: Embedding, tmp_path: Path) -> None:
    path = tmp_path / "e.safetensors"
    e.export(path)
    loaded = load_file(path)
    assert same_bits(loaded["vectors"], e.vectors)
    text, offsets = loaded["terms"].tobytes(), loaded["term_offsets"]
    assert [text[a : b - 1].decode() for a, b in pairwise(offsets)] == list(e.terms)
    with safe_open(path, "np") as file:
        assert "term_offsets" in file.metadata()["term i"]


def test_the_projector_directory_has_a_line_per_point_in_both_files(
    e: Embedding, tmp_path: Path
) -> None:
    written = e.export(tmp_path / "e", "projector")
    assert same_bits(
        np.loadtxt(tmp_path / "e" / "tensors.tsv", np.float32, delimiter="\t"), e.vectors
    )
    head, *lines = (tmp_path / "e" / "metadata.tsv").read_text().removesuffix("\n").split("\n")
    assert head == "term\tlabel\ttype"
    cells = [line.split("\t") for line in lines]
    clean = [re.sub("[\t\r\n]", " ", term) for term in e.terms]
    assert [cell[0] for cell in cells] == clean
    labels = [
        term if label is None else re.sub("[\t\r\n]", " ", label)
        for label, term in zip(labels_of(e), clean, strict=True)
    ]
    assert [cell[1] for cell in cells] == labels
    assert [cell[2] for cell in cells] == [kinds[0] if kinds else "" for kinds in types_of(e)]
    assert written.altered == 3  # a term, which is its own label, and a label
    named = re.findall(r'_path: "(.*)"', (tmp_path / "e" / "projector_config.pbtxt").read_text())
    assert {"manifest.json", "projector_config.pbtxt", *named} == {
        path.name for path in (tmp_path / "e").iterdir()
    }


@pytest.mark.parametrize("group_bytes", [400, 1 << 20])
def test_the_atlas_table_has_map_positions_and_neighbours_by_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group_bytes: int
) -> None:
    monkeypatch.setattr(tables, "GROUP_BYTES", group_bytes)
    e = made_up(extreme=False)
    written = e.export(tmp_path / "a.parquet", "atlas", neighbours=4, only="typed")
    assert "principal components" in written.note  # this embedding has no settings
    frame = pl.read_parquet(tmp_path / "a.parquet")
    columns = ["term", "label", "type", "cluster", "x", "y", "neighbors", "vector"]
    assert frame.columns == columns
    chosen = sorted(set(e.types[:, 0].tolist()))
    assert frame["term"].to_list() == [e.terms[i] for i in chosen]
    assert all(len(label) <= 60 and "\n" not in label for label in frame["label"])
    own = [{e.lookup().title(int(kind)) for who, kind in e.types if who == i} for i in chosen]
    assert all(kind in names for kind, names in zip(frame["type"], own, strict=True))
    vectors = e.vectors[chosen]
    assert same_bits(frame["vector"].to_numpy(), vectors)
    distances = np.linalg.norm(vectors[:, None] - vectors[None], axis=2) + np.diag(
        np.full(len(vectors), np.inf)
    )
    neighbours = frame["neighbors"].struct.unnest()
    assert neighbours["ids"].to_list() == np.argsort(distances, axis=1)[:, :4].tolist()
    assert np.allclose(neighbours["distances"].to_list(), np.sort(distances, axis=1)[:, :4])
    spread = np.linalg.svd(e.vectors - e.vectors.mean(axis=0), full_matrices=False)
    truth = ((e.vectors - e.vectors.mean(axis=0)) @ spread[2][:2].T)[chosen]
    assert np.allclose(np.abs(frame.select("x", "y").to_numpy()), np.abs(truth), atol=1e-4)


def test_the_atlas_table_has_the_map_of_pyke_plot_and_clusters(
    typed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_atlas, "cluster", lambda e, progress: cluster(e, 10, 3))
    e = package.embed(typed, dimensions=8, seed=3)
    e.export(tmp_path / "a.parquet", "atlas")
    frame = pl.read_parquet(tmp_path / "a.parquet")
    (panel,) = layout(e, View(), Progress())
    assert np.array_equal(frame.select("x", "y").to_numpy(), panel.points)
    found = cluster(e, 10, 3)
    names = dict(zip(found.ids.tolist(), found.labels.tolist(), strict=True))
    assert len(found.clusters) > 1
    assert frame["cluster"].to_list() == [
        found.clusters[names[i]].name if names.get(i, -1) >= 0 else None for i in range(len(e))
    ]
    assert set(frame["type"]) == {"baker", "smith", "weaver", "no type"}
    written = e.export(tmp_path / "b.parquet", "atlas", layout="pca", clusters=False)
    assert "`clusters=True`" in written.note
    assert pl.read_parquet(tmp_path / "b.parquet")["cluster"].null_count() == len(e)


def test_the_atlas_map_of_one_dimension_is_a_line(tmp_path: Path) -> None:
    thin = made_up()
    thin = Embedding(
        np.arange(60, dtype=np.float32)[:, None],
        thin.terms,
        thin.types,
        thin.triples,
        thin.labels,
        thin.labelled,
        {},
    )
    thin.export(tmp_path / "a.parquet", "atlas")
    assert set(pl.read_parquet(tmp_path / "a.parquet")["y"]) == {0.0}


def test_lists_may_have_more_numbers_than_32_bits_can_count() -> None:
    """8.4 million rows with 256 neighbours each. Untouched memory costs nothing."""
    lists = tables.lists(np.zeros(((1 << 23) + 1, 256), np.int8))
    assert len(lists[len(lists) - 1]) == 256


def test_the_size_of_a_part_counts_vectors_terms_labels_and_types() -> None:
    """Here a hundred types per term and long labels outweigh terms and vectors."""
    members, classes = 50, 100
    names = [f"e:{i}" for i in range(members)] + [
        f"http://example.com/a/class/with/a/long/name/{i}" for i in range(classes)
    ]
    types = np.array(
        [(i, members + kind) for i in range(members) for kind in range(classes)], np.int32
    )
    labels = np.arange(members, members + classes, dtype=np.int32)
    none = np.zeros((0, 3), np.int32)
    e = Embedding(
        np.zeros((len(names), 2), np.float32),
        Terms.of(names),
        types,
        none,
        Texts.of(["long " * 200] * classes),
        labels,
        {},
    )
    for part in rows.choose(e, "all", Progress()).parts(20_000):
        size = (
            part.vectors.nbytes
            + len(part.terms.blob)
            + len(part.labels[0].blob)
            + len(part.types[0].blob)
        )
        assert size <= 20_000 + 5_000, "the limit and one row"


# --------------------------------------------------------------------------------------------------
# Selected terms
# --------------------------------------------------------------------------------------------------


def chosen_by_loops(e: Embedding, only: str) -> list[str]:
    """The terms that `only` selects, by plain loops."""
    typed, classes = set(e.types[:, 0].tolist()), set(e.types[:, 1].tolist())
    predicates = set(e.triples[:, 1].tolist())
    everything = set(range(len(e)))
    wanted = {
        "all": everything,
        "typed": typed,
        "predicates": predicates,
        "entities": everything - classes - predicates,
    }
    return [term for i, term in enumerate(e.terms) if i in wanted[only]]


@pytest.mark.parametrize("only", rows.ONLY)
@pytest.mark.parametrize("name", [name for name in FORMATS if name != "postgres"])
def test_every_format_exports_the_selected_terms(
    e: Embedding, tmp_path: Path, only: str, name: str
) -> None:
    written = e.export(tmp_path / "e", name, only=only)
    wanted = chosen_by_loops(e, only)
    assert written.terms == len(wanted)
    assert written.bytes == sum(
        path.stat().st_size
        for path in ([tmp_path / "e"] if (tmp_path / "e").is_file() else (tmp_path / "e").iterdir())
    )
    if name in ("parquet", "atlas"):
        table = pq.read_table(tmp_path / "e")
        assert table["term"].to_pylist() == wanted
        assert same_bits(
            table["vector"].combine_chunks().flatten().to_numpy().reshape(-1, 7),
            np.stack([e[term] for term in wanted]),
        )
    elif name == "safetensors":
        loaded = load_file(tmp_path / "e")
        assert loaded["terms"].tobytes() == "".join(f"{term}\n" for term in wanted).encode()
        assert same_bits(loaded["vectors"], np.stack([e[term] for term in wanted]))


def test_an_empty_selection_is_an_error(tmp_path: Path) -> None:
    e = made_up()
    bare = Embedding(e.vectors, e.terms, e.types[:0], e.triples, e.labels, e.labelled, e.manifest)
    with pytest.raises(DataError, match='`only="all"` exports'):
        bare.export(tmp_path / "e.csv", only="typed")


# --------------------------------------------------------------------------------------------------
# Targets
# --------------------------------------------------------------------------------------------------

FILES = [name for name, form in FORMATS.items() if form.makes != "database"]


@pytest.mark.parametrize("name", FILES)
def test_an_existing_target_is_replaced_only_with_force(tmp_path: Path, name: str) -> None:
    e, target = made_up(), tmp_path / "target"
    e.export(target, name)
    with pytest.raises(OutputExists, match="force"):
        e.export(target, name)
    e.export(target, name, only="predicates", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


@pytest.mark.parametrize("name", FILES)
def test_an_interrupted_export_leaves_no_file(tmp_path: Path, name: str) -> None:
    class Impatient(Progress):
        def advance(self, done: int) -> None:
            raise Interrupted(2)

    with pytest.raises(Interrupted):
        made_up().export(tmp_path / "target", name, progress=Impatient())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", FILES)
def test_a_full_disk_is_an_error_and_leaves_no_file(tmp_path: Path, name: str) -> None:
    e = made_up(rows=2000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(WriteError, match="cannot write"):
            e.export(tmp_path / "target", name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", FILES)
def test_a_target_below_a_file_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="cannot write"):
        made_up().export(tmp_path / "file" / "target", name)


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("e.xyz", {}, "or `to` with one of: parquet"),
        ("e", {}, "cannot infer the format of"),
        ("e.gz", {}, "cannot infer the format of"),
        (None, {}, "cannot infer the format; pass `target` with a known extension, or `to`"),
        ("e.csv", {"to": "excel"}, "unknown format 'excel'"),
        ("e.bin", {"to": "word2vec"}, 'e.bin has the extension of `to="word2vec-binary"`'),
        ("e.csv.gz", {"to": "tsv"}, 'has the extension of `to="csv"`'),
        (None, {"to": "csv"}, "needs `target`, the file to write"),
        ("e.parquet.gz", {}, "compressed"),
        ("-", {"to": "atlas"}, "standard output"),
        ("-", {"to": "npy"}, "standard output"),
        ("/", {"to": "npy"}, "cannot be an output"),
        ("/", {"to": "csv"}, "cannot be an output"),
        ("e.csv", {"to": "postgres"}, "writes to a database; omit `target`"),
        (
            "e.csv",
            {"table": "t"},
            '`table` is not an option of `to="csv"`; it has `force`, `threads`, `name`',
        ),
        ("e.csv", {"neighbours": 3}, "`neighbours` is not an option"),
        ("e.csv", {"only": "classes"}, "all, typed, entities, predicates"),
        ("e.csv", {"threads": 0}, "`threads` is 0"),
        ("e.csv", {"speed": 9}, "`speed` is not an option"),
        ("e.parquet", {"to": "atlas", "neighbours": -1}, "`neighbours` is -1"),
        ("e.parquet", {"to": "atlas", "neighbours": 257}, "from 0 to 256"),
        ("e.parquet", {"to": "atlas", "layout": "tsne"}, "one of: pca, pyke"),
    ],
)
def test_invalid_parameters_are_errors(
    tmp_path: Path, target: str | None, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        made_up().export(target if target in (None, "-", "/") else tmp_path / target, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", FILES)
def test_progress_never_runs_backwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(rows.Rows.parts, "__defaults__", (200,))
    own: dict[str, Any] = {"neighbours": 3} if name == "atlas" else {}
    e, progress = made_up(extreme=False), Recorded()
    e.export(tmp_path / "target", name, progress=progress, **own)
    before = ["neighbours"] if name == "atlas" else []
    assert progress.stages == [*before, "writing"]
    assert progress.done == progress.total == len(e)


# --------------------------------------------------------------------------------------------------
# Formats from outside
# --------------------------------------------------------------------------------------------------


def norms(rows: Rows, target: str, options: Options, *, digits: int = 3) -> Outcome:
    """A toy format: a line per term with the length of its vector."""

    def blocks() -> Iterator[bytes]:
        for part in rows.parts():
            lengths = np.linalg.norm(part.vectors, axis=1)
            yield "".join(f"{length:.{digits}f}\n" for length in lengths).encode()

    write_stream(target, blocks(), options.force, options.threads)
    return Outcome()


@pytest.fixture
def toy_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy format, registered during a test."""
    monkeypatch.setattr(export_module, "FORMATS", dict(FORMATS))
    register("norms", norms, extension=".norms")


@pytest.mark.usefixtures("toy_format")
def test_a_registered_format_is_found_by_name_and_by_extension(tmp_path: Path) -> None:
    e = made_up(extreme=False)
    assert e.export(tmp_path / "a.norms", digits=1).format == "norms"
    assert e.export(tmp_path / "b.gz", "norms", digits=1).terms == len(e)
    lines = (tmp_path / "a.norms").read_text().splitlines()
    assert lines == [f"{length:.1f}" for length in np.linalg.norm(e.vectors, axis=1)]
    assert gzip.decompress((tmp_path / "b.gz").read_bytes()).decode().splitlines() == lines
    with pytest.raises(UsageError, match=r"`speed` is not an option.*`threads`, `name`, `digits`"):
        e.export(tmp_path / "c.norms", speed=1)


@pytest.mark.usefixtures("toy_format")
def test_the_command_line_knows_a_registered_format(pyke: Command, tmp_path: Path) -> None:
    made_up(extreme=False).save(tmp_path / "saved")
    assert pyke("export", tmp_path / "saved", "-o", tmp_path / "a.norms").returncode == 0
    assert len((tmp_path / "a.norms").read_text().splitlines()) == len(made_up())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("csv", norms), "there is an export format 'csv' already"),
        (("norms", norms, "stream", ".csv"), "the extension .csv belongs to the export format"),
        (("norms", norms, "paper"), "`makes` is 'paper'"),
        (("norms", lambda rows, target, options, *, force=True: Outcome()), "a name other than"),
        (("norms", lambda rows, target, options, *, digits: Outcome()), "needs a default"),
    ],
)
def test_invalid_registrations_are_errors(arguments: Any, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        register(*arguments)
    assert "norms" not in FORMATS


# --------------------------------------------------------------------------------------------------
# The command line
# --------------------------------------------------------------------------------------------------


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A saved embedding."""
    made_up().save(tmp_path / "saved")
    return tmp_path / "saved"


def test_the_command_prints_what_it_wrote(pyke: Command, directory: Path, tmp_path: Path) -> None:
    run = pyke("export", directory, "-o", tmp_path / "e.vec")
    assert run.returncode == 0, run.stderr
    assert "60 vectors of 7 dimensions" in run.stdout
    assert "2 keys had spaces" in run.stderr
    printed = json.loads(
        pyke("export", directory, "-o", tmp_path / "e.vec", "--force", "--json").stdout
    )
    assert (printed["format"], printed["terms"], printed["altered"], printed["bytes"]) == (
        "word2vec",
        60,
        2,
        (tmp_path / "e.vec").stat().st_size,
    )


@pytest.mark.parametrize(
    ("place", "name"),
    [("saved", "npy"), ("saved", "csv"), ("saved/vectors.npy", "csv"), ("saved/new", "projector")],
)
def test_an_export_never_changes_an_embedding_even_with_force(
    pyke: Command, directory: Path, place: str, name: str
) -> None:
    run = pyke("export", directory, "--to", name, "-o", directory.parent / place, "--force")
    assert run.returncode == 73
    assert "Choose another output" in run.stderr
    assert pyke("verify", directory).returncode == 0


def test_text_formats_can_go_to_standard_output(
    pyke: Command, directory: Path, tmp_path: Path
) -> None:
    run = pyke("export", directory, "--to", "csv", "-o", "-", "--only", "predicates")
    assert run.stdout.startswith("term,d0,")
    assert len(run.stdout.splitlines()) == 1 + len(made_up().predicates)


def test_a_damaged_embedding_is_not_exported(
    pyke: Command, directory: Path, tmp_path: Path
) -> None:
    with (directory / "vectors.npy").open("r+b") as file:
        file.seek(200)
        file.write(b"\xff")
    assert pyke("export", directory, "-o", tmp_path / "e.csv").returncode == 65
    assert pyke("export", tmp_path / "nowhere", "-o", tmp_path / "e.csv").returncode == 66
    assert not (tmp_path / "e.csv").exists()


def test_the_command_without_an_output_says_what_to_pass(pyke: Command, directory: Path) -> None:
    run = pyke("export", directory)
    assert run.returncode == 2
    assert "cannot infer the format; pass" in run.stderr
    run = pyke("export", directory, "--to", "csv")
    assert run.returncode == 2
    assert "the file to write" in run.stderr


def test_the_help_names_every_format(pyke: Command) -> None:
    shown = "".join(pyke("export", "--help").stdout.split())  # lines wrap at hyphens
    assert [name for name in (*FORMATS, *rows.ONLY) if name not in shown] == []


def test_the_error_names_a_missing_library(
    pyke: Command, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.compute", None)
    run = pyke("export", directory, "-o", tmp_path / "e.csv")
    assert (run.returncode, "[export]" in run.stderr) == (2, True)
    assert (
        pyke("export", directory, "-o", tmp_path / "e.safetensors").returncode == 0
    )  # needs no library
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r"\[export\]"):
        made_up().export(to="postgres", table="t")
