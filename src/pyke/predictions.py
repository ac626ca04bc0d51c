"""Predicted types, and how they are written: as RDF, with the confidence where the syntax has room for it, or as a table."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.calibration import Calibration
from pyke.embedding import Embedding
from pyke.errors import UsageError
from pyke.files import COMPRESSIONS, check_file, write_stream
from pyke.graph import Ids
from pyke.tables import check_table, write_table

PREDICTIONS_AT_ONCE = 1 << 14
VOCABULARY = "urn:pyke:"
_PREFIXES = f"PREFIX pyke: <{VOCABULARY}>\nPREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>\n\n"
_FORBIDDEN = re.compile(r'[\x00-\x20<>"{}|^`\\]')  # in an IRI, unless escaped


@dataclass(frozen=True)
class Prediction:
    """One predicted type."""

    term: str
    label: str | None
    type: str
    type_label: str | None
    votes: int
    confidence: float


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
        return (self[i] for i in range(len(self)))

    def __getitem__(self, at: int) -> Prediction:
        e, subject, kind = self.embedding, int(self.subjects[at]), int(self.classes[at])
        return Prediction(e.terms[subject], e.label(subject), e.terms[kind], e.label(kind), int(self.votes[at]), float(self.confidences[at]))

    @property
    def expected_right(self) -> float:
        """The part of these predictions that should be right."""
        return float(self.confidences.mean()) if len(self) else 0.0

    @property
    def predicted_subjects(self) -> int:
        """How many subjects have a predicted type."""
        return len(np.unique(self.subjects))

    @property
    def blank_nodes(self) -> int:
        """How many are of blank nodes, which cannot be named in another file: RDF files are without them, tables have them."""
        return sum(self.embedding.terms[subject].startswith("_:") for subject in self.subjects)

    def surest(self, count: int) -> list[Prediction]:
        """Some of the most confident ones."""
        return [self[int(at)] for at in np.argsort(-self.confidences, kind="stable")[:count]]

    def as_dict(self) -> dict[str, Any]:
        """What came out, for JSON; the predictions themselves are in the file."""
        c = self.calibration
        levels = [
            {"votes": votes, "made": int(c.made[votes]), "right": int(c.right[votes]), "confidence": float(c.confidences[votes])}
            for votes in range(1, c.mu + 1)
        ]
        return {
            "predictions": len(self), "subjects": self.predicted_subjects, "asked": self.asked, "without_voters": self.without_voters,
            "blank_nodes": self.blank_nodes, "expected_right": self.expected_right, "mu": c.mu, "exact": self.exact, "recall": self.recall,
            "calibration": {"subjects": c.subjects, "types": c.types, "levels": levels},
        }  # fmt: skip

    @property
    def type_predicate(self) -> str:
        """The predicate that gives types in this graph."""
        return str(self.embedding.manifest["config"]["type_predicate"])

    def write(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Writes them as RDF or as a table; the ending tells the format: .nt, .ttl, .trig, .csv, .tsv, .jsonl (compressed or not), .parquet."""
        if syntax := syntax_of(path):
            write_stream(path, _statements(self, *syntax), force)
        else:
            write_table(path, _KINDS, _columns(self), force)


def check_target(path: str | os.PathLike[str], force: bool) -> None:
    """Refuses a file that predictions could not be written to, before there are any."""
    if syntax_of(path):
        check_file(Path(path), force)
        return
    try:
        check_table(path, force)
    except UsageError as error:
        raise UsageError(f"{error}; or, as RDF, {', '.join(_SYNTAXES)}") from None


def syntax_of(path: str | os.PathLike[str]) -> tuple[str, Callable[[Prediction, str], str]] | None:
    """How to write RDF to a file of this name; None if it is not to be RDF."""
    name = Path(path)
    return _SYNTAXES.get((Path(name.stem) if name.suffix.lower() in COMPRESSIONS else name).suffix.lower())


def _statements(predictions: Predictions, begin: str, one: Callable[[Prediction, str], str]) -> Iterator[bytes]:
    yield begin.encode()
    lines: list[str] = []
    for prediction in predictions:
        if prediction.term.startswith("_:") or prediction.type.startswith("_:"):
            continue
        lines.append(one(prediction, predictions.type_predicate))
        if len(lines) == PREDICTIONS_AT_ONCE:
            yield "".join(lines).encode()
            lines.clear()
    yield "".join(lines).encode()


def _iri(term: str) -> str:
    return "<" + _FORBIDDEN.sub(lambda found: f"\\u{ord(found[0]):04X}", term) + ">"


def _triple(prediction: Prediction, predicate: str) -> str:
    return f"{_iri(prediction.term)} {_iri(predicate)} {_iri(prediction.type)}"


def _plain(prediction: Prediction, predicate: str) -> str:
    return f"{_triple(prediction, predicate)} .\n"


def _annotated(prediction: Prediction, predicate: str) -> str:
    """RDF 1.2: the triple, and what is said of it."""
    return f"{_triple(prediction, predicate)} {{| pyke:confidence {prediction.confidence:.4f} ; pyke:votes {prediction.votes} |}} .\n"


def _reified(prediction: Prediction, predicate: str) -> str:
    """RDF 1.1: the triple in a graph of its own, and a statement about it beside."""
    return (
        f"pyke:predicted {{ {_triple(prediction, predicate)} }}\n"
        f"[] a rdf:Statement ; rdf:subject {_iri(prediction.term)} ; rdf:predicate {_iri(predicate)} ; rdf:object {_iri(prediction.type)} ;\n"
        f"    pyke:confidence {prediction.confidence:.4f} ; pyke:votes {prediction.votes} .\n"
    )


# Ending: what comes first, and what each prediction becomes.
_SYNTAXES: dict[str, tuple[str, Callable[[Prediction, str], str]]] = {
    ".nt": ("", _plain),
    ".ttl": (_PREFIXES, _annotated),
    ".trig": (_PREFIXES, _reified),
}


_KINDS = {"term": str, "label": str, "type": str, "type_label": str, "votes": int, "confidence": float}


def _columns(predictions: Predictions) -> Iterator[dict[str, list[Any]]]:
    for begin in range(0, len(predictions), PREDICTIONS_AT_ONCE):
        rows = [predictions[at] for at in range(begin, min(begin + PREDICTIONS_AT_ONCE, len(predictions)))]
        yield {name: [getattr(row, name) for row in rows] for name in _KINDS}
