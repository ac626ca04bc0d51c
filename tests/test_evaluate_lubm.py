"""The LUBM generator writes the same lines as the benchmark, as text and as ids."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Command, process
from lubm_reference import CLASSES_OF, DATA_SETS, HASHES, PREDICATES_OF, TOTALS, TRACE
from pyke.config import Config
from pyke.core import hashing
from pyke.core.arrays import Ids
from pyke.core.progress import Progress
from pyke.errors import Interrupted, OutputExists, UsageError
from pyke.evaluate import lubm
from pyke.evaluate.lubm import Universities, _kernels, _tables, generate
from pyke.graph.graph import LITERAL, Graph
from pyke.pipeline import Run


def title(value: object) -> str | None:
    return (
        f"{value.count} from {value.index}, seed {value.seed}"
        if isinstance(value, Universities)
        else None
    )


def sha(lines: Sequence[bytes | memoryview]) -> str:
    hashed = hashlib.sha256()
    for begin in range(0, len(lines), 1000):
        hashed.update(b"".join(lines[begin : begin + 1000]))
    return hashed.hexdigest()


def count(blocks: Sequence[memoryview]) -> int:
    return sum(bytes(block).count(b"\n") for block in blocks)


# --------------------------------------------------------------------------------------------------
# Random numbers
# --------------------------------------------------------------------------------------------------

MIXED = (2**30, 1000, 11, 4, 5, 3, 1, 1000)


@pytest.mark.parametrize(
    ("seed", "bounds", "results"),
    [
        (0, (1000,) * 5, [360, 948, 29, 447, 515]),
        (0, (64,) * 5, [46, 53, 15, 38, 40]),
        (
            0,
            (2**30 + 1,) * 8,
            [516548029, 663681053, 251269761, 715581077, 542832677, 827187473, 49567875, 377907320],
        ),
        (42, (10,) * 5, [0, 3, 8, 4, 0]),
        (0, MIXED, [784870680, 948, 8, 2, 0, 2, 0, 761]),
        (1, MIXED, [784774492, 588, 8, 1, 4, 1, 0, 606]),
        (-15032385536, MIXED, [515083544, 948, 10, 3, 1, 2, 0, 569]),
        (-1, MIXED, [288774956, 225, 3, 2, 4, 0, 0, 478]),
    ],
)
def test_random_numbers_equal_those_of_java(
    seed: int, bounds: tuple[int, ...], results: list[int]
) -> None:
    random = np.array([generate._start_state(0, seed)], np.uint64)
    assert [_kernels.draw(random, bound) for bound in bounds] == results


def test_the_first_random_state_equals_that_of_the_benchmark() -> None:
    assert generate._start_state(7, 0) == generate._start_state(0, -15032385536)
    assert generate._start_state(0, 0) == 0x5DEECE66D


@pytest.mark.parametrize(("k", "m"), [(0, 5), (1, 1), (3, 60), (5, 460), (40, 40), (75, 168)])
def test_picking_equals_drawing_from_a_list_that_shrinks(k: int, m: int) -> None:
    random, same = np.array([12345], np.uint64), np.array([12345], np.uint64)
    out = np.empty(k, np.int64)
    _kernels.pick(random, m, out, np.empty(168, np.int64))
    pool = list(range(m))
    assert out.tolist() == [pool.pop(_kernels.draw(same, len(pool))) for _ in range(k)]
    assert random[0] == same[0]


def _stepped(state: int, steps: int) -> int:
    for _ in range(steps):
        state = (state * 0x5DEECE66D + 11) % 2**48
    return state


@pytest.mark.parametrize(("seed", "university"), sorted({row[:2] for row in TRACE}))
def test_departments_have_the_sizes_and_random_states_of_the_benchmark(
    seed: int, university: int
) -> None:
    start = generate._start_state(seed, university)
    work = generate._workspace(start)
    _kernels.draw(work.random, 11)  # the number of departments
    for _, _, number, *sizes, steps, state in (
        row for row in TRACE if row[:2] == (seed, university)
    ):
        rows = work.rows[
            : _kernels.emit_department(work, 0, number, _tables.FIRST_UNIVERSITY + university)
        ]
        counts = work.counts.tolist()
        teaching = int((rows[:, 1] == _tables.ASSISTANT_OF).sum())
        research = int((rows[:, 2] == _tables.FIRST_CLASS + _tables.RESEARCH_ASSISTANT).sum())
        head = int(rows[rows[:, 1] == _tables.HEAD_OF, 0][0])
        chair = (
            head
            - _tables.FIRST_DEPARTMENT
            - number * _tables.DEPARTMENT_TEXTS
            - int(_tables.FIRST_OF[_tables.FULL_PROFESSOR])
        )
        assert [*counts[:6], teaching, research, counts[6], chair, *counts[7:10]] == sizes
        assert int(work.random[0]) == state == _stepped(start, steps)


# --------------------------------------------------------------------------------------------------
# Text
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [one for one in HASHES if one.count < 10], ids=title)
def test_the_text_has_the_hashes_of_the_benchmark(which: Universities) -> None:
    whole, plain = list(lubm.lines(which, header=True)), list(lubm.lines(which))
    links = list(lubm.lines(which, literals=False))
    different = sorted({line for block in whole for line in bytes(block).splitlines(keepends=True)})
    assert [line[:3] for line in different[:3]] == [
        b"<> ",
        b"<> ",
        b"<ht",
    ]  # the header is in front
    different_links = [line for line in different if b'"' not in line]
    found = {
        "H1": sha(whole),
        "H2": sha(plain),
        "H3": sha(links),
        "H4": sha(different),
        "H5": sha(different[2:]),
    }
    found |= {"H6": sha(different_links), "H7": sha(different_links[2:])}
    assert {key: found[key] for key in HASHES[which]} == HASHES[which]
    header, literals = count(whole) - count(plain), count(plain) - count(links)
    assert (
        header,
        count(plain),
        len(different) - 2,
        literals,
        count(links),
        len(different_links) - 2,
    ) == TOTALS[which][:6]


@pytest.mark.parametrize("threads", [1, 3])
def test_the_text_does_not_depend_on_the_number_of_threads(threads: int) -> None:
    assert (
        sha(list(lubm.lines(Universities(5), header=True, threads=threads)))
        == HASHES[Universities(5)]["H1"]
    )


def test_universities_are_independent_of_each_other() -> None:
    ten = list(lubm.lines(Universities(10)))
    assert sha(ten[:5]) == HASHES[Universities(5)]["H2"]
    assert sha(ten[8:]) == sha(list(lubm.lines(Universities(2, index=8))))


def test_seeds_that_differ_by_131072_give_the_same_text() -> None:
    assert (
        sha(list(lubm.lines(Universities(1, seed=7 - 131072))))
        == HASHES[Universities(1, seed=7)]["H2"]
    )
    assert sha(list(lubm.lines(Universities(1, seed=8)))) != HASHES[Universities(1, seed=7)]["H2"]


def test_universities_that_grant_no_degrees_have_their_own_names() -> None:
    (block,) = lubm.lines(Universities(1, index=123456))
    lines = bytes(block).splitlines()
    assert (
        lines[1]
        == b'<http://www.University123456.edu> <%s#name> "University123456" .'
        % lubm.ONTOLOGY.encode()
    )
    assert (
        sum(
            line.endswith(b"#subOrganizationOf> <http://www.University123456.edu> .")
            for line in lines
        )
        >= 15
    )


def test_another_ontology_changes_only_its_iris() -> None:
    other = "http://www.lehigh.edu/~zhp2/2004/0401/univ-bench.owl"
    wanted = b"".join(lubm.lines(Universities(1), header=True)).replace(
        lubm.ONTOLOGY.encode(), other.encode()
    )
    assert b"".join(lubm.lines(Universities(1, ontology=other), header=True)) == wanted


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"count": 0}, "`count` is 0"),
        ({"count": True}, "`count` is True"),
        ({"count": 1, "seed": 2**31}, "`seed` is 2147483648"),
        ({"count": 1, "seed": -(2**31) - 1}, "`seed` is -2147483649"),
        ({"count": 1, "index": -1}, "`index` is -1"),
        ({"count": 1, "ontology": "http://e/a b"}, "absolute IRI"),
        ({"count": 1, "ontology": "univ-bench.owl"}, "absolute IRI"),
        ({"count": 1, "ontology": "http://e/x#"}, "without #"),
        ({"count": 1, "ontology": "http://e/>"}, "absolute IRI"),
        ({"count": 1, "ontology": ""}, "absolute IRI"),
    ],
    ids=str,
)
def test_invalid_parameters_are_rejected(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Universities(**parameters)


def test_an_invalid_number_of_threads_is_rejected() -> None:
    with pytest.raises(UsageError, match="threads"):
        lubm.lines(Universities(1), threads=-1)


# --------------------------------------------------------------------------------------------------
# Ids
# --------------------------------------------------------------------------------------------------


def assert_same(one: Graph, other: Graph) -> None:
    """Both graphs are equal, except for the number of bytes read."""
    assert replace(one.census, bytes=0) == replace(other.census, bytes=0)
    for name in ("subjects", "predicate_positions", "objects", "predicates", "types", "labelled"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.terms.blob, other.terms.blob)
    np.testing.assert_array_equal(one.terms.offsets, other.terms.offsets)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three universities as a file: one that grants degrees, and two that do not."""
    path = tmp_path_factory.mktemp("lubm") / "three.nt"
    lubm.write(Universities(3, index=999), path)
    return path


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"keep_duplicates": True},
        {"count_literals": True},
        {"count_literals": True, "keep_duplicates": True},
        {"threads": 1},
    ],
    ids=str,
)
def test_the_generated_graph_equals_the_graph_read_from_the_text(
    three: Path, parameters: dict[str, Any]
) -> None:
    config = Config(**parameters)
    assert_same(lubm.read(Universities(3, index=999), config), Run(three, config).read())


