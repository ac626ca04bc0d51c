"""The methods that come with this package, each in a few lines around its own library.

All methods get the same triples and the same number of dimensions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import Floats
from pyke.evaluate.rivals.direct import PREDICTORS
from pyke.evaluate.rivals.registry import METHODS, Job, Method
from pyke.pipeline import embed_graph
from pyke.springs.ppmi import ppmi_similarities
from pyke.springs.strongest import symmetric_matrix

EPOCHS = 50  # of models trained by gradient descent
BATCH, LEARNING_RATE = 4096, 0.01
# The initial values of TransE and DistMult. With their wide default, ComplEx, CP and RESCAL score
# about as low as random vectors after 50 epochs.
SMALL: dict[str, Any] = {"entity_initializer": "xavier_uniform"}
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

# --------------------------------------------------------------------------------------------------
# PYKE, matrix factorisation, random vectors
# --------------------------------------------------------------------------------------------------


def pyke(job: Job) -> Floats:
    """PYKE with the settings of the comparison."""
    return embed_graph(job.graph, job.config).vectors


def paper(job: Job) -> Floats:
    """The paper's pseudocode, rescaled as in its published code. Without rescaling it diverges."""
    return _embed_with(job, preset="paper")


def ppmi_springs(job: Job) -> Floats:
    """The paper's springs, with the update rule of this package."""
    return _embed_with(job, similarity="ppmi")


def _embed_with(job: Job, preset: str = "default", **changes: Any) -> Floats:
    """Embed with a preset, and the dimensions, seed and threads of the comparison."""
    config = Config.preset(
        preset,
        dimensions=job.config.dimensions,
        seed=job.config.seed,
        threads=job.config.threads,
        **changes,
    )
    return embed_graph(job.graph, config).vectors


def svd(job: Job) -> Floats:
    """Truncated SVD of the PPMI matrix: left vectors times the roots of the singular values."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    rows = symmetric_matrix(ppmi_similarities(job.graph))
    matrix = csr_array((rows.values, rows.columns, rows.offsets), shape=(rows.rows, rows.rows))
    rank = min(job.config.dimensions, rows.rows - 1)
    left, weights, _ = svds(matrix, k=rank, rng=np.random.default_rng(job.config.seed))
    found = np.zeros((rows.rows, job.config.dimensions), np.float32)
    found[:, :rank] = left * np.sqrt(weights)
    return found


def random_vectors(job: Job) -> Floats:
    """Random vectors: the lower bound."""
    return (
        np.random.default_rng(job.config.seed)
        .normal(size=(len(job.graph.terms), job.config.dimensions))
        .astype(np.float32)
    )


# --------------------------------------------------------------------------------------------------
# Cleora
# --------------------------------------------------------------------------------------------------


def cleora(job: Job) -> Floats:
    """Cleora with a hyperedge for each triple.

    Four iterations without whitening score better here than its default: forty with whitening.
    """
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
    return _for_all_terms(job, np.array([int(name) for name in matrix.entity_ids]), found)


# --------------------------------------------------------------------------------------------------
# Word2Vec
# --------------------------------------------------------------------------------------------------


def word2vec(job: Job) -> Floats:
    """Word2Vec with triples as sentences of three words."""
    return _skip_grams(job, [[str(word) for word in triple] for triple in job.triples.tolist()])


def rdf2vec(job: Job) -> Floats:
    """Word2Vec with random walks from every entity as sentences: entity, predicate, entity, …"""
    return _skip_grams(job, list(random_walks(job)))


def random_walks(job: Job) -> Iterator[list[str]]:
    """Walks from all entities. A walk ends early at an entity without outgoing triples."""
    triples, terms = job.triples, len(job.graph.terms)
    triples = triples[np.argsort(triples[:, 0], kind="stable")]
    first = np.searchsorted(triples[:, 0], np.arange(terms + 1))
    entities = np.unique(triples[:, [0, 2]])
    generator = np.random.default_rng(job.config.seed)
    for _ in range(WALKS):
        walks = np.full((len(entities), 2 * DEPTH + 1), -1, np.int64)
        walks[:, 0] = entities
        for step in range(DEPTH):
            here = walks[:, 2 * step]
            degrees = np.where(here >= 0, first[here + 1] - first[here], 0)
            active = np.flatnonzero(degrees)
            taken = triples[first[here[active]] + generator.integers(0, degrees[active])]
            walks[active, 2 * step + 1], walks[active, 2 * step + 2] = taken[:, 1], taken[:, 2]
        yield from ([str(word) for word in walk if word >= 0] for walk in walks.tolist())


def _skip_grams(job: Job, sentences: list[list[str]]) -> Floats:
    """Train a skip-gram model of gensim."""
    from gensim.models import Word2Vec

    model = Word2Vec(
        sentences,
        vector_size=job.config.dimensions,
        sg=1,
        window=5,
        min_count=1,
        sample=0,  # keep frequent words: predicates and classes are the most informative ones
        epochs=SENTENCE_EPOCHS,
        workers=job.config.threads,
        seed=job.seed,
    )
    return _for_all_terms(
        job, np.array([int(word) for word in model.wv.index_to_key]), model.wv.vectors
    )


# --------------------------------------------------------------------------------------------------
# Link prediction models
# --------------------------------------------------------------------------------------------------


def _link_model(name: str, parts: int = 1, **more: Any) -> Callable[[Job], Floats]:
    """A model of PyKEEN with its default loss, regularizer and negative sampling.

    One dimension of the model has `parts` real numbers.
    """

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
        return _for_all_terms(
            job,
            entities,
            np.column_stack(
                [values.detach().reshape(len(entities), -1).numpy() for values in found]
            ),
        )

    train.__doc__ = f"Train {name} of PyKEEN."
    return train


def _for_all_terms(job: Job, terms: NDArray[np.integer[Any]], vectors: NDArray[Any]) -> Floats:
    """Vectors of all terms: those of `terms`, and zeros for the others."""
    found = np.zeros((len(job.graph.terms), job.config.dimensions), np.float32)
    found[terms, : vectors.shape[1]] = vectors
    return found


METHODS |= {
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
    "random": Method("random vectors", random_vectors),
    **PREDICTORS,
}
