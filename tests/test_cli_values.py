"""Absurd values for every option of every command: a documented exit code, and no traceback."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import pyke as package
from conftest import Command
from graphs import crafts, many
from pyke import cli

DOCUMENTED = {0, 2, 65, 66, 73, 74, 75}
NUMBERS = (
    "", " ", "0", "-1", "1", "3", "0.5", "nan", "inf", "-inf", "1e999", "-1e999", "1e-999", "1e308",
    "9" * 23, "-" + "9" * 23, "9" * 5000, "٣", "²", "1,2,3", ",", "1,,2", "1e5GB", "-5GB", "0x10",
)  # fmt: skip
TEXTS = (
    "é\u202e", "\x1b[31m", "a\nb", "[/]", "[bold]", "{0}", "%s", "`k`", "\udcff", "x" * 300, ":",
    "a=b", "a=http://e/", "<http://e/a>", "_:x", "'; --", "=1", "-", "--",
)  # fmt: skip
PATHS = (
    "folder", "out", "missing/x", "missing.nt", "/", ".", "..", "g.nt", "empty", "x.csv", "x.html",
    "x.svg", "x.nt", "x" * 300 + ".html", "folder/[/].csv", "folder/\udcff.csv", "/dev/null",
    "/dev/full", "/proc/self/mem",
)  # fmt: skip
SMALL = ("--dimensions", "3", "--max-iterations", "3")
COMMANDS: dict[str, tuple[str, ...]] = {
    "embed": ("g.nt", "-o", "new", "--force", *SMALL),
    "update": ("out", "g.nt", "-o", "new", "--force"),
    "plan": ("g.nt", *SMALL),
    "nearest": ("out", "http://e/anna"),
    "types": ("out", "--mu", "3"),
    "complete": ("out", "--mu", "3"),
    "cluster": ("out", "-o", "c.csv", "--force", "--min-cluster-size", "5", "--min-samples", "3"),
    "plot": ("out", "-o", "p.html", "--force", "--method", "pca"),
    "serve": ("out", "--port", "0"),
    "export": ("out", "-o", "v.word2vec", "--to", "word2vec", "--force"),
    "verify": ("out",),
    "info": ("g.nt",),
    "fetch": ("http://127.0.0.1:9/", "-o", "f.nt", "--force", "--retries", "0"),
    "lubm": ("1", "-o", "l.nt", "--force"),
    "evaluate": ("g.nt", "--mu", "3", *SMALL),
    "compare": ("g.nt", "--methods", "random", "--mu", "3", "--held-out", "0.3", "--force", *SMALL),
    "tune": ("g.nt", "--trials", "1", "--mu", "3", "--force", *SMALL),
}
PARAMETERS = {
    name: [one for one in command.params if not getattr(one, "is_flag", False)]
    for name, command in typer.main.get_command(cli.app).commands.items()  # type: ignore[attr-defined]
}


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """`pyke serve` opens its port and ends."""
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph, its embedding, an empty folder and an empty file."""
    folder = tmp_path_factory.mktemp("values") / "template"
    folder.mkdir()
    (folder / "g.nt").write_text(crafts())
    (folder / "folder").mkdir()
    (folder / "empty").touch()
    package.embed(folder / "g.nt", dimensions=3).save(folder / "out")
    return folder


def _arguments(name: str, parameter: Any, value: str) -> list[str]:
    """The usual arguments of a command, one of them replaced by a value."""
    usual = list(COMMANDS[name])
    if parameter.param_type_name == "argument":
        usual[0 if parameter.required else 1] = value
        return [name, *usual]
    return [name, *usual, max(parameter.opts, key=len), value]


@pytest.mark.parametrize("name", COMMANDS)
@given(data=st.data())
@settings(many(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_absurd_values_have_a_documented_exit_code(
    pyke: Command, monkeypatch: pytest.MonkeyPatch, template: Path, name: str, data: st.DataObject
) -> None:
    parameter = data.draw(st.sampled_from(PARAMETERS[name]), label="parameter")
    value = data.draw(st.sampled_from(NUMBERS + TEXTS + PATHS), label="value")
    assume((name, parameter.name, value) != ("compare", "methods", ""))  # all: takes minutes
    folder = template.with_name("run")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)
    monkeypatch.chdir(folder)
    run = pyke(*_arguments(name, parameter, value))
    assert run.returncode in DOCUMENTED, run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("plan", "g.nt", "--memory", "1e999"), 2, "invalid size"),
        (("plan", "g.nt", "--config", "/dev/zero"), 2, "too large for a file of settings"),
        (("plan", "g.nt", "--config", "deep.toml"), 2, "invalid TOML"),
        (("plot", "out", "-o", "p.html", "--labels", "9" * 23), 2, "--labels is 999"),
        (("plot", "out", "-o", "p.svg", "--title", "\udcff"), 0, ""),
        (("fetch", "http://e/", "-o", "f.nt", "--query", "/dev/zero"), 66, "too large for a query"),
        (("evaluate", "x" * 300), 66, "xxx"),
        (("tune", "g.nt", "--trials", "9" * 23), 2, "--trials is 999"),
        (("lubm", "1", "-o", "/"), 73, "cannot replace /"),
        (("embed", "g.nt", "-o", "folder/[/]", "--dimensions", "3"), 0, ""),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else None,
)
def test_known_absurd_values(
    pyke: Command,
    monkeypatch: pytest.MonkeyPatch,
    template: Path,
    arguments: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(template)
    Path("deep.toml").write_text("a = " + "[" * 50_000)
    run = pyke(*arguments)
    assert (run.returncode, words in run.stderr) == (code, True), run.stderr


def test_every_command_is_tried() -> None:
    assert COMMANDS.keys() == PARAMETERS.keys() - {"warm-up"}
