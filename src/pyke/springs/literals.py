"""Literals as contexts: two terms with the same value, word or range of numbers are alike.

The events are the rows of `graph.features`: a term has a feature, once. They have their own PPMI,
so the other springs keep their values.
"""

from __future__ import annotations

import numpy as np

from pyke.graph.graph import Graph
from pyke.springs.events import event_similarities
from pyke.springs.similarity import Around, Similarities

# Of σ. Of .25, .5, 1 and 2, this scored best on held-out types of iswc (one seed); on wikipathways
# .5 and 1 were level.
WEIGHT = 0.5


def literal_similarities(graph: Graph, around: Around | None = None) -> Similarities:
    """Similarity of each term and each feature of its literals.

    σ(x, f) = WEIGHT · max(0, ln(N / (n(x) n(f)))): N rows, n(x) features of x, n(f) terms with f.
    """
    subjects, features = (np.ascontiguousarray(column) for column in graph.features.rows.T)
    return event_similarities(subjects, features, len(graph.terms), WEIGHT, around)
