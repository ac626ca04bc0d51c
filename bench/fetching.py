"""Speed of `pyke fetch` from a local Oxigraph, unsorted and sorted.

The reference only requests the pages. Target: at most 4 times its seconds.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from common import finish, parser
from pyke.evaluate.lubm import Universities, lines
from pyke.read.sparql.fetch import fetch

COLUMNS = {"program": "", "triples": ",", "pages": ",", "seconds": ".1f", "ratio": ".2f"}
MAX_RATIO = 4.0  # a local server with its graph in memory is the hardest case


@contextmanager
def oxigraph(text: bytes) -> Iterator[str]:
    """Run an endpoint with these N-Triples; yields its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}"
    command = [str(Path(sys.executable).parent / "oxigraph"), "serve", "--bind", where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        assert server.stdout is not None
        try:
            server.stdout.readline()
            urlopen(
                Request(
                    f"http://{where}/store?default",
                    text,
                    {"Content-Type": "application/n-triples"},
                    method="PUT",
                )
            ).close()
            yield f"http://{where}/query"
        finally:
            server.terminate()


def request_pages(address: str, page_size: int) -> int:
    """Request all pages in turn, and count their triples."""
    rows = 0
    while True:
        query = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o }} LIMIT {page_size} OFFSET {rows}"
        with urlopen(
            Request(
                address, urlencode({"query": query}).encode(), {"Accept": "application/n-triples"}
            )
        ) as answer:
            came = answer.read().count(b"\n")
        if not came:
            return rows
        rows += came


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument(
        "--triples", type=int, default=50_000, help="number of triples, from LUBM(1) [50,000]"
    )
    arguments.add_argument("--page-size", type=int, default=5_000)
    given = arguments.parse_args()
    text = b"".join(
        sorted(
            set(
                b"".join(bytes(block) for block in lines(Universities(1))).splitlines(keepends=True)
            )
        )[: given.triples]
    )
    rows, ratios = [], {}
    with oxigraph(text) as address, tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        request_pages(address, given.page_size)
        plain = time.perf_counter() - began
        rows.append(
            {
                "program": "only requesting the pages",
                "triples": text.count(b"\n"),
                "seconds": plain,
                "ratio": 1.0,
            }
        )
        for title, order in (("pyke fetch", "none"), ("pyke fetch --order query", "query")):
            began = time.perf_counter()
            got = fetch(
                address,
                Path(folder) / f"{order}.nt.gz",
                page_size=given.page_size,
                order=order,
                timeout=3600,
            )
            seconds = time.perf_counter() - began
            rows.append(
                {
                    "program": title,
                    "triples": got.triples,
                    "pages": got.pages,
                    "seconds": seconds,
                    "ratio": seconds / plain,
                }
            )
            ratios[order] = seconds / plain
    misses = [
        f"{row['program']}: {row['triples']:,} triples received"
        for row in rows
        if row["triples"] != text.count(b"\n")
    ]
    if ratios["none"] > MAX_RATIO:
        ratio = f"{ratios['none']:.2f} times as long as the requests (target {MAX_RATIO:g})"
        misses.append(f"pyke fetch takes {ratio}")
    finish(COLUMNS, rows, misses, given.json)


if __name__ == "__main__":
    main()
