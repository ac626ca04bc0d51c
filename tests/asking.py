"""Ask an application of the explorer without a network."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from pyke.use.serve.guard import App

LOCAL = {"host": "127.0.0.1:8000"}


class Answer(NamedTuple):
    """Status, headers and body of an answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Sends requests to an application, each with the headers of a program on this computer."""

    def __init__(self, app: App) -> None:
        self._app, self._runner = app, asyncio.Runner()

    def close(self) -> None:
        self._runner.close()

    def get(
        self,
        target: str,
        headers: Mapping[str, str] | list[tuple[str, str]] = LOCAL,
        method: str = "GET",
    ) -> Answer:
        """Ask once."""
        return self._runner.run(self._ask(target, headers, method))

    def together(self, targets: list[str]) -> list[Answer]:
        """Ask all at the same time."""

        async def ask_all() -> list[Answer]:
            return list(await asyncio.gather(*(self._ask(one, LOCAL, "GET") for one in targets)))

        return self._runner.run(ask_all())

    def finished(self, target: str) -> Answer:
        """Ask until the answer is computed."""
        limit = time.monotonic() + 60
        while (answer := self.get(target)).status == 202:
            assert time.monotonic() < limit, answer.body
            time.sleep(0.02)
        return answer

    async def _ask(
        self, target: str, headers: Mapping[str, str] | list[tuple[str, str]], method: str
    ) -> Answer:
        path, _, query = target.partition("?")
        pairs = list(headers.items()) if isinstance(headers, Mapping) else headers
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "root_path": "", "scheme": "http",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in pairs],
        }  # fmt: skip
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(dict(message))

        await self._app(scope, receive, send)
        head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], head, b"".join(one.get("body", b"") for one in sent[1:]))
