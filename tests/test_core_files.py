"""Writing files completely or not at all, one run per output, and opening inputs."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import io
import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from injection import Faults, Module, Watched, inject
from pyke.core import files, inputs, stored, system
from pyke.core.parallel import ordered_map
from pyke.core.stored import MANIFEST, read_manifest
from pyke.core.temporary import temporary_name
from pyke.errors import DataError, NoInput, OutputExists, WriteError

Contents = dict[str, Any]

OLD: Contents = {"a.npy": np.arange(6, dtype=np.float32).reshape(2, 3), "b.txt": b"old"}
NEW: Contents = {
    "a.npy": np.arange(8, dtype=np.float32).reshape(4, 2),
    "b.txt": b"new",
    "c.bin": memoryview(b"more"),
}


def snapshot(directory: Path) -> dict[str, bytes]:
    """All files below a directory with their content; links are not followed."""
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else b""
        for path in sorted(directory.rglob("*"))
    }


def leftover(target: Path, kind: str = "writing") -> Path:
    """The name of a temporary file of a process that has ended."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 999_999_999)
        return temporary_name(target, kind)


def void(_: object) -> None:
    """Ignore the result of a call."""


def test_the_manifest_of_a_directory_has_sizes_and_hashes(
    tmp_path: Path,
) -> None:
    files.write_directory(tmp_path / "deep" / "out", NEW, {"format": 1, "name": "é"})
    assert {path.name for path in (tmp_path / "deep").iterdir()} == {"out"}
    manifest = json.loads((tmp_path / "deep" / "out" / MANIFEST).read_text())
    assert (manifest["format"], manifest["name"], list(manifest["files"])) == (1, "é", list(NEW))
    for name, entry in manifest["files"].items():
        content = (tmp_path / "deep" / "out" / name).read_bytes()
        assert entry == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        assert stored.file_hash(tmp_path / "deep" / "out" / name) == entry["sha256"]
    np.testing.assert_array_equal(np.load(tmp_path / "deep" / "out" / "a.npy"), NEW["a.npy"])
    assert (tmp_path / "deep" / "out" / "c.bin").read_bytes() == b"more"


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(0, np.int32),
        np.zeros((0, 3), np.float32),
        np.zeros((3, 0)),
        np.arange(10, dtype=np.uint16)[::2],
        np.asfortranarray(np.eye(3, 2)),
        np.ones(2, bool),
    ],
    ids=lambda array: f"{array.dtype} {array.shape}",
)
def test_arrays_of_all_kinds_are_read_back_unchanged(
    array: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "WRITE_BYTES", 8)  # several pieces even for a small array
    files.write_directory(tmp_path / "out", {"a.npy": array}, {})
    loaded = np.load(tmp_path / "out" / "a.npy")
    np.testing.assert_array_equal(loaded, array)
    assert loaded.dtype == array.dtype


def test_an_existing_output_stays_unchanged_without_force(tmp_path: Path) -> None:
    files.write_directory(tmp_path / "out", OLD, {})
    before = snapshot(tmp_path)
    with pytest.raises(OutputExists, match="`force=True`") as caught:
        files.write_directory(tmp_path / "out", NEW, {})
    assert caught.value.exit_code == 73
    assert snapshot(tmp_path) == before


def _with_old(place: Path, replace: bool) -> dict[str, bytes]:
    place.mkdir()
    if replace:
        files.write_directory(place / "out", OLD, {"generation": "old"})
    return snapshot(place)


