"""What people call a term → its id. The order of the readings is fixed; the first that is in the graph counts:

1. `<IRI>` or `_:label`: this term and no other;
2. a term in full, as written;
3. a prefixed name, the prefixes that were given before those that are well known;
4. a label, upper and lower case being the same. Several terms with the label are an error that lists them.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids, positions
from pyke.errors import PykeError, UnknownTerm, UsageError
from pyke.graph.terms import Terms, Texts

# Where two IRIs stand, both are in use, and both are tried.
PREFIXES = {
    "bibo": "http://purl.org/ontology/bibo/",
    "cc": "http://creativecommons.org/ns#",
    "dbo": "http://dbpedia.org/ontology/",
    "dbp": "http://dbpedia.org/property/",
    "dbr": "http://dbpedia.org/resource/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "dcterms": "http://purl.org/dc/terms/",
    "doap": "http://usefulinc.com/ns/doap#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "geosparql": "http://www.opengis.net/ont/geosparql#",
    "gn": "http://www.geonames.org/ontology#",
    "gr": "http://purl.org/goodrelations/v1#",
    "obo": "http://purl.obolibrary.org/obo/",
    "org": "http://www.w3.org/ns/org#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "qb": "http://purl.org/linked-data/cube#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "http://schema.org/ https://schema.org/",
    "sh": "http://www.w3.org/ns/shacl#",
    "sioc": "http://rdfs.org/sioc/ns#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "time": "http://www.w3.org/2006/time#",
    "umbel": "http://umbel.org/umbel#",
    "vann": "http://purl.org/vocab/vann/",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "void": "http://rdfs.org/ns/void#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "yago": "http://dbpedia.org/class/yago/",
}

TEXTS_AT_ONCE = 1 << 14
FEW = 8  # names that are looked for one by one: each takes less than going through all terms
MOST_LISTED = 10  # terms with one label
SUGGESTIONS = 3
CANDIDATES = 50  # that share most trigrams, and are compared letter by letter
LEAST_LIKENESS = 0.6
COMPARED = 200  # letters, at most: a comparison takes the square of them

_LINE_BREAK, _SPACE = 10, 32


def texts_at(texts: Texts, positions: Iterable[int]) -> list[str]:
    """Many texts at once."""
    blob, offsets = np.ascontiguousarray(texts.blob).data, texts.offsets
    positions = np.asarray(positions, np.int64)
    return [
        str(blob[a:b], "utf-8", "replace")
        for a, b in zip(
            offsets[positions].tolist(), (offsets[positions + 1] - 1).tolist(), strict=True
        )
    ]


def local_name(iri: str) -> str:
    """What stands behind the last / # or : of an IRI; all of it, if nothing does."""
    return re.split(r"[/#:]", iri.rstrip("/#:"))[-1] or iri


def parse_prefixes(given: Iterable[str]) -> dict[str, str]:
    """`name=IRI` each."""
    prefixes = {}
    for text in given:
        name, sign, iri = text.partition("=")
        if not (sign and iri):
            raise UsageError(
                f"--prefix {text}: a prefix is given as name=IRI, like ex=http://example.com/"
            )
        prefixes[name.removesuffix(":")] = iri.removeprefix("<").removesuffix(">")
    return prefixes


