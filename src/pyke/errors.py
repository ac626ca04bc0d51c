"""All errors of the package, as one tree. Each has an exit code for the command line.

PykeError                  70   an error in PYKE itself
├── UsageError              2   an invalid parameter
├── MissingLibrary          2   an optional library is not installed
├── DataError              65   an invalid input
│   ├── SyntaxProblem      65   a document violates the grammar of its syntax, with file:line
│   ├── EmptyGraph         65   no triples to embed
│   ├── NothingToScore     65   no types to predict, or too few
│   ├── DivergedError      65   positions became infinite or NaN
│   └── DamagedStore       65   an embedding directory does not match its manifest
├── NoInput                66   an input is missing or cannot be opened
├── UnknownTerm            66   a term has no vector
├── ClusterError           69   a scheduler or its workers cannot be used
├── OutputExists           73   an output exists, or another run is writing it
├── WriteError             74   the disk is full or refuses to write
├── OverBudget             75   the run needs more memory than allowed
└── Interrupted       130/143   a signal stopped the run

Messages name parameters in backticks, for example `k` or `on_error="skip"`. The command line
shows them as options: --k, --on-error skip.
"""

from __future__ import annotations


class PykeError(Exception):
    """Base class: the message says what happened, where, and what to do."""

    exit_code = 70


class UsageError(PykeError, ValueError):
    """A parameter has an invalid value."""

    exit_code = 2


class MissingLibrary(PykeError, ImportError):
    """An optional library is not installed."""

    exit_code = 2

    def __init__(self, library: str, purpose: str, extra: str) -> None:
        # Left to itself, pip installs gigabytes of CUDA with PyTorch.
        command = "make baselines" if extra == "baselines" else f"pip install '.[{extra}]'"
        super().__init__(
            f"{purpose} needs {library}, which is not installed. "
            f"Run {command} in a clone of the repository."
        )


class DataError(PykeError, ValueError):
    """An input is invalid."""

    exit_code = 65


class SyntaxProblem(DataError):
    """A document violates the grammar of its syntax."""


class EmptyGraph(DataError):
    """The graph has no triples to embed."""


class NothingToScore(DataError):
    """The graph has no types to predict, or too few."""


class DivergedError(DataError):
    """Positions became infinite or NaN."""


class DamagedStore(DataError):
    """An embedding directory does not match its manifest."""


class NoInput(PykeError, FileNotFoundError):
    """An input is missing or cannot be opened."""

    exit_code = 66


class UnknownTerm(PykeError, KeyError):
    """A term has no vector in this embedding."""

    exit_code = 66

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0])


class ClusterError(PykeError, RuntimeError):
    """A scheduler cannot be reached, or its workers cannot do the work."""

    exit_code = 69


class OutputExists(PykeError, FileExistsError):
    """The output exists, or another run is writing it."""

    exit_code = 73


class WriteError(PykeError, OSError):
    """The disk is full or refuses to write."""

    exit_code = 74


class OverBudget(PykeError, MemoryError):
    """The run needs more memory than allowed."""

    exit_code = 75


class Interrupted(PykeError):
    """A signal stopped the run; finished work is kept."""

    def __init__(self, signal_number: int, advice: str = "") -> None:
        super().__init__(f"stopped by signal {signal_number}. {advice}".rstrip())
        self.signal_number = signal_number
        self.exit_code = 128 + signal_number
