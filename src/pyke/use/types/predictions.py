"""Predicted types, and how they are written: as RDF, with the confidence where the syntax has room for it, or as a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.files import check_output_file, write_stream
from pyke.core.inputs import extension_of
from pyke.core.tables import check_table, write_table
from pyke.embedding.embedding import Embedding
from pyke.embedding.lookup import texts_at
from pyke.errors import UsageError
from pyke.use.types.calibration import Calibration

PREDICTIONS_AT_ONCE = 1 << 14
VOCABULARY = "urn:pyke:"
_PREFIXES = (
    f"PREFIX pyke: <{VOCABULARY}>\nPREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>\n\n"
)


@dataclass(frozen=True)
class Prediction:
    """One predicted type."""

    term: str
    label: str | None
    type: str
    type_label: str | None
    votes: int
    confidence: float


@dataclass(frozen=True)
class PredictedClass:
    """A class that was predicted: how often, the part that should be right, and the surest subject, one with a name if there is any."""

    type: str
    label: str | None
    predictions: int
    expected_right: float
    example: str
    example_label: str | None


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predicted types, by subject and falling confidence; the stated ones are not among them."""

    embedding: Embedding = field(repr=False)
    subjects: Ids
    classes: Ids
    votes: Ids
    confidences: NDArray[np.float64]
    asked: int
    without_voters: int  # asked, but no typed neighbour has a predicate in common with them
    calibration: Calibration
    exact: bool
    recall: float  # of the neighbours, where they were found by an index

    def __len__(self) -> int:
        return len(self.subjects)

    def __iter__(self) -> Iterator[Prediction]:
        return (
            Prediction(*row) for block in self.blocks() for row in zip(*block.values(), strict=True)
        )

    def __getitem__(self, at: int) -> Prediction:
        return Prediction(
            *(column[0] for column in self._columns(np.array([range(len(self))[at]])).values())
        )

    def blocks(self, chosen: NDArray[np.integer] | None = None) -> Iterator[dict[str, list[Any]]]:
        """Columns of many predictions at once, named as the fields of a Prediction; of some of them, if these are chosen."""
        chosen = np.arange(len(self)) if chosen is None else chosen
        return (
            self._columns(chosen[begin : begin + PREDICTIONS_AT_ONCE])
            for begin in range(0, len(chosen), PREDICTIONS_AT_ONCE)
        )

    def _columns(self, at: NDArray[np.integer]) -> dict[str, list[Any]]:
        terms, lookup, subjects, classes = (
            self.embedding.terms,
            self.embedding.lookup(),
            self.subjects[at],
            self.classes[at],
        )
        return {
            "term": texts_at(terms, subjects), "label": lookup.labels_of(subjects),
            "type": texts_at(terms, classes), "type_label": lookup.labels_of(classes),
            "votes": self.votes[at].tolist(), "confidence": self.confidences[at].tolist(),
        }  # fmt: skip

    @property
    def expected_right(self) -> float:
        """The part of these predictions that should be right."""
        return float(self.confidences.mean()) if len(self) else 0.0

    @property
    def predicted_subjects(self) -> int:
        """How many subjects have a predicted type."""
        return len(np.unique(self.subjects))

    @cached_property
    def nameable(self) -> NDArray[np.bool_]:
        """Which have IRIs only: no blank nodes, and no names that are none, of tables or of graphs that were read leniently."""
        used = np.unique(np.concatenate([self.subjects, self.classes]))
        named = np.zeros(len(self.embedding), bool)
        named[used] = [_is_iri(term) for term in texts_at(self.embedding.terms, used)]
        return named[self.subjects] & named[self.classes] & _is_iri(self.type_predicate)

    @property
    def not_in_rdf(self) -> int:
        """How many have blank nodes or names that are no IRIs: RDF files are without them, tables have them."""
        return int((~self.nameable).sum())

    @property
    def of_typed(self) -> int:
        """How many are of subjects that have a type already, which their confidence knows nothing of."""
        return int(np.isin(self.subjects, self.embedding.types[:, 0]).sum())

    def by_class(self) -> list[PredictedClass]:
        """What was predicted, the most frequent first."""
        order = np.lexsort((-self.confidences, ~self.nameable, self.classes))
        classes, first, counts = np.unique(
            self.classes[order], return_index=True, return_counts=True
        )
        sums = np.bincount(np.repeat(np.arange(len(classes)), counts), self.confidences[order])
        examples = [self[int(order[at])] for at in first]
        found = [
            PredictedClass(
                example.type, example.type_label, count, right, example.term, example.label
            )
            for example, count, right in zip(
                examples, counts.tolist(), (sums / counts).tolist(), strict=True
            )
        ]
        return sorted(found, key=lambda one: (-one.predictions, one.type))

    def as_dict(self) -> dict[str, Any]:
        """What came out, for JSON; the predictions themselves are in the file."""
        c = self.calibration
        levels = [
            {
                "votes": votes,
                "made": int(c.made[votes]),
                "right": int(c.right[votes]),
                "confidence": float(c.confidences[votes]),
            }
            for votes in range(1, c.mu + 1)
        ]
        return {
            "predictions": len(self), "subjects": self.predicted_subjects, "asked": self.asked, "without_voters": self.without_voters,
            "of_typed": self.of_typed, "not_in_rdf": self.not_in_rdf, "expected_right": self.expected_right,
            "mu": c.mu, "exact": self.exact, "recall": self.recall,
            "classes": [asdict(one) for one in self.by_class()],
            "calibration": {"subjects": c.subjects, "types": c.types, "levels": levels},
        }  # fmt: skip

    @property
    def type_predicate(self) -> str:
        """The predicate that gives types in this graph."""
        return self.embedding.config().type_predicate

    def write(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Writes them as RDF or as a table; the ending tells the format: .nt, .ttl, .trig, .csv, .tsv, .jsonl (compressed or not), .parquet."""
        if syntax := syntax_of(path):
            write_stream(path, _statements(self, *syntax), force)
        else:
            write_table(path, _KINDS, self.blocks(), force)


def check_target(path: str | os.PathLike[str], force: bool) -> None:
    """Refuses a file that predictions could not be written to, before there are any."""
    if syntax_of(path):
        check_output_file(Path(path), force)
        return
    try:
        check_table(path, force)
    except UsageError as error:
        raise UsageError(f"{error}; or, as RDF, {', '.join(_SYNTAXES)}") from None


def syntax_of(path: str | os.PathLike[str]) -> tuple[str, Callable[[Prediction, str], str]] | None:
    """How to write RDF to a file of this name; None if it is not to be RDF."""
    return _SYNTAXES.get(extension_of(path))


def _statements(
    predictions: Predictions, begin: str, one: Callable[[Prediction, str], str]
) -> Iterator[bytes]:
    yield begin.encode()
    predicate = predictions.type_predicate
    for block in predictions.blocks(np.flatnonzero(predictions.nameable)):
        yield "".join(
            one(Prediction(*row), predicate) for row in zip(*block.values(), strict=True)
        ).encode()


def _is_iri(term: str) -> bool:
    """Whether a reader of RDF takes it, which refuses blank nodes and relative IRIs, too."""
    try:
        pyoxigraph.NamedNode(term)
    except ValueError:
        return False
    return True


def _triple(prediction: Prediction, predicate: str) -> str:
    return f"<{prediction.term}> <{predicate}> <{prediction.type}>"


def _plain(prediction: Prediction, predicate: str) -> str:
    return f"{_triple(prediction, predicate)} .\n"


def _annotated(prediction: Prediction, predicate: str) -> str:
    """RDF 1.2: the triple, and what is said of it."""
    return f"{_triple(prediction, predicate)} {{| pyke:confidence {prediction.confidence:.4f} ; pyke:votes {prediction.votes} |}} .\n"


def _reified(prediction: Prediction, predicate: str) -> str:
    """RDF 1.1: the triple in a graph of its own, and a statement about it beside."""
    return (
        f"pyke:predicted {{ {_triple(prediction, predicate)} }}\n"
        f"[] a rdf:Statement ; rdf:subject <{prediction.term}> ; rdf:predicate <{predicate}> ; rdf:object <{prediction.type}> ;\n"
        f"    pyke:confidence {prediction.confidence:.4f} ; pyke:votes {prediction.votes} .\n"
    )


# Ending: what comes first, and what each prediction becomes.
_SYNTAXES: dict[str, tuple[str, Callable[[Prediction, str], str]]] = {
    ".nt": ("", _plain),
    ".ttl": (_PREFIXES, _annotated),
    ".trig": (_PREFIXES, _reified),
}

_KINDS = {
    "term": str,
    "label": str,
    "type": str,
    "type_label": str,
    "votes": int,
    "confidence": float,
}
