"""Other ways to vectors, each in a few lines around the library that is made for it: the same triples, the same dimensions.

A method is a function of a Job and one row in METHODS. It gives one vector per term; terms that it does not know (predicates, often)
get zeros, which no measure looks at. The libraries come with `pip install 'pyke-embeddings[baselines]'`.

Run as `python -m pyke.evaluate.rivals METHOD GRAPH OUTPUT SETTINGS`, so that time and memory of one do not disturb the next.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core import system
from pyke.core.arrays import Floats
from pyke.core.files import write_directory
from pyke.errors import DataError, MissingLibrary, PykeError, UsageError
from pyke.graph import changes
from pyke.graph.graph import LITERAL, Graph
from pyke.pipeline import embed_graph
from pyke.pipeline.checkpoints import Checkpoints
from pyke.springs.ppmi import ppmi_similarities
from pyke.springs.strongest import symmetric_matrix

EPOCHS = 50  # of the models that are trained by gradients
BATCH, LEARNING_RATE = 4096, 0.01
SMALL: dict[str, Any] = {
    "entity_initializer": "xavier_uniform"
}  # as TransE and DistMult start; from their wide default they end, after 50 epochs, near chance
WALKS, DEPTH = 10, 4  # of RDF2Vec: walks per entity, steps per walk
SENTENCE_EPOCHS = 10


SETTINGS = {
    "epochs": EPOCHS,
    "batch": BATCH,
    "learning_rate": LEARNING_RATE,
    "walks": WALKS,
    "depth": DEPTH,
    "sentence_epochs": SENTENCE_EPOCHS,
}
GREATEST_SEED = 2**32  # of other libraries
ENOUGH_TO_COMPILE = 100  # triples


@dataclass(frozen=True)
class Job:
    """What every method gets."""

    graph: Graph
    config: Config

    @property
    def seed(self) -> int:
        """The seed, as other libraries take it."""
        return self.config.seed % GREATEST_SEED

    @property
    def triples(self) -> NDArray[np.int64]:
        """(n, 3): the triples between terms."""
        return self.graph.triples(self.graph.objects != LITERAL).astype(np.int64)


# ---------------------------------------------------------------------------------------------------------------------
# Physics, algebra, chance
# ---------------------------------------------------------------------------------------------------------------------


def pyke(job: Job) -> Floats:
    """As this package does it, with the settings given."""
    return embed_graph(job.graph, job.config).vectors


def paper(job: Job) -> Floats:
    """The paper's pseudocode, with the rescaling of its published code, without which it does not stay finite."""
    return _with(job, preset="paper")


def ppmi_springs(job: Job) -> Floats:
    """The paper's springs, with the stable update of this package."""
    return _with(job, similarity="ppmi")


def _with(job: Job, preset: str = "default", **changes: Any) -> Floats:
    config = Config.preset(
        preset,
        dimensions=job.config.dimensions,
        seed=job.config.seed,
        threads=job.config.threads,
        **changes,
    )
    return embed_graph(job.graph, config).vectors


