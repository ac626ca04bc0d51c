"""Many strings in one UTF-8 blob, and the terms of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Offsets
from pyke.errors import UnknownTerm

# pyoxigraph gives a blank node without a label a random one of up to 32 hexadecimal digits.
# The reader marks such labels with a character that cannot start a label.
GENERATED_MARK = "·".encode()

MIN_GENERATED_DIGITS = 20


@dataclass(frozen=True, repr=False)
class Texts:
    """Strings in one UTF-8 blob, each followed by a newline.

    String i is blob[offsets[i] : offsets[i + 1] - 1].
    """

    blob: NDArray[np.uint8]
    offsets: Offsets

    @classmethod
    def of(cls, texts: Iterable[str]) -> Any:
        """Pack strings into one blob."""
        encoded = [text.encode() + b"\n" for text in texts]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(np.frombuffer(bytearray(b"".join(encoded)), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        first = "".join(f", {text!r}" for text in self[:3])
        more = ", …" if len(self) > 3 else ""
        return f"<{type(self).__name__}: {len(self):,}{first}{more}>"

    @overload
    def __getitem__(self, at: int | np.integer[Any]) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | np.integer[Any] | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[i] for i in range(len(self))[at]]
        at = range(len(self))[at]  # allows negative positions and raises IndexError
        text = self.blob[self.offsets[at] : self.offsets[at + 1] - 1]
        return text.tobytes().decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))


class Terms(Texts):
    """The terms of a graph: IRIs, and blank nodes as `_:label`. A term's id is its position.

    Examples
    --------
    >>> terms = Terms.of(["http://example.com/a", "_:b"])
    >>> terms.id("_:b"), terms[0]
    (1, 'http://example.com/a')
    """

    def find(self, term: str) -> int:
        """Id of a term, or −1.

        Compares the terms of the same length from the last byte, as IRIs differ near their end.
        """
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
        """Id of a term. Raises UnknownTerm if the graph does not have it."""
        found = self.find(term)
        if found < 0:
            raise UnknownTerm(
                f"the graph has no term {term!r}. Write IRIs in full. Terms that occur only "
                "with literals have no vector unless `count_literals=True`."
            )
        return found

    def __contains__(self, term: object) -> bool:
        return isinstance(term, str) and self.find(term) >= 0
