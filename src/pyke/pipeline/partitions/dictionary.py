"""Number the terms of parts of the input, each in the order of first occurrence in all inputs.

    merge     terms of some hashes, from all parts: which part has each term first
    number    terms that a part has first: their rank among these
    resolve   ranks → ids, for each part
    send      statements with ids, to the owners of their subjects

The id of a term is its rank in its part, after the terms that earlier parts had first. Only terms
of counted triples get an id.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyke.core import hashing
from pyke.core.arrays import Bytes, GrowingArray, Ids, Offsets
from pyke.graph import _kernels, build
from pyke.graph.terms import Terms
from pyke.pipeline.partitions.job import OWN, Job, Result, stage
from pyke.pipeline.partitions.layout import Layout
from pyke.pipeline.partitions.naming import found_names
from pyke.pipeline.partitions.pieces import Arrays

TEXTS = "texts"  # the piece with the terms of a part
STATEMENTS = ("hashes", "triples", "literals", "literal_keys", "labels", "label_blob")


def collected(collector: build.Collector) -> tuple[dict[str, Arrays], Result]:
    """What was read of a part as pieces: its statements with ids of its own, and its terms."""
    growing = {name.strip("_"): one for name, one in collector.growing().items()}
    own = {name: growing[name].rows for name in STATEMENTS}
    texts = {name: growing[name].rows for name in ("blob", "offsets")}
    return {OWN: own, TEXTS: texts}, {
        "statements": len(own["triples"]) + len(own["literals"]) + collector.triple_terms,
        "triple_terms": collector.triple_terms,
        "literals": len(own["literals"]),
    }


def by_hash(arrays: Arrays, job: Job) -> dict[str, Arrays]:
    """The terms, and the keys of triples with literals, for those who merge them."""
    hashes, offsets, triples = arrays["hashes"], arrays["offsets"], arrays["triples"]
    used = np.zeros(len(hashes), bool)
    used[triples.ravel()] = True
    keys = np.zeros(0, np.uint64)
    if job.config.count_literals:
        used[arrays["literals"].ravel()] = True
    elif not job.config.keep_duplicates:
        keys = _distinct_literals(arrays)
    pieces = {}
    owners, key_owners = _owners(hashes, job), _owners(keys, job)
    for owner in range(job.partitions):
        mine = np.flatnonzero(owners == owner)
        blob, starts = build.gather(arrays["blob"], offsets[mine], offsets[mine + 1] - 1)
        pieces[str(owner)] = {
            "hashes": hashes[mine],
            "blob": blob,
            "offsets": starts,
            "locals": mine.astype(np.int32),
            "used": used[mine],
            "literals": keys[key_owners == owner],
        }
    return pieces


def _owners(hashes: Any, job: Job) -> Any:
    """Who merges these hashes: by their upper half, as hash tables use the lower one."""
    return (hashes >> np.uint64(32)) % np.uint64(job.partitions)


def _distinct_literals(arrays: Arrays) -> Any:
    """Keys of the different triples with literals, which do not depend on the ids of terms."""
    hashes, rows = arrays["hashes"], arrays["literals"]
    pairs, keys = np.empty(len(rows), np.uint64), np.empty(len(rows), np.uint64)
    _kernels.combine_keys(hashes[rows[:, 0]], hashes[rows[:, 1]], pairs)
    _kernels.combine_keys(pairs, np.ascontiguousarray(arrays["literal_keys"]), keys)
    return np.unique(keys)


# -- merge ------------------------------------------------------------------------------------


class _Merged:
    """A dictionary of the terms of some hashes."""

    def __init__(self) -> None:
        self.size = np.zeros(2, np.int64)
        self._table = np.full(1 << 12, -1, np.int64)
        self._hashes, self._offsets = GrowingArray(np.uint64), GrowingArray(np.int64)
        self._offsets.take(1)[0] = 0
        self._blob = GrowingArray(np.uint8)

    def add(self, terms: Arrays) -> Ids:
        """Add terms; return the number of each."""
        more, more_bytes = len(terms["hashes"]), len(terms["blob"])
        needed = int(self.size[0]) + more
        if enlarged := 3 * needed > 2 * len(self._table):
            self._table = np.full(1 << (3 * needed // 2).bit_length(), -1, np.int64)
        self._offsets.reserve(more)
        merged = hashing.Dictionary(
            self.size,
            self._table,
            self._hashes.reserve(more),
            self._offsets.array,
            self._blob.reserve(more_bytes),
        )
        if enlarged:
            hashing.rehash(merged)
        numbers = np.empty(more, np.int32)
        sizes, no_table = np.array([more, more_bytes], np.int64), np.empty(0, np.int64)
        added = hashing.Dictionary(
            sizes, no_table, terms["hashes"], terms["offsets"], terms["blob"]
        )
        hashing.merge_terms(added, merged, numbers)
        self._hashes.used, self._blob.used = int(self.size[0]), int(self.size[1])
        self._offsets.used = self._hashes.used + 1
        return numbers


@stage
def merge(job: Job, owner: int) -> tuple[dict[str, Arrays], Result]:
    """Number the terms of some hashes, and find the part that has each first."""
    merged, used = _Merged(), GrowingArray(np.bool_)
    starts, firsts, numbers, literals = [0], [], {}, []
    for part, terms in enumerate(job.from_all("read", job.readers, owner)):
        found = merged.add(terms)
        new = found >= starts[-1]
        starts.append(int(merged.size[0]))
        used.take(starts[-1] - starts[-2])[:] = False
        used.array[found[terms["used"]]] = True
        firsts.append(terms["locals"][new])
        numbers[f"bucket-{part}"] = {"numbers": found}
        literals.append(terms["literals"])
    kept = used.array[: used.used]
    pieces = {
        str(part): {"firsts": first[kept[starts[part] : starts[part + 1]]]}
        for part, first in enumerate(firsts)
    }
    own = {"starts": np.array(starts, np.int64), "used": kept}
    result = {
        "terms": starts[-1],
        "used": int(kept.sum()),
        "literals": len(np.unique(np.concatenate(literals))),
    }
    return pieces | numbers | {OWN: own}, result


# -- number -----------------------------------------------------------------------------------


@stage
def number(job: Job, part: int) -> tuple[dict[str, Arrays], Result]:
    """Rank the terms that a part has first, in the order of their occurrence; keep their text."""
    firsts = [piece["firsts"] for piece in job.from_all("merge", job.partitions, part)]
    terms = job.read("read", part, TEXTS)
    is_first = np.zeros(len(terms["offsets"]) - 1, bool)
    for locals_ in firsts:
        is_first[locals_] = True
    ranks = (np.cumsum(is_first) - 1).astype(np.int32)
    starts, ends = terms["offsets"][:-1][is_first], terms["offsets"][1:][is_first] - 1
    texts = Terms(*build.gather(terms["blob"], starts, ends))
    pieces: dict[str, Arrays] = {
        str(owner): {"ranks": ranks[locals_]} for owner, locals_ in enumerate(firsts)
    }
    pieces[OWN] = {"blob": texts.blob, "offsets": texts.offsets}
    return pieces, {"terms": len(texts), **found_names(texts, job.config.type_predicate)}


# -- resolve ----------------------------------------------------------------------------------


@stage
def resolve(job: Job, owner: int, bases: list[int]) -> tuple[dict[str, Arrays], Result]:
    """The ids of the terms of some hashes, for each part; −1 for a term without id."""
    own = job.read("merge", owner)
    starts, used = own["starts"], own["used"]
    ids = np.full(len(used), -1, np.int32)
    for part, piece in enumerate(job.from_all("number", job.readers, owner)):
        here = np.flatnonzero(used[starts[part] : starts[part + 1]]) + starts[part]
        ids[here] = bases[part] + piece["ranks"]
    pieces = {
        str(part): {"ids": ids[job.read("merge", owner, f"bucket-{part}")["numbers"]]}
        for part in range(job.readers)
    }
    return pieces, {}


# -- send -------------------------------------------------------------------------------------


@stage
def send(job: Job, part: int, terms: Layout) -> tuple[dict[str, Arrays], Result]:
    """The statements of a part with ids, for the owners of their subjects."""
    own = job.read("read", part)
    owners = _owners(own["hashes"], job)
    ids = np.full(len(owners), -1, np.int32)
    for owner, piece in enumerate(job.from_all("resolve", job.partitions, part)):
        ids[owners == owner] = piece["ids"]
    triples = np.empty_like(own["triples"])
    _kernels.translate_rows(own["triples"], ids, triples)
    literals = ids[own["literals"]] if job.config.count_literals else np.zeros((0, 2), np.int32)
    keys = own["literal_keys"][: len(literals)]
    labels = _labels(own, ids)
    pieces: dict[str, Arrays] = {str(owner): {} for owner in range(job.partitions)}
    for owner, rows in enumerate(terms.split(triples[:, 0], job.partitions)):
        pieces[str(owner)]["triples"] = triples[rows]
    for owner, rows in enumerate(terms.split(literals[:, 0], job.partitions)):
        pieces[str(owner)] |= {"literals": literals[rows], "literal_keys": keys[rows]}
    for owner, rows in enumerate(terms.split(labels["terms"], job.partitions)):
        pieces[str(owner)] |= _label_piece(labels, own["label_blob"], rows)
    predicates = np.unique(np.concatenate([triples[:, 1], literals[:, 1]]))
    return pieces | {OWN: {"predicates": predicates}}, {}


def _labels(own: Arrays, ids: Ids) -> Arrays:
    """The labels of terms that have an id."""
    rows = own["labels"]
    starts: Offsets = np.append(np.int64(0), rows[:-1, 2]) if len(rows) else np.zeros(0, np.int64)
    terms = ids[rows[:, 0]]
    kept = np.flatnonzero(terms >= 0)
    return {
        "terms": terms[kept],
        "ranks": rows[kept, 1],
        "starts": starts[kept],
        "ends": rows[kept, 2],
    }


def _label_piece(labels: Arrays, blob: Bytes, rows: Offsets) -> Arrays:
    texts, offsets = build.gather(blob, labels["starts"][rows], labels["ends"][rows])
    return {
        "label_terms": labels["terms"][rows],
        "label_ranks": labels["ranks"][rows],
        "label_blob": texts,
        "label_offsets": offsets,
    }


@stage
def join_predicates(job: Job, _number: int) -> tuple[dict[str, Arrays], Result]:
    """The ids of all predicates, ascending."""
    found = [job.read("send", part)["predicates"] for part in range(job.readers)]
    predicates = np.unique(np.concatenate(found)).astype(np.int32)
    return {OWN: {"predicates": predicates}}, {"predicates": len(predicates)}
