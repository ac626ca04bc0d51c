"""How far can types be predicted at all? Learners with the same evidence as `pyke types`.

The types of 20 % of the subjects are withheld. `top-1` is the share of subjects whose first class
is correct. All learners see what `pyke types` sees: the vectors and roles of typed subjects, or all
their contexts as features (with a weight of σ). They learn the most frequent class of each subject,
because one correct class is enough. `boosting` weighs the votes: it learns whether a class is
correct, from its shares of the votes of 5, 10, 30 and 100 neighbours, from SDType's score, from the
size of the class and from the number of roles, on known subjects of two folds.

`any of the voters` is the share of subjects with a correct class among the 30 voters: no weights of
these votes can do better. `rare` is the share of the errors of `pyke types` for subjects of which
each class has fewer than five known subjects.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import common
from predictors import read
from pyke.config import Config
from pyke.core.arrays import Ids, Matrix, positions
from pyke.core.progress import Progress
from pyke.evaluate.type_prediction import score_classes
from pyke.use.types.evidence import Evidence, find_evidence
from pyke.use.types.folds import Folds
from pyke.use.types.held_out import Split, split
from pyke.use.types.predict import class_shares
from pyke.use.types.sdtype import RoleTypes
from pyke.use.types.votes import TypeTable, Voters, has_class, vote

GRAPHS = ("codex-m",)
FORESTS, TREES = 20, 10  # a few trees at a time: they store all classes in every leaf
SIZES = (5, 10, 30, 100)  # numbers of voters
RARE = 5  # known subjects


def roles_of(evidence: Evidence, subjects: Ids) -> NDArray[np.float32]:
    """log(1 + triples) of each subject in each role."""
    found = np.zeros((len(evidence.role_offsets) - 1, evidence.number_of_roles), np.float32)
    owners = np.repeat(np.arange(len(found)), np.diff(evidence.role_offsets))
    found[owners, evidence.roles] = np.log1p(evidence.role_counts)
    return found[subjects]


def labels(known: TypeTable) -> NDArray[np.int64]:
    """The most frequent class of each subject."""
    sizes = np.bincount(known.classes, minlength=len(known.class_ids))
    owners = np.repeat(np.arange(len(known)), np.diff(known.offsets))
    order = np.lexsort((known.classes, -sizes[known.classes], owners))
    first = order[np.unique(owners[order], return_index=True)[1]]
    return known.classes[first].astype(np.int64)


def top_1(truth: TypeTable, classes: Any) -> float:
    rows = np.arange(len(truth))
    return float(has_class(truth, rows, np.asarray(classes, np.int32)).mean())


def forest(points: Any, wanted: Any, queries: Any) -> Any:
    """The class with the highest mean probability of all trees."""
    from sklearn.ensemble import RandomForestClassifier

    total: Any = 0
    for seed in range(FORESTS):
        model = RandomForestClassifier(TREES, random_state=seed, n_jobs=2).fit(points, wanted)
        total = total + model.predict_proba(queries)
    return model.classes_[np.argmax(total, axis=1)]


def linear(evidence: Evidence, known: TypeTable, queries: Ids) -> Any:
    """A linear classifier on all contexts."""
    from scipy.sparse import csr_array
    from sklearn.linear_model import SGDClassifier
    from sklearn.preprocessing import normalize

    contexts = evidence.contexts
    shape = (contexts.rows, len(evidence.places))
    offsets = contexts.offsets.astype(np.int32)  # scikit-learn takes no others
    matrix = csr_array((contexts.values, contexts.columns, offsets), shape=shape)
    features = normalize(matrix)
    model = SGDClassifier(loss="modified_huber", alpha=1e-5, random_state=0, n_jobs=2)
    return model.fit(features[known.subjects], labels(known)).predict(features[queries])


def rows_of_classes(table: TypeTable, classes: Ids) -> Ids:
    """Positions of classes, given as term ids, in the list of a table."""
    order = np.argsort(table.class_ids, kind="stable")
    at = np.searchsorted(table.class_ids, classes, sorter=order)
    return order[at].astype(np.int32)


class Candidates:
    """Classes that have votes: a row of features for each query and class."""

    def __init__(self, voters: Voters, scores: RoleTypes, queries: Ids) -> None:
        known, number = voters.known, len(voters.known.class_ids)
        sized = [replace(voters, mu=min(mu, len(known) - 1)) for mu in SIZES]
        asked = voters.queries(queries)
        votes = [one.votes(asked, Progress())[0] for one in sized]
        keys = [one.queries * number + one.classes for one in votes]
        self.keys = np.unique(np.concatenate(keys))
        self.queries, self.classes = self.keys // number, (self.keys % number).astype(np.int32)
        columns = [np.zeros(len(self.keys)) for _ in (*SIZES, scores)]
        for column, own, one in zip(columns, keys, votes, strict=False):
            column[np.searchsorted(self.keys, own)] = one.shares
        direct = scores.scores(queries)
        rows = np.repeat(np.arange(len(queries)), np.diff(direct.offsets))
        at = positions(rows * number + direct.columns, self.keys)
        columns[-1][at[at >= 0]] = direct.values[at >= 0]
        sizes = np.bincount(known.classes, minlength=number)[self.classes]
        roles = np.diff(voters.evidence.role_offsets)[queries][self.queries]
        best = np.zeros(len(queries))
        np.maximum.at(best, self.queries, columns[2])
        self.features = np.column_stack([*columns, np.log1p(sizes), roles, best[self.queries]])

    def first(self, values: Any, number: int) -> Any:
        """The class with the highest value of each query."""
        order = np.lexsort((self.classes, -values, self.queries))
        found = np.zeros(number, np.int32)
        own, at = np.unique(self.queries[order], return_index=True)
        found[own] = self.classes[order[at]]
        return found


def boosting(parts: Split, config: Config, queries: Ids) -> Any:
    """Weigh the votes by a model that has learnt which votes are correct."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    folds = Folds.of(parts.graph, config, None, None, Progress())
    points, wanted = [], []
    for fold in (0, 1):
        voters = folds.voters_for(fold)
        own = folds.voters.known.rows(np.flatnonzero(folds.of_voters == fold))
        scores = RoleTypes.of(parts.graph, voters.known, config.type_predicate)
        some = Candidates(voters, scores, own.subjects)
        points.append(some.features)
        wanted.append(has_class(own, some.queries, some.classes))
    model = HistGradientBoostingClassifier(
        learning_rate=0.03, max_leaf_nodes=10, max_iter=300, random_state=0
    ).fit(np.concatenate(points), np.concatenate(wanted))
    scores = RoleTypes.of(parts.graph, folds.voters.known, config.type_predicate)
    asked = Candidates(folds.voters, scores, queries)
    found = asked.first(model.predict_proba(asked.features)[:, 1], len(queries))
    return rows_of_classes(parts.known, folds.voters.known.class_ids[found])


