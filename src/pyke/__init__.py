"""PYKE: knowledge graph embeddings by simulated physics.

>>> import pyke
>>> e = pyke.embed("examples/father.ttl", dimensions=50, seed=7)
>>> e.nearest("http://example.com/father#anna", k=1)[0].term
'http://example.com/father#michelle'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyke.version import __version__

if TYPE_CHECKING:
    from pyke.config import Config
    from pyke.embedding import Embedding, load
    from pyke.errors import PykeError
    from pyke.fetching import fetch
    from pyke.pipeline import embed
    from pyke.progress import Progress

__all__ = ["Config", "Embedding", "Progress", "PykeError", "__version__", "embed", "fetch", "load"]

# Imported when first used: `pyke --help` must not wait for Numba.
_HOMES = {
    "Config": "pyke.config",
    "Embedding": "pyke.embedding",
    "Progress": "pyke.progress",
    "PykeError": "pyke.errors",
    "embed": "pyke.pipeline",
    "fetch": "pyke.fetching",
    "load": "pyke.embedding",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'pyke' has no attribute {name!r}")
