"""Full disks and power cuts: the old output, the new one, or an error; never something else."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyke
from faults.conftest import Figure, times
from faults.runs import content, hidden
from graphs import random_graph
from injection import Faults, Module, inject
from pyke.config import Config
from pyke.core import files
from pyke.core.system import try_exchange
from pyke.embedding import store
from pyke.errors import PykeError, WriteError
from pyke.pipeline import embed_to

OLD = Config(dimensions=2, energy_release=0.4, checkpoint_seconds=0)
NEW = Config(dimensions=3, energy_release=0.4, checkpoint_seconds=0)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph, an old output, and a new one."""
    folder = tmp_path_factory.mktemp("full")
    (folder / "graph.nt").write_text(random_graph(60))
    embed_to(folder / "old", folder / "graph.nt", OLD)
    embed_to(folder / "new", folder / "graph.nt", NEW)
    return folder


# -- full disk -----------------------------------------------------------------------------------


@pytest.mark.parametrize("always", [False, True], ids=["once", "from then on"])
def test_if_any_call_of_a_run_fails_the_output_is_the_old_or_the_new_one(
    place: Path, tmp_path: Path, figure: Figure, always: bool
) -> None:
    ended = {WriteError.exit_code: 0, 0: 0}
    step = times(13, 1)
    for n in itertools.count(1, step):
        folder = tmp_path / str(n)
        folder.mkdir()
        out = Path(shutil.copytree(place / "old", folder / "out"))
        faults = Faults(n, always=always)
        run = partial(embed_to, out, place / "graph.nt", NEW, force=True)
        try:
            inject(faults, run)
        except WriteError as error:
            assert content(out) == content(place / "old"), f"call {n}, {faults.failed}"
            assert str(folder) in str(error)  # noqa: PT017
            ended[error.exit_code] += 1
        else:
            assert content(out) == content(place / "new"), f"call {n}, {faults.failed}"
            ended[0] += 1
        store.verify(out)
        left = [path for path in folder.rglob("*") if ".writing" in path.name]
        assert not left, f"call {n}, {faults.failed}"
        shutil.rmtree(folder)
        if not faults.failed:
            break
    assert n > 50
    assert all(ended.values()), "some calls end the run; others cost a checkpoint only"
    figure(
        "F5",
        f"call 1 … {n} of a run fails{' and all after it' if always else ''}, in steps of {step}: "
        f"{ended[74]} × exit code 74 with the old output, {ended[0]} × the new output, "
        "0 temporary files",
    )


def test_the_error_of_a_full_disk_says_how_many_bytes_are_needed(
    place: Path, tmp_path: Path
) -> None:
    embedding = pyke.load(place / "new")
    with pytest.raises(WriteError, match=r"out: the disk is full; it needs [0-9,]+ bytes"):
        inject(Faults(9), partial(embedding.save, tmp_path / "out"))


# What a run on a small disk prints: its exit code, what it left, and whether the output is valid.
ON_A_SMALL_DISK = r"""
mount -t tmpfs -o size=$SIZE tmpfs "$PLACE" || exit 99
cp -r "$OLD" "$PLACE/out"
"$PYTHON" -m pyke embed "$GRAPH" -o "$PLACE/out" --force --checkpoint-seconds 0 --dimensions 8 \
    > /dev/null
echo "code $?"
ls -A "$PLACE"
"$PYTHON" -m pyke verify "$PLACE/out" > /dev/null && echo valid
"""


def test_a_small_disk_that_gets_full(place: Path, tmp_path: Path, figure: Figure) -> None:
    graph = tmp_path / "graph.nt"
    graph.write_text(random_graph(2000))
    (tmp_path / "disk").mkdir()
    codes = []
    for kilobytes in range(64, 1600, times(600, 60)):
        variables = {
            "SIZE": f"{kilobytes}k",
            "PLACE": str(tmp_path / "disk"),
            "OLD": str(place / "old"),
            "GRAPH": str(graph),
            "PYTHON": sys.executable,
        }
        try:
            ended = subprocess.run(
                ["unshare", "-Urm", "sh", "-c", ON_A_SMALL_DISK],
                env={**os.environ, **variables},
                capture_output=True,
                text=True,
            )
        except FileNotFoundError:
            pytest.skip("this system has no unshare")
        if "code" not in ended.stdout:
            pytest.skip(f"cannot mount a small disk: {ended.stderr.strip()}")
        code, *left = ended.stdout.split("\n")[:-1]
        assert code in ("code 0", "code 74"), ended.stderr
        assert left[-1] == "valid"
        assert not [name for name in left if ".writing" in name]
        if code == "code 0":
            assert left == ["out", "valid"]
        codes.append(code)
    assert set(codes) == {"code 0", "code 74"}
    figure(
        "F5",
        f"{len(codes)} small disks: {codes.count('code 74')} × exit code 74 with the old output, "
        f"{codes.count('code 0')} × the new output, 0 crashes",
    )


