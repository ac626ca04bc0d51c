"""Springs: which particles attract each other and how strongly, and which repel each other.

A similarity is one function in a file of this folder; `register` gives it a name.
"""

from __future__ import annotations

from pyke.springs.contexts import context_similarities
from pyke.springs.ppmi import ppmi_similarities
from pyke.springs.similarity import register

register("context", context_similarities)
register("ppmi", ppmi_similarities)
