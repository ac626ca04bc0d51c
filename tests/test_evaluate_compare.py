"""Comparisons: stored rows, methods that fail or exceed the time limit, tables and the command.

Short modules of our own stand in for the libraries of other methods.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from pyke.cli import terminal
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.errors import Interrupted, MissingLibrary, NothingToScore, OutputExists, UsageError
from pyke.evaluate import Measures, evaluate, evaluate_held_out, rivals, tables
from pyke.evaluate import compare as compare_module
from pyke.evaluate.compare import FAILED, OK, TIME_LIMIT, Comparison, Row, Setup, compare
from pyke.evaluate.rivals import builtin, process
from pyke.evaluate.rivals.process import Request, Result
from pyke.pipeline import Run

CONFIG = Config(dimensions=8)
OPTIONS = ("--dimensions", "8")

# A stand-in for gensim, with what we use of it.
WORKING = """
class Word2Vec:
    def __init__(self, sentences, vector_size, **_):
        import numpy as np
        words = sorted({word for sentence in sentences for word in sentence})
        vectors = np.array([[VALUE] * vector_size] * len(words), np.float32)
        self.wv = type("", (), {"index_to_key": words, "vectors": vectors})
"""


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Replace gensim by a module, for processes that start from now on."""
    (folder / "library" / "gensim").mkdir(parents=True, exist_ok=True)
    (folder / "library" / "gensim" / "__init__.py").write_text("" if "class" in code else code)
    (folder / "library" / "gensim" / "models.py").write_text(code)
    shutil.rmtree(folder / "library" / "gensim" / "__pycache__", ignore_errors=True)
    monkeypatch.syspath_prepend(folder / "library")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


@pytest.fixture(scope="module")
def compared(typed: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Comparison, Path]:
    """A comparison of two methods, and the file with its rows."""
    kept = tmp_path_factory.mktemp("compared") / "comparison.json"
    return compare(typed, CONFIG, Setup(["pyke", "random"]), kept), kept


def test_fewer_subjects_can_be_predicted(typed: Path, compared: tuple[Comparison, Path]) -> None:
    measures = Measures(mu=[1], purity=False, most=5)
    found = compare(typed, CONFIG, Setup(["random", "prior"], measures=measures))
    for row in found.rows:
        assert row.in_graph
        assert row.held_out
        assert row.in_graph["types"]["asked"] == row.held_out["types"]["asked"] == 5
    everyone = compared[0].rows[1].in_graph
    assert everyone
    assert everyone["types"]["asked"] > 5


@pytest.fixture
def kept(compared: tuple[Comparison, Path], tmp_path: Path) -> Path:
    """A copy of the file with the rows."""
    return Path(shutil.copy(compared[1], tmp_path / "comparison.json"))


@pytest.fixture
def no_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a method runs."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a method ran")

    monkeypatch.setattr(subprocess, "Popen", refuse)


def rows_in(path: Path) -> dict[str, dict[str, Any]]:
    return {row["method"]: row for row in json.loads(path.read_text())["rows"]}


def change_row(path: Path, method: str, **changes: Any) -> None:
    """Change a stored row, to distinguish it from a computed one."""
    content = json.loads(path.read_text())
    (row,) = [row for row in content["rows"] if row["method"] == method]
    row.update(changes)
    path.write_text(json.dumps(content))


# --------------------------------------------------------------------------------------------------
# Rows
# --------------------------------------------------------------------------------------------------


def test_a_row_has_both_protocols_purity_seconds_and_memory(
    compared: tuple[Comparison, Path],
) -> None:
    comparison, path = compared
    assert [row.method for row in comparison.rows] == ["pyke", "random"]
    for row in comparison.rows:
        assert row.status == OK
        assert row.in_graph is not None
        assert row.held_out is not None
        assert 0 <= (row.seconds or -1) < 60
        assert (row.peak_bytes or 0) > 10**7
        assert 0 <= row.in_graph["purity"]["weighted"] <= 1
        assert row.held_out["types"]["votes"]["top_1"] >= 0
    assert json.loads(path.read_text()) == json.loads(json.dumps(comparison.as_dict()))


