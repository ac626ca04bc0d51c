"""Animations: every iteration from the start to the embedding, in files that play elsewhere."""

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
from graphs import Recorded
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import UsageError
from pyke.simulation import anneal
from pyke.use.maps import View, animation, points, web_page
from pyke.use.maps.selection import choose
from pyke.use.neighbours import search

ALL = np.arange(79, dtype=np.int32)


@pytest.fixture(scope="module")
def embedding(typed: Path) -> Embedding:
    return package.embed(typed, dimensions=8, seed=3)


def test_an_animation_starts_at_the_random_start_and_ends_at_the_embedding(
    embedding: Embedding,
) -> None:
    numbers, frames = animation.simulated_frames(embedding, View(), ALL, Progress())
    axes = search.principal_axes(embedding.vectors, 2)
    start = anneal.random_start(len(embedding), embedding.config())[:, :8]
    assert numbers == list(range(len(embedding.manifest["history"]) + 1))
    assert frames.shape == (len(numbers), 79, 2)
    assert np.array_equal(frames[0], search.project_on(start, *axes))
    assert np.array_equal(frames[-1], search.project_on(embedding.vectors, *axes))
    assert all(not np.array_equal(a, b) for a, b in pairwise(frames))


def test_a_long_simulation_keeps_some_iterations_and_the_last(
    embedding: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    every, all_frames = animation.simulated_frames(embedding, View(), ALL, Progress())
    monkeypatch.setattr(animation, "MAX_FRAMES", 10)
    numbers, frames = animation.simulated_frames(embedding, View(), ALL, Progress())
    assert numbers == [*range(0, every[-1], 3), every[-1]]
    assert np.array_equal(frames, all_frames[numbers])


def test_pictures_between_iterations_are_interpolated() -> None:
    frames = np.array([[[0, 0]], [[3, 6]]], np.float32)
    between, captions = animation._interpolated(frames, [0, 5])
    assert np.allclose(between[:, 0], [[0, 0], [1, 2], [2, 4], [3, 6]])
    assert captions == ["iteration 0 of 5"] * 2 + ["iteration 5 of 5"] * 2
    assert animation._repeats(4) == [1 + 12, 1, 1, 1 + 30]


def test_a_gif_moves_and_repeats(
    embedding: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(animation, "PICTURES_PER_FRAME", 1)
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


def test_an_animation_samples_2000_points_by_default(
    embedding: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(animation, "SAMPLE", 20)
    assert embedding.plot(tmp_path / "a.html", animate=True).points == 20
    assert embedding.plot(tmp_path / "b.html", animate=True, sample=50).points == 50


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-o", "film.png"], 2, "gif, mp4, html"),
        (["-o", "film.gif", "--before-and-after"], 2, "an animation shows the start and the end"),
        (["-o", "film.gif", "--method", "pyke"], 2, "omit "),
        (["-o", "film.mp4"], 2, "ffmpeg, which is not installed"),
        (["-o", "film.gif", "--highlight", "http://e/hermit"], 2, "no labels and no rings"),
        (["-o", "film.gif", "--label", "http://e/hermit"], 2, "no labels and no rings"),
        (["-o", "film.mp4", "--labels", "3"], 2, "no labels and no rings"),
        (["-o", "film.gif", "--dpi", "200"], 2, "png, svg, pdf"),
    ],
)
def test_invalid_parameters_are_errors(
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


def test_too_many_points_are_an_error_before_the_simulation(
    embedding: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(points, "POINTS_UP_TO", 40)
    monkeypatch.setattr(animation, "simulated_frames", None)  # the simulation
    with pytest.raises(UsageError, match="not 50; lower `sample`"):
        embedding.plot(tmp_path / "film.gif", animate=True, sample=50)


def test_the_page_of_an_animation_says_how_many_terms_it_contains(
    embedding: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_page, "MAX_NAMED", 30)
    drawn = embedding.plot(tmp_path / "film.html", animate=True)
    assert (drawn.points, drawn.named) == (79, 30)
    assert "the terms of 30 points" in " ".join(drawn.notes())


@pytest.mark.parametrize("name", ["film.gif", "film.html"])
def test_progress_never_runs_backwards(embedding: Embedding, tmp_path: Path, name: str) -> None:
    progress = Recorded()
    embedding.plot(tmp_path / name, animate=True, sample=20, progress=progress)
    video = [] if name == "film.html" else ["encoding"]
    assert progress.stages == ["springs", "repellers", "simulation", "drawing", *video]


def test_an_mp4_without_ffmpeg_is_an_error_before_the_simulation(
    embedding: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    progress = Recorded()
    with pytest.raises(UsageError, match="ffmpeg, which is not installed"):
        embedding.plot(tmp_path / "film.mp4", animate=True, progress=progress)
    assert progress.stages == []


def test_an_updated_embedding_cannot_be_animated(embedding: Embedding, tmp_path: Path) -> None:
    """A simulation from the start would end elsewhere."""
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
        animation._repeats(animation.PICTURES_PER_FRAME * len(embedding.manifest["history"]) + 1)
    )


@needs_chromium
def test_a_page_plays_the_animation(
    embedding: Embedding, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    embedding.plot(tmp_path / "film.html", animate=True)
    _, frames = animation.simulated_frames(
        embedding, View(), choose(embedding, View(sample=2000)).ids, Progress()
    )
    page = Browser(tmp_path_factory.mktemp("profile"))
    try:
        page.open(tmp_path / "film.html")
        assert page.run("[...flat.slice(0, 10)]") == pytest.approx(frames[-1].ravel()[:10].tolist())
        page.run("element('frame').value = 1.5; element('frame').dispatchEvent(new Event('input'))")
        assert page.run("[...flat.slice(0, 10)]") == pytest.approx(
            ((frames[1] + frames[2]) / 2).ravel()[:10].tolist(), rel=1e-4, abs=1e-5
        )
        page.run("element('frame').value = frames - 1.3")
        page.run("element('frame').dispatchEvent(new Event('input')); element('play').click()")
        page.wait("element('play').textContent === 'Play'")
        assert page.run("view.frame === frames - 1 && element('when').textContent") == str(
            len(frames) - 1
        )
        assert page.errors == []
    finally:
        page.close()
