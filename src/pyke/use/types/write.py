"""Write predicted types as RDF (with the confidence, except in N-Triples) or as a table."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyoxigraph
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.files import check_output_file, write_stream
from pyke.core.inputs import extension_of
from pyke.core.tables import check_table, write_table
from pyke.embedding.lookup import texts_at
from pyke.errors import UsageError
from pyke.graph.terms import Terms

if TYPE_CHECKING:
    from pyke.use.types.predictions import Prediction, Predictions

STATEMENTS_AT_ONCE = 1 << 14
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


class Statement(NamedTuple):
    """A predicted triple, and its properties in Turtle."""

    subject: str
    predicate: str
    object: str
    figures: str

    def triple(self) -> str:
        """The triple in N-Triples, without the final dot."""
        return f"<{self.subject}> <{self.predicate}> <{self.object}>"


class Syntax(NamedTuple):
    """How to write RDF: the beginning of the file, and the text of one statement."""

    header: str
    text: Callable[[Statement], str]


def write_predictions(
    predictions: Predictions, path: str | os.PathLike[str], force: bool = False
) -> None:
    """Write predictions as RDF or as a table; the extension determines the format."""
    write_statements(path, _statements(predictions), _COLUMNS, predictions.blocks(), force)


def write_statements(
    path: str | os.PathLike[str],
    statements: Iterable[Statement],
    columns: Mapping[str, type],
    blocks: Iterable[Mapping[str, Sequence[Any]]],
    force: bool,
) -> None:
    """Write statements as RDF, or the blocks of columns as a table, as the extension says."""
    if syntax := syntax_of(path):
        write_stream(path, _rdf(statements, syntax), force)
    else:
        write_table(path, columns, blocks, force)


def check_target(path: str | os.PathLike[str], force: bool) -> None:
    """Raise an error if predictions cannot be written to this file."""
    if syntax_of(path):
        check_output_file(Path(path), force)
        return
    try:
        check_table(path, force)
    except UsageError as error:
        raise UsageError(f"{error} Extensions of RDF are {', '.join(_SYNTAXES)}.") from None


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


def can_be_named(terms: Terms, *columns: Ids) -> NDArray[np.bool_]:
    """In which rows all terms have valid IRIs, so that RDF files can contain them."""
    used = np.unique(np.concatenate(columns))
    valid = np.zeros(len(terms), bool)
    valid[used] = [is_iri(term) for term in texts_at(terms, used)]
    named: NDArray[np.bool_] = np.logical_and.reduce([valid[column] for column in columns])
    return named


def _statements(predictions: Predictions) -> Iterator[Statement]:
    predicate = predictions.type_predicate
    for one in predictions.rows(np.flatnonzero(predictions.nameable)):
        yield Statement(one.term, predicate, one.type, _figures(one))


def _rdf(statements: Iterable[Statement], syntax: Syntax) -> Iterator[bytes]:
    yield syntax.header.encode()
    waiting = iter(statements)
    while some := list(itertools.islice(waiting, STATEMENTS_AT_ONCE)):
        yield "".join(syntax.text(statement) for statement in some).encode()


def _figures(prediction: Prediction) -> str:
    """Properties of a prediction; only predictions that were not measured say so."""
    measured = "" if prediction.measured else " ; pyke:measured false"
    return (
        f"pyke:confidence {prediction.confidence:.4f} ; pyke:votes {prediction.votes} ; "
        f"pyke:share {prediction.share:.4f}{measured}"
    )


def _plain(statement: Statement) -> str:
    return f"{statement.triple()} .\n"


def _annotated(statement: Statement) -> str:
    """RDF 1.2: the triple with an annotation."""
    return f"{statement.triple()} {{| {statement.figures} |}} .\n"


def _reified(statement: Statement) -> str:
    """RDF 1.1: the triple in a named graph, and a statement about it in the default graph."""
    return (
        f"pyke:predicted {{ {statement.triple()} }}\n"
        f"[] a rdf:Statement ; rdf:subject <{statement.subject}> ; "
        f"rdf:predicate <{statement.predicate}> ; rdf:object <{statement.object}> ;\n"
        f"    {statement.figures} .\n"
    )


_SYNTAXES = {
    ".nt": Syntax("", _plain),
    ".ttl": Syntax(_PREFIXES, _annotated),
    ".trig": Syntax(_PREFIXES, _reified),
}
