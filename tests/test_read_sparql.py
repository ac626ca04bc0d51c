"""fetch() from a real SPARQL server (Oxigraph) over HTTP.

Between the two, some tests put a server that behaves like a faulty endpoint.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode
from urllib.request import Request, urlopen

import pyoxigraph as ox
import pytest

import pyke as package
from conftest import ROOT, Command
from graphs import FAMILY
from pyke.core.inputs import Input, compression_of
from pyke.core.progress import Progress
from pyke.errors import (
    DataError,
    EmptyGraph,
    Interrupted,
    MissingLibrary,
    NoInput,
    OutputExists,
    PykeError,
    UsageError,
)
from pyke.read import child
from pyke.read.sparql import endpoint, pages
from pyke.read.sparql.fetch import Fetched, fetch

MORE = FAMILY.replace("http://e/", "http://more/")
NODES = """_:a <http://e/p> <http://e/1> .
_:a <http://e/p> <http://e/2> .
_:a <http://e/q> _:b .
_:b <http://e/p> "x" .
"""
BLANK = "".join(f'_:b{i} <http://e/p> "{i}" .\n' for i in range(12))
LINES = FAMILY.count("\n")

# --------------------------------------------------------------------------------------------------
# The servers
# --------------------------------------------------------------------------------------------------


class Oxigraph:
    """A running Oxigraph."""

    def __init__(self, address: str) -> None:
        self.address, self.query = address, f"{address}/query"

    def load(self, text: str, graph: str = "default") -> None:
        """Replace a graph."""
        where = graph if graph == "default" else urlencode({"graph": graph})
        urlopen(
            Request(
                f"{self.address}/store?{where}",
                text.encode(),
                {"Content-Type": "application/n-triples"},
                method="PUT",
            )
        ).close()


@pytest.fixture(scope="module")
def server() -> Iterator[Oxigraph]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}"
    command = [str(Path(sys.executable).parent / "oxigraph"), "serve", "--bind", where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        assert b"Listening" in process.stdout.readline()
        yield Oxigraph(f"http://{where}")
        process.terminate()


@pytest.fixture
def oxigraph(server: Oxigraph) -> Oxigraph:
    """The server, with a family in the default graph and another in a named graph."""
    server.load(FAMILY)
    server.load(MORE, "http://graphs/more")
    return server


Reply = Callable[["Handler", str], None]


class Bad(ThreadingHTTPServer):
    """A server in front of an Oxigraph.

    It answers pages with the planned replies first, then always with the same reply if there is
    one, and otherwise forwards a changed query to Oxigraph.
    """

    daemon_threads = True

    def __init__(self, behind: Oxigraph) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behind = behind
        self.planned: list[Reply] = []
        self.always: Reply | None = None
        self.change: Callable[[str], str] = str
        self.counts: bytes | None = None  # instead of the answer to a counting query
        self.pages: list[str] = []  # queries
        self.headers: list[Any] = []
        self.scheme = "http"

    @property
    def query(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_port}/query"

    def handle_error(self, *_: Any) -> None:
        """Ignore closed connections."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Bad

    def do_POST(self) -> None:
        query = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())["query"][0]
        self.server.headers.append(self.headers)
        reply: Reply = forward
        if "COUNT" not in query:
            self.server.pages.append(query)
            reply = (
                self.server.planned.pop(0) if self.server.planned else self.server.always or forward
            )
        elif self.server.counts is not None:
            self.send(200, "application/sparql-results+json", self.server.counts)
            return
        reply(self, query)

    def send(
        self, status: int, media_type: str, body: bytes, length: int | None = None, **headers: Any
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)
        if length is not None:
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


def answer(handler: Handler, query: str) -> tuple[str, bytes]:
    """The answer of Oxigraph."""
    asked = Request(
        handler.server.behind.query,
        urlencode({"query": handler.server.change(query)}).encode(),
        {"Accept": handler.headers["Accept"]},
    )
    with urlopen(asked) as response:
        return response.headers["Content-Type"], response.read()


def forward(handler: Handler, query: str) -> None:
    handler.send(200, *answer(handler, query))


def says(status: int, text: str = "", media_type: str = "text/plain", **headers: Any) -> Reply:
    return lambda handler, _: handler.send(status, media_type, text.encode(), **headers)


def half_by_length(handler: Handler, query: str) -> None:
    media_type, body = answer(handler, query)
    handler.send(200, media_type, body[: len(body) // 2], length=len(body))


def half_by_lines(handler: Handler, query: str) -> None:
    """Complete lines: only the Content-Length shows that some are missing."""
    media_type, body = answer(handler, query)
    handler.send(200, media_type, body[: body.index(b"\n") + 1], length=len(body))


def half_in_chunks(handler: Handler, query: str) -> None:
    media_type, body = answer(handler, query)
    handler.send_response(200)
    handler.send_header("Content-Type", media_type)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    half = body[: body.index(b"\n") + 1]
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(half), half))
    handler.close_connection = True


def half_a_line(handler: Handler, query: str) -> None:
    """An incomplete line: only the syntax shows it."""
    media_type, body = answer(handler, query)
    handler.send(200, media_type, body[:-10])


def half_of_an_archive(handler: Handler, query: str) -> None:
    media_type, body = answer(handler, query)
    handler.send(200, media_type, gzip.compress(body)[:-20] + b"broken", Content_Encoding="gzip")


def hangs_up(handler: Handler, _: str) -> None:
    handler.close_connection = True


def trickles(handler: Handler, _: str) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/n-triples")
    handler.send_header("Content-Length", "1000000000")
    handler.end_headers()
    while True:
        handler.wfile.write(b"\n")


def unframed(handler: Handler, query: str) -> None:
    media_type, body = answer(handler, query)
    handler.send_response(200)
    handler.send_header("Content-Type", media_type)
    handler.end_headers()
    handler.wfile.write(body)
    handler.close_connection = True


