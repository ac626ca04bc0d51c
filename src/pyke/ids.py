"""Terms ↔ dense ids, and the graph over ids: a set of triples, sorted, with everything left out counted."""

from __future__ import annotations

import itertools
import re
import secrets
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke import kernels
from pyke.config import Config
from pyke.errors import OverBudget
from pyke.graph import GENERATED_MARK, LITERAL, Census, Graph, Ids, Offsets, Terms, Texts
from pyke.parallel import in_parts

GREATEST_ID = 2**31 - 2


def require_ids(needed: int) -> None:
    """Refuses what ids of 32 bits cannot count."""
    if needed > GREATEST_ID:
        raise OverBudget(f"the graph has more than {GREATEST_ID:,} terms and contexts; ids of 64 bits are not supported yet. Embed a part of it.")


class Growing:
    """An array that grows at its end. Enlarged in place by the operating system: no second copy is made."""

    def __init__(self, dtype: Any, columns: int = 0) -> None:
        self._shape = (columns,) if columns else ()
        self.array: NDArray[Any] = np.empty((1024, *self._shape), dtype)
        self.used = 0

    def reserve(self, more: int) -> NDArray[Any]:
        """Room for `more` rows behind the used ones: the array with the room in it."""
        needed = self.used + more
        if needed > len(self.array):
            self.array.resize((max(needed, len(self.array) * 3 // 2), *self._shape), refcheck=False)
        return self.array

    def take(self, count: int) -> NDArray[Any]:
        """The next `count` rows, to be filled."""
        room = self.reserve(count)[self.used : self.used + count]
        self.used += count
        return room

    def finish(self) -> NDArray[Any]:
        """The used rows, in an array of just that size."""
        array, self.array = self.array, np.empty((0, *self._shape), self.array.dtype)
        array.resize((self.used, *self._shape), refcheck=False)
        return array


class Collector:
    """Merges batches, in their order, into one dictionary and one table of statements."""

    def __init__(self) -> None:
        self._size = np.zeros(2, np.int64)
        self._table = np.full(1 << 12, -1, np.int64)
        self._hashes = Growing(np.uint64)
        self._offsets = Growing(np.int64)
        self._offsets.take(1)[0] = 0
        self._blob = Growing(np.uint8)
        self._triples = Growing(np.int32, 3)
        self._literals = Growing(np.int32, 2)
        self._literal_keys = Growing(np.uint64)
        self._labels = Growing(np.int64, 3)
        self._label_blob = Growing(np.uint8)
        self.triple_terms = 0

    def add(self, batch: kernels.Batch) -> None:
        """Adds what was read from the next stretch of text."""
        terms, state = batch.terms, batch.state
        ids = np.empty(int(terms.size[0]), np.int32)
        kernels.merge_terms(terms, self._dictionary(int(terms.size[0]), int(terms.size[1])), ids)
        self._hashes.used, self._blob.used = int(self._size[0]), int(self._size[1])
        self._offsets.used = self._hashes.used + 1

        count = int(state[kernels.TRIPLES])
        kernels.translate_rows(batch.triples[:count], ids, self._triples.take(count))
        count = int(state[kernels.LITERALS])
        kernels.translate_rows(batch.literals[:count], ids, self._literals.take(count))
        self._literal_keys.take(count)[:] = batch.literal_keys[:count]
        self._add_labels(batch, ids)
        self.triple_terms += int(state[kernels.TRIPLE_TERMS])

    def _add_labels(self, batch: kernels.Batch, ids: Ids) -> None:
        count, size = int(batch.state[kernels.LABELS]), int(batch.state[kernels.LABEL_BYTES])
        if count:
            before = self._label_blob.used
            self._label_blob.take(size)[:] = batch.label_blob[:size]
            labels = self._labels.take(count)
            labels[:] = batch.labels[:count]
            labels[:, 0] = ids[labels[:, 0]]
            labels[:, 2] += before

    def _dictionary(self, more: int, more_bytes: int) -> kernels.Dictionary:
        """The dictionary with room for `more` terms; its table is at most two thirds full."""
        needed = int(self._size[0]) + more
        require_ids(needed)
        self._offsets.reserve(more)
        enlarged = 3 * needed > 2 * len(self._table)
        if enlarged:
            self._table = np.empty(0, np.int64)  # the old one goes before the new one comes
            self._table = np.full(1 << (3 * needed // 2).bit_length(), -1, np.int64)
        dictionary = kernels.Dictionary(self._size, self._table, self._hashes.reserve(more), self._offsets.array, self._blob.reserve(more_bytes))
        if enlarged:
            kernels.rehash(dictionary)
        return dictionary

    @property
    def sizes(self) -> dict[str, int]:
        """How much there is so far."""
        text = self._blob.used + self._label_blob.used
        return {"links": self._triples.used, "literals": self._literals.used, "terms": self._hashes.used, "text_bytes": text}

    def finish(self, config: Config, census: Census, keep_all_terms: bool = False) -> Graph:
        """The graph of all that was added: V, S and C as DESIGN fixes them; fills the census.

        Terms that no counted triple has are no part of it, unless they are to be kept: another graph may have them, and no label for them.
        """
        self._table = np.empty(0, np.int64)
        self._hashes.finish()
        terms = Terms(self._blob.finish(), self._offsets.finish())
        census.triple_terms = self.triple_terms
        census.statements = self._triples.used + self._literals.used + self.triple_terms
        columns = self._counted_columns(config, census)
        counted = len(columns[0])
        predicates = _present(columns[1], len(terms))
        subjects, predicates_of, objects = _sorted_set(columns, predicates, len(terms), config.keep_duplicates)
        census.duplicates += counted - len(subjects)

        used, new_ids = _renumbering(len(terms), subjects, objects, predicates, keep_all_terms)
        census.terms_only_with_literals = len(terms) - int(used.sum())
        labels, labelled = self._best_labels(used, new_ids)
        columns = [new_ids[subjects], predicates_of, new_ids[objects]]
        del subjects, predicates_of, objects
        return _assembled(_select(terms, used), columns, new_ids[predicates], labels, labelled, config.type_predicate, census)

    def _counted_columns(self, config: Config, census: Census) -> list[Ids]:
        """Subjects, predicates and objects that count; literal triples among them, with LITERAL as object, if they are to."""
        literals, keys = self._literals.finish(), self._literal_keys.finish()
        kernels.literal_triple_keys(literals, keys, keys)
        if config.keep_duplicates:
            kept = np.arange(len(keys))
        elif config.count_literals:
            kept = np.sort(np.unique(keys, return_index=True)[1])
        else:
            keys.sort()
            kept = np.arange(kernels.drop_repeated(keys))
        census.literals = len(kept)
        census.duplicates += len(keys) - len(kept)
        rows = self._triples.finish()
        columns = [np.ascontiguousarray(rows[:, column]) for column in range(3)]
        if config.count_literals:
            more = (literals[kept, 0], literals[kept, 1], np.full(len(kept), LITERAL, np.int32))
            columns = [np.concatenate(pair) for pair in zip(columns, more, strict=True)]
        return columns

    def _best_labels(self, used: NDArray[np.bool_], new_ids: Ids) -> tuple[Texts, Ids]:
        """For each term the label of the best language, the first of equals."""
        rows, blob = self._labels.finish(), self._label_blob.finish()
        starts = np.append(np.int64(0), rows[:-1, 2]) if len(rows) else np.zeros(0, np.int64)
        order = np.lexsort((rows[:, 1], rows[:, 0]))
        order = order[used[rows[order, 0]]]
        order = order[np.append(True, np.diff(rows[order, 0]) != 0)] if len(order) else order
        return Texts(*_gathered(blob, starts[order], rows[order, 2])), new_ids[rows[order, 0]]


def without(graph: Graph, dropped: NDArray[np.bool_], type_predicate: str, keep_all_terms: bool = False) -> tuple[Graph, Ids]:
    """The graph without some of its triples, and the new id of each of its terms (−1: none of the term's triples is left, and it is not kept)."""
    kept = ~dropped
    subjects, predicates_of, objects = graph.subjects[kept], graph.predicates_of[kept], graph.objects[kept]
    used_predicates = _present(predicates_of, len(graph.predicates))
    positions = np.zeros(len(graph.predicates), np.int32)
    positions[used_predicates] = np.arange(len(used_predicates), dtype=np.int32)
    predicates = graph.predicates[used_predicates]
    used, new_ids = _renumbering(len(graph.terms), subjects, objects, predicates, keep_all_terms)
    named = used[graph.labelled]
    labels = Texts(*_gathered(graph.labels.blob, graph.labels.offsets[:-1][named], graph.labels.offsets[1:][named] - 1))
    columns = [new_ids[subjects], positions[predicates_of], new_ids[objects]]
    gone = int(dropped.sum())
    census = replace(graph.census, statements=graph.census.statements - gone, problems=list(graph.census.problems))
    terms = _select(graph.terms, used)
    smaller = _assembled(terms, columns, new_ids[predicates], labels, new_ids[graph.labelled[named]], type_predicate, census)
    return smaller, np.where(used, new_ids[:-1], np.int32(-1))


def joined(graph: Graph, more: Graph, config: Config) -> Graph:
    """The union of two graphs, the second with all its terms: those of the first keep their ids, new ones come behind.

    Blank nodes of the two are never the same. Labels of the first stay; the second has those that are missing.
    """
    own_ids = _find_all(graph.terms, more.terms, config.threads)
    blank = _is_blank(more.terms)
    own_ids[blank] = -1
    used, _ = _renumbering(len(more.terms), more.subjects, more.objects, more.predicates, keep_all=False)
    is_new = (own_ids < 0) & used
    own_ids[is_new] = len(graph.terms) + np.arange(int(is_new.sum()), dtype=np.int32)
    new_terms = _select(_with_other_blanks(more.terms, np.flatnonzero(blank), graph.terms), is_new)
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
    statements, predicates = len(columns[0]), _present(columns[1], len(terms))
    rows = _sorted_set(columns, predicates, len(terms), config.keep_duplicates, nearly=True)
    summed = {name: getattr(graph.census, name) + getattr(more.census, name) for name in _SUMMED}
    census = replace(graph.census, **summed, problems=[*graph.census.problems, *more.census.problems])
    census.duplicates += statements - len(rows[0])
    census.terms_only_with_literals += int(((own_ids < 0) & ~used).sum())
    return _assembled(terms, list(rows), predicates, *_all_labels(graph, more, own_ids), config.type_predicate, census)


def occurring_in(graph: Graph, other: Graph, threads: int) -> NDArray[np.bool_]:
    """Which triples of a graph another one has, too; triples with blank nodes or literals are never the same."""
    ids = np.append(np.where(_is_blank(other.terms), np.int32(-1), _find_all(graph.terms, other.terms, threads)), np.int32(-1))
    rows = np.column_stack([ids[other.subjects], ids[other.predicates[other.predicates_of]], ids[other.objects]])
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


_SUMMED = ("statements", "literals", "duplicates", "triple_terms", "errors", "bytes", "files_passed_over")


def _find_all(known: Terms, asked: Terms, threads: int) -> Ids:
    """The id in `known` of each of the asked terms, or −1: those, the fewer, are put into a table, and the known are looked up in it."""
    seed, size = np.uint64(secrets.randbits(64)), np.array([len(asked), len(asked.blob)])
    table = np.full(1 << (3 * len(asked) // 2 + 1).bit_length(), -1, np.int64)
    tails = np.zeros(8 * len(table), bool)
    dictionary = kernels.Dictionary(size, table, np.empty(len(asked), np.uint64), np.array(asked.offsets), np.array(asked.blob))
    kernels.hash_terms(dictionary, seed, tails)
    kernels.rehash(dictionary)
    found, blob, offsets = np.empty(len(known), np.int32), np.array(known.blob), np.array(known.offsets)
    in_parts(threads, len(known), lambda begin, end: kernels.find_terms(dictionary, tails, blob, offsets, seed, begin, end, found))
    ids = np.full(len(asked), -1, np.int32)
    common = np.flatnonzero(found >= 0)
    ids[found[common]] = common
    return ids


def _with_other_blanks(terms: Terms, blank: NDArray[np.int64], other: Terms) -> Terms:
    """The terms, blank nodes under names that no term of the other graph has."""
    if not len(blank):
        return terms
    taken = {other[i][:12] for i in np.flatnonzero(_is_blank(other)).tolist()}
    number = next(n for n in itertools.count(1) if not any(name.startswith(f"_:u{n}_") for name in taken))
    prefix = f"u{number}_".encode()
    parts = [terms.blob[terms.offsets[i] : terms.offsets[i + 1]].tobytes() for i in blank.tolist()]
    return _renamed(terms, blank, [part[:2] + prefix + part[2:-1] for part in parts])


def _all_labels(graph: Graph, more: Graph, own_ids: Ids) -> tuple[Texts, Ids]:
    """The labels of the first graph, and those of the second for terms that have none yet."""
    labelled = own_ids[more.labelled]
    new = np.flatnonzero((labelled >= 0) & ~np.isin(labelled, graph.labelled))
    starts = np.concatenate([graph.labels.offsets[:-1], more.labels.offsets[:-1][new] + len(graph.labels.blob)])
    stops = np.concatenate([graph.labels.offsets[1:], more.labels.offsets[1:][new] + len(graph.labels.blob)]) - 1
    everyone = np.concatenate([graph.labelled, labelled[new]])
    order = np.argsort(everyone, kind="stable")
    return Texts(*_gathered(np.concatenate([graph.labels.blob, more.labels.blob]), starts[order], stops[order])), everyone[order]


def is_typing(graph: Graph, type_predicate: str) -> NDArray[np.bool_]:
    """Which triples give a type."""
    typing = np.flatnonzero(graph.predicates == graph.terms.find(type_predicate))
    return (graph.predicates_of == typing[0]) & (graph.objects != LITERAL) if len(typing) else np.zeros(len(graph), bool)


def _renumbering(terms: int, subjects: Ids, objects: Ids, predicates: Ids, keep_all: bool) -> tuple[NDArray[np.bool_], Ids]:
    """Which terms occur or are to be kept, and their ids if the others go; LITERAL stays what it is."""
    used = np.full(terms, keep_all)
    for column in (subjects, objects[objects != LITERAL], predicates):
        used[column] = True
    return used, np.append(np.cumsum(used, dtype=np.int32) - 1, np.int32(LITERAL)).astype(np.int32)


def _assembled(terms: Terms, columns: list[Ids], predicates: Ids, labels: Texts, labelled: Ids, type_predicate: str, census: Census) -> Graph:
    """The graph of these columns, with V, S and C as DESIGN fixes them; fills the census."""
    subjects, predicates_of, objects = columns
    graph = Graph(terms, subjects, predicates_of, objects, predicates, np.zeros((0, 2), np.int32), labels, labelled, census)
    typing = is_typing(graph, type_predicate)
    types = _distinct_rows(np.column_stack([graph.subjects[typing], graph.objects[typing]]))
    is_predicate = np.zeros(len(terms), bool)
    is_predicate[predicates] = True
    census.classes = len(_present(types[:, 1], len(terms)))
    graph = replace(graph, types=types[~is_predicate[types[:, 0]]])
    _count(graph)
    return graph


def _present(column: Ids, size: int) -> Ids:
    """The different values of a column, ascending, in linear time."""
    present = np.zeros(size, bool)
    present[column] = True
    return np.flatnonzero(present).astype(np.int32)


def _sorted_set(columns: list[Ids], predicates: Ids, terms: int, keep_duplicates: bool, nearly: bool = False) -> tuple[Ids, Ids, Ids]:
    """Columns → sorted by all three, predicates as positions among themselves, each row once. Empties the list it is given."""
    positions = np.zeros(terms, np.int32)
    positions[predicates] = np.arange(len(predicates), dtype=np.int32)
    columns[1] = positions[columns[1]]
    subjects, predicates_of, objects = sorted_columns(columns, len(predicates), terms, nearly)
    if keep_duplicates or not len(subjects):
        return subjects, predicates_of, objects
    new = np.ones(len(subjects), bool)
    new[1:] = (subjects[1:] != subjects[:-1]) | (predicates_of[1:] != predicates_of[:-1]) | (objects[1:] != objects[:-1])
    new |= objects == LITERAL  # these are different already, though their rows look alike
    return (subjects, predicates_of, objects) if new.all() else (subjects[new], predicates_of[new], objects[new])


def sorted_columns(columns: list[Ids], seconds: int, terms: int, nearly: bool = False) -> tuple[Ids, Ids, Ids]:
    """Three columns sorted as rows: the first and third hold ids below `terms` (the third LITERAL, too), the second below `seconds`.

    Columns that are nearly sorted already take a third of the time if that is said. Empties the list it is given, so that the columns can
    go while their keys are sorted.
    """
    first, second, third = columns
    columns.clear()
    bits = np.array([max(1, (seconds - 1).bit_length()), max(1, terms.bit_length())], np.int64)
    if int(bits.sum()) + max(1, (terms - 1).bit_length()) > 64:
        order = np.lexsort((third, second, first))
        return first[order], second[order], third[order]
    keys = np.empty(len(first), np.uint64)
    kernels.pack(first, second, third, bits, keys)
    del first, second, third
    keys.sort(kind="stable" if nearly else None)  # merges what comes in order
    first, second, third = (np.empty(len(keys), np.int32) for _ in range(3))
    kernels.unpack(keys, bits, first, second, third)
    return first, second, third


def _distinct_rows(rows: Ids) -> Ids:
    """Sorted rows without repetitions (they come in order, so equal ones are neighbours)."""
    if not len(rows):
        return rows.reshape(0, 2)
    differs = rows[1:] != rows[:-1]
    return np.ascontiguousarray(rows[np.append(True, differs[:, 0] | differs[:, 1])])


def _select(terms: Terms, used: NDArray[np.bool_]) -> Terms:
    """The used terms, their generated names made the same in every run."""
    if not used.all():
        terms = Terms(*_gathered(terms.blob, terms.offsets[:-1][used], terms.offsets[1:][used] - 1))
    return _name_generated(terms)


def _gathered(blob: NDArray[np.uint8], starts: Offsets, stops: Offsets) -> tuple[NDArray[np.uint8], Offsets]:
    """Some stretches of a blob as texts of their own: blob and offsets."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(stops - starts + 1, out=offsets[1:])
    out = np.empty(int(offsets[-1]), np.uint8)
    kernels.gather_texts(blob, np.ascontiguousarray(starts), np.ascontiguousarray(stops), out)
    return out, offsets


_GENERATED = re.compile(rb"_:(d[0-9]+_)?" + GENERATED_MARK + rb"[0-9a-f]+\n")


def _name_generated(terms: Terms) -> Terms:
    """Blank nodes without a label got a random one from pyoxigraph: number them instead."""
    blank = np.flatnonzero(_is_blank(terms))
    names = [terms.blob[terms.offsets[i] : terms.offsets[i + 1]].tobytes() for i in blank]
    matches = [_GENERATED.fullmatch(name) for name in names]
    if not any(matches):
        return terms
    stem = b"anon"
    while any(stem in name for name in names):
        stem += b"x"
    made = {int(i): b"_:" + (match[1] or b"") + stem for i, match in zip(blank, matches, strict=True) if match}
    return _renamed(terms, np.fromiter(made, np.int64), [name + str(number).encode() for number, name in enumerate(made.values())])


def _renamed(terms: Terms, which: NDArray[np.int64], texts: list[bytes]) -> Terms:
    """Some terms under new names: these stand behind the old blob, and all are gathered from there."""
    ends = len(terms.blob) + np.cumsum([len(text) for text in texts])
    starts, stops = terms.offsets[:-1].copy(), terms.offsets[1:] - 1
    starts[which], stops[which] = ends - [len(text) for text in texts], ends
    return Terms(*_gathered(np.concatenate([terms.blob, np.frombuffer(b"".join(texts), np.uint8)]), starts, stops))


def _is_blank(terms: Terms) -> NDArray[np.bool_]:
    """Which terms are blank nodes: those that begin with `_:`, as no IRI does."""
    starts = terms.offsets[:-1]
    return np.asarray((terms.blob[starts] == ord("_")) & (terms.blob[starts + 1] == ord(":")))


def _count(graph: Graph) -> None:
    """Fills in |G|, |V| and |S|."""
    census = graph.census
    census.triples, census.terms, census.predicates = len(graph), len(graph.terms), len(graph.predicates)
    census.blank_nodes = int(_is_blank(graph.terms).sum())
    census.typed_subjects = len(_present(graph.types[:, 0], len(graph.terms)))
