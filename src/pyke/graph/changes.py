"""Add triples to a graph, remove triples from it, and find triples of one graph in another."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core import hashing
from pyke.core.arrays import Ids
from pyke.core.parallel import in_parts
from pyke.graph.build import (
    assemble,
    gather,
    is_blank,
    present,
    rename_terms,
    renumber,
    require_ids,
    select_terms,
    sorted_set,
)
from pyke.graph.graph import LITERAL, Graph
from pyke.graph.terms import Terms, Texts


def without(
    graph: Graph, dropped: NDArray[np.bool_], type_predicate: str, keep_all_terms: bool = False
) -> tuple[Graph, Ids]:
    """The graph without some of its triples, and the new id of each of its terms (−1: none of the term's triples is left, and it is not kept)."""
    kept = ~dropped
    subjects, predicates_of, objects = (
        graph.subjects[kept],
        graph.predicates_of[kept],
        graph.objects[kept],
    )
    used_predicates = present(predicates_of, len(graph.predicates))
    positions = np.zeros(len(graph.predicates), np.int32)
    positions[used_predicates] = np.arange(len(used_predicates), dtype=np.int32)
    predicates = graph.predicates[used_predicates]
    used, new_ids = renumber(len(graph.terms), subjects, objects, predicates, keep_all_terms)
    named = used[graph.labelled]
    labels = Texts(
        *gather(
            graph.labels.blob, graph.labels.offsets[:-1][named], graph.labels.offsets[1:][named] - 1
        )
    )
    columns = [new_ids[subjects], positions[predicates_of], new_ids[objects]]
    gone = int(dropped.sum())
    census = replace(
        graph.census,
        statements=graph.census.statements - gone,
        problems=list(graph.census.problems),
    )
    terms = select_terms(graph.terms, used)
    smaller = assemble(
        terms,
        columns,
        new_ids[predicates],
        labels,
        new_ids[graph.labelled[named]],
        type_predicate,
        census,
    )
    return smaller, np.where(used, new_ids[:-1], np.int32(-1))


def joined(graph: Graph, more: Graph, config: Config) -> Graph:
    """The union of two graphs, the second with all its terms: those of the first keep their ids, new ones come behind.

    Blank nodes of the two are never the same. Labels of the first stay; the second has those that are missing.
    """
    own_ids = _find_all(graph.terms, more.terms, config.threads)
    blank = is_blank(more.terms)
    own_ids[blank] = -1
    used, _ = renumber(
        len(more.terms), more.subjects, more.objects, more.predicates, keep_all=False
    )
    is_new = (own_ids < 0) & used
    own_ids[is_new] = len(graph.terms) + np.arange(int(is_new.sum()), dtype=np.int32)
    new_terms = select_terms(
        _with_other_blanks(more.terms, np.flatnonzero(blank), graph.terms), is_new
    )
    require_ids(len(graph.terms) + len(new_terms))
    terms = Terms(*(np.concatenate(pair) for pair in (
        (graph.terms.blob, new_terms.blob), (graph.terms.offsets, new_terms.offsets[1:] + graph.terms.offsets[-1]),
    )))  # fmt: skip
    ids = np.append(own_ids, np.int32(LITERAL))
    columns = [np.concatenate(pair) for pair in (
        (graph.subjects, ids[more.subjects]),
        (graph.predicates[graph.predicates_of], ids[more.predicates[more.predicates_of]]),
        (graph.objects, ids[more.objects]),
    )]  # fmt: skip
    statements, predicates = len(columns[0]), present(columns[1], len(terms))
    rows = sorted_set(columns, predicates, len(terms), config.keep_duplicates, nearly=True)
    summed = {name: getattr(graph.census, name) + getattr(more.census, name) for name in _SUMMED}
    census = replace(
        graph.census, **summed, problems=[*graph.census.problems, *more.census.problems]
    )
    census.duplicates += statements - len(rows[0])
    census.terms_only_with_literals += int(((own_ids < 0) & ~used).sum())
    return assemble(
        terms,
        list(rows),
        predicates,
        *_all_labels(graph, more, own_ids),
        config.type_predicate,
        census,
    )


def occurring_in(graph: Graph, other: Graph, threads: int) -> NDArray[np.bool_]:
    """Which triples of a graph another one has, too; triples with blank nodes or literals are never the same."""
    ids = np.append(
        np.where(is_blank(other.terms), np.int32(-1), _find_all(graph.terms, other.terms, threads)),
        np.int32(-1),
    )
    rows = np.column_stack(
        [ids[other.subjects], ids[other.predicates[other.predicates_of]], ids[other.objects]]
    )
    wanted = set(map(tuple, rows[(rows >= 0).all(axis=1)].tolist()))
    candidates = np.flatnonzero(np.isin(graph.subjects, rows[:, 0]))
    triples = zip(
        graph.subjects[candidates].tolist(),
        graph.predicates[graph.predicates_of[candidates]].tolist(),
        graph.objects[candidates].tolist(),
        strict=True,
    )
    found = np.zeros(len(graph), bool)
    found[candidates] = np.fromiter((triple in wanted for triple in triples), bool, len(candidates))
    return found


_SUMMED = (
    "statements",
    "literals",
    "duplicates",
    "triple_terms",
    "errors",
    "bytes",
    "files_passed_over",
)


def _find_all(known: Terms, asked: Terms, threads: int) -> Ids:
    """The id in `known` of each of the asked terms, or −1: those, the fewer, are put into a table, and the known are looked up in it."""
    seed, size = np.uint64(secrets.randbits(64)), np.array([len(asked), len(asked.blob)])
    table = np.full(1 << (3 * len(asked) // 2 + 1).bit_length(), -1, np.int64)
    tails = np.zeros(8 * len(table), bool)
    dictionary = hashing.Dictionary(
        size, table, np.empty(len(asked), np.uint64), np.array(asked.offsets), np.array(asked.blob)
    )
    hashing.hash_terms(dictionary, seed, tails)
    hashing.rehash(dictionary)
    found, blob, offsets = (
        np.empty(len(known), np.int32),
        np.array(known.blob),
        np.array(known.offsets),
    )
    in_parts(
        threads,
        len(known),
        lambda begin, end: hashing.find_terms(
            dictionary, tails, blob, offsets, seed, begin, end, found
        ),
    )
    ids = np.full(len(asked), -1, np.int32)
    common = np.flatnonzero(found >= 0)
    ids[found[common]] = common
    return ids


def _with_other_blanks(terms: Terms, blank: NDArray[np.int64], other: Terms) -> Terms:
    """The terms, blank nodes under names that no term of the other graph has."""
    if not len(blank):
        return terms
    taken = {other[i][:12] for i in np.flatnonzero(is_blank(other)).tolist()}
    number = next(
        n for n in itertools.count(1) if not any(name.startswith(f"_:u{n}_") for name in taken)
    )
    prefix = f"u{number}_".encode()
    parts = [terms.blob[terms.offsets[i] : terms.offsets[i + 1]].tobytes() for i in blank.tolist()]
    return rename_terms(terms, blank, [part[:2] + prefix + part[2:-1] for part in parts])


def _all_labels(graph: Graph, more: Graph, own_ids: Ids) -> tuple[Texts, Ids]:
    """The labels of the first graph, and those of the second for terms that have none yet."""
    labelled = own_ids[more.labelled]
    new = np.flatnonzero((labelled >= 0) & ~np.isin(labelled, graph.labelled))
    starts = np.concatenate(
        [graph.labels.offsets[:-1], more.labels.offsets[:-1][new] + len(graph.labels.blob)]
    )
    stops = (
        np.concatenate(
            [graph.labels.offsets[1:], more.labels.offsets[1:][new] + len(graph.labels.blob)]
        )
        - 1
    )
    everyone = np.concatenate([graph.labelled, labelled[new]])
    order = np.argsort(everyone, kind="stable")
    return Texts(
        *gather(np.concatenate([graph.labels.blob, more.labels.blob]), starts[order], stops[order])
    ), everyone[order]
