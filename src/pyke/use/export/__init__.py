"""Embeddings for other programs: the table of formats, and the one function that writes them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pyke.core.files import MANIFEST
from pyke.core.inputs import COMPRESSIONS, ending_of
from pyke.core.progress import Progress
from pyke.embedding import store
from pyke.embedding.embedding import Embedding
from pyke.errors import OutputExists, UsageError
from pyke.use.export.arrays import npy, safetensors
from pyke.use.export.postgres import postgres
from pyke.use.export.rows import ONLY, Options, Outcome, Rows, choose
from pyke.use.export.tables import atlas, csv, parquet, projector, tsv, word2vec, word2vec_binary

__all__ = ["FORMATS", "ONLY", "Format", "Options", "Written", "export", "format_of"]

FILE, STREAM, DIRECTORY, DATABASE = (
    "file",
    "stream",
    "directory",
    "database",
)  # a stream may be compressed, or go to standard output
MOST_NEIGHBOURS = 256


@dataclass(frozen=True)
class Format:
    """A way to write rows: the function, what it makes, the ending that stands for it, and the options that it has for itself."""

    write: Callable[[Rows, str, Options], Outcome]
    makes: str
    ending: str = ""
    options: tuple[str, ...] = ()


FORMATS = {
    "parquet": Format(parquet, FILE, ".parquet"),
    "csv": Format(csv, STREAM, ".csv"),
    "tsv": Format(tsv, STREAM, ".tsv"),
    "npy": Format(npy, DIRECTORY),
    "word2vec": Format(word2vec, STREAM, ".vec"),
    "word2vec-binary": Format(word2vec_binary, STREAM, ".bin"),
    "safetensors": Format(safetensors, STREAM, ".safetensors"),
    "projector": Format(projector, DIRECTORY),
    "atlas": Format(atlas, FILE, options=("neighbours",)),
    "postgres": Format(postgres, DATABASE, options=("dsn", "table", "index")),
}


@dataclass(frozen=True)
class Written:
    """What was written. `altered` texts could not be written as they are; `note` says how they are written."""

    format: str
    target: str
    terms: int
    dimensions: int
    bytes: int | None  # none on standard output and in a database
    altered: int
    note: str
    query: str  # SQL for neighbours, if it is a database


def export(
    embedding: Embedding,
    target: str | os.PathLike[str] | None = None,
    to: str | None = None,
    *,
    only: str = "all",
    progress: Progress | None = None,
    **options: Any,
) -> Written:
    """Writes an embedding for another program, whole or not at all; `options` are those of `Options`."""
    place = os.fspath(target) if target is not None else ""
    name = to if to is not None else format_of(place)
    if name not in FORMATS:
        raise UsageError(f"no format {name!r}; there are: {', '.join(FORMATS)}")
    form = FORMATS[name]
    _check_target(place, name, form)
    settings = _checked(options, name, form)
    rows = choose(embedding, only, progress or Progress())
    rows.progress.stage("writing", len(rows), "terms")
    outcome = form.write(rows, place, settings)
    return Written(
        name,
        outcome.target or place,
        len(rows),
        rows.dimensions,
        _size(place),
        outcome.altered,
        outcome.note,
        outcome.query,
    )


def format_of(target: str) -> str:
    """The format that a target's ending stands for."""
    ending = ending_of(target)
    for name, form in FORMATS.items():
        if ending and form.ending == ending:
            return name
    raise UsageError(
        f"the format cannot be told from {target!r}; give --to with one of: {', '.join(FORMATS)}"
    )


def _check_target(target: str, name: str, form: Format) -> None:
    if form.makes == DATABASE:
        if target:
            raise UsageError(
                f"--to {name} writes no file; leave {target!r} out, and give --table and --dsn"
            )
    elif not target:
        raise UsageError(
            f"--to {name} needs --output, the {form.makes if form.makes == DIRECTORY else FILE} to write"
        )
    elif form.makes != STREAM and (target == "-" or Path(target).suffix.lower() in COMPRESSIONS):
        raise UsageError(
            f"--to {name} makes a {form.makes}, which cannot be {'standard output' if target == '-' else 'compressed'}: {target!r}"
        )
    elif not Path(target).resolve().name:
        raise UsageError(
            f"{target} cannot be an output; name a {form.makes if form.makes == DIRECTORY else FILE} to be made"
        )
    elif other := _other_format(target, form):
        raise UsageError(
            f"{target} has the ending of --to {other}, but --to {name} was given; leave one of them out"
        )
    elif any(_is_embedding(place) for place in (Path(target), Path(target).parent)):
        raise OutputExists(
            f"{target} is an embedding or lies in one, which an export does not change. Choose another output."
        )


def _other_format(target: str, form: Format) -> str:
    """The format whose ending a target has, if this one has another."""
    endings = {its.ending: name for name, its in FORMATS.items() if its.ending}
    return endings.get(ending_of(target), "") if form.ending not in ("", ending_of(target)) else ""


def _is_embedding(path: Path) -> bool:
    try:
        return bool(json.loads((path / MANIFEST).read_bytes())["format"] == store.FORMAT)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _checked(options: dict[str, Any], name: str, form: Format) -> Options:
    """The options, if all of them are there and mean something."""
    special = {option for other in FORMATS.values() for option in other.options}
    known = {field.name for field in fields(Options)}
    for option, value in options.items():
        if option not in known:
            raise UsageError(f"no option {option!r}; there are: {', '.join(sorted(known))}")
        if option in special and option not in form.options and value:
            raise UsageError(f"--{option} means nothing to --to {name}")
    settings = Options(**options)
    if settings.threads < 1 or not 0 <= settings.neighbours <= MOST_NEIGHBOURS:
        raise UsageError(f"threads must be at least 1, neighbours 0 to {MOST_NEIGHBOURS}")
    return settings


def _size(target: str) -> int | None:
    path = Path(target)
    if target in ("", "-"):
        return None
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.iterdir()))