@pytest.mark.parametrize("replace", [False, True], ids=["new", "replaced"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT], ids=errno.errorcode.get)
def test_if_any_call_fails_the_old_output_stays_unchanged(
    replace: bool, number: int, tmp_path: Path
) -> None:
    failed = set()
    for n in itertools.count(1):
        place = tmp_path / f"{n}"
        before = _with_old(place, replace)
        faults = Faults(n, number)
        error = None
        try:
            write = partial(
                files.write_directory, place / "out", NEW, {"generation": "new"}, replace
            )
            inject(faults, write)
        except WriteError as caught:
            error = caught
        if not faults.failed:
            break
        failed.add(faults.failed)
        if error is None:  # the last sync may fail: the output is in place
            assert json.loads((place / "out" / MANIFEST).read_text())["generation"] == "new", (
                f"call {n}, {faults.failed}"
            )
            continue
        assert snapshot(place) == before, f"call {n}, {faults.failed}"
        assert error.exit_code == 74, faults.failed
        assert str(place / "out") in str(error), faults.failed
        assert ("the disk is full" in str(error)) == (number != errno.EIO), faults.failed
    assert error is None
    step = "exchange" if replace and system.is_linux() else "rename"
    assert failed >= {"mkdir", "open", "write", "fsync", step}
    assert json.loads((place / "out" / MANIFEST).read_text())["generation"] == "new"
    assert {path.name for path in place.iterdir()} == {"out"}


def test_without_exchange_a_failed_rename_restores_the_old_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_exchange(*_: object) -> int:
        ctypes.set_errno(errno.EINVAL)
        return -1

    monkeypatch.setattr(system, "_c_function", lambda _: no_exchange)
    for n in itertools.count(1):
        place = tmp_path / f"{n}"
        before = _with_old(place, True)
        faults = Faults(n)
        monkeypatch.setattr(files, "os", Module(os, rename=faults.watch("rename", os.rename)))
        try:
            files.write_directory(place / "out", NEW, {"generation": "new"}, True)
        except WriteError:
            assert snapshot(place) == before, f"rename {n}"
        else:
            break
    assert n > 2
    assert json.loads((place / "out" / MANIFEST).read_text())["generation"] == "new"
    assert {path.name for path in place.iterdir()} == {"out"}


def test_a_partial_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stingy(path: Any, mode: str = "r", **named: Any) -> Any:
        file = io.open(path, mode, **named)  # noqa: UP020, SIM115
        if "w" not in mode:
            return file
        watched = Watched(Faults(0), file)
        watched.write = lambda data: file.write(bytes(data)[:3])
        return watched

    monkeypatch.setattr(files, "open", stingy, raising=False)
    files.write_directory(tmp_path / "out", NEW, {})
    monkeypatch.undo()
    assert (tmp_path / "out" / "c.bin").read_bytes() == b"more"
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "a.npy"), NEW["a.npy"])


@pytest.mark.parametrize("existing", [False, True])
def test_a_file_is_written_completely_or_not_at_all(existing: bool, tmp_path: Path) -> None:
    for n in itertools.count(1):
        place = tmp_path / f"{n}"
        place.mkdir()
        if existing:
            (place / "x").write_bytes(b"old")
        before = snapshot(place)
        faults = Faults(n)
        try:
            inject(faults, lambda place=place: files.write_file(place / "x", b"new"))  # type: ignore[misc]
        except WriteError:
            assert snapshot(place) == before, f"call {n}, {faults.failed}"
        else:
            assert snapshot(place) == {"x": b"new"}, f"call {n}, {faults.failed}"
        if not faults.failed:
            break
    assert n > 5


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("name", ["x.nt", "x.nt.gz"])
def test_a_stream_is_written_completely_or_not_at_all(
    name: str, existing: bool, tmp_path: Path
) -> None:
    for n in itertools.count(1):
        place = tmp_path / f"{n}"
        place.mkdir()
        if existing:
            (place / name).write_bytes(b"old")
        before = snapshot(place)
        faults = Faults(n)
        try:
            write = partial(
                files.write_stream, place / name, [b"a\n", memoryview(b"b\n")], existing
            )
            inject(faults, lambda write=write: void(write()))  # type: ignore[misc]
        except WriteError as error:
            assert snapshot(place) == before, f"call {n}, {faults.failed}"
            assert str(place / name) in str(error)  # noqa: PT017
        else:
            assert list(snapshot(place)) == [name], f"call {n}, {faults.failed}"
        if not faults.failed:
            break
    assert n > 5
    with inputs.Input(str(place / name), inputs.compression_of(name)) as source:
        assert source.read() == b"a\nb\n"