# -- power cut -----------------------------------------------------------------------------------


@dataclass
class Journal:
    """The changes of a run to the files below a folder, in order.

    A change is (kind, directory or file, details). Directories and files have numbers, which they
    keep when they are renamed. 0 is the folder itself.
    """

    root: Path
    changes: list[tuple[Any, ...]] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=lambda: {"": 0})

    def __post_init__(self) -> None:
        for path in sorted(self.root.rglob("*")):
            self._add(path, "mkdir" if path.is_dir() else "create")
            if path.is_file():
                self.changes.append(("write", self._number(path), path.read_bytes()))
        self.old = len(self.changes)  # these are on the disk

    def _name(self, path: Path | str) -> str:
        name = os.path.relpath(os.path.realpath(path), os.path.realpath(self.root))
        return "" if name == "." else name

    def _number(self, path: Path | str) -> int:
        return self.numbers[self._name(path)]

    def _parent(self, path: Path) -> int:
        return self._number(path.parent)

    def _add(self, path: Path, kind: str) -> None:
        self.numbers[self._name(path)] = len(self.numbers)
        self.changes.append((kind, self._parent(path), path.name, self._number(path)))

    def _remove(self, path: Path) -> None:
        self.changes.append(("remove", self._parent(path), path.name))

    def _move(self, first: Path, second: Path, swap: bool) -> None:
        one, other = self._name(first), self._name(second)
        self.changes.append(("move", self._parent(first), first.name, second.name, swap))
        renamed = {}
        for name, number in self.numbers.items():
            head, rest = name[: len(one)], name[len(one) :]
            if head == one and rest[:1] in ("", "/"):
                renamed[other + rest] = number
            elif swap and name[: len(other)] == other and name[len(other) :][:1] in ("", "/"):
                renamed[one + name[len(other) :]] = number
            else:
                renamed.setdefault(name, number)
        self.numbers = renamed

    # The calls of core/files.py.

    def open(self, path: Path, mode: str = "r", **named: Any) -> Any:
        file = open(path, mode, **named)  # noqa: SIM115
        if "w" not in mode:
            return file
        if self._name(path) not in self.numbers:
            self._add(Path(path), "create")
        number = self._number(path)

        def write(data: Any) -> int:
            self.changes.append(("write", number, bytes(data)))
            return int(file.write(data))

        return _File(file, write)

    def open_descriptor(self, path: Path, flags: int, mode: int = 0o777) -> int:
        descriptor = os.open(path, flags, mode)
        if flags & os.O_CREAT and self._name(path) not in self.numbers:
            self._add(Path(path), "create")
        return descriptor

    def fsync(self, descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        os.fsync(descriptor)
        self.changes.append(("sync", self._number(path)))

    def rename(self, first: Path, second: Path) -> None:
        os.rename(first, second)
        self._move(Path(first), Path(second), swap=False)

    def exchange(self, first: Path, second: Path) -> bool:
        exchanged = try_exchange(first, second)
        if exchanged:
            self._move(first, second, swap=True)
        return exchanged

    def rmtree(self, path: Path, ignore_errors: bool = False) -> None:
        if path.exists():
            for below in sorted(path.rglob("*"), reverse=True):
                self._remove(below)
            self._remove(path)
        shutil.rmtree(path, ignore_errors=ignore_errors)


class _File:
    """A file with a recorded write()."""

    def __init__(self, file: Any, write: Callable[[Any], int]) -> None:
        self._file, self.write, self.fileno = file, write, file.fileno

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def recorded(root: Path, work: Callable[[], object], *, exchange: bool) -> Journal:
    """Run a function, and record its changes below a folder."""
    journal = Journal(root)
    calls = {
        "open": journal.open_descriptor,
        "fsync": journal.fsync,
        "rename": journal.rename,
        "replace": journal.rename,
    }
    mkdir, unlink, rmdir = Path.mkdir, Path.unlink, Path.rmdir

    def make(path: Path, *arguments: Any, **named: Any) -> None:
        existed = path.exists()
        mkdir(path, *arguments, **named)
        if not existed and path.is_relative_to(root):
            journal._add(path, "mkdir")

    def removing(remove: Callable[..., None]) -> Callable[..., None]:
        def recording(path: Path, *arguments: Any, **named: Any) -> None:
            existed = path.exists()
            remove(path, *arguments, **named)
            if existed and path.is_relative_to(root):
                journal._remove(path)

        return recording

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "os", Module(os, **calls))
        patch.setattr(files, "open", journal.open, raising=False)
        patch.setattr(files, "shutil", Module(shutil, rmtree=journal.rmtree))
        patch.setattr(files, "try_exchange", journal.exchange if exchange else lambda *_: False)
        patch.setattr(os, "getpid", lambda: 999_999_999)  # this process is dead after the cut
        patch.setattr(Path, "mkdir", make)
        patch.setattr(Path, "unlink", removing(unlink))
        patch.setattr(Path, "rmdir", removing(rmdir))
        work()
    return journal