@contextmanager
def running(bad: Bad) -> Iterator[Bad]:
    thread = threading.Thread(target=bad.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield bad
    finally:
        bad.shutdown()
        bad.server_close()


@pytest.fixture
def bad(oxigraph: Oxigraph) -> Iterator[Bad]:
    with running(Bad(oxigraph)) as server:
        yield server


# --------------------------------------------------------------------------------------------------
# Helpers
# --------------------------------------------------------------------------------------------------


class Recorder(Progress):
    """Records notes, and stops like Ctrl-C after a number of rows."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.notes: list[str] = []
        self.stop_at = stop_at

    def advance(self, done: int) -> None:
        if self.stop_at is not None and done >= self.stop_at:
            raise Interrupted(signal.SIGINT)

    def note(self, message: str) -> None:
        self.notes.append(message)


class Sleeps(list[float]):
    """Records pauses instead of sleeping."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def get(where: str, output: Path, **options: Any) -> Fetched:
    """fetch() without pauses."""
    return fetch(where, output, **{"sleep": Sleeps(), **options})


def text_of(path: Path) -> bytes:
    with Input(str(path), compression_of(str(path))) as file:
        return b"".join(iter(lambda: file.read(1 << 20), b""))


def triples(text: bytes | str) -> set[ox.Triple]:
    return {quad.triple for quad in ox.parse(text, format=ox.RdfFormat.N_TRIPLES)}


def shape(text: bytes | str) -> set[ox.Quad]:
    """A graph with canonical blank node labels."""
    graph = ox.Dataset(ox.parse(text, format=ox.RdfFormat.N_TRIPLES))
    graph.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(graph)


# --------------------------------------------------------------------------------------------------
# Good endpoints
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["query", "subquery", "none"])
@pytest.mark.parametrize("page_size", [1, 3, LINES, 10_000])
def test_pages_of_any_size_make_up_the_graph(
    oxigraph: Oxigraph, tmp_path: Path, page_size: int, order: str
) -> None:
    fetched = get(oxigraph.query, tmp_path / "g.nt", page_size=page_size, order=order)
    assert triples(text_of(tmp_path / "g.nt")) == triples(FAMILY)
    assert (fetched.triples, fetched.expected, fetched.pages) == (
        LINES,
        LINES,
        -(-LINES // page_size),
    )
    assert [path.name for path in tmp_path.iterdir()] == ["g.nt"]


@pytest.mark.parametrize("ending", ["nt", "nt.gz", "nt.bz2", "nt.xz", "nt.zst"])
def test_the_output_extension_selects_the_compression(
    oxigraph: Oxigraph, tmp_path: Path, pyke: Command, ending: str
) -> None:
    path = tmp_path / f"g.{ending}"
    fetched = get(oxigraph.query, path, page_size=4)
    assert fetched.bytes_written == path.stat().st_size
    assert json.loads(pyke("info", path, "--json").stdout)["statements"] == LINES


def test_a_named_graph_is_fetched_alone(oxigraph: Oxigraph, tmp_path: Path) -> None:
    get(oxigraph.query, tmp_path / "g.nt", graphs=["http://graphs/more"], page_size=3)
    assert triples(text_of(tmp_path / "g.nt")) == triples(MORE)


def test_two_named_graphs_are_merged(oxigraph: Oxigraph, tmp_path: Path) -> None:
    oxigraph.load(FAMILY + MORE.splitlines(keepends=True)[0], "http://graphs/family")
    get(
        oxigraph.query,
        tmp_path / "g.nt",
        graphs=["http://graphs/more", "http://graphs/family"],
        page_size=3,
    )
    assert triples(text_of(tmp_path / "g.nt")) == triples(FAMILY + MORE)


def test_literals_can_be_excluded(oxigraph: Oxigraph, tmp_path: Path) -> None:
    get(oxigraph.query, tmp_path / "g.nt", literals=False)
    assert triples(text_of(tmp_path / "g.nt")) == {
        triple for triple in triples(FAMILY) if not isinstance(triple.object, ox.Literal)
    }


QUERIES = {
    "a filter": "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o . ?s a <http://e/male> }",
    "several triples a row": """
        CONSTRUCT { ?p <http://x/c> ?c . ?c <http://x/p> ?p . ?p a <http://x/P> }
        WHERE { ?p <http://e/hasChild> ?c }""",
    "rows that repeat triples": "CONSTRUCT { ?s a <http://x/thing> } WHERE { ?s ?p ?o }",
    "one triple of all rows": """CONSTRUCT { <http://x/a> <http://x/b> <http://x/c> }
        WHERE { ?s ?p ?o }""",
    "rows without triples": """CONSTRUCT { ?s <http://x/child> ?c }
        WHERE { ?s a ?type OPTIONAL { ?s <http://e/hasChild> ?c } } ORDER BY BOUND(?c)""",
    "prefixes, texts and comments": """PREFIX limit: <http://e/> # CONSTRUCT { nothing }
        construct { ?s limit:name "} LIMIT 3 {" }
        where { ?s a limit:male . FILTER('{' != ?s) } # LIMIT 2""",
    "an order and groups": """CONSTRUCT { ?t <http://x/size> ?n }
        WHERE { SELECT ?t (COUNT(*) AS ?n) WHERE { ?s a ?t } GROUP BY ?t } ORDER BY DESC(?n)""",
}


@pytest.mark.parametrize(("page_size", "order"), [(1, None), (2, "none"), (100, "query")])
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_pages_of_a_user_query_give_the_same_triples_as_one_answer(
    oxigraph: Oxigraph, tmp_path: Path, query: str, page_size: int, order: str | None
) -> None:
    store = ox.Store()
    store.load(FAMILY.encode(), ox.RdfFormat.N_TRIPLES)
    get(oxigraph.query, tmp_path / "g.nt", query=query, page_size=page_size, order=order)
    assert triples(text_of(tmp_path / "g.nt")) == set(store.query(query))  # type: ignore[arg-type]


def test_a_query_is_read_from_a_file(oxigraph: Oxigraph, tmp_path: Path) -> None:
    (tmp_path / "males.rq").write_text("CONSTRUCT { ?s a ?c } WHERE { ?s a ?c }")
    assert get(oxigraph.query, tmp_path / "g.nt", query=str(tmp_path / "males.rq")).triples == 5


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "SELECT * WHERE { ?s ?p ?o }",
            "the query is a SELECT; it must be a CONSTRUCT, which returns triples",
        ),
        ("DELETE WHERE { ?s ?p ?o }", "the query is a DELETE"),
        ("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o } LIMIT 10", "has a LIMIT"),
        ("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o } offset 10", "has a OFFSET"),
        (
            "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o } VALUES ?s { <http://e/a> }",
            "has a VALUES",
        ),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "no template"),
        ("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o", "balanced braces"),
        ("{ ?s ?p ?o }", "must have the form"),
    ],
)
def test_a_query_that_cannot_be_paged_is_refused_before_any_request(
    bad: Bad, tmp_path: Path, query: str, message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        get(bad.query, tmp_path / "g.nt", query=query)
    assert not bad.headers


def test_max_triples_limits_the_number_of_triples(oxigraph: Oxigraph, tmp_path: Path) -> None:
    assert get(oxigraph.query, tmp_path / "g.nt", max_triples=7, page_size=3).triples == 7
    assert len(triples(text_of(tmp_path / "g.nt"))) == 7


@pytest.mark.parametrize("media_type", ["text/turtle", "application/rdf+xml"])
def test_endpoints_without_ntriples_are_supported(
    bad: Bad, tmp_path: Path, media_type: str
) -> None:
    def other(handler: Handler, query: str) -> None:
        handler.headers.replace_header("Accept", media_type)
        forward(handler, query)

    bad.always = other
    get(bad.query, tmp_path / "g.nt", page_size=4)
    assert triples(text_of(tmp_path / "g.nt")) == triples(FAMILY)


# --------------------------------------------------------------------------------------------------
# Blank nodes
# --------------------------------------------------------------------------------------------------


def test_a_page_keeps_the_shape_of_its_blank_nodes(oxigraph: Oxigraph, tmp_path: Path) -> None:
    oxigraph.load(NODES)
    assert get(oxigraph.query, tmp_path / "g.nt").blank_nodes == 2
    assert shape(text_of(tmp_path / "g.nt")) == shape(NODES)


def test_the_same_label_in_two_pages_gives_two_blank_nodes(bad: Bad, tmp_path: Path) -> None:
    bad.planned = [
        says(200, f"_:b0 <http://e/p> <http://e/{page}> .\n", "application/n-triples")
        for page in (1, 2)
    ]
    assert get(bad.query, tmp_path / "g.nt", page_size=1, max_triples=2).blank_nodes == 2
    assert len({triple.subject for triple in triples(text_of(tmp_path / "g.nt"))}) == 2


def test_stable_blank_node_labels_can_be_kept(oxigraph: Oxigraph, tmp_path: Path) -> None:
    oxigraph.load(NODES)
    get(oxigraph.query, tmp_path / "g.nt", page_size=1, keep_blank_labels=True)
    assert shape(text_of(tmp_path / "g.nt")) == shape(NODES)


# --------------------------------------------------------------------------------------------------
# Pages with missing or repeated rows
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [None, QUERIES["several triples a row"]])
def test_no_row_is_missing_when_pages_are_shorter_than_requested(
    bad: Bad, tmp_path: Path, query: str | None
) -> None:
    bad.change = lambda query: re.sub(r"LIMIT \d+", "LIMIT 3", query)
    recorder = Recorder()
    get(bad.query, tmp_path / "capped.nt", query=query, progress=recorder)
    get(bad.behind.query, tmp_path / "whole.nt", query=query)
    assert triples(text_of(tmp_path / "capped.nt")) == triples(text_of(tmp_path / "whole.nt"))
    if query is None:
        assert recorder.notes == [
            "The endpoint returned 3 of 10,000 rows; the next page starts after them."
        ]


