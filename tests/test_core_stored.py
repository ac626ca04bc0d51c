"""Reading stored directories: manifests, mapped files, arrays and checksums."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forge import npy
from pyke.core import stored, system
from pyke.core.files import write_directory
from pyke.core.stored import MANIFEST, StoredFile, StoredRows, read_manifest, seal
from pyke.errors import DamagedStore

ENTRY = {"bytes": 3, "sha256": hashlib.sha256(b"abc").hexdigest()}


def bad(message: str) -> Any:
    """Expect an error with exactly this message."""
    return pytest.raises(DamagedStore, match=f"^{re.escape(message)}$")


def write(directory: Path, manifest: Any) -> Path:
    path = directory / MANIFEST
    path.write_bytes(manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode())
    return path


# -- manifests --------------------------------------------------------------------------------


def test_a_sealed_manifest_is_json_with_its_checksum_last() -> None:
    text = seal({"sha256": "an old one", "files": {}, "name": "é", "zeros": "0" * 64}).decode()
    assert text.startswith('{\n "files": {},\n "name": "é",\n "zeros": "000')
    assert text.endswith('"\n}\n')
    checksum = json.loads(text)["sha256"]
    unsealed = text.replace(checksum, "0" * 64)
    assert hashlib.sha256(unsealed.encode()).hexdigest() == checksum


def test_a_sealed_manifest_is_read_back(tmp_path: Path) -> None:
    manifest = {"files": {"a.npy": ENTRY}, "name": os.fsdecode(b"\xfc")}
    write(tmp_path, seal(manifest))
    found = read_manifest(tmp_path)
    assert found | {"sha256": 0} == manifest | {"sha256": 0}


def test_a_number_that_json_does_not_have_is_not_sealed() -> None:
    with pytest.raises(ValueError, match="JSON"):
        seal({"x": float("nan")})


@pytest.mark.parametrize("checksum", ["0" * 64, "", "x", "\udcfc", 7, None, True])
def test_a_manifest_with_another_checksum_is_refused(tmp_path: Path, checksum: object) -> None:
    path = write(tmp_path, {"files": {}, "sha256": checksum})
    with bad(f"{path} does not match its checksum. {stored._ADVICE}"):
        read_manifest(tmp_path)


def test_the_advice_of_an_error_is_a_sentence(tmp_path: Path) -> None:
    write(tmp_path, {"files": {}, "sha256": "x"})
    with pytest.raises(DamagedStore, match=r"\. Copy the directory again, or embed the graph "):
        read_manifest(tmp_path)


def test_a_manifest_has_a_limit_of_64_mib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stored.MAX_MANIFEST_BYTES == 2**26
    path = write(tmp_path, {"files": {}})
    size = path.stat().st_size
    monkeypatch.setattr(stored, "MAX_MANIFEST_BYTES", size)
    assert read_manifest(tmp_path) == {"files": {}}
    monkeypatch.setattr(stored, "MAX_MANIFEST_BYTES", size - 1)
    with bad(f"{path} is too large for a manifest"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 100_000])
def test_a_manifest_that_is_not_json_is_refused(tmp_path: Path, text: bytes) -> None:
    path = write(tmp_path, text)
    with bad(f"{path} is not JSON"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("manifest", [[], 7, {}, {"files": []}, {"files": None}, ["files"]])
def test_a_manifest_without_files_is_refused(tmp_path: Path, manifest: object) -> None:
    path = write(tmp_path, manifest)
    with bad(f"{path} is not a manifest: it lists no files"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("name", ["a", "7", "Z_.-9", "a" * 100])
def test_plain_names_of_files_are_valid(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"files": {name: ENTRY}})
    assert list(read_manifest(tmp_path)["files"]) == [name]


@pytest.mark.parametrize("name", ["", ".a", "-a", "_a", "a/b", "..", "a\n", "é", "a" * 101])
def test_other_names_of_files_are_refused(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, {"files": {"a": ENTRY, name: ENTRY}})
    with bad(f"{path} does not describe {name!r}"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    "entry",
    [None, [], {}, {"bytes": 3}, {"sha256": ""}, *({**ENTRY, "bytes": n} for n in (True, 3.0))],
    ids=str,
)
def test_an_entry_without_size_or_checksum_is_refused(tmp_path: Path, entry: object) -> None:
    path = write(tmp_path, {"files": {"a": entry}})
    with bad(f"{path} does not describe 'a'"):
        read_manifest(tmp_path)


# -- files ------------------------------------------------------------------------------------


def opened(directory: Path, content: bytes, **entry: object) -> StoredFile:
    """A stored file with this content; its entry is valid except for the given parts."""
    (directory / "a").write_bytes(content)
    valid = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return StoredFile.open(directory, "a", {"files": {"a": valid | entry}})


@pytest.mark.parametrize("content", [b"", b"abc"])
def test_a_file_is_mapped_read_only(tmp_path: Path, content: bytes) -> None:
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    file = opened(tmp_path, content)
    assert file.content.tobytes() == content
    assert not file.content.flags.writeable
    assert not file.is_link
    file.check_sum(always=True)
    del file
    assert not before or len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("size", [2, 4, 0])
def test_a_file_of_another_size_is_refused(tmp_path: Path, size: int) -> None:
    with bad(f"{tmp_path / 'a'} has 3 bytes instead of {size}"):
        opened(tmp_path, b"abc", bytes=size)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with bad(f"{tmp_path / 'a'} is missing"):
        StoredFile.open(tmp_path, "a", {"files": {"a": ENTRY}})


def test_a_file_that_cannot_be_opened_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    with bad(f"cannot read {tmp_path / 'a'}: {os.strerror(40)}"):
        StoredFile.open(tmp_path, "a", {"files": {"a": ENTRY}})


def test_only_a_regular_file_is_opened_and_others_are_closed_again(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    free = os.dup(0)
    os.close(free)
    with bad(f"{tmp_path / 'a'} is not a regular file"):
        stored.open_regular(tmp_path / "a")
    again = os.dup(0)
    os.close(again)
    assert again == free


def test_programs_that_are_started_do_not_get_the_descriptor(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    descriptor = stored.open_regular(tmp_path / "a")
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)


# -- checksums --------------------------------------------------------------------------------


def test_the_content_must_match_its_checksum(tmp_path: Path) -> None:
    file = opened(tmp_path, b"abc", sha256="x")
    with bad(
        f"{tmp_path / 'a'}: the content does not match the checksum in manifest.json. "
        "Copy the directory again, or embed the graph again."
    ):
        file.check_sum()


def test_only_the_checksums_of_large_files_are_left_to_verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stored.MAX_HASHED == 2**23
    monkeypatch.setattr(stored, "MAX_HASHED", 3)
    large, small = opened(tmp_path, b"abcd", sha256="x"), opened(tmp_path, b"abc", sha256="x")
    large.check_sum()
    for file, always in ((large, True), (small, False), (small, True)):
        with pytest.raises(DamagedStore):
            file.check_sum(always)


def test_the_checksum_of_a_link_is_always_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "MAX_HASHED", 0)
    (tmp_path / "b").write_bytes(b"abc")
    (tmp_path / "a").symlink_to("b")
    file = StoredFile.open(tmp_path, "a", {"files": {"a": ENTRY | {"sha256": "x"}}})
    assert file.is_link
    with pytest.raises(DamagedStore):
        file.check_sum()


# -- arrays -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("array", "columns"),
    [
        (np.arange(6, dtype=np.int32), None),
        (np.arange(6, dtype=np.int32).reshape(3, 2), 2),
        (np.arange(6, dtype=np.int32).reshape(2, 3), 0),
        (np.zeros((0, 2), np.int32), 2),
        (np.zeros(0, np.int32), None),
    ],
)
def test_an_array_is_read_back(tmp_path: Path, array: Any, columns: int | None) -> None:
    np.save(tmp_path / "a.npy", array)
    found = opened(tmp_path, (tmp_path / "a.npy").read_bytes()).array((("<f4", "<i4"), columns))
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    ("types", "columns"),
    [(("<i4",), None), (("<i4",), 1), (("<i4",), 3), (("<f4", "<i8"), 2)],
)
def test_an_array_of_another_kind_is_refused(
    tmp_path: Path, types: tuple[str, ...], columns: int | None
) -> None:
    file = opened(tmp_path, npy("'<i4'", False, "(3, 2)", bytes(24)))
    with bad(f"{tmp_path / 'a'} has the wrong type or shape: <i4, (3, 2)"):
        file.array((types, columns))


def test_an_array_of_one_axis_is_no_table(tmp_path: Path) -> None:
    file = opened(tmp_path, npy("'<i4'", False, "(6,)", bytes(24)))
    for columns in (0, 1):
        with bad(f"{tmp_path / 'a'} has the wrong type or shape: <i4, (6,)"):
            file.array((("<i4",), columns))


@pytest.mark.parametrize("size", [0, 23, 25, 20, 28])
def test_an_array_has_as_many_bytes_as_its_header_says(tmp_path: Path, size: int) -> None:
    file = opened(tmp_path, npy("'<i4'", False, "(3, 2)", bytes(size)))
    with bad(f"{tmp_path / 'a'} does not have as many rows as its header says"):
        file.array((("<i4",), 2))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"x" + npy("'<i4'", False, "(3, 2)", bytes(24)),
        npy("'<i4'", True, "(3, 2)", bytes(24)),
        npy("'>i4'", False, "(3, 2)", bytes(24)),
        npy("'<i4'", False, "(3, 2, 1)", bytes(24)),
        npy("'<i4'", False, "(3, 2)", bytes(24), padding=1),
        npy("'<i4'", False, "(3, 2)", bytes(24), padding=640),
        npy("'<i4'", False, "(3, 2)", bytes(24)).replace(b" }", b"} ", 1),
        npy("'<i4'", False, "(3, 2)", bytes(24)).replace(b"\x01\x00", b"\x02\x00", 1),
    ],
)
def test_other_headers_than_those_of_plain_arrays_are_refused(
    tmp_path: Path, content: bytes
) -> None:
    with bad(f"{tmp_path / 'a'} is not a plain array in NumPy's format"):
        opened(tmp_path, content).array((("<i4",), 2))


def test_the_numbers_of_an_array_are_aligned(tmp_path: Path) -> None:
    content = npy("'<i4'", False, "(3, 2)", bytes(24), padding=64)
    assert opened(tmp_path, content).array((("<i4",), 2)).shape == (3, 2)
    one = content[:8] + (int.from_bytes(content[8:10], "little") + 1).to_bytes(2, "little")
    moved = one + content[10:].replace(b"\n", b" \n", 1)
    with pytest.raises(DamagedStore, match="is not a plain array"):
        opened(tmp_path, moved).array((("<i4",), 2))


def test_rows_of_a_file_do_not_stay_in_memory(tmp_path: Path) -> None:
    values = np.arange(16_000_000, dtype=np.float32).reshape(-1, 16)
    write_directory(tmp_path / "out", {"x.npy": values}, {})
    file = StoredFile.open(tmp_path / "out", "x.npy", read_manifest(tmp_path / "out"))
    file.check_sum(always=True)
    rows = StoredRows(file, (("<f4",), 0))
    assert rows.shape == values.shape
    before = system.resident_bytes()
    for begin in range(0, len(values), 100_000):
        assert (rows[begin : begin + 100_000] == values[begin : begin + 100_000]).all()
    if system.is_linux():
        assert system.resident_bytes() - before < 32_000_000
