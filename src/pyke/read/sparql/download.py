"""Download all pages of a query, and check that no row is missing.

LIMIT and OFFSET count rows: solutions of the WHERE clause. An endpoint may return fewer rows than
LIMIT without saying so. The next page starts after the rows received, and only an empty page ends
the download. In our own query a row is a triple. A user's query may give a row no triple or
several; a blank node in its template, new in each row, makes its rows countable.

Pages fit together only if the endpoint returns rows in the same order each time. Sorting takes the
endpoint minutes per page on large graphs, and some refuse. Most endpoints return the order of an
index anyway. If the order changes, then some rows come twice, and as many others are missing. Our
own query is therefore unsorted, and repeated triples are counted. Blank nodes of two pages cannot
be compared. Their triples are compared without them, and the endpoint counts them likewise.
"""

from __future__ import annotations

from functools import partial

from pyke.core.progress import Progress
from pyke.errors import DataError, EmptyGraph, NoInput
from pyke.read.child import ParserProcess
from pyke.read.sparql.endpoint import Answer, Endpoint, TemporaryError
from pyke.read.sparql.kept_pages import KeptPages
from pyke.read.sparql.options import FetchOptions
from pyke.read.sparql.pages import Page, read_count, read_page
from pyke.read.sparql.queries import Query

ACCEPT = "application/n-triples, text/turtle;q=0.8, application/rdf+xml;q=0.5"
ACCEPT_COUNT = "application/sparql-results+json"
MAX_NOTES = 5  # about skipped lines
FAR = 2_000_000_000  # an OFFSET after every possible row that fits 32 bits


class Download:
    """Fetches the pages of a query in order and keeps each before it requests the next."""

    def __init__(
        self,
        endpoint: Endpoint,
        query: Query,
        options: FetchOptions,
        kept: KeptPages,
        parser: ParserProcess,
        progress: Progress,
    ) -> None:
        self._endpoint, self._query, self._options = endpoint, query, options
        self._kept, self._parser, self._progress = kept, parser, progress
        self._last: Page | None = None
        self._last_limit = 0
        self._distinct = -1  # triples, at the last check for repeats
        self._noted_short_page = self._noted_repeats = False

    def fetch_all(self) -> int | None:
        """Fetch pages up to an empty one; return the number of rows that the endpoint counts."""
        kept, maximum = self._kept, self._options.max_triples
        expected = self._count(self._query.count) if maximum is None else None
        self._progress.stage("fetching", maximum or expected, "triples")
        self._endpoint.done = kept.tally.rows
        while maximum is None or kept.tally.triples < maximum:
            limit = self._options.page_size
            if maximum is not None:
                limit = min(limit, maximum - kept.tally.triples)
            query = self._query.page(limit, kept.tally.rows)
            page = self._endpoint.run(
                query, ACCEPT, partial(self._checked_page, limit=limit, expected=expected)
            )
            if not page.rows:
                break
            self._note(page)
            kept.add(page.text, page.counts)
            self._last, self._last_limit = page, limit
            self._endpoint.done = kept.tally.rows
            self._progress.advance(kept.tally.rows)
            self._check_early()
        if not kept.tally.triples:
            raise EmptyGraph(
                f"{self._endpoint.name} returned no triples. Check the graph's name and the query."
            )
        return expected

    def check_repeats(self) -> int:
        """Number of triples that came twice; an error if other triples may be missing."""
        tally, repeats = self._kept.tally, self._kept.repeats()
        ordered = self._query.sorted or self._query.marked
        if ordered or tally.pages < 2 or self._options.max_triples is not None:
            return repeats
        possible = self._kept.possible_repeats()
        if not repeats and not possible:
            return 0
        # The endpoint counts too, as a triple of two graphs may come twice.
        count_query = self._query.count_shapes if possible else self._query.count_distinct
        counted = self._count(count_query)
        distinct = tally.triples + tally.skipped - repeats - possible
        if counted is None and not repeats:
            self._progress.note(
                f"{possible:,} triples differ from others only in blank nodes. If the endpoint's "
                "order is not stable, some of them came twice and others are missing, which "
                "cannot be checked. See `order`."
            )
        elif counted is None or distinct < counted:
            twice = repeats if counted is None else counted - distinct
            raise DataError(
                f"{twice:,} triples of {self._endpoint.name} came twice, and as many others may be "
                "missing: the order of its rows is not stable, or its data has changed. Pass "
                '`order="query"` and `force=True` to fetch sorted pages, or `resume=True` and '
                f"`max_triples={tally.triples}` to write what was received."
            )
        return repeats

    def _check_early(self) -> None:
        """Check for repeats after 1, 2, 4, 8 … pages, as the check takes time."""
        pages, name = self._kept.tally.pages, self._endpoint.name
        if pages & (pages - 1):
            return
        repeats, before = self._kept.repeats(), self._distinct
        self._distinct = self._kept.tally.triples - repeats - self._kept.possible_repeats()
        if pages >= 8 and self._distinct == before and not self._supports_offset():
            raise DataError(
                f"{name} returns the same rows for every page: it ignores OFFSET and cannot be "
                "read page by page"
            )
        ordered = self._query.sorted or self._query.marked
        if repeats and not ordered and not self._noted_repeats:
            self._noted_repeats = True
            self._progress.note(
                f"{repeats:,} triples came twice so far. If the endpoint's order is not stable, "
                "the fetch will fail. See `order`."
            )

    def _supports_offset(self) -> bool:
        """Whether a page far after the last row is empty. An error there is good enough."""
        query = self._query.page(1, FAR)
        try:
            return not self._endpoint.run(query, ACCEPT, self._read, retries=0).rows
        except (NoInput, DataError):
            return True

    def _count(self, query: str | None) -> int | None:
        """Result of a counting query, or None if the endpoint fails; it is not retried."""
        if query is None:
            return None
        try:
            return self._endpoint.run(query, ACCEPT_COUNT, read_count, retries=0)
        except (NoInput, DataError) as error:
            self._progress.note(f"The endpoint cannot count its triples: {error}")
            return None

    def _checked_page(self, answer: Answer, limit: int, expected: int | None) -> Page:
        """The page of an answer, with its number of rows checked."""
        tally, name = self._kept.tally, self._endpoint.name
        page = self._read(answer)
        if page.rows > limit:
            raise DataError(
                f"{name} returned {page.rows:,} rows for a LIMIT of {limit:,}: it ignores LIMIT "
                "and cannot be read page by page"
            )
        if not page.rows and expected is not None and tally.rows < expected:
            message = (
                f"{name} counts {expected:,} triples but returns none after row {tally.rows:,}"
            )
            if tally.triples:
                message += (
                    f". Pass `resume=True` and `max_triples={tally.triples}` to write what was "
                    "received."
                )
            raise TemporaryError(DataError(message))
        return page

    def _read(self, answer: Answer) -> Page:
        number = self._kept.tally.pages + 1
        place = f"{self._endpoint.name}, page {number}"
        return read_page(answer, self._parser, place, number, self._options, self._query.marked)

    def _note(self, page: Page) -> None:
        """Note skipped lines, and once that the page before was shorter than requested."""
        for problem in page.problems[: max(0, MAX_NOTES - self._kept.tally.skipped)]:
            self._progress.note(f"skipped {problem}")
        last = self._last
        if last is not None and last.rows < self._last_limit and not self._noted_short_page:
            self._noted_short_page = True
            self._progress.note(
                f"The endpoint returned {last.rows:,} of {self._last_limit:,} rows; "
                "the next page starts after them."
            )
