"""Springs and repellers of the particles of each partition.

events    σ of terms and their roles and contexts, for the owners of both
forces    the K strongest springs and the repellers of some particles; whose positions they need
ranges    the same for one machine
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from pyke.core.arrays import BLOCK_ROWS, Floats, Ids, Matrix, Repellers
from pyke.core.checks import check_ids
from pyke.core.counts import count_rows
from pyke.graph.graph import LITERAL
from pyke.pipeline.partitions.job import OWN, Job, Result, stage
from pyke.pipeline.partitions.layout import Layout
from pyke.pipeline.partitions.pieces import Arrays
from pyke.pipeline.partitions.triples import columns_of, joined, predicates_of
from pyke.springs import _kernels, _selection
from pyke.springs.repellers import draw_anywhere, draw_from_pools, rows_with_too_few, with_hubs
from pyke.springs.strongest import strongest_springs

ENTRIES_AT_ONCE = 1 << 18  # of the matrix of similarities, whose rows are looked up
GROUPS = 6  # of events, in the order in which one machine finds them


# -- events -----------------------------------------------------------------------------------


@stage
def events(
    job: Job, owner: int, terms: Layout, particles: Layout, bases: list[int]
) -> tuple[dict[str, Arrays], Result]:
    """σ of terms in their roles, and of the members of contexts.

    `bases` are the ids of the first context of each side that belongs to this owner.
    """
    found = _events(job, owner, terms, bases)
    pairs = sum(len(one[0]) for one in found)
    return both_ways(found, particles, job), {"pairs": pairs}


def _events(job: Job, owner: int, terms: Layout, bases: list[int]) -> list[tuple[Ids, Ids, Floats]]:
    """Terms, contexts and σ of each group."""
    predicates, totals = predicates_of(job), job.read("total", 0)
    by_subject, by_object = columns_of(job, "arrange", owner), columns_of(job, "count", owner)
    begin, end = (terms.ranges_of(owner) or [(0, 0)])[0]
    known = list(job.from_all("count", job.partitions, owner))
    ids = joined(known, "ids")  # ascending, as the ranges of the owners are
    every = int(2 * totals["triples_of"].sum() + 4 * totals["links_of"].sum())
    occurrences = np.append(job.read("count", owner)["occurrences"], np.int64(1))
    # Predicates of other owners have the number after the last term, which occurs in no triple.
    inside = (predicates >= begin) & (predicates < end)
    own_predicates = np.where(inside, predicates - begin, end - begin).astype(np.int32)
    found: list[tuple[Ids, Ids, Floats]] = []
    sides = ((by_subject, totals["triples_of"]), (by_object, totals["links_of"]))
    for side, (columns, number_of) in enumerate(sides):
        role = terms.size + side * len(predicates)
        first = columns[0] - np.int32(begin)
        counts = _kernels.Counts(occurrences, every, own_predicates, number_of)
        own_counts = counts._replace(triples_of=np.where(inside, number_of, 0))
        runs, _, _ = _kernels.count_contexts(*columns, 0, len(first))
        choice = _everything(len(occurrences), len(predicates))
        find = partial(_kernels.role_events, first, columns[1], counts, choice, role, 0, len(first))
        found.append(_find(runs, find, begin))
        find = partial(_kernels.predicate_events, first, columns[1], own_counts, role)
        found.append(_find(len(predicates), find, begin))
    near = _kernels.Counts(joined(known, "occurrences"), every, own_predicates, totals["links_of"])
    for columns, base in zip((by_subject, by_object), bases, strict=True):
        last = np.searchsorted(ids, columns[2]).astype(np.int32)
        last[columns[2] == LITERAL] = LITERAL
        moved, size = (columns[0], columns[1], last), len(columns[0])
        members = _kernels.count_contexts(*moved, 0, size)[2]
        find = partial(
            _kernels.context_events, *moved, near, _everything(len(ids), 1), base, 0, size
        )
        numbers, contexts, values = _find(members, find, 0)
        found.append((ids[numbers], contexts, values))
    return found


def _everything(terms: int, contexts: int) -> _kernels.Choice:
    """No term is left out."""
    room = np.empty((contexts, 1), np.int32), np.empty((contexts, 1), np.float32)
    strongest = _kernels.Strongest(np.zeros(contexts, np.int64), *room, np.ones(contexts))
    return _kernels.Choice(np.ones(terms, bool), strongest)


def _find(
    room: int, find: Callable[[_kernels.Events], None], begin: int
) -> tuple[Ids, Ids, Floats]:
    """Terms, contexts and σ of at most `room` events; `begin` is the id of the first term."""
    found = _kernels.Events(
        np.zeros(1, np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.float32),
    )
    find(found)
    n = int(found.size[0])
    found.terms[:n] += np.int32(begin)
    return found.terms[:n], found.contexts[:n], found.values[:n]


def both_ways(
    found: list[tuple[Ids, Ids, Floats]], particles: Layout, job: Job
) -> dict[str, Arrays]:
    """Both directions of each pair, for the owner of the row. Empties the list to free memory."""
    pieces: dict[str, Arrays] = {str(owner): {} for owner in range(job.partitions)}
    for group in range(len(found)):
        terms, contexts, values = found.pop(0)
        directions = ((contexts, terms), (terms, contexts))
        chosen = [particles.split(rows, job.partitions) for rows, _ in directions]
        for owner in range(job.partitions):
            of_owner = [one[owner] for one in chosen]
            for name, arrays in (
                ("rows", (contexts, terms)),
                ("columns", (terms, contexts)),
                ("values", (values, values)),
            ):
                parts = [array[rows] for array, rows in zip(arrays, of_owner, strict=True)]
                pieces[str(owner)][f"{name}{group}"] = np.concatenate(parts)
    return pieces


# -- forces -----------------------------------------------------------------------------------


@stage
def forces(job: Job, owner: int, particles: Layout) -> tuple[dict[str, Arrays], Result]:
    """Springs and repellers of the particles of an owner, and whose positions they need."""
    springs, parts = _forces(job, owner, particles)
    repellers = _joined(parts)
    del parts
    ranges = particles.ranges_of(owner)
    used = np.unique(np.concatenate([springs.columns, repellers.pool]))
    owners = particles.owners_of(used)
    halo, halo_owners = used[owners != owner], owners[owners != owner]
    # Rows: those of this owner, up to a complete block, then those of the others.
    rows = -(-particles.count_of(owner) // BLOCK_ROWS) * BLOCK_ROWS
    places = np.empty(len(used), np.int32)
    places[owners == owner] = particles.rows_of(used[owners == owner], owner)
    places[owners != owner] = rows + np.arange(len(halo))
    pieces: dict[str, Arrays] = {
        str(other): {"needed": halo[halo_owners == other]} for other in range(job.partitions)
    }
    missing = rows - springs.rows
    pieces[OWN] = {
        "offsets": np.append(springs.offsets, np.full(missing, springs.offsets[-1])),
        "columns": places[np.searchsorted(used, springs.columns)],
        "values": springs.values,
        "pool_offsets": repellers.pool_offsets,
        "pool": places[np.searchsorted(used, repellers.pool)],
        "members": np.pad(repellers.members, ((0, missing), (0, 0))),
        "counts": np.pad(repellers.counts, (0, missing)),
        "ranges": np.array(ranges, np.int64).reshape(-1, 2),
        "halo_owners": halo_owners,
    }
    sources = np.bincount(halo_owners, minlength=job.partitions).tolist()
    return pieces, {"springs": len(springs.columns), "rows": springs.rows, "sources": sources}


@stage
def ranges(job: Job, owner: int, particles: Layout) -> tuple[dict[str, Arrays], Result]:
    """The same for one machine, which needs no other rows: a piece for each range of particles."""
    springs, parts = _forces(job, owner, particles)
    pieces: dict[str, Arrays] = {}
    start = 0
    for (begin, end), repellers in zip(particles.ranges_of(owner), parts, strict=False):
        part = _rows(springs, start, start + end - begin)
        pieces[str(begin)] = vars(part) | vars(repellers)
        start += end - begin
    return pieces, {"springs": len(springs.columns)}


def forces_of(job: Job, particles: Layout) -> Iterator[tuple[Matrix, Repellers]]:
    """Springs and repellers of all ranges, in the order of the particles."""
    for begin, owner in zip(particles.borders.tolist(), particles.owners.tolist(), strict=False):
        arrays = job.read("ranges", owner, str(begin))
        springs = Matrix(*(arrays.pop(name) for name in ("offsets", "columns", "values")))
        check_ids(springs.columns, 0, particles.size)
        check_ids(arrays["pool"], 0, particles.size)
        yield springs, Repellers(**arrays)


def whole(
    parts: Iterable[tuple[Matrix, Repellers]], particles: int, number: int
) -> tuple[Matrix, Repellers]:
    """Parts that follow one another as one, with this many springs in all."""
    columns, values = np.empty(number, np.int32), np.empty(number, np.float32)
    sizes = np.zeros(particles, np.int64)
    drawn, at, row = [], 0, 0
    for springs, repellers in parts:
        end = at + len(springs.columns)
        columns[at:end], values[at:end] = springs.columns, springs.values
        sizes[row : row + springs.rows] = np.diff(springs.offsets)
        drawn.append(repellers)
        at, row = end, row + springs.rows
    return Matrix(np.append(np.int64(0), np.cumsum(sizes)), columns, values), _joined(drawn)


def _forces(job: Job, owner: int, particles: Layout) -> tuple[Matrix, list[Repellers]]:
    """Springs of an owner, and repellers of each of its ranges, with the ids of all particles."""
    similar = _similar(job, owner, particles)
    springs = strongest_springs(similar, job.config.k, job.config.threads)
    return springs, _repellers(job, owner, similar, particles)


def _similar(job: Job, owner: int, particles: Layout) -> Matrix:
    """All similarities of the particles of an owner, in the order of one machine.

    The pieces are read twice, to count and to fill: they are much larger than the result.
    """
    paired = job.config.similarity == "ppmi"
    stage_name, groups = ("weigh", 1) if paired else ("events", GROUPS)
    size = particles.count_of(owner)
    ends = np.zeros((groups, size), np.int64)  # first the number of entries of each row
    for group, rows, _, _ in _entries(job, owner, particles, stage_name, groups):
        count_rows(rows, ends[group])
    offsets = np.zeros(size + 1, np.int64)
    np.cumsum(ends.sum(axis=0), out=offsets[1:])
    columns, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
    # A row has the groups one after another, and the pieces of a group in their order.
    start = offsets[:-1].copy()
    for group in range(groups):
        number = ends[group].copy()
        ends[group] = start
        start += number
    for group, rows, others, sigma in _entries(job, owner, particles, stage_name, groups):
        _selection.fill_rows(rows, others, sigma, ends[group], columns, values)
    if paired:  # by ascending id
        order = np.lexsort((columns, np.repeat(np.arange(size), np.diff(offsets))))
        columns, values = columns[order], values[order]
    return Matrix(offsets, columns, values)


def _entries(
    job: Job, owner: int, particles: Layout, stage_name: str, groups: int
) -> Iterator[tuple[int, Ids, Ids, Floats]]:
    """Groups, rows, columns and σ of the entries of an owner, some at a time."""
    for piece in job.from_all(stage_name, job.partitions, owner):
        for group in range(groups):
            names = (f"{name}{group}" for name in ("rows", "columns", "values"))
            rows, columns, values = (piece[name] for name in names)
            for begin in range(0, len(rows), ENTRIES_AT_ONCE):
                some = slice(begin, begin + ENTRIES_AT_ONCE)
                numbers = particles.rows_of(rows[some], owner).astype(np.int32)
                yield group, numbers, columns[some], values[some]


def _repellers(job: Job, owner: int, similar: Matrix, particles: Layout) -> list[Repellers]:
    """Repellers of the particles of an owner, range by range."""
    config, start, parts = job.config, 0, []
    for begin, end in particles.ranges_of(owner) or [(0, 0)]:
        stop = start + end - begin
        part = _rows(similar, start, stop)
        drawn = draw_from_pools(
            part, particles.size, begin, config.repellers, config.seed, config.threads
        )
        hubs = rows_with_too_few(drawn, particles.size)
        more = [
            draw_anywhere(part.of(row), particles.size, begin + row, config.repellers, config.seed)
            for row in hubs
        ]
        parts.append(with_hubs(drawn, hubs, more))
        start = stop
    return parts


def _rows(matrix: Matrix, start: int, stop: int) -> Matrix:
    """Some rows of a matrix."""
    offsets = matrix.offsets[start : stop + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    return Matrix(offsets - first, matrix.columns[first:last], matrix.values[first:last])


def _joined(parts: list[Repellers]) -> Repellers:
    """Repellers of particles that follow one another."""
    pools = [np.diff(part.pool_offsets) for part in parts]
    return Repellers(
        np.append(np.int64(0), np.cumsum(np.concatenate(pools))),
        np.concatenate([part.pool for part in parts]),
        np.concatenate([part.members for part in parts]),
        np.concatenate([part.counts for part in parts]),
    )
