"""Names of terms that need a look at all parts: generated blank nodes, and the type predicate."""

from __future__ import annotations

import numpy as np

from pyke.graph.build import GENERATED, is_blank, rename_terms
from pyke.graph.terms import Terms
from pyke.pipeline.partitions.job import Result

STEM = b"anon"


def found_names(terms: Terms, type_predicate: str) -> Result:
    """What a part of the terms says about names."""
    blank = np.flatnonzero(is_blank(terms)) if len(terms) else np.zeros(0, np.int64)
    names = [terms.blob[terms.offsets[i] : terms.offsets[i + 1]].tobytes() for i in blank]
    longest = -1  # how often x follows the stem in a name
    for name in names:
        while STEM + b"x" * (longest + 1) in name:
            longest += 1
    return {
        "blank": len(names),
        "generated": sum(GENERATED.fullmatch(name) is not None for name in names),
        "stem": longest,
        "type": terms.find(type_predicate),
    }


def name_generated(terms: Terms, stem: bytes, first: int) -> Terms:
    """Number the blank nodes of a part that pyoxigraph gave a random label, from `first`."""
    blank = np.flatnonzero(is_blank(terms)) if len(terms) else np.zeros(0, np.int64)
    made: dict[int, bytes] = {}
    for i in blank:
        name = terms.blob[terms.offsets[i] : terms.offsets[i + 1]].tobytes()
        if match := GENERATED.fullmatch(name):
            made[int(i)] = b"_:" + (match[1] or b"") + stem + str(first + len(made)).encode()
    if not made:
        return terms
    return rename_terms(terms, np.fromiter(made, np.int64), list(made.values()))
