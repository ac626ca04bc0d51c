"""Write predicted types as RDF (with the confidence, except in N-Triples) or as a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyoxigraph

from pyke.core.files import check_output_file, write_stream
from pyke.core.inputs import extension_of
from pyke.core.tables import check_table, write_table
from pyke.errors import UsageError

if TYPE_CHECKING:
    from pyke.use.types.predictions import Prediction, Predictions

PREDICTIONS_AT_ONCE = 1 << 14
VOCABULARY = "urn:pyke:"
_PREFIXES = (
    f"PREFIX pyke: <{VOCABULARY}>\nPREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>\n\n"
)
_COLUMNS = {
    "term": str,
    "label": str,
    "type": str,
    "type_label": str,
    "votes": int,
    "share": float,
    "confidence": float,
    "measured": bool,
}


class Syntax(NamedTuple):
    """How to write RDF: the beginning of the file, and the text of one prediction."""

    header: str
    text: Callable[[Prediction, str], str]  # prediction, type predicate


def write_predictions(
    predictions: Predictions, path: str | os.PathLike[str], force: bool = False
) -> None:
    """Write predictions as RDF or as a table; the extension determines the format."""
    if syntax := syntax_of(path):
        write_stream(path, _rdf(predictions, syntax), force)
    else:
        write_table(path, _COLUMNS, predictions.blocks(), force)


def check_target(path: str | os.PathLike[str], force: bool) -> None:
    """Raise an error if predictions cannot be written to this file."""
    if syntax_of(path):
        check_output_file(Path(path), force)
        return
    try:
        check_table(path, force)
    except UsageError as error:
        raise UsageError(f"{error}; or, as RDF, {', '.join(_SYNTAXES)}") from None


def syntax_of(path: str | os.PathLike[str]) -> Syntax | None:
    """The RDF syntax of a file with this name; None if it is not RDF."""
    return _SYNTAXES.get(extension_of(path))


def is_iri(term: str) -> bool:
    """Whether a term is a valid absolute IRI; blank nodes are not."""
    try:
        pyoxigraph.NamedNode(term)
    except ValueError:
        return False
    return True


def _rdf(predictions: Predictions, syntax: Syntax) -> Iterator[bytes]:
    yield syntax.header.encode()
    predicate = predictions.type_predicate
    chosen = np.flatnonzero(predictions.nameable)
    for begin in range(0, len(chosen), PREDICTIONS_AT_ONCE):
        some = predictions.rows(chosen[begin : begin + PREDICTIONS_AT_ONCE])
        yield "".join(syntax.text(prediction, predicate) for prediction in some).encode()


def _triple(prediction: Prediction, predicate: str) -> str:
    return f"<{prediction.term}> <{predicate}> <{prediction.type}>"


def _plain(prediction: Prediction, predicate: str) -> str:
    return f"{_triple(prediction, predicate)} .\n"


def _figures(prediction: Prediction) -> str:
    """Properties of a prediction; only predictions that were not measured say so."""
    measured = "" if prediction.measured else " ; pyke:measured false"
    return (
        f"pyke:confidence {prediction.confidence:.4f} ; pyke:votes {prediction.votes} ; "
        f"pyke:share {prediction.share:.4f}{measured}"
    )


def _annotated(prediction: Prediction, predicate: str) -> str:
    """RDF 1.2: the triple with an annotation."""
    return f"{_triple(prediction, predicate)} {{| {_figures(prediction)} |}} .\n"


def _reified(prediction: Prediction, predicate: str) -> str:
    """RDF 1.1: the triple in a named graph, and a statement about it in the default graph."""
    return (
        f"pyke:predicted {{ {_triple(prediction, predicate)} }}\n"
        f"[] a rdf:Statement ; rdf:subject <{prediction.term}> ; rdf:predicate <{predicate}> ; "
        f"rdf:object <{prediction.type}> ;\n"
        f"    {_figures(prediction)} .\n"
    )


_SYNTAXES = {
    ".nt": Syntax("", _plain),
    ".ttl": Syntax(_PREFIXES, _annotated),
    ".trig": Syntax(_PREFIXES, _reified),
}
