"""The table of methods, and how other packages add to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import Floats, Ids, Matrix
from pyke.errors import UsageError
from pyke.graph.graph import LITERAL, Graph

ENTRY_POINTS = "pyke.rivals"
SEED_LIMIT = 2**32  # other libraries take seeds below this one


def extra_of(library: str) -> str:
    """The extra of this package that installs a library of a method."""
    return "evaluate" if library == "scipy" else "baselines"


@dataclass(frozen=True)
class Job:
    """The input of a method: a graph, and the settings of the comparison.

    Use `config.dimensions`, `config.threads` and `seed`, which all methods share. `settings` is
    what the method chose for itself (`Method.choose`), and `time_limit` the seconds that it has.
    """

    graph: Graph
    config: Config
    settings: Mapping[str, Any] = field(default_factory=dict)
    time_limit: float = math.inf

    @property
    def seed(self) -> int:
        """The seed, reduced to 32 bits."""
        return self.config.seed % SEED_LIMIT

    @property
    def triples(self) -> NDArray[np.int64]:
        """(n, 3): ids of subject, predicate and object, without triples that have literals."""
        return self.graph.triples(self.graph.objects != LITERAL).astype(np.int64)


@dataclass(frozen=True)
class Method:
    """A method that computes vectors: a row of a comparison.

    Parameters
    ----------
    title : the name in tables.
    run : computes the vectors: a float32 array with one row per term of `job.graph.terms` and
        `job.config.dimensions` columns. Terms that the method does not know get zeros.
    library : a library that `run` needs. The comparison checks that it is installed before it
        starts, and loads it before the clock starts.
    module : the module that registers the method; `register` sets it.
    choose : chooses settings, such as a learning rate: a dictionary for JSON. `run` gets it as
        `job.settings`. It runs once, on the graph without the types that the comparison withholds;
        to compare settings, it withholds some of the other types itself. It has to end within
        `job.time_limit` seconds.
    """

    title: str
    run: Callable[[Job], Floats]
    library: str | None = None
    module: str | None = None
    choose: Callable[[Job], dict[str, Any]] | None = None


@dataclass(frozen=True)
class Predictor:
    """A method that predicts types without vectors: a row of a comparison.

    Parameters
    ----------
    title : the name in tables.
    run : scores classes for some subjects. It gets a job and ids of terms. It returns a sparse
        matrix with one row per subject. Its columns are ids of classes, its values from 0 to 1.
        The known types are in `job.graph.types`. In the paper's protocol, subjects with types are
        asked; the own types of a subject must not affect its scores.
    library, module : as for a `Method`.
    in_graph : False if the method cannot ignore the own types of a subject. It is then compared
        on withheld types only.
    """

    title: str
    run: Callable[[Job, Ids], Matrix]
    library: str | None = None
    module: str | None = None
    in_graph: bool = True


Rival = Method | Predictor

METHODS: dict[str, Rival] = {}


def register(name: str, method: Rival) -> None:
    """Add a method to `pyke.evaluate.compare`.

    A comparison runs each method in a child process. The child imports the module that defines
    `method.run`, so this module must call `register` when it is imported. A function that is
    defined in a script or a notebook cannot be registered: put it into a module.

    A package can add its methods to `pyke compare` without this call. It names a `Method` or a
    `Predictor` as an entry point of the group `pyke.rivals`, in its pyproject.toml::

        [project.entry-points."pyke.rivals"]
        degree = "my_package.rivals:DEGREE"

    Parameters
    ----------
    name : the name in `methods` of a comparison.
    method : the method.

    Examples
    --------
    A module `my_rivals.py`:

    >>> import numpy as np
    >>> from pyke.evaluate.rivals import Job, Method, register
    >>> def degree(job: Job):
    ...     found = np.zeros((len(job.graph.terms), job.config.dimensions), np.float32)
    ...     found[:, 0] = np.bincount(job.triples[:, 0], minlength=len(found))
    ...     return found
    >>> register("degree", Method("Out-degree", degree))  # doctest: +SKIP

    A program that uses it:

    >>> from pyke.evaluate.compare import Setup, compare
    >>> import my_rivals  # doctest: +SKIP
    >>> compare("graph.nt", setup=Setup(["pyke", "degree"]))  # doctest: +SKIP
    """
    if name in names():
        raise UsageError(f"there is already a method {name!r}")
    module = method.run.__module__
    if module == "__main__":
        raise UsageError(
            f"the method {name!r} is defined in a script or notebook, which a child process cannot "
            "import; define it in a module"
        )
    METHODS[name] = replace(method, module=module)


def _installed() -> dict[str, EntryPoint]:
    """Methods of other packages that are installed."""
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def names() -> list[str]:
    """The names of all methods: built-in, registered and installed."""
    return list(dict.fromkeys([*METHODS, *_installed()]))


def method(name: str) -> Rival:
    """The method with this name."""
    if name in METHODS:
        return METHODS[name]
    entry = _installed().get(name)
    if entry is None:
        raise UsageError(f"there is no method {name!r}; there are: {', '.join(names())}")
    try:
        found = entry.load()
    except Exception as error:
        raise UsageError(f"cannot load the method {name!r} ({entry.value}): {error}") from error
    if not isinstance(found, Rival):
        raise UsageError(f"{entry.value} is not a pyke.evaluate.rivals.Method or Predictor")
    return found


def title(name: str) -> str:
    """The title of a method in tables; the name itself if the method is not available."""
    return method(name).title if name in names() else name
