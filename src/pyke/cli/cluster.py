"""Clusters: each term's in a table, and what there is to say of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyke.cli import terminal
from pyke.cli.options import AsJson, Directory, Force, Threads, app

if TYPE_CHECKING:
    from pyke.core.tables import Columns
    from pyke.embedding.embedding import Embedding
    from pyke.use.clusters.describe import Cluster, ClusterTable, Trait

ROWS_AT_ONCE = 1 << 16
MOST_SHOWN = 30  # clusters on the terminal
MEMBER_KINDS = {"term": str, "label": str, "cluster": int, "name": str}
SUMMARY_KINDS = {
    "cluster": int, "name": str, "size": int, "type": str, "type_share": float, "type_usual": float, "types": str,
    "context": str, "context_share": float, "context_usual": float, "exemplar": str, "exemplar_label": str,
}  # fmt: skip


@app.command()
def cluster(
    directory: Directory,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The table of terms to write: .parquet, .csv, .tsv or .jsonl.",
            show_default=False,
        ),
    ],
    summary: Annotated[Path | None, typer.Option(help="Write the table of clusters, too.")] = None,
    typed: Annotated[bool, typer.Option("--typed", help="Only terms that have a type.")] = False,
    min_cluster_size: Annotated[int, typer.Option(help="Least members of a cluster.")] = 26,
    min_samples: Annotated[
        int,
        typer.Option(
            help="Neighbours that tell how dense it is around a term; more make more noise."
        ),
    ] = 29,
    exact: Annotated[
        bool, typer.Option("--exact", help="Exact clusters, however many terms there are.")
    ] = False,
    threads: Threads = None,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Group the terms that lie close together, and tell what each group is. Predicates and classes are left out."""
    from pyke.core.tables import STANDARD_OUTPUT, check_table, write_table
    from pyke.embedding.embedding import load
    from pyke.errors import DataError, UsageError
    from pyke.use.clusters.describe import cluster as find

    for path in filter(None, (output, summary)):
        check_table(path, force)
        if str(path) == STANDARD_OUTPUT:
            raise UsageError(
                "tables of clusters are written to files; standard output shows what they are"
            )
    embedding = load(directory)
    with terminal.Shown() as progress:
        found = find(
            embedding,
            min_cluster_size,
            min_samples,
            typed=typed,
            exact=True if exact else None,
            threads=threads,
            progress=progress,
        )
    if not found.clusters:
        raise DataError(f"no cluster found: all {len(found.ids):,} terms are noise, and nothing was written. Clusters have at least "
                        f"{min_cluster_size} members; a smaller --min-cluster-size or --min-samples finds smaller or sparser ones.")  # fmt: skip
    write_table(output, MEMBER_KINDS, _members(embedding, found), force)
    if summary:
        write_table(summary, SUMMARY_KINDS, [_summary(embedding, found)], force)
    if json_:
        noise = {"noise": found.noise, "terms": len(found.ids), "exact": found.exact}
        terminal.print_json(
            {"output": str(output), **noise, "clusters": [asdict(one) for one in found.clusters]}
        )
    else:
        _show(embedding, found, output)


def _members(embedding: Embedding, found: ClusterTable) -> Iterator[Columns]:
    from pyke.embedding.lookup import texts_at

    lookup, names = (
        embedding.lookup(),
        [*(one.name for one in found.clusters), None],
    )  # noise, −1, has no name
    for begin in range(0, len(found.ids), ROWS_AT_ONCE):
        ids, labels = (
            found.ids[begin : begin + ROWS_AT_ONCE],
            found.labels[begin : begin + ROWS_AT_ONCE].tolist(),
        )
        yield {
            "term": texts_at(embedding.terms, ids),
            "label": lookup.labels_of(ids),
            "cluster": labels,
            "name": [names[label] for label in labels],
        }


def _summary(embedding: Embedding, found: ClusterTable) -> Columns:
    lookup = embedding.lookup()

    def row(one: Cluster) -> tuple[Any, ...]:
        kind, context = next(iter(one.types), None), one.context
        return (
            one.number, one.name, one.size, kind and kind.term, kind and kind.share, kind and kind.usual, ", ".join(map(_shown, one.types)),
            context and context.text, context and context.share, context and context.usual,
            one.exemplar, lookup.label(embedding.terms.find(one.exemplar)),
        )  # fmt: skip

    return dict(zip(SUMMARY_KINDS, zip(*map(row, found.clusters), strict=True), strict=True))


def _shown(trait: Trait) -> str:
    return f"{trait.text} {_shares(trait)}"


def _shares(trait: Trait) -> str:
    return f"{trait.share:.0%} ({trait.usual:.0%})"


def _show(embedding: Embedding, found: ClusterTable, output: Path) -> None:
    lookup = embedding.lookup()
    table = terminal.new_table(
        "", "size", "cluster", "types", "context", "exemplar", right=(0, 1, 4)
    )
    for one in found.clusters[:MOST_SHOWN]:
        types, context = (
            ", ".join(map(_shown, one.types)),
            _shares(one.context) if one.context else "",
        )
        exemplar = lookup.readable(embedding.terms.find(one.exemplar))
        table.add_row(
            str(one.number),
            *map(terminal.inert, (f"{one.size:,}", one.name, types, context, exemplar)),
        )
    terminal.out().print(table)
    more = (
        f" {len(found.clusters) - MOST_SHOWN:,} smaller ones are not shown; --summary FILE writes all."
        if len(found.clusters) > MOST_SHOWN
        else ""
    )
    how = (
        ""
        if found.exact
        else " Clusters are approximate: made from a graph of nearest neighbours; --exact takes longer."
    )
    noise = f"{found.noise:,} of {len(found.ids):,} terms ({found.noise / len(found.ids):.0%}) are in none: noise."
    shares = "Shares are those of the members, in brackets those of all terms; ← p x: they are what x has as p."
    terminal.out().print(
        terminal.inert(
            f"{len(found.clusters):,} clusters in {output}; {noise} {shares}{more}{how}"
        ),
        highlight=False,
    )
