"""What predictions need, to tell people before they start them."""

from __future__ import annotations

from typing import Any

from pyke.pipeline.budget import PROGRAM_BYTES
from pyke.use.facts.space import ENTITIES_AT_ONCE
from pyke.use.serve.explorer import Explorer
from pyke.use.types.votes import VOTERS

_AGAIN = ("springs", "repellers", "simulation")  # stages of an embedding that predictions repeat


def costs(explorer: Explorer) -> dict[str, Any]:
    """Bytes of memory of each kind of prediction, about, and the seconds of the embedding.

    The bytes follow the arrays that are held at the same time. `bench/serve.py` compares them with
    what was measured.
    """
    e = explorer.embedding
    terms, manifest = len(e), e.manifest
    particles = max(terms, manifest.get("particles") or 0)
    texts = len(e.terms.blob) + len(e.labels.blob)
    vectors = 4 * e.dimensions
    graph = PROGRAM_BYTES + 14 * len(explorer.triples) + 8 * terms + texts
    graph += 28 * (manifest.get("springs") or 0) + vectors * terms  # springs, mapped vectors
    stages = {one.get("name"): one.get("seconds") for one in manifest.get("stages", [])}
    seconds = [float(stages.get(name) or 0) for name in _AGAIN]
    return {
        # The vectors without types, those of the voters, and those of a fold with their contexts.
        "types": graph + vectors * (5 * terms + 3 * (particles - terms)),
        # Two embeddings with their contexts, a search among one of them, and the votes found.
        "facts": graph
        + vectors * (2 * particles + 3 * terms)
        + 60 * VOTERS * min(terms, ENTITIES_AT_ONCE),
        "seconds": sum(seconds) if all(seconds) else None,
    }
