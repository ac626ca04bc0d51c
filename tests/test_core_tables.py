"""Tables: other programs read back what was written, and no table is written partially."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import read_table
from graphs import many
from pyke.core.tables import Columns, check_table, write_table
from pyke.errors import MissingLibrary, OutputExists, UsageError

KINDS = {"text": str, "number": int, "part": float}
Row = tuple[str | None, int | None, float | None]
CELLS = st.text(st.sampled_from('a"\t,\n\r é\x00\\ '), min_size=1, max_size=4)
ROWS = st.lists(
    st.tuples(
        CELLS, st.integers(-9, 9), st.floats(width=32, allow_nan=False, allow_infinity=False)
    ),
    max_size=9,
)


def blocks(rows: list[Row], size: int = 2) -> Iterator[Columns]:
    for begin in range(0, len(rows), size):
        yield dict(zip(KINDS, zip(*rows[begin : begin + size], strict=True), strict=True))


@pytest.mark.parametrize(("ending", "separator"), [(".csv", ","), (".tsv", "\t")])
@given(rows=ROWS)
@many(60)
def test_text_with_separators_quotes_and_line_breaks_reads_back(
    ending: str, separator: str, rows: list[Row], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("tables") / f"table{ending}"
    write_table(path, KINDS, blocks(rows))
    with path.open(newline="") as file:
        names, *read = csv.reader(file, delimiter=separator)
    assert names == list(KINDS)
    assert [(text, int(number), float(part)) for text, number, part in read] == rows


@given(rows=ROWS)
@many(60)
def test_json_lines_and_parquet_read_back(
    rows: list[Row], tmp_path_factory: pytest.TempPathFactory
) -> None:
    from pyarrow import parquet

    folder = tmp_path_factory.mktemp("tables")
    write_table(folder / "table.jsonl", KINDS, blocks(rows))
    write_table(folder / "table.parquet", KINDS, blocks(rows))
    plain = [dict(zip(KINDS, row, strict=True)) for row in rows]
    assert [
        json.loads(line) for line in (folder / "table.jsonl").read_text().split("\n")[:-1]
    ] == plain
    read = parquet.read_table(folder / "table.parquet")
    assert read.to_pylist() == plain
    assert [str(kind) for kind in read.schema.types] == ["string", "int64", "float"]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_cells_may_be_missing(ending: str, tmp_path: Path) -> None:
    write_table(tmp_path / f"table{ending}", KINDS, blocks([(None, None, None), ("a", 1, 0.5)]))
    table = read_table(tmp_path / f"table{ending}")
    assert table.isna().values.tolist() == [[True] * 3, [False] * 3]


def test_a_second_extension_compresses_the_table(tmp_path: Path) -> None:
    write_table(tmp_path / "table.csv.gz", KINDS, blocks([("a", 1, 0.5)]))
    assert (
        gzip.decompress((tmp_path / "table.csv.gz").read_bytes()) == b"text,number,part\na,1,0.5\n"
    )


def test_a_failed_table_leaves_no_file(tmp_path: Path) -> None:
    def broken() -> Iterator[Columns]:
        yield from blocks([("a", 1, 0.5)])
        raise ValueError("source failed")

    for ending in (".csv", ".parquet"):
        with pytest.raises(ValueError, match="source failed"):
            write_table(tmp_path / f"table{ending}", KINDS, broken())
    assert list(tmp_path.iterdir()) == []


def test_check_table_rejects_existing_files_and_unknown_extensions(tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("kept")
    with pytest.raises(OutputExists, match="force"):
        check_table(tmp_path / "there.csv", force=False)
    check_table(tmp_path / "there.csv", force=True)
    check_table("-", force=False)
    for name in ("table", "table.txt", "table.gz", "table.parquet.zst", ".csv", ""):
        with pytest.raises(UsageError, match="the extensions are"):
            check_table(tmp_path / name, force=False)


def test_the_error_names_a_missing_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingLibrary, match=r"pyarrow.*\[export\]"):
        write_table(tmp_path / "table.parquet", KINDS, blocks([]))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
def test_labels_that_look_like_formulas_are_written_exactly(ending: str, tmp_path: Path) -> None:
    labels = ["=1+1", "+1", "-1", "@SUM(A1)", '=HYPERLINK("http://e/")', "\t=1", "\r=1"]
    path = tmp_path / f"table{ending}"
    write_table(path, {"text": str}, [{"text": labels}])
    with open(path, newline="") as file:
        if ending == ".jsonl":
            read = [json.loads(line)["text"] for line in file]
        else:
            separator = "," if ending == ".csv" else "\t"
            read = [row["text"] for row in csv.DictReader(file, delimiter=separator)]
    assert read == labels