def test_the_scores_equal_those_of_an_evaluation(
    compared: tuple[Comparison, Path], typed: Path
) -> None:
    row = compared[0].rows[0]
    assert row.in_graph is not None
    assert row.held_out is not None
    alone = evaluate(Run(typed, CONFIG).embed()).as_dict()
    assert row.in_graph == {"types": alone["types"], "purity": alone["purity"]}
    assert row.held_out["types"] == evaluate_held_out(typed, CONFIG).as_dict()["types"]


def test_pyke_beats_random_vectors(compared: tuple[Comparison, Path]) -> None:
    ours, chance = (tables.scores_of(row.held_out or {})[10] for row in compared[0].rows)
    assert ours > 0.8 > chance


@pytest.mark.usefixtures("no_children")
def test_a_stored_row_is_not_computed_again(kept: Path, typed: Path) -> None:
    change_row(kept, "pyke", seconds=12345.0)
    comparison = compare(typed, CONFIG, Setup(["pyke", "random"]), kept)
    assert [row.seconds for row in comparison.rows if row.method == "pyke"] == [12345.0]
    assert rows_in(kept)["pyke"]["seconds"] == 12345.0


@pytest.mark.usefixtures("no_children")
@pytest.mark.parametrize("methods", [["pyke", "random"], ["random", "pyke"], ["random"]])
def test_rows_are_in_the_order_of_the_given_methods(
    kept: Path, typed: Path, methods: list[str]
) -> None:
    """Rows of other methods stay in the file."""
    comparison = compare(typed, CONFIG, Setup(methods), kept)
    assert [row.method for row in comparison.rows] == methods
    assert set(rows_in(kept)) == {"pyke", "random"}


@pytest.mark.usefixtures("no_children")
def test_a_method_given_twice_has_one_row(kept: Path, typed: Path) -> None:
    comparison = compare(typed, CONFIG, Setup(["random", "pyke", "random"]), kept)
    assert [row.method for row in comparison.rows] == ["random", "pyke"]
    assert len(json.loads(kept.read_text())["rows"]) == 2


def test_only_a_new_method_is_computed(
    kept: Path, typed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, WORKING.replace("VALUE", "1.0"))
    change_row(kept, "pyke", seconds=12345.0)
    comparison = compare(typed, CONFIG, Setup(["word2vec", "pyke"]), kept)
    assert [(row.method, row.status) for row in comparison.rows] == [("word2vec", OK), ("pyke", OK)]
    assert {name: row["seconds"] == 12345.0 for name, row in rows_in(kept).items()} == {
        "word2vec": False,
        "pyke": True,
        "random": False,
    }


@pytest.mark.usefixtures("no_children")
@pytest.mark.parametrize(
    ("config", "setup", "words"),
    [
        (Config(dimensions=9), Setup(["pyke"]), "dimensions"),
        (Config(dimensions=8, threads=7), Setup(["pyke"]), "threads"),
        (Config(dimensions=8, seed=1), Setup(["pyke"]), "seed"),
        (CONFIG, Setup(["pyke"], fraction=0.3), "held_out"),
        (CONFIG, Setup(["pyke"], measures=Measures(mu=[1])), "mu"),
        (CONFIG, Setup(["pyke"], measures=Measures(purity=False)), "purity"),
    ],
)
def test_a_comparison_with_other_settings_is_not_replaced(
    kept: Path, typed: Path, config: Config, setup: Setup, words: str
) -> None:
    before = kept.read_bytes()
    with pytest.raises(OutputExists, match=rf"other settings \({words}\).*`force=True`"):
        compare(typed, config, setup, kept)
    assert kept.read_bytes() == before


