"""Colours, file formats and the charts of reports."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats
from pyke.core.files import write_file
from pyke.errors import UsageError
from pyke.use.neighbours import search

GREY = "#8a8f98"
INK, FAINT = "#2b2f36", "#d9dce1"
COLOURS = ("#4c72b0", "#dd8452", "#55a868", "#c44e52", "#8172b3", "#937860")
LINES = (*COLOURS, "#da8bc3", "#8c8c8c", "#ccb974", "#64b5cd", "#2f4b7c", "#a05195", "#003f5c")
MARKERS = "osD^vPX<>*hp8"
FORMATS = ("png", "svg", "pdf")
DPI = 130
GIF_COLOURS = 64

_UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def project(vectors: Floats, dimensions: int = 2) -> Floats:
    """The principal components of the rows."""
    return search.project_on(vectors, *search.principal_axes(vectors, dimensions))


def new_figure(width: float, height: float) -> Any:
    """An empty figure without a window."""
    import matplotlib.figure

    return matplotlib.figure.Figure(figsize=(width, height), layout="constrained")


def scores_over_mu(panels: Mapping[str, Mapping[str, Mapping[int, float]]]) -> Any:
    """The paper's figure of type prediction: scores over the number of neighbours (μ).

    There is a panel per protocol and a line per method.
    """
    figure = new_figure(5.2 * len(panels) + 1.6, 4.2)
    for axes, (title, lines) in zip(
        np.ravel(figure.subplots(1, len(panels), sharey=True)), panels.items(), strict=True
    ):
        sizes = sorted({mu for line in lines.values() for mu in line})
        for number, (name, line) in enumerate(lines.items()):
            places = [sizes.index(mu) for mu in sorted(line)]
            style = {"linewidth": 2.6, "zorder": 3} if number == 0 else {"linewidth": 1.2}
            axes.plot(
                places,
                [line[mu] for mu in sorted(line)],
                marker=MARKERS[number % len(MARKERS)],
                markersize=4,
                color=LINES[number % len(LINES)],
                label=name,
                **style,
            )
        axes.set(
            title=title,
            xlabel="neighbours (μ)",
            ylim=(0, 1.02),
            xticks=range(len(sizes)),
            xticklabels=sizes,
        )
        axes.grid(alpha=0.25)
    figure.axes[0].set_ylabel("prediction score")
    if len(lines) > 1:
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def trials_figure(
    trials: Sequence[Mapping[str, Any]], parameters: Sequence[str], base_score: float | None
) -> Any:
    """The score of each trial over each parameter; the dashed line is the base score."""
    figure = new_figure(3.4 * len(parameters), 3.4)
    scored = [trial for trial in trials if trial["score"] is not None]
    for axes, name in zip(
        np.ravel(figure.subplots(1, len(parameters), sharey=True)), parameters, strict=True
    ):
        axes.scatter(
            [trial[name] for trial in scored],
            [trial["score"] for trial in scored],
            s=22,
            color=COLOURS[0],
        )
        if base_score is not None:
            axes.axhline(base_score, color=GREY, linestyle="--", linewidth=1)
        axes.set(xlabel=name.replace("_", " "), xscale="log")
        axes.grid(alpha=0.25)
    figure.axes[0].set_ylabel("held-out score")
    return figure


def draw_to(figure: Any, path: Path) -> None:
    """Write a figure; the extension determines the format."""
    write_file(path, drawn(figure, path.suffix.lstrip(".").lower() or "png"))


def drawn(figure: Any, form: str, dpi: int = DPI) -> bytes:
    """The bytes of a figure; they are the same in every run."""
    import matplotlib as mpl

    if form not in FORMATS:
        raise UsageError(
            f"cannot write a figure as {form!r}; the formats are: {', '.join(FORMATS)}"
        )
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "pyke"}), any_letters():
        figure.savefig(buffer, format=form, dpi=dpi, metadata=_UNDATED.get(form))
    return buffer.getvalue()


def small_png(figure: Any, dpi: int = DPI) -> bytes:
    """A PNG with a palette of 256 colours: a quarter of the bytes without a visible difference."""
    from PIL import Image

    picture = np.asarray(Image.open(io.BytesIO(drawn(figure, "png", dpi))).convert("RGB"))
    buffer = io.BytesIO()
    _quantised(picture, _palette(picture, 256)).save(buffer, "PNG", optimize=True, dpi=(dpi, dpi))
    return buffer.getvalue()


def gif(pictures: Sequence[NDArray[np.uint8]], durations: Sequence[int]) -> bytes:
    """Pictures, (height, width, 3), as a GIF that repeats; `durations` are milliseconds.

    The palette is that of the last picture.
    """
    palette = _palette(pictures[-1], GIF_COLOURS)
    first, *others = [_quantised(picture, palette) for picture in pictures]
    buffer = io.BytesIO()
    first.save(buffer, "GIF", save_all=True, append_images=others, duration=list(durations), loop=0)
    return buffer.getvalue()


def _palette(picture: NDArray[np.uint8], colours: int) -> NDArray[np.uint8]:
    """The colours that cover a picture best, (colours, 3); every fourth pixel counts, for speed."""
    from PIL import Image

    chosen = Image.fromarray(picture[::2, ::2].copy()).quantize(
        colours, Image.Quantize.MAXCOVERAGE, kmeans=1
    )
    return np.array(chosen.getpalette(), np.uint8).reshape(-1, 3)[:colours]


def _quantised(picture: NDArray[np.uint8], palette: NDArray[np.uint8]) -> Any:
    """The picture in the nearest colours of a palette.

    Pillow's own conversion is inexact and turns white into grey.
    """
    from PIL import Image

    codes, where = np.unique(
        picture.astype(np.int32) @ np.array([1 << 16, 1 << 8, 1], np.int32), return_inverse=True
    )
    own = np.column_stack([codes >> 16, codes >> 8 & 255, codes & 255])
    parts = [
        ((own[at : at + 4096, None] - palette.astype(np.int32)) ** 2).sum(axis=2).argmin(axis=1)
        for at in range(0, len(own), 4096)
    ]
    image = Image.frombytes(
        "P", picture.shape[1::-1], np.concatenate(parts).astype(np.uint8)[where.ravel()].tobytes()
    )
    image.putpalette(palette.tobytes())
    return image


@contextmanager
def any_letters() -> Iterator[None]:
    """Silence warnings about letters that the font lacks; they are drawn as boxes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield
