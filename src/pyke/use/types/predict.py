"""Predict missing types from the nearest typed neighbours, each with its confidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import Ids, Matrix
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.graph.graph import Graph
from pyke.use.types.calibration import Calibration, calibrate
from pyke.use.types.folds import Folds
from pyke.use.types.kinds import Kinds, Status
from pyke.use.types.namespaces import Namespaces
from pyke.use.types.predictions import Predictions, check_selection
from pyke.use.types.votes import TypeTable, Voters, require_classes, usable_mu


def predict_types(
    embedding: Embedding,
    *,
    mu: int | None = None,
    min_confidence: float = 0.8,
    precision: float | None = None,
    unmeasured: bool = False,
    only_untyped: bool = True,
    exact: bool | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Predictions:
    """Predict the types of entities: terms that are neither predicates nor classes.

    Parameters
    ----------
    embedding
        The embedding, with its graph.
    mu
        Number of nearest typed subjects that vote (μ); 30 by default, if there are as many.
    min_confidence
        Drop predictions with a lower confidence, from 0 to 1.
    precision
        Use this instead of `min_confidence` to keep as many predictions as possible while this
        share of them is expected to be correct, from 0 to 1.
    unmeasured
        Also keep predictions for terms that are unlike all typed subjects, so that their confidence
        was not measured.
    only_untyped
        False also predicts further types of typed subjects. Their confidence is less reliable: it
        was measured on subjects of which no types were known. With True, nothing is predicted if
        every entity has a type.
    exact
        True or False for an exact or an approximate search; by default the number of terms decides.
    threads
        Number of threads; by default all cores. The result does not depend on it.
    progress
        Receives progress reports.

    Examples
    --------
    >>> import pyke
    >>> e = pyke.embed("examples/father.ttl", dimensions=10, seed=7)
    >>> found = predict_types(e, mu=2, only_untyped=False, min_confidence=0)
    >>> found.asked
    9
    """
    check_selection(min_confidence, precision)
    progress = progress or Progress()
    table = TypeTable.of(embedding.types)
    require_classes(table)
    if only_untyped and not len(_candidates(embedding, table, only_untyped, None)):
        return Predictions.of_nothing(embedding)
    predictor = prepare(embedding, None, mu, only_untyped, exact, threads, progress)
    found = _predict(predictor, embedding, progress)
    return found.select(min_confidence, precision, unmeasured)


def _predict(predictor: Predictor, embedding: Embedding, progress: Progress) -> Predictions:
    """Predictions for all terms that were asked for, with their confidence."""
    kinds, folds, calibration = predictor.kinds, predictor.folds, predictor.calibration
    asked = kinds.asked
    progress.stage("types", len(asked), "subjects")
    votes, neighbours = folds.votes(asked, progress)
    subjects, classes = asked[votes.queries], folds.voters.known.class_ids[votes.classes]
    confidences = calibration.confidences(
        votes.shares, votes.classes.astype(np.int64), kinds.of_asked[votes.queries]
    )
    is_new = np.flatnonzero(~_are_stated(subjects, classes, embedding))
    order = is_new[np.lexsort((classes[is_new], -confidences[is_new], subjects[is_new]))]
    return Predictions(
        embedding,
        subjects[order],
        classes[order],
        votes.votes[order].astype(np.int32),
        votes.shares[order],
        confidences[order],
        kinds.status[votes.queries[order]] == Status.MEASURED,
        asked=predictor.asked,
        without_voters=predictor.asked - len(np.unique(votes.queries)),
        kinds=kinds,
        calibration=calibration,
        exact=neighbours.exact,
        recall=neighbours.recall,
    )


@dataclass(frozen=True)
class Predictor:
    """Everything that predictions for some terms need."""

    folds: Folds
    kinds: Kinds
    calibration: Calibration
    asked: int  # terms to predict types for, also those without a vector
    _voters: dict[int, Voters] = field(default_factory=dict)  # of one fold, for explanations
    _lock: Lock = field(default_factory=Lock)

    def voters(self, term: int) -> Voters:
        """The voters on a term: without its own types, if it has some."""
        fold = int(self.folds.fold_of(np.array([term], np.int32))[0])
        with self._lock:  # of the threads of a server
            if fold not in self._voters:
                self._voters.clear()  # one fold needs as much memory as all vectors
                self._voters[fold] = self.folds.voters_for(fold)
            return self._voters[fold]


def prepare(
    embedding: Embedding,
    term: int | None,
    mu: int | None,
    only_untyped: bool,
    exact: bool | None,
    threads: int | None,
    progress: Progress,
) -> Predictor:
    """Find the evidence and measure the confidence, for all entities and for one more term."""
    config, graph = embedding.config(threads=threads), embedding.graph()
    table = TypeTable.of(graph.types)
    require_classes(table)
    if mu is not None:
        usable_mu([mu], len(table) - 1)  # before the work
    asked = _candidates(embedding, table, only_untyped, term)
    folds = Folds.of(graph, config, mu, exact, progress)
    evidence = folds.voters.evidence
    number, asked = len(asked), asked[evidence.has_vector(asked)]
    namespaces = Namespaces(graph, folds.voters.known.subjects, asked, config.threads)
    kinds = Kinds(evidence, namespaces, folds.candidates, asked, config.seed)
    return Predictor(folds, kinds, calibrate(folds, kinds, progress), number)


def class_shares(
    graph: Graph, subjects: Ids, config: Config, progress: Progress, exact: bool | None = None
) -> Matrix:
    """The share of the votes of each class, for each subject; the columns are term ids of classes.

    Typed subjects are predicted as if they had no types. Subjects without a vector have no classes.
    """
    folds = Folds.of(graph, config, None, exact, progress)
    at = np.flatnonzero(folds.voters.evidence.has_vector(subjects))
    votes, _ = folds.votes(subjects[at], progress)
    offsets = np.searchsorted(at[votes.queries], np.arange(len(subjects) + 1))
    classes = folds.voters.known.class_ids[votes.classes]
    return Matrix(offsets, classes, votes.shares.astype(np.float32))


def _candidates(
    embedding: Embedding, table: TypeTable, only_untyped: bool, term: int | None
) -> Ids:
    """Ids of the terms to predict types for."""
    chosen = np.zeros(len(embedding), bool)
    chosen[embedding.entities] = True
    if only_untyped:
        chosen[embedding.types[:, 0]] = False
    else:
        chosen[table.subjects] = True  # a class can have a type itself
        chosen[embedding.predicates] = False
    if term is not None:
        chosen[term] = True
    return np.flatnonzero(chosen).astype(np.int32)


def _are_stated(subjects: Ids, classes: Ids, embedding: Embedding) -> NDArray[np.bool_]:
    """Which pairs of subject and class are in the graph already."""
    stated, terms = embedding.types.astype(np.int64), len(embedding)
    return np.isin(subjects.astype(np.int64) * terms + classes, stated[:, 0] * terms + stated[:, 1])
