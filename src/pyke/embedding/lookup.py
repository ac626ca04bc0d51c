"""Find the id of a term by a name that people use.

A name is read in this order; the first reading that is in the graph counts:

1. `<IRI>` or `_:label`: exactly this term;
2. a complete IRI;
3. a prefixed name; given prefixes override the well-known ones;
4. a label; upper and lower case are the same;
5. a local name, the part of an IRI after the last `/`, `#` or `:`. `_` and a space are the same,
   percent-escapes are undone, and case only matters if several terms differ in nothing else.

If several terms have the same label or local name, the error lists them. A name with `://` is an
IRI: it is not searched among labels and local names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from urllib.parse import unquote

import numpy as np

from pyke.core.arrays import Ids, positions
from pyke.embedding import scan
from pyke.embedding.scan import blocks, folded, local_key, spaced
from pyke.embedding.similar import candidates, edits, likeness
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

MAX_LISTED = 10  # terms in an error message
SUGGESTIONS = 3
MIN_LIKENESS = 0.7
MIN_PART = 3  # letters of a part of a name
MAX_PARTS = 10_000  # names with this part that are compared


def texts_at(texts: Texts, positions: Iterable[int]) -> list[str]:
    """Return many texts at once."""
    blob, offsets = np.ascontiguousarray(texts.blob).data, texts.offsets
    positions = np.asarray(positions, np.int64)
    starts, ends = offsets[positions].tolist(), (offsets[positions + 1] - 1).tolist()
    return [str(blob[a:b], "utf-8", "replace") for a, b in zip(starts, ends, strict=True)]


def local_name(iri: str) -> str:
    """Return the part of an IRI after its last `/`, `#` or `:`, or the IRI if there is none."""
    return re.split(r"[/#:]", iri.rstrip("/#:"))[-1] or iri


def parse_prefixes(given: Iterable[str]) -> dict[str, str]:
    """Return a dictionary of prefixes that are written as `name=IRI`."""
    prefixes = {}
    for text in given:
        name, sign, iri = text.partition("=")
        if not (sign and iri):
            raise UsageError(
                f'`prefix="{text}"`: write a prefix as name=IRI, for example ex=http://example.com/'
            )
        prefixes[name.removesuffix(":")] = iri.removeprefix("<").removesuffix(">")
    return prefixes


@dataclass(frozen=True)
class Lookup:
    """Finds terms of a graph by IRI, prefixed name, label or local name.

    Examples
    --------
    >>> from pyke.graph import Terms, Texts
    >>> terms = Terms.of(["http://xmlns.com/foaf/0.1/knows", "http://e/anna", "http://e/Bob_Ross"])
    >>> lookup = Lookup(terms, Texts.of(["Anna"]), np.array([1], np.int32))
    >>> lookup.find("foaf:knows"), lookup.find("ANNA"), lookup.find("Bob Ross")
    (0, 1, 2)
    """

    terms: Terms
    labels: Texts
    labelled: Ids  # the term of each label, ascending
    prefixes: Mapping[str, str] = field(default_factory=dict)  # override those in PREFIXES

    def find(self, name: str) -> int:
        """Return the id of a term, or raise UnknownTerm or UsageError.

        UnknownTerm suggests similar names; UsageError lists the terms that share the name.
        """
        (found,) = self.find_all([name])
        if isinstance(found, UnknownTerm):
            raise self._unknown(name)
        if isinstance(found, PykeError):
            raise found
        return found

    def find_all(self, names: Sequence[str]) -> list[int | PykeError]:
        """Return the id of each term, or the error for its name."""
        readings = [self._readings(name) for name in names]
        ids = self._ids({iri for iris in readings for iri in iris})
        found: list[int | PykeError | None] = [
            next((ids[iri] for iri in iris if iri in ids), None) for iris in readings
        ]
        for search in (self._by_label, self._by_local_name):
            others = {
                name
                for name, term in zip(names, found, strict=True)
                if term is None and not _is_iri(name)
            }
            more = search(others)
            found = [
                more.get(name) if term is None else term
                for name, term in zip(names, found, strict=True)
            ]
        return [
            UnknownTerm(f"no term {name!r} in this graph") if term is None else term
            for name, term in zip(names, found, strict=True)
        ]

    def find_class(self, name: str, types: Ids) -> int:
        """Return the id of a class that some subject has; `types` are (subject, class).

        Labels and local names of classes come first, then all readings of a name.
        """
        classes, counts = np.unique(types[:, 1], return_counts=True)
        frequent = classes[np.argsort(-counts, kind="stable")]
        return self._find_among(name, frequent, "classes", f"no subject has the type {name!r}")

    def find_predicate(self, name: str, triples: Ids) -> int:
        """Return the id of a predicate; `triples` are (subject, predicate, object).

        Labels and local names of predicates come first, then all readings of a name.
        """
        counts = np.bincount(triples[:, 1])
        frequent = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        unknown = f"no triple has the predicate {name!r} (triples with literals do not count)"
        return self._find_among(name, frequent.astype(np.int32), "predicates", unknown)

    def _find_among(self, name: str, terms: Ids, what: str, unknown: str) -> int:
        """Return the id of one of some terms, the most frequent first, or raise an error."""
        called = []
        if not _is_explicit(name):
            key = local_key(name)
            called = [term for term in terms.tolist() if local_key(self.readable(term)) == key]
        if len(called) > 1:
            raise self._ambiguous(called, f"{what} are called {name!r}")
        with suppress(UnknownTerm):
            found = called[0] if called else self.find(name)
            if found in terms:
                return found
        kind = "types" if what == "classes" else what
        key = local_key(name)
        parts = [term for term in terms.tolist() if key in local_key(self.readable(term))]
        if len(key) >= MIN_PART and parts:
            raise UnknownTerm(f"{unknown}. {self._did_you_mean(parts[:SUGGESTIONS])}")
        frequent = ", ".join(self.readable(term) for term in terms[:MAX_LISTED].tolist())
        raise UnknownTerm(
            f"{unknown}. "
            + (f"Frequent {kind}: {frequent}." if frequent else f"This graph has no {kind}.")
        )

    def label(self, term: int) -> str | None:
        """Return the label of a term in the graph."""
        at = int(np.searchsorted(self.labelled, term))
        return self.labels[at] if at < len(self.labelled) and self.labelled[at] == term else None

    def labels_of(self, terms: Ids) -> list[str | None]:
        """Return the labels of many terms."""
        at = positions(terms, self.labelled)
        texts = iter(texts_at(self.labels, at[at >= 0]))
        return [next(texts) if one else None for one in (at >= 0).tolist()]

    def readable(self, term: int) -> str:
        """Return the label of a term, or its local name if it has no label."""
        return self.label(term) or unquote(local_name(self.terms[term]))

    def title(self, term: int) -> str:
        """Return the name of a term for a reader: its label, or its local name as words."""
        return self.label(term) or _as_words(unquote(local_name(self.terms[term])))

    def _readings(self, name: str) -> list[str]:
        """Return the terms that a name may mean, the likeliest first."""
        if _is_explicit(name):
            return [name[1:-1] if name.startswith("<") else name]
        prefix, colon, rest = name.partition(":")
        known = (self.prefixes.get(prefix) or PREFIXES.get(prefix, "")) if colon else ""
        return [name, *(namespace + rest for namespace in known.split())]

    def _ids(self, wanted: Collection[str]) -> dict[str, int]:
        """Return the ids of those terms that are in the graph."""
        if len(wanted) <= scan.FEW:
            return {iri: found for iri in wanted if (found := self.terms.find(iri)) >= 0}
        return {
            term: at
            for begin, text in blocks(self.terms)
            for at, term in enumerate(text.split("\n")[:-1], begin)
            if term in wanted
        }

    def _by_label(self, names: Collection[str]) -> dict[str, int | PykeError]:
        """Return the term with each label, or an error if there are several."""
        found = scan.positions(self.labels, {folded(name) for name in names}, local=False)
        result: dict[str, int | PykeError] = {}
        for name in names:
            terms = [int(self.labelled[at]) for at in found.get(folded(name), [])]
            if terms:
                is_one = len(terms) == 1
                why = f"terms have the label {name!r}"
                result[name] = terms[0] if is_one else self._ambiguous(terms, why)
        return result

    def _by_local_name(self, names: Collection[str]) -> dict[str, int | PykeError]:
        """Return the term with each local name, or an error if there are several."""
        found = scan.positions(self.terms, {local_key(name) for name in names}, local=True)
        result: dict[str, int | PykeError] = {}
        for name in names:
            terms = [t for t in found.get(local_key(name), []) if self.terms[t][:2] != "_:"]
            same_case = [t for t in terms if spaced(local_name(self.terms[t])) == spaced(name)]
            if terms:
                is_one = len(terms) == 1 or len(same_case) == 1
                why = f"terms have the local name {name!r}"
                result[name] = (same_case or terms)[0] if is_one else self._ambiguous(terms, why)
        return result

    def _ambiguous(self, terms: Sequence[int], why: str) -> UsageError:
        """Return the error that lists terms with the same name."""
        listed = ", ".join(self._written(term) for term in terms[:MAX_LISTED])
        more = f" and {len(terms) - MAX_LISTED:,} more" if len(terms) > MAX_LISTED else ""
        return UsageError(f"{len(terms):,} {why}: {listed}{more}. Use the IRI of one of them.")

    def _unknown(self, name: str) -> UnknownTerm:
        """Return the error for a name that was not found, with suggestions or advice."""
        prefix = name.partition(":")[0]
        if similar := self._similar(name):
            advice = self._did_you_mean(similar)
        elif parts := self._with_part(name):
            advice = self._did_you_mean(parts[:SUGGESTIONS])
            if (more := len(parts) - SUGGESTIONS) > 0:
                least = "At least " if len(parts) == MAX_PARTS else ""
                advice += f" {least}{more:,} more with {name!r} in their names."
        elif _is_prefixed(name) and not self._readings(name)[1:]:
            advice = f'The prefix {prefix}: is unknown; define it with `prefix="{prefix}=IRI"`.'
        else:
            advice = (
                "Terms that occur only in triples with literals have a vector only if the graph "
                "was embedded with `count_literals=True`."
            )
        return UnknownTerm(f"no term, label or local name {name!r} in this graph. {advice}")

    def _did_you_mean(self, terms: Sequence[int]) -> str:
        shown = [
            self._written(term) + (f" ({label})" if (label := self.label(term)) else "")
            for term in terms
        ]
        return f"Did you mean {' or '.join(shown)}?"

    def _with_part(self, name: str) -> list[int]:
        """Return the terms whose labels or local names contain a name, the best first.

        Names in which it begins a word come first, and then the shortest ones.
        """
        key = local_key(name)
        if len(key) < MIN_PART or _is_iri(name):
            return []
        word = re.compile(rf"\b{re.escape(key)}")
        labels = (
            (int(self.labelled[at]), text)
            for at, text in scan.containing(self.labels, key, local=False)
        )
        terms = (
            (term, text)
            for term, text in scan.containing(self.terms, key, local=True)
            if not self.terms[term].startswith("_:")
        )
        found: dict[int, tuple[bool, int]] = {}
        for term, text in chain(labels, terms):
            rank = (word.search(text) is None, len(text))
            found[term] = min(found.get(term, rank), rank)
            if len(found) == MAX_PARTS:
                break
        return sorted(found, key=lambda term: (found[term], term))

    def _written(self, term: int) -> str:
        """Return a term as it is written in N-Triples."""
        text = self.terms[term]
        return text if text.startswith("_:") else f"<{text}>"

    def _similar(self, name: str) -> list[int]:
        """Return the terms whose local names or labels look most like a name, the best first.

        Names are compared as a whole. An IRI is also suggested if it differs in one letter, and
        IRIs decide between equal local names.
        """
        bare = self._readings(name)[-1]
        is_iri = _is_iri(name) or _is_prefixed(name)
        found = dict.fromkeys(self._variants(bare), 2.0)
        key = local_key(local_name(bare) if is_iri else name)
        near = candidates(self.terms, key, last_part=True).tolist()
        if is_iri:
            near += candidates(self.terms, bare, last_part=False).tolist()
        for term in near:
            iri = self.terms[term]
            if name.startswith("_:") or not iri.startswith("_:"):
                alike = likeness(key, local_key(local_name(iri)))
                if is_iri and edits(bare, iri) <= 1:
                    alike = 1.0
                found.setdefault(term, alike + likeness(bare, iri) / 100)
        for at in candidates(self.labels, key, last_part=False).tolist():
            term = int(self.labelled[at])
            found[term] = max(found.get(term, 0.0), likeness(key, local_key(self.labels[at])))
        likely = [term for term, alike in found.items() if alike >= MIN_LIKENESS]
        return sorted(likely, key=lambda term: (-found[term], term))[:SUGGESTIONS]

    def _variants(self, iri: str) -> Iterator[int]:
        """Yield the terms that differ from an IRI in http or https, or in a final / or #."""
        scheme, sign, rest = iri.partition("://")
        other = {"http": "https", "https": "http"}.get(scheme, scheme)
        stem = iri.rstrip("/#")
        for variant in (other + sign + rest, stem, f"{stem}/", f"{stem}#"):
            if (term := self.terms.find(variant)) >= 0:
                yield term


def _as_words(name: str) -> str:
    """Return a local name with spaces between its words; `_1` and `_hidden` stay as they are."""
    return re.sub(r"(?<=[^\W_])_+(?=[^\W_])", " ", name)


def _is_explicit(name: str) -> bool:
    """Return whether a name is written as `<IRI>` or `_:label`."""
    return name.startswith("_:") or (name.startswith("<") and name.endswith(">"))


def _is_iri(name: str) -> bool:
    """Return whether a name can only be an IRI or a blank node."""
    return _is_explicit(name) or "://" in name


def _is_prefixed(name: str) -> bool:
    """Return whether a name is written like `prefix:name`."""
    return re.fullmatch(r"\w[\w.-]*:(?!//)\S*", name) is not None and not _is_explicit(name)