@pytest.mark.parametrize("suffix", ["", *inputs.COMPRESSIONS, ".GZ"])
@pytest.mark.parametrize(
    "blocks",
    [[], [b""], [b"one\n"], [b"%d\n" % i * 1000 for i in range(50)]],
    ids=lambda blocks: f"{len(blocks)}",
)
def test_a_stream_is_read_back_from_every_compression(
    suffix: str, blocks: list[bytes], tmp_path: Path
) -> None:
    path = tmp_path / f"x.nt{suffix}"
    assert files.write_stream(path, iter(blocks), threads=3) == path.stat().st_size
    with inputs.Input(str(path), inputs.compression_of(str(path))) as source:
        assert b"".join(iter(source.read, b"")) == b"".join(blocks)


def test_a_stream_replaces_only_files_and_only_with_force(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "x")
    for path, force in (
        (tmp_path / "x", False),
        (tmp_path / "link", False),
        (tmp_path, True),
        (Path("/dev/null"), True),
    ):
        with pytest.raises(OutputExists):
            files.write_stream(path, [b"new"], force)
    files.write_stream(tmp_path / "link", [b"new"], True)
    assert snapshot(tmp_path) == {"x": b"new", "link": b"new"}


def test_a_file_is_replaced_only_with_force(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"old")
    with pytest.raises(OutputExists, match="force"), files.new_file(tmp_path / "x"):
        pass
    assert snapshot(tmp_path) == {"x": b"old"}


def test_a_stream_to_standard_output_returns_its_size(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert files.write_stream("-", [b"one\n", memoryview(b"two\n")]) == 8
    assert capfdbinary.readouterr().out == b"one\ntwo\n"


def test_the_error_of_a_full_standard_output_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "wb", buffering=0) as full:
        monkeypatch.setattr(sys, "stdout", Module(io, buffer=full, isatty=lambda: False))
        with pytest.raises(WriteError, match="cannot write standard output: the disk is full"):
            files.write_stream("-", [b"one"])


def test_writing_a_file_removes_leftovers_of_killed_runs(tmp_path: Path) -> None:
    leftover(tmp_path / "x").write_bytes(b"half")
    files.write_stream(tmp_path / "x", [b"new"])
    assert snapshot(tmp_path) == {"x": b"new"}


def test_a_work_directory_removes_leftovers_of_killed_runs_only(tmp_path: Path) -> None:
    gone, working = leftover(tmp_path / "out"), temporary_name(tmp_path / "out", "writing")
    of_a_user = tmp_path / ".out.writing-999999999-abcdef12"
    for path in (gone, working, of_a_user):
        path.mkdir()
        (path / "half").write_bytes(b"x")
    with files.work_directory(tmp_path / "out"):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {working.name, of_a_user.name}


def test_a_directory_with_foreign_files_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("precious")
    with pytest.raises(OutputExists, match=r"thesis\.txt"):
        files.write_directory(tmp_path / "out", NEW, {}, True)
    assert (tmp_path / "out" / "thesis.txt").read_text() == "precious"


