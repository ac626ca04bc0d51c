"""Export for Embedding Atlas: the map of `pyke plot`, with short labels, types and clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pyke.core.arrays import Floats
from pyke.core.arrow import require_pyarrow
from pyke.core.compress import Block
from pyke.core.files import write_stream
from pyke.embedding.lookup import Lookup
from pyke.errors import UsageError
from pyke.use.clusters.describe import cluster
from pyke.use.clusters.hdbscan import MAX_EXACT
from pyke.use.export.rows import Options, Outcome, Part, Rows
from pyke.use.export.tables import PURPOSE, lists, parquet_groups, strings
from pyke.use.maps.classes import ClassTree
from pyke.use.maps.groups import by_type
from pyke.use.maps.layout import layout as map_layout
from pyke.use.maps.names import shortened
from pyke.use.maps.selection import PALETTE
from pyke.use.maps.view import METHODS, View
from pyke.use.neighbours import search

if TYPE_CHECKING:
    import pyarrow as pa

MAX_NEIGHBOURS = 256
MAX_LABEL = 60  # letters of a label


def atlas(
    rows: Rows,
    target: str,
    options: Options,
    *,
    neighbours: int = 0,
    layout: str = "",
    clusters: bool | None = None,
) -> Outcome:
    """Write Parquet for Embedding Atlas: term, label, type, cluster, map position and vector.

    `layout` is "pyke", the map of `pyke plot`, or "pca"; by default "pyke" if there are triples.
    `clusters` is by default true for as many entities as are clustered exactly.
    """
    require_pyarrow(PURPOSE)
    if not 0 <= neighbours <= MAX_NEIGHBOURS:
        raise UsageError(f"`neighbours` is {neighbours}; it must be from 0 to {MAX_NEIGHBOURS}")
    if layout not in ("", *METHODS):
        raise UsageError(f"`layout` is {layout!r}; it must be one of: {', '.join(METHODS)}")
    embedding = rows.embedding
    has_graph = bool(embedding.manifest.get("config")) and len(embedding.triples) > 0
    method = layout or ("pyke" if has_graph else "pca")
    if clusters is None:
        clusters = has_graph and 0 < len(embedding.entities) <= MAX_EXACT

    def blocks() -> Iterator[Block]:  # computes the map once the target is known to be writable
        columns = _columns(rows, method, clusters) | _nearest(rows, neighbours, options.threads)
        lookup = embedding.lookup()

        def of(part: Part) -> dict[str, Any]:
            at = slice(*np.searchsorted(rows.ids, [part.ids[0], part.ids[-1] + 1]))
            own = {name: column[at] for name, column in columns.items()}
            label = _labels(lookup, part)
            vector = lists(part.vectors)
            return {"term": strings(part.terms), "label": label, **own, "vector": vector}

        yield from parquet_groups(rows, of)

    write_stream(target, blocks(), options.force)
    return Outcome(note=_note(method, layout, clusters, has_graph))


def _note(method: str, layout: str, clusters: bool, has_graph: bool) -> str:
    """What was left out by default."""
    notes = []
    if method == "pca" and not layout:
        notes.append("The map shows principal components: the embedding has no triples.")
    if not clusters and has_graph:
        notes.append("There are no clusters; `clusters=True` finds them.")
    return " ".join(notes)


def _columns(rows: Rows, method: str, clusters: bool) -> dict[str, Any]:
    """Type, cluster and map position of all rows."""
    import pyarrow as pa

    embedding, ids, progress = rows.embedding, rows.ids, rows.progress
    lookup, tree = embedding.lookup(), ClassTree.of(embedding)
    kinds = by_type(embedding, tree, lookup, ids, len(PALETTE))
    names = [*kinds.names, kinds.other, kinds.none]
    columns = {"type": _dictionary(kinds.of_term[ids], names)}
    numbers, names = np.full(len(embedding), -1, np.int64), []
    if clusters:
        found = cluster(embedding, progress=progress)
        numbers[found.ids] = found.labels
        names = [one.name for one in found.clusters]
    columns["cluster"] = _dictionary(numbers[ids], names)
    (panel,) = map_layout(embedding, View(method=method), progress)
    points: Floats = panel.points[ids]
    return columns | {"x": pa.array(points[:, 0]), "y": pa.array(points[:, 1])}


def _dictionary(codes: Any, names: Sequence[str]) -> pa.Array:
    """The name of each code, null for −1."""
    import pyarrow as pa

    return pa.array([*names, ""], pa.string()).take(pa.array(codes, mask=codes < 0))


def _nearest(rows: Rows, neighbours: int, threads: int) -> dict[str, Any]:
    """The nearest rows of each row, if `neighbours` is not 0."""
    import pyarrow as pa

    k = min(neighbours, len(rows) - 1)
    if not k:
        return {}
    vectors, own = rows.vectors, np.arange(len(rows))
    rows.progress.stage("neighbours", len(rows), "terms")
    found = search.nearest_of_many(
        vectors, vectors, k, own, threads=threads, progress=rows.progress
    )
    pair = [lists(found.ids), lists(np.sqrt(found.squares))]
    # Embedding Atlas expects American spelling.
    return {"neighbors": pa.StructArray.from_arrays(pair, ["ids", "distances"])}


def _labels(lookup: Lookup, part: Part) -> pa.Array:
    """A short label of each row: that of the graph, or the local name as words."""
    import pyarrow as pa

    names = (shortened(lookup.title(term), MAX_LABEL) for term in part.ids.tolist())
    return pa.array(list(names), pa.string())
