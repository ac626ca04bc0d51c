"""The check of who writes and who connects: it finds every way to do so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import audit

WAYS = {
    "open": "open(folder / 'new', 'w').close()",
    "append": "open(folder / 'old', 'a').close()",
    "update": "open(folder / 'old', 'r+b').close()",
    "Path.open": "(folder / 'new').open('w').close()",
    "Path.write_text": "(folder / 'new').write_text('')",
    "Path.touch": "(folder / 'new').touch()",
    "Path.unlink": "(folder / 'old').unlink()",
    "Path.mkdir": "(folder / 'new').mkdir()",
    "Path.rmdir": "(folder / 'empty').rmdir()",
    "Path.rename": "(folder / 'old').rename(folder / 'new')",
    "Path.symlink_to": "(folder / 'new').symlink_to(folder / 'old')",
    "Path.hardlink_to": "(folder / 'new').hardlink_to(folder / 'old')",
    "Path.chmod": "(folder / 'old').chmod(0o600)",
    "os.open": "os.close(os.open(folder / 'new', os.O_WRONLY | os.O_CREAT))",
    "os.replace": "os.replace(folder / 'old', folder / 'new')",
    "os.truncate": "os.truncate(folder / 'old', 0)",
    "shutil.copy": "shutil.copy(folder / 'old', folder / 'new')",
    "shutil.move": "shutil.move(folder / 'old', folder / 'new')",
    "shutil.rmtree": "shutil.rmtree(folder / 'empty')",
    "tempfile": "tempfile.TemporaryFile(dir=folder).close()",
    "numpy.memmap": "np.memmap(folder / 'new', mode='w+', shape=1)",
    "numpy.save": "np.save(folder / 'new', np.zeros(1))",
    "a thread": "t = Thread(target=lambda: (folder / 'new').touch()); t.start(); t.join()",
    "a suppressed exception": "with suppress(OSError): os.mkdir(folder / 'old')",
}
IMPORTS = """
import os, shutil, subprocess, tempfile
import numpy as np
from contextlib import suppress
from threading import Thread
"""


def run(code: str, module: str, folder: Path, **names: Any) -> list[str]:
    """Run code as if it were in a module of the package; return what was found."""
    (folder / "old").write_text("old")
    (folder / "empty").mkdir()
    names |= {"folder": folder}
    exec(compile(IMPORTS, "imports", "exec"), names)
    exec(compile(code, audit.PACKAGE + module, "exec"), names)
    return audit.violations()


@pytest.mark.parametrize("way", WAYS)
def test_a_module_of_the_package_that_writes_is_found(way: str, tmp_path: Path) -> None:
    found = run(WAYS[way], "use/toy.py", tmp_path)
    assert found
    assert all(line.startswith("use/toy.py:1 calls ") for line in found)


@pytest.mark.parametrize("way", WAYS)
def test_files_py_may_write(way: str, tmp_path: Path) -> None:
    assert not run(WAYS[way], "core/files.py", tmp_path)


@pytest.mark.parametrize(
    "code",
    [
        "open(folder / 'old').close()",
        "np.memmap(folder / 'old', mode='r')",
        "open(os.devnull, 'w').close()",
    ],
)
def test_reading_and_child_processes_are_allowed(code: str, tmp_path: Path) -> None:
    assert not run(code, "use/toy.py", tmp_path)


CONNECTIONS = {
    "socket.connect": "with socket() as s: s.connect_ex(('127.0.0.1', 9))",
    "socket.create_connection": "with suppress(OSError): create_connection(('127.0.0.1', 9))",
    "socket.sendto": "with socket(type=SOCK_DGRAM) as s: s.sendto(b'', ('127.0.0.1', 9))",
    "socket.bind": "with socket() as s: s.bind(('127.0.0.1', 0))",
    "the lookup of a name": "with suppress(OSError): getaddrinfo('localhost', 9)",
    "urllib": "with suppress(OSError): urlopen('http://127.0.0.1:9')",
    "urllib3": "with suppress(Exception): urllib3.request('GET', 'http://127.0.0.1:9', retries=0)",
    "http.client": "with suppress(OSError): HTTPConnection('127.0.0.1', 9).request('GET', '/')",
    "a thread": "t = Thread(target=getaddrinfo, args=('localhost', 9)); call = t.run; call()",
}
NETWORK = """
import urllib3
from http.client import HTTPConnection
from socket import SOCK_DGRAM, create_connection, getaddrinfo, socket
from urllib.request import urlopen
"""


@pytest.mark.parametrize("way", CONNECTIONS)
def test_a_module_of_the_package_that_connects_is_found(way: str, tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(NETWORK, names)
    found = run(CONNECTIONS[way], "use/toy.py", tmp_path, **names)
    assert found
    assert all(line.startswith("use/toy.py:1 calls ") for line in found)


@pytest.mark.parametrize("module", ["read/sparql/endpoint.py", "use/export/postgres.py"])
def test_fetch_and_the_export_to_postgresql_may_connect(module: str, tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(NETWORK, names)
    assert not run(CONNECTIONS["socket.connect"], module, tmp_path, **names)


def test_a_callback_of_a_test_may_write(tmp_path: Path) -> None:
    def write() -> None:
        (tmp_path / "new").touch()

    assert not run("call()", "use/toy.py", tmp_path, call=write)


SUITE = """
import pathlib, audit

def write(folder):
    code = compile("try: path.touch()\\nfinally: raise OSError", audit.PACKAGE + "toy.py", "exec")
    try:
        exec(code, {"path": folder / "new"})
    except OSError:
        pass

def test_writing(tmp_path):
    write(tmp_path)

def test_nothing():
    pass
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["here", "in a worker"])
def test_the_test_in_which_the_package_writes_fails(
    workers: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "test_toy.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "audit", *workers, "test_toy.py"]
    path = {"PYTHONPATH": audit.TESTS}
    run = subprocess.run(
        command, cwd=tmp_path, env=os.environ | path, capture_output=True, text=True
    )
    assert "1 failed, 1 passed" in run.stdout, run.stdout + run.stderr
    assert "FAILED test_toy.py::test_writing" in run.stdout
    assert "toy.py:1 calls open" in run.stdout