def test_the_graph_without_literals_equals_the_text_without_literals(tmp_path: Path) -> None:
    lubm.write(Universities(1), tmp_path / "one.nt", literals=False)
    assert_same(
        lubm.read(Universities(1), literals=False), Run(tmp_path / "one.nt", Config()).read()
    )


def test_hashes_equal_those_of_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyke.evaluate.lubm.generate.secrets.randbits", lambda _: 77)
    seed, terms = np.uint64(77), next(lubm.batches(Universities(1))).terms
    for i in (0, 1, 500, int(terms.size[0]) - 1):
        unfinished = np.uint64(
            hashing.hash_bytes(terms.blob, terms.offsets[i], terms.offsets[i + 1] - 1, seed)
        )
        assert terms.hashes[i] == hashing.mix(unfinished)


@pytest.mark.parametrize("which", TOTALS, ids=title)
def test_the_graph_has_the_counts_of_the_benchmark_and_of_the_paper(
    which: Universities,
) -> None:
    graph = lubm.read(which, Config(keep_duplicates=True))
    _, lines, _, literals, triples, _, terms, subjects, classes = TOTALS[which]
    census = graph.census
    assert (census.statements, census.literals, census.triples) == (lines, literals, triples)
    assert (census.terms, census.typed_subjects, census.classes) == (terms, subjects, classes)
    if which in DATA_SETS:
        column = DATA_SETS.index(which)
        assert named(graph, graph.predicate_ids) == {
            key: row[column] for key, row in PREDICATES_OF.items() if key in LINKS
        }
        assert named(graph, graph.types[:, 1]) == {
            key: row[column] for key, row in CLASSES_OF.items()
        }


