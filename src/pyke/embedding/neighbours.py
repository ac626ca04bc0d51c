"""Nearest neighbours as users get them: for one query, or for many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyke.core.arrays import Floats, Ids
from pyke.core.notebook import data_frame, html_table
from pyke.embedding.lookup import Lookup
from pyke.graph.terms import Terms

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 20  # neighbours, or queries, that a list or a table shows
SHOWN_PER_QUERY = 3


@dataclass(frozen=True)
class Neighbour:
    """A term close to a query."""

    term: str
    distance: float
    label: str | None


class NeighbourList(list[Neighbour]):
    """The nearest neighbours of one query, nearest first. A notebook shows it as a table.

    `query` is the term of the query, or None for a vector.

    Examples
    --------
    >>> NeighbourList([Neighbour("http://e/bob", 0.25, "Bob")], query="http://e/anna")
    nearest to http://e/anna:
      0.2500  http://e/bob (Bob)
    """

    def __init__(self, neighbours: Iterable[Neighbour] = (), query: str | None = None) -> None:
        super().__init__(neighbours)
        self.query = query

    def __repr__(self) -> str:
        lines = [f"{self._title()}:"]
        for one in self[:SHOWN]:
            label = f" ({one.label})" if one.label else ""
            lines.append(f"  {one.distance:.4f}  {one.term}{label}")
        if len(self) > SHOWN:
            lines.append(f"  … {len(self) - SHOWN:,} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        rows = [(one.term, f"{one.distance:.4f}", one.label) for one in self[:SHOWN]]
        headers = ["term", "distance", "label"]
        return html_table(headers, rows, title=self._title(), more=len(self) - SHOWN)

    def _title(self) -> str:
        """Return what the neighbours are neighbours of."""
        return f"nearest to {self.query or 'a vector'}"

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with the columns `term`, `distance` and `label`.

        Examples
        --------
        >>> list(NeighbourList([Neighbour("http://e/bob", 0.25, "Bob")]).to_pandas().columns)
        ['term', 'distance', 'label']
        """
        names = ("term", "distance", "label")
        return data_frame({name: [getattr(one, name) for one in self] for name in names})


@dataclass(frozen=True, eq=False, repr=False)
class Neighbourhoods:
    """The nearest neighbours of many queries as arrays, one row per query, nearest first.

    If a query has fewer than k neighbours, −1 and infinity fill its row.
    """

    ids: Ids  # (queries, k); fewer columns if there are fewer than k terms
    distances: Floats  # the same shape
    exact: bool
    recall: float  # the share of the true neighbours that were found; 1 if exact
    queries: Ids  # the term of each query; −1 for a vector
    terms: Terms

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        how = "exact" if self.exact else f"recall {self.recall:.4f}"
        return f"<pyke.Neighbourhoods: {len(self):,} queries × {self.ids.shape[1]} terms, {how}>"

    def _repr_html_(self) -> str:
        """Return a table for notebooks: the first queries with their first neighbours."""
        rows = [
            [self._query(row), *(self.terms[i] for i in near[:SHOWN_PER_QUERY].tolist() if i >= 0)]
            for row, near in enumerate(self.ids[:SHOWN])
        ]
        shown = min(SHOWN_PER_QUERY, self.ids.shape[1])
        headers = ["query", *(f"{rank}" for rank in range(1, shown + 1))]
        return html_table(headers, rows, title=repr(self), more=len(self) - SHOWN)

    def _query(self, row: int) -> str:
        """Return the term of a query, or the number of a vector."""
        term = int(self.queries[row])
        return self.terms[term] if term >= 0 else f"vector {row}"

    def as_lists(self, lookup: Lookup) -> list[NeighbourList]:
        """Return one list of neighbours, with labels, per query."""
        lists = []
        for query, near, far in zip(self.queries.tolist(), self.ids, self.distances, strict=True):
            found = [
                Neighbour(self.terms[i], float(distance), lookup.label(i))
                for i, distance in zip(near.tolist(), far, strict=True)
                if i >= 0
            ]
            lists.append(NeighbourList(found, self.terms[query] if query >= 0 else None))
        return lists

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with the columns `query`, `rank`, `term` and `distance`.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> e.nearest_of_many(["anna", "heinz"], k=3).to_pandas().shape
        (6, 4)
        """
        rows, ranks = (self.ids >= 0).nonzero()
        return data_frame(
            {
                "query": [self._query(row) for row in rows.tolist()],
                "rank": ranks + 1,
                "term": [self.terms[i] for i in self.ids[rows, ranks].tolist()],
                "distance": self.distances[rows, ranks],
            }
        )