@pytest.mark.parametrize("order", ["query", "none"])
@pytest.mark.parametrize("page_size", [1, 3, 100])
def test_no_row_is_missing_when_rows_are_repeated(
    bad: Bad, tmp_path: Path, page_size: int, order: str
) -> None:
    bad.change = lambda query: query.replace(
        "WHERE { ?s ?p ?o }", "WHERE { { ?s ?p ?o } UNION { ?s ?p ?o } }"
    )
    fetched = get(bad.query, tmp_path / "g.nt", page_size=page_size, order=order)
    assert fetched.expected == 2 * LINES
    assert fetched.repeats == fetched.triples - LINES
    assert triples(text_of(tmp_path / "g.nt")) == triples(FAMILY)


def zigzag(query: str, seen: list[str]) -> str:
    """Reverse the order of every other page, unless the query is sorted."""
    if "COUNT" in query or "ORDER" in query:
        return query
    seen.append(query)
    return query.replace("\nLIMIT", f" ORDER BY {'DESC(?s)' if len(seen) % 2 else '?s'} LIMIT")


@pytest.mark.parametrize("stop_at", [None, 6])
def test_pages_in_different_orders_are_an_error(
    bad: Bad, tmp_path: Path, stop_at: int | None
) -> None:
    seen: list[str] = []
    bad.change = lambda query: zigzag(query, seen)
    recorder = Recorder(stop_at)
    with pytest.raises((DataError, Interrupted)):
        get(bad.query, tmp_path / "g.nt", page_size=3, progress=recorder)
    assert stop_at or "triples came twice so far" in recorder.notes[0]
    with pytest.raises(
        DataError,
        match=r'triples of .* came twice, and as many others may be missing.*`order="query"`',
    ):
        get(bad.query, tmp_path / "g.nt", page_size=3, resume=True)
    assert not (tmp_path / "g.nt").exists()
    assert get(bad.query, tmp_path / "g.nt", page_size=3, order="query", force=True).repeats == 0
    assert triples(text_of(tmp_path / "g.nt")) == triples(FAMILY)


@pytest.mark.parametrize("counts", [True, False])
def test_pages_of_blank_nodes_in_different_orders_are_an_error(
    bad: Bad, tmp_path: Path, counts: bool
) -> None:
    bad.behind.load(BLANK)
    seen: list[str] = []
    bad.change = lambda query: zigzag(query if counts else query.replace("COUNT(*)", "1/0"), seen)
    recorder = Recorder()
    if counts:
        with pytest.raises(
            DataError,
            match=r'triples of .* came twice, and as many others may be missing.*`order="query"`',
        ):
            get(bad.query, tmp_path / "g.nt", page_size=3, progress=recorder)
        assert not (tmp_path / "g.nt").exists()
        get(bad.query, tmp_path / "g.nt", page_size=3, order="query", force=True)
        assert shape(text_of(tmp_path / "g.nt")) == shape(BLANK)
    else:
        assert get(bad.query, tmp_path / "g.nt", page_size=3, progress=recorder).repeats == 0
        assert "differ from others only in blank nodes" in recorder.notes[-1]


def test_pages_in_different_orders_can_still_be_written(bad: Bad, tmp_path: Path) -> None:
    bad.behind.load(BLANK)
    seen: list[str] = []
    bad.change = lambda query: zigzag(query, seen)
    with pytest.raises(DataError, match=r"`resume=True` and `max_triples=12`"):
        get(bad.query, tmp_path / "g.nt", page_size=3)
    assert get(bad.query, tmp_path / "g.nt", page_size=3, resume=True, max_triples=12).triples == 12


@pytest.mark.parametrize("keep_blank_labels", [True, False])
def test_triples_that_differ_only_in_blank_nodes_are_accepted(
    oxigraph: Oxigraph, tmp_path: Path, keep_blank_labels: bool
) -> None:
    alike = "".join(
        f'_:b{i} <http://e/p> "_:x" .\n'
        f"_:b{i} <http://e/q> _:b{i // 2} .\n"
        f"<http://e/s> <http://e/p> _:b{i} .\n"
        for i in range(10)
    )
    oxigraph.load(alike)
    recorder = Recorder()
    fetched = get(
        oxigraph.query,
        tmp_path / "g.nt",
        page_size=2,
        keep_blank_labels=keep_blank_labels,
        progress=recorder,
    )
    assert (fetched.triples, fetched.repeats, recorder.notes) == (30, 0, [])


