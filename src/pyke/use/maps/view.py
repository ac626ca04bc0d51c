"""What a map shows (`View`), and what was drawn (`Drawn`)."""

from __future__ import annotations

import base64
import html
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyke.config import format_size
from pyke.core import files
from pyke.embedding.embedding import Embedding
from pyke.errors import UsageError
from pyke.use import figures
from pyke.use.maps.frame import Size
from pyke.use.reports import PAGES

METHODS = ("pca", "pyke")
COLOUR_BY = ("type", "cluster", "namespace")
MAX_COLOURS = 9
DPI, FILM_DPI = 144, 96
SLIDE = (40 / 3, 7.5)  # inches: 1920 × 1080 pixels at 144 dots per inch, 1280 × 720 at 96
MAP_EXTENSIONS = (*figures.FORMATS, "html")
ANIMATION_EXTENSIONS = ("gif", "mp4", "html")
MAX_LABELS = 10_000
MAX_NOTEBOOK_BYTES = 8_000_000  # a larger file is not embedded in a notebook
MIN_ALIKE = 50  # terms with the same contexts from which on a note explains their disc
NOTEBOOK_HEIGHT = 600  # pixels of a page in a notebook
IMAGES = {".png": "image/png", ".svg": "image/svg+xml", ".gif": "image/gif"}


@dataclass(frozen=True, kw_only=True)
class View:
    """What a map shows.

    Attributes
    ----------
    method
        "pyke" (the simulation in two or three dimensions) or "pca" (principal components). By
        default "pyke" for maps and "pca" for animations.
    three_d
        Draw three dimensions.
    before_and_after
        Show the random start beside the result.
    only_types
        Show only subjects of these classes and of their subclasses, by IRI or name.
    colour_by
        "type" (the default), "cluster" (of the vectors, by HDBSCAN) or "namespace".
    classes
        The classes that get a colour, by IRI or name. By default those that distinguish most
        points: large classes, different from one another.
    label
        Terms to label. By default well-connected, typical terms of each colour.
    labels
        The maximum number of default labels.
    highlight
        Terms to ring and label.
    sample
        The maximum number of points, chosen at random. By default all; 2,000 in animations.
    seed
        Seed of the sample and of the drawing order.
    title
        The title. By default the number of terms and the source.
    size
        Width and height of a figure or an animation in pixels. By default 13⅓ × 7½ inches, a
        slide, in the resolution `dpi`; 1280 × 720 pixels for an animation.
    dpi
        Dots per inch of a figure. More dots for the same `size` make a smaller figure with
        relatively larger letters.
    font_size
        The size of labels and legend in typographic points. By default it follows the size.
    prefixes
        Prefixes of IRIs in addition to the well-known ones.
    """

    method: str | None = None
    three_d: bool = False
    before_and_after: bool = False
    only_types: Sequence[str] = ()
    colour_by: str = "type"
    classes: Sequence[str] = ()
    label: Sequence[str] = ()
    labels: int = 18
    highlight: Sequence[str] = ()
    sample: int | None = None
    seed: int = 0
    title: str = ""
    size: tuple[int, int] | None = None
    dpi: int = DPI
    font_size: float | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.method not in (None, *METHODS):
            raise UsageError(
                f"`method` is {self.method!r}; it must be one of: {', '.join(METHODS)}"
            )
        if self.colour_by not in COLOUR_BY:
            raise UsageError(
                f"`colour_by` is {self.colour_by!r}; it must be one of: {', '.join(COLOUR_BY)}"
            )
        if self.classes and self.colour_by != "type":
            raise UsageError('`classes` chooses types; it needs `colour_by="type"`')
        if len(self.classes) > MAX_COLOURS:
            raise UsageError(
                f"`classes` has {len(self.classes)} classes; there are {MAX_COLOURS} colours"
            )
        if self.sample is not None and self.sample < 1:
            raise UsageError(f"`sample` is {self.sample}; it must be at least 1")
        if not 0 <= self.labels <= MAX_LABELS:
            raise UsageError(f"`labels` is {self.labels}; it must be from 0 to {MAX_LABELS:,}")
        if not 20 <= self.dpi <= 1200:
            raise UsageError(f"`dpi` is {self.dpi}; it must be from 20 to 1200")
        if self.size and not all(200 <= side <= 20_000 for side in self.size):
            raise UsageError(f"`size` is {self.size}; each side must have 200 to 20,000 pixels")
        if self.font_size is not None and not 2 <= self.font_size <= 100:
            raise UsageError(f"`font_size` is {self.font_size}; it must be from 2 to 100")
        if self.seed < 0:
            raise UsageError(f"`seed` is {self.seed}; it must be at least 0")

    def figure_size(self) -> Size:
        """The size of a figure in inches, and of its letters."""
        return sized(self.size, SLIDE, self.dpi, self.font_size)

    def film_size(self) -> Size:
        """The size of an animation in inches of FILM_DPI dots, and of its letters."""
        return sized(self.size, SLIDE, FILM_DPI, self.font_size)


def sized(
    pixels: tuple[int, int] | None, inches: tuple[float, float], dpi: int, font: float | None
) -> Size:
    """A size in pixels, or in inches by default, with letters that suit it."""
    width, height = (side / dpi for side in pixels) if pixels else inches
    usual = min(max(1.05 * (width * height) ** 0.5, 5.0), 14.0)
    return Size(width, height, usual if font is None else font)


def parse_size(text: str) -> tuple[int, int]:
    """Width and height from a text such as 1920x1080."""
    found = re.fullmatch(r"\s*(\d{1,6})\s*[x×*]\s*(\d{1,6})\s*", text)
    if not found:
        raise UsageError(f"`size` is {text!r}; write width and height as in 1920x1080")
    return int(found[1]), int(found[2])


