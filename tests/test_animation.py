"""Films: every iteration from the start to the embedding itself, in files that others can play."""

from __future__ import annotations

import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import pyke as package
from browser import Browser, needs_chromium
from conftest import Command
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import UsageError
from pyke.simulation import anneal
from pyke.use.maps import drawing, figure
from pyke.use.maps import film as film_module
from pyke.use.maps.drawing import View
from pyke.use.neighbours import search

ALL = np.arange(79, dtype=np.int32)


@pytest.fixture(scope="module")
def embedding(typed: Path) -> Embedding:
    return package.embed(typed, dimensions=8, seed=3)


def test_a_film_begins_at_the_random_start_and_ends_at_the_embedding(embedding: Embedding) -> None:
    numbers, frames = film_module.film(embedding, View(), ALL, Progress())
    axes = search.principal_axes(embedding.vectors, 2)
    start = anneal.random_start(len(embedding), embedding.config())[:, :8]
    assert numbers == list(range(len(embedding.manifest["history"]) + 1))
    assert frames.shape == (len(numbers), 79, 2)
    assert np.array_equal(frames[0], search.project_on(start, *axes))
    assert np.array_equal(frames[-1], search.project_on(embedding.vectors, *axes))
    assert all(not np.array_equal(a, b) for a, b in pairwise(frames))


def test_of_a_long_run_some_iterations_are_kept_and_the_last(
    embedding: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    every, all_frames = film_module.film(embedding, View(), ALL, Progress())
    monkeypatch.setattr(film_module, "MOST_FRAMES", 10)
    numbers, frames = film_module.film(embedding, View(), ALL, Progress())
    assert numbers == [*range(0, every[-1], 3), every[-1]]
    assert np.array_equal(frames, all_frames[numbers])


def test_pictures_between_iterations_are_between_them() -> None:
    frames = np.array([[[0, 0]], [[3, 6]]], np.float32)
    between, captions = film_module._in_between(frames, [0, 5])
    assert np.allclose(between[:, 0], [[0, 0], [1, 2], [2, 4], [3, 6]])
    assert captions == ["iteration 0 of 5"] * 2 + ["iteration 5 of 5"] * 2
    assert film_module._times_shown(4) == [1 + 12, 1, 1, 1 + 30]


def test_a_gif_moves_and_goes_round(
    embedding: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(film_module, "PICTURES_PER_FRAME", 1)
    drawn = embedding.plot(tmp_path / "film.gif", animate=True, sample=40)
    assert (drawn.points, drawn.left_out) == (40, 39)
    film: Any
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames >= len(embedding.manifest["history"])
        assert film.info["loop"] == 0
        pictures = []
        for frame in (0, film.n_frames - 1):
            film.seek(frame)
            pictures.append(np.asarray(film.convert("RGB")))
    assert (pictures[0] != pictures[1]).any(axis=2).mean() > 0.005
    assert pictures[1][5, -5].tolist() == [255, 255, 255]


def test_a_film_has_two_thousand_points_unless_told(
    embedding: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(film_module, "SAMPLE", 20)
    assert embedding.plot(tmp_path / "a.html", animate=True).points == 20
    assert embedding.plot(tmp_path / "b.html", animate=True, sample=50).points == 50


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-o", "film.png"], 2, "gif, mp4, html"),
        (["-o", "film.gif", "--before-and-after"], 2, "all between"),
        (["-o", "film.gif", "--method", "pyke"], 2, "leave --method out"),
        (["-o", "film.mp4"], 2, "ffmpeg, which is not installed"),
        (["-o", "film.gif", "--highlight", "http://e/hermit"], 2, "leave --highlight"),
        (["-o", "film.gif", "--label", "http://e/hermit"], 2, "leave --highlight"),
        (["-o", "film.mp4", "--labels", "3"], 2, "leave --highlight"),
        (["-o", "film.gif", "--dpi", "200"], 2, "png, svg, pdf"),
    ],
)
def test_what_cannot_be_filmed_is_told(
    pyke: Command,
    embedding: Embedding,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    embedding.save(tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = pyke("plot", tmp_path / "out", "--animate", *arguments)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_more_points_than_are_drawn_one_by_one_are_refused_before_the_work(
    embedding: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure, "POINTS_UP_TO", 40)
    monkeypatch.setattr(film_module, "film", None)  # the work
    with pytest.raises(UsageError, match="not 50; lower --sample"):
        embedding.plot(tmp_path / "film.gif", animate=True, sample=50)


def test_a_page_of_a_film_says_how_many_terms_are_in_it(
    embedding: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "NAMED_UP_TO", 30)
    drawn = embedding.plot(tmp_path / "film.html", animate=True)
    assert (drawn.points, drawn.named) == (79, 30)
    assert "The terms of 30 points" in " ".join(drawn.notes())


def test_an_updated_embedding_is_not_filmed(embedding: Embedding, tmp_path: Path) -> None:
    """A run from the start would end somewhere else."""
    with pytest.raises(UsageError, match="was updated"):
        embedding.update(np.array([["http://e/new", "http://e/uses", "http://e/hermit"]])).plot(
            tmp_path / "film.html", animate=True
        )


@pytest.mark.skipif(
    not shutil.which("ffmpeg"), reason="no ffmpeg here; on Debian: apt-get install ffmpeg"
)
def test_an_mp4_has_all_pictures(embedding: Embedding, tmp_path: Path) -> None:
    embedding.plot(tmp_path / "film.mp4", animate=True, sample=40)
    decoded = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", tmp_path / "film.mp4", "-f", "framemd5", "-"],
        capture_output=True,
        text=True,
        check=True,
    )
    pictures = [line for line in decoded.stdout.splitlines() if not line.startswith("#")]
    assert len(pictures) == sum(
        film_module._times_shown(
            film_module.PICTURES_PER_FRAME * len(embedding.manifest["history"]) + 1
        )
    )


@needs_chromium
def test_a_page_plays_the_film(
    embedding: Embedding, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    embedding.plot(tmp_path / "film.html", animate=True)
    _, frames = film_module.film(
        embedding, View(), drawing.choose(embedding, View(sample=2000)).ids, Progress()
    )
    page = Browser(tmp_path_factory.mktemp("profile"))
    try:
        page.open(tmp_path / "film.html")
        assert page.run("[...flat.slice(0, 10)]") == pytest.approx(frames[-1].ravel()[:10].tolist())
        page.run("element('frame').value = 1.5; element('frame').dispatchEvent(new Event('input'))")
        assert page.run("[...flat.slice(0, 10)]") == pytest.approx(
            ((frames[1] + frames[2]) / 2).ravel()[:10].tolist(), rel=1e-4, abs=1e-5
        )
        page.run(
            "element('frame').value = frames - 1.3; element('frame').dispatchEvent(new Event('input')); element('play').click()"
        )
        page.wait("element('play').textContent === 'Play'")
        assert page.run("view.frame === frames - 1 && element('when').textContent") == str(
            len(frames) - 1
        )
        assert page.errors == []
    finally:
        page.close()
