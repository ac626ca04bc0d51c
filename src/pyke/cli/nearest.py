"""Neighbours: of some terms on the terminal, of many in a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyke.cli import terminal
from pyke.cli.options import AsJson, Directory, Force, Threads, app

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyke.core.arrays import Floats, Ids
    from pyke.core.tables import Columns
    from pyke.embedding.embedding import Embedding, Neighbourhoods
    from pyke.embedding.lookup import Lookup

QUERIES_AT_ONCE = 1 << 13  # whose neighbours are written
MOST_TOLD = 3  # lines that are no terms
KINDS = {"query": str, "rank": int, "term": str, "distance": float, "label": str}


@app.command()
def nearest(
    directory: Directory,
    terms: Annotated[
        list[str] | None,
        typer.Argument(
            help="Terms: IRIs, _:blank nodes, prefixed names, or labels.", show_default=False
        ),
    ] = None,
    vector: Annotated[
        str | None, typer.Option(help="Ask by a vector instead, like 0.1,-0.2,…")
    ] = None,
    vector_file: Annotated[
        Path | None, typer.Option(help="Ask by the vectors in a .npy file: one, or a row each.")
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(help="Ask by the lines of a file, a term each; - for standard input."),
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", help="How many.")] = 10,
    among: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Only terms of this class, by IRI or name.")
    ] = None,
    predicates: Annotated[bool, typer.Option("--predicates", help="Only predicates.")] = False,
    prefix: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=IRI", help="A prefix beside the well-known ones."),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="Exact neighbours, however long it takes. [unless an index is faster]"
        ),
    ] = False,
    approximate: Annotated[
        bool,
        typer.Option("--approximate", help="Neighbours by an index, with its recall measured."),
    ] = False,
    on_error: Annotated[
        str,
        typer.Option(help="stop at lines of a batch that are no terms, or skip and count them."),
    ] = "stop",
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", help="A table to write: .tsv, .csv, .jsonl or .parquet; - for stdout."
        ),
    ] = None,
    threads: Threads = None,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Show the terms closest to some terms, or write those of many to a table."""
    from pyke.core.tables import check_table
    from pyke.embedding.embedding import load
    from pyke.embedding.lookup import parse_prefixes
    from pyke.errors import UsageError

    if sum(bool(way) for way in (terms, vector, vector_file, batch)) != 1:
        raise UsageError("ask by terms, --vector, --vector-file or --batch: one of them")
    if exact and approximate:
        raise UsageError("--exact and --approximate exclude each other")
    if on_error not in ("stop", "skip"):
        raise UsageError(f"--on-error is {on_error}; it is stop or skip")
    output = output or ("-" if batch else None)
    if output:
        check_table(output, force)
    embedding = load(directory)
    lookup = embedding.lookup(parse_prefixes(prefix or []))
    if batch:
        names, queries, unknown = _from_lines(batch, lookup, skip=on_error == "skip")
    else:
        names, queries, unknown = *_given(terms, vector, vector_file, lookup), 0
    options: dict[str, Any] = {
        "predicates": predicates,
        "exact": True if exact else False if approximate else None,
        "threads": threads,
    }
    if among is not None:
        options["among"] = f"<{embedding.terms[lookup.find_class(among, embedding.types)]}>"
    if not output:
        _show(names, embedding.nearest_of_many(queries, k, **options), embedding, json_)
        return
    with terminal.Shown() as progress:
        progress.stage("neighbours", len(queries), "queries")
        found = embedding.nearest_of_many(queries, k, progress=progress, **options)
        _write(output, names, found, embedding, force, json_)
        left_out = (
            f"; {unknown:,} of {unknown + len(names):,} lines were skipped: they are no terms"
            if unknown
            else ""
        )
        told = f"{found.ids.shape[1]} neighbours of {len(names):,} {'terms' if terms or batch else 'vectors'}, {_how(found)}{left_out}."
        if output == "-":
            progress.note(told)
            return
    if json_:
        terminal.print_json(
            {
                "output": output,
                "queries": len(names),
                "skipped": unknown,
                "exact": found.exact,
                "recall": found.recall,
            }
        )
    else:
        terminal.out().print(terminal.inert(f"{output}: {told}"), highlight=False)


