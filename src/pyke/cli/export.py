"""Embeddings for other programs."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

import typer

from pyke.cli import terminal
from pyke.cli.options import AsJson, Directory, Force, Threads, app, config_of


@app.command()
def export(
    directory: Directory,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="The file or directory to write; .gz, .zst … compress text; - for standard output.",
        ),
    ] = "",
    to: Annotated[
        str | None,
        typer.Option(
            help="parquet, csv, tsv, npy, word2vec, word2vec-binary, safetensors, projector (TensorFlow's), atlas (Embedding Atlas) or postgres "
            "(pgvector). [by the ending of the output]"
        ),
    ] = None,
    only: Annotated[
        str,
        typer.Option(
            help="all terms, typed subjects, entities (neither predicate nor class), or predicates."
        ),
    ] = "all",
    neighbours: Annotated[
        int, typer.Option(help="atlas: how many nearest terms to store with each.")
    ] = 0,
    dsn: Annotated[
        str,
        typer.Option(
            help="postgres: connection string like postgresql://user@host/database. [PGHOST, PGUSER …]"
        ),
    ] = "",
    table: Annotated[
        str,
        typer.Option(help="postgres: the table to create, or schema.table. [name of DIRECTORY]"),
    ] = "",
    index: Annotated[
        str, typer.Option(help="postgres: hnsw, for approximate search among many.")
    ] = "",
    threads: Threads = None,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Write an embedding for another program: a table, arrays, word2vec, a viewer, a database."""
    threads = config_of(threads=threads).threads
    from pyke.config import format_size
    from pyke.embedding.embedding import load
    from pyke.embedding.store import verify
    from pyke.use.export import format_of

    to = to or format_of(output)
    with terminal.Shown() as progress:
        began = time.perf_counter()
        verify(directory)  # a damaged embedding is never exported
        own = {"neighbours": neighbours, "dsn": dsn, "table": table, "index": index}
        written = load(directory).export(
            output or None,
            to,
            only=only,
            progress=progress,
            force=force,
            threads=threads,
            name=directory.resolve().name,
            **{option: value for option, value in own.items() if value},
        )
        place = "standard output" if output == "-" else written.target
        size = f", {format_size(written.bytes)}" if written.bytes is not None else ""
        told = f"{written.terms:,} vectors of {written.dimensions} dimensions in {place}: {written.format}{size}, {time.perf_counter() - began:.1f} s"
        if written.note:
            progress.note(written.note)
        if output == "-":
            progress.note(told)
            return
    if json_:
        terminal.print_json(asdict(written))
        return
    terminal.out().print(terminal.inert(told), highlight=False)
    for line in written.query.splitlines():  # neighbours by SQL
        terminal.out().print(terminal.inert(line), highlight=False)
