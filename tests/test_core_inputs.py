"""Decompressing inputs: every damaged file is an error, in linear time."""

from __future__ import annotations

import threading
import time
import zlib
from pathlib import Path

import pytest

from documents import PACK
from pyke.core import inputs
from pyke.errors import DataError, PykeError

PACKED = [suffix for suffix in PACK if suffix]
LINE = b"<a:> <b:> <c:> .\n" * 1000


def unpacked(folder: Path, suffix: str, content: bytes) -> bytes:
    path = folder / f"x{suffix}"
    path.write_bytes(content)
    with inputs.Input(str(path), suffix) as source:
        return b"".join(iter(lambda: source.read(1 << 12), b""))


@pytest.mark.parametrize("suffix", PACKED)
def test_concatenated_streams_are_read_to_the_end(suffix: str, tmp_path: Path) -> None:
    pack = PACK[suffix]
    assert unpacked(tmp_path, suffix, pack(LINE) + pack(b"") + pack(b"x") + pack(LINE)) == (
        LINE + b"x" + LINE
    )


@pytest.mark.parametrize("suffix", PACKED)
def test_every_flipped_bit_of_a_second_header_is_an_error(suffix: str, tmp_path: Path) -> None:
    first, second = PACK[suffix](LINE), PACK[suffix](LINE[:170])
    identifying = {".gz": 3, ".bz2": 10, ".xz": 12, ".zst": 4}[suffix]  # bytes
    for bit in range(8 * identifying):
        damaged = bytearray(second)
        damaged[bit // 8] ^= 1 << bit % 8
        if suffix == ".bz2" and bit // 8 == 3 and 49 <= damaged[3] <= 57:
            continue  # another valid size of blocks
        with pytest.raises(DataError, match=f"x{suffix}"):
            unpacked(tmp_path, suffix, first + damaged)


@pytest.mark.parametrize("suffix", PACKED)
def test_a_compressed_file_without_a_complete_stream_is_an_error(
    suffix: str, tmp_path: Path
) -> None:
    packed = PACK[suffix](LINE)
    for content in (b"", packed[:1], packed[:-1], packed + packed[:1], packed + packed[:-1]):
        with pytest.raises(DataError, match="is incomplete"):
            unpacked(tmp_path, suffix, content)


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("garbage", [b"x", b"garbage" * 9, b"\n", LINE, b"\0" * 512 + b"x"])
def test_data_after_the_last_stream_is_an_error(
    suffix: str, garbage: bytes, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=f"x{suffix}"):
        unpacked(tmp_path, suffix, PACK[suffix](LINE) + garbage)


@pytest.mark.parametrize("suffix", PACKED)
def test_zeros_after_a_stream_are_padding_where_the_tools_accept_them(
    suffix: str, tmp_path: Path
) -> None:
    packed, zeros = PACK[suffix](LINE), bytes(100_000)
    if suffix in (".gz", ".xz"):
        assert unpacked(tmp_path, suffix, packed + zeros + packed + zeros) == 2 * LINE
    else:
        with pytest.raises(DataError):
            unpacked(tmp_path, suffix, packed + zeros)


def test_skippable_frames_of_zstandard_are_skipped(tmp_path: Path) -> None:
    skippable = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"notes"
    packed = PACK[".zst"](LINE)
    content = skippable + packed + skippable + packed + skippable
    assert unpacked(tmp_path, ".zst", content) == 2 * LINE


def test_an_xz_file_cannot_ask_for_gigabytes(tmp_path: Path) -> None:
    packed = bytearray(PACK[".xz"](LINE))
    assert packed[12:16] == b"\x02\x00\x21\x01", "the header of a block with one LZMA2 filter"
    packed[16] = 37  # a dictionary of 1.5 GiB
    packed[20:24] = zlib.crc32(packed[12:20]).to_bytes(4, "little")
    with pytest.raises(DataError, match="Memory usage limit"):
        unpacked(tmp_path, ".xz", bytes(packed))


@pytest.mark.parametrize("suffix", PACKED)
def test_time_to_decompress_is_linear(suffix: str, tmp_path: Path) -> None:
    """A small block that decompresses to many megabytes is not copied for every read."""
    packed = PACK[suffix](bytes(24 << 20))
    began = time.process_time()
    assert len(unpacked(tmp_path, suffix, packed)) == 24 << 20
    assert time.process_time() - began < 2


def test_a_reading_thread_that_ends_before_it_begins_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Ending(threading.Thread):
        def run(self) -> None:
            pass

    monkeypatch.setattr(threading, "Thread", Ending)
    with pytest.raises(PykeError, match="the thread that reads the input ended unexpectedly"):
        list(inputs.read_ahead(iter([b"x"])))
