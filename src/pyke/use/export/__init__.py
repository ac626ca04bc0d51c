"""Export an embedding to other programs: the table of formats, and `export`, which writes them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from pyke.core.inputs import COMPRESSIONS, extension_of
from pyke.core.progress import Progress
from pyke.embedding import store
from pyke.embedding.embedding import Embedding
from pyke.errors import OutputExists, PykeError, UsageError
from pyke.use.export.arrays import npy, safetensors
from pyke.use.export.embedding_atlas import atlas
from pyke.use.export.postgres import postgres
from pyke.use.export.rows import ONLY, Options, Outcome, Rows, choose
from pyke.use.export.tables import csv, parquet, projector, tsv, word2vec, word2vec_binary

__all__ = [
    "FORMATS",
    "ONLY",
    "Format",
    "Options",
    "Outcome",
    "Rows",
    "Written",
    "export",
    "format_of",
    "register",
]

FILE, STREAM, DIRECTORY, DATABASE = "file", "stream", "directory", "database"
COMMON_OPTIONS = tuple(option.name for option in fields(Options))

Writer = Callable[..., Outcome]  # (rows, target, options, *, the format's own options)


@dataclass(frozen=True)
class Format:
    """A row of the table of formats.

    Attributes
    ----------
    write
        The function that writes the rows.
    makes
        "file", "directory", "database", or "stream": a file that can also be compressed or go to
        standard output.
    extension
        Targets with this extension have this format.
    options
        The format's own options with their defaults: the keyword-only parameters of `write`.
    """

    write: Writer
    makes: str
    extension: str = ""
    options: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        parameters = inspect.signature(self.write).parameters.values()
        own = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        for option, default in own.items():
            if option in COMMON_OPTIONS or default is inspect.Parameter.empty:
                raise UsageError(
                    f"the option {option!r} of an export format needs a default and a name other "
                    f"than {', '.join(COMMON_OPTIONS)}"
                )
        object.__setattr__(self, "options", own)


FORMATS: dict[str, Format] = {}


def register(name: str, write: Writer, makes: str = STREAM, extension: str = "") -> None:
    r"""Add an export format; `Embedding.export` and `pyke export` know it from then on.

    Parameters
    ----------
    name
        The format's name: the value of `to`.
    write
        A function `(rows, target, options) → Outcome`. `rows.parts()` yields the terms, vectors,
        labels and types in parts that fit into memory; `options` has `force` and `threads`. The
        functions in `pyke.core.files` write atomically. Keyword-only parameters with defaults
        are the format's own options: users pass them to `export` by name.
    makes
        "file", "directory", "database", or "stream": a file that can also be compressed or go to
        standard output.
    extension
        Targets with this extension, for example ".norms", have this format.

    Examples
    --------
    Write the length of each vector as text:

    >>> import numpy as np, pyke, tempfile
    >>> from pathlib import Path
    >>> from pyke.core.files import write_stream
    >>> from pyke.export import FORMATS, Outcome, register
    >>> def norms(rows, target, options, *, digits=3):
    ...     def blocks():
    ...         for part in rows.parts():
    ...             lengths = np.linalg.norm(part.vectors, axis=1)
    ...             pairs = zip(part.terms, lengths, strict=True)
    ...             yield "".join(f"{term}\t{x:.{digits}f}\n" for term, x in pairs).encode()
    ...     write_stream(target, blocks(), options.force, options.threads)
    ...     return Outcome()
    >>> register("norms", norms, extension=".norms")
    >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder, "father.norms")
    ...     written = e.export(target, digits=1)
    ...     lines = target.read_text().splitlines()
    >>> written.format, len(lines) == len(e)
    ('norms', True)

    Remove it again:

    >>> _ = FORMATS.pop("norms")
    """
    if name in FORMATS:
        raise UsageError(f"there is an export format {name!r} already; choose another name")
    if makes not in (FILE, STREAM, DIRECTORY, DATABASE):
        kinds = ", ".join((FILE, STREAM, DIRECTORY, DATABASE))
        raise UsageError(f"`makes` is {makes!r}; it must be one of: {kinds}")
    if extension and (other := _format_with(extension)):
        raise UsageError(f"the extension {extension} belongs to the export format {other!r}")
    FORMATS[name] = Format(write, makes, extension)


@dataclass(frozen=True)
class Written:
    """What was written.

    Attributes
    ----------
    bytes
        The size of the output; None for standard output and databases.
    altered
        The number of texts that the format cannot represent exactly; `note` says how they were
        written.
    query
        SQL that finds the neighbours of a term, if the target is a database.
    """

    format: str
    target: str
    terms: int
    dimensions: int
    bytes: int | None
    altered: int
    note: str
    query: str


def export(
    embedding: Embedding,
    target: str | os.PathLike[str] | None = None,
    to: str | None = None,
    *,
    only: str = "all",
    progress: Progress | None = None,
    **options: Any,
) -> Written:
    """Write an embedding for another program, completely or not at all.

    `options` are those of `Options` and those of the format, see `Format.options`.
    """
    path = os.fspath(target) if target is not None else ""
    name = to if to is not None else format_of(path)
    if name not in FORMATS:
        raise UsageError(f"unknown format {name!r}; the formats are: {', '.join(FORMATS)}")
    form = FORMATS[name]
    _check_target(path, name, form)
    common, own = _split_options(options, name, form)
    rows = choose(embedding, only, progress or Progress())
    outcome = form.write(rows, path, common, **own)
    return Written(
        format=name,
        target=outcome.target or path,
        terms=len(rows),
        dimensions=rows.dimensions,
        bytes=_size(path),
        altered=outcome.altered,
        note=outcome.note,
        query=outcome.query,
    )


def format_of(target: str) -> str:
    """The format that the extension of a target stands for."""
    if name := _format_with(extension_of(target)):
        return name
    where = f" of {target!r}" if target else ""
    raise UsageError(
        f"cannot infer the format{where}; pass `target` with a known extension, "
        f"or `to` with one of: {', '.join(FORMATS)}"
    )


def _format_with(extension: str) -> str:
    """The name of the format with an extension; empty if there is none."""
    return next((n for n, f in FORMATS.items() if extension and f.extension == extension), "")


def _check_target(target: str, name: str, form: Format) -> None:
    """Raise an error if the format cannot write to the target."""
    kind = DIRECTORY if form.makes == DIRECTORY else FILE
    to = f'`to="{name}"`'
    if form.makes == DATABASE:
        if target:
            raise UsageError(f"{to} writes to a database; omit `target`, which is {target!r}")
    elif not target:
        raise UsageError(f"{to} needs `target`, the {kind} to write")
    elif form.makes != STREAM and target == "-":
        raise UsageError(f"{to} writes a {form.makes}; it cannot write to standard output")
    elif form.makes != STREAM and Path(target).suffix.lower() in COMPRESSIONS:
        raise UsageError(f"{to} writes a {form.makes}, which cannot be compressed: {target!r}")
    elif not Path(target).resolve().name:
        raise UsageError(f"{target} cannot be an output; name a {kind} to create")
    elif form.extension and (other := _format_with(extension_of(target))) not in ("", name):
        raise UsageError(
            f'{target} has the extension of `to="{other}"`, but {to} was given; change one of them'
        )
    elif any(_is_embedding(path) for path in (Path(target), Path(target).parent)):
        raise OutputExists(
            f"{target} is an embedding directory or inside one, and an export never changes an "
            "embedding. Choose another output."
        )


def _is_embedding(path: Path) -> bool:
    """Whether a directory holds an embedding."""
    try:
        return bool(store.read_manifest(path))
    except PykeError:
        return False


def _split_options(
    options: Mapping[str, Any], name: str, form: Format
) -> tuple[Options, dict[str, Any]]:
    """The options of every format, and those of this one; an error if any is unknown."""
    for option in options:
        if option not in COMMON_OPTIONS and option not in form.options:
            known = ", ".join(f"`{known}`" for known in (*COMMON_OPTIONS, *form.options))
            raise UsageError(f'`{option}` is not an option of `to="{name}"`; it has {known}')
    common = Options(**{key: options[key] for key in COMMON_OPTIONS if key in options})
    if common.threads < 1:
        raise UsageError(f"`threads` is {common.threads}; it must be at least 1")
    return common, {key: options[key] for key in form.options if key in options}


def _size(target: str) -> int | None:
    """Bytes of a written file or directory."""
    path = Path(target)
    if target in ("", "-"):
        return None
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.iterdir()))


register("parquet", parquet, FILE, ".parquet")
register("csv", csv, STREAM, ".csv")
register("tsv", tsv, STREAM, ".tsv")
register("npy", npy, DIRECTORY)
register("word2vec", word2vec, STREAM, ".vec")
register("word2vec-binary", word2vec_binary, STREAM, ".bin")
register("safetensors", safetensors, STREAM, ".safetensors")
register("projector", projector, DIRECTORY)
register("atlas", atlas, FILE)
register("postgres", postgres, DATABASE)
