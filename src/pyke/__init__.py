"""PYKE: knowledge graph embeddings by simulated physics.

>>> import pyke
>>> e = pyke.embed("examples/father.ttl", dimensions=50, seed=7)
>>> e.nearest("http://example.com/father#anna", k=1)[0].term
'http://example.com/father#michelle'
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyke.config import Config
    from pyke.core.progress import Progress
    from pyke.embedding.embedding import Embedding, load
    from pyke.errors import PykeError
    from pyke.pipeline.embed import embed
    from pyke.read.sparql.fetch import fetch

__version__ = "0.1.0"
__all__ = ["Config", "Embedding", "Progress", "PykeError", "__version__", "embed", "fetch", "load"]

# Imported on first use: `pyke --help` and `import pyke` do not load NumPy or Numba.
_HOMES = {
    "Config": "pyke.config",
    "Embedding": "pyke.embedding.embedding",
    "Progress": "pyke.core.progress",
    "PykeError": "pyke.errors",
    "embed": "pyke.pipeline.embed",
    "fetch": "pyke.read.sparql.fetch",
    "load": "pyke.embedding.embedding",
}

# Short names of modules for users: `from pyke.sklearn import PykeEmbedder`.
_SHORT_NAMES = {
    "pyke.distributed": "pyke.pipeline.distributed",
    "pyke.export": "pyke.use.export",
    "pyke.lubm": "pyke.evaluate.lubm",
    "pyke.maps": "pyke.use.maps",
    "pyke.progress": "pyke.core.progress",
    "pyke.sklearn": "pyke.use.sklearn",
    "pyke.store": "pyke.embedding.store",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'pyke' has no attribute {name!r}")


class _ShortNames:
    """Finder and loader that imports a module under its short name: both give the same module.

    It has the methods of importlib.abc.MetaPathFinder and Loader; importing these would double
    the time of `import pyke`.
    """

    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        loader: Any = self
        return ModuleSpec(fullname, loader) if fullname in _SHORT_NAMES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(_SHORT_NAMES[spec.name])
        self._spec = module.__spec__  # importlib is about to replace it
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


sys.meta_path.append(_ShortNames())
