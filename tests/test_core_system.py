"""The important paths with the Linux calls switched off, as on macOS."""

from __future__ import annotations

import mmap
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pyke
from pyke.config import Config
from pyke.core import files, system
from pyke.core.memory import PeakMemory
from pyke.core.progress import Progress
from pyke.errors import Interrupted, OutputExists
from pyke.pipeline import embed_to


@pytest.fixture(params=["linux", "portable"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each test runs with the calls of this system and with the portable ones."""
    way = str(request.param)
    if way == "portable":
        monkeypatch.setenv("PYKE_PORTABLE", "1")
    elif not system.is_linux():
        pytest.skip("this system is not Linux, or PYKE_PORTABLE=1 is set")
    assert system.is_linux() == (way == "linux")
    return way


@pytest.mark.usefixtures("ways")
def test_there_is_at_least_one_core_and_all_are_used_by_default() -> None:
    assert 1 <= system.core_count() <= (os.cpu_count() or 1)
    assert Config().threads == system.core_count()


@pytest.mark.usefixtures("ways")
def test_running_processes_exist_and_ended_ones_do_not() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert system.process_exists(os.getpid())
    assert system.process_exists(1)
    for process in (child.pid, 999_999_999, 10**30):
        assert not system.process_exists(process)


@pytest.mark.usefixtures("ways")
def test_the_peak_memory_of_a_block_includes_its_arrays() -> None:
    size = 200_000_000
    with PeakMemory() as memory:
        array = np.ones(size, np.uint8)
        del array
    assert size < memory.peak <= system.peak_resident_bytes()
    assert 0 < system.resident_bytes() <= system.peak_resident_bytes()


@pytest.mark.usefixtures("ways")
def test_replacing_a_directory_keeps_one_complete_output(tmp_path: Path) -> None:
    for generation in (b"old", b"new"):
        files.write_directory(tmp_path / "out", {"a": generation}, {}, force=True)
        assert (tmp_path / "out" / "a").read_bytes() == generation
        assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_only_linux_exchanges_directories_in_one_step(tmp_path: Path, ways: str) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    swapped = system.try_exchange(tmp_path / "a", tmp_path / "b")
    assert swapped == (ways == "linux")
    assert (tmp_path / "a" / "b").exists() == swapped


@pytest.mark.usefixtures("ways")
def test_a_second_run_on_the_same_output_is_refused(tmp_path: Path) -> None:
    with (
        files.work_directory(tmp_path / "out"),
        pytest.raises(OutputExists, match="another run is writing"),
        files.work_directory(tmp_path / "out"),
    ):
        pass


class StopAt(Progress):
    """Interrupts a run after an iteration."""

    def iteration(self, number: int, *_: float) -> None:
        if number == 3:
            raise Interrupted(15)


@pytest.mark.usefixtures("ways")
def test_an_interrupted_run_resumes_to_the_same_vectors(family: Path, tmp_path: Path) -> None:
    config = Config(dimensions=4)
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", family, config, progress=StopAt())
    resumed = embed_to(tmp_path / "out", family, config, resume=True)
    assert resumed.vectors.tobytes() == pyke.embed(family, dimensions=4).vectors.tobytes()
    assert all(stage["peak_bytes"] > 0 for stage in resumed.manifest["stages"])


@pytest.mark.usefixtures("ways")
def test_the_sandbox_reads_a_document(tmp_path: Path) -> None:
    path = tmp_path / "graph.jsonld"
    path.write_text('{"@id": "http://e/a", "http://e/p": {"@id": "http://e/b"}}')
    assert len(pyke.embed(path, dimensions=2)) == 3


@pytest.mark.parametrize(("size", "fits"), [(1_000_000, True), (400_000_000, False)])
def test_a_process_above_its_memory_limit_ends(ways: str, size: int, fits: bool) -> None:
    code = (
        "import time; from pyke.core import system; system.limit_memory(200_000_000); "
        f"data = bytearray(b'x' * {size}); time.sleep({0 if fits else 20})"
    )
    # The shell is small. The peak memory of this process would count for its children on Linux.
    command = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", code]
    ended = subprocess.run(command, check=False, capture_output=True)
    failed = 1 if ways == "linux" else system.OUT_OF_MEMORY
    assert ended.returncode == (0 if fits else failed), ended.stderr


only_on_linux = pytest.mark.skipif(
    not system.is_linux(), reason="only Linux limits the address space"
)


@only_on_linux
def test_more_memory_is_limited_within_a_block_only() -> None:
    code = (
        "from pyke.core import system\n"
        "with system.at_most_more_memory(50_000_000):\n"
        "    bytearray(10_000_000)\n"
        "    try: bytearray(100_000_000)\n"
        "    except MemoryError: print('refused')\n"
        "bytearray(100_000_000)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "refused\n"), ended.stderr


@only_on_linux
@pytest.mark.parametrize("limits", ["(3 << 30, 8 << 30)", "(3 << 30, 3 << 30)"])
def test_a_lower_memory_limit_of_the_shell_stays(limits: str) -> None:
    """Only root may raise a hard limit, and the sandbox asks for 4 GiB."""
    code = (
        "import resource; from pyke.core import system; "
        "resource.setrlimit(resource.RLIMIT_AS, LIMITS); system.limit_memory(4 << 30); "
        "print(*resource.getrlimit(resource.RLIMIT_AS))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code.replace("LIMITS", limits)], capture_output=True, text=True
    )
    assert ended.stdout.split() == [str(3 << 30)] * 2, ended.stderr


def test_rdf_xml_is_read_below_four_gibibytes_of_address_space(tmp_path: Path) -> None:
    path = tmp_path / "x.rdf"
    path.write_text('<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>')
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)); "
        "from pyke.config import Config; from pyke.core.inputs import Input; "
        "from pyke.read.child import ParserProcess; problems = []; "
        f"source = Input({str(path)!r}, None); parser = ParserProcess(Config(threads=1)); "
        "texts = list(parser.parse(source, 'it', 'RDF_XML', lambda *p: problems.append(p))); "
        "print(texts, problems)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout == "[] []\n", ended.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v works on Linux only")
@pytest.mark.parametrize("limit", [60_000, 300_000, 800_000])
def test_too_little_address_space_is_an_error_before_libraries_abort(limit: int) -> None:
    def pyke(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pyke", *arguments]
        return subprocess.run(
            ["sh", "-c", f'ulimit -v {limit} && exec "$@"', "sh", *command],
            capture_output=True,
            text=True,
        )

    run = pyke("embed", "missing.nt", "-o", "out")
    assert run.returncode == 75
    assert re.fullmatch(
        r"pyke: the limit .* is [0-9.]+ MB; PYKE needs .* Increase .*\n", run.stderr
    )
    assert pyke("embed", "--help").returncode == 0


def test_pages_of_a_mapped_array_are_released_and_read_again(tmp_path: Path) -> None:
    size = 64 << 20
    (tmp_path / "data").write_bytes(bytes(range(256)) * (size // 256))
    with open(tmp_path / "data", "rb") as file:
        mapped = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    array = mapped[128:].view(np.int32).reshape(-1, 4)
    total = array.sum(dtype=np.int64)
    before = system.resident_bytes()
    system.release_pages(array)
    if system.is_linux():
        assert system.resident_bytes() < before - size // 2
    assert array.sum(dtype=np.int64) == total


def test_pages_of_other_arrays_stay() -> None:
    own = np.arange(1 << 12)
    written = np.frombuffer(mmap.mmap(-1, 1 << 14), np.uint8)
    written[:] = 7
    for array in (own, written[5:]):
        system.release_pages(array)
    assert own[-1] == (1 << 12) - 1
    assert (written == 7).all()
