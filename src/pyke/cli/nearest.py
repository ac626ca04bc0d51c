"""`pyke nearest`: nearest neighbours of some terms on the terminal, or of many in a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyke.cli import terminal
from pyke.cli.messages import counted
from pyke.cli.options import AsJson, Directory, Force, Prefixes, Threads
from pyke.cli.tables import print_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyke.core.arrays import Floats, Ids
    from pyke.core.tables import Columns
    from pyke.embedding.embedding import Embedding, Neighbourhoods
    from pyke.embedding.lookup import Lookup

QUERIES_AT_ONCE = 1 << 13  # per block of the table
SHOWN_PROBLEMS = 3
KINDS = {"query": str, "rank": int, "term": str, "distance": float, "label": str}


_Terms = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TERMS",
        help="Terms: IRIs, _:blank nodes, prefixed names, labels or local names.",
        show_default=False,
    ),
]
_Vector = Annotated[
    str | None, typer.Option(metavar="NUMBERS", help="Query by a vector, like 0.1,-0.2,…")
]
_VectorFile = Annotated[
    Path | None, typer.Option(help="Query by the vectors in a .npy file, one per row.")
]
_Batch = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Query by a file with one term per line; - for stdin."),
]
_K = Annotated[int, typer.Option("--k", "-k", help="Number of neighbours.")]
_Among = Annotated[
    str | None, typer.Option(metavar="CLASS", help="Only terms of this class, by IRI or name.")
]
_Predicates = Annotated[bool, typer.Option("--predicates", help="Only predicates.")]
_Exact = Annotated[
    bool, typer.Option("--exact", help="Exact neighbours. [unless an index is faster]")
]
_Approximate = Annotated[
    bool, typer.Option("--approximate", help="Use an index; its recall is measured.")
]
_OnError = Annotated[
    str,
    typer.Option(metavar="[stop|skip]", help="At an unknown term of --batch: stop, or skip it."),
]
_Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", help="Table to write: .tsv, .csv, .jsonl or .parquet; - for stdout."
    ),
]


def nearest(
    directory: Directory,
    terms: _Terms = None,
    vector: _Vector = None,
    vector_file: _VectorFile = None,
    batch: _Batch = None,
    k: _K = 10,
    among: _Among = None,
    predicates: _Predicates = False,
    prefix: Prefixes = None,
    exact: _Exact = False,
    approximate: _Approximate = False,
    on_error: _OnError = "stop",
    output: _Output = None,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Find the nearest neighbours of terms, or write those of many terms to a table."""
    from pyke.core.tables import check_table
    from pyke.embedding.embedding import load
    from pyke.embedding.lookup import parse_prefixes
    from pyke.errors import UsageError

    if sum(bool(way) for way in (terms, vector, vector_file, batch)) != 1:
        raise UsageError("pass terms, `vector`, `vector_file` or `batch`, and only one of them")
    if exact and approximate:
        raise UsageError("use either `exact` or `approximate`")
    output = output or ("-" if batch else None)
    if output:
        check_table(output, force)
    embedding = load(directory)
    lookup = embedding.lookup(parse_prefixes(prefix or []))
    if batch:
        names, queries, unknown = _terms_in_file(batch, lookup, on_error)
    else:
        (names, queries), unknown = _queries(terms, vector, vector_file, lookup), 0
    options: dict[str, Any] = {"predicates": predicates, "threads": threads}
    options["exact"] = True if exact else False if approximate else None
    if among is not None:
        options["among"] = f"<{embedding.terms[lookup.find_class(among, embedding.types)]}>"
    if not output:
        found = embedding.nearest_of_many(queries, k, **options)
        _show(names, found, embedding, as_json)
        return
    with terminal.ShownProgress() as progress:
        progress.stage("neighbours", len(queries), "queries")
        found = embedding.nearest_of_many(queries, k, progress=progress, **options)
        _write(output, names, found, embedding, force, as_json)
        message = _summary(found, len(names), "term" if terms or batch else "vector", unknown)
        if output == "-":
            progress.note(message)
            return
    if as_json:
        result = {"output": output, "queries": len(names), "skipped": unknown}
        terminal.print_json(result | {"exact": found.exact, "recall": found.recall})
    else:
        terminal.say(f"Wrote {output}: {message}")


def _summary(found: Neighbourhoods, queries: int, what: str, unknown: int) -> str:
    neighbours = counted(found.ids.shape[1], "neighbour")
    message = f"{neighbours} of {counted(queries, what)}, {_quality(found)}."
    if unknown:
        message += f" Skipped {unknown:,} of {counted(unknown + queries, 'line')}: unknown terms."
    return message


