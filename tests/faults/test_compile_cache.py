"""A damaged compile cache is compiled again; processes may share and fill it at the same time."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.conftest import Figure, times
from pyke.core import compile as compiling

# Each line of standard input starts a process that loads three kernels from the cache.
SERVER = """
import os, sys
import numba
import numpy as np
from pyke.core.counts import count_rows
from pyke.graph._kernels import drop_repeated, pack

def use_kernels():
    counts = np.zeros(4, np.int64)
    count_rows(np.array([1, 2, 2], np.int32), counts)
    columns = [np.arange(3, dtype=np.int32)] * 3
    keys = np.empty(3, np.uint64)
    pack(*columns, np.array([8, 8]), keys)
    print(counts.tolist(), keys.tolist(), drop_repeated(keys), flush=True)

numba.njit(lambda x: x.sum())(np.zeros(1))  # the compiler is ready: processes start fast
for line in sys.stdin:
    child = os.fork()
    if not child:
        use_kernels()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
RESULT = "[0, 1, 2, 0] [1, 65794, 131587] 3"


def _start(cache: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYKE_CACHE": str(cache)},
        text=True,
    )


def _ask(server: subprocess.Popen[str]) -> list[str]:
    """Use the kernels in a new process; what it printed, and its exit code."""
    assert server.stdin
    assert server.stdout
    print(file=server.stdin, flush=True)
    lines = [server.stdout.readline().strip()]
    if lines[0] == RESULT:
        lines.append(server.stdout.readline().strip())
    return lines


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with _start(tmp_path / "cache") as process:
        assert _ask(process) == [RESULT, "0"]
        yield process
        assert process.stdin
        process.stdin.close()


def _damage(files: list[Path], rng: random.Random) -> None:
    """Flip, cut, add, clear or swap."""
    path = rng.choice(files)
    data = bytearray(path.read_bytes())
    match rng.randrange(6):
        case 0 | 1:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case 2:
            del data[rng.randrange(len(data)) :]
        case 3:
            data += rng.randbytes(rng.randrange(1, 100))
        case 4:
            begin = rng.randrange(len(data))
            data[begin : begin + 4096] = bytes(len(data[begin : begin + 4096]))
        case 5:
            data = bytearray(rng.choice(files).read_bytes())
    path.write_bytes(data)


def test_a_damaged_cache_is_compiled_again(
    server: subprocess.Popen[str], tmp_path: Path, rng: random.Random, figure: Figure
) -> None:
    damages = times(10, 1000)
    originals = {path: path.read_bytes() for path in (tmp_path / "cache").rglob("*.nb?")}
    assert len(originals) == 6, "an index and machine code for each kernel"
    for _ in range(damages):
        for path, content in originals.items():
            path.write_bytes(content)
        _damage(list(originals), rng)
        assert _ask(server) == [RESULT, "0"]
    figure("F17", f"{damages} damaged compile caches: 0 failures")


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o500])
def test_a_directory_that_others_can_write_to_is_not_used_as_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    monkeypatch.setenv("PYKE_CACHE", str(tmp_path))
    private = compiling._cache_directory()
    assert private.parent == tmp_path
    private.chmod(mode)
    monkeypatch.setattr(os, "access", lambda *_: mode != 0o500)  # tests may run as root
    assert compiling._cache_directory().parent != tmp_path


def test_processes_that_start_together_on_an_empty_cache_do_not_fail(
    tmp_path: Path, figure: Figure
) -> None:
    number = times(4, 16)
    processes = [_start(tmp_path / "cache") for _ in range(number)]
    results = [process.communicate("\n")[0].split("\n")[:2] for process in processes]
    assert results == [[RESULT, "0"]] * number
    with _start(tmp_path / "cache") as later:
        assert later.communicate("\n")[0].split("\n")[:2] == [RESULT, "0"]
    figure("F17", f"{number} processes start together on an empty compile cache: 0 failures")
