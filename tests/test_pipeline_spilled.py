"""A run whose dictionary, triples and springs are on disk has the bits of one in memory."""

from __future__ import annotations

import errno
import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import GRAPHS, WAYS, as_text, many, random_graph
from pyke.config import Config
from pyke.core import files, scratch
from pyke.core.progress import Progress
from pyke.core.system import reserve_space
from pyke.embedding import store
from pyke.embedding.embedding import Embedding
from pyke.errors import EmptyGraph, OverBudget, UsageError, WriteError
from pyke.pipeline import budget, embed_to, make_plan, plan, spilled, spilling
from pyke.pipeline.budget import Sizes
from pyke.pipeline.partitions import layout, springs
from pyke.read import lines
from pyke.simulation import quarters, slabs
from pyke.simulation.layouts import LAYOUTS
from pyke.springs import repellers

MEMORY = 10**9
SETTINGS: dict[str, Any] = {"dimensions": 4, "on_error": "skip", "checkpoint_seconds": 0}
TURTLE = """@prefix : <http://example.com/> .
:turtle :knows [ :name "anonymous" ] , :other . _:b0 :knows :turtle ; :age 7 .
"""


class Crash(BaseException):
    """The end of a process, as far as the code that runs can see."""


@contextmanager
def on_disk(**chosen: Any) -> Iterator[None]:
    """Every run with a limit works on disk, on small parts, partitions, slabs and blocks."""
    most: dict[str, Any] = {"statements": 5, "partitions": 3, "layout": LAYOUTS[-1]} | chosen

    def part_bytes(sizes: Sizes, _: Config) -> int:
        return 1 + MEMORY * (sizes.links + sizes.literals) // int(most["statements"])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spilling, "is_spilled", lambda *_: True)
        patch.setattr(spilling, "part_bytes", part_bytes)
        patch.setattr(spilling, "partitions_for", lambda *_: most["partitions"])
        patch.setattr(spilling, "layout_of", lambda *_: most["layout"])
        patch.setattr(lines, "BLOCK_SIZE", most.get("block", 100))
        patch.setattr(slabs, "SPRINGS_AT_ONCE", 30)
        patch.setattr(spilled, "SMALLER", 1.5)  # a block is a large fraction of a part
        yield


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few particles: small graphs have many of them."""
    for module in (layout, springs, slabs, quarters, repellers):
        monkeypatch.setattr(module, "BLOCK_ROWS", 4)
    monkeypatch.setattr(repellers, "POOL", 6)


def assert_same(found: Embedding, expected: Embedding) -> None:
    """All content of two embeddings is equal."""
    for name in ("vectors", "types", "triples", "labelled"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    for name in ("terms", "labels"):
        assert getattr(found, name).blob.tobytes() == getattr(expected, name).blob.tobytes()
        assert np.array_equal(getattr(found, name).offsets, getattr(expected, name).offsets)
    for name in ("census", "particles", "springs", "stop_reason", "history", "inputs"):
        assert found.manifest[name] == expected.manifest[name], name


@pytest.mark.usefixtures("small_blocks")
@many(120)
@given(
    texts=st.lists(GRAPHS.map(as_text), min_size=1, max_size=2),
    statements=st.integers(1, 60),
    partitions=st.integers(1, 5),
    held=st.sampled_from(LAYOUTS),
    way=st.sampled_from(WAYS),
    similarity=st.sampled_from(["context", "ppmi"]),
    wanted=st.integers(0, 8),
)
def test_every_number_of_parts_and_partitions_gives_the_bits_of_memory(
    texts: list[str], statements: int, partitions: int, held: Any, way: dict[str, Any],
    similarity: str, wanted: int,
) -> None:  # fmt: skip
    config = Config(
        dimensions=3, k=4, repellers=wanted, threads=1, similarity=similarity, **way
    )  # fmt: skip
    limited = Config(**{**config.as_dict(), "memory": MEMORY})
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / f"{number}.nt" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
        chosen = {"statements": statements, "partitions": partitions, "layout": held}
        message = ""
        try:
            expected = embed_to(folder / "expected", paths, config)
        except EmptyGraph as error:
            message = str(error)
        with on_disk(**chosen):
            if message:
                with pytest.raises(EmptyGraph, match=re.escape(message)):
                    embed_to(folder / "out", paths, limited)
                return
            assert_same(embed_to(folder / "out", paths, limited), expected)
        store.verify(folder / "out")
        assert not list(folder.glob(".*"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of several syntaxes, with labels, numbers, blank nodes and an invalid line."""
    folder = tmp_path / "graphs"
    folder.mkdir()
    text = random_graph(400).splitlines(keepends=True)
    label = '<http://example.com/e1> <http://www.w3.org/2000/01/rdf-schema#label> "first"@en .\n'
    blank = "_:b0 <http://example.com/p> <http://example.com/e2> .\n"
    (folder / "a.nt").write_text("\ufeff" + "".join([*text[:150], label, "invalid\n", blank]))
    (folder / "b.ttl").write_text(TURTLE)
    (folder / "c.nt.gz").write_bytes(gzip.compress("".join([*text[100:], blank]).encode()))
    (folder / "d.tsv").write_text("x\tp\ty\nx\tp\tz\n")
    return folder


