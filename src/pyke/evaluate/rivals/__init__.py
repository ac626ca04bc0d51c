"""Other methods, for comparison with PYKE.

A `Method` computes one vector per term. A `Predictor` predicts types without vectors. Each runs in
its own process, so time and memory of one do not affect the next. The libraries come with
`pip install 'pyke-embeddings[baselines]'`. `register` adds a method or a predictor.
"""

from pyke.evaluate.rivals.builtin import SETTINGS
from pyke.evaluate.rivals.registry import (
    METHODS,
    Job,
    Method,
    Predictor,
    Rival,
    method,
    names,
    register,
    title,
)

__all__ = [
    "METHODS",
    "SETTINGS",
    "Job",
    "Method",
    "Predictor",
    "Rival",
    "method",
    "names",
    "register",
    "title",
]
