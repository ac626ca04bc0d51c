"""What flows between the stages: frozen containers of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from pyke.errors import UnknownTerm

Ids = NDArray[np.int32]
Offsets = NDArray[np.int64]
Floats = NDArray[np.float32]

# pyoxigraph gives a blank node without a label a random one of up to 32 hexadecimal digits; the reader puts in front of it a
# character that no label can begin with.
GENERATED_MARK = "·".encode()
LEAST_GENERATED = 20

LITERAL = -1  # stands in the object column of a triple whose object is a literal


@dataclass(frozen=True, repr=False)
class Texts:
    """Strings as one UTF-8 blob, each followed by a newline: string i is blob[offsets[i] : offsets[i + 1] - 1]."""

    blob: NDArray[np.uint8]
    offsets: Offsets

    @classmethod
    def of(cls, texts: Iterable[str]) -> Any:
        """Packs strings."""
        encoded = [text.encode() + b"\n" for text in texts]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(np.frombuffer(bytearray(b"".join(encoded)), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self):,}{''.join(f', {text!r}' for text in self[:3])}{', …' if len(self) > 3 else ''}>"

    @overload
    def __getitem__(self, at: int | np.integer[Any]) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | np.integer[Any] | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[i] for i in range(len(self))[at]]
        at = range(len(self))[at]  # counts from the end if it is negative, and raises IndexError
        return self.blob[self.offsets[at] : self.offsets[at + 1] - 1].tobytes().decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))


def positions(ids: NDArray[np.integer[Any]], among: Ids) -> Offsets:
    """Where each id stands in an ascending array; −1 if it does not."""
    at = np.minimum(np.searchsorted(among, ids), len(among) - 1)
    return np.where(among[at] == ids, at, -1) if len(among) else at


def ranges(starts: NDArray[np.integer[Any]], sizes: NDArray[np.integer[Any]]) -> Offsets:
    """start, start + 1, … of each range, one behind the other."""
    ends = np.cumsum(sizes, dtype=np.int64)
    moved = np.repeat(starts - (ends - sizes), sizes)
    return moved + np.arange(len(moved))


class Terms(Texts):
    """The vocabulary: IRIs as they are, blank nodes as `_:label`. A term's id is its position.

    Examples
    --------
    >>> terms = Terms.of(["http://example.com/a", "_:b"])
    >>> terms.id("_:b"), terms[0]
    (1, 'http://example.com/a')
    """

    def find(self, term: str) -> int:
        """The id of a term, or −1: terms of its length are compared byte by byte from the end, where IRIs differ."""
        if term.startswith("<") and term.endswith(">"):
            term = term[1:-1]
        key = np.frombuffer(term.encode("utf-8", "surrogatepass"), np.uint8)
        starts = self.offsets[:-1][np.diff(self.offsets) == len(key) + 1]
        for position in range(len(key) - 1, -1, -1):
            starts = starts[self.blob[starts + position] == key[position]]
            if len(starts) == 0:
                return -1
        return int(np.searchsorted(self.offsets, starts[0])) if len(starts) else -1

    def id(self, term: str) -> int:
        """The id of a term, or UnknownTerm."""
        found = self.find(term)
        if found < 0:
            raise UnknownTerm(f"no term {term!r} in this graph. IRIs are written in full; a term that occurs only "
                              "beside literals has no vector unless --count-literals is given.")  # fmt: skip
        return found

    def __contains__(self, term: object) -> bool:
        return isinstance(term, str) and self.find(term) >= 0


@dataclass(frozen=True)
class Problem:
    """Something wrong with an input: where, and what."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


@dataclass
class Census:
    """What was read, and what became of it: statements = triples + literals left out + duplicates + triple terms."""

    statements: int = 0
    triples: int = 0
    literals: int = 0
    duplicates: int = 0
    triple_terms: int = 0
    errors: int = 0
    terms: int = 0
    terms_only_with_literals: int = 0
    blank_nodes: int = 0
    predicates: int = 0
    typed_subjects: int = 0
    classes: int = 0
    bytes: int = 0
    files_passed_over: int = 0  # in directories, for want of an extension of RDF
    problems: list[Problem] = field(default_factory=list)  # the first ones

    def as_dict(self) -> dict[str, Any]:
        """For JSON; the paper's |G|, |V|, |S|, |C| are triples, terms, typed_subjects, classes."""
        values = {name: value for name, value in vars(self).items() if name != "problems"}
        return values | {"first_errors": [str(problem) for problem in self.problems]}


@dataclass(frozen=True)
class Graph:
    """The counted triples over term ids, sorted by subject, predicate, object; each once unless duplicates are kept.

    `predicates` are the ids of the terms that are predicates; the predicate column holds positions in it.
    """

    terms: Terms
    subjects: Ids
    predicates_of: Ids
    objects: Ids  # LITERAL where the object is one
    predicates: Ids
    types: Ids  # (n, 2): typed subject, class
    labels: Texts
    labelled: Ids  # the term that each label is of
    census: Census

    def __len__(self) -> int:
        return len(self.subjects)


@dataclass(frozen=True)
class Similarities:
    """Positive similarities between particles, the terms first: each unordered pair once."""

    particles: int
    first: Ids
    second: Ids
    values: Floats


@dataclass(frozen=True)
class Around:
    """Some terms: P(x) is wanted of them, and of all that they are tied to; what decides nothing of these may be left out."""

    terms: NDArray[np.bool_]
    k: int


@dataclass(frozen=True)
class Matrix:
    """A sparse matrix by rows: row x has columns[offsets[x] : offsets[x + 1]]."""

    offsets: Offsets
    columns: Ids
    values: Floats

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1


@dataclass(frozen=True)
class Repellers:
    """N(x): the rows of a block share a pool of particles; members[x] are positions in the pool of x's block, `counts[x]` of them."""

    pool_offsets: Offsets
    pool: Ids
    members: NDArray[np.unsignedinteger[Any]]  # (particles, greatest count)
    counts: NDArray[np.uint16]

    def of(self, particle: int, block_rows: int) -> Ids:
        """The particles that repel one."""
        start = self.pool_offsets[particle // block_rows]
        members: Ids = self.pool[start + self.members[particle, : self.counts[particle]].astype(np.int64)]
        return members
