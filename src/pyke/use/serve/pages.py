"""The files of the page: a fixed table. No path of a request reaches the file system."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Addresses of pages; the other files are below /static/.
PAGES = {"index.html": "/", "docs.html": "/api"}


@dataclass(frozen=True)
class File:
    """A file of the page, as it is sent."""

    content: bytes
    kind: str
    tag: str  # a browser asks with it whether the file has changed

    def answer(self, request: Request) -> Response:
        """The file, or that it has not changed."""
        headers = {"etag": self.tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, headers=headers, media_type=self.kind)


def files() -> Mapping[str, File]:
    """All files by address."""
    own = resources.files("pyke.use.serve") / "page"
    shared = resources.files("pyke.use.maps") / "page" / "canvas.js"
    found = {}
    for file in (*own.iterdir(), shared):
        extension = "." + file.name.rsplit(".", 1)[-1]
        if extension in KINDS:
            address = PAGES.get(file.name, f"/static/{file.name}")
            found[address] = _file(file, KINDS[extension])
    return found


def _file(file: Traversable, kind: str) -> File:
    content = file.read_bytes()
    return File(content, kind, f'"{hashlib.sha256(content).hexdigest()[:16]}"')
