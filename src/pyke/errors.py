"""Everything that can go wrong, as one tree. Each leaf has the exit code of the command line.

PykeError
├── UsageError          2   a parameter that cannot be
├── MissingLibrary      2   an optional library that is not installed
├── DataError          65   input that is not what it claims to be
│   ├── SyntaxProblem  65   a document that breaks the grammar of its syntax, with file:line
│   ├── EmptyGraph     65   nothing to embed
│   ├── NothingToScore 65   no types to predict, or too few
│   ├── DivergedError  65   positions became infinite or NaN
│   └── DamagedStore   65   an embedding directory that does not match its manifest
├── NoInput            66   an input that does not exist or cannot be opened
├── UnknownTerm        66   a term without a vector
├── OutputExists       73   an output that would be overwritten
├── WriteError         74   a disk that is full or refuses to write
├── OverBudget         75   more memory needed than allowed
└── Interrupted   130/143   stopped by a signal
"""

from __future__ import annotations


class PykeError(Exception):
    """Base of all errors that leave the package: says what, where, and what to do."""

    exit_code = 70


class UsageError(PykeError, ValueError):
    """A parameter has a value that cannot be."""

    exit_code = 2


class MissingLibrary(PykeError, ImportError):
    """An optional library is not installed."""

    exit_code = 2

    def __init__(self, library: str, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs {library}, which is not installed: pip install 'pyke-embeddings[{extra}]'"
        )


class DataError(PykeError, ValueError):
    """The input is not what it claims to be."""

    exit_code = 65


class SyntaxProblem(DataError):
    """A document breaks the grammar of its syntax."""


class EmptyGraph(DataError):
    """No triple is left to be counted."""


class NothingToScore(DataError):
    """There are no types to predict, or too few of them."""


class DivergedError(DataError):
    """The simulation left the finite numbers."""


class DamagedStore(DataError):
    """An embedding directory does not match its manifest."""


class NoInput(PykeError, FileNotFoundError):
    """An input does not exist or cannot be opened."""

    exit_code = 66


class UnknownTerm(PykeError, KeyError):
    """A term has no vector in this embedding."""

    exit_code = 66

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0])


class OutputExists(PykeError, FileExistsError):
    """The output is there already, or another run is writing it."""

    exit_code = 73


class WriteError(PykeError, OSError):
    """The disk is full or refuses to write."""

    exit_code = 74


class OverBudget(PykeError, MemoryError):
    """The run needs more memory than it may use."""

    exit_code = 75


class Interrupted(PykeError):
    """A signal stopped the run; what was finished is kept."""

    def __init__(self, signal_number: int, advice: str = "") -> None:
        super().__init__(f"stopped by signal {signal_number}. {advice}".rstrip())
        self.signal_number = signal_number
        self.exit_code = 128 + signal_number
