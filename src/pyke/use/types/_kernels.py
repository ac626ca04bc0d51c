"""Compiled loops over the types and roles of neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyke.core.compile import kernel
from pyke.core.hashing import hash_bytes, mix

_SLASH, _NUMBER_SIGN, _COLON, _UNDERSCORE = ord("/"), ord("#"), ord(":"), ord("_")


@kernel
def vote_scores(
    neighbours: NDArray[np.int32],
    point_offsets: NDArray[np.int64],
    point_classes: NDArray[np.int32],
    query_offsets: NDArray[np.int64],
    query_classes: NDArray[np.int32],
    sizes: NDArray[np.int64],
    begin: int,
    end: int,
    out: NDArray[np.float64],
) -> None:
    """neighbours (m, k), types by rows → out (m, sizes), for each ascending μ in sizes.

    out = cos(type(x), Σ type(y) over the μ nearest y). The length of the sum is updated with each
    class that is added: |v + e_c|² = |v|² + 2 v_c + 1.
    """
    classes = 0
    for c in point_classes:
        classes = max(classes, c + 1)
    for c in query_classes:
        classes = max(classes, c + 1)
    votes, known = np.zeros(classes, np.int64), np.zeros(classes, np.bool_)
    for q in range(begin, end):
        truth = query_classes[query_offsets[q] : query_offsets[q + 1]]
        for c in truth:
            known[c] = True
        dot, square, counted = 0, 0, 0
        for m in range(sizes.shape[0]):
            while counted < sizes[m]:
                y = neighbours[q, counted]
                for c in point_classes[point_offsets[y] : point_offsets[y + 1]]:
                    square += 2 * votes[c] + 1
                    votes[c] += 1
                    dot += known[c]
                counted += 1
            out[q, m] = (
                dot / np.sqrt(np.float64(square) * truth.shape[0])
                if square and truth.shape[0]
                else 0.0
            )
        for y in neighbours[q, :counted]:
            votes[point_classes[point_offsets[y] : point_offsets[y + 1]]] = 0
        known[truth] = False


@kernel
def role_overlaps(
    own_offsets: NDArray[np.int64],
    own_roles: NDArray[np.int32],
    own_sizes: NDArray[np.float64],
    offsets: NDArray[np.int64],
    roles: NDArray[np.int32],
    sizes: NDArray[np.float64],
    others: NDArray[np.int32],
    begin: int,
    end: int,
    out: NDArray[np.float64],
) -> None:
    """m queries, others (m, k) → out (m, k): how much their roles overlap, 0 to 1.

    out = Σ min(a_r, b_r) / Σ max(a_r, b_r) over all roles r. Term x has the roles
    roles[offsets[x] : offsets[x + 1]], ascending, with these sizes; the size of others is 0.
    Queries have rows of their own.
    """
    for q in range(begin, end):
        for j in range(others.shape[1]):
            a, b = own_offsets[q], offsets[others[q, j]]
            last_a, last_b = own_offsets[q + 1], offsets[others[q, j] + 1]
            shared, united = 0.0, 0.0
            while a < last_a and b < last_b:
                if own_roles[a] < roles[b]:
                    united += own_sizes[a]
                    a += 1
                elif roles[b] < own_roles[a]:
                    united += sizes[b]
                    b += 1
                else:
                    shared += min(own_sizes[a], sizes[b])
                    united += max(own_sizes[a], sizes[b])
                    a += 1
                    b += 1
            for rest in range(a, last_a):
                united += own_sizes[rest]
            for rest in range(b, last_b):
                united += sizes[rest]
            out[q, j] = shared / united if shared > 0 else 0.0


@kernel
def namespace_hashes(
    blob: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    begin: int,
    end: int,
    namespaces: NDArray[np.uint64],
    hosts: NDArray[np.uint64],
) -> None:
    """Texts of terms → hashes of the namespace and of the host of each term begin … end.

    The namespace is the text up to the last / or #, or without these up to the last colon. The host
    is the text up to the third slash, or the namespace. All blank nodes have the namespace `_:`.
    """
    for x in range(begin, end):
        start, stop = offsets[x], offsets[x + 1] - 1
        cut = stop
        while cut > start and blob[cut - 1] != _SLASH and blob[cut - 1] != _NUMBER_SIGN:
            cut -= 1
        if cut == start:
            cut = stop
            while cut > start and blob[cut - 1] != _COLON:
                cut -= 1
        if stop - start > 1 and blob[start] == _UNDERSCORE and blob[start + 1] == _COLON:
            cut = start + 2
        slashes, host = 0, start
        while host < cut and slashes < 3:
            slashes += blob[host] == _SLASH
            host += 1
        namespaces[x] = mix(hash_bytes(blob, start, cut, np.uint64(0)))
        hosts[x] = mix(hash_bytes(blob, start, host, np.uint64(0)))
