"""How far can types be predicted at all? Learners with the same evidence as `pyke types`.

The types of 20 % of the subjects are withheld. `top-1` is the share of subjects whose first class
is correct. All learners see what `pyke types` sees: the vectors and roles of typed subjects, or all
their contexts as features (with a weight of σ). They learn the most frequent class of each subject,
because one correct class is enough. `any of the voters` is the share of subjects with a correct
class among the 20 voters: no weights of these votes can do better.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import common
from predictors import read
from pyke.config import Config
from pyke.core.arrays import Ids
from pyke.core.progress import Progress
from pyke.evaluate.type_prediction import score_classes
from pyke.use.types.evidence import Evidence, find_evidence
from pyke.use.types.held_out import Split, split
from pyke.use.types.predict import class_shares
from pyke.use.types.votes import TypeTable, Voters, has_class, vote

GRAPHS = ("codex-m",)
FORESTS, TREES = 20, 10  # a few trees at a time: they store all classes in every leaf


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
        "any of the voters": len(np.unique(any_vote.queries[right])) / len(truth),
    }
    return [{"graph": name, "learner": title, "top-1": value} for title, value in found.items()]


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
    columns = {"graph": "", "seed": "", "learner": "", "top-1": ".4f"}
    common.finish(columns, rows, [], options.json)


if __name__ == "__main__":
    main()