def test_skipped_lines_do_not_count_as_missing(bad: Bad, tmp_path: Path) -> None:
    def with_a_bad_line(handler: Handler, query: str) -> None:
        media_type, body = answer(handler, query)
        handler.send(200, media_type, body.replace(b"<http://e/1>", b"<http://e/ 1>"))

    bad.behind.load(NODES + "_:c <http://e/p> <http://e/2> .\n")
    bad.always = with_a_bad_line
    assert get(bad.query, tmp_path / "g.nt", page_size=3, on_error="skip").skipped == 1


@pytest.mark.parametrize(
    "query",
    [
        None,
        QUERIES["several triples a row"],
        "CONSTRUCT { [] <http://x/of> ?s } WHERE { ?s ?p ?o }",
    ],
)
@pytest.mark.parametrize("counts", [True, False])
def test_an_endpoint_that_ignores_offset_is_an_error(
    bad: Bad, tmp_path: Path, query: str | None, counts: bool
) -> None:
    def relabelled(handler: Handler, query: str) -> None:
        media_type, body = answer(handler, query)
        handler.send(
            200, media_type, body.replace(b"_:", b"_:answer%d" % len(handler.server.pages))
        )

    if query is None:
        bad.behind.load(NODES)
    bad.always = relabelled
    bad.change = lambda query: re.sub(
        r"OFFSET \d+", "OFFSET 0", query if counts else query.replace("COUNT(*)", "1/0")
    )
    with pytest.raises(DataError, match="it ignores OFFSET"):
        get(bad.query, tmp_path / "g.nt", query=query, page_size=2, progress=Recorder(stop_at=40))
    assert not (tmp_path / "g.nt").exists()


def test_an_error_at_a_large_offset_is_accepted(bad: Bad, tmp_path: Path) -> None:
    def not_so_far(handler: Handler, query: str) -> None:
        (says(500, "too far") if re.search(r"OFFSET \d{4}", query) else forward)(handler, query)

    bad.always = not_so_far
    fetched = get(
        bad.query, tmp_path / "g.nt", query=QUERIES["one triple of all rows"], page_size=1
    )
    # One more request for an empty page, and one for a page far after the last row.
    assert (fetched.pages, len(bad.pages)) == (LINES, LINES + 2)


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize(("ignored", "instead"), [(r"OFFSET \d+", "OFFSET 0"), (r"LIMIT \d+", "")])
def test_an_endpoint_that_ignores_limit_or_offset_is_an_error(
    bad: Bad, tmp_path: Path, ignored: str, instead: str, counts: bool
) -> None:
    bad.change = lambda query: re.sub(
        ignored, instead, query if counts else query.replace("COUNT(*)", "1/0")
    )
    with pytest.raises(DataError, match=f"it ignores {ignored.split()[0]}"):
        get(bad.query, tmp_path / "g.nt", page_size=3)
    assert not (tmp_path / "g.nt").exists()


def test_an_endpoint_that_cannot_count_is_fetched_completely(bad: Bad, tmp_path: Path) -> None:
    recorder = Recorder()
    bad.change = lambda query: (
        query if "COUNT" not in query else "SELECT ?s WHERE { ?s ?p ?o } LIMIT 0"
    )
    fetched = get(bad.query, tmp_path / "g.nt", page_size=3, progress=recorder)
    assert (fetched.expected, fetched.triples) == (None, LINES)
    assert recorder.notes[0].startswith("The endpoint cannot count its triples")


def test_fewer_rows_than_counted_are_an_error_and_can_still_be_written(
    bad: Bad, tmp_path: Path
) -> None:
    bad.planned = [forward, forward]
    bad.always = says(200, "", "application/n-triples")
    with pytest.raises(
        DataError,
        match=r"counts 10 triples but returns none after row 6\. .*`max_triples=6`.*`resume=True`",
    ):
        get(bad.query, tmp_path / "g.nt", page_size=3)
    assert not (tmp_path / "g.nt").exists()
    assert get(bad.query, tmp_path / "g.nt", page_size=3, resume=True, max_triples=6).triples == 6


def test_an_endpoint_without_triples_is_an_error(oxigraph: Oxigraph, tmp_path: Path) -> None:
    with pytest.raises(EmptyGraph, match="returned no triples"):
        get(oxigraph.query, tmp_path / "g.nt", graphs=["http://graphs/none"])
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------------------------------
# Failures
# --------------------------------------------------------------------------------------------------

TEMPORARY: dict[str, Reply] = {
    "500": says(500, "out of memory"),
    "503": says(503, "busy", Retry_After="0"),
    "429": says(429, "slow down", Retry_After="0"),
    "504": says(504),
    "206": says(206, "<http://e/a> <http://e/b> <http://e/c> .\n", "application/n-triples"),
    "the time limit of Virtuoso": says(200, "", "application/n-triples", X_SQL_State="S1TAT"),
    "half by length": half_by_length,
    "half by lines": half_by_lines,
    "half in chunks": half_in_chunks,
    "half a line": half_a_line,
    "half of an archive": half_of_an_archive,
    "half of some XML": says(
        200,
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>",
        "application/rdf+xml",
    ),
    "garbage": says(200, "\0garbage\n", "application/n-triples"),
    "garbage in Turtle": says(200, "garbage", "text/turtle"),
    "an empty page": says(200, "", "application/n-triples"),
    "hangs up": hangs_up,
}


@pytest.mark.parametrize("failure", TEMPORARY.values(), ids=TEMPORARY)
@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_temporary_failure_costs_one_more_request_and_no_triple(
    bad: Bad, tmp_path: Path, failure: Reply, on_error: str
) -> None:
    bad.planned = [forward, failure]
    fetched = get(bad.query, tmp_path / "g.nt", page_size=4, on_error=on_error)
    assert triples(text_of(tmp_path / "g.nt")) == triples(FAMILY)
    assert (fetched.triples, fetched.asked_again, fetched.skipped) == (LINES, 1, 0)


@pytest.mark.parametrize("failure", TEMPORARY.values(), ids=TEMPORARY)
def test_a_lasting_failure_is_an_error_and_earlier_pages_are_kept(
    bad: Bad, tmp_path: Path, failure: Reply
) -> None:
    bad.planned, bad.always = [forward], failure
    with pytest.raises((NoInput, DataError), match="1 pages with 4 triples are kept"):
        get(bad.query, tmp_path / "g.nt", page_size=4, retries=2)
    assert len(bad.pages) == 4
    assert not (tmp_path / "g.nt").exists()
    bad.always = None
    assert get(bad.query, tmp_path / "g.nt", page_size=4, resume=True).resumed_from == 1
    assert triples(text_of(tmp_path / "g.nt")) == triples(FAMILY)


