"""The command line: parses, calls, shows. It has no logic of its own."""

from __future__ import annotations

import signal
import sys
from typing import Annotated, NoReturn

import typer

from pyke import __version__
from pyke.cli.app import app
from pyke.cli.messages import as_options
from pyke.cli.streams import echo, standard_streams
from pyke.core.text import printable
from pyke.errors import Interrupted, OverBudget, PykeError

__all__ = ["app", "main"]


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True)
    ] = False,
) -> None:
    if version:
        echo(__version__)
        raise typer.Exit


def _fail(error: PykeError) -> NoReturn:
    is_pipe = isinstance(error, Interrupted) and error.signal_number == signal.SIGPIPE
    if not is_pipe:  # programs that write to a pipe end without a message
        message = printable(" ".join(as_options(str(error)).split("\n")))
        print(f"pyke: {message}", file=sys.stderr, flush=True)  # noqa: T201
    raise SystemExit(error.exit_code)


def main() -> None:
    """Entry point: every error of ours becomes one line and an exit code."""
    with standard_streams():
        _run()


def _run() -> None:
    try:
        app()
    except PykeError as error:
        _fail(error)
    except MemoryError:
        _fail(
            OverBudget(
                "out of memory. `pyke plan` shows how much a graph needs; "
                "lower `dimensions` or `k` need less."
            )
        )
    except KeyboardInterrupt:
        _fail(Interrupted(signal.SIGINT))
    except Exception:
        import traceback  # `pyke --help` starts faster without it

        traceback.print_exc()
        _fail(PykeError("this is a bug. Please report it with the lines above."))
