"""A distributed run has the bits of one machine, for any number of partitions."""

from __future__ import annotations

import errno
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyke
from graphs import GRAPHS, WAYS, as_text, crafts, graph_of, many, random_graph
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.embedding import store
from pyke.embedding.embedding import Embedding
from pyke.errors import (
    DamagedStore,
    EmptyGraph,
    Interrupted,
    NoInput,
    OutputExists,
    PykeError,
    SyntaxProblem,
    UsageError,
    WriteError,
)
from pyke.pipeline import Run, embed_graph
from pyke.pipeline.distributed import parts, simulation
from pyke.pipeline.distributed.directory import embed_with
from pyke.pipeline.partitions import layout, springs
from pyke.pipeline.partitions.executor import InProcess
from pyke.simulation import slabs
from pyke.springs import repellers

MEMORY = fsspec.filesystem("memory")
_names = count()


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few particles and parts of a few lines: small graphs have many of them."""
    for module in (layout, springs, simulation, slabs, repellers):
        monkeypatch.setattr(module, "BLOCK_ROWS", 4)
    monkeypatch.setattr(repellers, "POOL", 6)
    monkeypatch.setattr(parts, "MIN_BYTES", 100)


@pytest.fixture(autouse=True)
def _empty_memory() -> Iterator[None]:
    yield
    MEMORY.store.clear()
    MEMORY.pseudo_dirs[:] = [""]


def in_memory(*texts: str) -> list[str]:
    """URLs of N-Triples documents."""
    urls = [f"memory://in{next(_names)}/{number}.nt" for number, _ in enumerate(texts)]
    for url, text in zip(urls, texts, strict=True):
        MEMORY.pipe_file(url, text.encode())
    return urls


def embed(inputs: Sequence[str], partitions: int, config: Config, **options: Any) -> dict[str, Any]:
    """The content of an embedding that some partitions made, in memory."""
    output = f"memory://out{next(_names)}"
    manifest = embed_with(InProcess(), partitions, output, inputs, config, **options)
    found: dict[str, Any] = {"manifest": manifest}
    for path in MEMORY.find(output):
        name, data = path.rpartition("/")[2], MEMORY.cat_file(path)
        found[name] = np.load(io.BytesIO(data)) if name.endswith(".npy") else data
    return found


def assert_same(found: dict[str, Any], expected: Embedding) -> None:
    """All content is that of one machine."""
    arrays: dict[str, Any] = {
        "vectors.npy": expected.vectors,
        "term_offsets.npy": expected.terms.offsets,
        "types.npy": expected.types,
        "triples.npy": expected.triples,
        "labelled.npy": expected.labelled,
        "label_offsets.npy": expected.labels.offsets,
    }
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype, name
        assert np.array_equal(found[name], array), name
    assert found["terms.txt"] == expected.terms.blob.tobytes()
    assert found["labels.txt"] == expected.labels.blob.tobytes()
    for name in ("particles", "springs", "stop_reason", "history"):
        assert found["manifest"][name] == expected.manifest[name], name
    census = expected.manifest["census"]
    assert found["manifest"]["census"] == census | {"bytes": found["manifest"]["census"]["bytes"]}


@pytest.mark.usefixtures("small_blocks")
@many(120)
@given(GRAPHS, GRAPHS, st.integers(1, 5), st.sampled_from(WAYS), st.integers(0, 8))
def test_any_number_of_partitions_gives_the_bits_of_one_machine(
    first: Any, second: Any, partitions: int, way: dict[str, Any], wanted: int
) -> None:
    texts = [as_text(first), as_text(second)]
    config = Config(dimensions=3, k=4, repellers=wanted, threads=1, **way)
    try:
        expected = embed_graph(graph_of(*texts, **way), config)
    except EmptyGraph:
        with pytest.raises(EmptyGraph, match="nothing to embed in memory://"):
            embed(in_memory(*texts), partitions, config)
        return
    assert_same(embed(in_memory(*texts), partitions, config), expected)


@pytest.mark.usefixtures("small_blocks")
@many(60)
@given(GRAPHS, GRAPHS, st.integers(1, 5), st.sampled_from(WAYS))
def test_springs_of_pairs_have_the_bits_of_one_machine(
    first: Any, second: Any, partitions: int, way: dict[str, Any]
) -> None:
    texts = [as_text(first), as_text(second)]
    config = Config(dimensions=3, k=4, threads=1, similarity="ppmi", **way)
    try:
        expected = embed_graph(graph_of(*texts, **way), config)
    except EmptyGraph:
        return
    assert_same(embed(in_memory(*texts), partitions, config), expected)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    "settings",
    [
        {"preset": "paper"},
        {"preset": "clusters"},
        {"updates": "alternating"},
        {"updates": "stochastic"},
        {"mass": "unit", "rescale": True, "repulsion": "elementwise", "init": "uniform"},
        {"stop_when_j_rises": True},
        {"dimensions": 17, "seed": 5, "max_iterations": 3},
    ],
)
def test_other_settings_give_the_bits_of_one_machine(settings: dict[str, Any]) -> None:
    text = random_graph(400)
    preset = settings.get("preset", "default")
    changes = {name: value for name, value in settings.items() if name != "preset"}
    config = Config.preset(preset, **{"dimensions": 5, "threads": 1, **changes})
    expected = embed_graph(graph_of(text), config)
    assert_same(embed(in_memory(text), 3, config), expected)


def test_whole_blocks_give_the_bits_of_one_machine() -> None:
    text = random_graph(3000)
    config = Config(dimensions=8, threads=1)
    found = embed(in_memory(text), 4, config)
    assert_same(found, embed_graph(graph_of(text), config))
    used = found["manifest"]["cluster"]
    assert 0 < used["halo_bytes"] < used["all_gather_bytes"]


@pytest.mark.usefixtures("small_blocks")
def test_every_syntax_and_compression_is_read(tmp_path: Path) -> None:
    import gzip

    (tmp_path / "a.ttl").write_text(
        "@prefix e: <http://e/> . e:a e:p [ e:q e:b ] . [] e:p e:b . e:b e:p _:anon0 ."
    )
    (tmp_path / "b.nt.gz").write_bytes(gzip.compress(crafts(6).encode()))
    (tmp_path / "c.nq").write_text("_:x <e:p> _:y <e:g> .\n<e:a> <e:p> <e:b> <e:h> .\n")
    (tmp_path / "notes.txt").write_text("no RDF")
    config = Config(dimensions=4, threads=1)
    assert_same(embed([str(tmp_path)], 3, config), Run(str(tmp_path), config).embed())


@pytest.mark.usefixtures("small_blocks")
def test_a_problem_has_the_line_of_its_document() -> None:
    lines = crafts(10).splitlines(keepends=True)
    lines[20] = "<e:a> <e:p> e:b .\n"
    lines[40] = "<e:a> .\n"
    inputs = in_memory("<e:a> <e:p> <e:b> .\n", "".join(lines))
    with pytest.raises(SyntaxProblem, match=r"1\.nt:21: "):
        embed(inputs, 4, Config(threads=1))
    found = embed(inputs, 4, Config(threads=1, on_error="skip"))
    places = [one.split(": ")[0] for one in found["manifest"]["census"]["first_errors"]]
    assert [place.rpartition(":")[2] for place in places] == ["21", "41"]
    assert found["manifest"]["census"]["errors"] == 2


class _Stop(Progress):
    def iteration(self, number: int, *_: float) -> None:
        if number == 7:
            raise Interrupted(15)


@pytest.mark.usefixtures("small_blocks")
def test_a_stopped_run_continues_from_its_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    text = random_graph(300)
    inputs, output = in_memory(text), "memory://stopped"
    config = Config(dimensions=4, threads=1, checkpoint_seconds=0)
    with pytest.raises(Interrupted):
        embed_with(InProcess(), 3, output, inputs, config, progress=_Stop())
    steps: list[int] = []
    monkeypatch.setattr(simulation, "step", _recorded(simulation.step, steps))
    embed_with(InProcess(), 2, output, inputs, config, resume=True)
    assert steps == sorted([*range(6, len(steps) // 3 + 6)] * 3), "three partitions, from the sixth"
    vectors = np.load(io.BytesIO(MEMORY.cat_file(f"{output}/vectors.npy")))
    assert np.array_equal(vectors, embed_graph(graph_of(text), config).vectors)
    assert not MEMORY.exists("memory://.stopped.pyke")


def _recorded(step: Any, calls: list[int]) -> Any:
    def record(job: Any, partition: Any, state: Any, iteration: int, *rest: Any) -> Any:
        calls.append(iteration)
        return step(job, partition, state, iteration, *rest)

    return record


@pytest.mark.usefixtures("small_blocks")
def test_other_settings_do_not_continue_a_run() -> None:
    inputs, output = in_memory(random_graph(300)), "memory://stopped"
    config = Config(dimensions=4, threads=1)
    with pytest.raises(Interrupted):
        embed_with(InProcess(), 3, output, inputs, config, progress=_Stop())
    other = Config(dimensions=5, threads=1)
    with pytest.raises(UsageError, match="dimensions was 4 and is now 5"):
        embed_with(InProcess(), 3, output, inputs, other, resume=True)


def test_the_output_is_an_embedding_directory(tmp_path: Path) -> None:
    output, text = tmp_path / "out", crafts()
    embed_with(InProcess(), 2, output, in_memory(text), config := Config(dimensions=5, threads=1))
    store.verify(output)
    assert np.array_equal(pyke.load(output).vectors, embed_graph(graph_of(text), config).vectors)
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "nothing else is left"
    with pytest.raises(OutputExists):
        embed_with(InProcess(), 2, output, in_memory(text), config)


def test_a_remote_output_is_sealed_and_not_replaced_unasked() -> None:
    inputs, config = in_memory(crafts()), Config(dimensions=5, threads=1)
    embed_with(InProcess(), 2, "memory://sealed", inputs, config)
    manifest = json.loads(MEMORY.cat_file("memory://sealed/manifest.json"))
    for name, entry in manifest["files"].items():
        assert MEMORY.size(f"memory://sealed/{name}") == entry["bytes"]
    assert (manifest["format"], len(manifest["sha256"])) == ("pyke-embedding", 64)
    with pytest.raises(OutputExists, match="memory://sealed exists"):
        embed_with(InProcess(), 2, "memory://sealed", inputs, config)
    embed_with(InProcess(), 2, "memory://sealed", inputs, config, force=True)


class _At(Progress):
    """Does something when a stage starts."""

    def __init__(self, name: str, action: Callable[[], Any]) -> None:
        self._name, self._action = name, action

    def stage(self, name: str, *_: Any) -> None:
        if name == self._name:
            self._action()


def test_storage_that_vanishes_is_an_error() -> None:
    def vanish() -> None:
        MEMORY.rm("/.gone.pyke", recursive=True)

    config, inputs = Config(dimensions=4, threads=1), in_memory(crafts())
    with pytest.raises(NoInput, match=r"cannot read memory://.gone.pyke/.*it does not exist"):
        embed_with(InProcess(), 2, "memory://gone", inputs, config, progress=_At("springs", vanish))


def test_a_damaged_piece_is_an_error() -> None:
    def damage() -> None:
        data = bytearray(MEMORY.cat_file("/.hurt.pyke/arrange/0"))
        data[-100] ^= 1
        MEMORY.pipe_file("/.hurt.pyke/arrange/0", bytes(data))

    config, inputs = Config(dimensions=4, threads=1), in_memory(crafts())
    with pytest.raises(DamagedStore, match=r"arrange/0 does not match its checksum"):
        embed_with(InProcess(), 1, "memory://hurt", inputs, config, progress=_At("springs", damage))


def test_nobody_asks_for_an_empty_range(monkeypatch: pytest.MonkeyPatch) -> None:
    cat_file = type(MEMORY).cat_file

    def like_s3(system: Any, path: str, start: int = 0, end: int = 1, **options: Any) -> Any:
        """S3 ignores an empty range and sends the whole file."""
        return cat_file(system, path, *((start, end) if start < end else (0, None)), **options)

    inputs, config = in_memory(crafts()), Config(dimensions=4, threads=1)
    monkeypatch.setattr(type(MEMORY), "cat_file", like_s3)
    embed_with(InProcess(), 3, "memory://ranges", inputs, config)


def test_a_full_disk_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    config, inputs = Config(dimensions=4, threads=1), in_memory(crafts())
    full = _At("springs", lambda: monkeypatch.setattr(type(MEMORY), "open", no_space))
    with pytest.raises(WriteError, match=r"cannot write memory://.full.pyke/.*No space left"):
        embed_with(InProcess(), 2, "memory://full", inputs, config, progress=full)


@pytest.mark.parametrize(
    ("inputs", "settings", "error", "message"),
    [
        ("-", {}, UsageError, "cannot read standard input"),
        ("memory://nowhere.nt", {}, NoInput, "cannot read memory://nowhere.nt"),
        ("unknown://a.nt", {}, UsageError, "cannot use unknown://a.nt"),
        ("examples/father.ttl", {"clusters": 3}, UsageError, "`clusters=3`"),
        ("examples/father.ttl", {"init": "svd"}, UsageError, "`init='svd'`"),
        ("examples/father.ttl", {"literals": "words"}, UsageError, "`literals='words'`"),
        ("examples/father.ttl", {"type_weight": 8.0}, UsageError, "`type_weight=8.0`"),
    ],
)
def test_what_workers_cannot_do_is_refused(
    inputs: str, settings: dict[str, Any], error: type[PykeError], message: str
) -> None:
    with pytest.raises(error, match=message):
        embed_with(InProcess(), 2, "memory://refused", inputs, Config(**settings))
