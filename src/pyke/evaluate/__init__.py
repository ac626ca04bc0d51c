"""Measure how good vectors are: type prediction and cluster purity.

`evaluate` and `evaluate_graph` follow the paper's protocol. `evaluate_held_out` withholds types
before the embedding. The modules `compare` and `tune` build on these measures, and `lubm`
generates benchmark graphs.
"""

from pyke.evaluate.measures import (
    Evaluation,
    Measures,
    evaluate,
    evaluate_graph,
    evaluate_held_out,
)

__all__ = ["Evaluation", "Measures", "evaluate", "evaluate_graph", "evaluate_held_out"]
