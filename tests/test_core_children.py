"""Child processes run no code from the working directory, and find what their parent finds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from documents import written
from graphs import crafts
from pyke.core import children

SOURCE = str(ROOT / "src")
RDF_XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">
<rdf:Description rdf:about="http://e/a"><e:p rdf:resource="http://e/b"/></rdf:Description>
</rdf:RDF>"""
PLANTED = (
    "json.py", "numpy.py", "pyoxigraph.py", "runpy.py", "sitecustomize.py", "usercustomize.py",
    "pyke/__init__.py", "pyke/read/sandbox.py", "pyke/evaluate/rivals/__main__.py",
)  # fmt: skip


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with data and with modules that leave a file `ran-…`."""
    monkeypatch.chdir(tmp_path)
    for name in PLANTED:
        mark = tmp_path / f"ran-{name.replace('/', '-')}"
        written(tmp_path / name, f"open({str(mark)!r}, 'w').close()\n")
    written(tmp_path / "data.rdf", RDF_XML)
    written(tmp_path / "data.ttl", "<http://e/b> <http://e/p> <http://e/c> .")
    written(tmp_path / "data.jsonld", '{"@id": "http://e/c", "http://e/p": {"@id": "http://e/d"}}')
    return tmp_path


def pyke(*arguments: str) -> str:
    """The standard output of the command, which must run no planted module."""
    # As the script `pyke` does, `-P` keeps the working directory off the import path.
    command = [sys.executable, "-P", "-m", "pyke", *arguments]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (run.returncode, list(Path().glob("ran-*"))) == (0, []), run.stderr
    return run.stdout


def test_reading_runs_no_code_from_the_working_directory(hostile: Path) -> None:
    assert '"triples": 3' in pyke("info", "data.rdf", "data.ttl", "data.jsonld", "--json")


def test_numba_takes_no_settings_from_the_working_directory(hostile: Path) -> None:
    pytest.importorskip("yaml")
    written(hostile / ".numba_config.yaml", "disable_jit: 1\n")
    code = (
        "import os; from pyke.core.compile import numba; settings = numba.core.config; "
        "print(settings.DISABLE_JIT); settings.reload_config(); print(settings.DISABLE_JIT); "
        "print(os.getcwd())"
    )
    environment = {**os.environ, "PYTHONPATH": SOURCE, "NUMBA_NUM_THREADS": "1"}
    environment.pop("NUMBA_DISABLE_JIT", None)
    found = subprocess.check_output([sys.executable, "-P", "-c", code], env=environment, text=True)
    assert found.split() == ["0", "0", str(hostile)]


def test_a_comparison_runs_no_code_from_the_working_directory(hostile: Path) -> None:
    written(hostile / "data.nt", crafts(6))
    pyke("compare", "data.nt", "--methods", "random", "--dimensions", "4")
    assert '"status": "ok"' in Path("comparison.json").read_text()


def run(command: list[str], **more: str) -> str:
    """The standard output of a command, which must run no planted module."""
    environment = {**os.environ, "PYTHONPATH": ".", **more}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert not list(Path().glob("ran-*"))
    return found.stdout


def test_a_child_ignores_the_variables_of_python(hostile: Path) -> None:
    start = written(hostile / "start.py", "open('ran-start', 'w').close()")
    inner = [children.isolated_python, children.isolated_python_with_packages]
    for command in inner:
        run(command("json.tool", ["--help"], []), PYTHONSTARTUP=str(start), PYTHONHOME="")


def test_given_folders_do_not_hide_the_standard_library(hostile: Path) -> None:
    folder = written(hostile / "found" / "json.py", "raise SystemExit(1)").parent
    written(folder / "mine.py", "import json, sys; print(json.dumps(sys.argv[1:]))")
    command = children.isolated_python("mine", ["a", "b c"], [str(folder)])
    assert run(command) == '["a", "b c"]\n'


def test_a_child_finds_packages_in_folders_with_any_name(tmp_path: Path) -> None:
    folder = written(tmp_path / "a:b\n'é" / "mine.py", "print(1)").parent
    assert run(children.isolated_python("mine", [], [str(folder)])) == "1\n"


PARENT = """
import json, sys
from pyke.core import children
command = children.isolated_python_with_packages("json.tool", [], [])
print(json.dumps([path for path in json.loads(command[command.index("-c") + 2])]))
"""


@pytest.mark.parametrize(
    ("start", "path", "expected"),
    [
        (["-c", PARENT], [SOURCE], False),
        (["-m", "parent"], [SOURCE], False),
        (["-m", "parent"], [SOURCE, "HERE"], True),
        (["-P", "-m", "elsewhere"], [SOURCE, "HERE/below"], False),
        (["parent.py"], [SOURCE], True),  # Python adds the folder of a script
    ],
)
def test_a_child_searches_the_working_directory_only_if_it_is_given(
    start: list[str],
    path: list[str],
    expected: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "parent.py", PARENT)
    written(tmp_path / "below" / "elsewhere.py", PARENT)
    given = os.pathsep.join(part.replace("HERE", str(tmp_path)) for part in path)
    found = run([sys.executable, *start], PYTHONPATH=given)
    assert (f'"{tmp_path}"' in found, SOURCE in found) == (expected, True)


def test_the_folder_of_a_module_is_where_it_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "single_file.py", "")
    written(tmp_path / "regular" / "__init__.py", "")
    written(tmp_path / "namespace" / "part" / "rivals.py", "")
    monkeypatch.syspath_prepend(tmp_path)
    modules = ["single_file", "regular.rivals", "namespace.part.rivals"]
    assert children.folders_of(*modules) == [str(tmp_path)] * 3
    assert children.folders_of("", "no_such_module", "sys") == []
