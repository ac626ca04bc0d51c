"""Fixtures for all tests: the command line, small graphs, and the folder of real graphs."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import audit
from graphs import FAMILY, crafts
from pyke import cli

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("PYKE_DATA") or ROOT.parent / "shared" / "data")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(audit, "audit")
    # PyKEEN writes there instead of ~/.data, as in the child process of a comparison.
    os.environ["PYSTOW_HOME"] = os.path.join(tempfile.gettempdir(), "pyke-tests-pystow")
    if config.pluginmanager.hasplugin("_cov"):
        # Python 3.11 ends a new thread at once if coverage installs its trace function there while
        # another thread is in the audit hook of the same call. So no thread preempts another.
        sys.setswitchinterval(10.0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Measure no coverage in property tests and in tests of faults.

    They run again and again what other tests run too, and tracing doubles their time.
    """
    for item in items:
        if item.get_closest_marker("hypothesis") or "faults" in item.path.parts:
            item.add_marker("no_cover")


def read_table(path: Path) -> Any:
    """A table that the command line wrote, as pandas reads it."""
    import pandas as pd

    ending = path.suffixes[0]  # .csv.gz is a .csv
    if ending == ".jsonl":
        return pd.read_json(path, lines=True)
    readers = {".csv": pd.read_csv, ".tsv": pd.read_table, ".parquet": pd.read_parquet}
    return readers[ending](path)


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def pyke(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run the command line in this process; it starts faster than a new one."""

    def call(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["pyke", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        shown = capfd.readouterr()
        return subprocess.CompletedProcess(sys.argv, code, shown.out, shown.err)

    return call


def process(*arguments: str | Path, limit: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command line in its own process, with a limit on the size of files if given."""
    return subprocess.run(
        [sys.executable, "-m", "pyke", *map(str, arguments)],
        capture_output=True,
        text=True,
        preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        if limit
        else None,
    )


@pytest.fixture(scope="session")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with 61 typed subjects of three classes."""
    path = tmp_path_factory.mktemp("crafts") / "crafts.nt"
    path.write_text(crafts())
    return path


@pytest.fixture
def family(tmp_path: Path) -> Path:
    """A small N-Triples file."""
    path = tmp_path / "family.nt"
    path.write_text(FAMILY)
    return path


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real graphs."""
    if not DATA.is_dir():
        pytest.skip(f"no real data in {DATA}; set PYKE_DATA to their folder")
    return DATA
