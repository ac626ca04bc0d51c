"""Names on a map: those that people read, and the terms that are worth a label."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.text import cut
from pyke.embedding.embedding import Embedding
from pyke.embedding.lookup import PREFIXES, Lookup

MAX_NAME = 34  # letters of a label
MAX_CONTEXT = 26  # letters of the name of a context
MAX_TRIED = 400  # best-connected terms of a group that may get labels
MEAN_OF = 20_000  # terms of a group that determine its mean
FEW = 300  # points of a map on which grey entities get labels, too
SPARE = 3  # times as many labels as requested are prepared: some find no place

_RDF, _OWL = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2002/07/owl#"
# Classes of records about the graph itself, and of parts of lists and axioms.
BOOKKEEPING = (
    "http://www.w3.org/ns/prov#",
    "http://www.w3.org/ns/shacl#",
    "http://www.w3.org/ns/ldp#",
    "http://www.w3.org/ns/earl#",
    "http://rdfs.org/ns/void#",
    *(f"{_RDF}{name}" for name in ("Seq", "Bag", "Alt", "List", "Statement")),
    *(f"{_OWL}{name}" for name in ("Axiom", "Annotation", "Restriction", "All", "Negative")),
    f"{_OWL}Ontology",
    "http://purl.org/dc/terms/ProvenanceStatement",
)
ACTORS = re.compile(r"http://www\.w3\.org/ns/prov#(\w*Agent|Person|Organization|Location)")


def shortened(name: str, letters: int = MAX_NAME) -> str:
    """A name on one line, with at most `letters` letters."""
    name = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return cut(name, letters)


def distinct(lookup: Lookup, classes: Sequence[int]) -> list[str]:
    """The names of classes; those of the same name get a prefix, as in owl:Class."""
    names = [lookup.title(kind) for kind in classes]
    often = Counter(names)
    return [
        prefixed(lookup.terms[kind], name) if often[name] > 1 else name
        for kind, name in zip(classes, names, strict=True)
    ]


def prefixed(iri: str, name: str) -> str:
    """A name with the prefix of its IRI, or with the host if the prefix is unknown."""
    for prefix, namespaces in PREFIXES.items():
        if any(iri.startswith(namespace) for namespace in namespaces.split()):
            return f"{prefix}:{name}"
    host = re.match(r"\w+://([^/]+)", iri)
    return f"{name} ({host[1]})" if host else f"{name} ({iri})"


def is_bookkeeping(iri: str) -> bool:
    """Whether a class describes the data instead of the world."""
    return iri.startswith(BOOKKEEPING) and not ACTORS.match(iri)


def is_code(name: str) -> bool:
    """Whether a name tells a reader nothing, such as Q42, 43970336 or MIAGQ5C6."""
    digits = sum(c.isdigit() for c in name)
    letters = sum(c.isalpha() for c in name)
    return letters < 2 or digits >= letters or (digits > 0 and " " not in name and name.isupper())


def is_key(name: str) -> bool:
    """Whether a local name looks like a key of a database, such as TDUQQNZK."""
    return len(name) > 5 and " " not in name and name.isupper()


def worth_a_label(embedding: Embedding, asked: Sequence[int]) -> NDArray[np.bool_]:
    """Which terms may get a label: neither blank nodes nor bookkeeping, unless its class is asked.

    A term with a class that is not bookkeeping may get one.
    """
    types = embedding.types
    kinds = np.unique(types[:, 1])
    books = [
        kind
        for kind in kinds.tolist()
        if is_bookkeeping(embedding.terms[kind]) and kind not in asked
    ]
    allowed = np.zeros(len(embedding), bool)
    allowed[types[np.isin(types[:, 1], books, invert=True), 0]] = True
    allowed[np.setdiff1d(np.arange(len(embedding)), types[:, 0])] = True
    return allowed


def automatic_labels(
    embedding: Embedding,
    lookup: Lookup,
    ids: Ids,
    groups: NDArray[np.integer[Any]],
    coloured: int,
    limit: int,
    asked: Sequence[int] = (),
) -> list[tuple[int, str]]:
    """(position in `ids`, name) of well-connected, typical terms of each coloured group, in turn.

    Of the best-connected terms of a group, the half nearest to its mean vector is typical. Codes
    become labels if there are no names. There are up to SPARE times `limit` labels. On a map of few
    points, grey entities get labels, too.
    """
    degrees = _degrees(embedding)
    allowed = worth_a_label(embedding, asked)
    per_group = -(-SPARE * limit // coloured) if coloured else 0
    found: list[list[tuple[int, str]]] = []
    codes: list[list[tuple[int, str]]] = []
    for group in range(coloured if limit else 0):
        rows = np.flatnonzero((groups == group) & allowed[ids])
        names = _names(embedding, lookup, ids, _typical(embedding, ids, degrees, rows))
        found.append([entry for entry in names if not is_code(entry[1])][:per_group])
        codes.append(names[:per_group])
    best = found if any(found) else codes
    in_turn = [group[turn] for turn in range(per_group) for group in best if turn < len(group)]
    unique = {text: row for row, text in reversed(in_turn)}
    labels = [(row, text) for row, text in in_turn if unique[text] == row]
    if limit and len(ids) <= FEW:
        no_entity = np.concatenate([embedding.triples[:, 1], embedding.types[:, 1]])
        grey = (groups >= coloured) & allowed[ids] & np.isin(ids, no_entity, invert=True)
        names = _names(embedding, lookup, ids, _typical(embedding, ids, degrees, grey.nonzero()[0]))
        labels += [(row, text) for row, text in names if not is_code(text) and text not in unique]
    return labels


def _degrees(embedding: Embedding) -> NDArray[np.int64]:
    """The number of triples of each term, as subject or object."""
    triples, terms = embedding.triples, len(embedding)
    as_object = np.bincount(triples[:, 2] + 1, minlength=terms + 1)[1:]
    degrees: NDArray[np.int64] = np.bincount(triples[:, 0], minlength=terms) + as_object
    return degrees


def _typical(
    embedding: Embedding, ids: Ids, degrees: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The best-connected of some rows: the half of them nearest to the mean of all rows."""
    if not len(rows):
        return rows
    sample = rows[:: -(-len(rows) // MEAN_OF)]
    mean = embedding.vectors[ids[sample]].mean(axis=0, dtype=np.float64)
    best = rows[np.argsort(-degrees[ids[rows]], kind="stable")[:MAX_TRIED]]
    far = ((embedding.vectors[ids[best]] - mean) ** 2).sum(axis=1)
    typical: NDArray[np.int64] = best[far <= np.median(far)]
    return typical


def _names(
    embedding: Embedding, lookup: Lookup, ids: Ids, rows: NDArray[np.int64]
) -> list[tuple[int, str]]:
    """(row, name) of some rows: those with labels in the graph first, and short names first.

    Blank nodes and keys of databases are left out.
    """
    found = []
    for at, term in enumerate(ids[rows].tolist()):
        if not embedding.terms[term].startswith("_:"):
            name, label = lookup.title(term), lookup.label(term)
            text = "" if label is None and is_key(name) else shortened(name)
            found.append((label is None, text != name, at, text))
    return [(int(rows[at]), text) for _, _, at, text in sorted(found) if text]


def common_name(embedding: Embedding, lookup: Lookup, term: int) -> str:
    """What terms with the contexts of this one have in common, in words.

    It is their rarest class; without a class, the predicate with fewest triples: `livesIn` if they
    are its subjects, `← homepage` if they are its objects.
    """
    types, triples = embedding.types, embedding.triples
    own = types[types[:, 0] == term, 1]
    if len(own):
        counts = np.bincount(types[:, 1])
        return shortened(lookup.title(int(own[counts[own].argmin()])), MAX_CONTEXT)
    rows = np.flatnonzero((triples[:, 0] == term) | (triples[:, 2] == term))[:MAX_TRIED]
    used = np.bincount(triples[:, 1])
    found = [
        (int(used[predicate]), predicate, subject == term)
        for subject, predicate, _ in triples[rows].tolist()
    ]
    if not found:
        return ""
    _, predicate, is_subject = min(found)
    return shortened(f"{'' if is_subject else '← '}{lookup.title(predicate)}", MAX_CONTEXT)
