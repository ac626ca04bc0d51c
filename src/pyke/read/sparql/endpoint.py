"""One SPARQL endpoint over HTTP: asked one thing at a time, asked again after faults that may pass, and believed only as far as it can be checked."""

from __future__ import annotations

import base64
import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import SplitResult, unquote, urlencode, urljoin, urlsplit

from pyke import __version__
from pyke.core.progress import Progress
from pyke.errors import DataError, MissingLibrary, NoInput, PykeError, UsageError

USER_AGENT = f"pyke-embeddings/{__version__}"
USER, PASSWORD = "PYKE_ENDPOINT_USER", "PYKE_ENDPOINT_PASSWORD"

BLOCK = 1 << 16
GREATEST_ANSWER = 256 << 20  # bytes, unpacked
MOST_REDIRECTS = 5
MOST_WORDS = 200  # characters of an unexpected answer that are shown
LONGEST_PAUSE = 60.0  # seconds between two tries, unless the endpoint asks for more
LONGEST_WISH = 600.0  # seconds that an endpoint may ask to be left alone
TICK = 0.2  # seconds that a signal may wait to be heard

MAY_PASS = (206, 408, 425, 429, 500, 502, 503, 504)
REDIRECTS = (301, 302, 303, 307, 308)

T = TypeVar("T")


class Fault(Exception):
    """Something that may be better next time: what to raise if it is not, and the seconds that the endpoint wants to be left alone."""

    def __init__(self, error: PykeError, after: float | None = None) -> None:
        super().__init__(str(error))
        self.error, self.after = error, after


@dataclass(frozen=True)
class Answer:
    """A whole answer: its media type, its bytes, and how many of them came over the wire."""

    media_type: str
    body: bytes
    received: int

    @property
    def first_words(self) -> str:
        """How it begins, for a person who wonders what this is."""
        return first_words(self.body)


