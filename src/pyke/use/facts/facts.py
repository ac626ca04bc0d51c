"""Predicted facts: the result of complete.py."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.notebook import html_table
from pyke.embedding.embedding import Embedding
from pyke.embedding.lookup import texts_at
from pyke.use.facts.trial import Outcome, Trial
from pyke.use.types.predictions import SHOWN, check_selection, threshold
from pyke.use.types.rows import PredictedRows
from pyke.use.types.write import Statement, can_be_named, write_statements

MIN_SUBJECTS = 10  # of a predicate that can be predicted
MIN_MEASURED = 5  # predicted withheld facts of a predicate with at least the wanted confidence
PASSES = 3  # which facts are measured depends on the threshold, and the other way round
_COLUMNS = {
    "term": str,
    "label": str,
    "predicate": str,
    "object": str,
    "object_label": str,
    "votes": int,
    "share": float,
    "link": float,
    "confidence": float,
    "likelihood": float,
    "measured": bool,
}


_ARRAYS = (
    "subjects", "predicates", "objects", "votes", "shares", "links", "confidences", "likelihoods",
    "measured",
)  # fmt: skip


class Reason(StrEnum):
    """Why no facts of a predicate are offered."""

    LITERALS = "all objects are literals"
    FEW = f"fewer than {MIN_SUBJECTS} subjects"
    DIFFERENT = "all objects are different"
    NOBODY = "no similar entity lacks it"
    UNSURE = "no fact reaches the confidence"
    UNMEASURED = f"fewer than {MIN_MEASURED} withheld facts reach the confidence"


@dataclass(frozen=True)
class Fact:
    """One predicted fact."""

    term: str
    label: str | None
    predicate: str
    object: str
    object_label: str | None
    votes: int  # neighbours with this object
    share: float  # of the weight of all neighbours
    link: float  # strength of another predicate that links term and object; 0 without
    confidence: float  # that the object is correct, if the term has the predicate
    likelihood: float  # that a term like this has the predicate in the graph
    measured: bool  # whether enough withheld facts of the predicate had the wanted confidence


@dataclass(frozen=True)
class Studied:
    """A predicate of the graph, and whom it was predicted for."""

    term: int
    predicate: int  # position in `graph.predicates`
    subjects: int
    asked: int  # entities that lack it, while similar entities have it
    functional: bool  # subjects have one object, so that at most one is predicted
    refused: Reason | None


@dataclass(frozen=True)
class CompletedPredicate:
    """A predicate: what was measured, and what is offered."""

    predicate: str
    label: str | None
    subjects: int
    lacking: int  # entities that lack it, while similar entities have it
    functional: bool
    tested: int  # withheld facts
    precision: float | None  # of the predicted facts with the confidence, on withheld subjects
    recall: float | None  # share of the withheld facts that were predicted with the confidence
    top1: float | None  # share of the likely withheld subjects whose first object is correct
    facts: int  # offered
    reason: Reason | None  # why none is


@dataclass(frozen=True, eq=False)
class Facts(PredictedRows[Fact]):
    """Predicted facts, by subject, predicate and descending confidence."""

    embedding: Embedding
    subjects: Ids
    predicates: Ids  # term ids
    objects: Ids
    votes: Ids
    shares: NDArray[np.float64]
    links: NDArray[np.float64]
    confidences: NDArray[np.float64]
    likelihoods: NDArray[np.float64]
    measured: NDArray[np.bool_]
    not_measured: Ids  # predicates (term ids) with facts that were dropped for this reason
    min_confidence: float
    entities: int  # that were examined
    studied: tuple[Studied, ...]
    trial: Trial

    def __repr__(self) -> str:
        expected = f"; {self.expected_right:.1%} are expected to be correct" if len(self) else ""
        return (
            f"<Facts: {len(self):,} of {len(np.unique(self.subjects)):,} subjects and "
            f"{len(np.unique(self.predicates)):,} predicates{expected}>"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the first facts."""
        rows = [
            (
                one.label or one.term,
                one.predicate,
                one.object_label or one.object,
                one.votes,
                f"{one.confidence:.3f}",
                f"{one.likelihood:.3f}",
            )
            for one in self.rows(np.arange(min(SHOWN, len(self))))
        ]
        headers = ["term", "predicate", "object", "votes", "confidence", "likelihood"]
        return html_table(headers, rows, title=repr(self), more=len(self) - SHOWN)

    _row = Fact

    def _columns(self, at: NDArray[np.integer]) -> dict[str, list[Any]]:
        terms, lookup = self.embedding.terms, self.embedding.lookup()
        subjects, objects = self.subjects[at], self.objects[at]
        return {
            "term": texts_at(terms, subjects),
            "label": lookup.labels_of(subjects),
            "predicate": texts_at(terms, self.predicates[at]),
            "object": texts_at(terms, objects),
            "object_label": lookup.labels_of(objects),
            "votes": self.votes[at].tolist(),
            "share": self.shares[at].tolist(),
            "link": self.links[at].tolist(),
            "confidence": self.confidences[at].tolist(),
            "likelihood": self.likelihoods[at].tolist(),
            "measured": self.measured[at].tolist(),
        }

    def select(
        self,
        min_confidence: float = 0.9,
        precision: float | None = None,
        unmeasured: bool = False,
        for_rdf: bool = False,
    ) -> Facts:
        """The facts with at least this confidence, or as many as this precision allows.

        Parameters
        ----------
        min_confidence
            Drop facts with a lower confidence, from 0 to 1.
        precision
            Instead: keep as many facts as possible while this share of them is expected to be
            correct.
        unmeasured
            Also keep facts of predicates of which hardly any withheld fact had such a confidence.
        for_rdf
            Let `precision` be that of the facts that RDF files can contain.
        """
        check_selection(min_confidence, precision)
        least = self.min_confidence if precision is not None else min_confidence
        for _ in range(PASSES if precision is not None else 0):
            allowed = self._are_measured(least) | unmeasured
            allowed &= self.nameable | (not for_rdf)
            least = threshold(self.confidences[allowed], precision or 0.0)
        least = max(least, self.min_confidence)
        measured, sure = self._are_measured(least), self.confidences >= least
        kept = np.flatnonzero(sure & (measured | unmeasured))
        rows = {name: getattr(self, name)[kept] for name in _ARRAYS} | {"measured": measured[kept]}
        dropped = np.unique(self.predicates[sure & ~measured & (not unmeasured)])
        dropped = np.union1d(dropped, self.not_measured).astype(np.int32)
        return replace(self, **rows, not_measured=dropped, min_confidence=least)

    def _are_measured(self, min_confidence: float) -> NDArray[np.bool_]:
        """Which facts are of a predicate with enough withheld facts of at least this confidence."""
        made, _ = self.trial.confidences.counts(min_confidence, len(self.embedding))
        enough = np.zeros(len(self.embedding), bool)
        for one in self.studied:
            enough[one.term] = made[one.predicate] >= MIN_MEASURED
        found: NDArray[np.bool_] = enough[self.predicates]
        return found

    @cached_property
    def nameable(self) -> NDArray[np.bool_]:
        """Which facts RDF files can contain: all three terms have valid IRIs."""
        return can_be_named(self.embedding.terms, self.subjects, self.predicates, self.objects)

    def by_predicate(self) -> list[CompletedPredicate]:
        """All predicates: those with the most offered facts first, then by subjects."""
        offered = np.bincount(self.predicates, minlength=len(self.embedding))
        made, right = self.trial.confidences.counts(self.min_confidence, len(self.embedding))
        found = [
            self._completed(one, int(made[one.predicate]), int(right[one.predicate]),
                            int(offered[one.term]))
            for one in self.studied
        ]  # fmt: skip
        return sorted(found, key=lambda one: (-one.facts, -one.subjects, one.predicate))

    def _completed(self, one: Studied, made: int, right: int, offered: int) -> CompletedPredicate:
        outcome = self.trial.outcomes.get(one.predicate, Outcome())
        reason = one.refused
        if reason is None and not offered:
            reason = Reason.UNSURE if one.asked else Reason.NOBODY
            if one.term in self.not_measured:
                reason = Reason.UNMEASURED
        return CompletedPredicate(
            self.embedding.terms[one.term],
            self.embedding.label(one.term),
            one.subjects,
            one.asked,
            one.functional,
            outcome.facts,
            right / made if made else None,
            right / outcome.facts if outcome.facts else None,
            outcome.first_right / outcome.likely if outcome.likely else None,
            offered,
            reason,
        )

    def as_dict(self) -> dict[str, Any]:
        """Summary for JSON, without the single facts."""
        confidences = self.trial.confidences
        return {
            "facts": len(self),
            "subjects": len(np.unique(self.subjects)),
            "entities": self.entities,
            "not_in_rdf": self.not_in_rdf,
            "expected_right": self.expected_right,
            "min_confidence": self.min_confidence,
            "mu": confidences.voted.mu,
            "predicates": [asdict(one) for one in self.by_predicate()],
            "calibration": {
                "subjects": confidences.voted.measured.subjects,
                "facts": confidences.voted.measured.types,
                "votes": [asdict(level) for level in confidences.voted.levels()],
                "links": [asdict(level) for level in confidences.linked.levels()],
            },
        }

    def write(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write the facts as RDF or as a table; the extension determines the format.

        Parameters
        ----------
        path
            A file with the extension .nt, .ttl or .trig (RDF; the last two with confidence), or
            .csv, .tsv, .jsonl or .parquet (tables). All but .parquet can be followed by .gz or
            another compression.
        force
            Replace an existing file.
        """
        write_statements(path, self._statements(), _COLUMNS, self.blocks(), force)

    def _statements(self) -> Iterator[Statement]:
        for one in self.rows(np.flatnonzero(self.nameable)):
            measured = "" if one.measured else " ; pyke:measured false"
            figures = (
                f"pyke:confidence {one.confidence:.4f} ; pyke:votes {one.votes} ; "
                f"pyke:share {one.share:.4f} ; pyke:link {one.link:.4f} ; "
                f"pyke:likelihood {one.likelihood:.4f}{measured}"
            )
            yield Statement(one.term, one.predicate, one.object, figures)