@pytest.mark.usefixtures("no_children")
def test_a_comparison_on_another_graph_is_not_replaced(
    kept: Path, typed: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.nt"
    other.write_text(typed.read_text() + "<http://e/a> <http://e/p> <http://e/b> .\n")
    with pytest.raises(OutputExists, match=r"other settings \(inputs\)"):
        compare(other, CONFIG, Setup(["pyke"]), kept)


NOT_A_COMPARISON = [
    b"",
    b"no JSON",
    b"[]",
    b"3",
    b"{}",
    b'{"rows": 3}',
    b'{"rows": [{"method": "pyke"}]}',
    b'{"rows": [{"x": 1}]}',
    b'{"rows": [3]}',
    b'{"rows": []}',
    b'{"rows": [], "settings": 3}',
    b'{"rows": [], "settings": []}',
    b"\xff",
]


@pytest.mark.usefixtures("no_children")
@pytest.mark.parametrize("content", NOT_A_COMPARISON, ids=repr)
def test_a_file_that_is_not_a_comparison_is_not_replaced(
    typed: Path, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "comparison.json"
    path.write_bytes(content)
    with pytest.raises(OutputExists, match="`force=True`"):
        compare(typed, CONFIG, Setup(["pyke"]), path)
    assert path.read_bytes() == content


def test_force_replaces_an_existing_comparison(kept: Path, typed: Path) -> None:
    """Also the rows of methods that are not given."""
    change_row(kept, "random", seconds=12345.0)
    comparison = compare(typed, CONFIG, Setup(["random"]), kept, force=True)
    assert comparison.rows[0].seconds != 12345.0
    assert set(rows_in(kept)) == {"random"}


# --------------------------------------------------------------------------------------------------
# Methods without vectors
# --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def direct(typed: Path) -> Comparison:
    """A comparison of a method with vectors and two without."""
    measures = Measures(mu=[1, 10], purity=False)
    return compare(typed, CONFIG, Setup(["random", "springs", "prior"], measures=measures))


def test_a_method_without_vectors_has_one_score_and_no_purity(direct: Comparison) -> None:
    chance, springs, prior = direct.rows
    for row in (springs, prior):
        assert row.status == OK
        assert row.in_graph is not None
        assert row.held_out is not None
        assert row.in_graph["purity"] is None
        assert "scores" not in row.held_out["types"]
        assert (row.peak_bytes or 0) > 10**7
    found = [tables.score_at(row.held_out or {}, 10) or 0 for row in (chance, springs, prior)]
    assert found[1] > 0.8 > max(found[0], found[2])
    assert tables.score_at(springs.held_out or {}, 1) == found[1], "it does not depend on μ"


def test_a_method_without_vectors_is_in_the_table_but_has_no_curve(direct: Comparison) -> None:
    table = tables.comparison_table(direct)
    assert [row[0] for row in table.rows] == [
        "random vectors",
        "nearest by springs, no vectors",
        "class prior",
    ]
    assert all(cell.startswith(("0.", "1.")) for row in table.rows for cell in row[1:5])
    assert [row[5] for row in table.rows] == ["–"] * 3
    labels = {line.get_label() for line in tables.curves(direct).axes[0].lines}
    assert labels == {"random vectors"}


def test_a_comparison_of_methods_without_vectors_has_a_figure(direct: Comparison) -> None:
    assert not tables.curves(replace(direct, rows=direct.rows[1:])).axes[0].lines
    assert tables.comparison_table(replace(direct, rows=direct.rows[1:])).rows


CONSTANT = """
import numpy as np
from pyke.core.arrays import Matrix
from pyke.evaluate.rivals import Predictor, register

def constant(job, subjects):
    offsets = np.arange(len(subjects) + 1)
    columns = np.full(len(subjects), job.graph.types[0, 1], np.int32)
    return Matrix(offsets, columns, np.ones(len(subjects), np.float32))

register("constant", Predictor("One class", constant, in_graph=False))
"""


def test_a_predictor_from_outside_that_needs_withheld_types_has_no_score_in_graph(
    outside: Path, typed: Path
) -> None:
    (outside / "toy_rival.py").write_text(CONSTANT)
    importlib.import_module("toy_rival")
    comparison = compare(typed, CONFIG, Setup(["constant"]))
    (row,) = comparison.rows
    assert (row.status, row.in_graph) == (OK, None), row.reason
    assert row.held_out is not None
    assert 0 < row.held_out["types"]["votes"]["top_1"] < 0.8
    cells = tables.comparison_table(comparison).rows[0]
    assert cells[1] == "–"
    assert cells[2].startswith("0.")


# --------------------------------------------------------------------------------------------------
# Chosen settings
# --------------------------------------------------------------------------------------------------

CHOOSING = """
import numpy as np
from pyke.evaluate.rivals import Method, register

def choose(job):
    return {"typed_subjects": len(np.unique(job.graph.types[:, 0])), "factor": 2}

def run(job):
    rng = np.random.default_rng(job.settings["factor"])
    shape = (len(job.graph.terms), job.config.dimensions)
    return rng.normal(size=shape).astype(np.float32)

register("choosing", Method("Choosing", run, choose=choose))
"""


def test_a_method_chooses_settings_without_the_withheld_types(
    outside: Path, typed: Path, tmp_path: Path
) -> None:
    """Types of 12 of the 61 subjects are withheld. The table and the file show the settings."""
    (outside / "toy_rival.py").write_text(CHOOSING)
    importlib.import_module("toy_rival")
    kept = tmp_path / "comparison.json"
    comparison = compare(typed, CONFIG, Setup(["choosing"]), kept)
    (row,) = comparison.rows
    assert (row.status, row.reason) == (OK, "")
    assert row.chosen == {"typed_subjects": 49, "factor": 2}
    assert rows_in(kept)["choosing"]["chosen"] == row.chosen
    assert row.choice_seconds is not None
    note = tables.comparison_table(comparison).note
    assert re.search(r"Choosing: typed subjects 49, factor 2 \([\d.]+ s\)", note)


# --------------------------------------------------------------------------------------------------
# Failures
# --------------------------------------------------------------------------------------------------

NO_TIME = Setup(["pyke", "random"], time_limit=0.001)


def test_a_method_that_exceeds_the_time_limit_has_a_star(typed: Path, tmp_path: Path) -> None:
    kept = tmp_path / "comparison.json"
    comparison = compare(typed, CONFIG, NO_TIME, kept)
    assert [(row.status, row.limit, row.seconds) for row in comparison.rows] == [
        (TIME_LIMIT, 0.001, None)
    ] * 2
    table = tables.comparison_table(comparison)
    assert [set(row[1:]) for row in table.rows] == [{"*"}, {"*"}]
    assert not table.best
    assert rows_in(kept)["random"]["status"] == TIME_LIMIT


def test_rows_of_a_file_whose_name_is_not_utf8_are_kept(typed: Path, tmp_path: Path) -> None:
    odd = Path(shutil.copy(typed, os.fsdecode(os.fsencode(tmp_path) + b"/gr\xfcn.nt")))
    compare(odd, CONFIG, NO_TIME, tmp_path / "comparison.json")
    assert set(rows_in(tmp_path / "comparison.json")) == {"pyke", "random"}


def test_scores_from_before_the_time_limit_are_shown(
    typed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def slow_without_types(request: Request, progress: Progress) -> Result:
        if request.graph.endswith("held-out"):
            raise subprocess.TimeoutExpired("x", 60)
        return process.run_method(request, progress)

    monkeypatch.setattr(compare_module, "run_method", slow_without_types)
    comparison = compare(typed, CONFIG, Setup(["random"], time_limit=60))
    (row,) = comparison.rows
    assert (row.status, row.limit, row.held_out) == (TIME_LIMIT, 60, None)
    assert row.in_graph is not None
    assert row.seconds is not None
    cells = tables.comparison_table(comparison).rows[0]
    assert cells[1].startswith("0.")
    assert cells[2:5] == ["*"] * 3


def test_a_method_that_exceeded_its_time_limit_runs_again_only_with_a_higher_limit(
    kept: Path, typed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {
        "status": TIME_LIMIT,
        "limit": 5.0,
        "seconds": None,
        "peak_bytes": None,
        "in_graph": None,
        "held_out": None,
    }
    change_row(kept, "random", **row)
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("it ran again"))
        for limit in (1.0, 5.0):
            assert (
                compare(typed, CONFIG, Setup(["random"], time_limit=limit), kept).rows[0].status
                == TIME_LIMIT
            )
    assert compare(typed, CONFIG, Setup(["random"], time_limit=60), kept).rows[0].status == OK


FAILURES = {
    "an exception": ("raise RuntimeError('out of luck')", "RuntimeError: out of luck"),
    "a signal": ("import os; os.kill(os.getpid(), 9)", "killed by signal 9"),
    "infinite values": (
        WORKING.replace("VALUE", "float('nan')"),
        "Word2Vec returned infinite values or NaN",
    ),
    "no Unicode": (r"import os; os.write(2, b'\xff\xfe broken\n'); os._exit(1)", "broken"),
}


class Noted(Progress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


@pytest.mark.parametrize(("code", "reason"), FAILURES.values(), ids=FAILURES)
def test_a_method_that_fails_has_a_dagger_and_a_reason(
    code: str, reason: str, typed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, code)
    kept, progress = tmp_path / "comparison.json", Noted()
    comparison = compare(typed, CONFIG, Setup(["word2vec"]), kept, progress=progress)
    assert comparison.rows[0].status == FAILED
    assert reason in comparison.rows[0].reason
    assert [note for note in progress.notes if "Word2Vec failed" in note and reason in note]
    assert set(tables.comparison_table(comparison).rows[0][1:]) == {"†"}
    assert reason in rows_in(kept)["word2vec"]["reason"]


def test_other_methods_continue_after_a_failure_and_the_failed_one_runs_again(
    kept: Path, typed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, "raise RuntimeError('out of luck')")
    setup = Setup(["word2vec", "random"])
    assert [row.status for row in compare(typed, CONFIG, setup, kept).rows] == [FAILED, OK]
    stand_in(tmp_path, monkeypatch, WORKING.replace("VALUE", "1.0"))
    assert [row.status for row in compare(typed, CONFIG, setup, kept).rows] == [OK, OK]


def test_the_error_of_a_method_cannot_control_the_terminal(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Its last line is shown without markup and without control characters."""
    for progress in (terminal._Bars(), terminal._PlainLines()):
        progress.note("Word2Vec failed: [/b] [red]x\x1b[31m")
        shown = capfd.readouterr().err
        assert "[/b] [red]x" in shown
        assert "\x1b[31m" not in shown


def test_a_missing_library_is_named_before_any_method_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(
        rivals.METHODS, "absent", rivals.Method("Absent", builtin.random_vectors, "no_such_library")
    )
    with pytest.raises(
        MissingLibrary,
        match=r"Absent, one of the .*, needs no_such_library, which is not installed",
    ):
        compare("not even looked for.nt", setup=Setup(["pyke", "absent"]))


def test_a_library_that_cannot_be_loaded_is_named(
    pyke: Command, typed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, "raise ImportError")
    run = pyke(
        "compare",
        typed,
        *OPTIONS,
        "--methods",
        "word2vec",
        "--report",
        tmp_path / "comparison.html",
    )
    assert run.returncode == 0
    assert "Word2Vec needs gensim, which is not installed. Run make baselines" in run.stderr
    assert "Traceback" not in run.stderr


class StopAt(Progress):
    """Raises Interrupted when a method starts."""

    def __init__(self, method: str) -> None:
        self._method, self._now = method, False

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        self._now = name == self._method

    def advance(self, done: int) -> None:
        if self._now:
            raise Interrupted(2)


def test_rows_finished_before_a_signal_are_stored(typed: Path, tmp_path: Path) -> None:
    kept = tmp_path / "comparison.json"
    with pytest.raises(Interrupted):
        compare(typed, CONFIG, Setup(["random", "pyke"]), kept, progress=StopAt("pyke"))
    assert set(rows_in(kept)) == {"random"}


@pytest.mark.usefixtures("no_children")
def test_invalid_parameters_are_rejected_before_any_method_runs(typed: Path) -> None:
    with pytest.raises(UsageError, match="no method 'transh'"):
        compare(typed, CONFIG, Setup(["pyke", "transh"]))
    with pytest.raises(UsageError, match="`methods` is empty"):
        compare(typed, CONFIG, Setup([]))
    with pytest.raises(UsageError, match="between 0 and 1"):
        compare(typed, CONFIG, Setup(["pyke"], fraction=1.0))


@pytest.mark.usefixtures("no_children")
@pytest.mark.parametrize("mu", [0, 50, 61])
def test_an_invalid_mu_is_rejected_before_any_method_runs(typed: Path, mu: int) -> None:
    """The types of 12 of 61 subjects are withheld; the other 49 can be neighbours."""
    with pytest.raises((UsageError, NothingToScore), match=f"`mu` is {mu}"):
        compare(typed, CONFIG, Setup(["pyke"], measures=Measures(mu=[1, mu])))


# --------------------------------------------------------------------------------------------------
# Methods from outside
# --------------------------------------------------------------------------------------------------

OUT_DEGREE = """
import numpy as np
from pyke.evaluate.rivals import Job, Method, register

def degree(job):
    found = np.zeros((len(job.graph.terms), job.config.dimensions), np.float32)
    found[:, 0] = np.bincount(job.triples[:, 0], minlength=len(found))
    return found

DEGREE = Method("Out-degree", degree)
"""


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path of Python. Methods that a test registers are removed after it."""
    folder = tmp_path / "outside"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    before = dict(rivals.METHODS)
    yield folder
    rivals.METHODS.clear()
    rivals.METHODS.update(before)
    sys.modules.pop("toy_rival", None)


def test_a_module_adds_a_method_with_register(outside: Path, typed: Path) -> None:
    (outside / "toy_rival.py").write_text(f"{OUT_DEGREE}\nregister('degree', DEGREE)\n")
    importlib.import_module("toy_rival")
    comparison = compare(typed, CONFIG, Setup(["degree", "random"]))
    assert [(row.method, row.status) for row in comparison.rows] == [("degree", OK), ("random", OK)]
    assert tables.comparison_table(comparison).rows[0][0] == "Out-degree"
    assert "degree" in rivals.names()


def install(folder: Path, value: str) -> None:
    """Write the metadata of an installed package with a method `degree`."""
    metadata = folder / "toy_rival-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-rival\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[pyke.rivals]\ndegree = {value}\n")


def test_an_installed_package_adds_a_method_to_the_command(
    pyke: Command, outside: Path, typed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (outside / "toy_rival.py").write_text(OUT_DEGREE)
    install(outside, "toy_rival:DEGREE")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    report = tmp_path / "comparison.html"
    run = pyke("compare", typed, *OPTIONS, "--methods", "degree", "--report", report)
    assert run.returncode == 0, run.stderr
    assert "Out-degree" in run.stdout
    assert rows_in(report.with_suffix(".json"))["degree"]["status"] == OK


@pytest.mark.usefixtures("no_children")
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("toy_rival:MISSING", "cannot load the method 'degree'"),
        ("no_such_module:DEGREE", "cannot load the method 'degree'"),
        ("toy_rival:degree", "toy_rival:degree is not a pyke.evaluate.rivals.Method or Predictor"),
    ],
)
def test_a_broken_entry_point_is_named(outside: Path, typed: Path, value: str, words: str) -> None:
    (outside / "toy_rival.py").write_text(OUT_DEGREE)
    install(outside, value)
    with pytest.raises(UsageError, match=words):
        compare(typed, CONFIG, Setup(["degree"]))


def test_a_name_is_registered_once() -> None:
    with pytest.raises(UsageError, match="there is already a method 'random'"):
        rivals.register("random", rivals.Method("Mine", builtin.random_vectors))


def test_a_function_of_a_script_cannot_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    def mine(job: rivals.Job) -> Any:
        return job

    monkeypatch.setattr(mine, "__module__", "__main__")
    with pytest.raises(UsageError, match="define it in a module"):
        rivals.register("mine", rivals.Method("Mine", mine))


def test_a_method_that_returns_a_wrong_shape_fails(outside: Path, typed: Path) -> None:
    code = OUT_DEGREE.replace("return found", "return found[:, :1]")
    (outside / "toy_rival.py").write_text(f"{code}\nregister('degree', DEGREE)\n")
    importlib.import_module("toy_rival")
    (row,) = compare(typed, CONFIG, Setup(["degree"])).rows
    assert row.status == FAILED
    assert "Out-degree returned an array of shape" in row.reason


# --------------------------------------------------------------------------------------------------
# Tables and the command line
# --------------------------------------------------------------------------------------------------


def row(method: str, score: float, **changes: Any) -> Row:
    types = {
        "scores": {"1": 0.5, "10": score},
        "votes": {"top_1": score, "micro_f1": score, "macro_f1": 0.0},
    }
    pure = {"weighted": 0.5, "mean": 0.25, "noise": 0.125}
    values = {
        "method": method,
        "status": OK,
        "seconds": 1.5,
        "peak_bytes": 10**8,
        "in_graph": {"types": types, "purity": pure},
        "held_out": {"types": types, "purity": None},
    }
    return Row(**{**values, **changes})


def test_the_best_value_of_each_measure_is_marked() -> None:
    rows = (
        row("pyke", 0.75),
        row("random", 0.25),
        Row("transe", TIME_LIMIT, limit=60.0),
        Row("cp", FAILED, reason="x"),
    )
    table = tables.comparison_table(Comparison("x.nt", {"dimensions": 8, "held_out": 0.2}, rows))
    assert table.rows[0] == [
        "PYKE",
        "0.750",
        "0.750",
        "0.750",
        "0.750",
        "0.500",
        "0.250",
        "12%",
        "1.5",
        "100 MB",
    ]
    assert [list(cells[1:]) for cells in table.rows[2:]] == [["*"] * 9, ["†"] * 9]
    assert table.best == {(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 5)}
    text = tables.markdown(table).splitlines()
    assert text[2].startswith("| PYKE | **0.750** | ")
    assert len(text) == 6
    assert len({line.count("|") for line in text}) == 1


def test_a_skipped_measure_is_a_dash() -> None:
    short = row("pyke", 0.5)
    assert short.in_graph is not None
    types = {**short.in_graph["types"], "scores": {"1": 0.5}}
    rows = (row("pyke", 0.5, in_graph={"types": types, "purity": None}),)
    table = tables.comparison_table(Comparison("x.nt", {"dimensions": 8, "held_out": 0.2}, rows))
    assert table.columns[1] == "in-graph, μ=1", "the largest measured μ up to ten"
    assert [table.rows[0][at] for at in (1, 5, 6, 7)] == ["0.500", "–", "–", "–"]


@pytest.fixture
def called(typed: Path, tmp_path: Path) -> Path:
    """A graph whose name has markup of HTML, Markdown and the terminal."""
    return Path(shutil.copy(typed, tmp_path / "<b>x[red]$y$ & co.nt"))


@pytest.mark.usefixtures("no_children")
def test_the_command_writes_a_page_with_escaped_names(
    pyke: Command, kept: Path, called: Path
) -> None:
    run = pyke(
        "compare",
        called,
        *OPTIONS,
        "--methods",
        "random,pyke",
        "--report",
        kept.with_suffix(".html"),
    )
    assert run.returncode == 0, run.stderr
    page = kept.with_suffix(".html").read_text()
    assert "&lt;b&gt;x[red]$y$ &amp; co.nt" in page
    assert "<b>" not in page
    assert page.index("random vectors") < page.index("<td>PYKE</td>")
    assert "<b>x[red]$y$ & co.nt" in run.stdout
    assert "0." in run.stdout


@pytest.mark.usefixtures("no_children")
def test_the_command_prints_json(pyke: Command, kept: Path, typed: Path) -> None:
    found = json.loads(
        pyke(
            "compare",
            typed,
            *OPTIONS,
            "--methods",
            "pyke",
            "--report",
            kept.with_suffix(".html"),
            "--json",
        ).stdout
    )
    assert [row["method"] for row in found["rows"]] == ["pyke"]
    assert found["graph"] == "crafts.nt"


@pytest.mark.usefixtures("no_children")
@pytest.mark.parametrize("name", ["figure.svg", "figure.png", "figure.pdf"])
def test_the_report_can_be_a_figure(
    pyke: Command, kept: Path, typed: Path, tmp_path: Path, name: str
) -> None:
    shutil.move(kept, tmp_path / "figure.json")
    assert (
        pyke(
            "compare", typed, *OPTIONS, "--methods", "pyke", "--report", tmp_path / name
        ).returncode
        == 0
    )
    assert (tmp_path / name).stat().st_size > 1000


@pytest.mark.usefixtures("no_children")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--methods", "pyke,transh"), 2, "no method 'transh'; there are: pyke"),
        (("--methods", ","), 2, "is empty; name at least one method"),
        (("--time-limit", "soon"), 2, "invalid duration 'soon'"),
        (("--time-limit", "0s"), 2, "invalid duration '0s'"),
        (("--held-out", "0"), 2, "between 0 and 1"),
        (("--held-out", "1"), 2, "between 0 and 1"),
        (("--mu", "abc"), 2, "--mu is 'abc'"),
        (("--mu", "0"), 2, "at least 1"),
        (("--mu", "61"), 65, "typed subjects can be neighbours"),
        (("--config", "missing.toml"), 66, "missing.toml"),
        (("--seed", "1"), 73, "other settings (seed)"),
        (("--report", "x.xyz"), 2, "png, svg, pdf"),
        (("--report", "x.json"), 2, "png, svg, pdf"),
        (("--report", "."), 2, "png, svg, pdf"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_errors_have_an_exit_code(
    pyke: Command,
    kept: Path,
    typed: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    """No method runs, and existing files stay unchanged."""
    monkeypatch.chdir(kept.parent)
    before = {path: path.read_bytes() for path in kept.parent.iterdir()}
    run = pyke(
        "compare",
        typed,
        *OPTIONS,
        "--methods",
        "pyke,random",
        *(() if code == 73 else ("--report", "new.html")),
        *arguments,
    )
    assert (run.returncode, words in run.stderr) == (code, True), run.stderr
    assert "Traceback" not in run.stderr
    assert {path: path.read_bytes() for path in kept.parent.iterdir()} == before


def test_standard_input_cannot_be_compared(pyke: Command, tmp_path: Path, typed: Path) -> None:
    run = pyke(
        "compare",
        "-",
        "--format",
        "ntriples",
        "--report",
        tmp_path / "x.html",
        "--methods",
        "random",
        stdin=typed.read_bytes(),
    )
    assert run.returncode == 2
    assert "save it to a file" in run.stderr


@pytest.mark.usefixtures("no_children")
def test_a_pipe_cannot_be_compared(typed: Path, tmp_path: Path) -> None:
    """Such as <(zcat graph.nt.gz): after reading, a hash of it would be that of an empty file."""
    reading, writing = os.pipe()
    try:
        os.write(writing, typed.read_bytes())
        os.close(writing)
        with pytest.raises(UsageError, match="save it to a file"):
            compare(
                f"/dev/fd/{reading}",
                Config(dimensions=8, format="ntriples"),
                Setup(["random"]),
                tmp_path / "comparison.json",
            )
    finally:
        os.close(reading)