@pytest.mark.parametrize(
    "manifest",
    [
        {"files": ["thesis.txt"]},
        {"files": {"thesis.txt": {}}},
        {"files": {"thesis.txt": {"bytes": 8, "sha256": "x"}}},
        {"files": {"thesis.txt": {"bytes": 7, "sha256": "x"}}, "format": "pyke-embedding"},
        {"files": {"thesis.txt": {"bytes": 8, "sha256": "x"}}, "format": "x", "sha256": "y"},
        {"files": {"../thesis.txt": {"bytes": 8, "sha256": "x"}}, "format": "pyke-embedding"},
    ],
)
def test_a_directory_that_another_program_lists_in_a_manifest_is_never_replaced(
    tmp_path: Path, manifest: dict[str, Any]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("precious")
    (tmp_path / "out" / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(OutputExists, match="is not replaced"):
        files.write_directory(tmp_path / "out", NEW, {}, True)
    assert (tmp_path / "out" / "thesis.txt").read_text() == "precious"


def test_a_changed_file_of_a_directory_is_not_replaced(tmp_path: Path) -> None:
    files.write_directory(tmp_path / "out", NEW, {})
    (tmp_path / "out" / "b.txt").write_text("my own notes")
    with pytest.raises(OutputExists, match=r"b\.txt"):
        files.write_directory(tmp_path / "out", NEW, {}, True)


@pytest.mark.parametrize(
    "mark",
    [
        {"format": "pyke-embedding"},
        {"format": "pyke-vectors"},
        {"format": "tensorflow-projector"},
        {"checkpoint": 1},
    ],
    ids=str,
)
def test_a_directory_from_before_manifests_had_checksums_is_replaced(
    mark: dict[str, Any], tmp_path: Path
) -> None:
    files.write_directory(tmp_path / "out", NEW, mark)
    path = tmp_path / "out" / MANIFEST
    manifest = json.loads(path.read_text())
    del manifest["sha256"]
    path.write_text(json.dumps(manifest))
    files.write_directory(tmp_path / "out", OLD, {}, True)
    assert (tmp_path / "out" / "b.txt").read_bytes() == b"old"


def test_a_name_that_is_not_utf8_is_kept_in_the_manifest(tmp_path: Path) -> None:
    name = os.fsdecode(b"gr\xfcn.nt")
    files.write_directory(tmp_path / "out", NEW, {"inputs": [name]})
    assert read_manifest(tmp_path / "out")["inputs"] == [name]


def test_without_exchange_a_hidden_directory_of_a_user_stays_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "try_exchange", lambda *_: False)
    (tmp_path / ".out.old").mkdir()
    (tmp_path / ".out.old" / "thesis.txt").write_text("precious")
    for contents in (OLD, NEW):
        files.write_directory(tmp_path / "out", contents, {}, True)
    assert {path.name for path in tmp_path.iterdir()} == {"out", ".out.old"}
    assert (tmp_path / ".out.old" / "thesis.txt").exists()


def test_a_directory_moved_aside_by_a_killed_run_is_restored(tmp_path: Path) -> None:
    files.write_directory(tmp_path / "out", NEW, {})
    (tmp_path / "out").rename(leftover(tmp_path / "out", "replaced"))
    with pytest.raises(OutputExists):
        files.write_directory(tmp_path / "out", NEW, {})
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_an_interruption_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _with_old(tmp_path / "x", True)
    monkeypatch.setattr(
        files, "_sync_directory", lambda path: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        files.write_directory(tmp_path / "x" / "out", NEW, {}, True)
    assert snapshot(tmp_path / "x") == before


@pytest.mark.parametrize("kind", ["link", "file"])
def test_replacing_a_link_or_a_file_leaves_no_files(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    if kind == "link":
        (tmp_path / "elsewhere").mkdir()
        (place / "out").symlink_to(tmp_path / "elsewhere")
    else:
        (place / "out").write_bytes(b"x")
    for contents in (OLD, NEW):
        try:
            files.write_directory(place / "out", contents, {}, True)
        except (WriteError, OutputExists) as error:
            assert str(place / "out") in str(error)  # noqa: PT017 - an error is fine, too
        assert {path.name for path in place.iterdir()} == {"out"}


def test_a_file_is_not_replaced_by_a_directory(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"precious")
    for force in (False, True):
        with pytest.raises(OutputExists, match=r"out exists and is not a directory; choose"):
            files.check_output_directory(tmp_path / "out", force)


def test_a_directory_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    with pytest.raises(OutputExists, match="exists and is not a file; choose another output"):
        files.check_output_file(tmp_path, True)


def test_the_root_directory_is_no_output() -> None:
    with pytest.raises(OutputExists, match=r"^cannot replace /; choose a directory below it$"):
        files.check_output_directory(Path("/"), True)


def test_an_output_that_appears_while_another_is_written_is_not_replaced(tmp_path: Path) -> None:
    def blocks() -> Iterator[bytes]:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "thesis.txt").write_text("precious")
        yield b"new"

    with pytest.raises(OutputExists):
        files.write_directory(tmp_path / "out", {"x": blocks()}, {}, True)
    assert snapshot(tmp_path) == {"out": b"", "out/thesis.txt": b"precious"}


def test_a_file_that_appears_while_another_is_written_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(OutputExists), files.new_file(tmp_path / "x"):
        (tmp_path / "x").write_bytes(b"precious")
    assert snapshot(tmp_path) == {"x": b"precious"}


def test_a_file_creates_the_folders_above_it(tmp_path: Path) -> None:
    files.write_file(tmp_path / "a" / "b" / "x", b"new")
    assert (tmp_path / "a" / "b" / "x").read_bytes() == b"new"


@pytest.mark.parametrize(
    ("contents", "needed"),
    [
        ({"a": b"123", "b": np.zeros(500, np.int64)}, "; it needs 4,003 bytes"),
        ({"a": memoryview(b"1234")}, "; it needs 4 bytes"),
        ({"a": iter([b"123"])}, ""),
    ],
)
def test_the_error_of_a_full_disk_says_how_much_is_needed(
    contents: Contents, needed: str, tmp_path: Path
) -> None:
    with pytest.raises(WriteError) as caught:
        inject(Faults(1), lambda: files.write_directory(tmp_path / "out", contents, {}))
    assert str(caught.value) == (
        f"cannot write {tmp_path / 'out'}: the disk is full{needed}. Existing output is unchanged."
    )


def test_an_error_without_a_reason_of_the_system_has_its_own_text() -> None:
    with (
        pytest.raises(WriteError, match=r"^cannot write x: odd\. Existing output is unchanged\.$"),
        files._write_errors("x"),
    ):
        raise OSError("odd")


def test_a_folder_without_permission_is_an_error_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def access(path: Path, mode: int) -> bool:
        asked.append((path, mode))
        return False

    monkeypatch.setattr(files, "os", Module(os, access=access))
    with pytest.raises(WriteError, match=f"b/out: no permission to write to {tmp_path}$"):
        files.check_output_directory(tmp_path / "b" / "out", False)
    assert asked == [(tmp_path, os.W_OK)]


@pytest.mark.parametrize("replace", [False, True], ids=["new", "replaced"])
@pytest.mark.parametrize("one_step", [False, True], ids=["renames", "exchange"])
def test_a_directory_is_synced_before_and_after_it_gets_its_name(
    replace: bool, one_step: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if one_step and not system.is_linux():
        pytest.skip("only Linux exchanges two directories in one step")
    _with_old(tmp_path / "x", replace)
    states = []
    sync = files._sync_directory

    def watched(path: Path) -> None:
        manifest = tmp_path / "x" / "out" / MANIFEST
        new = manifest.exists() and json.loads(manifest.read_text())["generation"] == "new"
        states.append((path.name.startswith(".out.writing"), path == tmp_path / "x", new))
        sync(path)

    monkeypatch.setattr(files, "_sync_directory", watched)
    if not one_step:
        monkeypatch.setattr(files, "try_exchange", lambda *_: False)
    files.write_directory(tmp_path / "x" / "out", NEW, {"generation": "new"}, replace)
    after = 2 if replace and not one_step else 1  # also before the old files are removed
    assert states == [(True, False, False), *[(False, True, True)] * after]


def test_a_file_is_synced_before_and_its_folder_after_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []

    def fsync(descriptor: int) -> None:
        synced.append((os.path.isdir(f"/proc/self/fd/{descriptor}"), (tmp_path / "x").exists()))

    monkeypatch.setattr(files, "os", Module(os, fsync=fsync))
    files.write_file(tmp_path / "x", b"new")
    assert synced == [(False, False), (True, True)]


@pytest.mark.parametrize(
    ("terminal", "shown"), [(True, b"a\\u001b[31m\n"), (False, b"a\x1b[31m\n")]
)
def test_control_codes_are_escaped_only_on_a_terminal(
    terminal: bool, shown: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Module(io, buffer=screen, isatty=lambda: terminal))
    assert files.write_stream("-", [b"a\x1b[31m\n"]) == len(shown)
    assert screen.getvalue() == shown


def test_one_thread_compresses_unless_more_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = []

    def watched(work: Any, blocks: Any, threads: int) -> Any:
        used.append(threads)
        return ordered_map(work, blocks, threads)

    monkeypatch.setattr(files, "ordered_map", watched)
    files.write_stream(tmp_path / "x.gz", [b"new"])
    files.write_stream(tmp_path / "y.gz", [b"new"], threads=3)
    assert used == [1, 3]


def test_writing_below_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(WriteError, match="file/out"):
        files.write_directory(tmp_path / "file" / "out", NEW, {})
    assert snapshot(tmp_path) == {"file": b"x"}


def test_a_full_device_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Linux has a device that is always full.
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    monkeypatch.setattr("secrets.token_hex", lambda _: "00")
    temporary_name(tmp_path / "x", "writing").symlink_to("/dev/full")
    with pytest.raises(WriteError, match=r"x: the disk is full\. Existing output is unchanged\.$"):
        files.write_file(tmp_path / "x", b"new")
    assert snapshot(tmp_path) == {}


# -- One run at a time ------------------------------------------------------------------------


def test_a_second_run_on_the_same_output_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with files.work_directory(out) as work:
        assert work.is_dir()
        with (
            pytest.raises(OutputExists, match="another run is writing") as caught,
            files.work_directory(out),
        ):
            pass
        assert caught.value.exit_code == 73
        with pytest.raises(OutputExists), files.work_directory(out):
            pass  # a refused run does not remove the lock of the first
        with files.work_directory(tmp_path / "other"):
            pass
    with files.work_directory(out) as again:
        assert again == work


def test_a_run_that_locked_a_removed_file_locks_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run ends between the moments when the second opens the lock file and locks it."""
    first = files.work_directory(tmp_path / "out")
    first.__enter__()
    with monkeypatch.context() as patch:

        def end_first(descriptor: int) -> bool:
            patch.undo()
            first.__exit__(None, None, None)
            return system.try_lock(descriptor)

        patch.setattr(files, "try_lock", end_first)
        second = files.work_directory(tmp_path / "out")
        work = second.__enter__()
    assert (work / "lock").is_file()
    with pytest.raises(OutputExists), files.work_directory(tmp_path / "out"):
        pass
    second.__exit__(None, None, None)
    assert snapshot(tmp_path) == {}


def test_a_run_that_ends_does_not_remove_the_lock_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run starts between the moments when the first removes its lock and its directory."""
    first = files.work_directory(tmp_path / "out")
    first.__enter__()
    following = files.work_directory(tmp_path / "out")
    with monkeypatch.context() as patch:

        def start_next(path: Path) -> None:
            patch.undo()
            following.__enter__()
            path.rmdir()

        patch.setattr(Path, "rmdir", start_next)
        first.__exit__(None, None, None)
    with pytest.raises(OutputExists), files.work_directory(tmp_path / "out"):
        pass
    following.__exit__(None, None, None)
    assert snapshot(tmp_path) == {}


def test_a_directory_of_a_user_does_not_become_a_work_directory(tmp_path: Path) -> None:
    (tmp_path / ".out.pyke").mkdir()
    (tmp_path / ".out.pyke" / "thesis.txt").write_text("precious")
    with (
        pytest.raises(OutputExists, match="not a work directory"),
        files.work_directory(tmp_path / "out"),
    ):
        pass
    assert (tmp_path / ".out.pyke" / "thesis.txt").exists()


def test_a_work_directory_creates_the_folders_above_it(tmp_path: Path) -> None:
    with files.work_directory(tmp_path / "a" / "b" / "out") as work:
        assert work == tmp_path / "a" / "b" / ".out.pyke"
        assert work.is_dir()


def test_a_work_directory_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".out.pyke").symlink_to(tmp_path / "missing" / "directory")
    with pytest.raises(WriteError), files.work_directory(tmp_path / "out"):
        pass


def test_a_failed_run_releases_its_lock(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), files.work_directory(tmp_path / "out"):
        raise ZeroDivisionError
    with files.work_directory(tmp_path / "out") as work:
        assert work.is_dir()


def test_a_failed_run_keeps_its_checkpoint_and_a_complete_one_removes_it(tmp_path: Path) -> None:
    work = tmp_path / ".out.pyke"

    def fail() -> None:
        with files.work_directory(tmp_path / "out"):
            (work / "step").mkdir()
            (work / "step" / "x").write_bytes(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert snapshot(work) == {"lock": b"", "step": b"", "step/x": b"half"}
    with files.work_directory(tmp_path / "out") as again:
        assert (again / "step" / "x").read_bytes() == b"half"
        (again / "file").write_bytes(b"more")
    assert snapshot(tmp_path) == {}


def test_a_failed_run_without_a_checkpoint_removes_its_directory(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), files.work_directory(tmp_path / "out"):
        raise ZeroDivisionError
    assert snapshot(tmp_path) == {}


def test_a_work_directory_is_synced_when_it_is_locked_and_before_its_lock_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(files, "_sync_directory", lambda path: seen.append(os.listdir(path)))
    with files.work_directory(tmp_path / "out") as work:
        (work / "step").write_bytes(b"x")
    assert seen == [["lock"], ["lock"]]


def test_only_the_owner_can_read_and_write_the_lock(tmp_path: Path) -> None:
    with files.work_directory(tmp_path / "out") as work:
        assert (work / "lock").stat().st_mode & 0o777 == 0o600


def test_a_link_is_never_a_lock(tmp_path: Path) -> None:
    (tmp_path / ".out.pyke").mkdir()
    (tmp_path / ".out.pyke" / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WriteError), files.work_directory(tmp_path / "out"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def open_descriptors() -> set[int]:
    """Descriptors below 1024 that are open in this process."""

    def is_open(descriptor: int) -> bool:
        try:
            os.fstat(descriptor)
        except OSError:
            return False
        return True

    return set(filter(is_open, range(1024)))


def test_descriptors_of_refused_and_of_complete_runs_are_closed(tmp_path: Path) -> None:
    before = open_descriptors()
    with files.work_directory(tmp_path / "out"):
        during = open_descriptors()
        with pytest.raises(OutputExists), files.work_directory(tmp_path / "out"):
            pass
        assert open_descriptors() == during
    assert open_descriptors() == before


def test_a_directory_that_other_runs_remove_all_the_time_is_tried_100_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def removed(*_: object) -> int:
        tried.append(1)
        raise FileNotFoundError(2, "gone")

    monkeypatch.setattr(files, "os", Module(os, open=removed))
    with pytest.raises(WriteError, match="gone"), files.work_directory(tmp_path / "out"):
        pass
    assert len(tried) == 100


def test_a_lock_that_other_runs_remove_all_the_time_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = os.dup(0)
    os.close(free)
    same = Module(os.path, samestat=lambda *_: False)
    monkeypatch.setattr(files, "os", Module(os, path=same))
    with pytest.raises(OutputExists, match="another run"), files.work_directory(tmp_path / "out"):
        pass
    again = os.dup(0)
    os.close(again)
    assert again == free


HOLDER = """
import sys
from pathlib import Path
from pyke.core import files
with files.work_directory(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_the_lock_of_another_process_ends_with_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(out)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"locked\n"
        with pytest.raises(OutputExists), files.work_directory(out):
            pass
        child.kill()
    with files.work_directory(out) as work:
        assert work.is_dir()


@pytest.mark.parametrize("call", ["open", "mkdir"])
def test_a_full_disk_is_reported_for_a_work_directory(call: str, tmp_path: Path) -> None:
    def work() -> None:
        with files.work_directory(tmp_path / "out"):
            pass

    with pytest.raises(WriteError, match="the disk is full"):
        inject(Faults(1 if call == "mkdir" else 2), work)


def test_removing_a_missing_path_is_not_an_error(tmp_path: Path) -> None:
    (tmp_path / "x" / "y").mkdir(parents=True)
    files.remove(tmp_path / "x")
    files.remove(tmp_path / "x")
    assert snapshot(tmp_path) == {}


def test_removing_works_for_files_directories_and_dead_links(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    for name in ("file", "folder"):
        files.remove(tmp_path / name)
    assert snapshot(tmp_path) == {}


def test_a_temporary_directory_is_named_after_the_program_and_removed() -> None:
    with files.temporary_directory() as path:
        assert path.is_dir()
        assert path.name.startswith("pyke-")
    assert not path.exists()


def test_a_temporary_text_is_read_back_and_replaces_invalid_utf8() -> None:
    with files.temporary_text() as file:
        os.write(file.fileno(), b"a\xffb")
        file.seek(0)
        assert file.read() == "a�b"


# -- Reading ----------------------------------------------------------------------------------


def test_read_ahead_yields_all_items_in_order() -> None:
    assert list(inputs.read_ahead(iter(range(1000)))) == list(range(1000))
    assert list(inputs.read_ahead(iter(()))) == []


@pytest.mark.parametrize(
    "error",
    [DataError("bad"), MemoryError(), KeyboardInterrupt()],
    ids=lambda error: type(error).__name__,
)
def test_read_ahead_raises_an_exception_after_the_items_before_it(
    error: BaseException,
) -> None:
    def produce() -> Iterator[int]:
        yield from range(10)
        raise error

    ahead = inputs.read_ahead(produce())
    assert [next(ahead) for _ in range(10)] == list(range(10))
    with pytest.raises(type(error)) as caught:
        next(ahead)
    assert caught.value is error
    assert not _threads()


def test_read_ahead_stops_its_thread_when_it_is_closed() -> None:
    produced: list[int] = []
    closed: list[bool] = []

    def produce() -> Iterator[int]:
        try:
            for i in itertools.count():
                produced.append(i)
                yield i
        finally:
            closed.append(True)

    ahead = inputs.read_ahead(produce(), depth=3)
    assert [next(ahead), next(ahead)] == [0, 1]
    assert _threads()
    ahead.close()  # type: ignore[attr-defined]
    assert not _threads()
    assert closed == [True]
    assert len(produced) <= 2 + 3 + 1  # taken, in the queue, and one that does not fit


def _threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "pyke-read-ahead"]


def test_an_input_counts_the_bytes_read_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"abcdef")
    with inputs.Input(str(path), None) as source:
        assert (source.size, source.consumed) == (6, 0)
        assert (source.read(4), source.consumed) == (b"abcd", 4)
        assert (source.read(), source.read(), source.consumed) == (b"ef", b"", 6)


def test_a_directory_or_a_missing_file_cannot_be_opened_as_input(tmp_path: Path) -> None:
    with pytest.raises(NoInput, match="is a directory"):
        inputs.Input(str(tmp_path), None)
    with pytest.raises(NoInput, match="No such file"):
        inputs.Input(str(tmp_path / "x"), None)


@pytest.mark.parametrize(
    ("name", "start", "kind"),
    [
        ("x.nt.gz", b"", ".gz"),
        ("X.NT.ZST", b"", ".zst"),
        ("x.nt", b"BZh9", ".bz2"),
        ("x.nt", b"\xfd7zXZ\x00", ".xz"),
        ("x.nt", b"<a:>", None),
        ("x.nt", b"", None),
    ],
)
def test_the_compression_is_detected_from_name_or_first_bytes(
    name: str, start: bytes, kind: str | None, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(start)
    assert inputs.compression_of(str(tmp_path / name)) == kind
    assert inputs.compression_of(str(tmp_path / "missing")) is None