def test_every_syntax_and_compression_is_read_in_parts(folder: Path, tmp_path: Path) -> None:
    expected = embed_to(tmp_path / "expected", folder, Config(**SETTINGS))
    with on_disk(statements=30, block=1500):
        found = embed_to(tmp_path / "out", folder, Config(**SETTINGS, memory=MEMORY))
    assert_same(found, expected)
    assert found.manifest["census"]["errors"] == 1
    assert [stage["name"] for stage in found.manifest["stages"]] == [
        "reading", "dictionary", "triples", "springs", "simulation", "writing"
    ]  # fmt: skip


class StopAfter(Progress):
    """Ends a run after some steps of reading and iterations."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def advance(self, _: int) -> None:
        self._left -= 1
        if self._left == 0:
            raise Crash

    def iteration(self, *_: float) -> None:
        self.advance(0)


@pytest.mark.parametrize("steps", [2, 9, 16, 23, 30, 38])
def test_a_run_that_ended_anywhere_resumes_to_the_same_bits(
    steps: int, folder: Path, tmp_path: Path
) -> None:
    expected = embed_to(tmp_path / "expected", folder, Config(**SETTINGS))
    config, out = Config(**SETTINGS, memory=MEMORY), tmp_path / "out"
    with on_disk(statements=60, block=1500):
        with pytest.raises(Crash):
            embed_to(out, folder, config, progress=StopAfter(steps))
        assert_same(embed_to(out, folder, config, resume=True), expected)
    assert not list(tmp_path.glob(".*"))


def test_what_was_read_is_not_read_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, out = Config(**SETTINGS, memory=MEMORY), tmp_path / "out"

    class Places(Progress):
        seen: list[int]

        def __init__(self) -> None:
            self.seen = []

        def advance(self, done: int) -> None:
            self.seen.append(done)

    with on_disk(statements=60, block=1500):
        with pytest.raises(Crash):
            embed_to(out, folder, config, progress=StopAfter(23))
        places = Places()
        embed_to(out, folder, config, resume=True, progress=places)
    assert len(places.seen) < 20


@pytest.mark.parametrize("name", ["dictionary", "triples", "springs"])
def test_finished_tasks_do_not_run_again(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = embed_to(tmp_path / "expected", folder, Config(**SETTINGS))
    config, out = Config(**SETTINGS, memory=MEMORY), tmp_path / "out"
    stages: list[str] = []

    class Stop(Progress):
        def stage(self, name_: str, *_: Any) -> None:
            stages.append(name_)
            if len(stages) == {"dictionary": 3, "triples": 4, "springs": 5}[name]:
                raise Crash

    with on_disk(statements=60, block=1500):
        with pytest.raises(Crash):
            embed_to(out, folder, config, progress=Stop())
        work = tmp_path / ".out.pyke" / "tasks"
        before = {path: path.stat().st_mtime_ns for path in work.rglob("*") if path.is_file()}
        monkeypatch.setattr("pyke.core.files._remove_work", lambda *_, **__: None)
        assert_same(embed_to(out, folder, config, resume=True), expected)
    kept = [path for path in before if path.exists()]
    assert kept
    assert all(path.stat().st_mtime_ns == before[path] for path in kept)


def test_a_smaller_limit_starts_over(folder: Path, tmp_path: Path) -> None:
    expected = embed_to(tmp_path / "expected", folder, Config(**SETTINGS))
    config, out = Config(**SETTINGS, memory=MEMORY), tmp_path / "out"
    notes: list[str] = []

    class Noted(Progress):
        def note(self, message: str) -> None:
            notes.append(message)

    with on_disk(statements=100, block=1500), pytest.raises(Crash):
        embed_to(out, folder, config, progress=StopAfter(38))
    with on_disk(statements=20, block=1500):
        assert_same(embed_to(out, folder, config, resume=True, progress=Noted()), expected)
    assert [note for note in notes if "starts over" in note]


def test_another_run_does_not_continue_it(folder: Path, tmp_path: Path) -> None:
    config, out = Config(**SETTINGS, memory=MEMORY), tmp_path / "out"
    other = Config(**SETTINGS | {"dimensions": 5}, memory=MEMORY)
    with on_disk(block=1500):
        with pytest.raises(Crash):
            embed_to(out, folder, config, progress=StopAfter(23))
        with pytest.raises(UsageError, match="another run: dimensions was 4 and is now 5"):
            embed_to(out, folder, other, resume=True)


@pytest.mark.parametrize("n", range(0, 48, 5))
def test_a_full_disk_is_an_error_and_the_run_resumes(
    n: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = embed_to(tmp_path / "expected", folder, Config(**SETTINGS))
    settings = SETTINGS | {"checkpoint_seconds": 1000}  # a checkpoint may fail without an error
    config, out = Config(**settings, memory=MEMORY), tmp_path / "out"
    calls = iter(range(10**6))

    def full(*arguments: Any) -> None:
        if next(calls) == n:
            raise OSError(errno.ENOSPC, "No space left on device")
        reserve_space(*arguments)

    with on_disk(statements=60, block=1500):
        for module in (files, scratch):
            monkeypatch.setattr(module, "reserve_space", full)
        with pytest.raises(WriteError, match="the disk is full") as caught:
            embed_to(out, folder, config)
        assert caught.value.exit_code == 74
        assert not out.exists()
        assert_same(embed_to(out, folder, config, resume=True), expected)


@pytest.mark.parametrize("name", ["require_simulation", "require_triples", "require_springs"])
def test_a_limit_that_cannot_work_is_refused_with_the_least_that_would_do(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require, seen = getattr(spilling, name), list[str]()

    def small(*arguments: Any) -> None:
        seen.append(name)
        require(*arguments[:-1], Config(**SETTINGS, memory=200_000_000))

    monkeypatch.setattr(spilling, name, small)
    config = Config(**SETTINGS, memory=MEMORY)
    with on_disk(block=1500), pytest.raises(OverBudget, match=r"needs at least 2\d\d MB of memory"):
        embed_to(tmp_path / "out", folder, config)
    assert seen


def test_a_run_that_fits_stays_in_memory(folder: Path, tmp_path: Path) -> None:
    found = embed_to(tmp_path / "out", folder, Config(**SETTINGS, memory=2 * MEMORY))
    assert [stage["name"] for stage in found.manifest["stages"]] == [
        "reading", "springs", "repellers", "simulation", "writing"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "settings", [{"clusters": 3}, {"literals": "values"}, {"type_weight": 2.0}, {"init": "svd"}]
)
def test_settings_that_need_the_whole_graph_stay_in_memory(settings: dict[str, Any]) -> None:
    assert spilling.needs_everything(Config(**settings)) == [*settings]
    assert not spilling.is_spilled(Sizes(links=10**9), Config(**settings, memory=MEMORY))
    assert spilling.is_spilled(Sizes(links=10**9), Config(memory=MEMORY))


LUBM = Sizes(  # of LUBM(1000), in the proportions of LUBM(10)
    links=93_788_524, literals=44_277_522, triples=89_200_000, terms=21_759_277,
    text_bytes=1_385_969_885, pairs=190_938_700, particles=43_145_993, springs=285_328_231,
    hub=26_159_842, roles=70_424_778,
)  # fmt: skip


def test_lubm_1000_needs_less_than_six_gigabytes() -> None:
    least = spilling.least_bytes(LUBM, Config(threads=2))
    assert 3e9 < least < 3.5e9
    assert budget.least_bytes(LUBM, Config(threads=2)) > 8e9  # if everything is in memory
    for memory in (least, int(1.1 * least), int(6e9), int(8e9)):
        config = Config(memory=memory, threads=2)
        assert spilling.is_spilled(LUBM, config)
        assert max(spilling.stage_bytes(LUBM, config).values()) <= memory
        plan.check(plan._plan(LUBM, config, {}, 1.0), config)
    too_small = Config(memory=int(0.95 * least), threads=2)
    with pytest.raises(OverBudget, match=r"the run needs at least 3\.\d+ GB of memory"):
        plan.check(plan._plan(LUBM, too_small, {}, 1.0), too_small)
    assert not spilling.is_spilled(LUBM, Config(memory=10**11, threads=2))


SIZES = st.builds(
    lambda triples, terms, literals, text, particles, pairs, hub: Sizes(
        links=triples, triples=triples, terms=triples // terms, literals=literals * triples // 4,
        text_bytes=text * (triples // terms),
        particles=triples // terms + triples // particles,
        pairs=pairs * triples, springs=pairs * triples,
        hub=triples // hub, roles=3 * triples // terms,
    ),
    st.integers(10**3, 10**8), st.integers(2, 20), st.integers(0, 4), st.integers(20, 90),
    st.integers(1, 20), st.integers(1, 3), st.integers(4, 50),
)  # fmt: skip


@given(SIZES, st.sampled_from([10, 50, 200]), st.sampled_from([1.05, 1.2, 1.5, 2.0, 4.0]))
@many(200)
def test_more_memory_than_the_advised_is_enough(sizes: Sizes, dimensions: int, more: float) -> None:
    """Also where a run with more memory works in another way."""
    config = Config(dimensions=dimensions, threads=1)
    config = replace(config, memory=int(more * spilling.least_bytes(sizes, config)))
    plan.check(plan._plan(sizes, config, {}, 1.0), config)


def test_the_plan_of_writing_is_close_to_what_was_measured() -> None:
    planned = spilling.stage_bytes(LUBM, Config(memory=int(12e9), threads=2))["writing"]
    assert planned == pytest.approx(2.02e9, rel=0.15)


def test_a_small_graph_needs_no_more_than_in_memory() -> None:
    sizes = Sizes(links=100, triples=100, terms=50, text_bytes=1000, pairs=200, particles=90)
    least = spilling.least_bytes(sizes, Config(threads=2))
    assert least == budget.least_bytes(sizes, Config(threads=2))
    assert not spilling.is_spilled(sizes, Config(threads=2, memory=least))


def test_a_small_graph_runs_with_the_memory_that_a_plan_advises(
    folder: Path, tmp_path: Path
) -> None:
    config = Config(**SETTINGS)
    least = int(1.05 * make_plan(folder, config).least_bytes)
    assert least < spilling.part_bytes(spilling.SMALLEST_PART, config)
    expected = embed_to(tmp_path / "expected", folder, config).vectors
    made = embed_to(tmp_path / "out", folder, replace(config, memory=least)).vectors
    assert np.array_equal(made, expected)
    with pytest.raises(OverBudget, match="reading needs at least"):
        embed_to(tmp_path / "out", folder, replace(config, memory=10**8), force=True)


def test_a_plan_says_which_stages_are_on_disk(folder: Path) -> None:
    config = Config(**SETTINGS, memory=MEMORY)
    names = ["reading", "dictionary", "triples", "springs", "simulation", "writing"]
    with on_disk(block=1500):
        made = make_plan(folder, config)
    assert [stage.name for stage in made.stages] == names
    assert (
        made.holding == "quarters, 4 quarters and springs on disk, graph on disk, in 3 partitions"
    )
    assert all(stage.peak_bytes and stage.disk_bytes for stage in made.stages)
    assert all(stage.seconds > 0 for stage in made.stages)


def test_plans_count_hubs_and_roles(tmp_path: Path) -> None:
    path = tmp_path / "graph.nt"
    path.write_text(
        "".join(f"<e:s{i}> <e:p> <e:hub> .\n<e:s{i}> <e:p> <e:o{i}> .\n" for i in range(9))
    )
    sizes = make_plan(path, Config()).sizes
    assert sizes.hub == 9
    assert sizes.roles == 9 + 10  # subjects, and objects


def test_resuming_a_complete_run_removes_what_a_killed_one_left(
    folder: Path, tmp_path: Path
) -> None:
    config, out = Config(**SETTINGS), tmp_path / "out"
    expected = embed_to(out, folder, config).vectors
    left = tmp_path / ".out.pyke"
    left.mkdir()
    (left / "lock").touch()
    (left / "tasks").mkdir()
    assert np.array_equal(embed_to(out, folder, config, resume=True).vectors, expected)
    assert not left.exists()