Keep = Callable[[], bool]


def after_power_cut(journal: Journal, step: int, keep: Keep, target: Path) -> None:
    """Write what a disk may contain if the power is cut after a step.

    What was synced is on the disk. `keep` decides about each other change. A lost write leaves
    nothing or zeros.
    """
    changes = journal.changes[:step]
    synced: dict[int, int] = {}  # the last sync of each file and directory
    for at, change in enumerate(changes):
        if change[0] == "sync":
            synced[change[1]] = at
    folders: dict[int, dict[str, int]] = {0: {}}
    contents: dict[int, bytes] = {}
    for at, (kind, number, *details) in enumerate(changes):
        is_kept = at < journal.old or at < synced.get(number, -1) or keep()
        if kind == "write":
            lost = bytes(len(details[0])) if keep() else b""
            contents[number] = contents.get(number, b"") + (details[0] if is_kept else lost)
            continue
        if kind == "sync":
            continue
        if kind == "mkdir":
            folders[details[1]] = {}
        elif kind == "create":
            contents[details[1]] = b""
        if not is_kept:
            continue
        entries = folders[number]
        if kind in ("mkdir", "create"):
            entries[details[0]] = details[1]
        elif kind == "remove":
            entries.pop(details[0], None)
        elif kind == "move" and details[0] in entries:
            first, second, swap = details
            moved, other = entries.pop(first), entries.get(second)
            entries[second] = moved
            if swap and other is not None:
                entries[first] = other
    _write_tree(target, folders, contents, 0)


def _write_tree(
    target: Path, folders: dict[int, dict[str, int]], contents: dict[int, bytes], number: int
) -> None:
    target.mkdir()
    for name, below in folders[number].items():
        if below in folders:
            _write_tree(target / name, folders, contents, below)
        else:
            (target / name).write_bytes(contents[below])


def losses(rng: random.Random) -> Iterator[Keep]:
    """Everything is lost, nothing is lost, or some changes are."""
    yield lambda: False
    yield lambda: True
    for share in (0.1, 0.5, 0.9):
        yield lambda share=share: rng.random() < share  # type: ignore[misc]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "two renames"])
def test_after_a_power_cut_the_output_is_the_old_or_the_new_one(
    place: Path, tmp_path: Path, rng: random.Random, figure: Figure, exchange: bool
) -> None:
    root, graph = tmp_path / "root", place / "graph.nt"
    root.mkdir()
    shutil.copytree(place / "old", root / "out")
    run = partial(embed_to, root / "out", graph, NEW, force=True)
    journal = recorded(root, run, exchange=exchange)
    old, new = content(place / "old"), content(place / "new")
    found = {old: 0, new: 0, "": 0}
    resumed = 0
    every = times(7, 1)
    for step in range(journal.old, len(journal.changes) + 1, every):
        for keep in losses(rng):
            state = tmp_path / "state"
            after_power_cut(journal, step, keep, state)
            try:
                store.verify(state / "out")
                pyke.load(state / "out").nearest_of_many(np.array([0]), k=3)
                found[content(state / "out")] += 1
            except PykeError:
                assert not exchange, "the output is always complete"
                assert not (state / "out").exists()
                found[""] += 1
            if rng.random() < times(2, 100) / 100:
                again = embed_to(state / "out", graph, NEW, force=True, resume=True)
                assert content(state / "out") == new
                assert len(again) == len(pyke.load(place / "new"))
                assert hidden(state) == []
                resumed += 1
            shutil.rmtree(state)
    assert found[old]
    assert found[new]
    figure(
        "F4",
        f"power cut after {len(journal.changes) - journal.old} steps, in steps of {every}, "
        f"{sum(found.values()):,} states: {found[old]:,} × old, {found[new]:,} × new, "
        f"{found['']:,} × moved aside; {resumed} resumed to the same bits",
    )
