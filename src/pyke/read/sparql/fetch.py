"""fetch(): all triples of a SPARQL endpoint, page by page, into one N-Triples file.

A page is asked for with LIMIT and OFFSET, which count rows: solutions of the WHERE clause. Endpoints may give fewer rows than asked for, in
silence, so the next page begins behind the rows that came, not behind those that were asked for, and only a page without rows is the end.
- Of our own query a row is a triple: a page has at least as many rows as different triples, so nothing is missed.
- Of a user's query a row may be many triples or none. A blank node in the template, which is another for each row, makes rows countable.

Pages fit together only if rows come in the same order each time. To sort them is to sort the whole graph for each page, which takes minutes
where the page itself takes a moment, and big endpoints refuse. Most give them in the order of an index anyway, and if not, it shows: the pages
have as many rows as there are, so where one is missing, another has come twice. So our own query is not sorted, and repeats are counted. Blank
nodes cannot be told from each other in two pages; of their triples, those that differ otherwise are counted, here and by the endpoint.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from pyke.core import files, inputs
from pyke.core.progress import Progress
from pyke.errors import DataError, EmptyGraph, Interrupted, NoInput, UsageError
from pyke.read.parse import clean_message
from pyke.read.sandbox import GuardedXml, Refused, surviving
from pyke.read.sparql.endpoint import USER_AGENT, Answer, Endpoint, Fault
from pyke.read.sparql.parts import Parts, Tally
from pyke.read.sparql.queries import MARK, ORDERS, Query, check_iri, read_query

ACCEPT = "application/n-triples, text/turtle;q=0.8, application/rdf+xml;q=0.5"
ACCEPT_COUNT = "application/sparql-results+json"
_FORMATS = {
    "application/n-triples": ox.RdfFormat.N_TRIPLES,
    "text/plain": ox.RdfFormat.N_TRIPLES,  # its media type of old
    "text/turtle": ox.RdfFormat.TURTLE,
    "application/x-turtle": ox.RdfFormat.TURTLE,
    "application/rdf+xml": ox.RdfFormat.RDF_XML,
}
MOST_NOTES = 5  # of lines that were skipped
FAR = 2_000_000_000  # rows; behind all that could be fetched, and no endpoint's numbers overflow


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to fetch, and how. Two fetches that differ only in what stands under "how" may go on from each other's pages."""

    query: str | None = None  # CONSTRUCT { … } WHERE { … }
    graphs: tuple[str, ...] = ()
    literals: bool = True
    order: str | None = (
        None  # "query", "subquery", "none"; by default none for our own query and "query" for a user's
    )
    keep_blank_labels: bool = False

    # How
    page_size: int = 10_000
    max_triples: int | None = None
    on_error: str = "stop"
    user_agent: str = USER_AGENT
    timeout: float = 120.0
    retries: int = 5
    pause: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "graphs", (self.graphs,) if isinstance(self.graphs, str) else tuple(self.graphs)
        )
        for name, value, choices in (
            ("order", self.order or "none", ORDERS),
            ("on_error", self.on_error, ("stop", "skip")),
        ):
            if value not in choices:
                raise UsageError(f"{name} is {value!r}; it must be one of: {', '.join(choices)}")
        most = 1 if self.max_triples is None else self.max_triples
        for name, number, least, greatest in (
            ("page_size", self.page_size, 1, 1_000_000),
            ("max_triples", most, 1, float("inf")),
            ("timeout", self.timeout, 0.001, 86_400),
            ("retries", self.retries, 0, 1000),
            ("pause", self.pause, 0, 86_400),
        ):
            if not least <= number <= greatest:
                raise UsageError(
                    f"{name} is {number}; it must be at least {least}{f' and at most {greatest:,}' if greatest < 1e9 else ''}"
                )
        for graph in self.graphs:
            check_iri(graph)
        if self.query is not None and (not self.literals or self.order == "subquery"):
            raise UsageError(
                "--no-literals and --order subquery belong to the query that is made for you; write them into your own"
            )

    @classmethod
    def of(cls, options: dict[str, Any]) -> Wanted:
        """From options by name."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise UsageError(f"there is no option {name!r}; there are: {', '.join(known)}")
        return cls(**options)


@dataclass(frozen=True)
class Fetched:
    """What was fetched."""

    output: str
    pages: int
    triples: int  # lines of the file
    repeats: int  # those of them that had come with an earlier page
    blank_nodes: int
    skipped: int  # lines that broke the grammar
    expected: int | None  # rows that the endpoint counted beforehand
    resumed_from: int  # pages that an earlier run had fetched
    asked_again: int  # requests that had to be repeated
    bytes_received: int
    bytes_written: int


def fetch(
    endpoint: str,
    output: str | os.PathLike[str],
    *,
    resume: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    sleep: Callable[[float], None] = time.sleep,
    **options: Any,
) -> Fetched:
    """Fetches the triples of a SPARQL endpoint into a file of N-Triples, written whole or not at all.

    Parameters
    ----------
    endpoint : its address, http or https; a name and a password in it, or in the environment, are used and never shown.
    output : ends in .nt, compressed if .gz, .zst, .bz2 or .xz follows. Pages are kept in a directory beside it until it is written.
    resume : go on from the pages that an interrupted fetch has kept.
    force : replace a file that is there, and give up pages that were kept.
    progress : told how it goes.
    sleep : waits some seconds.
    **options : any field of `Wanted`, for example query="CONSTRUCT …", graphs=["http://…"], literals=False, page_size=1000.

    Examples
    --------
    >>> fetch("ftp://example.com/sparql", "graph.nt.gz")
    Traceback (most recent call last):
    ...
    pyke.errors.UsageError: 'ftp://example.com/sparql' is no address of an endpoint; it begins with http:// or https://
    """
    wanted, progress = Wanted.of(options), progress or Progress()
    manners = {
        name: getattr(wanted, name)
        for name in ("graphs", "user_agent", "timeout", "retries", "pause")
    }
    source = Endpoint(endpoint, **manners, progress=progress, sleep=sleep)
    query = Query.own(wanted.literals, wanted.order or "none")
    if wanted.query is not None:
        query = Query.given(read_query(wanted.query), wanted.order or "query")
    target = _checked_output(output)
    files.check_file(target, force)
    with closing(source), files.work_directory(target) as work:
        fingerprint = _fingerprint(source.url, query.text, wanted.graphs, wanted.keep_blank_labels)
        parts = Parts(work, fingerprint, resume, force, labels_hold=wanted.keep_blank_labels)
        resumed_from = parts.tally.pages
        try:
            pages = Pages(source, query, wanted, parts, progress)
            expected = pages.fetch_all()
            repeats = pages.prove()
            progress.stage("writing", parts.tally.pages, "pages")
            written = files.write_stream(target, parts.blocks(progress), force)
        except Interrupted as stopped:
            raise Interrupted(stopped.signal_number, parts.advice) from None
        except (NoInput, DataError) as error:
            raise type(error)(f"{str(error).rstrip('.')}. {parts.advice}".rstrip()) from None
    tally = parts.tally
    return Fetched(
        output=str(output),
        pages=tally.pages,
        triples=tally.triples,
        repeats=repeats,
        blank_nodes=tally.blank_nodes,
        skipped=tally.skipped,
        expected=expected,
        resumed_from=resumed_from,
        asked_again=source.repeated,
        bytes_received=tally.received,
        bytes_written=written,
    )


def _checked_output(output: str | os.PathLike[str]) -> Path:
    target = Path(output)
    name = target.name.lower()
    for suffix in inputs.COMPRESSIONS:
        name = name.removesuffix(suffix)
    if not name.endswith(".nt"):
        raise UsageError(
            f"{target}: N-Triples are written; the name must end in .nt, or in .nt{', .nt'.join(inputs.COMPRESSIONS)}"
        )
    return target


def _fingerprint(*deciding: Any) -> str:
    return hashlib.sha256(
        json.dumps(deciding).encode()
    ).hexdigest()  # not the URL itself, which may hold a key


# ---------------------------------------------------------------------------------------------------------------------
# Pages
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Page:
    """One page: different triples as N-Triples, and what it adds to the tally."""

    text: bytes
    gained: Tally
    problems: tuple[str, ...]  # one for each line that was skipped

    @property
    def rows(self) -> int:
        """How many came."""
        return self.gained.rows


class Pages:
    """All pages of a query, each fetched and kept before the next is asked for."""

    def __init__(
        self, source: Endpoint, query: Query, wanted: Wanted, parts: Parts, progress: Progress
    ) -> None:
        self._source, self._query, self._wanted, self._parts, self._progress = (
            source,
            query,
            wanted,
            parts,
            progress,
        )
        self._last: Page | None = None
        self._limit = 0  # of the last page
        self._different = -1  # triples, when repeats were last looked for
        self._told = self._warned = False

    def fetch_all(self) -> int | None:
        """Fetches until a page has no rows; the number of rows that the endpoint says there are."""
        parts, most = self._parts, self._wanted.max_triples
        expected = self._count(self._query.counting) if most is None else None
        self._progress.stage("fetching", most or expected, "triples")
        self._source.done = parts.tally.rows
        while most is None or parts.tally.triples < most:
            limit = (
                self._wanted.page_size
                if most is None
                else min(self._wanted.page_size, most - parts.tally.triples)
            )
            page = self._source.ask(
                self._query.page(limit, parts.tally.rows),
                ACCEPT,
                partial(self._whole, limit=limit, expected=expected),
            )
            if not page.rows:
                break
            self._tell(page)
            parts.add(page.text, page.gained)
            self._last, self._limit = page, limit
            self._source.done = parts.tally.rows
            self._progress.advance(parts.tally.rows)
            self._look_for_repeats()
        if not parts.tally.triples:
            raise EmptyGraph(
                f"{self._source.name} gave no triple. Is the graph's name right, and the query?"
            )
        return expected

    def prove(self) -> int:
        """The number of triples that came twice. Of pages that nobody sorted, none may have: each stands where one is missing."""
        tally, repeats = self._parts.tally, self._parts.repeats()
        if (
            self._query.sorted
            or self._query.marked
            or tally.pages < 2
            or self._wanted.max_triples is not None
        ):
            return repeats
        alike = self._parts.alike()
        if not repeats and not alike:
            return 0
        there = self._count(
            self._query.counting_shapes if alike else self._query.counting_different
        )  # those of two graphs may come twice, too
        different = tally.triples + tally.skipped - repeats - alike
        if there is None and not repeats:
            self._progress.note(f"{alike:,} triples with blank nodes look alike. If the endpoint's order is not stable, some came twice and others "
                                "are missing, which cannot be told: see --order.")  # fmt: skip
        elif there is None or different < there:
            twice = repeats if there is None else there - different
            raise DataError(f"{twice:,} triples of {self._source.name} came twice, so as many others may be missing: its rows come in another order "
                            "each time, or it has changed. Fetch with --order query, --force and without --resume, or take what came with "
                            f"--resume --max-triples {tally.triples}.")  # fmt: skip
        return repeats

    def _look_for_repeats(self) -> None:
        """Says early what `prove` would say after the last page, and stops if there is none; at each doubling, as looking takes time."""
        pages = self._parts.tally.pages
        if pages & (pages - 1):
            return
        repeats, before = self._parts.repeats(), self._different
        self._different = self._parts.tally.triples - repeats - self._parts.alike()
        if pages >= 8 and self._different == before and not self._heeds_offset():
            raise DataError(
                f"{self._source.name} gives the same rows again and again: it does not heed OFFSET, so it cannot be read in pages"
            )
        if repeats and not self._query.sorted and not self._query.marked and not self._warned:
            self._warned = True
            self._progress.note(
                f"{repeats:,} triples came twice so far. If the endpoint's order is not stable, this will fail: see --order."
            )

    def _heeds_offset(self) -> bool:
        """If it gives no row where none can be. One that fails there has at least tried to go so far."""
        try:
            return not self._source.ask(
                self._query.page(1, FAR), ACCEPT, self._read, retries=0
            ).rows
        except (NoInput, DataError):
            return True

    def _count(self, query: str | None) -> int | None:
        """The answer to a counting query, if the endpoint can tell; it is asked once."""
        if query is None:
            return None
        try:
            return self._source.ask(query, ACCEPT_COUNT, _read_count, retries=0)
        except (NoInput, DataError) as error:
            self._progress.note(f"The endpoint cannot count its triples: {error}")
            return None

    def _whole(self, answer: Answer, limit: int, expected: int | None) -> Page:
        """The page in an answer, if nothing speaks against it."""
        tally, name = self._parts.tally, self._source.name
        page = self._read(answer)
        if page.rows > limit:
            raise DataError(
                f"{name} gave {page.rows:,} rows where {limit:,} were asked for: it does not heed LIMIT, so it cannot be read in pages"
            )
        if not page.rows and expected is not None and tally.rows < expected:
            take = (
                f" To take what came, say --resume --max-triples {tally.triples}."
                if tally.triples
                else ""
            )
            raise Fault(
                DataError(
                    f"{name} counts {expected:,} triples, but gives none behind row {tally.rows:,}.{take}"
                )
            )
        return page

    def _read(self, answer: Answer) -> Page:
        return read_page(
            answer, self._parts.tally.pages + 1, self._source.name, self._wanted, self._query.marked
        )

    def _tell(self, page: Page) -> None:
        """Says what the user would want to know of a page, and of the one before it, behind which there is more."""
        for problem in page.problems[: max(0, MOST_NOTES - self._parts.tally.skipped)]:
            self._progress.note(f"skipped {problem}")
        if self._last is not None and self._last.rows < self._limit and not self._told:
            self._told = True
            self._progress.note(
                f"{self._last.rows:,} rows came where {self._limit:,} were asked for; the next page begins behind those that came."
            )


def read_page(answer: Answer, number: int, name: str, wanted: Wanted, marked: bool) -> Page:
    """Parses one page, strictly. Blank nodes hold within an answer only: their labels are made different from those of other pages."""
    place = f"{name}, page {number}"
    form = _FORMATS.get(answer.media_type)
    if form is None or (
        form == ox.RdfFormat.N_TRIPLES
        and answer.body.lstrip()[:5].lower() in (b"<!doc", b"<html", b"<?xml")
    ):
        kind = answer.media_type or "something without a media type"
        raise DataError(
            f"{place}: {kind} came instead of RDF: {answer.first_words}. Is this the address of the endpoint?"
        )
    problems: list[str] = []

    def report(error: SyntaxError) -> None:
        problem = f"{place}, line {error.lineno or 0}: {clean_message(str(error))}"
        cut_off = (error.lineno or 0) > answer.body.count(
            b"\n"
        )  # the last line, without a line break
        if wanted.on_error == "stop" or form != ox.RdfFormat.N_TRIPLES or cut_off:
            advice = (
                ""
                if form != ox.RdfFormat.N_TRIPLES or cut_off
                else ". --on-error skip leaves such lines out and counts them"
            )
            raise Fault(DataError(problem + advice))
        problems.append(problem)

    source: Any = (
        GuardedXml(io.BytesIO(answer.body)) if form == ox.RdfFormat.RDF_XML else answer.body
    )
    try:
        quads = list(surviving(ox.parse(source, format=form), report))
    except Refused as refused:
        raise Fault(DataError(f"{place}, line {refused.line}: {refused}")) from None
    except MemoryError:
        raise DataError(
            f"{place}: a token is longer than 16 MiB, the most that the parser takes"
        ) from None
    triples = dict.fromkeys(quad.triple for quad in quads if quad.predicate.value != MARK)
    if problems and not quads:
        raise Fault(
            DataError(f"{problems[0]}. No line of this page could be read: {answer.first_words}")
        )
    rows = sum(quad.predicate.value == MARK for quad in quads) if marked else len(triples)
    labels: set[str] = set()
    text = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b""
    if b"_:" in text:
        prefix = "" if wanted.keep_blank_labels else f"page{number}_"
        text = (
            ox.serialize(
                [_relabelled(triple, prefix, labels) for triple in triples],
                format=ox.RdfFormat.N_TRIPLES,
            )
            or b""
        )
    gained = Tally(
        1, rows + len(problems), len(triples), len(labels), len(problems), answer.received
    )
    return Page(text, gained, tuple(problems))


def _relabelled(node: Any, prefix: str, labels: set[str]) -> Any:
    """A triple, or a part of one, with new labels for its blank nodes; the old ones are collected."""
    if isinstance(node, ox.Triple):
        if not any(isinstance(part, ox.BlankNode | ox.Triple) for part in node):
            return node
        return ox.Triple(*(_relabelled(part, prefix, labels) for part in node))
    if isinstance(node, ox.BlankNode):
        labels.add(node.value)
        return ox.BlankNode(prefix + node.value)
    return node


def _read_count(answer: Answer) -> int:
    """The one number in the answer to a counting query."""
    if answer.media_type not in ("application/sparql-results+json", "application/json"):
        raise DataError(
            f"{answer.media_type or 'something'} came instead of a count: {answer.first_words}"
        )
    try:
        (solution,) = ox.parse_query_results(answer.body, format=ox.QueryResultsFormat.JSON)  # type: ignore[misc]
        return int(solution[0].value)
    except (SyntaxError, ValueError, TypeError, AttributeError, IndexError, KeyError):
        raise DataError(f"no count could be read from {answer.first_words}") from None