def _given(
    terms: list[str] | None, vector: str | None, file: Path | None, lookup: Lookup
) -> tuple[list[str], NDArray[Any]]:
    """The queries on the command line: their names, and ids or vectors."""
    import numpy as np

    from pyke.errors import UsageError

    if terms:
        ids = np.array([lookup.find(term) for term in terms])
        return [lookup.terms[i] for i in ids], ids
    if file:
        rows = _vectors_in(file)
        return [str(number) for number in range(len(rows))], rows
    try:
        return ["vector"], np.array(
            [[float(number) for number in str(vector).split(",")]], np.float32
        )
    except ValueError:
        raise UsageError(
            f"--vector {vector}: numbers are given with commas between them, like 0.1,-0.2,3"
        ) from None


def _vectors_in(file: Path) -> NDArray[Any]:
    import numpy as np

    from pyke.errors import DataError, NoInput

    try:
        rows = np.load(file, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise NoInput(f"cannot open {file}: {error.strerror or error}") from None
    except (ValueError, EOFError):
        rows = None
    if not isinstance(rows, np.ndarray) or not np.issubdtype(rows.dtype, np.floating):
        raise DataError(f"{file} holds no array of floating-point numbers as numpy.save writes it")
    return np.atleast_2d(rows)


def _from_lines(path: str, lookup: Lookup, *, skip: bool) -> tuple[list[str], NDArray[Any], int]:
    """The terms in the lines of a file, their ids, and how many lines are none. Empty lines are passed over."""
    import numpy as np

    from pyke.core.inputs import Input, compression_of
    from pyke.errors import DataError

    with Input(path, None if path == "-" else compression_of(path)) as file:
        lines = file.read().decode("utf-8-sig", "replace").split("\n")
    numbered = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    found = lookup.find_all([name for _, name in numbered])
    wrong = [
        f"line {number}: {term}"
        for (number, _), term in zip(numbered, found, strict=True)
        if not isinstance(term, int)
    ]
    ids = np.array([term for term in found if isinstance(term, int)], np.int64)
    if wrong and not (skip and len(ids)):
        more = f"; and {len(wrong) - MOST_TOLD:,} more" if len(wrong) > MOST_TOLD else ""
        advice = "" if skip else ". --on-error skip leaves them out"
        raise DataError(
            f"{path}: {len(wrong):,} of {len(numbered):,} lines are no terms: {'; '.join(wrong[:MOST_TOLD])}{more}{advice}"
        )
    if not len(ids):
        raise DataError(f"{path} has no lines: a term is expected in each")
    return (
        [name for (_, name), term in zip(numbered, found, strict=True) if isinstance(term, int)],
        ids,
        len(wrong),
    )


def _show(names: list[str], found: Neighbourhoods, embedding: Embedding, as_json: bool) -> None:
    if as_json:
        columns = _columns(names, found.ids, found.distances, embedding)
        terminal.print_json(
            [dict(zip(KINDS, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        )
        return
    for number, name in enumerate(names):
        table = terminal.new_table("", "term", "distance", "label", right=(0, 2))
        if len(names) > 1:
            table.title, table.title_justify = terminal.inert(name), "left"
        columns = _columns(
            [name], found.ids[number : number + 1], found.distances[number : number + 1], embedding
        )
        for _, rank, term, distance, label in zip(*columns.values(), strict=True):
            table.add_row(
                str(rank), terminal.inert(term), f"{distance:.4f}", terminal.inert(label or "")
            )
        terminal.out().print(table)
    if not found.exact:
        terminal.out().print(f"Found {_how(found)}.", highlight=False)


def _how(found: Neighbourhoods) -> str:
    return (
        "exact" if found.exact else f"by an index, which finds {found.recall:.2%} of the true ones"
    )


def _write(
    output: str,
    names: list[str],
    found: Neighbourhoods,
    embedding: Embedding,
    force: bool,
    as_json: bool,
) -> None:
    from pyke.core.tables import write_table

    parts = (
        slice(begin, begin + QUERIES_AT_ONCE) for begin in range(0, len(names), QUERIES_AT_ONCE)
    )
    blocks = (
        _columns(names[part], found.ids[part], found.distances[part], embedding) for part in parts
    )
    write_table(output, KINDS, blocks, force, ".jsonl" if as_json and output == "-" else None)


def _columns(names: list[str], ids: Ids, distances: Floats, embedding: Embedding) -> Columns:
    """The neighbours of some queries, a row each."""
    from pyke.embedding.lookup import texts_at

    query, rank = (ids >= 0).nonzero()
    neighbours = ids[query, rank]
    return {
        "query": [names[q] for q in query.tolist()],
        "rank": (rank + 1).tolist(),
        "term": texts_at(embedding.terms, neighbours),
        "distance": distances[query, rank]
        .astype(str)
        .astype(float)
        .tolist(),  # as few digits as tell the 32-bit number
        "label": embedding.lookup().labels_of(neighbours),
    }