LINKS = _tables.PREDICATES[_tables.FIRST_LINK :]


def named(graph: Graph, column: Ids) -> dict[str, int]:
    """The frequency of each name of the ontology in a column."""
    counts = np.bincount(column)
    return {
        graph.terms[i].split("#")[1].replace("type", "rdf:type"): int(counts[i])
        for i in np.flatnonzero(counts)
    }


@pytest.mark.parametrize("which", [which for which in DATA_SETS if which.count < 10], ids=title)
def test_predicates_with_literals_are_as_frequent_as_in_the_benchmark(
    which: Universities,
) -> None:
    graph = lubm.read(which, Config(count_literals=True))
    wanted = {
        key: row[DATA_SETS.index(which)] for key, row in PREDICATES_OF.items() if key not in LINKS
    }
    assert named(graph, graph.predicate_ids[graph.objects == LITERAL]) == wanted


# --------------------------------------------------------------------------------------------------
# Files and the command line
# --------------------------------------------------------------------------------------------------


def test_writing_counts_lines_and_bytes(tmp_path: Path) -> None:
    plain = lubm.write(Universities(1), tmp_path / "deep" / "one.nt", header=True)
    packed = lubm.write(Universities(1), tmp_path / "one.nt.gz", header=True)
    text = (tmp_path / "deep" / "one.nt").read_bytes()
    assert hashlib.sha256(text).hexdigest() == HASHES[Universities(1)]["H1"]
    assert (plain.lines, plain.text_bytes, plain.file_bytes) == (103_076, len(text), len(text))
    assert gzip.decompress((tmp_path / "one.nt.gz").read_bytes()) == text
    assert (packed.lines, packed.text_bytes) == (plain.lines, plain.text_bytes)
    assert packed.file_bytes == (tmp_path / "one.nt.gz").stat().st_size < len(text) / 10


