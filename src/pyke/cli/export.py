"""`pyke export`: an embedding for other programs."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated, Any

import typer

from pyke.cli import terminal
from pyke.cli.messages import as_options
from pyke.cli.options import AsJson, Directory, Force, Threads
from pyke.cli.streams import echo

_POSTGRES, _ATLAS = "PostgreSQL", "Embedding Atlas"


_Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        help="File or directory to write; .gz, .zst … compress text; - for standard output.",
    ),
]
_To = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT",
        help="parquet, csv, tsv, npy, word2vec, word2vec-binary, safetensors, "
        "projector (TensorFlow), atlas (Embedding Atlas) or postgres (pgvector). "
        "[by extension]",
    ),
]
_Only = Annotated[
    str,
    typer.Option(
        metavar="[all|typed|entities|predicates]",
        help="Terms to write; entities are neither predicates nor classes.",
    ),
]
_Neighbours = Annotated[
    int,
    typer.Option(help="Nearest terms to store with each term.", rich_help_panel=_ATLAS),
]
_Layout = Annotated[
    str,
    typer.Option(
        metavar="[pyke|pca]",
        help="Map: that of `pyke plot`, or principal components. [pyke]",
        rich_help_panel=_ATLAS,
    ),
]
_Clusters = Annotated[
    bool | None,
    typer.Option(
        "--clusters/--no-clusters",
        help="Find clusters. [up to 200,000 entities]",
        rich_help_panel=_ATLAS,
        show_default=False,
    ),
]
_Dsn = Annotated[
    str,
    typer.Option(
        help="Connection string like postgresql://user@host/database. [PGHOST, PGUSER …]",
        rich_help_panel=_POSTGRES,
    ),
]
_Table = Annotated[
    str,
    typer.Option(
        help="Table or schema.table to create. [the name of the directory]",
        rich_help_panel=_POSTGRES,
    ),
]
_Index = Annotated[
    str,
    typer.Option(help="hnsw: build an index for approximate search.", rich_help_panel=_POSTGRES),
]


def export(
    directory: Directory,
    output: _Output = "",
    to: _To = None,
    only: _Only = "all",
    neighbours: _Neighbours = 0,
    layout: _Layout = "",
    clusters: _Clusters = None,
    dsn: _Dsn = "",
    table: _Table = "",
    index: _Index = "",
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write an embedding for another program: a table, arrays, word2vec, a viewer, a database."""
    from pyke.config import format_size, thread_count
    from pyke.embedding.embedding import load
    from pyke.embedding.store import verify
    from pyke.use.export import format_of

    to = to or format_of(output)
    own = {"neighbours": neighbours, "layout": layout, "dsn": dsn, "table": table, "index": index}
    given: dict[str, Any] = {option: value for option, value in own.items() if value}
    if clusters is not None:
        given["clusters"] = clusters
    with terminal.ShownProgress() as progress:
        began = time.perf_counter()
        verify(directory)  # a damaged directory must not be exported
        written = load(directory).export(
            output or None,
            to,
            only=only,
            progress=progress,
            force=force,
            threads=thread_count(threads),
            name=directory.resolve().name,
            **given,
        )
        place = "standard output" if output == "-" else written.target
        size = f", {format_size(written.bytes)}" if written.bytes is not None else ""
        message = (
            f"Wrote {written.terms:,} vectors of {written.dimensions} dimensions to {place}: "
            f"{written.format}{size}, {time.perf_counter() - began:.1f} s."
        )
        if written.note:
            progress.note(as_options(written.note))
        if output == "-":
            progress.note(message)
            return
    if as_json:
        terminal.print_json(asdict(written))
        return
    terminal.say(message)
    if written.query:  # SQL that finds neighbours
        for line in terminal.printable_lines(written.query):
            echo(line)
