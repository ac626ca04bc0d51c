"""An interrupted reading resumes in the middle of its inputs, to the same bits."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyke
from forge import forge, forge_array
from graphs import random_graph
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.errors import Interrupted
from pyke.pipeline import embed_to
from pyke.pipeline.reading import Reading
from pyke.read import lines, tokenize
from pyke.read.tokenize import Place

TURTLE = """@prefix : <http://example.com/> .
:turtle :knows [ :name "anonymous" ] , :other . _:b0 :knows :turtle ; :age 7 .
"""


class Crash(BaseException):
    """The end of a process, as far as the code that runs can see."""


class StopReading(Progress):
    """Stops a run after some steps of reading."""

    def __init__(self, after: int, error: BaseException) -> None:
        self._left, self._error = after, error

    def advance(self, done: int) -> None:
        self._left -= 1
        if self._left == 0:
            raise self._error


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK_SIZE", 1500)


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


CONFIG = Config(
    dimensions=4, on_error="skip", literals="values,words,numbers", checkpoint_seconds=0
)


def whole(folder: Path) -> pyke.Embedding:
    settings: dict[str, Any] = {
        "dimensions": 4,
        "on_error": "skip",
        "literals": "values,words,numbers",
    }
    return pyke.embed(folder, **settings)


def same(first: pyke.Embedding, second: pyke.Embedding) -> bool:
    """Whether two runs made the same vectors, terms, labels and counts."""
    return all(
        (
            first.vectors.tobytes() == second.vectors.tobytes(),
            list(first.terms) == list(second.terms),
            [first.label(term) for term in first.terms]
            == [second.label(term) for term in second.terms],
            first.manifest["census"] == second.manifest["census"],
        )
    )


@pytest.mark.parametrize("error", [Interrupted(2), Crash()], ids=["signal", "crash"])
@pytest.mark.parametrize("after", [1, 2, 5, 9, 12])
def test_reading_resumes_to_the_same_bits(
    after: int,
    error: BaseException,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "out"
    with pytest.raises(type(error)):
        embed_to(out, folder, CONFIG, progress=StopReading(after, error))
    starts: list[Place | None] = []
    usual = tokenize.read_batches

    def read_batches(*arguments: Any) -> Any:
        starts.append(arguments[5])
        return usual(*arguments)

    monkeypatch.setattr(tokenize, "read_batches", read_batches)
    resumed = embed_to(out, folder, CONFIG, resume=True)
    (start,) = starts
    assert start, "it does not start again"
    assert (start.document, start.text) > (0, 0)
    assert same(resumed, whole(folder))


def test_a_run_that_is_interrupted_several_times_resumes_each_time(
    folder: Path, tmp_path: Path
) -> None:
    for _ in range(4):
        with pytest.raises(Interrupted):
            embed_to(
                tmp_path / "out", folder, CONFIG, resume=True,
                progress=StopReading(2, Interrupted(15)),
            )  # fmt: skip
    assert same(embed_to(tmp_path / "out", folder, CONFIG, resume=True), whole(folder))


def test_a_signal_in_a_document_that_cannot_be_cut_keeps_the_documents_before(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "graphs"
    folder.mkdir()
    (folder / "a.nt").write_text(random_graph(50))
    (folder / "b.ttl").write_text(random_graph(400))
    config = Config(dimensions=4)

    class StopInTurtle(Progress):
        def advance(self, done: int) -> None:
            if done > (folder / "a.nt").stat().st_size:
                raise Interrupted(2)

    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", folder, config, progress=StopInTurtle())
    resumed = embed_to(tmp_path / "out", folder, config, resume=True)
    assert same(resumed, pyke.embed(folder, dimensions=4))


def test_short_runs_write_no_checkpoint_of_reading(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reading, "save", None)
    embed_to(tmp_path / "out", folder, Config(dimensions=4, on_error="skip"))


def test_the_graph_replaces_what_was_read(folder: Path, tmp_path: Path) -> None:
    class StopLater(Progress):
        def iteration(self, *_: Any) -> None:
            raise Interrupted(2)

    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", folder, CONFIG, progress=StopLater())
    assert (tmp_path / ".out.pyke" / "graph").is_dir()
    assert not list((tmp_path / ".out.pyke").glob("reading*"))


def test_parts_after_a_damaged_one_are_not_used(folder: Path, tmp_path: Path) -> None:
    for damaged in (1, 0):
        with pytest.raises(Interrupted):
            embed_to(
                tmp_path / "out", folder, CONFIG, resume=True,
                progress=StopReading(5, Interrupted(15)),
            )  # fmt: skip
        parts = tmp_path / ".out.pyke"
        assert len(list(parts.glob("reading-*"))) > 2
        (parts / f"reading-{damaged}" / "triples.npy").write_bytes(b"damaged")
    assert same(embed_to(tmp_path / "out", folder, CONFIG, resume=True), whole(folder))


def changed(array: Any, place: Any, value: Any) -> Any:
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("triples", lambda a: changed(a, (0, 2), 10**6)),
        ("triples", lambda a: changed(a, (0, 0), -1)),
        ("triples", lambda a: a[:, :2].copy()),
        ("literals", lambda a: changed(a, (0, 1), 10**6)),
        ("literal_keys", lambda a: a[1:]),
        ("hashes", lambda a: a[1:]),
        ("offsets", lambda a: changed(a, 1, 10**9)),
        ("blob", lambda a: a[1:]),
        ("labels", lambda a: changed(a, (0, 0), 10**6)),
        ("labels", lambda a: changed(a, (0, 2), 10**9)),
        ("subjects", lambda a: changed(a, 0, 10**6)),
        ("keys", lambda a: a[1:]),
        ("number_subjects", lambda a: changed(a, 0, -5)),
        ("values", lambda a: changed(a, 0, np.nan)),
        ("groups", lambda a: a[1:]),
    ],
)
def test_a_forged_checkpoint_of_reading_is_ignored(
    name: str, change: Callable[[Any], Any], folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", folder, CONFIG, progress=StopReading(9, Interrupted(2)))
    parts = sorted((tmp_path / ".out.pyke").glob("reading-*"))
    assert len(parts) > 1
    file = next(f for part in parts if len(np.load(f := part / f"{name}.npy")))
    forge_array(file, change(np.load(file)))
    assert same(embed_to(tmp_path / "out", folder, CONFIG, resume=True), whole(folder))


@pytest.mark.parametrize("change", [{"seed": 2**64}, {"text": -1}, {"text": 1.5}, {"other": 1}])
def test_a_forged_place_is_ignored(change: dict[str, Any], folder: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", folder, CONFIG, progress=StopReading(9, Interrupted(2)))
    path = tmp_path / ".out.pyke" / "reading-1"
    place = {"seed": 1, "document": 0, "text": 0, "lines": 0, "done": 0}
    forge(path, place=place | change)
    assert same(embed_to(tmp_path / "out", folder, CONFIG, resume=True), whole(folder))
