"""The methods that come with this package, each in a few lines around its own library.

All methods get the same triples and the same number of dimensions. Those that are trained are in
`trained.py`, those without vectors in `direct.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyke.config import Config
from pyke.core.arrays import Floats
from pyke.evaluate.rivals.direct import PREDICTORS
from pyke.evaluate.rivals.registry import METHODS, Job, Method
from pyke.evaluate.rivals.trained import TRAINED, for_all_terms
from pyke.pipeline import embed_graph
from pyke.springs.ppmi import ppmi_similarities
from pyke.springs.similarity import Similarities
from pyke.springs.strongest import symmetric_matrix

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
    """Truncated SVD of the PPMI matrix."""
    return factorise(ppmi_similarities(job.graph), job.config)


def factorise(pairs: Similarities, config: Config) -> Floats:
    """Left singular vectors of similarities, times the roots of the singular values."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    rows = symmetric_matrix(pairs)
    matrix = csr_array((rows.values, rows.columns, rows.offsets), shape=(rows.rows, rows.rows))
    rank = min(config.dimensions, rows.rows - 1)
    left, weights, _ = svds(matrix, k=rank, rng=np.random.default_rng(config.seed))
    found = np.zeros((rows.rows, config.dimensions), np.float32)
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
    return for_all_terms(job, np.array([int(name) for name in matrix.entity_ids]), found)


METHODS |= {
    "pyke": Method("PYKE", pyke),
    "paper": Method("PYKE, the paper's update, rescaled", paper),
    "ppmi": Method("PYKE, the paper's springs", ppmi_springs),
    "svd": Method("SVD of PPMI", svd, "scipy"),
    "cleora": Method("Cleora", cleora, "pycleora"),
    **TRAINED,
    "random": Method("random vectors", random_vectors),
    **PREDICTORS,
}