PAGE = "<!DOCTYPE html><html>\n<title>Please log in</title></html>"
PERMANENT: dict[str, tuple[Reply, type[PykeError], str]] = {
    "HTML": (
        says(200, PAGE, "text/html"),
        DataError,
        "received text/html instead of RDF: “<!DOCTYPE html><html> <title>Please log in",
    ),
    "HTML that says it is text": (
        says(200, PAGE),
        DataError,
        "instead of RDF: “<!DOCTYPE html><html> <title>Please log in",
    ),
    "JSON": (
        says(200, "{}", "application/json"),
        DataError,
        "received application/json instead of RDF: “{}”",
    ),
    "no media type": (says(200, "x", ""), DataError, "received an answer without a media type"),
    "400": (says(400, "syntax error at line 1"), NoInput, "answers 400: “syntax error at line 1”"),
    "401": (says(401), NoInput, "PYKE_ENDPOINT_PASSWORD"),
    "403": (says(403, "who are you?"), NoInput, "`user_agent`"),
    "404": (says(404), NoInput, "answers 404: (nothing)"),
    "Virtuoso refuses to sort": (
        says(500, "22023 Error SR353: Sorted TOP clause"),
        NoInput,
        '`order="subquery"`',
    ),
    "an answer of unknown length": (unframed, DataError, "without a Content-Length"),
    "a long Retry-After": (
        says(503, "closed", Retry_After="86400"),
        NoInput,
        "asks to wait for 86,400 s",
    ),
    "a bomb of entities": (
        says(200, '<!DOCTYPE r [<!ENTITY a "b"><!ENTITY c "&a;">]><r/>', "application/rdf+xml"),
        DataError,
        "contains other entities",
    ),
}


@pytest.mark.parametrize(("failure", "kind", "message"), PERMANENT.values(), ids=PERMANENT)
def test_a_permanent_failure_is_an_error_that_describes_the_answer(
    bad: Bad, tmp_path: Path, failure: Reply, kind: type[PykeError], message: str
) -> None:
    bad.always = failure
    with pytest.raises(kind, match=re.escape(message)):
        get(bad.query, tmp_path / "g.nt", retries=1)
    assert list(tmp_path.iterdir()) == []


def test_a_slow_answer_times_out(bad: Bad, tmp_path: Path) -> None:
    bad.always = trickles
    with pytest.raises(NoInput, match=r"took longer than 0\.05 s"):
        get(bad.query, tmp_path / "g.nt", timeout=0.05, max_triples=1, retries=0)


