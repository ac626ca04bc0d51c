"""Find terms by a part of their label, local name or IRI, the best first.

All names are in one blob, those of the best-connected terms first. A query is one scan of it: the
first hits of each rank are the best ones, so nothing is sorted. Upper case, accents and escapes are
removed from names and queries alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

import numpy as np

from pyke.core.arrays import Bytes, Ids, Offsets
from pyke.embedding.embedding import Embedding
from pyke.embedding.lookup import PREFIXES, local_name, texts_at
from pyke.use.search._kernels import BLOCK, LINE_BREAK, RANKS, find_texts

TERMS_AT_ONCE = 1 << 14
MAX_QUERY = 1024  # bytes
BYTES_AT_ONCE = 1 << 20
_BREAKS = re.compile(r"[\t\n]+")
_MARKS = re.compile("[\u0300-\u036f]+")  # accents, after letters were decomposed


@dataclass(frozen=True)
class Found:
    """Terms that match a query, the best first, and the number of all that match their names.

    `in_iris` says that names matched too few terms and IRIs were searched, too.
    """

    ids: Ids
    matches: int
    in_iris: bool


def folded(text: str) -> str:
    """A text as names are compared.

    Examples
    --------
    >>> folded("Kurt GÖDEL")
    'kurt godel'
    """
    if not text.isascii():
        text = _MARKS.sub("", unicodedata.normalize("NFKD", text))
    return text.casefold()


@dataclass(frozen=True)
class _Blob:
    """Folded texts, each followed by a line break, after one line break."""

    data: Bytes
    ends: Offsets  # positions of the line breaks after the texts
    frequencies: Offsets  # of each byte

    @classmethod
    def of(cls, blocks: Iterable[str]) -> _Blob:
        text = b"".join(block.encode("utf-8", "replace") for block in blocks)
        data = np.frombuffer(b"\n" + text + bytes(MAX_QUERY + BLOCK), np.uint8).copy()
        ends = np.flatnonzero(data == LINE_BREAK)[1:]
        parts = (data[at : at + BYTES_AT_ONCE] for at in range(0, len(data), BYTES_AT_ONCE))
        frequencies = np.zeros(256, np.int64)
        for part in parts:
            frequencies += np.bincount(part, minlength=256)
        return cls(data, ends, frequencies)

    def find(self, text: str, limit: int) -> tuple[Offsets, int]:
        """Positions of at most `limit` texts that contain a text, and the number of all."""
        needle = np.frombuffer(bytearray(text.encode("utf-8", "replace")[:MAX_QUERY]), np.uint8)
        counts = np.zeros(RANKS, np.int64)
        found = np.zeros((RANKS, limit), np.int64)
        rarest = np.sort(np.argsort(self.frequencies[needle], kind="stable")[:2])
        find_texts(self.data, self.ends, needle, (int(rarest[0]), int(rarest[-1])), counts, found)
        best = [row[:count] for row, count in zip(found, counts.tolist(), strict=True)]
        return np.concatenate(best)[:limit], int(counts.sum())


class SearchIndex:
    """Finds terms by a part of their label, local name or IRI.

    Examples
    --------
    >>> import pyke
    >>> e = pyke.embed("examples/father.ttl", dimensions=10)
    >>> index = SearchIndex(e)
    >>> [e.terms[i] for i in index.find("ann", limit=1).ids]
    ['http://example.com/father#anna']
    """

    def __init__(self, embedding: Embedding) -> None:
        self._terms = embedding.terms
        self._order = by_degree(embedding)
        self._names = _Blob.of(self._folded_names(embedding))
        self._iris = _Blob.of(self._folded_iris())

    def find(self, query: str, limit: int = 10) -> Found:
        """The terms that match best: whole names, then starts of names and words, then parts.

        Among equals, the terms with most triples come first. IRIs are searched if a query looks
        like one, or if few names match.
        """
        text = _BREAKS.sub(" ", folded(query)).strip()
        if not text:
            return Found(np.zeros(0, np.int32), 0, False)
        at, matches = self._names.find(text.replace("_", " "), limit)
        if len(at) >= limit:
            return Found(self._order[at], matches, False)
        for iri in self._as_iris(text):
            more, _ = self._iris.find(iri, limit)
            at = np.concatenate([at, more[~np.isin(more, at)]])[:limit]
        return Found(self._order[at], max(matches, len(at)), True)

    @staticmethod
    def _as_iris(text: str) -> list[str]:
        """What a query may stand for in an IRI: itself, or a prefixed name in full."""
        bare = text.removeprefix("<").removesuffix(">") or text
        prefix, colon, rest = bare.partition(":")
        known = PREFIXES.get(prefix, "").split() if colon and not rest.startswith("//") else []
        return [*(folded(namespace) + rest for namespace in known), bare]

    def _folded_names(self, embedding: Embedding) -> Iterator[str]:
        """Label and local name of each term, some thousand terms at a time."""
        lookup = embedding.lookup()
        for ids, terms in self._blocks():
            names = zip(lookup.labels_of(ids), terms, strict=True)
            yield folded("".join(_names(label, term) for label, term in names))

    def _folded_iris(self) -> Iterator[str]:
        for _, terms in self._blocks():
            yield folded("".join(_BREAKS.sub(" ", term) + "\n" for term in terms))

    def _blocks(self) -> Iterator[tuple[Ids, list[str]]]:
        for begin in range(0, len(self._order), TERMS_AT_ONCE):
            ids = self._order[begin : begin + TERMS_AT_ONCE]
            yield ids, texts_at(self._terms, ids)


def by_degree(embedding: Embedding) -> Ids:
    """All terms, those with most triples first."""
    degrees = np.bincount(embedding.triples[:, 0], minlength=len(embedding))
    objects = embedding.triples[:, 2]
    degrees += np.bincount(objects[objects >= 0], minlength=len(embedding))
    return np.argsort(-degrees, kind="stable").astype(np.int32)


def _names(label: str | None, term: str) -> str:
    """Label and local name in one line, as `_Blob` has them."""
    local = local_name(term)
    if "%" in local:
        local = unquote(local)
    local = local.replace("_", " ")
    if label is None:
        return (_BREAKS.sub(" ", local) if "\n" in local or "\t" in local else local) + "\n"
    return f"{_BREAKS.sub(' ', label)}\t{_BREAKS.sub(' ', local)}\n"
