"""What the documents say is tried: examples in docstrings, the README's Python and its commands, and every option's name."""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
from pathlib import Path

import pytest

from conftest import ROOT

MODULES = ("pyke", "pyke.config", "pyke.embedding", "pyke.graph", "pyke.lubm", "pyke.pipeline")
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = doctest.testmod(importlib.import_module(name))
    assert (result.failed, result.attempted > 0) == (0, True)


def test_the_python_in_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner()
    source = "".join(f">>> {line}\n" for line in code.splitlines() if line and not line.startswith("e["))
    # Only errors count: the values depend on the processor's last place.
    example = doctest.DocTestParser().get_doctest(re.sub(r"^(>>> e\.nearest.*)$", r"\1; None", source, flags=re.MULTILINE), {}, "README", None, 0)
    failures: list[str] = []
    runner.run(example, out=failures.append, clear_globs=False)
    assert not [failure for failure in failures if "Traceback" in failure]
    assert (tmp_path / "out" / "vectors.npy").exists()


def test_every_option_in_the_documents_exists() -> None:
    from typer.main import get_command

    from pyke.cli import app

    known = {option for command in get_command(app).commands.values() for parameter in command.params for option in parameter.opts}  # type: ignore[attr-defined]
    text = "\n".join(path.read_text() for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])
    # Options of our commands stand in code; those of other programs do not occur.
    used = {option for code in re.findall(r"`([^`\n]+)`|^    (pyke .*)$", text, re.MULTILINE) for part in code for option in _options(part)}
    assert used - known - {"--help", "--version"} == set()


def _options(code: str) -> list[str]:
    if code.startswith("python "):  # a benchmark, which has options of its own
        return []
    return [word for word in shlex.split(code.split("#")[0], posix=False) if re.fullmatch(r"--[a-z-]+", word)] if "--" in code else []
