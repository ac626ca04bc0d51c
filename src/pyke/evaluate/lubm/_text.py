"""Kernels that compose the texts of a university, and write its lines as N-Triples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Bytes
from pyke.core.compile import kernel
from pyke.evaluate.lubm._tables import (
    DEPARTMENT,
    DEPARTMENT_TEXTS,
    EMAIL_OFFSET,
    FIRST_DEPARTMENT,
    FIRST_NAME,
    FIRST_OF,
    GROUP,
    PUBLICATION,
)

Rows = NDArray[np.int32]  # (n, 3): text numbers of subject, predicate, object
Numbers = NDArray[np.int64]

_QUOTE, _SLASH, _DOT, _AT, _GREATER, _SPACE, _NEWLINE = b'"/.@> \n'
_BEFORE_HOST = len("<http://www.")


class Texts(NamedTuple):
    """Text i is blob[starts[i] : stops[i]]. Unused numbers of a department have no text."""

    blob: Bytes
    starts: Numbers
    stops: Numbers


@kernel
def copy(source: Bytes, start: int, stop: int, out: Bytes, at: int) -> int:
    """out[at:] = source[start:stop]; returns the position after it."""
    # Unsigned positions let the compiler use vector instructions.
    x, y = np.uintp(start), np.uintp(at)
    for k in range(stop - start):
        out[y + np.uintp(k)] = source[x + np.uintp(k)]
    return at + stop - start


@kernel
def _add_child(texts: Texts, end: int, new: int, parent: int, name: int) -> int:
    """Text `new` = the parent's IRI, a slash, and the quoted part of `name`."""
    blob, starts, stops = texts.blob, texts.starts, texts.stops
    starts[new] = end
    end = copy(blob, starts[parent], stops[parent] - 2, blob, end)
    blob[end] = _SLASH
    end = copy(blob, starts[name] + 1, stops[name] - 2, blob, end + 1)
    blob[end], blob[end + 1] = _GREATER, _SPACE
    stops[new] = end + 2
    return end + 2


@kernel
def _add_email(texts: Texts, end: int, new: int, department: int, name: int) -> int:
    """Text `new` = an e-mail address: the quoted name at the host of the department."""
    blob, starts, stops = texts.blob, texts.starts, texts.stops
    starts[new] = end
    end = copy(blob, starts[name], stops[name] - 2, blob, end)
    blob[end] = _AT
    end = copy(blob, starts[department] + _BEFORE_HOST, stops[department] - 2, blob, end + 1)
    blob[end], blob[end + 1] = _QUOTE, _SPACE
    stops[new] = end + 2
    return end + 2


@kernel
def add_department(
    texts: Texts, end: int, number: int, university: int, counts: Numbers, owners: Numbers
) -> int:
    """Append the texts of a department and its individuals at blob[end:]; returns the new end."""
    blob, starts, stops = texts.blob, texts.starts, texts.stops
    department, name = FIRST_DEPARTMENT + number * DEPARTMENT_TEXTS, FIRST_NAME[DEPARTMENT] + number
    starts[department] = end
    end = copy(blob, starts[university], starts[university] + _BEFORE_HOST, blob, end)
    end = copy(blob, starts[name] + 1, stops[name] - 2, blob, end)
    blob[end] = _DOT
    end = copy(blob, starts[university] + _BEFORE_HOST, stops[university], blob, end + 1)
    stops[department] = end
    for kind in range(PUBLICATION):
        for i in range(counts[kind]):
            new = department + FIRST_OF[kind] + i
            end = _add_child(texts, end, new, department, FIRST_NAME[kind] + i)
            if kind < GROUP:
                end = _add_email(texts, end, new + EMAIL_OFFSET, department, FIRST_NAME[kind] + i)
    j = 0
    for k in range(counts[PUBLICATION]):
        j = j + 1 if k > 0 and owners[k] == owners[k - 1] else 0
        new = department + FIRST_OF[PUBLICATION] + k
        end = _add_child(texts, end, new, owners[k], FIRST_NAME[PUBLICATION] + j)
    return end


@kernel
def text_size(rows: Rows, texts: Texts) -> int:
    """int32 (n, 3) rows → number of bytes that their lines have."""
    size = 2 * rows.shape[0]
    for i in range(rows.shape[0]):
        for c in range(3):
            size += texts.stops[rows[i, c]] - texts.starts[rows[i, c]]
    return size


@kernel
def write_lines(rows: Rows, texts: Texts, out: Bytes) -> None:
    """int32 (n, 3) rows → uint8 out: three texts, a full stop and a newline for each row."""
    blob, starts, stops = texts.blob, texts.starts, texts.stops
    at = 0
    for i in range(rows.shape[0]):
        for c in range(3):
            at = copy(blob, starts[rows[i, c]], stops[rows[i, c]], out, at)
        out[at], out[at + 1] = _DOT, _NEWLINE
        at += 2