class Endpoint:
    """Asks an endpoint. Nothing but a whole answer of status 200 leaves it; all else is an error that names the endpoint, never a password."""

    def __init__(
        self,
        url: str,
        *,
        graphs: Sequence[str] = (),
        user_agent: str = USER_AGENT,
        timeout: float = 120.0,
        retries: int = 5,
        pause: float = 0.0,
        progress: Progress | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = _checked(url)
        self.url = parts._replace(netloc=_without_user(parts), fragment="").geturl()
        self.name = parts._replace(
            netloc=_without_user(parts), query="", fragment=""
        ).geturl()  # a query may hold a key
        self.repeated = 0  # requests that had to be made again
        self.done = 0  # what progress is told
        self._address = self.url  # where redirects have led
        self._graphs, self._timeout, self._retries, self._pause = graphs, timeout, retries, pause
        self._headers = {"User-Agent": _checked_header(user_agent), "Accept-Encoding": "gzip"}
        self._authorization = _authorization(parts)
        self._progress, self._sleep = progress or Progress(), sleep
        self._asked = False
        self._http = _urllib3()
        self._pool = self._http.PoolManager(maxsize=1)

    def close(self) -> None:
        """Closes the connection."""
        self._pool.clear()

    def ask(
        self, query: str, accept: str, read: Callable[[Answer], T], retries: int | None = None
    ) -> T:
        """What `read` makes of the answer to a query. It raises Fault for an answer that is not whole, and the query is asked again."""
        left = self._retries if retries is None else retries
        pause = 1.0
        while True:
            try:
                self._wait(self._pause if self._asked else 0)
                return read(self._post(query, accept))
            except Fault as fault:
                if not left:
                    raise fault.error from None
                self._wait(self._pause_after(fault, pause))
                pause = min(2 * pause, LONGEST_PAUSE)
                self.repeated += 1
                left -= 1

    def _pause_after(self, fault: Fault, longest: float) -> float:
        """Seconds to the next try: what the endpoint asks for, else a random part of the longest, so that those who failed together part."""
        said = str(fault).rstrip(".")
        if fault.after is not None and fault.after > LONGEST_WISH:
            raise type(fault.error)(f"{said}. It asks to be left alone for {fault.after:,.0f} s.")
        pause = longest * random.uniform(0.5, 1) if fault.after is None else fault.after  # noqa: S311 - no secret
        self._progress.note(f"{said}; again in {pause:.1f} s")
        return pause

    def _wait(self, seconds: float) -> None:
        while seconds > 0:
            self._progress.advance(self.done)
            self._sleep(min(seconds, TICK))
            seconds -= TICK

    # -- one request ---------------------------------------------------------------------------------------------------

    def _post(self, query: str, accept: str) -> Answer:
        """One request, redirects followed. urllib3 would turn a redirected POST into a GET without its query."""
        self._asked = True
        deadline = time.monotonic() + self._timeout
        address = self._address
        errors = self._http.exceptions
        try:
            for _ in range(MOST_REDIRECTS + 1):
                response = self._request(address, query, accept)
                try:
                    location = response.headers.get("Location")
                    if response.status not in REDIRECTS or not location:
                        answer = self._answer(response, deadline)
                        self._address = address
                        return answer
                finally:
                    response.close()
                address = self._redirected(address, location)
        except errors.LocationValueError as error:
            raise UsageError(f"{self.name} is no address that can be asked: {error}") from None
        except errors.SSLError as error:
            raise NoInput(
                f"{self.name}: its certificate or encryption is not in order: {error}"
            ) from None
        except errors.DecodeError as error:
            raise Fault(
                DataError(f"{self.name}: the answer cannot be unpacked: {_reason(error)}")
            ) from None
        except errors.ProtocolError as error:
            raise Fault(NoInput(f"{self.name}: the answer was cut off: {_reason(error)}")) from None
        except errors.HTTPError as error:
            if isinstance(error, errors.TimeoutError) and not isinstance(
                error, errors.NewConnectionError
            ):
                raise self._too_slow() from None
            raise Fault(NoInput(f"{self.name} cannot be reached: {_reason(error)}")) from None
        raise NoInput(
            f"{self.name} redirects more than {MOST_REDIRECTS} times, last to {_shown(address)}"
        )

    def _request(self, address: str, query: str, accept: str) -> Any:
        headers = {
            **self._headers,
            "Accept": accept,
            "Content-Type": "application/x-www-form-urlencoded",
        }
        if self._authorization and _origin(address) == _origin(self.url):
            headers["Authorization"] = self._authorization
        body = urlencode(
            [("query", query), *(("default-graph-uri", graph) for graph in self._graphs)]
        )
        manners = {
            "redirect": False,
            "retries": False,
            "preload_content": False,
            "timeout": self._timeout,
        }
        return self._pool.request("POST", address, body=body, headers=headers, **manners)

    def _redirected(self, address: str, location: str) -> str:
        try:
            parts = _checked(urljoin(address, location))
        except ValueError:  # UsageError is one
            raise NoInput(
                f"{self.name} redirects to {_shown(location)}, which is no http or https address"
            ) from None
        if address.startswith("https:") and parts.scheme != "https":
            raise NoInput(
                f"{self.name} redirects from https to {_shown(location)}: refused. Name that address yourself if you trust it."
            )
        return parts._replace(netloc=_without_user(parts)).geturl()

    def _answer(self, response: Any, deadline: float) -> Answer:
        """The body, if it is all there."""
        said = f"{self.name} answers {response.status}"
        if response.status != 200:
            words = first_words(response.read1(4096))
            if "SR353" in words:  # of Virtuoso
                raise NoInput(
                    f"{said}: {words}. It will not sort so many rows: try --order subquery, or --order none."
                )
            error = NoInput(f"{said}: {words}{_ADVICE.get(response.status, '')}")
            raise (
                Fault(error, _retry_after(response.headers.get("Retry-After")))
                if response.status in MAY_PASS
                else error
            )
        if response.headers.get("X-SQL-State") == "S1TAT":  # Virtuoso's "anytime" answers
            raise Fault(
                DataError(
                    f"{self.name} gave only a part of the answer, as its time was up. Try a smaller --page-size."
                )
            )
        if not response.chunked and response.length_remaining is None:
            raise DataError(
                f"{said} without a Content-Length and not in chunks: nobody could tell if it was cut off, so it is refused"
            )
        media_type = response.headers.get("Content-Type", "").split(";")[0].strip().lower()
        return Answer(media_type, self._body(response, deadline), response.tell())

    def _body(self, response: Any, deadline: float) -> bytes:
        pieces = bytearray()
        while piece := response.read1(
            BLOCK
        ):  # what has come; not waiting for a whole block, so that a trickle is noticed
            pieces += piece
            if len(pieces) > GREATEST_ANSWER:
                raise DataError(
                    f"{self.name}: an answer of more than {GREATEST_ANSWER >> 20} MiB is refused. Try a smaller --page-size."
                )
            if time.monotonic() > deadline:
                raise self._too_slow()
            self._progress.advance(self.done)
        return bytes(pieces)

    def _too_slow(self) -> Fault:
        return Fault(
            NoInput(
                f"{self.name} took longer than {self._timeout:g} s to answer. Try a longer --timeout or a smaller --page-size."
            )
        )


_ADVICE = {
    206: ". That is only a part of the answer. Try a smaller --page-size.",
    401: f". Give a name and a password in the URL, or in the variables {USER} and {PASSWORD}.",
    403: ". Some endpoints want a --user-agent that says whom to write to.",
    413: ". Try a smaller --page-size.",
    500: ". If it cannot sort so many rows, try --order subquery, --order none or a smaller --page-size.",
    504: ". Try a smaller --page-size, --order subquery or --order none.",
}


def first_words(body: bytes) -> str:
    """How a text begins, on one line."""
    text = " ".join(body[: 4 * MOST_WORDS].decode("utf-8", "replace").split())
    return f"“{text[:MOST_WORDS]}{'…' if len(text) > MOST_WORDS else ''}”" if text else "(nothing)"


def _urllib3() -> Any:
    try:
        import urllib3
    except ImportError:
        raise MissingLibrary("urllib3", "fetching from an endpoint", "fetch") from None
    return urllib3


def _checked(url: str) -> SplitResult:
    """The parts of an http or https URL."""
    try:
        parts = urlsplit(url)
        sound = (
            parts.scheme in ("http", "https")
            and parts.hostname
            and parts.port != 0
            and url.isprintable()
            and " " not in url
        )
    except ValueError:
        sound = None
    if not sound:
        raise UsageError(
            f"{_shown(url)} is no address of an endpoint; it begins with http:// or https://"
        )
    return parts


def _shown(url: str) -> str:
    """A URL without what may be secret in it."""
    return repr(url.split("?")[0].rpartition("@")[2])


def _without_user(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def _authorization(parts: SplitResult) -> str | None:
    """Basic authentication, by the URL or else by the environment."""
    user, password = os.environ.get(USER), os.environ.get(PASSWORD, "")
    if parts.username:
        user, password = unquote(parts.username), unquote(parts.password or "")
    return (
        f"Basic {base64.b64encode(f'{user}:{password}'.encode(errors='surrogateescape')).decode()}"
        if user
        else None
    )


def _checked_header(user_agent: str) -> str:
    if not user_agent.isascii() or not user_agent.isprintable():
        raise UsageError(f"the user agent {user_agent!r} must be one line of ASCII")
    return user_agent


def _retry_after(value: str | None) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or as a date."""
    if not value:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        when = parsedate_to_datetime(value)
        return max(
            0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
        )
    except ValueError:
        return None


def _reason(error: Exception) -> str:
    """What went wrong, without urllib3's name for the connection."""
    return str(error.args[0] if error.args else error).split(": ", 1)[-1]
