"""Sort the triples by subject and by object, and count what springs need.

arrange   triples by subject, sorted, each once; types; labels
total     triples of each predicate
count     triples by object, sorted; events of each term, for those who need their number
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids, Offsets
from pyke.core.counts import count_rows
from pyke.graph import _kernels as graph_kernels
from pyke.graph import build
from pyke.graph.graph import LITERAL
from pyke.graph.roles import have_type_predicate
from pyke.pipeline.partitions.job import OWN, Job, Result, stage
from pyke.pipeline.partitions.layout import Layout
from pyke.pipeline.partitions.pieces import Arrays
from pyke.springs import _kernels

TOTALS, NAMES = "totals", "names"  # pieces: of each predicate; types and labels
ROWS_AT_ONCE = 1 << 18  # triples whose owners are looked up
COLUMNS = ("first", "middle", "last")  # subject, predicate, object, or the other way round


def predicates_of(job: Job) -> Ids:
    """The ids of all predicates."""
    found: Ids = job.read("join_predicates", 0)["predicates"]
    return found


def joined(pieces: list[Arrays], name: str) -> Any:
    """One array of several pieces."""
    return np.concatenate([piece[name] for piece in pieces])


@stage
def arrange(
    job: Job, owner: int, terms: Layout, type_predicate: int
) -> tuple[dict[str, Arrays], Result]:
    """Sort the triples of some subjects; send links to the owners of their objects.

    `type_predicate` is the id of the predicate that states types, or −1.
    """
    pieces = list(job.from_all("send", job.readers, owner))
    triples, literals = joined(pieces, "triples"), joined(pieces, "literals")
    read = len(triples) + len(literals)
    if not job.config.keep_duplicates:
        literals = literals[_distinct_literals(literals, joined(pieces, "literal_keys"))]
    no_object = np.full(len(literals), LITERAL, np.int32)
    columns = [
        np.concatenate([triples[:, 0], literals[:, 0]]),
        np.concatenate([triples[:, 1], literals[:, 1]]),
        np.concatenate([triples[:, 2], no_object]),
    ]
    del triples
    predicates = predicates_of(job)
    columns[1] = np.searchsorted(predicates, columns[1]).astype(np.int32)
    by_subject = build.distinct_triples(
        columns, len(predicates), terms.size, job.config.keep_duplicates
    )
    subjects, positions, objects = by_subject
    linked = objects != LITERAL
    links = np.column_stack([objects, positions, subjects])[linked]
    found = np.flatnonzero(predicates == type_predicate)
    position = int(found[0]) if len(found) else -1
    typing = have_type_predicate(positions, objects, position)
    types = build.distinct_rows(np.column_stack([subjects[typing], objects[typing]]))
    types = types[~np.isin(types[:, 0], predicates)]
    by_owner = terms.split(links[:, 0], job.partitions)
    sent: dict[str, Arrays] = {
        str(other): {"links": links[rows]} for other, rows in enumerate(by_owner)
    }
    sent[OWN] = dict(zip(COLUMNS, by_subject, strict=True))
    sent[TOTALS] = {
        "triples_of": np.bincount(positions, minlength=len(predicates)),
        "links_of": np.bincount(positions[linked], minlength=len(predicates)),
    }
    sent[NAMES] = {"types": types, **_best_labels(pieces)}
    return sent, {
        "triples": len(subjects),
        "links": [len(rows) for rows in by_owner],
        "literals": len(literals),
        "duplicates": read - len(subjects),
        "types": len(types),
        "typed_subjects": len(np.unique(types[:, 0])),
        "labels": len(sent[NAMES]["labelled"]),
    }


def _distinct_literals(rows: Ids, keys: Any) -> Offsets:
    """The first of equal triples with literals."""
    triple_keys = np.empty(len(rows), np.uint64)
    graph_kernels.literal_triple_keys(rows, keys, triple_keys)
    return np.sort(np.unique(triple_keys, return_index=True)[1])


def _best_labels(pieces: list[Arrays]) -> Arrays:
    """One label per term: the first in the preferred language."""
    terms, ranks = joined(pieces, "label_terms"), joined(pieces, "label_ranks")
    sizes = np.concatenate([np.diff(piece["label_offsets"]) for piece in pieces])
    ends = np.cumsum(sizes)
    order = np.lexsort((ranks, terms))
    if len(order):
        order = order[np.append(True, np.diff(terms[order]) != 0)]
    starts, stops = (ends - sizes)[order], ends[order] - 1
    blob, offsets = build.gather(joined(pieces, "label_blob"), starts, stops)
    return {"labelled": terms[order], "label_blob": blob, "label_offsets": offsets}


@stage
def total(job: Job, _number: int) -> tuple[dict[str, Arrays], Result]:
    """Triples of each predicate, and those that link terms."""
    own = [job.read("arrange", owner, TOTALS) for owner in range(job.partitions)]
    names = ("triples_of", "links_of")
    sums = {name: np.sum([one[name] for one in own], axis=0) for name in names}
    return {OWN: sums}, {}


@stage
def count(
    job: Job, owner: int, terms: Layout, type_predicate: int
) -> tuple[dict[str, Arrays], Result]:
    """Sort links by object; count the events of terms, and the contexts of both sides."""
    predicates, totals = predicates_of(job), job.read("total", 0)
    by_object = _sorted_links(job, owner, len(predicates), terms.size)
    by_subject = columns_of(job, "arrange", owner)
    begin, end = (terms.ranges_of(owner) or [(0, 0)])[0]
    occurrences = np.zeros(end - begin, np.int64)
    linked = by_subject[2] != LITERAL
    for column in (by_subject[0], by_subject[0][linked], by_object[0], by_object[0]):
        count_rows(column - np.int32(begin), occurrences)
    mine = np.flatnonzero((predicates >= begin) & (predicates < end))
    occurrences[predicates[mine] - begin] += (totals["triples_of"] + totals["links_of"])[mine]

    asked = linked_terms(terms, begin, end, by_subject, by_object, job.partitions)
    pieces = tell(asked, occurrences, begin)
    pieces[OWN] = dict(zip(COLUMNS, by_object, strict=True)) | {"occurrences": occurrences}
    found = np.flatnonzero(predicates == type_predicate)
    typed = by_object[0][by_object[1] == found[0]] if len(found) else by_object[0][:0]
    sizes = [_kernels.count_contexts(*side, 0, len(side[0])) for side in (by_subject, by_object)]
    runs, contexts, members = (list(map(int, counts)) for counts in zip(*sizes, strict=True))
    return pieces, {
        "classes": len(np.unique(typed)),
        "contexts": contexts,
        "roles": sum(runs) + 2 * len(mine),  # pairs of terms and roles, at most
        "pairs": sum(runs) + 2 * len(mine) + sum(members),
    }


def _sorted_links(job: Job, owner: int, predicates: int, terms: int) -> tuple[Ids, Ids, Ids]:
    """The links of the objects of an owner: object, predicate and subject."""
    links = [piece["links"] for piece in job.from_all("arrange", job.partitions, owner)]
    columns = [np.concatenate([part[:, column] for part in links]) for column in range(3)]
    del links
    return build.sorted_columns(columns, predicates, terms)


def linked_terms(
    terms: Layout,
    begin: int,
    end: int,
    by_subject: tuple[Ids, Ids, Ids],
    by_object: tuple[Ids, Ids, Ids],
    partitions: int,
) -> NDArray[np.bool_]:
    """Which terms of an owner are linked to terms of which partitions: (partitions, terms)."""
    asked = np.zeros((partitions, end - begin), bool)
    for own, _, others in (by_subject, by_object):
        for start in range(0, len(own), ROWS_AT_ONCE):
            rows, other = (column[start : start + ROWS_AT_ONCE] for column in (own, others))
            linked = other != LITERAL
            asked[terms.owners_of(other[linked]), rows[linked] - begin] = True
    return asked


def tell(asked: NDArray[np.bool_], occurrences: Offsets, begin: int) -> dict[str, Arrays]:
    """How often terms occur, for the owners who ask; row 0 is the term `begin`."""
    pieces: dict[str, Arrays] = {}
    for other, wanted in enumerate(asked):
        chosen = np.flatnonzero(wanted)
        ids = (chosen + begin).astype(np.int32)
        pieces[str(other)] = {"ids": ids, "occurrences": occurrences[chosen]}
    return pieces


def columns_of(job: Job, stage_name: str, owner: int) -> tuple[Ids, Ids, Ids]:
    """Sorted columns that a stage wrote: `arrange` by subject, `count` by object."""
    arrays = job.read(stage_name, owner)
    first, middle, last = (arrays[name] for name in COLUMNS)
    return first, middle, last
