"""CONTRIBUTING.md: its examples add a similarity, an exporter and a rival from outside."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}


def run(section: str, folder: Path) -> str:
    """Run the Python blocks of a section; one that starts with a file name is that module."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    program = ""
    for block in re.findall(r"```python\n(.*?)```", SECTIONS[section], re.DOTALL):
        module = re.match(r"# (\w+\.py)\n", block)
        if module:
            (folder / module[1]).write_text(block)
        else:
            program += block
    (folder / "program.py").write_text(program)
    command = [sys.executable, "program.py"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_a_similarity_is_added_from_outside(tmp_path: Path) -> None:
    assert "http://example.com/father#" in run("Add a similarity", tmp_path)


def test_an_exporter_is_added_from_outside(tmp_path: Path) -> None:
    run("Add an exporter", tmp_path)
    lines = (tmp_path / "father.lengths").read_text().splitlines()
    assert len(lines) == 16
    assert all(re.fullmatch(r"\S+\t\d+\.\d", line) for line in lines)
    packed = gzip.decompress((tmp_path / "father.lengths.gz").read_bytes()).decode()
    assert all(re.fullmatch(r"\S+\t\d+\.\d{3}", line) for line in packed.splitlines())


def test_a_rival_is_added_from_outside(tmp_path: Path) -> None:
    assert run("Add a rival", tmp_path) == "[('random', 'ok'), ('degrees', 'ok')]\n"


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:src|tests|docs)/[\w./-]*)`", PAGE))))
def test_every_named_path_exists(path: str) -> None:
    assert (ROOT / path).exists()