@dataclass(frozen=True)
class Group:
    """Points of one colour: the subjects of a class (`term`), a cluster, or all other points.

    `count` is the number of points that the map shows.
    """

    name: str
    term: str | None
    colour: str
    count: int


@dataclass(frozen=True)
class Drawn:
    """A map or an animation that was written. It shows itself in a notebook.

    Attributes
    ----------
    points
        The number of points.
    left_out
        The number of terms that are not in the sample.
    outside
        The number of points beyond the borders of a figure.
    alike
        The number of points that share all their contexts with many others: they fill discs.
    named
        The number of points whose terms are in the page; all points of a figure.
    labels_without_place
        Labels that were requested but would overlap others.
    drawn_as
        "points", "density", "page" or "film".
    coloured_by
        "type", "cluster" or "namespace".
    """

    output: str
    bytes: int
    points: int
    left_out: int
    outside: int
    named: int
    legend: tuple[Group, ...]
    labels_without_place: tuple[str, ...]
    drawn_as: str
    coloured_by: str = "type"
    alike: int = 0

    def __repr__(self) -> str:
        points = f"{self.points:,} point{'' if self.points == 1 else 's'}"
        size = format_size(self.bytes)
        return f"<pyke.maps.Drawn: {self.output}, {points}, {self.drawn_as}, {size}>"

    def _repr_html_(self) -> str:
        """The picture, the video or the page for a notebook; its name if it is too large."""
        path = Path(self.output)
        kind = path.suffix.lower()
        try:
            content = path.read_bytes() if self.bytes <= MAX_NOTEBOOK_BYTES else b""
        except OSError:
            content = b""
        data = base64.b64encode(content).decode()
        if content and kind in IMAGES:
            alt = html.escape(path.name)
            return f'<img src="data:{IMAGES[kind]};base64,{data}" alt="{alt}">'
        if content and kind == ".mp4":
            return f'<video controls src="data:video/mp4;base64,{data}"></video>'
        if content and kind in PAGES:
            page = html.escape(content.decode())
            style = f"width: 100%; height: {NOTEBOOK_HEIGHT}px; border: 0"
            return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'
        return f"<p>{html.escape(repr(self))}</p>"

    def notes(self) -> list[str]:
        """What someone who looks at it should know."""
        notes = []
        if self.coloured_by == "type" and all(group.term is None for group in self.legend):
            notes.append(
                "No subject has a type: all points have one colour. If another predicate states "
                "types, embed with `type_predicate`."
            )
        if self.left_out:
            notes.append(
                f"{self.left_out:,} more terms are not shown: the map is a sample. "
                "Set its size with `sample`."
            )
        if self.outside:
            notes.append(
                f"Outside the frame: {self.outside:,} of {self.points:,} points. "
                "A page (.html) contains all points."
            )
        if self.alike:
            notes.append(
                f"{self.alike:,} points share all their contexts with {MIN_ALIKE} or more others: "
                "each such group fills a disc."
            )
        if self.named < self.points:
            notes.append(
                f"The page contains the terms of {self.named:,} points; "
                "with all terms it would be too large."
            )
        if missing := self.labels_without_place:
            notes.append(f"{len(missing)} labels would overlap others: {', '.join(missing)}")
        return notes


def check_map(path: Path, view: View, force: bool) -> None:
    """Raise an error if a map cannot be written, before any work is done."""
    _check_target(path, MAP_EXTENSIONS, view, force)
    if path.suffix.lower() in PAGES and view.before_and_after:
        raise UsageError(
            "a page shows one map; `before_and_after` needs .png, .svg or .pdf, "
            "and `animate` shows every step from the start to the end"
        )


def check_animation(embedding: Embedding, path: Path, view: View, force: bool) -> None:
    """Raise an error if an animation cannot be written, before any work is done."""
    _check_target(path, ANIMATION_EXTENSIONS, view, force)
    if view.before_and_after:
        raise UsageError("an animation shows the start and the end; omit `before_and_after`")
    if view.method == "pyke":
        raise UsageError(
            "an animation shows the principal components of the embedding's own simulation; "
            "omit `method`"
        )
    if embedding.manifest.get("updates"):
        raise UsageError(
            "this embedding was updated, and a simulation from the start would end elsewhere. "
            "Embed the complete graph again to animate it."
        )
    labels = view.highlight or view.label or view.labels not in (0, View.labels)
    if labels and path.suffix.lower() not in PAGES:
        raise UsageError(
            "a .gif or .mp4 has no labels and no rings; omit `highlight`, `label` and `labels`, "
            "or write .html"
        )
    if path.suffix.lower() == ".mp4":
        find_ffmpeg()


def _check_target(path: Path, extensions: Sequence[str], view: View, force: bool) -> None:
    """Raise an error for an unknown extension, an existing file, or a useless `dpi`."""
    extension = path.suffix[1:].lower()
    if extension not in (*extensions, "htm"):
        raise UsageError(f"cannot write to {path}; the extensions are: {', '.join(extensions)}")
    if view.dpi != View.dpi and extension not in figures.FORMATS:
        raise UsageError(f"`dpi` is for {', '.join(figures.FORMATS)}; omit it for {path}")
    if (view.size or view.font_size) and path.suffix.lower() in PAGES:
        raise UsageError(
            f"a page has the size of its window; omit `size` and `font_size` for {path}"
        )
    files.check_output_file(path, force)


def find_ffmpeg() -> str:
    """The path of the program ffmpeg; an error if it is not installed."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise UsageError(
            "an .mp4 needs the program ffmpeg, which is not installed. "
            "Install it, or write .gif or .html."
        )
    return program
