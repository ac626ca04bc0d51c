"""`pyke serve`: the web explorer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyke.cli import terminal
from pyke.cli.options import Directory
from pyke.errors import MissingLibrary

_Port = Annotated[int, typer.Option(help="Port; 0 for any free one.", min=0, max=65535)]
_Host = Annotated[
    str,
    typer.Option(help="Address to listen on. Others than this computer's own need a token."),
]
_Token = Annotated[
    str | None,
    typer.Option(
        envvar="PYKE_TOKEN",
        help="Requests need this token. Other users can see options: set PYKE_TOKEN instead.",
        show_default=False,
        show_envvar=False,
    ),
]
_Compare = Annotated[
    Path | None,
    typer.Option(
        metavar="DIRECTORY",
        help="Another embedding of the same graph, to show beside it.",
        show_default=False,
    ),
]


def serve(
    directory: Directory,
    port: _Port = 8000,
    host: _Host = "127.0.0.1",
    token: _Token = None,
    compare: _Compare = None,
) -> None:
    """Open a web page to explore an embedding: map, search, neighbours, predictions."""
    try:
        from pyke.use.serve.run import Address
        from pyke.use.serve.run import serve as run
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] in ("starlette", "uvicorn", "anyio", "h11"):
            raise MissingLibrary("starlette", "`pyke serve`", "serve") from None
        raise
    address = Address(host, port, token)

    def announce(url: str) -> None:
        if not address.is_loopback:
            terminal.say("Other computers can connect. Anyone with the token can read the graph.")
        terminal.say(f"Open {url} in a browser. Stop with Ctrl+C.")

    run(directory, address, announce, compare)
