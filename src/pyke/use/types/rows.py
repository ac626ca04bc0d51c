"""What predicted types and predicted facts share: a sequence of rows that is read in blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.notebook import data_frame

if TYPE_CHECKING:
    import pandas as pd

Row = TypeVar("Row")
ROWS_AT_ONCE = 1 << 14


class PredictedRows(ABC, Generic[Row]):
    """Predictions as a sequence of rows with a confidence."""

    subjects: Ids
    confidences: NDArray[np.float64]
    measured: NDArray[np.bool_]  # whether the confidence was measured

    @abstractmethod
    def _columns(self, at: NDArray[np.integer]) -> dict[str, list[Any]]:
        """Columns of the rows at some positions, named as the fields of a row."""

    @staticmethod
    @abstractmethod
    def _row(*values: Any) -> Row:
        """One row."""

    @property
    @abstractmethod
    def nameable(self) -> NDArray[np.bool_]:
        """Which rows RDF files can contain: all their terms have valid IRIs."""

    def __len__(self) -> int:
        return len(self.subjects)

    def __iter__(self) -> Iterator[Row]:
        return self.rows(np.arange(len(self)))

    def __getitem__(self, at: int) -> Row:
        return next(self.rows(np.array([range(len(self))[at]])))

    def rows(self, chosen: NDArray[np.integer]) -> Iterator[Row]:
        """Rows at some positions, in this order."""
        for block in self.blocks(chosen):
            for values in zip(*block.values(), strict=True):
                yield self._row(*values)

    def blocks(self, chosen: NDArray[np.integer] | None = None) -> Iterator[dict[str, list[Any]]]:
        """Columns of many rows at a time; `chosen` are positions, by default all."""
        chosen = np.arange(len(self)) if chosen is None else chosen
        return (
            self._columns(chosen[begin : begin + ROWS_AT_ONCE])
            for begin in range(0, len(chosen), ROWS_AT_ONCE)
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas DataFrame with the fields of a row as columns.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> list(e.predict_types(mu=2, only_untyped=False).to_pandas().columns)[4:]
        ['votes', 'share', 'confidence', 'measured']
        """
        return data_frame(self._columns(np.arange(len(self))))

    @property
    def expected_right(self) -> float:
        """The share of the measured predictions that is expected to be correct."""
        return self.expected_precision() or 0.0

    def expected_precision(self, for_rdf: bool = False) -> float | None:
        """The same, or None without measured predictions; `for_rdf`: of those in RDF files."""
        chosen = self.measured & self.nameable if for_rdf else self.measured
        return float(self.confidences[chosen].mean()) if chosen.any() else None

    @property
    def not_in_rdf(self) -> int:
        """Number of predictions with blank nodes or invalid IRIs: only tables contain them."""
        return int((~self.nameable).sum())