def _queries(
    terms: list[str] | None, vector: str | None, file: Path | None, lookup: Lookup
) -> tuple[list[str], NDArray[Any]]:
    """Queries of the command line: names, and ids or vectors."""
    import numpy as np

    from pyke.errors import UsageError

    if terms:
        ids = np.array([lookup.find(term) for term in terms])
        return [lookup.terms[i] for i in ids], ids
    if file:
        rows = _vectors_in(file)
        return [str(number) for number in range(len(rows))], rows
    try:
        numbers = [float(number) for number in str(vector).split(",")]
    except ValueError:
        raise UsageError(
            f"`vector` is {vector!r}; it must be numbers with commas, like 0.1,-0.2,3"
        ) from None
    return ["vector"], np.array([numbers], np.float32)


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
        raise DataError(f"{file}: not an array of floating-point numbers in the .npy format")
    return np.atleast_2d(rows)


def _terms_in_file(path: str, lookup: Lookup, on_error: str) -> tuple[list[str], NDArray[Any], int]:
    """Terms in the lines of a file, their ids, and the number of unknown terms."""
    import numpy as np

    from pyke.core.inputs import Input, compression_of
    from pyke.errors import DataError, UsageError
    from pyke.read.lines import complete_lines

    if on_error not in ("stop", "skip"):
        raise UsageError(f"`on_error` is {on_error!r}; it must be stop or skip")
    skip = on_error == "skip"
    with Input(path, None if path == "-" else compression_of(path)) as file:
        text = b"".join(complete_lines(file, path))  # a device without line breaks never ends
    lines = text.decode("utf-8-sig", "replace").split("\n")
    numbered = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    found = lookup.find_all([name for _, name in numbered])
    pairs = list(zip(numbered, found, strict=True))
    unknown = [f"line {n}: {term}" for (n, _), term in pairs if not isinstance(term, int)]
    ids = np.array([term for term in found if isinstance(term, int)], np.int64)
    if unknown and not (skip and len(ids)):
        more = f"; and {n:,} more" if (n := len(unknown) - SHOWN_PROBLEMS) > 0 else ""
        advice = "" if skip else '. Use `on_error="skip"` to skip them'
        problems = "; ".join(unknown[:SHOWN_PROBLEMS])
        raise DataError(
            f"{path}: {len(unknown):,} of {len(numbered):,} lines are unknown terms: "
            f"{problems}{more}{advice}"
        )
    if not len(ids):
        raise DataError(f"{path} is empty; it must have one term per line")
    return [name for (_, name), term in pairs if isinstance(term, int)], ids, len(unknown)


def _show(names: list[str], found: Neighbourhoods, embedding: Embedding, as_json: bool) -> None:
    if as_json:
        columns = _columns(names, found.ids, found.distances, embedding)
        found_rows = zip(*columns.values(), strict=True)
        terminal.print_json([dict(zip(KINDS, row, strict=True)) for row in found_rows])
        return
    for number, name in enumerate(names):
        part = slice(number, number + 1)
        columns = _columns([name], found.ids[part], found.distances[part], embedding)
        has_labels = any(columns["label"])
        rows = [
            [str(rank), f"{distance:.4f}", *([label or ""] if has_labels else []), term]
            for _, rank, term, distance, label in zip(*columns.values(), strict=True)
        ]
        header = ["", "distance", *(["label"] if has_labels else []), "term"]
        print_table(header, rows, right=(0, 1), title=name if len(names) > 1 else "")
    if not found.exact:
        terminal.say(f"Neighbours are {_quality(found)}.")


def _quality(found: Neighbourhoods) -> str:
    return "exact" if found.exact else f"approximate (recall {found.recall:.2%})"


def _write(
    output: str,
    names: list[str],
    found: Neighbourhoods,
    embedding: Embedding,
    force: bool,
    as_json: bool,
) -> None:
    from pyke.core.tables import write_table

    starts = range(0, len(names), QUERIES_AT_ONCE)
    parts = [slice(begin, begin + QUERIES_AT_ONCE) for begin in starts]
    blocks = (_columns(names[at], found.ids[at], found.distances[at], embedding) for at in parts)
    write_table(output, KINDS, blocks, force, ".jsonl" if as_json and output == "-" else None)


def _columns(names: list[str], ids: Ids, distances: Floats, embedding: Embedding) -> Columns:
    """Neighbours of some queries, one per row."""
    from pyke.embedding.lookup import texts_at

    query, rank = (ids >= 0).nonzero()
    neighbours = ids[query, rank]
    shortest = distances[query, rank].astype(str).astype(float)  # the digits of a 32-bit number
    return {
        "query": [names[q] for q in query.tolist()],
        "rank": (rank + 1).tolist(),
        "term": texts_at(embedding.terms, neighbours),
        "distance": shortest.tolist(),
        "label": embedding.lookup().labels_of(neighbours),
    }
