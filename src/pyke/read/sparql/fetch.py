"""Fetch all triples of a SPARQL endpoint into one N-Triples file."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyke.config import Config
from pyke.core import files, inputs
from pyke.core.progress import Progress
from pyke.errors import DataError, Interrupted, NoInput, UsageError
from pyke.read.child import ParserProcess
from pyke.read.sparql.download import Download
from pyke.read.sparql.endpoint import Endpoint
from pyke.read.sparql.kept_pages import KeptPages
from pyke.read.sparql.options import FetchOptions
from pyke.read.sparql.queries import Query, read_query


@dataclass(frozen=True)
class Fetched:
    """The result of a fetch."""

    output: str
    pages: int
    triples: int  # lines of the file
    repeats: int  # triples that occur in two pages
    blank_nodes: int
    skipped: int  # invalid lines
    expected: int | None  # rows that the endpoint counted before
    resumed_from: int  # pages of an earlier run
    asked_again: int  # repeated requests
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
    """Fetch the triples of a SPARQL endpoint into an N-Triples file.

    The file is written after the last page. Until then pages are kept in a hidden directory
    next to it.

    Parameters
    ----------
    endpoint : http or https address. A user and a password in it, or in the environment, are used
        and never shown.
    output : file that ends in .nt, or in .nt.gz, .nt.zst, .nt.bz2 or .nt.xz to compress it.
    resume : continue from the pages of an interrupted fetch.
    force : replace an existing file, and delete the pages of an interrupted fetch.
    progress : receives progress and notes.
    sleep : function that waits for some seconds.
    **options : fields of `FetchOptions`, such as query="CONSTRUCT …", graphs=["http://…"],
        literals=False, page_size=1000.

    Examples
    --------
    >>> fetch("ftp://example.com", "graph.nt.gz")
    Traceback (most recent call last):
    ...
    pyke.errors.UsageError: invalid endpoint 'ftp://example.com': use an http:// or https:// address
    """
    wanted, progress = FetchOptions.of(options), progress or Progress()
    source = _endpoint(endpoint, wanted, progress, sleep)
    query = _query(wanted)
    target = _checked_output(output)
    files.check_output_file(target, force)
    with closing(source), files.work_directory(target) as work:
        fingerprint = _fingerprint(source.url, query.text, wanted.graphs, wanted.keep_blank_labels)
        kept = KeptPages(work, fingerprint, resume, force, wanted.keep_blank_labels)
        resumed_from = kept.tally.pages
        with _resume_advice(kept), ParserProcess(Config()) as parser:
            download = Download(source, query, wanted, kept, parser, progress)
            expected = download.fetch_all()
            repeats = download.check_repeats()
            progress.stage("writing", kept.tally.pages, "pages")
            written = files.write_stream(target, kept.blocks(progress), force)
    tally = kept.tally
    return Fetched(
        output=str(output), pages=tally.pages, triples=tally.triples, repeats=repeats,
        blank_nodes=tally.blank_nodes, skipped=tally.skipped, expected=expected,
        resumed_from=resumed_from, asked_again=source.retried,
        bytes_received=tally.received, bytes_written=written,
    )  # fmt: skip


def _endpoint(
    url: str, options: FetchOptions, progress: Progress, sleep: Callable[[float], None]
) -> Endpoint:
    return Endpoint(
        url,
        graphs=options.graphs,
        user_agent=options.user_agent,
        timeout=options.timeout,
        retries=options.retries,
        pause=options.pause,
        progress=progress,
        sleep=sleep,
    )


def _query(options: FetchOptions) -> Query:
    if options.query is None:
        return Query.own(options.literals, options.order or "none")
    return Query.given(read_query(options.query), options.order or "query")


@contextmanager
def _resume_advice(kept: KeptPages) -> Iterator[None]:
    """Add to an error that the fetch can resume."""
    try:
        yield
    except Interrupted as stopped:
        raise Interrupted(stopped.signal_number, kept.advice) from None
    except (NoInput, DataError) as error:
        raise type(error)(f"{str(error).rstrip('.')}. {kept.advice}".rstrip()) from None


def _checked_output(output: str | os.PathLike[str]) -> Path:
    target = Path(output)
    name = target.name.lower()
    for suffix in inputs.COMPRESSIONS:
        name = name.removesuffix(suffix)
    if not name.endswith(".nt"):
        endings = ", .nt".join(inputs.COMPRESSIONS)
        raise UsageError(f"{target}: the name of an N-Triples file must end in .nt or .nt{endings}")
    return target


def _fingerprint(*values: Any) -> str:
    """Hash of what a resumed fetch must share: the URL itself may contain a key."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
