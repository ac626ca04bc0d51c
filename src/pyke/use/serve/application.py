"""The application: routes to functions, in threads, with limits, and errors without details."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import urlencode

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Mounted

from pyke.use.serve import limits, openapi, pages
from pyke.use.serve.answers import Refused, error_answer, json_answer
from pyke.use.serve.child import Impossible
from pyke.use.serve.explorer import Explorer
from pyke.use.serve.guard import Access, App, Guard, Receive, Scope, Send
from pyke.use.serve.jobs import Computing
from pyke.use.serve.parameters import parse
from pyke.use.serve.routes import ROUTES, Route

_LOG = logging.getLogger("pyke.use.serve")
Endpoint = Callable[[Request], Awaitable[Response]]


class _Load:
    """How many requests are being answered. More than a limit are refused, not queued for ever."""

    def __init__(self) -> None:
        self.waiting = 0
        self._threads: anyio.CapacityLimiter | None = None

    @property
    def threads(self) -> anyio.CapacityLimiter:
        """The limit of threads; it belongs to the running event loop."""
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(limits.THREADS)
        return self._threads


def application(explorer: Explorer, access: Access) -> App:
    """The guarded application."""
    load = _Load()
    routes = [Mounted(route.path, _endpoint(route, explorer, load)) for route in ROUTES]
    described = openapi.document()
    routes.append(Mounted("/api/openapi.json", _constant(lambda _: json_answer(described))))
    for address, file in pages.files().items():
        routes.append(Mounted(address, _constant(file.answer)))
    app = Starlette(
        routes=routes,
        exception_handlers={
            Refused: _refused,
            Computing: _computing,
            Impossible: _impossible,
            HTTPException: _not_found,
            Exception: _bug,
        },
    )
    app.router.redirect_slashes = False
    return Guard(_quiet(app), access)


def _constant(answer: Callable[[Request], Response]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return answer(request)

    return endpoint


def _endpoint(route: Route, explorer: Explorer, load: _Load) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        query = request.scope["query_string"]
        in_path = urlencode(request.path_params).encode()
        both = b"&".join(filter(None, (in_path, query)))
        values = parse(route.parameters, both)
        if load.waiting >= limits.MAX_WAITING:
            raise Refused(429, "too_many_requests", "Try again later.", (("retry-after", "1"),))
        load.waiting += 1
        try:
            with anyio.fail_after(limits.SECONDS):
                return await anyio.to_thread.run_sync(
                    lambda: route.answer(explorer, **values),
                    limiter=load.threads,
                    abandon_on_cancel=True,
                )
        except TimeoutError:
            message = "The server is busy. Try again later."
            raise Refused(429, "too_slow", message, (("retry-after", "1"),)) from None
        finally:
            load.waiting -= 1

    return endpoint


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return error_answer(error)


async def _computing(_: Request, error: Exception) -> Response:
    assert isinstance(error, Computing)
    return json_answer(error.state, 202, {"retry-after": "1"})


async def _impossible(_: Request, error: Exception) -> Response:
    return error_answer(Refused(409, "impossible", str(error)))


async def _not_found(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    if status == 405:
        return error_answer(Refused(405, "method_not_allowed", "Use GET or HEAD."))
    return error_answer(Refused(404, "not_found", "There is nothing at this address."))


async def _bug(_: Request, error: Exception) -> Response:
    """Answer with a fixed text and a number if there is an error in PYKE; log the rest."""
    number = uuid.uuid4().hex[:12]
    _LOG.error("request %s failed", number, exc_info=error)
    message = f"An error in PYKE. The server has logged it as {number}."
    return error_answer(Refused(500, "bug", message))


def _quiet(app: App) -> App:
    """Starlette raises an error again after it was answered; it has been logged."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(Exception):
            await app(scope, receive, send)

    return guarded