@dataclass(frozen=True)
class Lookup:
    """Finds the terms of a graph by what people call them.

    Examples
    --------
    >>> from pyke.graph import Terms, Texts
    >>> terms = Terms.of(["http://xmlns.com/foaf/0.1/knows", "http://e/anna"])
    >>> lookup = Lookup(terms, Texts.of(["Anna"]), np.array([1], np.int32))
    >>> lookup.find("foaf:knows"), lookup.find("ANNA")
    (0, 1)
    """

    terms: Terms
    labels: Texts
    labelled: Ids  # the term that each label is of, ascending
    prefixes: Mapping[str, str] = field(default_factory=dict)  # before those of PREFIXES

    def find(self, name: str) -> int:
        """The id of a term; UnknownTerm with those that look like it, UsageError if several have the label."""
        (found,) = self.find_all([name])
        if isinstance(found, UnknownTerm):
            raise self._unknown(name)
        if isinstance(found, PykeError):
            raise found
        return found

    def find_all(self, names: Sequence[str]) -> list[int | PykeError]:
        """The id of each, or what is wrong with its name."""
        readings = [self._readings(name) for name in names]
        ids = self._ids({iri for iris in readings for iri in iris})
        found = [next((ids[iri] for iri in iris if iri in ids), None) for iris in readings]
        others = {
            _folded(name)
            for name, term in zip(names, found, strict=True)
            if term is None and not _is_explicit(name)
        }
        with_label = self._labelled_by(others) if others else {}
        return [
            self._by_label(name, with_label) if term is None else term
            for name, term in zip(names, found, strict=True)
        ]

    def find_class(self, name: str, types: Ids) -> int:
        """The id of a class that some subject has: by the name that people read, or as any term is named. `types` are (subject, class)."""
        classes, counts = np.unique(types[:, 1], return_counts=True)
        called = (
            []
            if _is_explicit(name)
            else [
                term for term in classes.tolist() if _folded(self.readable(term)) == _folded(name)
            ]
        )
        if len(called) > 1:
            listed = ", ".join(self._written(term) for term in called[:MOST_LISTED])
            raise UsageError(
                f"{len(called):,} classes are called {name}: {listed}. Name one by its IRI."
            )
        with suppress(UnknownTerm):
            found = called[0] if called else self.find(name)
            if found in classes:
                return found
        frequent = ", ".join(
            self.readable(term)
            for term in classes[np.argsort(-counts, kind="stable")[:MOST_LISTED]].tolist()
        )
        raise UnknownTerm(
            f"no subject has the type {name!r}"
            + (f"; frequent ones are {frequent}" if frequent else ": none has any type")
        )

    def label(self, term: int) -> str | None:
        """The label that the graph gives a term."""
        at = int(np.searchsorted(self.labelled, term))
        return self.labels[at] if at < len(self.labelled) and self.labelled[at] == term else None

    def labels_of(self, terms: Ids) -> list[str | None]:
        """The labels of many."""
        at = positions(terms, self.labelled)
        texts = iter(texts_at(self.labels, at[at >= 0]))
        return [next(texts) if one else None for one in (at >= 0).tolist()]

    def readable(self, term: int) -> str:
        """A term's label, or else its local name."""
        return self.label(term) or unquote(local_name(self.terms[term]))

    def _readings(self, name: str) -> list[str]:
        """The terms that a name may mean, the likeliest first."""
        if _is_explicit(name):
            return [name[1:-1] if name.startswith("<") else name]
        prefix, colon, rest = name.partition(":")
        known = (self.prefixes.get(prefix) or PREFIXES.get(prefix, "")) if colon else ""
        return [name, *(namespace + rest for namespace in known.split())]

    def _ids(self, wanted: Collection[str]) -> dict[str, int]:
        if len(wanted) <= FEW:
            return {iri: found for iri in wanted if (found := self.terms.find(iri)) >= 0}
        return {
            term: at
            for begin, terms in _in_blocks(self.terms)
            for at, term in enumerate(terms, begin)
            if term in wanted
        }

    def _labelled_by(self, wanted: Collection[str]) -> dict[str, list[int]]:
        """The terms with each of some labels."""
        found = defaultdict(list)
        for begin, labels in _in_blocks(self.labels, folded=True):
            for at, label in enumerate(labels, begin):
                if label in wanted:
                    found[label].append(int(self.labelled[at]))
        return found

    def _by_label(self, name: str, with_label: Mapping[str, list[int]]) -> int | PykeError:
        terms = [] if _is_explicit(name) else with_label.get(_folded(name), [])
        if len(terms) == 1:
            return terms[0]
        if not terms:
            return UnknownTerm(f"no term {name!r} in this graph")
        listed = ", ".join(self._written(term) for term in terms[:MOST_LISTED])
        more = f" and {len(terms) - MOST_LISTED:,} more" if len(terms) > MOST_LISTED else ""
        return UsageError(
            f"{len(terms):,} terms have the label {name!r}: {listed}{more}. Name one by its IRI."
        )

    def _unknown(self, name: str) -> UnknownTerm:
        prefix, colon, rest = name.partition(":")
        if (
            colon
            and not _is_explicit(name)
            and re.fullmatch(r"\w[\w.-]*", prefix)
            and not rest.startswith("//")
            and not self._readings(name)[1:]
        ):
            hint = f" {prefix}: is no prefix that is known; --prefix {prefix}=IRI makes it one."
        else:
            hint = " A term that occurs only beside literals has no vector unless --count-literals is given to embed."
        similar = [
            self._written(term) + (f" ({label})" if (label := self.label(term)) else "")
            for term in self._similar(name)
        ]
        meant = f" Did you mean {' or '.join(similar)}?" if similar else ""
        return UnknownTerm(f"no term or label {name!r} in this graph.{meant or hint}")

    def _written(self, term: int) -> str:
        text = self.terms[term]
        return text if text.startswith("_:") else f"<{text}>"

    def _similar(self, name: str) -> list[int]:
        """Terms whose IRIs, local names or labels look most like a name, the likeliest first."""
        bare = self._readings(name)[-1]
        swapped = (
            bare.replace("https://", "http://", 1)
            if bare.startswith("https://")
            else bare.replace("http://", "https://", 1)
        )
        stem = bare.rstrip("/#")
        found = {
            term: 2.0
            for variant in (swapped, stem, f"{stem}/", f"{stem}#")
            if (term := self.terms.find(variant)) >= 0
        }
        key = local_name(bare)
        for term in [
            *_sharing_trigrams(self.terms, key, _PARTED).tolist(),
            *_sharing_trigrams(self.terms, bare, _WHOLE).tolist(),
        ]:
            iri = self.terms[term]
            found.setdefault(term, _likeness(key, local_name(iri)) + _likeness(bare, iri) / 100)
        for at in _sharing_trigrams(self.labels, name, _WHOLE).tolist():
            term = int(self.labelled[at])
            found[term] = max(found.get(term, 0.0), _likeness(name, self.labels[at]))
        likely = [term for term, likeness in found.items() if likeness >= LEAST_LIKENESS]
        return sorted(likely, key=lambda term: (-found[term], term))[:SUGGESTIONS]


