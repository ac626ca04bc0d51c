"""Build a graph from batches of statements: number the terms, then sort the triples.

Everything that does not become a triple of the graph is counted in the census.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core import hashing
from pyke.core.arrays import GrowingArray, Ids, Offsets
from pyke.errors import OverBudget
from pyke.graph import _kernels, batches
from pyke.graph.features import NO_FEATURES, Features
from pyke.graph.graph import LITERAL, Census, Graph
from pyke.graph.literals import SHARED, FeatureCollector
from pyke.graph.roles import states_type
from pyke.graph.terms import GENERATED_MARK, Terms, Texts

MAX_ID = 2**31 - 2


def require_ids(needed: int) -> None:
    """Raise OverBudget if 32-bit ids are too few."""
    if needed > MAX_ID:
        raise OverBudget(
            f"the graph has more than {MAX_ID:,} terms and contexts, the maximum for 32-bit ids. "
            "Embed a part of it."
        )


class Collector:
    """Merges batches, in order, into one dictionary of terms and one table of statements."""

    def __init__(self) -> None:
        self._size = np.zeros(2, np.int64)
        self._table = np.full(1 << 12, -1, np.int64)
        self._hashes = GrowingArray(np.uint64)
        self._offsets = GrowingArray(np.int64)
        self._offsets.take(1)[0] = 0
        self._blob = GrowingArray(np.uint8)
        self._triples = GrowingArray(np.int32, 3)
        self._literals = GrowingArray(np.int32, 2)
        self._literal_keys = GrowingArray(np.uint64)
        self._labels = GrowingArray(np.int64, 3)
        self._label_blob = GrowingArray(np.uint8)
        self._features = FeatureCollector()
        self.triple_terms = 0

    def add(self, batch: batches.Batch) -> None:
        """Add the next batch."""
        terms, state = batch.terms, batch.state
        ids = np.empty(int(terms.size[0]), np.int32)
        hashing.merge_terms(terms, self._dictionary(int(terms.size[0]), int(terms.size[1])), ids)
        self._hashes.used, self._blob.used = int(self._size[0]), int(self._size[1])
        self._offsets.used = self._hashes.used + 1

        count = int(state[batches.TRIPLES])
        _kernels.translate_rows(batch.triples[:count], ids, self._triples.take(count))
        count = int(state[batches.LITERALS])
        _kernels.translate_rows(batch.literals[:count], ids, self._literals.take(count))
        self._literal_keys.take(count)[:] = batch.literal_keys[:count]
        self._add_labels(batch, ids)
        self._features.add(batch.events, ids)
        self.triple_terms += int(state[batches.TRIPLE_TERMS])

    def _add_labels(self, batch: batches.Batch, ids: Ids) -> None:
        count, size = int(batch.state[batches.LABELS]), int(batch.state[batches.LABEL_BYTES])
        if count:
            before = self._label_blob.used
            self._label_blob.take(size)[:] = batch.label_blob[:size]
            labels = self._labels.take(count)
            labels[:] = batch.labels[:count]
            labels[:, 0] = ids[labels[:, 0]]
            labels[:, 2] += before

    def _dictionary(self, more: int, more_bytes: int) -> hashing.Dictionary:
        """The dictionary with space for `more` terms; its table is at most two thirds full."""
        needed = int(self._size[0]) + more
        require_ids(needed)
        self._offsets.reserve(more)
        enlarged = 3 * needed > 2 * len(self._table)
        if enlarged:
            self._table = np.empty(0, np.int64)  # frees the old table first
            self._table = np.full(1 << (3 * needed // 2).bit_length(), -1, np.int64)
        dictionary = hashing.Dictionary(
            self._size,
            self._table,
            self._hashes.reserve(more),
            self._offsets.array,
            self._blob.reserve(more_bytes),
        )
        if enlarged:
            hashing.rehash(dictionary)
        return dictionary

    def growing(self) -> dict[str, GrowingArray]:
        """Everything that was collected so far, by name, to be saved or filled again."""
        own = {name: one for name, one in vars(self).items() if isinstance(one, GrowingArray)}
        return own | self._features.growing()

    def find_terms_again(self) -> None:
        """Prepare for the next batch after the arrays have been filled."""
        self._size[:] = self._hashes.used, self._blob.used
        self._table = np.empty(0, np.int64)  # the next batch makes it

    @property
    def sizes(self) -> dict[str, int]:
        """Counts so far, for the check against the memory limit."""
        text = self._blob.used + self._label_blob.used
        return {
            "links": self._triples.used,
            "literals": self._literals.used,
            "terms": self._hashes.used,
            "text_bytes": text,
            "events": self._features.used,
        }

    def finish(
        self,
        config: Config,
        census: Census,
        keep_all_terms: bool = False,
        known: Features = NO_FEATURES,
    ) -> Graph:
        """Build the graph of all batches, and fill the census.

        The graph has only terms of counted triples. With `keep_all_terms` it has all terms
        that were read, and features of single terms: an update needs the labels and features of
        terms that occur in the other graph, whose features are `known`.
        """
        self._table = np.empty(0, np.int64)
        self._hashes.finish()
        terms = Terms(self._blob.finish(), self._offsets.finish())
        census.triple_terms = self.triple_terms
        census.statements = self._triples.used + self._literals.used + self.triple_terms
        columns = self._counted_columns(config, census)
        counted = len(columns[0])
        predicates = distinct_ids(columns[1], len(terms))
        subjects, predicate_positions, objects = sorted_set(
            columns, predicates, len(terms), config.keep_duplicates
        )
        census.duplicates += counted - len(subjects)

        used, new_ids = renumber(len(terms), subjects, objects, predicates, keep_all_terms)
        census.terms_only_with_literals = len(terms) - int(used.sum())
        labels, labelled = self._best_labels(used, new_ids)
        features = self._features.finish(
            np.where(used, new_ids[:-1], np.int32(-1)), known, 1 if keep_all_terms else SHARED
        )
        columns = [new_ids[subjects], predicate_positions, new_ids[objects]]
        del subjects, predicate_positions, objects
        kept = select_terms(terms, used)
        del terms  # often as large as the triples
        return assemble(
            kept,
            columns,
            new_ids[predicates],
            labels,
            labelled,
            config.type_predicate,
            census,
            features,
        )

    def _counted_columns(self, config: Config, census: Census) -> list[Ids]:
        """Columns of the counted triples.

        With `count_literals` they include triples with literals, whose object is LITERAL.
        """
        literals = self._counted_literals(config, census)
        rows = self._triples.finish()
        columns = [np.ascontiguousarray(rows[:, column]) for column in range(3)]
        if config.count_literals:
            more = (literals[:, 0], literals[:, 1], np.full(len(literals), LITERAL, np.int32))
            columns = [np.concatenate(pair) for pair in zip(columns, more, strict=True)]
        return columns

    def _counted_literals(self, config: Config, census: Census) -> Ids:
        """Subject and predicate of triples with literals; no rows without `count_literals`."""
        literals, keys = self._literals.finish(), self._literal_keys.finish()
        found = len(keys)
        _kernels.literal_triple_keys(literals, keys, keys)
        if config.keep_duplicates:
            census.literals = found
        elif config.count_literals:
            literals = literals[np.sort(np.unique(keys, return_index=True)[1])]
            census.literals = len(literals)
        else:
            keys.sort()
            census.literals = int(_kernels.drop_repeated(keys))
        census.duplicates += found - census.literals
        return literals if config.count_literals else np.empty((0, 2), np.int32)

    def _best_labels(self, used: NDArray[np.bool_], new_ids: Ids) -> tuple[Texts, Ids]:
        """One label per term: the first in the preferred language."""
        rows, blob = self._labels.finish(), self._label_blob.finish()
        starts = np.append(np.int64(0), rows[:-1, 2]) if len(rows) else np.zeros(0, np.int64)
        order = np.lexsort((rows[:, 1], rows[:, 0]))
        order = order[used[rows[order, 0]]]
        order = order[np.append(True, np.diff(rows[order, 0]) != 0)] if len(order) else order
        return Texts(*gather(blob, starts[order], rows[order, 2])), new_ids[rows[order, 0]]


def renumber(
    terms: int, subjects: Ids, objects: Ids, predicates: Ids, keep_all: bool
) -> tuple[NDArray[np.bool_], Ids]:
    """Mask of the terms to keep, and the new id of each term. LITERAL maps to itself."""
    used = np.full(terms, keep_all)
    for column in (subjects, objects[objects != LITERAL], predicates):
        used[column] = True
    return used, np.append(np.cumsum(used, dtype=np.int32) - 1, np.int32(LITERAL)).astype(np.int32)


def assemble(
    terms: Terms,
    columns: list[Ids],
    predicates: Ids,
    labels: Texts,
    labelled: Ids,
    type_predicate: str,
    census: Census,
    features: Features,
) -> Graph:
    """Make the graph of sorted columns, find its types, and fill the census."""
    subjects, predicate_positions, objects = columns
    graph = Graph(
        terms,
        subjects,
        predicate_positions,
        objects,
        predicates,
        np.zeros((0, 2), np.int32),
        labels,
        labelled,
        census,
        features,
    )
    typing = states_type(graph, type_predicate)
    types = distinct_rows(np.column_stack([graph.subjects[typing], graph.objects[typing]]))
    is_predicate = np.zeros(len(terms), bool)
    is_predicate[predicates] = True
    census.classes = len(distinct_ids(types[:, 1], len(terms)))
    graph = replace(graph, types=types[~is_predicate[types[:, 0]]])
    _count(graph)
    return graph


def distinct_ids(column: Ids, size: int) -> Ids:
    """Distinct ids of a column, ascending, in linear time; all are below `size`."""
    occurs = np.zeros(size, bool)
    occurs[column] = True
    return np.flatnonzero(occurs).astype(np.int32)


def sorted_set(
    columns: list[Ids], predicates: Ids, terms: int, keep_duplicates: bool, nearly: bool = False
) -> tuple[Ids, Ids, Ids]:
    """Sort triples and drop repeated ones; predicates become positions in `predicates`.

    Empties the list of columns to free memory early.
    """
    positions = np.zeros(terms, np.int32)
    positions[predicates] = np.arange(len(predicates), dtype=np.int32)
    columns[1] = positions[columns[1]]
    return distinct_triples(columns, len(predicates), terms, keep_duplicates, nearly)


def distinct_triples(
    columns: list[Ids], predicates: int, terms: int, keep_duplicates: bool, nearly: bool = False
) -> tuple[Ids, Ids, Ids]:
    """The same for triples whose predicates are positions already."""
    subjects, predicate_positions, objects = sorted_columns(columns, predicates, terms, nearly)
    if keep_duplicates or not len(subjects):
        return subjects, predicate_positions, objects
    new = np.ones(len(subjects), bool)
    new[1:] = (
        (subjects[1:] != subjects[:-1])
        | (predicate_positions[1:] != predicate_positions[:-1])
        | (objects[1:] != objects[:-1])
    )
    new |= objects == LITERAL  # distinct literals, dropped before if repeated
    if new.all():
        return subjects, predicate_positions, objects
    return subjects[new], predicate_positions[new], objects[new]


def sorted_columns(
    columns: list[Ids], seconds: int, terms: int, nearly: bool = False
) -> tuple[Ids, Ids, Ids]:
    """Sort three columns by row.

    The first and third column hold ids below `terms`, the third also LITERAL. The second holds
    numbers below `seconds`. `nearly=True` sorts nearly sorted rows in a third of the time.
    Empties the list of columns to free memory during the sort.
    """
    first, second, third = columns
    columns.clear()
    bits = np.array([max(1, (seconds - 1).bit_length()), max(1, terms.bit_length())], np.int64)
    if int(bits.sum()) + max(1, (terms - 1).bit_length()) > 64:
        order = np.lexsort((third, second, first))
        return first[order], second[order], third[order]
    keys = np.empty(len(first), np.uint64)
    _kernels.pack(first, second, third, bits, keys)
    del first, second, third
    keys.sort(kind="stable" if nearly else None)  # a stable sort merges sorted runs
    first, second, third = (np.empty(len(keys), np.int32) for _ in range(3))
    _kernels.unpack(keys, bits, first, second, third)
    return first, second, third


def distinct_rows(rows: Ids) -> Ids:
    """Sorted rows without repeated ones."""
    if not len(rows):
        return rows.reshape(0, 2)
    differs = rows[1:] != rows[:-1]
    return np.ascontiguousarray(rows[np.append(True, differs[:, 0] | differs[:, 1])])


def select_terms(terms: Terms, used: NDArray[np.bool_]) -> Terms:
    """The used terms. Generated blank node labels become the same in every run."""
    if not used.all():
        terms = Terms(*gather(terms.blob, terms.offsets[:-1][used], terms.offsets[1:][used] - 1))
    return _name_generated(terms)


def gather(
    blob: NDArray[np.uint8], starts: Offsets, stops: Offsets
) -> tuple[NDArray[np.uint8], Offsets]:
    """Copy pieces of a blob to the blob and offsets of new texts."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(stops - starts + 1, out=offsets[1:])
    out = np.empty(int(offsets[-1]), np.uint8)
    _kernels.gather_texts(blob, np.ascontiguousarray(starts), np.ascontiguousarray(stops), out)
    return out, offsets


