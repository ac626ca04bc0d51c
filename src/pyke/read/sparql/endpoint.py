"""Send queries to a SPARQL endpoint: one request at a time, with retries and checked answers."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlencode, urljoin

from pyke import __version__
from pyke.core.progress import Progress
from pyke.errors import DataError, MissingLibrary, NoInput, PykeError, UsageError
from pyke.read.sparql.deadline import TICK, DeadlineExceeded, within
from pyke.read.sparql.urls import (
    PASSWORD,
    USER,
    authorization,
    checked_url,
    origin,
    shown,
    without_user,
)

USER_AGENT = f"pyke-embeddings/{__version__}"

BLOCK_SIZE = 1 << 16
MAX_ANSWER = 256 << 20  # bytes, decompressed
MAX_REDIRECTS = 5
MAX_SHOWN = 200  # characters of an unexpected answer
MAX_PAUSE = 60.0  # seconds between two tries, unless the endpoint asks for more
MAX_RETRY_AFTER = 600.0  # seconds that an endpoint may ask for

TEMPORARY = (206, 408, 425, 429, 500, 502, 503, 504)
REDIRECTS = (301, 302, 303, 307, 308)

T = TypeVar("T")


class TemporaryError(Exception):
    """A failure that a retry may resolve: the final error, and the wait the endpoint asks for."""

    def __init__(self, error: PykeError, after: float | None = None) -> None:
        super().__init__(str(error))
        self.error, self.after = error, after


@dataclass(frozen=True)
class Answer:
    """A complete answer."""

    media_type: str
    body: bytes
    received: int  # bytes over the network, maybe compressed

    @property
    def excerpt(self) -> str:
        """The start of the answer, for error messages."""
        return excerpt(self.body)


class Endpoint:
    """A SPARQL endpoint. Returns complete answers with status 200; raises errors otherwise.

    Error messages name the endpoint without passwords.
    """

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
        parts = checked_url(url)._replace(fragment="")
        public = parts._replace(netloc=without_user(parts))
        self.url = public.geturl()
        self.name = public._replace(query="").geturl()  # the query may contain a key
        self.retried = 0  # requests that were repeated
        self.done = 0  # amount reported to the progress
        self._address = self.url  # after redirects
        self._graphs, self._timeout, self._retries, self._pause = graphs, timeout, retries, pause
        self._headers = {"User-Agent": _checked_header(user_agent), "Accept-Encoding": "gzip"}
        self._authorization = authorization(parts)
        self._progress, self._sleep = progress or Progress(), sleep
        self._first = True
        self._http = _urllib3()
        self._pool = self._new_pool()

    def _new_pool(self) -> Any:
        return self._http.PoolManager(maxsize=1)

    def close(self) -> None:
        """Close the connection."""
        self._pool.clear()

    def run(
        self, query: str, accept: str, read: Callable[[Answer], T], retries: int | None = None
    ) -> T:
        """Send a query and return `read(answer)`. Retries if `read` raises TemporaryError."""
        left = self._retries if retries is None else retries
        pause = 1.0
        while True:
            try:
                self._wait(0 if self._first else self._pause)
                return read(self._post(query, accept))
            except TemporaryError as failure:
                if not left:
                    raise failure.error from None
                self._wait(self._pause_after(failure, pause))
                pause = min(2 * pause, MAX_PAUSE)
                self.retried += 1
                left -= 1

    def _pause_after(self, failure: TemporaryError, longest: float) -> float:
        """Seconds to the next try: as the endpoint asks, or random to spread clients."""
        message = str(failure).rstrip(".")
        if failure.after is not None and failure.after > MAX_RETRY_AFTER:
            raise type(failure.error)(
                f"{message}. The endpoint asks to wait for {failure.after:,.0f} s."
            )
        pause = failure.after
        if pause is None:
            pause = longest * random.uniform(0.5, 1)  # noqa: S311 - not a secret
        self._progress.note(f"{message}; retrying in {pause:.1f} s")
        return pause

    def _wait(self, seconds: float) -> None:
        while seconds > 0:
            self._progress.advance(self.done)
            self._sleep(min(seconds, TICK))
            seconds -= TICK

    def _post(self, query: str, accept: str) -> Answer:
        """Send one request and follow redirects; errors of urllib3 become errors of pyke."""
        errors = self._http.exceptions
        self._first = False
        try:
            answer, self._address = within(
                self._timeout,
                partial(self._follow, query, accept),
                lambda: self._progress.advance(self.done),
            )
            return answer
        except DeadlineExceeded:
            self._pool = self._new_pool()  # the other thread keeps the connection of the old one
            raise self._too_slow() from None
        except errors.LocationValueError as error:
            raise UsageError(f"{self.name}: invalid address: {error}") from None
        except errors.SSLError as error:
            raise NoInput(
                f"{self.name}: its certificate or encryption is invalid: {error}"
            ) from None
        except errors.DecodeError as error:
            raise TemporaryError(
                DataError(f"{self.name}: cannot decompress the answer: {_reason(error)}")
            ) from None
        except errors.ProtocolError as error:
            raise TemporaryError(
                NoInput(f"{self.name}: the answer was cut off: {_reason(error)}")
            ) from None
        except errors.HTTPError as error:
            if isinstance(error, errors.TimeoutError) and not isinstance(
                error, errors.NewConnectionError
            ):
                raise self._too_slow() from None
            raise TemporaryError(NoInput(f"cannot reach {self.name}: {_reason(error)}")) from None

    def _follow(self, query: str, accept: str) -> tuple[Answer, str]:
        """Send one request; return the answer and its address.

        urllib3 would follow redirects with a GET without the query.
        """
        deadline = time.monotonic() + self._timeout
        address = self._address
        for _ in range(MAX_REDIRECTS + 1):
            response = self._request(address, query, accept)
            try:
                location = response.headers.get("Location")
                if response.status not in REDIRECTS or not location:
                    return self._answer(response, deadline), address
            finally:
                response.close()
            address = self._redirected(address, location)
        raise NoInput(
            f"{self.name} redirects more than {MAX_REDIRECTS} times, last to {shown(address)}"
        )

    def _request(self, address: str, query: str, accept: str) -> Any:
        headers = {
            **self._headers,
            "Accept": accept,
            "Content-Type": "application/x-www-form-urlencoded",
        }
        if self._authorization and origin(address) == origin(self.url):
            headers["Authorization"] = self._authorization
        graphs = [("default-graph-uri", graph) for graph in self._graphs]
        return self._pool.request(
            "POST",
            address,
            body=urlencode([("query", query), *graphs]),
            headers=headers,
            redirect=False,
            retries=False,
            preload_content=False,
            timeout=self._timeout,
        )

    def _redirected(self, address: str, location: str) -> str:
        try:
            parts = checked_url(urljoin(address, location))
        except ValueError:  # includes UsageError
            raise NoInput(
                f"{self.name} redirects to {shown(location)}, which is not an http or https address"
            ) from None
        if address.startswith("https:") and parts.scheme != "https":
            raise NoInput(
                f"{self.name} redirects from https to {shown(location)}, which is not encrypted. "
                "Pass that address as the endpoint if you trust it."
            )
        return parts._replace(netloc=without_user(parts)).geturl()

    def _answer(self, response: Any, deadline: float) -> Answer:
        """The answer, if it is complete."""
        if response.status != 200:
            raise self._bad_status(response)
        if response.headers.get("X-SQL-State") == "S1TAT":  # Virtuoso's "anytime" answers
            raise TemporaryError(
                DataError(
                    f"{self.name} sent only a part of the answer, as its time limit was reached. "
                    "Try a smaller `page_size`."
                )
            )
        if not response.chunked and response.length_remaining is None:
            raise DataError(
                f"{self.name} answers without a Content-Length and not in chunks; "
                "such an answer may be incomplete"
            )
        media_type = response.headers.get("Content-Type", "").split(";")[0].strip().lower()
        return Answer(media_type, self._body(response, deadline), response.tell())

    def _bad_status(self, response: Any) -> Exception:
        """The error for a status other than 200."""
        words = excerpt(response.read1(4096))
        message = f"{self.name} answers {response.status}: {words}"
        if "SR353" in words:  # of Virtuoso
            return NoInput(
                f"{message}. It refuses to sort this many rows. "
                'Try `order="subquery"` or `order="none"`.'
            )
        error = NoInput(message + _ADVICE.get(response.status, ""))
        if response.status in TEMPORARY:
            return TemporaryError(error, _retry_after(response.headers.get("Retry-After")))
        return error

    def _body(self, response: Any, deadline: float) -> bytes:
        body = bytearray()
        # read1 returns what has arrived: after the deadline, this thread must end.
        while block := response.read1(BLOCK_SIZE):
            body += block
            if len(body) > MAX_ANSWER:
                raise DataError(
                    f"{self.name}: the answer is larger than {MAX_ANSWER >> 20} MiB. "
                    "Try a smaller `page_size`."
                )
            if time.monotonic() > deadline:
                raise self._too_slow()
        return bytes(body)

    def _too_slow(self) -> TemporaryError:
        return TemporaryError(
            NoInput(
                f"{self.name} took longer than {self._timeout:g} s to answer. "
                "Try a longer `timeout` or a smaller `page_size`."
            )
        )


_ADVICE = {
    206: ". That is only a part of the answer. Try a smaller `page_size`.",
    401: f". Pass a user and a password in the URL, or in the variables {USER} and {PASSWORD}.",
    403: ". Some endpoints require a `user_agent` with a contact address.",
    413: ". Try a smaller `page_size`.",
    500: (
        '. If it cannot sort this many rows, try `order="subquery"`, `order="none"` '
        "or a smaller `page_size`."
    ),
    504: '. Try a smaller `page_size`, `order="subquery"` or `order="none"`.',
}


def excerpt(body: bytes) -> str:
    """The start of a text, on one line."""
    text = " ".join(body[: 4 * MAX_SHOWN].decode("utf-8", "replace").split())
    return f"“{text[:MAX_SHOWN]}{'…' if len(text) > MAX_SHOWN else ''}”" if text else "(nothing)"


def _urllib3() -> Any:
    try:
        import urllib3
    except ImportError:
        raise MissingLibrary("urllib3", "fetching from an endpoint", "fetch") from None
    return urllib3


def _checked_header(user_agent: str) -> str:
    if not user_agent.isascii() or not user_agent.isprintable():
        raise UsageError(f"`user_agent` is {user_agent!r}; it must be one line of ASCII")
    return user_agent


def _retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header, which is a number or a date."""
    if not value:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        when = parsedate_to_datetime(value)
        wait = when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)
    except (ValueError, OverflowError):  # not a date, or one beyond the calendar
        return None
    return max(0.0, wait.total_seconds())


def _reason(error: Exception) -> str:
    """The message of a urllib3 error without the name of its connection."""
    return str(error.args[0] if error.args else error).split(": ", 1)[-1]
