"""The annealing as a film: where terms lie after each iteration, seen along the axes of the final map."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyke.core import files
from pyke.core.arrays import Floats, Ids
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import UsageError, WriteError
from pyke.pipeline.embed import find_forces
from pyke.pipeline.stages import Stages
from pyke.simulation import anneal
from pyke.use import figures
from pyke.use.maps import figure
from pyke.use.maps.drawing import (
    Drawn,
    View,
    check_target,
    choose,
    flat,
    named_points,
    page,
    title_of,
)
from pyke.use.neighbours import search
from pyke.use.reports import PAGES

ENDINGS = ("gif", "mp4", "html")
SAMPLE = 2_000  # points, unless another number is asked for
MOST_FRAMES = 120  # of longer runs, every second iteration is kept, or every third, …
PICTURES_PER_FRAME = 3  # two between an iteration and the next
PICTURES_PER_SECOND = 15
FIRST_SECONDS, LAST_SECONDS = 0.8, 2.0  # that the start and the end are shown


def animate(
    embedding: Embedding,
    path: str | Path,
    view: View,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Drawn:
    """Writes a film: .gif, .mp4 (by the program ffmpeg), or .html, a page with a slider."""
    path, progress = Path(path), progress or Progress()
    check_target(path, ENDINGS, view, force)
    if view.before_and_after:
        raise UsageError(
            "a film shows the start, the end and all between; leave --before-and-after out"
        )
    if view.method == "pyke":
        raise UsageError(
            "a film shows the annealing of the embedding itself, along its principal components; leave --method out"
        )
    if embedding.manifest.get("updates"):
        raise UsageError(
            "this embedding was updated: a run from the start would not end at it. Embed the graph anew to film that."
        )
    ending = path.suffix.lower()
    if ending not in PAGES and (
        view.highlight or view.label or view.labels not in (0, View.labels)
    ):
        raise UsageError(
            "a film has no labels and no rings as .gif or .mp4; leave --highlight, --label and --labels out, or write .html"
        )
    if ending == ".mp4":
        _ffmpeg()
    cast = choose(embedding, replace(view, sample=SAMPLE if view.sample is None else view.sample))
    if ending not in PAGES and len(cast.ids) > figure.POINTS_UP_TO:
        raise UsageError(
            f"a film shows at most {figure.POINTS_UP_TO:,} points as .gif or .mp4, not {len(cast.ids):,}; lower --sample, or write .html"
        )
    numbers, frames = film(embedding, view, cast.ids, progress)
    title = title_of(embedding, view, cast)
    if ending in PAGES:
        named = named_points(cast, view.seed)
        content, count = page(embedding, cast, title, frames, numbers, named), len(named)
    else:
        between, captions = _in_between(np.array([flat(frame) for frame in frames]), numbers)
        progress.stage("drawing", len(captions), "pictures")
        pictures = []
        for picture in figure.film(title, between, captions, cast.key()):
            pictures.append(picture)
            progress.advance(len(pictures))
        often = _times_shown(len(pictures))
        count = len(cast.ids)
        content = (
            _mp4(pictures, often)
            if ending == ".mp4"
            else figures.gif(pictures, [times * 1000 // PICTURES_PER_SECOND for times in often])
        )
    files.write_stream(path, [content], force)
    return Drawn(
        str(path), len(content), len(cast.ids), cast.left_out, 0, count, cast.legend, (), "film"
    )


def film(
    embedding: Embedding, view: View, ids: Ids, progress: Progress
) -> tuple[list[int], Floats]:
    """Runs the simulation again: the numbers of the iterations that were kept, and where some terms were after each."""
    config = embedding.config()
    forces = find_forces(embedding.graph(), Stages(config, progress))
    every = -(-anneal.planned_iterations(config) // MOST_FRAMES)
    numbers, kept = [], []

    def keep(state: anneal.State) -> None:
        if len(state.history) % every == 0:
            numbers.append(len(state.history))
            kept.append(state.positions[ids, : config.dimensions])

    start = anneal.State(anneal.random_start(forces[0].rows, config), ())
    keep(start)
    progress.stage("simulation", anneal.planned_iterations(config), "iterations")
    # A checkpoint that is due at once is one after each iteration.
    rest = anneal.simulate(*forces, replace(config, checkpoint_seconds=0.0), progress, start, keep)
    if numbers[-1] != len(rest.history):
        numbers.append(len(rest.history))
        kept.append(rest.positions[ids, : config.dimensions])
    axes = search.principal_axes(
        rest.positions[: len(embedding), : config.dimensions], 3 if view.three_d else 2
    )
    return numbers, np.array([search.project_on(positions, *axes) for positions in kept])


def _in_between(frames: Floats, numbers: Sequence[int]) -> tuple[Floats, list[str]]:
    """Frames with others between them, for the eye, and what to write on each."""
    times = np.linspace(0, len(frames) - 1, PICTURES_PER_FRAME * (len(frames) - 1) + 1)
    before = times.astype(int)
    after = np.minimum(before + 1, len(frames) - 1)
    part = (times - before).astype(np.float32)[:, None, None]
    captions = [f"iteration {numbers[round(time)]} of {numbers[-1]}" for time in times]
    return frames[before] * (1 - part) + frames[after] * part, captions


def _times_shown(pictures: int) -> list[int]:
    """How often each picture is shown: the first and the last stand still for a while."""
    often = [1] * pictures
    often[0] += round(FIRST_SECONDS * PICTURES_PER_SECOND)
    often[-1] += round(LAST_SECONDS * PICTURES_PER_SECOND)
    return often


def _ffmpeg() -> str:
    program = shutil.which("ffmpeg")
    if program is None:
        raise UsageError(
            "MP4 is made by the program ffmpeg, which is not installed. Install it, or write .gif or .html, which need nothing else."
        )
    return program


def _mp4(pictures: Sequence[NDArray[np.uint8]], often: Sequence[int]) -> bytes:
    height, width, _ = pictures[0].shape
    command = [
        _ffmpeg(),
        "-v",
        "error",
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-s",
        f"{width}x{height}",
        "-r",
        str(PICTURES_PER_SECOND),
        "-i",
        "-",
    ]
    # Even sizes, as most players need; in fragments, which can be written to a pipe.
    command += [
        "-vf",
        "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white",
        "-pix_fmt",
        "yuv420p",
        "-movflags",
        "frag_keyframe+empty_moov",
        "-f",
        "mp4",
        "-",
    ]
    stream = b"".join(
        picture.tobytes() * times for picture, times in zip(pictures, often, strict=True)
    )
    ended = subprocess.run(command, input=stream, capture_output=True, check=False)
    if ended.returncode:
        raise WriteError(
            f"ffmpeg made no film: {ended.stderr.decode('utf-8', 'replace').strip()[-500:]}"
        )
    return ended.stdout
