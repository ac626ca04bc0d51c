"""The simulation as an animation: the positions after each iteration, as .gif or .mp4."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats, Ids
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import UsageError, WriteError
from pyke.pipeline.embed import find_forces
from pyke.pipeline.stages import Stages
from pyke.simulation import anneal
from pyke.use import figures
from pyke.use.maps import figure, points
from pyke.use.maps.frame import Size
from pyke.use.maps.layout import flat
from pyke.use.maps.points import Key
from pyke.use.maps.view import FILM_DPI, View, find_ffmpeg
from pyke.use.neighbours import search

SAMPLE = 2_000  # points, unless the view sets another number
MAX_FRAMES = 120  # of longer simulations every second iteration is kept, or every third …
PICTURES_PER_FRAME = 3  # two are interpolated between an iteration and the next
PICTURES_PER_SECOND = 15
FIRST_SECONDS, LAST_SECONDS = 0.8, 2.0  # how long the start and the end are shown


def check_size(count: int) -> None:
    """Raise an error if a .gif or .mp4 would have too many points."""
    if points.is_density(count):
        raise UsageError(
            f"a .gif or .mp4 shows at most {points.POINTS_UP_TO:,} points, not {count:,}; "
            "lower `sample`, or write .html"
        )


def simulated_frames(
    embedding: Embedding, view: View, ids: Ids, progress: Progress
) -> tuple[list[int], Floats]:
    """Run the simulation again; return the kept iterations and the points after each of them.

    The points are those of some terms, (frames, points, 2 or 3), on the principal axes of the end.
    """
    config = embedding.config()
    forces = find_forces(
        embedding.graph(), Stages(config, progress), np.array(embedding.term_clusters)
    )
    every = -(-anneal.planned_iterations(config) // MAX_FRAMES)
    iterations, kept = [], []

    def keep(state: anneal.State) -> None:
        if len(state.history) % every == 0:
            iterations.append(len(state.history))
            kept.append(state.positions[ids, : config.dimensions])

    start = anneal.State(anneal.start(forces[0], config), ())
    keep(start)
    progress.stage("simulation", anneal.planned_iterations(config), "iterations")
    every_iteration = replace(config, checkpoint_seconds=0.0)  # calls `keep` after each iteration
    result = anneal.simulate(*forces, every_iteration, progress, start, keep, len(embedding))
    if iterations[-1] != len(result.history):
        iterations.append(len(result.history))
        kept.append(result.positions[ids, : config.dimensions])
    axes = search.principal_axes(
        result.positions[: len(embedding), : config.dimensions], 3 if view.three_d else 2
    )
    return iterations, np.array([search.project_on(positions, *axes) for positions in kept])


def video(
    extension: str,
    title: str,
    frames: Floats,
    iterations: Sequence[int],
    key: Key,
    size: Size,
    progress: Progress,
) -> bytes:
    """Frames, (frames, points, 2 or 3), as a .gif or .mp4."""
    smooth, captions = _interpolated(np.array([flat(frame) for frame in frames]), iterations)
    progress.stage("drawing", len(captions), "pictures")
    pictures = []
    for picture in figure.animation(title, smooth, captions, key, size, FILM_DPI):
        pictures.append(picture)
        progress.advance(len(pictures))
    repeats = _repeats(len(pictures))
    progress.stage("encoding")
    if extension == ".mp4":
        return _mp4(pictures, repeats)
    return figures.gif(pictures, [times * 1000 // PICTURES_PER_SECOND for times in repeats])


def _interpolated(frames: Floats, iterations: Sequence[int]) -> tuple[Floats, list[str]]:
    """Frames with interpolated ones between them, and the caption of each."""
    times = np.linspace(0, len(frames) - 1, PICTURES_PER_FRAME * (len(frames) - 1) + 1)
    before = times.astype(int)
    after = np.minimum(before + 1, len(frames) - 1)
    part = (times - before).astype(np.float32)[:, None, None]
    captions = [f"iteration {iterations[round(time)]} of {iterations[-1]}" for time in times]
    return frames[before] * (1 - part) + frames[after] * part, captions


def _repeats(pictures: int) -> list[int]:
    """How many times each picture is shown; the first and the last are shown longer."""
    repeats = [1] * pictures
    repeats[0] += round(FIRST_SECONDS * PICTURES_PER_SECOND)
    repeats[-1] += round(LAST_SECONDS * PICTURES_PER_SECOND)
    return repeats


def _mp4(pictures: Sequence[NDArray[np.uint8]], repeats: Sequence[int]) -> bytes:
    """Encode pictures with ffmpeg."""
    height, width, _ = pictures[0].shape
    source = f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {PICTURES_PER_SECOND} -i -"
    # Most players need even sizes. A fragmented file can be written to a pipe.
    target = (
        "-vf pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white -pix_fmt yuv420p "
        "-movflags frag_keyframe+empty_moov -f mp4 -"
    )
    command = [find_ffmpeg(), "-v", "error", *source.split(), *target.split()]
    stream = b"".join(
        picture.tobytes() * times for picture, times in zip(pictures, repeats, strict=True)
    )
    ended = subprocess.run(command, input=stream, capture_output=True, check=False)
    if ended.returncode:
        reason = ended.stderr.decode("utf-8", "replace").strip()[-500:]
        raise WriteError(f"ffmpeg failed: {reason}")
    return ended.stdout
