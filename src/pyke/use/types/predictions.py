"""Predicted types: the result of predict.py."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.notebook import html_table
from pyke.embedding.embedding import Embedding
from pyke.embedding.lookup import texts_at
from pyke.errors import UsageError
from pyke.use.types.calibration import Calibration, CurveCalibration, Measured
from pyke.use.types.kinds import Kinds
from pyke.use.types.rows import PredictedRows
from pyke.use.types.write import can_be_named, is_iri, write_predictions

SHOWN = 10  # predictions in a notebook


@dataclass(frozen=True)
class Prediction:
    """One predicted type."""

    term: str
    label: str | None
    type: str
    type_label: str | None
    votes: int  # neighbours with this type
    share: float  # of the weight of all neighbours
    confidence: float
    measured: bool  # whether the confidence was measured on subjects like this one


@dataclass(frozen=True)
class PredictedClass:
    """All predictions of one class, with the most confident one as an example.

    The example is a term with an IRI if there is one.
    """

    type: str
    label: str | None
    predictions: int
    measured: int  # those of them whose confidence was measured …
    expected_right: float | None  # … and the share of these that is expected to be correct
    example: str
    example_label: str | None


@dataclass(frozen=True)
class Unmeasured:
    """Terms that are unlike all typed subjects, so that no confidence was measured for them."""

    terms: int
    roles: tuple[tuple[str, bool], ...]  # predicate, and whether the terms are its subjects …
    namespace: str | None  # … or a namespace or host of which hardly any entity has a type
    example: str


@dataclass(frozen=True, eq=False)
class Predictions(PredictedRows[Prediction]):
    """Predicted types, by subject and descending confidence, without those stated in the graph.

    Examples
    --------
    >>> import pyke
    >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
    >>> e.predict_types(mu=2, only_untyped=False, min_confidence=1)
    <Predictions: 0 types of 0 subjects; 9 subjects were tried>
    """

    embedding: Embedding
    subjects: Ids
    classes: Ids
    votes: Ids
    shares: NDArray[np.float64]
    confidences: NDArray[np.float64]
    measured: NDArray[np.bool_]  # whether the confidence was measured on subjects like these
    asked: int  # subjects for which types were to be predicted
    without_voters: int  # those of which no typed neighbour shares a role with them
    kinds: Kinds | None  # None if no term was asked for
    calibration: Calibration
    exact: bool  # whether the search for neighbours was exact …
    recall: float  # … and otherwise the share of the true neighbours that it found

    @classmethod
    def of_nothing(cls, embedding: Embedding) -> Predictions:
        """No predictions, as there was no term to predict types for."""
        ids, shares = np.zeros(0, np.int32), np.zeros(0)
        columns = (ids, ids, ids, shares, shares, np.zeros(0, bool))
        calibration = CurveCalibration(Measured.of([]), 0)
        return cls(embedding, *columns, 0, 0, None, calibration, exact=True, recall=1.0)

    def __repr__(self) -> str:
        expected = f"; {self.expected_right:.1%} are expected to be correct" if len(self) else ""
        return (
            f"<Predictions: {len(self):,} types of {self.predicted_subjects:,} subjects; "
            f"{self.asked:,} subjects were tried{expected}>"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the first predictions."""
        rows = [
            (one.term, one.label, one.type, one.type_label, one.votes, f"{one.confidence:.3f}")
            for one in self.rows(np.arange(min(SHOWN, len(self))))
        ]
        headers = ["term", "label", "type", "type label", "votes", "confidence"]
        return html_table(headers, rows, title=repr(self), more=len(self) - SHOWN)

    _row = Prediction

    def _columns(self, at: NDArray[np.integer]) -> dict[str, list[Any]]:
        terms, lookup = self.embedding.terms, self.embedding.lookup()
        subjects, classes = self.subjects[at], self.classes[at]
        return {
            "term": texts_at(terms, subjects),
            "label": lookup.labels_of(subjects),
            "type": texts_at(terms, classes),
            "type_label": lookup.labels_of(classes),
            "votes": self.votes[at].tolist(),
            "share": self.shares[at].tolist(),
            "confidence": self.confidences[at].tolist(),
            "measured": self.measured[at].tolist(),
        }

    def select(
        self,
        min_confidence: float = 0.8,
        precision: float | None = None,
        unmeasured: bool = False,
        for_rdf: bool = False,
    ) -> Predictions:
        """The predictions with at least this confidence, or as many as this precision allows.

        Parameters
        ----------
        min_confidence
            Drop predictions with a lower confidence, from 0 to 1.
        precision
            Instead: keep as many predictions as possible while this share of them is expected to
            be correct.
        unmeasured
            Also keep predictions whose confidence was not measured on subjects like theirs.
        for_rdf
            Let `precision` be that of the predictions that RDF files can contain. Most blank nodes
            may be easy, and the rest would be less precise.

        Examples
        --------
        >>> import pyke
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> found = e.predict_types(mu=2, only_untyped=False, min_confidence=0)
        >>> len(found.select(min_confidence=0.9)) <= len(found)
        True
        """
        check_selection(min_confidence, precision)
        allowed = self.measured | unmeasured
        if precision is not None:
            counted = allowed & self.nameable if for_rdf else allowed
            min_confidence = threshold(self.confidences[counted], precision)
        kept = np.flatnonzero(allowed & (self.confidences >= min_confidence))
        columns = ("subjects", "classes", "votes", "shares", "confidences", "measured")
        return replace(self, **{name: getattr(self, name)[kept] for name in columns})

    def not_measured(self) -> list[Unmeasured]:
        """Terms whose predictions have no measured confidence, and why; the most frequent first."""
        terms = self.embedding.terms
        return [
            Unmeasured(
                one.terms,
                tuple((terms[predicate], is_subject) for predicate, is_subject in one.roles),
                namespace(terms[one.example], one.of_host) if one.in_new_namespace else None,
                terms[one.example],
            )
            for one in (self.kinds.not_measured() if self.kinds else ())
        ]

    @property
    def predicted_subjects(self) -> int:
        """Number of subjects with a predicted type."""
        return len(np.unique(self.subjects))

    @cached_property
    def nameable(self) -> NDArray[np.bool_]:
        """Which predictions RDF files can contain: subject and class have valid IRIs.

        Blank nodes have no IRI. Invalid IRIs come from tables, and from files with errors.
        """
        named = can_be_named(self.embedding.terms, self.subjects, self.classes)
        return named & is_iri(self.type_predicate)

    @property
    def of_typed(self) -> int:
        """Number of predictions for subjects that already have a type."""
        return int(np.isin(self.subjects, self.embedding.types[:, 0]).sum())

    @property
    def type_predicate(self) -> str:
        """The predicate that states types in this graph."""
        return self.embedding.config().type_predicate

    def by_class(self) -> list[PredictedClass]:
        """Predicted classes, the most frequent first."""
        order = np.lexsort((-self.confidences, ~self.nameable, self.classes))
        classes, first, counts = np.unique(
            self.classes[order], return_index=True, return_counts=True
        )
        groups, measured = np.repeat(np.arange(len(classes)), counts), self.measured[order]
        numbers = np.bincount(groups, measured)
        sums = np.bincount(groups, np.where(measured, self.confidences[order], 0))
        shares = [total / n if n else None for total, n in zip(sums.tolist(), numbers, strict=True)]
        found = [
            PredictedClass(one.type, one.type_label, count, int(n), share, one.term, one.label)
            for one, count, n, share in zip(
                self.rows(order[first]), counts.tolist(), numbers, shares, strict=True
            )
        ]
        return sorted(found, key=lambda one: (-one.predictions, one.type))

    def as_dict(self) -> dict[str, Any]:
        """Summary for JSON, without the single predictions."""
        c = self.calibration
        return {
            "predictions": len(self),
            "subjects": self.predicted_subjects,
            "asked": self.asked,
            "without_voters": self.without_voters,
            "of_typed": self.of_typed,
            "not_in_rdf": self.not_in_rdf,
            "expected_right": self.expected_precision(),
            "mu": c.mu,
            "exact": self.exact,
            "recall": self.recall,
            "classes": [asdict(one) for one in self.by_class()],
            "not_measured": [asdict(one) for one in self.not_measured()],
            "calibration": {
                "subjects": c.measured.subjects,
                "types": c.measured.types,
                "levels": [asdict(level) for level in c.levels()],
            },
        }

    def write(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write the predictions as RDF or as a table; the extension determines the format.

        Parameters
        ----------
        path
            A file with the extension .nt, .ttl or .trig (RDF; the last two with confidence), or
            .csv, .tsv, .jsonl or .parquet (tables). All but .parquet can be followed by .gz or
            another compression.
        force
            Replace an existing file.

        Examples
        --------
        >>> import pyke, tempfile
        >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
        >>> found = e.predict_types(mu=2, only_untyped=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.write(f"{folder}/types.ttl")
        """
        write_predictions(self, path, force)


def check_selection(min_confidence: float, precision: float | None) -> None:
    """Raise an error unless both are shares."""
    for name, value in (("min_confidence", min_confidence), ("precision", precision)):
        if value is not None and not 0 <= value <= 1:
            raise UsageError(f"`{name}` is {value}; it must be from 0 to 1")


def threshold(confidences: NDArray[np.float64], precision: float) -> float:
    """The lowest confidence so that this share of the predictions above is expected correct."""
    falling = -np.sort(-confidences)
    enough = np.cumsum(falling) >= precision * np.arange(1, len(falling) + 1)
    # Equal confidences stay together: the last of them decides.
    last = np.append(np.diff(falling) != 0, True) if len(falling) else np.zeros(0, bool)
    found = falling[enough & last]
    return float(found[-1]) if len(found) else 2.0


def namespace(term: str, of_host: bool = False) -> str:
    """The text of a term up to the last / or #, or without these up to the last colon.

    With `of_host`, at most up to the third slash.

    Examples
    --------
    >>> namespace("http://dbpedia.org/resource/Karlsruhe")
    'http://dbpedia.org/resource/'
    """
    cut = max(term.rfind("/"), term.rfind("#")) + 1
    found = "_:" if term.startswith("_:") else term[: cut or term.rfind(":") + 1]
    return "/".join(found.split("/")[:3]) + "/" if of_host and found.count("/") > 2 else found
