"""Methods that are trained by gradient descent, and how they choose their settings.

Batches and epochs follow the size of the graph. Other settings are compared by held-out types: a
part of the known types is withheld again, models are trained without it, and those with the lower
scores drop out. The types that the comparison itself withholds are never seen. The choice takes at
most a third of the time limit, which its rounds share equally. One training takes no longer than
the choice did, so all three together, the choice and both protocols, take about the time limit.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats
from pyke.errors import NothingToScore
from pyke.evaluate.rivals.registry import Job, Method
from pyke.evaluate.rivals.sentences import DEPTH, WALKS, random_walks, triple_sentences
from pyke.evaluate.type_prediction import score
from pyke.use.types.held_out import split
from pyke.use.types.votes import REFERENCE_MU

VALIDATION = 0.2  # part of the known typed subjects whose types are withheld for the choice
VALIDATION_SUBJECTS = 5000  # of them are scored at most, evenly spaced
CHOICE_SHARE = 1 / 3  # of the time limit

# Wrong triples per triple. DistMult on iswc with batches of 4,096 and rate .01, scored by types
# withheld from the known ones: .953 after 37 epochs with ten, at most .931 with one (one seed).
NEGATIVES = 10
MIN_STEPS, MIN_BATCH, MAX_BATCH = 32, 16, 4096
EPOCHS, MAX_EPOCHS = 10, 60  # between two scores of a choice; at most
PATIENCE = 2  # scores in a row that are not the best so far; then stop
# Batches are multiples of `batch_size`. Larger ones get as many steps, so they need more epochs.
LINK_GRID: tuple[dict[str, Any], ...] = (
    {"loss": "default", "learning_rate": 0.01, "batches": 1},
    {"loss": "default", "learning_rate": 0.01, "batches": 4},
    {"loss": "nssa", "learning_rate": 0.003, "batches": 1},
    {"loss": "nssa", "learning_rate": 0.01, "batches": 1},
)
# The initial values of TransE and DistMult. With their wide default, ComplEx, CP and RESCAL score
# about as low as random vectors after 50 epochs.
SMALL: dict[str, Any] = {"entity_initializer": "xavier_uniform"}

SENTENCES = 10**6  # that skip-grams read at least, if MAX_PASSES allow it
PASSES, MAX_PASSES, MORE_PASSES = 10, 200, 4
WORDS = 10**8  # that they read at most before MORE_PASSES, if MIN_PASSES allow it: some minutes
MIN_PASSES = 2
SAMPLES = (0.0, 0.001)  # 0 keeps frequent words; gensim drops some of them by default


class Validation:
    """Scores vectors by types that are withheld from the known ones."""

    def __init__(self, job: Job) -> None:
        """Raises NothingToScore if there are too few types."""
        config = job.config
        self.parts = split(job.graph, VALIDATION, config.seed + 1, config.type_predicate)
        self.job = replace(job, graph=self.parts.graph)
        self._mu = min(REFERENCE_MU, len(self.parts.known))
        self._began, self._limit = self.seconds(), job.time_limit * CHOICE_SHARE

    def score(self, vectors: Floats) -> float:
        """Held-out score with 10 neighbours; −1 if a training diverged."""
        if not np.isfinite(vectors).all():
            return -1.0
        parts, threads = self.parts, self.job.config.threads
        found = score(
            vectors,
            parts.known,
            parts.asked,
            mu=[self._mu],
            most=VALIDATION_SUBJECTS,
            exact=True,
            threads=threads,
        )
        return found.scores[self._mu]

    def seconds_left(self) -> float:
        """Seconds until the choice should end."""
        return self._began + self._limit - self.seconds()

    def seconds(self) -> float:
        """Seconds of the processor, per thread: other programs must not spoil a choice."""
        return time.process_time() / self.job.config.threads


# --------------------------------------------------------------------------------------------------
# Link prediction models
# --------------------------------------------------------------------------------------------------


class Model(Protocol):
    """A model in training."""

    def train(self) -> None:
        """Train for an epoch."""

    def vectors(self) -> Floats:
        """Vectors of all terms."""
        ...


class LinkModel:
    """A model of PyKEEN in training, with its own regularizer and constraints.

    The loop is ours: a choice scores a model between epochs, and trains it on. A step moves only
    the entities of its batch, so that it takes as long on a large graph as on a small one: on
    473,000 entities an epoch takes a tenth of the time of one that moves all of them each time.
    """

    def __init__(self, job: Job, name: str, settings: Mapping[str, Any], more: Mapping[str, Any]):
        import torch
        from pykeen.models import model_resolver
        from pykeen.sampling import BasicNegativeSampler
        from pykeen.triples import CoreTriplesFactory

        random.seed(job.seed)
        torch.manual_seed(job.seed)
        torch.set_num_threads(job.config.threads)
        self._job, rows = job, job.triples
        self._entities, ends = np.unique(rows[:, [0, 2]], return_inverse=True)
        relations, kinds = np.unique(rows[:, 1], return_inverse=True)
        ends = ends.reshape(-1, 2)
        self._triples = torch.as_tensor(np.column_stack([ends[:, 0], kinds, ends[:, 1]]))
        sizes = {"num_entities": len(self._entities), "num_relations": len(relations)}
        factory = CoreTriplesFactory(self._triples, **sizes)
        loss = {} if settings["loss"] == "default" else {"loss": settings["loss"]}
        self._model = model_resolver.make(
            name, triples_factory=factory, random_seed=job.seed, **more, **loss
        )
        self._model.reset_parameters_()
        self._sampler = BasicNegativeSampler(
            mapped_triples=self._triples, num_negs_per_pos=NEGATIVES, **sizes
        )
        self._representations = list(self._model.entity_representations)
        tables = [self._table(part) for part in self._representations]
        for table in tables:
            table.sparse = True
        sparse = [table.weight for table in tables]
        of_tables = {id(weight) for weight in sparse}
        dense = [one for one in self._model.parameters() if id(one) not in of_tables]
        rate = settings["learning_rate"]
        self._optimizers = [
            torch.optim.SparseAdam(sparse, lr=rate),
            *([torch.optim.Adam(dense, lr=rate)] if dense else []),
        ]
        self._batch = min(MAX_BATCH, settings["batches"] * batch_size(len(rows)))

    def train(self) -> None:
        """Train for an epoch."""
        import torch

        model, entities = self._model.train(), len(self._entities)
        for chosen in torch.randperm(len(self._triples)).split(self._batch):
            positive = self._triples[chosen]
            negative, _ = self._sampler.sample(positive)
            wrong = model.score_hrt(negative.view(-1, 3)).view(*negative.shape[:-1])
            for optimizer in self._optimizers:
                optimizer.zero_grad()
            loss = model.loss.process_slcwa_scores(
                model.score_hrt(positive), wrong, num_entities=entities
            )
            (loss + model.collect_regularization_term()).backward()
            for optimizer in self._optimizers:
                optimizer.step()
            moved = torch.cat([positive, negative.view(-1, 3)])[:, [0, 2]].unique()
            self._constrain(moved)

    def _constrain(self, moved: Any) -> None:
        """Apply the constraints of the model to the entities that moved, and to all relations."""
        import torch

        for part in self._model.relation_representations:
            part.post_parameter_update()
        with torch.no_grad():
            for part in self._representations:
                if part.constrainer is not None:
                    weight = self._table(part).weight
                    rows = weight[moved].view(-1, *part.shape)
                    weight[moved] = part.constrainer(rows).view(len(moved), -1)

    @staticmethod
    def _table(part: Any) -> Any:
        """The weights of a representation. They are real, also those of complex numbers."""
        import torch

        return next(one for one in part.modules() if isinstance(one, torch.nn.Embedding))

    def vectors(self) -> Floats:
        """Vectors of all terms; those that are only predicates have zeros."""
        import torch

        parts = [part().detach() for part in self._model.eval().entity_representations]
        real = [torch.view_as_real(part) if part.is_complex() else part for part in parts]
        columns = [values.reshape(len(self._entities), -1).numpy() for values in real]
        return for_all_terms(self._job, self._entities, np.column_stack(columns))


def batch_size(triples: int) -> int:
    """A power of two, so that an epoch has at least MIN_STEPS steps."""
    return min(MAX_BATCH, max(MIN_BATCH, 1 << (max(1, triples // MIN_STEPS).bit_length() - 1)))


def link_grid(triples: int) -> tuple[dict[str, Any], ...]:
    """The settings to compare, without those whose batches would not be larger after all."""
    largest = MAX_BATCH // batch_size(triples)
    return tuple(settings for settings in LINK_GRID if settings["batches"] <= largest)


def link_model(name: str, title: str, parts: int = 1, **more: Any) -> Method:
    """A model of PyKEEN; one dimension of it has `parts` real numbers."""

    def start(job: Job, settings: Mapping[str, Any]) -> LinkModel:
        dimensions = max(1, job.config.dimensions // parts)
        return LinkModel(job, name, settings, {"embedding_dim": dimensions, **more})

    def run(job: Job) -> Floats:
        settings = {**LINK_GRID[0], "epochs": MAX_EPOCHS, **job.settings}
        model = start(job, settings)
        for _ in range(settings["epochs"]):
            model.train()
        return model.vectors()

    def choose(job: Job) -> dict[str, Any]:
        return race(job, start, link_grid(len(job.triples)))

    return Method(title, run, "pykeen", choose=choose)


def race(
    job: Job, start: Callable[[Job, Mapping[str, Any]], Model], grid: tuple[dict[str, Any], ...]
) -> dict[str, Any]:
    """The settings and the number of epochs with the best score.

    All models train for the steps of EPOCHS epochs, then the better half of them, until one is
    left. It trains until its score stops rising. On a large graph, a round ends when its share of
    the time is over.
    """
    try:
        validation = Validation(job)
    except NothingToScore:
        return {}
    runs = [_Run(start(validation.job, settings), settings) for settings in grid]
    while runs[0].goes_on and (validation.seconds_left() > 0 or not runs[0].epochs):
        rounds = len(runs).bit_length()  # until one run is left, with its own round
        share = validation.seconds_left() / rounds / len(runs)
        for run in runs:
            if validation.seconds_left() > 0 or run is runs[0]:
                run.advance(validation, share)
        runs.sort(key=lambda run: -run.best)  # stable: ties keep the order of the grid
        runs = runs[: max(1, len(runs) // 2)]
    best = runs[0]
    batch = min(MAX_BATCH, best.settings.get("batches", 1) * batch_size(len(job.triples)))
    return {
        **best.settings,
        "batch": batch,
        "negatives": NEGATIVES,
        "epochs": best.best_epochs,
        "validation_score": round(best.best, 4),
    }


class _Run:
    """A model in a race."""

    def __init__(self, model: Model, settings: dict[str, Any]) -> None:
        self._model, self.settings = model, settings
        self._longer = settings.get("batches", 1)
        self.epochs = self.best_epochs = self._waited = 0
        self.best = -2.0  # below the score of a training that diverged

    @property
    def goes_on(self) -> bool:
        """Whether more epochs may help."""
        return self.epochs < MAX_EPOCHS * self._longer and self._waited < PATIENCE

    def advance(self, validation: Validation, seconds: float) -> None:
        """Train for some epochs, or until these seconds are over; then score."""
        begin, until = self.epochs, validation.seconds() + seconds
        while self.epochs < begin + EPOCHS * self._longer and (
            validation.seconds() < until or self.epochs == begin
        ):
            self._model.train()
            self.epochs += 1
        found = validation.score(self._model.vectors())
        self._waited = 0 if found > self.best else self._waited + 1
        if found > self.best:
            self.best, self.best_epochs = found, self.epochs


# --------------------------------------------------------------------------------------------------
# Skip-grams
# --------------------------------------------------------------------------------------------------


def passes(sentences: list[list[str]]) -> int:
    """How often skip-grams read these sentences: more often if there are few."""
    words = max(1, sum(map(len, sentences)))
    least = min(PASSES, max(MIN_PASSES, WORDS // words))
    return min(MAX_PASSES, max(least, SENTENCES // max(1, len(sentences))))


def skip_grams(title: str, sentences: Callable[[Job], list[list[str]]]) -> Method:
    """Word2Vec of gensim on the sentences of a graph."""

    def train(job: Job, settings: Mapping[str, Any]) -> Floats:
        from gensim.models import Word2Vec

        model = Word2Vec(
            sentences(job),
            vector_size=job.config.dimensions,
            sg=1,
            window=5,
            min_count=1,
            sample=settings["sample"],
            epochs=settings["epochs"],
            workers=job.config.threads,
            seed=job.seed,
        )
        words = np.array([int(word) for word in model.wv.index_to_key])
        return for_all_terms(job, words, model.wv.vectors)

    def run(job: Job) -> Floats:
        return train(job, {"sample": SAMPLES[0], "epochs": passes(sentences(job)), **job.settings})

    def choose(job: Job) -> dict[str, Any]:
        """Compare both ways to treat frequent words, then the better one with more epochs."""
        try:
            validation = Validation(job)
        except NothingToScore:
            return {}
        epochs = passes(sentences(job))
        best: tuple[float, dict[str, Any]] = (-1.0, {"sample": SAMPLES[0], "epochs": epochs})
        longest = 0.0
        for sample in (*SAMPLES, None):
            more = sample is None  # the best so far, with more epochs
            if validation.seconds_left() < longest * (MORE_PASSES if more else 1):
                break
            began = validation.seconds_left()
            settings = {
                "sample": best[1]["sample"] if more else sample,
                "epochs": epochs * (MORE_PASSES if more else 1),
            }
            found = validation.score(train(validation.job, settings))
            longest = max(longest, began - validation.seconds_left())
            best = max(best, (found, settings), key=lambda one: one[0])
        return {**best[1], "validation_score": round(best[0], 4)}

    return Method(title, run, "gensim", choose=choose)


def for_all_terms(job: Job, terms: NDArray[np.integer[Any]], vectors: NDArray[Any]) -> Floats:
    """Vectors of all terms: those of `terms`, and zeros for the others."""
    found = np.zeros((len(job.graph.terms), job.config.dimensions), np.float32)
    found[terms, : vectors.shape[1]] = vectors
    return found


TRAINED = {
    "rdf2vec": skip_grams("RDF2Vec", random_walks),
    "word2vec": skip_grams("Word2Vec", triple_sentences),
    "transe": link_model("TransE", "TransE"),
    "distmult": link_model("DistMult", "DistMult"),
    "complex": link_model("ComplEx", "ComplEx", parts=2, **SMALL),
    "cp": link_model("CP", "CP", parts=2, rank=1, **SMALL),
    "rescal": link_model("RESCAL", "RESCAL", **SMALL),
}

SETTINGS = {
    "optimizer": "SparseAdam",
    "words": WORDS,
    "validation_subjects": VALIDATION_SUBJECTS,
    "negatives": NEGATIVES,
    "max_batch": MAX_BATCH,
    "epochs": EPOCHS,
    "max_epochs": MAX_EPOCHS,
    "walks": WALKS,
    "depth": DEPTH,
    "passes": PASSES,
}