RDF = b"HTTP/1.1 200 OK\r\nContent-Type: application/n-triples\r\n"
DRIBBLES = {
    "before the head": (b"", b"H"),
    "in a header": (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X: x\r\n"),
    "100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "in the size of a chunk": (RDF + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
    "small chunks": (RDF + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n\n\r\n"),
    "in the body": (RDF + b"Content-Length: 1000000\r\n\r\n", b"\n"),
    "in the body of an error": (b"HTTP/1.1 500 x\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
}


@contextmanager
def dribbling(start: bytes, drop: bytes) -> Iterator[str]:
    """A server that sends a start, and then a drop every few milliseconds without end."""
    stop = threading.Event()

    def serve(listener: socket.socket) -> None:
        with listener.accept()[0] as connection, suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(start)
            while not stop.wait(0.01):
                connection.sendall(drop)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            stop.set()
            thread.join()


@pytest.mark.parametrize(("start", "drop"), DRIBBLES.values(), ids=DRIBBLES)
def test_the_timeout_applies_to_an_answer_that_dribbles(
    start: bytes, drop: bytes, tmp_path: Path
) -> None:
    began = time.monotonic()
    with (
        dribbling(start, drop) as address,
        pytest.raises(NoInput, match=r"took longer than 0\.1 s"),
    ):
        get(address, tmp_path / "g.nt", timeout=0.1, max_triples=1, retries=0)
    assert time.monotonic() - began < 1


def test_the_timeout_applies_to_the_start_of_encryption(tmp_path: Path) -> None:
    with (
        dribbling(b"\x16\x03\x03\x40\x00", b"\x00") as address,
        pytest.raises(NoInput, match=r"took longer than 0\.1 s"),
    ):
        get(f"https{address[4:]}", tmp_path / "g.nt", timeout=0.1, max_triples=1, retries=0)


def test_the_timeout_applies_to_the_lookup_of_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answered.wait() and [])
    with pytest.raises(NoInput, match=r"took longer than 0\.1 s"):
        get("http://example.com", tmp_path / "g.nt", timeout=0.1, max_triples=1, retries=0)
    answered.set()


def test_a_signal_ends_the_wait_for_an_answer(tmp_path: Path) -> None:
    class Stopped(Progress):
        calls = 0

        def advance(self, done: int) -> None:
            self.calls += 1
            if self.calls == 3:
                raise Interrupted(signal.SIGINT)

    began = time.monotonic()
    with dribbling(*DRIBBLES["in a header"]) as address, pytest.raises(Interrupted):
        get(address, tmp_path / "g.nt", timeout=60, max_triples=1, progress=Stopped())
    assert time.monotonic() - began < 3


def test_a_page_after_a_timeout_uses_a_new_connection(bad: Bad, tmp_path: Path) -> None:
    bad.planned = [trickles]
    fetched = get(bad.query, tmp_path / "g.nt", timeout=1, page_size=100)
    assert (fetched.triples, fetched.asked_again) == (LINES, 1)


@pytest.mark.parametrize(
    "value", ["9" * 5000, "Fri, 31 Dec 99999999999999 23:59:59 GMT", "1e999", "-1", "Fri,", "²"]
)
def test_an_absurd_retry_after_is_an_error_or_ignored(bad: Bad, tmp_path: Path, value: str) -> None:
    bad.always = says(503, "busy", Retry_After=value)
    with pytest.raises(NoInput, match="answers 503"):
        get(bad.query, tmp_path / "g.nt", retries=1)


def test_a_silent_endpoint_times_out(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(NoInput, match=r"took longer than 0\.05 s"),
    ):
        get(
            f"http://127.0.0.1:{silent.getsockname()[1]}",
            tmp_path / "g.nt",
            timeout=0.05,
            max_triples=1,
            retries=0,
        )


def test_a_large_answer_is_refused_compressed_or_not(
    bad: Bad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "MAX_ANSWER", 1 << 20)
    much = b"\n" * (8 << 20)
    for body, headers in ((much, {}), (gzip.compress(much), {"Content_Encoding": "gzip"})):
        bad.always = lambda handler, _, body=body, headers=headers: handler.send(
            200, "application/n-triples", body, **headers
        )
        with pytest.raises(DataError, match="larger than 1 MiB"):
            get(bad.query, tmp_path / "g.nt")


NESTED = b"<http://e/a> <http://e/p> " + b"<<( <http://e/a> <http://e/p> " * 30_000
NESTED += b"<http://e/a>" + b" )>>" * 30_000 + b" .\n"
RDF_XML = (
    b"<!DOCTYPE rdf:RDF [%s]>"
    b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">%s'
)
BOMBS = {
    "nested triple terms": ("application/n-triples", NESTED, "the parser crashed"),
    "nested triple terms in Turtle": ("text/turtle", NESTED, "the parser crashed"),
    "long prefix": (
        "text/turtle",
        b"@prefix p: <http://e/" + b"a" * 10_000 + b"> .\n" + b"p:a p:b p:c .\n" * 200,
        "more than 100 times as long",
    ),
    "entities": (
        "application/rdf+xml",
        RDF_XML % (b'<!ENTITY a "b"><!ENTITY b "&a;&a;">', b""),
        "contains other entities",
    ),
    "entities in a comment": (
        "application/rdf+xml",
        RDF_XML % (b'<!-- <!ENTITY a "b"> -->', b'<e:a rdf:about="http://e/a"/></rdf:RDF>'),
        "<!ENTITY occurs 1 times but declares 0",
    ),
    "nested elements": (
        "application/rdf+xml",
        RDF_XML % (b"", b"<e:a><e:p>" * 2000),
        "nested deeper than 1000",
    ),
}


@pytest.mark.parametrize(("media_type", "body", "message"), BOMBS.values(), ids=BOMBS)
def test_a_malicious_answer_is_refused(
    bad: Bad,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    media_type: str,
    body: bytes,
    message: str,
) -> None:
    monkeypatch.setattr(child, "FREE_BYTES", 1 << 20)
    bad.always = lambda handler, _: handler.send(200, media_type, body)
    with pytest.raises(DataError, match=message):
        get(bad.query, tmp_path / "g.nt", max_triples=1, retries=1, on_error="skip")


def test_an_answer_that_is_large_as_n_triples_is_refused(
    bad: Bad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MAX_ANSWER", 1 << 20)
    body = b"@prefix p: <http://e/" + b"a" * 1000 + b"> .\n" + b"p:a p:b p:c .\n" * 1000
    bad.always = lambda handler, _: handler.send(200, "text/turtle", body)
    with pytest.raises(DataError, match="larger than 1 MiB as N-Triples"):
        get(bad.query, tmp_path / "g.nt", max_triples=1)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 60_000,
        b'{"a":' * 10_000,
        b" " * (1 << 17),
        b'{"results": {"bindings": [{"n": {"value": "-1"}}]}}',
        b'{"results": {"bindings": [{"n": {"value": "%s"}}]}}' % (b"9" * 5000),
        b'{"results": {"bindings": [{}]}}',
        b'{"results": {"bindings": [{"n": [1]}]}}',
        b'{"results": [1]}',
        b"\xff",
    ],
    ids=lambda body: body[:24].decode(errors="replace"),
)
def test_a_malicious_count_is_ignored(bad: Bad, tmp_path: Path, body: bytes) -> None:
    bad.counts = body
    recorder = Recorder()
    fetched = get(bad.query, tmp_path / "g.nt", progress=recorder)
    assert (fetched.triples, fetched.expected) == (LINES, None)
    assert recorder.notes[0].startswith(
        "The endpoint cannot count its triples: cannot read a count"
    )


def test_blank_nodes_in_triple_terms_and_text_that_looks_like_them(
    bad: Bad, tmp_path: Path
) -> None:
    body = (
        b"_:a <http://e/p> <<( _:a <http://e/_:x> _:b.c )>> .\n"
        b'_:b.c <http://e/p> "_:a \\" _:a"@en .\n'
    )
    bad.planned = [lambda handler, _: handler.send(200, "application/n-triples", body)]
    fetched = get(bad.query, tmp_path / "g.nt", max_triples=2)
    assert fetched.blank_nodes == 2
    assert text_of(tmp_path / "g.nt") == (
        b"_:page1_a <http://e/p> <<( _:page1_a <http://e/_:x> _:page1_b.c )>> .\n"
        b'_:page1_b.c <http://e/p> "_:a \\" _:a"@en .\n'
    )


def test_an_unreachable_endpoint_is_an_error(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(NoInput, match=r"cannot reach .*: .*refused"):
            get(f"http://127.0.0.1:{unused.getsockname()[1]}/sparql", tmp_path / "g.nt")


def test_invalid_lines_are_skipped_and_counted_with_on_error_skip(bad: Bad, tmp_path: Path) -> None:
    def with_a_bad_line(handler: Handler, query: str) -> None:
        media_type, body = answer(handler, query)
        handler.send(200, media_type, body.replace(b"<http://e/heinz>", b"<http://e/he inz>"))

    bad.always = with_a_bad_line
    with pytest.raises(DataError, match=r'page 1, line \d: .*`on_error="skip"` to skip such lines'):
        get(bad.query, tmp_path / "g.nt", page_size=5)
    recorder = Recorder()
    fetched = get(
        bad.query, tmp_path / "g.nt", page_size=5, on_error="skip", progress=recorder, force=True
    )
    assert (fetched.triples, fetched.skipped, len(recorder.notes)) == (LINES - 2, 2, 2)
    assert triples(text_of(tmp_path / "g.nt")) == {
        triple for triple in triples(FAMILY) if "heinz" not in str(triple)
    }


# --------------------------------------------------------------------------------------------------
# Waiting
# --------------------------------------------------------------------------------------------------


def test_pauses_double_and_are_random(bad: Bad, tmp_path: Path) -> None:
    bad.always = says(500)
    seen = set()
    for _ in range(3):
        recorder = Recorder()
        with pytest.raises(NoInput):
            get(bad.query, tmp_path / "g.nt", retries=8, max_triples=1, progress=recorder)
        pauses = [float(re.findall(r"retrying in ([0-9.]+) s", note)[0]) for note in recorder.notes]
        assert all(
            longest / 2 <= pause <= longest
            for pause, longest in zip(pauses, (1, 2, 4, 8, 16, 32, 60, 60), strict=True)
        )
        seen.add(tuple(pauses))
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("wish", "least", "most"), [("7", 6.99, 7.01), ("a time", 300, 500), ("soon", 0.5, 1)]
)
def test_retry_after_is_respected(
    bad: Bad, tmp_path: Path, wish: str, least: float, most: float
) -> None:
    if wish == "a time":
        wish = format_datetime(datetime.now(UTC) + timedelta(seconds=500))
    bad.planned = [says(429, Retry_After=wish)]
    sleeps = Sleeps()
    get(bad.query, tmp_path / "g.nt", sleep=sleeps)
    assert least <= sum(sleeps) <= most


def test_there_is_a_pause_between_requests(oxigraph: Oxigraph, tmp_path: Path) -> None:
    sleeps = Sleeps()
    get(oxigraph.query, tmp_path / "g.nt", page_size=5, pause=3, sleep=sleeps)
    assert sum(sleeps) == pytest.approx(3 * 3)  # a count, two pages, an empty one


# --------------------------------------------------------------------------------------------------
# Resuming
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [0, 3, 9, 10])
def test_an_interrupted_fetch_resumes(bad: Bad, tmp_path: Path, rows: int) -> None:
    with pytest.raises(Interrupted) as stopped:
        get(bad.query, tmp_path / "g.nt", page_size=3, progress=Recorder(stop_at=rows))
    assert ("`resume=True`" in str(stopped.value)) == (rows > 0)
    assert not (tmp_path / "g.nt").exists()
    bad.pages.clear()
    fetched = get(bad.query, tmp_path / "g.nt", page_size=2, resume=True)  # of another size
    assert fetched.resumed_from == -(-rows // 3)
    assert bad.pages[0].endswith(f"OFFSET {min(LINES, 3 * fetched.resumed_from)}")
    assert triples(text_of(tmp_path / "g.nt")) == triples(FAMILY)
    assert [path.name for path in tmp_path.iterdir()] == ["g.nt"]


@pytest.fixture
def kept(oxigraph: Oxigraph, tmp_path: Path) -> Path:
    """An output with kept pages."""
    with pytest.raises(Interrupted):
        get(oxigraph.query, tmp_path / "g.nt", page_size=3, progress=Recorder(stop_at=6))
    return tmp_path / "g.nt"


def test_kept_pages_are_deleted_only_with_force(oxigraph: Oxigraph, kept: Path) -> None:
    with pytest.raises(
        OutputExists,
        match=r"2 pages of an earlier fetch are kept .*`resume=True` .*`force=True` to restart",
    ):
        get(oxigraph.query, kept)
    fetched = get(oxigraph.query, kept, force=True)
    assert (fetched.pages, fetched.resumed_from) == (1, 0)


@pytest.mark.parametrize(
    "other",
    [
        {"graphs": ["http://graphs/more"]},
        {"literals": False},
        {"query": QUERIES["a filter"]},
        {"order": "query"},
    ],
)
def test_a_fetch_does_not_resume_from_pages_of_another_query(
    oxigraph: Oxigraph, kept: Path, other: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match=r"of another endpoint, query or graph"):
        get(oxigraph.query, kept, resume=True, **other)
    assert get(oxigraph.query, kept, resume=True).resumed_from == 2


def test_a_page_missing_from_the_tally_is_fetched_again(oxigraph: Oxigraph, kept: Path) -> None:
    (kept.parent / ".g.nt.pyke" / "0000003.nt.zst").write_bytes(b"half a p")
    get(oxigraph.query, kept, page_size=3, resume=True)
    assert triples(text_of(kept)) == triples(FAMILY)


def test_a_damaged_page_is_an_error(oxigraph: Oxigraph, kept: Path) -> None:
    (kept.parent / ".g.nt.pyke" / "0000001.nt.zst").write_bytes(b"half a p")
    with pytest.raises(DataError, match="cannot decompress"):
        get(oxigraph.query, kept, page_size=3, resume=True)


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"[]",
        b'{"fingerprint": "x", "tally": {"pages": "many"}}',
        b'{"fingerprint": "x", "tally": {"sheets": 1}}',
    ],
)
def test_a_damaged_tally_restarts_the_fetch(oxigraph: Oxigraph, kept: Path, state: bytes) -> None:
    (kept.parent / ".g.nt.pyke" / "state.json").write_bytes(state)
    assert get(oxigraph.query, kept, resume=True).resumed_from == 0
    assert triples(text_of(kept)) == triples(FAMILY)


