"""Check the URLs of endpoints, and show them without passwords."""

from __future__ import annotations

import base64
import os
from urllib.parse import SplitResult, unquote, urlsplit

from pyke.errors import UsageError

USER, PASSWORD = "PYKE_ENDPOINT_USER", "PYKE_ENDPOINT_PASSWORD"


def checked_url(url: str) -> SplitResult:
    """The parts of an http or https URL."""
    try:
        parts = urlsplit(url)
        valid = (
            parts.scheme in ("http", "https")
            and parts.hostname
            and parts.port != 0
            and url.isprintable()
            and " " not in url
        )
    except ValueError:
        valid = None
    if not valid:
        raise UsageError(f"invalid endpoint {shown(url)}: use an http:// or https:// address")
    return parts


def shown(url: str) -> str:
    """A URL without its query and user, which may be secret."""
    return repr(url.split("?")[0].rpartition("@")[2])


def without_user(parts: SplitResult) -> str:
    """Host and port of a URL."""
    return parts.netloc.rpartition("@")[2]


def origin(url: str) -> tuple[str, str]:
    """Scheme and host of a URL."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def authorization(parts: SplitResult) -> str | None:
    """Header for basic authentication, from the URL or else from the environment."""
    user, password = os.environ.get(USER), os.environ.get(PASSWORD, "")
    if parts.username:
        user, password = unquote(parts.username), unquote(parts.password or "")
    if not user:
        return None
    secret = f"{user}:{password}".encode(errors="surrogateescape")
    return f"Basic {base64.b64encode(secret).decode()}"
