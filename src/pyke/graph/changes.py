"""Remove triples from a graph, merge two graphs, and find the triples they share."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core import hashing
from pyke.core.arrays import Ids
from pyke.core.parallel import parallel_for
from pyke.graph.build import (
    assemble,
    distinct_ids,
    gather,
    is_blank,
    rename_terms,
    renumber,
    require_ids,
    select_terms,
    sorted_set,
)
from pyke.graph.graph import LITERAL, Graph
from pyke.graph.literals import SHARED, merge_features, select_features
from pyke.graph.terms import Terms, Texts


def remove_triples(
    graph: Graph, dropped: NDArray[np.bool_], type_predicate: str, keep_all_terms: bool = False
) -> tuple[Graph, Ids]:
    """The graph without some triples, and the new id of each old term.

    The new id is −1 for terms that are gone: none of their triples is left.
    """
    kept = ~dropped
    subjects, objects = graph.subjects[kept], graph.objects[kept]
    predicate_positions = graph.predicate_positions[kept]
    used_predicates = distinct_ids(predicate_positions, len(graph.predicates))
    positions = np.zeros(len(graph.predicates), np.int32)
    positions[used_predicates] = np.arange(len(used_predicates), dtype=np.int32)
    predicates = graph.predicates[used_predicates]
    used, new_ids = renumber(len(graph.terms), subjects, objects, predicates, keep_all_terms)
    left = np.where(used, new_ids[:-1], np.int32(-1))
    named, borders = used[graph.labelled], graph.labels.offsets
    labels = Texts(*gather(graph.labels.blob, borders[:-1][named], borders[1:][named] - 1))
    columns = [new_ids[subjects], positions[predicate_positions], new_ids[objects]]
    census = replace(
        graph.census,
        statements=graph.census.statements - int(dropped.sum()),
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
        select_features(graph.features, left, 1 if keep_all_terms else SHARED),
    )
    return smaller, left


def merge_graphs(graph: Graph, more: Graph, config: Config) -> Graph:
    """The union of two graphs. Terms of the first keep their ids; new terms follow.

    The second graph has all terms that were read, also those without counted triples: their
    labels complete those of the first. The two graphs never share blank nodes.
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
        _rename_blank_nodes(more.terms, np.flatnonzero(blank), graph.terms), is_new
    )
    require_ids(len(graph.terms) + len(new_terms))
    terms = Terms(
        np.concatenate([graph.terms.blob, new_terms.blob]),
        np.concatenate([graph.terms.offsets, new_terms.offsets[1:] + graph.terms.offsets[-1]]),
    )
    ids = np.append(own_ids, np.int32(LITERAL))
    columns = [
        np.concatenate([graph.subjects, ids[more.subjects]]),
        np.concatenate([graph.predicate_ids, ids[more.predicate_ids]]),
        np.concatenate([graph.objects, ids[more.objects]]),
    ]
    statements, predicates = len(columns[0]), distinct_ids(columns[1], len(terms))
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
        merge_features(graph.features, more.features, own_ids),
    )


def triples_also_in(graph: Graph, other: Graph, threads: int) -> NDArray[np.bool_]:
    """Mask of the triples that occur in another graph too, blank nodes and literals excluded."""
    ids = np.append(
        np.where(is_blank(other.terms), np.int32(-1), _find_all(graph.terms, other.terms, threads)),
        np.int32(-1),
    )
    rows = ids[other.triples()]
    wanted = set(map(tuple, rows[(rows >= 0).all(axis=1)].tolist()))
    candidates = np.flatnonzero(np.isin(graph.subjects, rows[:, 0]))
    triples = map(tuple, graph.triples(candidates).tolist())
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


def _find_all(known: Terms, queries: Terms, threads: int) -> Ids:
    """Id in `known` of each queried term, or −1.

    The queries, usually fewer, go into a hash table; each known term is looked up in it.
    """
    seed, size = np.uint64(secrets.randbits(64)), np.array([len(queries), len(queries.blob)])
    table = np.full(1 << (3 * len(queries) // 2 + 1).bit_length(), -1, np.int64)
    tails = np.zeros(8 * len(table), bool)
    dictionary = hashing.Dictionary(
        size,
        table,
        np.empty(len(queries), np.uint64),
        np.array(queries.offsets),
        np.array(queries.blob),
    )
    hashing.hash_terms(dictionary, seed, tails)
    hashing.rehash(dictionary)
    found = np.empty(len(known), np.int32)
    blob, offsets = np.array(known.blob), np.array(known.offsets)
    parallel_for(
        threads,
        len(known),
        lambda begin, end: hashing.find_terms(
            dictionary, tails, blob, offsets, seed, begin, end, found
        ),
    )
    ids = np.full(len(queries), -1, np.int32)
    common = np.flatnonzero(found >= 0)
    ids[found[common]] = common
    return ids


def _rename_blank_nodes(terms: Terms, blank: NDArray[np.int64], other: Terms) -> Terms:
    """The terms, with blank node labels that do not occur in the other graph."""
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
    """The labels of the first graph, and those of the second for terms without one."""
    labelled = own_ids[more.labelled]
    new = np.flatnonzero((labelled >= 0) & ~np.isin(labelled, graph.labelled))
    blob = np.concatenate([graph.labels.blob, more.labels.blob])
    borders = more.labels.offsets + len(graph.labels.blob)
    starts = np.concatenate([graph.labels.offsets[:-1], borders[:-1][new]])
    stops = np.concatenate([graph.labels.offsets[1:], borders[1:][new]]) - 1
    all_labelled = np.concatenate([graph.labelled, labelled[new]])
    order = np.argsort(all_labelled, kind="stable")
    return Texts(*gather(blob, starts[order], stops[order])), all_labelled[order]