# --------------------------------------------------------------------------------------------------
# Addresses and secrets
# --------------------------------------------------------------------------------------------------


def moved(where: str, status: int = 301) -> Reply:
    return says(status, "", Location=where)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed_with_the_query_and_remembered(
    bad: Bad, tmp_path: Path, status: int
) -> None:
    with running(Bad(bad.behind)) as first:
        first.always = moved(bad.query, status)
        get(first.query, tmp_path / "g.nt", page_size=3, max_triples=LINES)
        assert triples(text_of(tmp_path / "g.nt")) == triples(FAMILY)
        assert (len(first.pages), len(bad.pages)) == (1, 4)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("/query", "redirects more than 5 times"),
        ("file:///etc/passwd", "not an http or https address"),
        ("http://[", "not an http or https address"),
    ],
)
def test_an_invalid_redirect_is_an_error(
    bad: Bad, tmp_path: Path, where: str, message: str
) -> None:
    bad.always = moved(where)
    with pytest.raises(NoInput, match=message):
        get(bad.query, tmp_path / "g.nt")


def test_a_password_is_sent_only_to_the_endpoint_and_never_shown(
    bad: Bad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = "Basic dXNlcjpz4pi6Y3JldA=="  # user:s☺cret
    recorder = Recorder()
    where = bad.query.replace("//", "//user:s%E2%98%BAcret@") + "?key=s☺cret"
    bad.planned = [forward, says(500, "no")]
    with running(Bad(bad.behind)) as other:
        bad.always = moved(other.query)
        other.always = says(404)
        with pytest.raises(NoInput) as error:
            get(where, tmp_path / "g.nt", page_size=3, progress=recorder)
        assert {headers["Authorization"] for headers in bad.headers} == {expected}
        assert {headers["Authorization"] for headers in other.headers} == {None}
    state = (tmp_path / ".g.nt.pyke" / "state.json").read_text()
    shown = "".join([str(error.value), state, *recorder.notes])
    assert "cret" not in shown
    assert "user" not in shown

    monkeypatch.setenv("PYKE_ENDPOINT_USER", "user")
    monkeypatch.setenv("PYKE_ENDPOINT_PASSWORD", "s☺cret")
    bad.headers.clear()
    bad.always = None
    get(bad.query, tmp_path / "h.nt")
    assert {headers["Authorization"] for headers in bad.headers} == {expected}


def test_the_user_agent_can_be_set(bad: Bad, tmp_path: Path) -> None:
    get(bad.query, tmp_path / "a.nt")
    get(bad.query, tmp_path / "b.nt", user_agent="me (me@example.com)")
    assert {headers["User-Agent"] for headers in bad.headers} == {
        f"pyke-embeddings/{package.__version__}",
        "me (me@example.com)",
    }


@pytest.fixture
def https(oxigraph: Oxigraph, tmp_path: Path) -> Iterator[Bad]:
    """A server with a self-signed certificate, which is in cert.pem."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl to make a certificate with")
    made = (
        "-keyout",
        tmp_path / "key.pem",
        "-out",
        tmp_path / "cert.pem",
        "-subj",
        "/CN=test",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    )
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *made],
        check=True,
        capture_output=True,
    )
    with running(Bad(oxigraph)) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.scheme = "https"
        yield server


def test_an_untrusted_certificate_is_an_error(https: Bad, tmp_path: Path) -> None:
    with pytest.raises(NoInput, match="certificate"):
        get(https.query, tmp_path / "g.nt")
    assert not https.headers


def test_a_redirect_from_https_to_http_is_refused(
    https: Bad, bad: Bad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    get(https.query, tmp_path / "g.nt")
    https.always = moved(bad.query)
    with pytest.raises(NoInput, match="redirects from https to"):
        get(https.query, tmp_path / "h.nt")
    assert not bad.pages


# --------------------------------------------------------------------------------------------------
# Usage
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "where",
    [
        "ftp://e/",
        "example.com/sparql",
        "http://",
        "http://a:port/",
        "http://[::1/",
        "http://a b/",
        "http://a/\n",
        "",
    ],
)
def test_an_invalid_address_is_refused(tmp_path: Path, where: str) -> None:
    with pytest.raises(UsageError, match="invalid endpoint"):
        get(where, tmp_path / "g.nt")


@pytest.mark.parametrize(
    "wrong",
    [
        {"page_size": 0},
        {"page_size": 10**7},
        {"timeout": 0},
        {"retries": -1},
        {"pause": -1},
        {"max_triples": 0},
        {"timeout": float("nan")},
        {"order": "up"},
        {"on_error": "ask"},
        {"graphs": ["more"]},
        {"graphs": ["http://e/> }"]},
        {"user_agent": "a\nb: c"},
        {"colour": "red"},
        {"query": "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", "literals": False},
    ],
    ids=str,
)
def test_an_invalid_option_is_refused(bad: Bad, tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        get(bad.query, tmp_path / "g.nt", **wrong)
    assert not bad.headers


def test_invalid_outputs_are_refused_before_any_request(bad: Bad, tmp_path: Path) -> None:
    (tmp_path / "g.nt").write_text("mine")
    with pytest.raises(OutputExists):
        get(bad.query, tmp_path / "g.nt")
    for name in ("g.ttl", "g.gz", "-"):
        with pytest.raises(UsageError, match=r"must end in \.nt"):
            get(bad.query, tmp_path / name)
    with pytest.raises(NoInput, match="cannot read a query"):
        get(bad.query, tmp_path / "h.nt", query=str(tmp_path / "none.rq"))
    assert not bad.headers
    assert (tmp_path / "g.nt").read_text() == "mine"
    assert get(bad.query, tmp_path / "g.nt", force=True).triples == LINES


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "urllib3", None)
    with pytest.raises(MissingLibrary, match=r"urllib3.*\[fetch\]"):
        get("http://127.0.0.1/", tmp_path / "g.nt")


def test_fetch_is_a_public_function(oxigraph: Oxigraph, tmp_path: Path) -> None:
    for name in ("a.nt", "b.nt"):  # the second call finds the loaded function
        assert package.fetch(oxigraph.query, tmp_path / name).triples == LINES


# --------------------------------------------------------------------------------------------------
# The command
# --------------------------------------------------------------------------------------------------


def test_the_command_prints_a_table_of_counts(
    oxigraph: Oxigraph, tmp_path: Path, pyke: Command
) -> None:
    shown = pyke(
        "fetch",
        oxigraph.query,
        "-o",
        tmp_path / "g.nt.gz",
        "--page-size",
        "4",
        "--graph",
        "http://graphs/more",
    )
    assert (shown.returncode, re.findall(r"triples +(\d+)|pages +(\d+)", shown.stdout)) == (
        0,
        [("10", ""), ("", "3")],
    )
    counts = json.loads(
        pyke("fetch", oxigraph.query, "-o", tmp_path / "h.nt", "--no-literals", "--json").stdout
    )
    assert (counts["triples"], counts["pages"], counts["expected"]) == (8, 1, 8)


def test_the_command_stopped_by_a_signal_explains_how_to_resume(
    bad: Bad, tmp_path: Path, pyke: Command
) -> None:
    def interrupts(handler: Handler, query: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        forward(handler, query)

    bad.planned = [forward, forward, interrupts]
    stopped = pyke("fetch", bad.query, "-o", tmp_path / "g.nt", "--page-size", "3")
    assert stopped.returncode == 130
    assert re.search(r"Repeat the fetch with .*resume", stopped.stderr)
    assert (
        pyke("fetch", bad.query, "-o", tmp_path / "g.nt", "--page-size", "3", "--resume").returncode
        == 0
    )
    assert triples(text_of(tmp_path / "g.nt")) == triples(FAMILY)


def test_the_examples_of_the_documentation_work(
    oxigraph: Oxigraph, tmp_path: Path, pyke: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    oxigraph.load(
        "".join(f"{quad.triple} .\n" for quad in ox.parse(path=ROOT / "examples" / "father.ttl"))
    )
    monkeypatch.chdir(tmp_path)
    page = (
        (ROOT / "docs" / "how-to" / "fetch.md")
        .read_text()
        .replace("http://localhost:7878/query", oxigraph.query)
    )
    (command,) = re.findall(r"^    pyke (.*father.*)$", page, re.MULTILINE)
    (shown,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    counts = re.compile(r"(triples|endpoint|pages) +(\d+)")
    assert counts.findall(pyke(*command.split()).stdout) == counts.findall(shown)
    names: dict[str, Any] = {}
    exec(code, names)
    assert (names["fetched"].triples, names["fetched"].pages) == (18, 4)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (says(200, "\x1b[31m[bold]<html>", "text/html"), 65),
        (says(404, "\x1b[31m"), 66),
        (says(500), 66),
        (half_a_line, 65),
    ],
)
def test_errors_of_the_command_are_one_line_without_markup_and_an_exit_code(
    bad: Bad, tmp_path: Path, pyke: Command, reply: Reply, code: int
) -> None:
    bad.always = reply
    failed = pyke("fetch", bad.query, "-o", tmp_path / "g.nt", "--retries", "0")
    assert (
        failed.returncode,
        failed.stderr.count("pyke: "),
        "\x1b" in failed.stderr,
        "Traceback" in failed.stderr,
    ) == (code, 1, False, False)
