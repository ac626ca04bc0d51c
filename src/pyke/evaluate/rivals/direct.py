"""Methods that predict types directly: ours, and the simplest ones that it has to beat."""

from __future__ import annotations

import numpy as np

from pyke.core.arrays import Floats, Ids, Matrix, Offsets, positions, ranges
from pyke.core.parallel import parallel_for
from pyke.core.progress import Progress
from pyke.evaluate.rivals.registry import Job, Predictor
from pyke.graph.changes import remove_triples
from pyke.graph.roles import states_type
from pyke.springs.contexts import context_similarities
from pyke.use.types.predict import class_shares
from pyke.use.types.sdtype import RoleTypes, class_prior
from pyke.use.types.votes import REFERENCE_MU, TypeTable, vote

MAX_CLASSES = 100  # with the highest scores of a subject: limits memory on graphs of many classes


def pyke_types(job: Job, subjects: Ids) -> Matrix:
    """`pyke types`: weighted votes of the nearest subjects, in a space without types."""
    return class_shares(job.graph, subjects, job.config, Progress())


def sdtype(job: Job, subjects: Ids) -> Matrix:
    """SDType: the types of other subjects with the same roles."""
    known = TypeTable.of(job.graph.types)
    learned = RoleTypes.of(job.graph, known, job.config.type_predicate)
    return _with_class_ids(learned.scores(subjects, MAX_CLASSES), known)


def prior(job: Job, subjects: Ids) -> Matrix:
    """How frequent each class is: the same for every subject."""
    known = TypeTable.of(job.graph.types)
    return _with_class_ids(class_prior(known, subjects, MAX_CLASSES), known)


def spring_neighbours(job: Job, subjects: Ids) -> Matrix:
    """Classes of the 10 typed subjects with the most similar springs, by cosine.

    These are our context springs, without those that state types.
    """
    from pyke.evaluate.rivals import _kernels  # loads Numba

    known, threads = TypeTable.of(job.graph.types), job.config.threads
    stated = states_type(job.graph, job.config.type_predicate)
    untyped, _ = remove_triples(job.graph, stated, job.config.type_predicate, keep_all_terms=True)
    springs = context_similarities(untyped, threads)
    squares = np.bincount(springs.first, springs.values.astype(np.float64) ** 2)
    unit = (springs.values / np.sqrt(squares[springs.first])).astype(np.float32)
    queries = _kernels.Sparse(*_rows(springs.first, springs.second, unit, subjects))
    rows = positions(springs.first, known.subjects)
    pairs = springs.second[rows >= 0], rows[rows >= 0].astype(np.int32), unit[rows >= 0]
    points = _kernels.Sparse(*_rows(*pairs, np.arange(springs.particles, dtype=np.int32)))
    found = np.full((len(subjects), REFERENCE_MU), -1, np.int32)
    products = np.zeros(found.shape, np.float32)
    own = positions(subjects, known.subjects)

    def search(begin: int, end: int) -> None:
        _kernels.largest_products(queries, points, own, begin, end, found, products)

    parallel_for(threads, len(subjects), search)
    is_voter = found >= 0
    votes = vote(found, known, is_voter / np.maximum(1, is_voter.sum(axis=1, keepdims=True)))
    offsets = np.searchsorted(votes.queries, np.arange(len(subjects) + 1))
    shares = votes.shares.astype(np.float32)
    return _with_class_ids(Matrix(offsets, votes.classes, shares), known)


def _rows(first: Ids, second: Ids, values: Floats, wanted: Ids) -> tuple[Offsets, Ids, Floats]:
    """CSR with a row for each wanted id: `second` and `values` of the pairs with this `first`."""
    order = np.argsort(first, kind="stable")
    ordered = first[order]
    starts = np.searchsorted(ordered, wanted)
    sizes = np.searchsorted(ordered, wanted, "right") - starts
    at = order[ranges(starts, sizes)]
    offsets = np.append(np.int64(0), np.cumsum(sizes))
    return offsets, second[at], values[at]


def _with_class_ids(scores: Matrix, known: TypeTable) -> Matrix:
    """Scores whose columns are term ids instead of positions in the list of classes."""
    return Matrix(scores.offsets, known.class_ids[scores.columns], scores.values)


PREDICTORS = {
    "types": Predictor("PYKE types", pyke_types),
    "sdtype": Predictor("SDType", sdtype),
    "springs": Predictor("nearest by springs, no vectors", spring_neighbours),
    "prior": Predictor("class prior", prior),
}