class Stopping(Progress):
    """Stops after the second university."""

    def advance(self, done: int) -> None:
        if done == 2:
            raise Interrupted(2)


@pytest.mark.parametrize("name", ["four.nt", "four.nt.gz"])
@pytest.mark.parametrize("before", [None, b"old"])
def test_interrupted_writing_keeps_the_existing_file(
    name: str, before: bytes | None, tmp_path: Path
) -> None:
    if before:
        (tmp_path / name).write_bytes(before)
    with pytest.raises(Interrupted):
        lubm.write(Universities(4), tmp_path / name, force=True, progress=Stopping())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == (
        {name: before} if before else {}
    )


def test_an_existing_file_is_replaced_only_with_force(tmp_path: Path) -> None:
    path = tmp_path / "one.nt"
    path.write_bytes(b"precious")
    with pytest.raises(OutputExists, match="force"):
        lubm.write(Universities(1), path)
    assert path.read_bytes() == b"precious"
    lubm.write(Universities(1), path, force=True)
    assert path.stat().st_size > 10**7


def test_the_command_writes_a_file_and_reports_its_speed(pyke: Command, tmp_path: Path) -> None:
    run = pyke("lubm", 3, "-o", tmp_path / "three.nt", "--header")
    assert run.returncode == 0, run.stderr
    assert "Wrote 348,012 lines of LUBM(3) to" in run.stdout
    assert " lines/s." in run.stdout
    assert sha([(tmp_path / "three.nt").read_bytes()]) == HASHES[Universities(3)]["H1"]


def test_the_command_prints_json(pyke: Command, tmp_path: Path) -> None:
    printed = json.loads(
        pyke(
            "lubm",
            1,
            "-o",
            tmp_path / "x.nt",
            "--no-literals",
            "--seed",
            "7",
            "--threads",
            "1",
            "--json",
        ).stdout
    )
    content = (tmp_path / "x.nt").read_bytes()
    assert sha([content]) == HASHES[Universities(1, seed=7)]["H3"]
    assert (printed["lines"], printed["file_bytes"], printed["text_bytes"]) == (
        96_189,
        len(content),
        len(content),
    )


def test_the_command_writes_only_the_text_to_standard_output() -> None:
    run = process("lubm", "1", "-o", "-", "--no-literals")
    assert sha([run.stdout.encode()]) == HASHES[Universities(1)]["H3"]
    assert "Wrote 69,995 lines of LUBM(1) to standard output" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("0", "-o", "x.nt"), 2, "N is 0; it must be an integer from 1"),
        (("1", "-o", "x.nt", "--seed", "2147483648"), 2, "seed"),
        (("1", "-o", "x.nt", "--index", "-1"), 2, "index"),
        (("1", "-o", "x.nt", "--ontology", "http://e/a b"), 2, "ontology"),
        (("1", "-o", "x.nt", "--threads", "-1"), 2, "threads"),
        (("1", "-o", "taken"), 73, "--force"),
        (("1", "-o", "."), 73, "is not a file"),
        (("1", "-o", "taken/x.nt"), 74, "cannot write"),
        (("1",), 2, "--output"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_invalid_arguments_have_their_exit_codes(
    pyke: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_bytes(b"x")
    run = pyke("lubm", *arguments)
    assert (run.returncode, words in run.stderr) == (code, True), run.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"taken"}
