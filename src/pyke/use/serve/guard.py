"""Answer only requests that come from the explorer's own page, or that have the token.

Any page on the web can make a browser send requests to this computer, and can give its own name the
address 127.0.0.1. So three things are checked before anything else: the name in `Host`, the origin
of the page that sends the request, and the token. The raw headers count, not what a library derives
from them.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl, urlencode

from pyke.use.serve import limits
from pyke.use.serve.answers import Refused, error_answer

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
MIN_TOKEN = 16  # characters
_HOST = re.compile(rb"([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?")
_METHODS = ("GET", "HEAD")
_POLICY = (
    b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    b"object-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
SECURITY_HEADERS = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


@dataclass(frozen=True)
class Access:
    """Who may ask: names and port of this server, and the token if one is needed."""

    port: int
    token: str | None = None
    names: frozenset[str] = LOOPBACK
    any_address: bool = False  # also any IP address: another name cannot lead to it

    @property
    def cookie(self) -> str:
        """The name of the cookie. Servers on other ports of this computer have another one."""
        return f"pyke-{self.port}"

    def knows_host(self, value: bytes) -> bool:
        """Whether the value of a Host header names this server, with its port."""
        found = _HOST.fullmatch(value)
        if found is None or int(found[2] or 80) != self.port:
            return False
        name = found[1].decode().lower()
        return name in self.names or (self.any_address and _is_address(name))

    def knows_origin(self, value: bytes) -> bool:
        """Whether an Origin header is that of this server's own pages."""
        return value.startswith(b"http://") and self.knows_host(value.removeprefix(b"http://"))

    def is_token(self, value: str) -> bool:
        """Compare with the token; the time does not depend on where they differ."""
        return hmac.compare_digest((self.token or "").encode(), value.encode("utf-8", "replace"))


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: App, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and pass it on."""
        if scope["type"] != "http":
            return  # there are no websockets and nothing to start
        secured = _with_security_headers(send)
        try:
            redirect = self._check(scope)
        except Refused as refused:
            await error_answer(refused)(scope, receive, secured)
            return
        if redirect is not None:
            start = {"type": "http.response.start", "status": 303, "headers": redirect}
            await secured(start)
            await secured({"type": "http.response.body", "body": b""})
            return
        await self._app(scope, receive, secured)

    def _check(self, scope: Scope) -> list[tuple[bytes, bytes]] | None:
        """Raise Refused, or return the headers of a redirection that sets the cookie, or None."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        self._check_host(headers)
        if scope["method"] not in _METHODS:
            raise Refused(405, "method_not_allowed", "Use GET or HEAD.", (("allow", "GET, HEAD"),))
        has_body = headers.get(b"content-length", [b"0"]) != [b"0"]
        if has_body or b"transfer-encoding" in headers:
            close = (("connection", "close"),)
            raise Refused(413, "body_not_allowed", "Requests have no body.", close)
        if len(scope["raw_path"]) + len(scope["query_string"]) > limits.MAX_TARGET:
            raise Refused(414, "too_long", "The address of the request is too long.")
        self._check_origin(scope, headers)
        return self._check_token(scope, headers) if self._access.token else None

    def _check_host(self, headers: dict[bytes, list[bytes]]) -> None:
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or not self._access.knows_host(hosts[0]):
            message = "This server has another name or port. Use the address that it printed."
            raise Refused(403, "unknown_host", message)

    def _check_origin(self, scope: Scope, headers: dict[bytes, list[bytes]]) -> None:
        """Other pages may link to the first page, and do nothing else."""
        origins, sites = headers.get(b"origin", []), headers.get(b"sec-fetch-site", [])
        opens_page = (
            scope["path"] == "/"
            and headers.get(b"sec-fetch-mode") == [b"navigate"]
            and headers.get(b"sec-fetch-dest") == [b"document"]
        )
        own_site = all(site in (b"same-origin", b"none") for site in sites) or opens_page
        if not (own_site and all(map(self._access.knows_origin, origins))):
            raise Refused(403, "foreign_origin", "Requests of other pages are refused.")

    def _check_token(
        self, scope: Scope, headers: dict[bytes, list[bytes]]
    ) -> list[tuple[bytes, bytes]] | None:
        """The token is in the address once, then in a cookie; programs send it in a header."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if len(given) == 1 and self._access.is_token(given[0]):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            target = scope["raw_path"] + (b"?" + rest.encode() if rest else b"")
            value = f"{self._access.cookie}={given[0]}; Path=/; HttpOnly; SameSite=Strict"
            # Two slashes would be the name of another server.
            location = b"/" + target.lstrip(b"/")
            return [(b"location", location), (b"set-cookie", value.encode())]
        bearers = [
            value.decode("latin-1").removeprefix("Bearer ")
            for value in headers.get(b"authorization", [])
        ]
        cookies = [self._cookie(value) for value in headers.get(b"cookie", [])]
        if not any(value and self._access.is_token(value) for value in (*bearers, *cookies)):
            message = "Open the address with the token that the server printed."
            raise Refused(401, "token_needed", message)
        return None

    def _cookie(self, header: bytes) -> str:
        try:
            cookies = SimpleCookie(header.decode("latin-1"))
        except CookieError:
            return ""
        found = cookies.get(self._access.cookie)
        return found.value if found else ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _with_security_headers(send: Send) -> Send:
    async def secured(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = [*message["headers"], *SECURITY_HEADERS]
            if not any(name == b"cache-control" for name, _ in headers):
                headers.append((b"cache-control", b"no-store"))
            message = {**message, "headers": headers}
        await send(message)

    return secured
