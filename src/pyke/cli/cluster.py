"""`pyke cluster`: clusters of terms, and what their members have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyke.cli import terminal
from pyke.cli.messages import counted
from pyke.cli.options import AsJson, Directory, Force, Threads
from pyke.cli.tables import print_table

if TYPE_CHECKING:
    from pyke.core.tables import Columns
    from pyke.embedding.embedding import Embedding
    from pyke.use.clusters.describe import Cluster, ClusterTable
    from pyke.use.clusters.traits import Trait

ROWS_AT_ONCE = 1 << 16
SHOWN_CLUSTERS = 30
MEMBER_KINDS = {"term": str, "label": str, "cluster": int, "name": str}
SUMMARY_KINDS = {
    "cluster": int, "name": str, "size": int,
    "type": str, "type_share": float, "type_usual": float, "types": str,
    "context": str, "context_share": float, "context_usual": float,
    "exemplar": str, "exemplar_label": str,
}  # fmt: skip


_Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Write the cluster of each term to a table: .parquet, .csv, .tsv or .jsonl.",
    ),
]
_Summary = Annotated[Path | None, typer.Option(help="Write a table of the clusters.")]
_Typed = Annotated[bool, typer.Option("--typed", help="Only terms that have a type.")]
_MinClusterSize = Annotated[int, typer.Option(help="Minimum number of members of a cluster.")]
_MinSamples = Annotated[
    int,
    typer.Option(help="Neighbours that define the density; higher values give more noise."),
]
_Exact = Annotated[bool, typer.Option("--exact", help="Exact clusters, also on large graphs.")]


def cluster(
    directory: Directory,
    output: _Output = None,
    summary: _Summary = None,
    typed: _Typed = False,
    min_cluster_size: _MinClusterSize = 26,
    min_samples: _MinSamples = 29,
    exact: _Exact = False,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Find clusters of similar terms and describe them; predicates and classes are excluded."""
    from pyke.core.tables import STANDARD_OUTPUT, check_table, write_table
    from pyke.embedding.embedding import load
    from pyke.errors import DataError, UsageError
    from pyke.use.clusters.describe import cluster as find

    for path in filter(None, (output, summary)):
        check_table(path, force)
        if str(path) == STANDARD_OUTPUT:
            raise UsageError("`output` and `summary` must be files, not standard output")
    if output and summary and Path(output).resolve() == Path(summary).resolve():
        raise UsageError("`output` and `summary` are the same file; choose two")
    embedding = load(directory)
    with terminal.ShownProgress() as progress:
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
        raise DataError(
            f"no cluster found: all {len(found.ids):,} terms are noise. Nothing was written. "
            "Try a lower `min_cluster_size` or `min_samples`."
        )
    if output:
        write_table(output, MEMBER_KINDS, _members(embedding, found), force)
    if summary:
        write_table(summary, SUMMARY_KINDS, [_summary(embedding, found)], force)
    if as_json:
        counts = {"noise": found.noise, "terms": len(found.ids), "exact": found.exact}
        clusters = [asdict(one) for one in found.clusters]
        terminal.print_json({"output": output and str(output), **counts, "clusters": clusters})
    else:
        _show(embedding, found, output)


def _members(embedding: Embedding, found: ClusterTable) -> Iterator[Columns]:
    from pyke.embedding.lookup import texts_at

    lookup = embedding.lookup()
    names = [*(one.name for one in found.clusters), None]  # noise, −1, has no name
    for begin in range(0, len(found.ids), ROWS_AT_ONCE):
        ids = found.ids[begin : begin + ROWS_AT_ONCE]
        labels = found.labels[begin : begin + ROWS_AT_ONCE].tolist()
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
            one.number, one.name, one.size,
            kind and kind.term, kind and kind.share, kind and kind.usual,
            ", ".join(map(_described, one.types)),
            context and context.text, context and context.share, context and context.usual,
            one.exemplar, lookup.label(embedding.terms.find(one.exemplar)),
        )  # fmt: skip

    return dict(zip(SUMMARY_KINDS, zip(*map(row, found.clusters), strict=True), strict=True))


def _described(trait: Trait) -> str:
    return f"{trait.text} {_shares(trait)}"


def _shares(trait: Trait) -> str:
    return f"{trait.share:.0%} ({trait.usual:.0%})"


def _show(embedding: Embedding, found: ClusterTable, output: Path | None) -> None:
    lookup = embedding.lookup()
    rows = [
        (
            str(one.number),
            f"{one.size:,}",
            one.name,
            ", ".join(map(_described, one.types)),
            _shares(one.context) if one.context else "",
            lookup.readable(embedding.terms.find(one.exemplar)),
        )
        for one in found.clusters[:SHOWN_CLUSTERS]
    ]
    columns = ("", "size", "cluster", "types", "context", "exemplar")
    print_table(columns, rows, right=(0, 1, 4))
    number = counted(len(found.clusters), "cluster")
    terminal.say(f"Wrote {number} to {output}." if output else f"Found {number}.")
    share = found.noise / len(found.ids)
    terminal.say(f"{found.noise:,} of {len(found.ids):,} terms ({share:.0%}) are noise.")
    terminal.say(
        "Percentages are shares of the members; in brackets, of all terms. "
        "← p x means: x has them as p."
    )
    if (more := len(found.clusters) - SHOWN_CLUSTERS) > 0:
        terminal.say(f"{more:,} smaller clusters are not shown; use --summary FILE for all.")
    if not found.exact:
        terminal.say("Clusters are approximate; use --exact for exact ones, which takes longer.")