def rare_share(shares: Matrix, truth: TypeTable, known: TypeTable) -> float:
    """Of the subjects whose first class is wrong, those with rare classes alone."""
    rows = np.repeat(np.arange(len(truth)), np.diff(shares.offsets))
    classes = rows_of_classes(truth, shares.columns)
    order = np.lexsort((classes, -shares.values, rows))
    own, at = np.unique(rows[order], return_index=True)
    is_wrong = np.ones(len(truth), bool)
    is_wrong[own] = ~has_class(truth, own, classes[order[at]])
    sizes = np.bincount(known.classes, minlength=len(known.class_ids))
    largest = np.maximum.reduceat(sizes[truth.classes], truth.offsets[:-1])
    return float((largest[is_wrong] < RARE).mean())


def rows_of(name: str, parts: Split, config: Config) -> list[dict[str, Any]]:
    evidence = find_evidence(parts.graph, config, Progress())
    voters = Voters.of(evidence, TypeTable.of(parts.graph.types), None, config.threads)
    known = parts.known.rows(np.flatnonzero(evidence.has_vector(parts.known.subjects)))
    asked = parts.asked.subjects >= 0
    asked[asked] = evidence.has_vector(parts.asked.subjects[asked])
    truth = parts.asked.rows(np.flatnonzero(asked))
    subjects = truth.subjects
    shares = class_shares(parts.graph, subjects, config, Progress())
    _, neighbours = voters.votes(voters.queries(subjects), Progress())
    any_vote = vote(neighbours.ids, known)
    right = has_class(truth, any_vote.queries, any_vote.classes)
    points, queries = (
        np.hstack([evidence.vectors[some], roles_of(evidence, some)])
        for some in (known.subjects, subjects)
    )
    found = {
        "pyke types": score_classes(shares, truth).votes.top_1,
        f"random forest ({FORESTS * TREES} trees): vectors, roles": top_1(
            truth, forest(points, labels(known), queries)
        ),
        "linear classifier: contexts": top_1(truth, linear(evidence, known, subjects)),
        "boosting: votes": top_1(truth, boosting(parts, config, subjects)),
        "any of the voters": len(np.unique(any_vote.queries[right])) / len(truth),
    }
    rows: list[dict[str, Any]] = [
        {"graph": name, "learner": title, "top-1": value} for title, value in found.items()
    ]
    rows[0]["rare"] = rare_share(shares, truth, known)
    return rows


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in options.graphs:
        graph = read(options.data, name)
        for seed in options.seeds:
            config = Config(seed=seed)
            parts = split(graph, 0.2, seed, config.type_predicate)
            rows += [{"seed": seed, **row} for row in rows_of(name, parts, config)]
    columns = {"graph": "", "seed": "", "learner": "", "top-1": ".4f", "rare": ".2f"}
    common.finish(columns, rows, [], options.json)


if __name__ == "__main__":
    main()
