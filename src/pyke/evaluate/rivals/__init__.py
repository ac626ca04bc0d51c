"""Other methods, for comparison with PYKE.

A `Method` computes one vector per term. A `Predictor` predicts types without vectors. Each runs in
its own process, so time and memory of one do not affect the next. The libraries come with
`pip install 'pyke-embeddings[baselines]'`. `register` adds a method or a predictor.
"""

from pyke.evaluate.rivals import builtin  # fills METHODS
from pyke.evaluate.rivals.registry import (
    METHODS,
    Job,
    Method,
    Predictor,
    Rival,
    extra_of,
    method,
    names,
    register,
    title,
)
from pyke.evaluate.rivals.trained import SETTINGS

__all__ = [
    "METHODS",
    "SETTINGS",
    "Job",
    "Method",
    "Predictor",
    "Rival",
    "builtin",
    "extra_of",
    "method",
    "names",
    "register",
    "title",
]