GENERATED = re.compile(rb"_:(d[0-9]+_)?" + GENERATED_MARK + rb"[0-9a-f]+\n")


def _name_generated(terms: Terms) -> Terms:
    """Number the blank nodes that pyoxigraph gave a random label."""
    blank = np.flatnonzero(is_blank(terms))
    names = [terms.blob[terms.offsets[i] : terms.offsets[i + 1]].tobytes() for i in blank]
    matches = [GENERATED.fullmatch(name) for name in names]
    if not any(matches):
        return terms
    stem = b"anon"
    while any(stem in name for name in names):
        stem += b"x"
    made = {
        int(i): b"_:" + (match[1] or b"") + stem
        for i, match in zip(blank, matches, strict=True)
        if match
    }
    return rename_terms(
        terms,
        np.fromiter(made, np.int64),
        [name + str(number).encode() for number, name in enumerate(made.values())],
    )


def rename_terms(terms: Terms, which: NDArray[np.int64], texts: list[bytes]) -> Terms:
    """Rename some terms: append the new names to the blob, then copy all terms."""
    ends = len(terms.blob) + np.cumsum([len(text) for text in texts])
    starts, stops = terms.offsets[:-1].copy(), terms.offsets[1:] - 1
    starts[which], stops[which] = ends - [len(text) for text in texts], ends
    blob = np.concatenate([terms.blob, np.frombuffer(b"".join(texts), np.uint8)])
    return Terms(*gather(blob, starts, stops))


def is_blank(terms: Terms) -> NDArray[np.bool_]:
    """Mask of the blank nodes. They start with `_:`, which IRIs cannot."""
    starts = terms.offsets[:-1]
    blank: NDArray[np.bool_] = terms.blob[starts] == ord("_")
    found = np.flatnonzero(blank)
    following = np.minimum(starts[found] + 1, len(terms.blob) - 1)  # the last term may be empty
    blank[found] = terms.blob[following] == ord(":")
    return blank


def _count(graph: Graph) -> None:
    """Count triples, terms, predicates, blank nodes and typed subjects."""
    census = graph.census
    census.triples, census.terms = len(graph), len(graph.terms)
    census.predicates, census.features = len(graph.predicates), len(graph.features)
    census.blank_nodes = int(is_blank(graph.terms).sum())
    census.typed_subjects = len(distinct_ids(graph.types[:, 0], len(graph.terms)))
