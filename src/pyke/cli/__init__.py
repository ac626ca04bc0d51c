"""The command line: parses, calls, shows. No logic of its own."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import Annotated, NoReturn

import typer

from pyke import __version__
from pyke.cli import (
    cluster,
    compare,
    embed,
    evaluate,
    export,
    fetch,
    info,
    lubm,
    nearest,
    plan,
    plot,
    tune,
    types,
    update,
    verify,
)
from pyke.cli.options import app
from pyke.errors import Interrupted, PykeError

__all__ = [
    "app",
    "cluster",
    "compare",
    "embed",
    "evaluate",
    "export",
    "fetch",
    "info",
    "lubm",
    "main",
    "nearest",
    "plan",
    "plot",
    "tune",
    "types",
    "update",
    "verify",
]


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True)
    ] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def _fail(error: PykeError) -> NoReturn:
    print(f"pyke: {''.join(c if c.isprintable() else ' ' for c in str(error))}", file=sys.stderr)  # noqa: T201
    raise SystemExit(error.exit_code)


def main() -> None:
    """Entry point: every error of ours is one line and an exit code."""
    try:
        app()
    except PykeError as error:
        _fail(error)
    except MemoryError:
        _fail(_out_of_memory())
    except BrokenPipeError:
        os._exit(141)
    except KeyboardInterrupt:
        _fail(Interrupted(signal.SIGINT))
    except Exception:
        traceback.print_exc()
        _fail(PykeError("this is a bug: please report it with the lines above"))


def _out_of_memory() -> PykeError:
    from pyke.errors import OverBudget

    return OverBudget(
        "out of memory. `pyke plan` tells how much a graph needs; fewer --dimensions and --k need less."
    )
