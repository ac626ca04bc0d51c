"""How often are predicted facts correct?

A fifth of the subjects of each predicate lose all their objects of it. The remaining graph is
embedded, and the withheld facts are predicted. Two shares are measured:

- **likelihood**: of all entities with this many votes for a predicate, how many have it? A withheld
  pair of subject and predicate stands for those, about five, of which it was drawn.
- **confidence**: of the predicted objects of withheld pairs, how many are correct? Pairs count if
  they are likely at all, as in a prediction.

Both are measured on entities that have or lack the predicate in the graph. Which entities lack it
in the graph but have it in the world cannot be measured here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Ids
from pyke.core.progress import Progress
from pyke.graph.changes import remove_triples
from pyke.graph.graph import Graph
from pyke.graph.roles import Numbers, states_type
from pyke.use.facts.space import Groups, Lacking, ObjectVotes, Space
from pyke.use.types.bins import BinCalibration
from pyke.use.types.calibration import Calibration, Like, Measured
from pyke.use.types.votes import Counts

PARTS = 5  # one of five subjects of each predicate loses its objects
# Of the score, in the calibration. Most predicted objects of a predicate with many objects get one
# vote; with 20 bins the best ones share a bin with others, and half as many facts are offered.
BINS = 60
MIN_LIKELIHOOD = 0.5  # that an entity has a predicate, for a prediction of its object


@dataclass(frozen=True)
class Withheld:
    """A graph without some facts, with the same terms, and what it lacks."""

    graph: Graph
    subjects: Ids
    predicates: Ids  # positions: the subject beside it lost all its objects of this predicate
    times: Numbers  # of each predicate: how many of its subjects a withheld one stands for


@dataclass(frozen=True)
class Outcome:
    """The trial of one predicate."""

    pairs: int = 0  # subjects that lost their objects
    facts: int = 0  # objects that they lost
    likely: int = 0  # those of the subjects to which similar entities have the predicate
    others: int = 0  # entities that never had it, while similar entities have it
    first_right: int = 0  # subjects whose object with the most votes is correct


@dataclass(frozen=True)
class Confidences:
    """Confidence of predicted objects, by their score.

    Objects with a link and objects with votes only are measured apart: the same score means
    different things.
    """

    voted: Calibration  # classes: predicates; kinds: objects as term ids
    linked: Calibration

    def of(self, votes: ObjectVotes, predicate: int) -> NDArray[np.float64]:
        """The confidence of each object of a predicate."""
        asked = votes.scores, np.full(len(votes.objects), predicate), votes.objects.astype(np.int64)
        is_linked = votes.links > 0
        return np.where(is_linked, self.linked.confidences(*asked), self.voted.confidences(*asked))

    def like(self, votes: ObjectVotes, predicate: int, at: int) -> tuple[Like, ...]:
        """The measured predictions that the confidence of the object at a position comes from."""
        calibration = self.linked if votes.links[at] > 0 else self.voted
        return calibration.like(float(votes.scores[at]), predicate, int(votes.objects[at]))

    def counts(self, min_confidence: float, number: int) -> tuple[Counts, Counts]:
        """Measured predictions with this confidence and correct ones, by predicate."""
        made, right = np.zeros((2, number), np.int64)
        for one in (self.voted, self.linked):
            sure = one.measured_confidences >= min_confidence
            classes = one.measured.classes
            made += np.bincount(classes[sure], minlength=number)
            right += np.bincount(classes[sure & one.measured.right], minlength=number)
        return made, right


@dataclass(frozen=True)
class Trial:
    """The measured shares, and the outcome of each predicate.

    Predicates are positions in `graph.predicates`; each keeps subjects, so that these are the same
    in the smaller graph.
    """

    likelihoods: Calibration  # classes: predicates
    confidences: Confidences
    outcomes: dict[int, Outcome]

    def likelihood(self, lacking: Lacking) -> NDArray[np.float64]:
        """The share of entities with these votes that have the predicate."""
        return _likelihood(self.likelihoods, lacking)


def withhold(graph: Graph, type_predicate: str, seed: int, parts: int = PARTS) -> Withheld:
    """Remove all objects of every fifth subject of each predicate; types stay.

    Examples
    --------
    >>> import pyke
    >>> graph = pyke.embed("examples/father.ttl", dimensions=10).graph()
    >>> rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    >>> len(withhold(graph, rdf_type, seed=1, parts=2).subjects)
    3
    """
    number = len(graph.predicates)
    is_fact = ~states_type(graph, type_predicate)
    keys = graph.subjects.astype(np.int64) * number + graph.predicate_positions
    pairs = np.unique(keys[is_fact])
    predicates = pairs % number
    order = np.lexsort((np.random.default_rng([seed, 11]).random(len(pairs)), predicates))
    sizes = np.bincount(predicates, minlength=number)
    starts = np.cumsum(sizes) - sizes
    rank = np.arange(len(order)) - starts[predicates[order]]
    lost = sizes // parts
    chosen = np.sort(pairs[order[rank < lost[predicates[order]]]])
    dropped = is_fact & np.isin(keys, chosen)
    smaller, _ = remove_triples(graph, dropped, type_predicate, keep_all_terms=True)
    return Withheld(
        smaller,
        (chosen // number).astype(np.int32),
        (chosen % number).astype(np.int32),
        np.rint(sizes / np.maximum(1, lost)).astype(np.int64),
    )


def run_trial(
    complete: Space,
    withheld: Withheld,
    space: Space,
    functional: dict[int, bool],
    progress: Progress,
) -> Trial:
    """Predict the withheld facts in the space of the smaller graph.

    `functional` has the predicates whose objects are predicted, and whether a subject has only one.
    """
    terms = len(space.graph.terms)
    progress.stage("calibration", len(space.entities), "entities")
    lacking = space.lacking(space.entities, progress)
    is_withheld = complete.has(lacking.entities, lacking.predicates)
    times = np.where(is_withheld, withheld.times[lacking.predicates], 1)
    likelihoods = _likelihoods(lacking, is_withheld, times, space.mu)
    is_likely = _likelihood(likelihoods, lacking) >= MIN_LIKELIHOOD
    withheld_of, lacking_of = Groups(withheld.predicates), Groups(lacking.predicates)
    outcomes: dict[int, Outcome] = {}
    found: list[_Predicted] = []
    for predicate, only_best in functional.items():
        table = complete.objects(predicate)
        true = np.repeat(table.subjects.astype(np.int64), np.diff(table.offsets)) * terms
        true += table.class_ids[table.classes]
        likely = lacking_of.of(predicate)
        likely = likely[is_likely[likely]]
        asked = lacking.entities[likely[is_withheld[likely]]]
        votes = space.vote_objects(predicate, asked, only_best, progress)
        right = np.isin(votes.subjects.astype(np.int64) * terms + votes.objects, true)
        own = withheld.subjects[withheld_of.of(predicate)]
        outcomes[predicate] = Outcome(
            len(own),
            int(np.isin(true // terms, own).sum()),
            len(asked),
            len(likely) - len(asked),
            int(right[votes.first()].sum()),
        )
        number = np.full(len(right), predicate)
        found.append(_Predicted(votes.scores, votes.links > 0, number, votes.objects, right))
    return Trial(likelihoods, _confidences(found, outcomes, space.mu), outcomes)


class _Predicted(NamedTuple):
    """Predicted objects of one predicate."""

    scores: NDArray[np.float64]
    is_linked: NDArray[np.bool_]
    predicates: Numbers
    objects: Ids
    right: NDArray[np.bool_]


def _likelihood(calibration: Calibration, lacking: Lacking) -> NDArray[np.float64]:
    predicates = lacking.predicates.astype(np.int64)
    return calibration.confidences(lacking.shares, predicates, np.zeros_like(predicates))


def _likelihoods(
    lacking: Lacking, is_withheld: NDArray[np.bool_], times: Numbers, mu: int
) -> Calibration:
    """From pairs without the predicate in the smaller graph; `times` is what each stands for."""
    classes = np.repeat(lacking.predicates.astype(np.int64), times)
    return BinCalibration(
        Measured(
            np.repeat(lacking.shares, times),
            classes,
            np.zeros_like(classes),
            np.repeat(is_withheld, times),
            len(np.unique(lacking.entities)),
            int(times[is_withheld].sum()),
        ),
        mu,
    )


def _confidences(found: list[_Predicted], outcomes: dict[int, Outcome], mu: int) -> Confidences:
    none, nothing = np.zeros(0, np.int64), np.zeros(0, bool)
    start = _Predicted(np.zeros(0), nothing, none, none.astype(np.int32), nothing)
    scores, is_linked, predicates, objects, right = (
        np.concatenate(column) for column in zip(start, *found, strict=True)
    )
    subjects = sum(one.likely for one in outcomes.values())
    facts = sum(one.facts for one in outcomes.values())

    def calibrated(chosen: NDArray[np.bool_]) -> Calibration:
        kinds = objects[chosen].astype(np.int64)
        measured = Measured(
            scores[chosen], predicates[chosen], kinds, right[chosen], subjects, facts
        )
        return BinCalibration(measured, mu, BINS, shifted=True)

    return Confidences(calibrated(~is_linked), calibrated(is_linked))
