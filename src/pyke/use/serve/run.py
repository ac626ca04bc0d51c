"""Start the server: socket, address, token, and a protocol that does not wait for slow clients."""

from __future__ import annotations

import errno
import ipaddress
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from pyke.embedding.embedding import load
from pyke.errors import NoInput, UsageError
from pyke.use.serve import limits
from pyke.use.serve.application import application
from pyke.use.serve.explorer import Explorer
from pyke.use.serve.guard import LOOPBACK, MIN_TOKEN, Access
from pyke.use.serve.maps import warm_up

BACKLOG = 1024
STOP_SECONDS = 3  # for requests that are being answered when the server stops


@dataclass(frozen=True)
class Address:
    """Where the server listens, and the token that requests need."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None

    def check(self) -> None:
        """Raise UsageError unless the address is safe to open."""
        if self.token is not None and (
            len(self.token) < MIN_TOKEN or not self.token.isascii() or not self.token.isalnum()
        ):
            raise UsageError(
                f"`token` must be at least {MIN_TOKEN} letters and digits, for example the output "
                "of: openssl rand -hex 16"
            )
        if not self.is_loopback and self.token is None:
            raise UsageError(
                f"`host` is {self.host}: other computers could read this embedding. Set a token: "
                "PYKE_TOKEN=$(openssl rand -hex 16) pyke serve …"
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this computer can connect."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def access(self, port: int) -> Access:
        """Who may ask."""
        if self.is_loopback:
            names = LOOPBACK | {self._in_url}
            return Access(port, self.token, names)
        names = LOOPBACK | {self._in_url.lower(), socket.gethostname().lower()}
        return Access(port, self.token, names, any_address=True)

    def url(self, port: int) -> str:
        """The address to open, with the token."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self._in_url)  # noqa: S104
        token = f"?token={quote(self.token)}" if self.token else ""
        return f"http://{host}:{port}/{token}"

    @property
    def _in_url(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    def listen(self) -> socket.socket:
        """Open the socket."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        opened = socket.socket(family, socket.SOCK_STREAM)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind((self.host, self.port))
            opened.listen(BACKLOG)
        except OSError as error:
            opened.close()
            raise self._problem(error) from None
        return opened

    def _problem(self, error: OSError) -> Exception:
        if error.errno == errno.EADDRINUSE:
            return UsageError(
                f"port {self.port} is taken by another program. Choose another one with `port`, "
                "or 0 for any free one."
            )
        if error.errno == errno.EACCES:
            return UsageError(f"port {self.port} needs special rights. Choose one above 1023.")
        return UsageError(f"cannot listen on {self.host}: {error.strerror or error}")


class _Protocol(H11Protocol):
    """HTTP for clients that send their requests in time; others are disconnected."""

    _deadline: Any = None

    def connection_made(self, transport: Any) -> None:
        """Start the clock, or hang up if there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > limits.MAX_CONNECTIONS:
            transport.close()
            return
        self._deadline = self.loop.call_later(limits.HEADER_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        """A complete request stops the clock; a part of one starts it."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before or self.transport.is_closing():
            self._stop_clock()
        elif self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._deadline = self.loop.call_later(limits.HEADER_SECONDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def server(explorer: Explorer, access: Access) -> uvicorn.Server:
    """A server that is not running yet."""
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        application(explorer, access),
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=limits.KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        h11_max_incomplete_event_size=limits.MAX_HEADERS,
    )
    return uvicorn.Server(config)


def serve(
    directory: Path, address: Address, say: Callable[[str], None], other: Path | None = None
) -> None:
    """Serve an embedding directory until a signal stops it, beside another one if given."""
    address.check()
    compared = None if other is None else load(other)
    explorer = Explorer(load(directory), compared, directory.resolve())
    if not len(explorer.embedding):
        raise NoInput(f"{directory} has no terms")
    listening = address.listen()
    port = int(listening.getsockname()[1])
    running = server(explorer, address.access(port))
    warm_up(explorer)
    say(address.url(port))
    try:
        running.run(sockets=[listening])
    finally:
        explorer.stop()
        listening.close()