def svd(job: Job) -> Floats:
    """Truncated singular value decomposition of the PPMI matrix, each side weighted by the root of the singular values."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    rows = symmetric_matrix(ppmi_similarities(job.graph))
    matrix = csr_array((rows.values, rows.columns, rows.offsets), shape=(rows.rows, rows.rows))
    rank = min(job.config.dimensions, rows.rows - 1)
    left, weights, _ = svds(matrix, k=rank, rng=np.random.default_rng(job.config.seed))
    found = np.zeros((rows.rows, job.config.dimensions), np.float32)
    found[:, :rank] = left * np.sqrt(weights)
    return found


def chance(job: Job) -> Floats:
    """Random vectors: the floor."""
    return (
        np.random.default_rng(job.config.seed)
        .normal(size=(len(job.graph.terms), job.config.dimensions))
        .astype(np.float32)
    )


# ---------------------------------------------------------------------------------------------------------------------
# Cleora
# ---------------------------------------------------------------------------------------------------------------------


def cleora(job: Job) -> Floats:
    """pycleora: a hyperedge for each triple; four iterations without whitening score better here than its default of forty with it."""
    import pycleora
    from pycleora.pycleora import SparseMatrix

    edges = (f"{s} {p} {o}" for s, p, o in job.triples.tolist())
    workers = job.config.threads
    matrix = SparseMatrix.from_iterator(edges, "complex::reflexive::node", num_workers=workers)
    found = pycleora.embed(
        matrix,
        feature_dim=job.config.dimensions,
        num_iterations=4,
        whiten=False,
        seed=job.seed,
        num_workers=workers,
    )
    return _placed(job, np.array([int(name) for name in matrix.entity_ids]), found)


# ---------------------------------------------------------------------------------------------------------------------
# Word2Vec
# ---------------------------------------------------------------------------------------------------------------------


def word2vec(job: Job) -> Floats:
    """Triples as sentences of three words."""
    return _skip_grams(job, [[str(word) for word in triple] for triple in job.triples.tolist()])


def rdf2vec(job: Job) -> Floats:
    """Random walks from every entity as sentences: entity, predicate, entity, …"""
    return _skip_grams(job, list(_walks(job)))


def _walks(job: Job) -> Iterator[list[str]]:
    """All entities walk at once, a step at a time; a walk ends where no triple leads on."""
    triples, terms = job.triples, len(job.graph.terms)
    triples = triples[np.argsort(triples[:, 0], kind="stable")]
    first = np.searchsorted(triples[:, 0], np.arange(terms + 1))
    entities = np.unique(triples[:, [0, 2]])
    chance = np.random.default_rng(job.config.seed)
    for _ in range(WALKS):
        walks = np.full((len(entities), 2 * DEPTH + 1), -1, np.int64)
        walks[:, 0] = entities
        for step in range(DEPTH):
            here = walks[:, 2 * step]
            ways = np.where(here >= 0, first[here + 1] - first[here], 0)
            going = np.flatnonzero(ways)
            taken = triples[first[here[going]] + chance.integers(0, ways[going])]
            walks[going, 2 * step + 1], walks[going, 2 * step + 2] = taken[:, 1], taken[:, 2]
        yield from ([str(word) for word in walk if word >= 0] for walk in walks.tolist())


def _skip_grams(job: Job, sentences: list[list[str]]) -> Floats:
    from gensim.models import Word2Vec

    # sample=0: by default frequent words are left out at random, and here those are the predicates and classes that tell most.
    model = Word2Vec(sentences, vector_size=job.config.dimensions, sg=1, window=5, min_count=1, sample=0, epochs=SENTENCE_EPOCHS,
                     workers=job.config.threads, seed=job.seed)  # fmt: skip
    return _placed(job, np.array([int(word) for word in model.wv.index_to_key]), model.wv.vectors)


# ---------------------------------------------------------------------------------------------------------------------
# Link prediction models
# ---------------------------------------------------------------------------------------------------------------------


def _link_model(name: str, parts: int = 1, **more: Any) -> Callable[[Job], Floats]:
    """A model of PyKEEN with its own loss, regularizer and negative samples; `parts` are the real numbers that one of its dimensions takes."""

    def train(job: Job) -> Floats:
        import torch
        from pykeen.models import model_resolver
        from pykeen.training import SLCWATrainingLoop
        from pykeen.triples import CoreTriplesFactory

        random.seed(job.seed)
        torch.manual_seed(job.seed)
        torch.set_num_threads(job.config.threads)
        rows = job.triples
        entities, ends = np.unique(rows[:, [0, 2]], return_inverse=True)
        relations, kinds = np.unique(rows[:, 1], return_inverse=True)
        mapped = np.column_stack([ends.reshape(-1, 2)[:, 0], kinds, ends.reshape(-1, 2)[:, 1]])
        triples = CoreTriplesFactory(
            torch.as_tensor(mapped), num_entities=len(entities), num_relations=len(relations)
        )
        dimensions = max(1, job.config.dimensions // parts)
        model = model_resolver.make(
            name, triples_factory=triples, random_seed=job.seed, embedding_dim=dimensions, **more
        )
        loop = SLCWATrainingLoop(
            model=model,
            triples_factory=triples,
            optimizer=torch.optim.Adam(model.parameters(), lr=LEARNING_RATE),
        )
        loop.train(triples, num_epochs=EPOCHS, batch_size=BATCH, use_tqdm=False)
        found = [
            torch.view_as_real(v) if v.is_complex() else v
            for v in (part() for part in model.entity_representations)
        ]
        return _placed(
            job,
            entities,
            np.column_stack(
                [values.detach().reshape(len(entities), -1).numpy() for values in found]
            ),
        )

    train.__doc__ = f"{name} of PyKEEN."
    return train


def _placed(job: Job, terms: NDArray[np.integer[Any]], vectors: NDArray[Any]) -> Floats:
    """Vectors of some terms, put where their terms are."""
    placed = np.zeros((len(job.graph.terms), job.config.dimensions), np.float32)
    placed[terms, : vectors.shape[1]] = vectors
    return placed


@dataclass(frozen=True)
class Method:
    """A row of every comparison: the name people know, how to get the vectors, and the library that does it."""

    title: str
    run: Callable[[Job], Floats]
    library: str | None = None


METHODS = {
    "pyke": Method("PYKE", pyke),
    "paper": Method("PYKE, the paper's update, rescaled", paper),
    "ppmi": Method("PYKE, the paper's springs", ppmi_springs),
    "svd": Method("SVD of PPMI", svd, "scipy"),
    "cleora": Method("Cleora", cleora, "pycleora"),
    "rdf2vec": Method("RDF2Vec", rdf2vec, "gensim"),
    "word2vec": Method("Word2Vec", word2vec, "gensim"),
    "transe": Method("TransE", _link_model("TransE"), "pykeen"),
    "distmult": Method("DistMult", _link_model("DistMult"), "pykeen"),
    "complex": Method("ComplEx", _link_model("ComplEx", parts=2, **SMALL), "pykeen"),
    "cp": Method("CP", _link_model("CP", parts=2, rank=1, **SMALL), "pykeen"),
    "rescal": Method("RESCAL", _link_model("RESCAL", **SMALL), "pykeen"),
    "random": Method("random vectors", chance),
}


# What a library's methods use: some load the rest only when it is asked for.
_MODULES = {
    "scipy": ("scipy.sparse.linalg",),
    "pycleora": ("pycleora.pycleora",),
    "gensim": ("gensim.models",),
    "pykeen": ("torch", "pykeen.models", "pykeen.training", "pykeen.triples"),
}


def method(name: str) -> Method:
    """The method of this name."""
    if name not in METHODS:
        raise UsageError(f"there is no method {name!r}; there are: {', '.join(METHODS)}")
    return METHODS[name]


def main(name: str, graph: str, output: str, settings: str) -> None:
    """Embeds a kept graph by one method, and writes vectors with the seconds and the memory that they took."""
    loaded = Checkpoints(Path(graph), {}, 0, resume=True).load_graph()
    if loaded is None:
        raise DataError(f"there is no graph in {graph}")
    chosen = method(name)
    job = Job(loaded, Config(**json.loads(settings)))
    if chosen.library:
        try:
            for module in _MODULES[chosen.library]:  # loading them is no part of the work
                importlib.import_module(module)
        except ImportError:
            raise MissingLibrary(chosen.library, chosen.title, "baselines") from None
    else:  # our kernels, too, are compiled or loaded before
        few, _ = changes.remove_triples(
            loaded, np.arange(len(loaded)) >= ENOUGH_TO_COMPILE, job.config.type_predicate
        )
        chosen.run(replace(job, graph=few))
    began = time.perf_counter()
    vectors = chosen.run(job)
    seconds = time.perf_counter() - began
    if not np.isfinite(vectors).all():
        raise DataError(f"{chosen.title} gave numbers that are not finite")
    write_directory(
        Path(output),
        {"vectors.npy": np.ascontiguousarray(vectors, np.float32)},
        {"seconds": seconds, "peak_bytes": system.peak_resident_bytes()},
    )


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except PykeError as error:
        print(error, file=sys.stderr)  # noqa: T201
        raise SystemExit(error.exit_code) from None