def _is_explicit(name: str) -> bool:
    return name.startswith("_:") or (name.startswith("<") and name.endswith(">"))


def _folded(name: str) -> str:
    return name.replace("\n", " ").casefold()


def _in_blocks(texts: Texts, folded: bool = False) -> Iterator[tuple[int, list[str]]]:
    """(position of the first, some texts); a line break within a text becomes a space."""
    for begin in range(0, len(texts), TEXTS_AT_ONCE):
        borders = np.asarray(texts.offsets[begin : begin + TEXTS_AT_ONCE + 1])
        block = np.array(texts.blob[borders[0] : borders[-1]])
        block[block == _LINE_BREAK] = _SPACE
        block[borders[1:] - borders[0] - 1] = _LINE_BREAK
        text = block.tobytes().decode("utf-8", "replace")
        yield begin, (text.casefold() if folded else text).split("\n")[:-1]


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(
        None, one[:COMPARED].casefold(), other[:COMPARED].casefold(), autojunk=False
    ).ratio()


# Bytes as they are compared: lower case; what parts an IRI is a border, as the ends of all texts are.
_WHOLE = np.array(
    [byte + 32 if ord("A") <= byte <= ord("Z") else byte for byte in range(256)], np.uint32
)
_PARTED = np.where(np.isin(np.arange(256), [ord(c) for c in "/#:"]), np.uint32(_LINE_BREAK), _WHOLE)


def _sharing_trigrams(texts: Texts, key: str, letters: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Positions of the texts whose last parts have most trigrams of bytes in common with a key, borders included."""
    wanted = np.zeros(1 << 24, bool)
    wanted[
        _trigrams(
            letters[np.frombuffer(f"\n{key[:COMPARED]}\n".encode("utf-8", "replace"), np.uint8)]
        )
    ] = True
    best, scores = np.zeros(0, np.int64), np.zeros(0)
    for begin in range(0, len(texts), TEXTS_AT_ONCE):
        borders = np.asarray(texts.offsets[begin : begin + TEXTS_AT_ONCE + 1])
        block = np.append(np.uint32(_LINE_BREAK), letters[texts.blob[borders[0] : borders[-1]]])
        ends = borders[1:] - borders[0]  # where the line break behind each text stands
        parts = np.flatnonzero(block == _LINE_BREAK)
        starts = parts[np.searchsorted(parts, ends) - 1]
        hits = np.append(np.int64(0), np.cumsum(wanted[_trigrams(block)]))
        shared, sizes = hits[np.maximum(ends - 1, starts)] - hits[starts], ends - starts
        best = np.append(best, np.arange(begin, begin + len(ends)))
        scores = np.append(scores, shared / (sizes + len(key)))
        kept = np.argsort(-scores, kind="stable")[:CANDIDATES]
        best, scores = best[kept], scores[kept]
    return best[scores > 0]


def _trigrams(block: NDArray[np.uint32]) -> NDArray[np.uint32]:
    packed: NDArray[np.uint32] = (
        block[:-2] | block[1:-1] << np.uint32(8) | block[2:] << np.uint32(16)
    )
    return packed
