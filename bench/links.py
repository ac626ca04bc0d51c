"""Link prediction as the field reports it: filtered MRR and Hits@k of tails and heads.

5 % of the triples that state no types are the test, another 5 % the validation set; all their terms
and predicates occur in the rest. For each test triple, all entities are ranked as its object, then
as its subject. Other true answers are left out of the ranking (filtered). Ties get the mean rank.

PYKE ranks as `pyke complete` does: by the votes of the nearest subjects and by links; for heads, in
the graph with all triples reversed. Entities without votes follow, by how often the predicate has
them. The number of voters is chosen on the validation set. `frequency` is that order alone.

ComplEx, DistMult and TransE are trained here with torch (`make baselines`), as is usual for small
graphs (Lacroix et al., ICML 2018): a relation of its own for each direction, cross-entropy of the
true entity against random ones, which all triples of a batch share, the N3 regularizer, and
Adagrad. TransE has the same training with the distance |s + p - o| and without a regularizer.
Weights of the regularizer are compared after a few epochs by MRR on the validation set. The best
one trains until its score stops rising or --seconds of CPU time are over. The state with the best
score counts.

`PyKEEN ComplEx` and so on are the models of PyKEEN as `pyke compare` trains them: their own loss or
NSSA, their own regularizers and constraints, Adam, ten wrong triples for each. The settings of
`pyke compare` are compared as above.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import common
from pyke.config import Config
from pyke.core.arrays import Ids
from pyke.core.progress import Progress
from pyke.evaluate.rivals.registry import Job
from pyke.evaluate.rivals.trained import SMALL, LinkModel, link_grid
from pyke.graph.changes import remove_triples
from pyke.graph.graph import Graph
from pyke.graph.roles import states_type
from pyke.pipeline import Run
from pyke.use.facts.space import Space

PART, QUERIES_AT_ONCE, VALIDATION = 0.05, 256, 500
VOTERS = (20, 100)
TAILS, HEADS = "tails", "heads"
MODELS = ("ComplEx", "DistMult", "TransE")
PYKEEN = tuple(f"PyKEEN {name}" for name in MODELS)
SLICE = 512  # of all entities that PyKEEN scores at once; all of them take gigabytes
NEGATIVES, BATCH, LEARNING_RATE, INITIAL = 400, 1024, 0.1, 0.1
EPOCHS, PATIENCE = 5, 3  # between two scores; scores in a row that are not the best so far

# (side, predicate, given terms) → a score for each given term and each term of the graph
Scorer = Callable[[str, int, Ids], NDArray[np.float32]]


@dataclass(frozen=True)
class Parts:
    """A graph, and triples (n, 3) of subject, predicate position and object that it lacks."""

    graph: Graph
    valid: Ids
    test: Ids
    known: NDArray[np.int64]  # keys of all triples, also of the withheld ones
    entities: NDArray[np.bool_]


def columns_of(graph: Graph, rows: Any = slice(None)) -> Ids:
    parts = (graph.subjects, graph.predicate_positions, graph.objects)
    return np.column_stack([column[rows] for column in parts])


def keys_of(graph: Graph, triples: Ids) -> NDArray[np.int64]:
    s, p, o = triples.astype(np.int64).T
    keys: NDArray[np.int64] = (s * len(graph.predicates) + p) * len(graph.terms) + o
    return keys


def split(graph: Graph, config: Config) -> Parts:
    """Withhold triples whose terms and predicates still occur afterwards."""
    candidates = np.flatnonzero(~states_type(graph, config.type_predicate))
    order = np.random.default_rng(config.seed).permutation(candidates)
    triples = columns_of(graph)
    degrees = np.bincount(triples[candidates][:, [0, 2]].ravel(), minlength=len(graph.terms))
    uses = np.bincount(graph.predicate_positions, minlength=len(graph.predicates))
    chosen: list[int] = []
    wanted = 2 * round(PART * len(candidates))
    for row in order.tolist():
        s, p, o = triples[row].tolist()
        if degrees[s] > 1 and degrees[o] > 1 and uses[p] > 1 and s != o and len(chosen) < wanted:
            degrees[[s, o]] -= 1
            uses[p] -= 1
            chosen.append(row)
    dropped = np.zeros(len(graph), bool)
    dropped[chosen] = True
    smaller, _ = remove_triples(graph, dropped, config.type_predicate, keep_all_terms=True)
    half = len(chosen) // 2
    valid, test = triples[chosen[:half]], triples[chosen[half:]]
    return Parts(smaller, valid, test, np.sort(keys_of(graph, triples[candidates])), degrees > 0)


def queries(triples: Ids) -> Iterator[tuple[str, int, Ids, Ids]]:
    """Side, predicate, given terms and answers, a few triples of one predicate at a time."""
    for predicate in np.unique(triples[:, 1]).tolist():
        own = triples[triples[:, 1] == predicate]
        for side, given, wanted in ((TAILS, 0, 2), (HEADS, 2, 0)):
            rows = own[np.argsort(own[:, given], kind="stable")]
            for begin in range(0, len(rows), QUERIES_AT_ONCE):
                some = rows[begin : begin + QUERIES_AT_ONCE]
                yield side, predicate, some[:, given], some[:, wanted]


def ranks(parts: Parts, triples: Ids, scorer: Scorer) -> dict[str, NDArray[np.float64]]:
    """The filtered rank of each answer; ties get the mean rank."""
    found: dict[str, list[NDArray[np.float64]]] = {TAILS: [], HEADS: []}
    every = np.flatnonzero(parts.entities)
    for side, predicate, given, wanted in queries(triples):
        scores = scorer(side, predicate, given).astype(np.float64)
        scores[np.isnan(scores)] = -np.inf  # a training that diverged comes last
        own = scores[np.arange(len(given)), wanted][:, None]
        pairs = np.broadcast_arrays(given[:, None], every[None])
        s, o = pairs if side == TAILS else pairs[::-1]
        facts = np.column_stack([s.ravel(), np.full(s.size, predicate), o.ravel()])
        keys = keys_of(parts.graph, facts)
        at = np.minimum(np.searchsorted(parts.known, keys), len(parts.known) - 1)
        others = np.where((parts.known[at] == keys).reshape(s.shape), -np.inf, scores[:, every])
        found[side].append(1 + (others > own).sum(axis=1) + 0.5 * (others == own).sum(axis=1))
    return {side: np.concatenate(some) for side, some in found.items()}


def figures(found: dict[str, NDArray[np.float64]]) -> dict[str, float]:
    both = np.concatenate(list(found.values()))
    hits = {f"Hits@{k}": float((both <= k).mean()) for k in (1, 3, 10)}
    sides = {f"MRR {side}": float((1 / rank).mean()) for side, rank in found.items()}
    return {"MRR": float((1 / both).mean()), **hits, **sides}


def frequency(parts: Parts) -> Scorer:
    """How often the predicate has each term on this side, below 1e-6."""
    triples, terms = columns_of(parts.graph), len(parts.graph.terms)

    def score(side: str, predicate: int, given: Ids) -> NDArray[np.float32]:
        column = triples[triples[:, 1] == predicate, 2 if side == TAILS else 0]
        counts = np.bincount(column, minlength=terms) / (len(triples) * 1e6)
        return np.broadcast_to(counts.astype(np.float32), (len(given), terms))

    return score


def reverse(graph: Graph, type_predicate: str) -> Graph:
    """The graph with subjects and objects exchanged, except where a type is stated."""
    stated = states_type(graph, type_predicate)
    subjects = np.where(stated, graph.subjects, graph.objects)
    objects = np.where(stated, graph.objects, graph.subjects)
    order = np.lexsort((objects, graph.predicate_positions, subjects))
    positions = graph.predicate_positions[order]
    return replace(
        graph, subjects=subjects[order], predicate_positions=positions, objects=objects[order]
    )


def pyke(parts: Parts, config: Config) -> Callable[[int], Scorer]:
    """The scorer of `pyke complete`, by number of voters."""
    entities = np.flatnonzero(parts.entities).astype(np.int32)
    backwards = reverse(parts.graph, config.type_predicate)
    spaces = {
        side: Space.of(graph, entities, config, None, True, Progress())
        for side, graph in ((TAILS, parts.graph), (HEADS, backwards))
    }
    rest = frequency(parts)

    def with_voters(mu: int) -> Scorer:
        def score(side: str, predicate: int, given: Ids) -> NDArray[np.float32]:
            subjects, row = np.unique(given, return_inverse=True)
            space = replace(spaces[side], mu=mu)
            votes = space.vote_objects(predicate, subjects.astype(np.int32), False, Progress())
            scores = rest(side, predicate, subjects).copy()
            scores[np.searchsorted(subjects, votes.subjects), votes.objects] += votes.scores
            return scores[row]

        return score

    return with_voters


class Model:
    """A model in training, which scores triples (s, p, o).

    ComplEx and DistMult: a product of three vectors; those of ComplEx have their real parts first,
    then their imaginary parts. TransE: the distance of s + p and o, with a minus.
    """

    def __init__(self, parts: Parts, name: str, config: Config, regularizer: float) -> None:
        import torch

        self._torch, self._name, self._regularizer = torch, name, regularizer
        torch.manual_seed(config.seed)
        torch.set_num_threads(1)  # more only wait for each other, and CPU time is limited
        terms, self._relations = len(parts.graph.terms), len(parts.graph.predicates)
        rows = torch.as_tensor(columns_of(parts.graph).astype(np.int64))
        rows = rows[rows[:, 2] >= 0]
        other = torch.stack([rows[:, 2], rows[:, 1] + self._relations, rows[:, 0]], dim=1)
        self._triples = torch.cat([rows, other])
        self._entities = torch.unique(rows[:, [0, 2]])
        sizes = (terms, 2 * self._relations)
        self.parameters = [
            (INITIAL * torch.randn(size, config.dimensions)).requires_grad_() for size in sizes
        ]
        self._optimizer = torch.optim.Adagrad(self.parameters, lr=LEARNING_RATE)

    def train(self) -> None:
        """Train for an epoch."""
        torch = self._torch
        for chosen in torch.randperm(len(self._triples)).split(BATCH):
            subjects, relations, objects = self._triples[chosen].T
            wrong = self._entities[torch.randint(len(self._entities), (NEGATIVES,))]
            terms, predicates = self.parameters
            used = (terms[subjects], predicates[relations], terms[objects])
            query = self._query(*used[:2])
            # The wrong ones stand for all entities.
            scores = self._scores(query, terms[wrong]) + np.log(len(self._entities) / NEGATIVES)
            right = self._scores(query[:, None], used[2][:, None])[:, 0, 0]
            loss = (torch.logaddexp(right, scores.logsumexp(dim=1)) - right).mean()
            norm = sum(self._sizes(one).pow(3).sum() for one in used) / len(chosen)
            self._optimizer.zero_grad()
            (loss + self._regularizer * norm).backward()
            self._optimizer.step()

    def _query(self, one: Any, other: Any) -> Any:
        """What is compared with the objects of some subjects and predicates."""
        if self._name == "TransE":
            return one + other
        if self._name == "DistMult":
            return one * other
        (a, b), (x, y) = one.chunk(2, dim=1), other.chunk(2, dim=1)
        return self._torch.cat([a * x - b * y, a * y + b * x], dim=1)

    def _scores(self, queries: Any, objects: Any) -> Any:
        """A score for each query and each object."""
        if self._name == "TransE":
            return -self._torch.cdist(queries, objects)
        return queries @ objects.transpose(-1, -2)

    def _sizes(self, one: Any) -> Any:
        if self._name != "ComplEx":
            return one.abs()
        a, b = one.chunk(2, dim=1)
        return (a**2 + b**2 + 1e-12).sqrt()

    def state(self) -> Any:
        """A copy of the parameters."""
        return [one.detach().clone() for one in self.parameters]

    def load(self, state: Any) -> None:
        """Return to an earlier state."""
        self.parameters = state

    def scorer(self) -> Scorer:
        """Scores by the parameters as they are when it is called."""
        torch = self._torch

        def score(side: str, predicate: int, given: Ids) -> NDArray[np.float32]:
            relation = predicate + (0 if side == TAILS else self._relations)
            with torch.no_grad():
                terms, predicates = self.parameters
                subjects = terms[torch.as_tensor(given.astype(np.int64))]
                scores = self._scores(self._query(subjects, predicates[[relation]]), terms)
                found: NDArray[np.float32] = scores.numpy()
            return found

        return score


class PykeenModel(LinkModel):
    """A model of PyKEEN in training, as in `pyke compare`."""

    def __init__(self, parts: Parts, name: str, config: Config, settings: dict[str, Any]) -> None:
        import torch

        self._torch, self._terms = torch, len(parts.graph.terms)
        # One dimension of ComplEx has two real numbers.
        size = config.dimensions // (2 if name == "ComplEx" else 1)
        more = SMALL if name == "ComplEx" else {}
        job = Job(parts.graph, replace(config, threads=1))  # --seconds counts those of all threads
        super().__init__(job, name, settings, {"embedding_dim": size, **more})
        self._relations = np.searchsorted(np.unique(job.triples[:, 1]), parts.graph.predicates)

    def state(self) -> Any:
        """A copy of the parameters."""
        return {key: value.clone() for key, value in self._model.state_dict().items()}

    def load(self, state: Any) -> None:
        """Return to an earlier state."""
        self._model.load_state_dict(state)

    def scorer(self) -> Scorer:
        """Scores by the parameters as they are when it is called."""
        torch, model = self._torch, self._model

        def score(side: str, predicate: int, given: Ids) -> NDArray[np.float32]:
            terms = torch.as_tensor(np.searchsorted(self._entities, given))
            relations = torch.full_like(terms, int(self._relations[predicate]))
            with torch.no_grad():
                if side == TAILS:
                    pairs = torch.stack([terms, relations], dim=1)
                    scores = model.predict_t(pairs, slice_size=SLICE)
                else:
                    pairs = torch.stack([relations, terms], dim=1)
                    scores = model.predict_h(pairs, slice_size=SLICE)
            found = np.full((len(given), self._terms), -np.inf, np.float32)
            found[:, self._entities] = scores.numpy()
            return found

        return score


def train(
    parts: Parts, config: Config, name: str, regularizers: list[float], seconds: float
) -> tuple[Scorer, dict[str, Any]]:
    """The best model by MRR on the validation set, and its settings."""
    some = parts.valid[:: max(1, len(parts.valid) // VALIDATION)]
    runs: list[tuple[Any, dict[str, Any]]] = (
        [
            (PykeenModel(parts, name.split()[1], config, choice), choice)
            for choice in link_grid(len(parts.graph))
        ]
        if name in PYKEEN
        else [(Model(parts, name, config, weight), {"N3": weight}) for weight in regularizers]
    )
    began, epochs, waited = time.process_time(), 0, 0
    best: tuple[float, Any, Any, dict[str, Any]] | None = None
    while waited < PATIENCE and time.process_time() - began < seconds:
        epochs += EPOCHS
        found = []
        for model, choice in runs:
            longer = choice.get("batches", 1)  # larger batches need more epochs
            for _ in range(EPOCHS * longer):
                model.train()
            found.append(figures(ranks(parts, some, model.scorer()))["MRR"])
            settings = choice | {"epochs": epochs * longer}
            seen = round(time.process_time() - began)
            print(f"{name} {settings}, {seen} s: {found[-1]:.3f}", file=sys.stderr, flush=True)
            waited += len(runs) == 1
            if best is None or found[-1] > best[0]:
                best, waited = (found[-1], model, model.state(), settings), 0
        runs = [runs[int(np.argmax(found))]]
    if best is None:
        common.stop("--seconds is too short")
    _, model, state, settings = best
    model.load(state)
    return model.scorer(), settings | {"CPU s": round(time.process_time() - began)}


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graph", default="codex-m")
    parser.add_argument("--methods", nargs="+", default=["PYKE", *MODELS, *PYKEEN])
    parser.add_argument("--asked", type=int, default=3000, help="test triples [3000]")
    parser.add_argument("--seconds", type=float, default=600, help="CPU time of a model [600]")
    parser.add_argument("--dimensions", type=int, default=200, help="of trained models [200]")
    parser.add_argument("--n3", nargs="+", type=float, default=[0.005, 0.05], help="to compare")
    options = parser.parse_args()
    config = Config(on_error="skip")
    parts = split(Run(common.graph(options.data, options.graph), config).read(), config)
    test = parts.test[:: max(1, len(parts.test) // options.asked)]
    rows: list[dict[str, Any]] = []
    sized = replace(config, dimensions=options.dimensions)

    def add(method: str, scorer: Scorer, chosen: Any) -> None:
        rows.append({"method": method, **figures(ranks(parts, test, scorer)), "chosen": chosen})
        print(rows[-1], file=sys.stderr, flush=True)

    add("frequency", frequency(parts), "")
    for method in options.methods:
        if method == "PYKE":
            with_voters = pyke(parts, config)
            scorers = {mu: with_voters(mu) for mu in VOTERS}
            some = parts.valid[:: max(1, len(parts.valid) // VALIDATION)]
            scores = {mu: figures(ranks(parts, some, one))["MRR"] for mu, one in scorers.items()}
            mu = max(scores, key=lambda one: scores[one])
            add("PYKE", scorers[mu], f"{mu} voters")
        else:
            weights = [0.0] if method == "TransE" else options.n3
            scorer, chosen = train(parts, sized, method, weights, options.seconds)
            add(method, scorer, ", ".join(f"{key} {value}" for key, value in chosen.items()))
    columns = {"method": "", "MRR": ".3f", **{f"Hits@{k}": ".3f" for k in (1, 3, 10)}}
    columns |= {"MRR tails": ".3f", "MRR heads": ".3f", "chosen": ""}
    common.finish(columns, rows, [], options.json)


if __name__ == "__main__":
    main()
