"""`pyke serve` under load, its memory, its search, and its page in a browser.

- 64 connections ask for neighbours and search for 60 seconds, on this computer only. Requests for a
  small file on the same server are the limit that they are compared with.
- Search among a million names, compared with a loop over Python strings.
- With `--predictions`: seconds and memory of everything that takes long, such as predicted types
  and facts: of the server, of the process that computes it, and of both together; and how long a
  search takes meanwhile. "Said" is what the page states.
- The page of wordnet30 in headless Chromium: milliseconds until the first picture, and between two
  pictures while the map moves. Chromium draws without a graphics card there.

Targets: no errors, memory of the server below 1 GB and flat, a search below 50 ms, the first
picture within 2 s. `--seconds` and `--connections` change the load; they are at most 600 and 1,000.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import pyke
from common import ROOT, finish, graph, parser, table

MAX_SECONDS, MAX_CONNECTIONS = 600, 1_000
NAMES = 1_000_000
QUERIES = ("a", "son", "graph", "Person 77", "zzzz", "http://example.com/", "ex 123456")
FRAMES = 150
LOAD = {
    "requests": "", "connections": "", "per second": ",.0f", "of the limit": ".2f",
    "median ms": ",.1f", "p99 ms": ",.1f", "max ms": ",.0f", "statuses": "", "memory MB": "",
    "peak MB": ",.0f",
}  # fmt: skip


@contextmanager
def server(directory: Path) -> Iterator[tuple[str, int]]:
    """Address and process id of a server."""
    command = [sys.executable, "-m", "pyke", "serve", str(directory), "--port", "0"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout
        found = re.search(r"http://\S+/", child.stdout.readline())
        assert found, "the server did not start"
        yield found[0], child.pid
    finally:
        child.terminate()
        child.wait(20)


def memory(process: int) -> int:
    """Bytes of memory of a process, without the files that it maps."""
    status = Path(f"/proc/{process}/status").read_text()
    return 1024 * int(re.findall(r"^RssAnon:\s+(\d+)", status, re.MULTILINE)[0])


def peak(process: int) -> int:
    """The largest memory of a process so far, with the files that it maps."""
    status = Path(f"/proc/{process}/status").read_text()
    return 1024 * int(re.findall(r"^VmHWM:\s+(\d+)", status, re.MULTILINE)[0])


async def ask(host: str, port: int, targets: list[str], until: float) -> list[tuple[float, int]]:
    """Send requests on one connection until a time; return seconds and status of each."""
    reader, writer = await asyncio.open_connection(host, port)
    drawn, found = random.Random(len(targets)), []
    while time.monotonic() < until:
        began = time.monotonic()
        target = drawn.choice(targets)
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        size = re.search(rb"content-length: (\d+)", head)
        await reader.readexactly(int(size[1]) if size else 0)
        found.append((time.monotonic() - began, int(head.split()[1])))
    writer.close()
    return found


async def load(address: str, targets: list[str], connections: int, seconds: float) -> Any:
    """All answers to many connections."""
    host, port = address.removeprefix("http://").rstrip("/").split(":")
    until = time.monotonic() + seconds
    tasks = [ask(host, int(port), targets, until) for _ in range(connections)]
    return [one for answers in await asyncio.gather(*tasks) for one in answers]


def measured(address: str, process: int, targets: list[str], connections: int, seconds: float,
             name: str) -> dict[str, Any]:  # fmt: skip
    """One row: requests per second, percentiles, statuses and memory."""
    before = memory(process)
    began = time.monotonic()
    answers = asyncio.run(load(address, targets, connections, seconds))
    passed = time.monotonic() - began
    times = np.sort([taken for taken, _ in answers]) * 1000
    statuses = Counter(status for _, status in answers)
    return {
        "requests": name,
        "connections": connections,
        "per second": len(answers) / passed,
        "median ms": float(np.percentile(times, 50)),
        "p99 ms": float(np.percentile(times, 99)),
        "max ms": float(times[-1]),
        "statuses": ", ".join(f"{n:,} × {status}" for status, n in sorted(statuses.items())),
        "5xx": sum(n for status, n in statuses.items() if status >= 500),
        "memory MB": f"{before / 1e6:.0f} → {memory(process) / 1e6:.0f}",
        "growth": memory(process) / max(before, 1),
    }


def wait(address: str, target: str) -> Any:
    """Ask until something is computed; return the answer."""
    from urllib.request import urlopen

    while True:
        with urlopen(address.rstrip("/") + target) as answer:
            body = answer.read()
            if answer.status != 202:
                return body
        time.sleep(0.2)


def under_load(directory: Path, terms: int, connections: int, seconds: float) -> list[Any]:
    """Rows for a small file, neighbours and search, and the peak memory of the server."""
    with server(directory) as (address, process):
        wait(address, "/api/search?q=a")
        while not json.loads(wait(address, "/api/info"))["indexed"]:
            time.sleep(0.2)
        drawn = random.Random(1)
        ids = [drawn.randrange(terms) for _ in range(2_000)]
        nearest = [f"/api/nearest?term={one}&k=10" for one in ids]
        words = ["dog", "tree", "person", "sense-", "united", "chem", "law", "xyzzy", "water", "go"]
        search = [f"/api/search?q={word}{letter}" for word in words for letter in ("", "s", "er")]
        run = (address, process)
        rows = [
            measured(*run, ["/static/icon.svg"], connections, seconds / 6, "a small file"),
            measured(*run, nearest, connections, seconds, "nearest"),
            measured(*run, search, connections, seconds, "search"),
            measured(*run, nearest + search, connections, seconds, "both"),
        ]
        for row in rows:
            row["of the limit"] = row["per second"] / rows[0]["per second"]
        wait(address, "/api/points?layout=simulation")
        rows.append({"requests": "after the simulation in 2-D", "peak MB": peak(process) / 1e6})
    return rows


class Watch(threading.Thread):
    """The largest memory of a server and of its newest process, apart and together, in MB.

    `server` and `process` count mapped files as part of each. `together` has all processes, also
    those that wait for questions, and counts a page that several of them share once.
    """

    def __init__(self, server: int) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._ended = threading.Event()
        self._cpu: dict[int, float] = {}
        self.reset()

    def reset(self) -> None:
        """Forget what was measured."""
        Path(f"/proc/{self._server}/clear_refs").write_text("5")  # resets its peak
        self._known = set(self._cpu)
        self.process = self.together = 0.0

    @property
    def server(self) -> float:
        """The peak of the server."""
        return peak(self._server) / 1e6

    @property
    def cpu(self) -> float:
        """Processor time of the newest process."""
        return sum(spent for one, spent in self._cpu.items() if one not in self._known)

    def run(self) -> None:
        """Look five times a second."""
        while not self._ended.wait(0.2):
            children = [
                int(child)
                for task in Path(f"/proc/{self._server}/task").iterdir()
                for child in _read(task / "children").split()
            ]
            # A process that has just been forked still looks like the server.
            named = [one for one in children if "serve.tasks" in _read(f"/proc/{one}/cmdline")]
            for one in named:
                if one not in self._known:
                    self.process = max(self.process, _megabytes(one, "status", "VmHWM"))
                    self._cpu[one] = max(self._cpu.get(one, 0), cpu_seconds(one))
            shared = [_megabytes(one, "smaps_rollup", "Pss") for one in (self._server, *named)]
            self.together = max(self.together, sum(shared))

    def end(self) -> None:
        """Stop."""
        self._ended.set()
        self.join()


def _read(path: Path | str) -> str:
    """A file of /proc; empty if the process has ended."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _megabytes(process: int, file: str, field: str) -> float:
    found = re.search(rf"^{field}:\s+(\d+)", _read(f"/proc/{process}/{file}"), re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def cpu_seconds(process: int) -> float:
    """Processor time of a process so far."""
    fields = (_read(f"/proc/{process}/stat") or ")" + " 0" * 20).rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


LONG = {  # what takes long, and its address
    "simulation in 2-D": "points?layout=simulation",
    "film": "film",
    "springs": "forces?term=1000",
    "types": "types?term=1000",
    "facts": "facts?term=1000",
    "clusters": "legend?by=cluster",
}


def predictions(directory: Path) -> list[dict[str, Any]]:
    """What each long computation costs, and a search at the same time."""
    from urllib.error import HTTPError
    from urllib.request import urlopen

    rows = []
    with server(directory) as (address, process):
        watch = Watch(process)
        watch.start()
        while not json.loads(wait(address, "/api/info"))["indexed"]:
            time.sleep(0.2)
        said = json.loads(wait(address, "/api/info"))["costs"]
        rows.append(
            {"computation": "map", "server MB": watch.server, "together MB": watch.together}
        )
        for kind, target in LONG.items():
            watch.reset()
            began, spent, searches, status = time.monotonic(), cpu_seconds(process), [], 202
            while status in (202, 429):
                try:
                    with urlopen(f"{address}api/{target}") as answer:
                        status = answer.status
                except HTTPError as error:  # the computer is too busy: the page asks again, too
                    status = error.code
                at = time.monotonic()
                urlopen(f"{address}api/search?q=dog").close()
                searches.append(1000 * (time.monotonic() - at))
                time.sleep(0.2)
            rows.append({
                "computation": kind,
                "status": status,
                "seconds": time.monotonic() - began,
                "CPU s": cpu_seconds(process) - spent + watch.cpu,
                "server MB": watch.server,
                "process MB": watch.process or None,
                "said MB": said[kind] / 1e6 if kind in said else None,
                "together MB": watch.together,
                "search median ms": float(np.median(searches)),
                "search max ms": max(searches),
            })  # fmt: skip
        watch.end()
    return rows


def search_names() -> dict[str, Any]:
    """Milliseconds of a search among a million names."""
    from pyke.graph.terms import Terms, Texts
    from pyke.use.search import SearchIndex

    names = [f"http://example.com/people/Person_{n}" for n in range(NAMES)]
    labels = [f"Person {n} of the graph {n % 977}" for n in range(NAMES)]
    small = pyke.embed(ROOT / "examples" / "father.ttl", dimensions=2)
    made = pyke.Embedding(
        np.zeros((NAMES, 2), np.float32), Terms.of(names), small.types[:0],
        small.triples[:0], Texts.of(labels), np.arange(NAMES, dtype=np.int32), small.manifest,
    )  # fmt: skip
    began = time.monotonic()
    index = SearchIndex(made)
    built = time.monotonic() - began
    index.find("x", 10)
    times, spent, plain = [], [], []
    folded = [f"{label}\t{name}".lower() for label, name in zip(labels, names, strict=True)]
    for query in QUERIES:
        best, used = [], []
        for _ in range(5):
            began, before = time.monotonic(), time.thread_time()
            index.find(query, 10)
            best.append(time.monotonic() - began)
            used.append(time.thread_time() - before)
        times.append(1000 * float(np.median(best)))
        spent.append(1000 * float(np.median(used)))
        began = time.monotonic()
        sum(query.lower() in one for one in folded)
        plain.append(1000 * (time.monotonic() - began))
    return {
        "names": NAMES,
        "index s": built,
        "median ms": float(np.median(times)),
        "max ms": max(times),
        "max CPU ms": max(spent),
        "Python loop, median ms": float(np.median(plain)),
    }


# Moves the map and returns when each picture was finished: a fence tells, after the last command.
MOVE = """new Promise(done => {
  const points = explorer.chart.gl, {gl} = points, ends = [], draw = points.draw.bind(points);
  points.draw = (...given) => {
    draw(...given);
    const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    const look = () => {
      if (gl.getSyncParameter(fence, gl.SYNC_STATUS) === gl.SIGNALED) ends.push(performance.now());
      else setTimeout(look, 1);
    };
    setTimeout(look, 1);
  };
  const move = () => {
    explorer.chart.move(3, 2);
    explorer.chart.zoom(ends.length % 2 ? 1.02 : 1 / 1.015);
    if (ends.length < FRAMES) requestAnimationFrame(move); else done(ends);
  };
  move(); })"""
FIRST = """new Promise(done => { const look = () => {
  if (window.explorer?.chart.count) {
    const next = requestAnimationFrame;
    next(() => next(() => done(performance.now())));
  } else setTimeout(look, 5); }; look(); })"""
RENDERER = """(gl => gl.getParameter(gl.getExtension('WEBGL_debug_renderer_info')
  .UNMASKED_RENDERER_WEBGL))(document.createElement('canvas').getContext('webgl2'))"""


def page(directory: Path) -> dict[str, Any]:
    """Milliseconds until the first picture, and between pictures while the map moves.

    The page is opened twice: at once when the server prints its address, and when it is idle.
    """
    sys.path.append(str(ROOT / "tests"))
    from browser import CHROMIUM, Browser

    if CHROMIUM is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(Path(folder))
        browser.resize(1400, 860)
        with server(directory) as (address, process):
            browser.call("Page.navigate", url=f"{address}?layout=components")
            cold = browser.run(FIRST)
            while not json.loads(wait(address, "/api/info"))["indexed"]:
                time.sleep(0.2)
            browser.call("Page.navigate", url=f"{address}?layout=components&again")
            first = browser.run(FIRST)
            browser.wait("document.documentElement.dataset.ready === 'yes'")
            ready = browser.run("performance.now()")
            gaps = np.diff(browser.run(MOVE.replace("FRAMES", str(FRAMES))))
            drawn = browser.run("Math.min(explorer.chart.gl.most, explorer.chart.count)")
            renderer = browser.run(RENDERER)
            browser.close()
            return {
                "first picture ms": first,
                "of a new server ms": cold,
                "ready ms": ready,
                "frame median ms": float(np.median(gaps)),
                "frame p95 ms": float(np.percentile(gaps, 95)),
                "frame max ms": float(gaps.max()),
                "points in a frame": drawn,
                "server peak MB": peak(process) / 1e6,
                "renderer": renderer,
            }


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--connections", type=int, default=64)
    arguments.add_argument("--graph", default="wordnet30")
    arguments.add_argument("--predictions", action="store_true")
    arguments.add_argument("--directory", type=Path, help="an embedding of it, if there is one")
    given = arguments.parse_args()
    seconds = min(max(given.seconds, 1), MAX_SECONDS)
    connections = min(max(given.connections, 1), MAX_CONNECTIONS)
    with tempfile.TemporaryDirectory() as folder:
        directory = given.directory or Path(folder) / "out"
        if given.directory is None:
            pyke.embed(graph(given.data, given.graph), on_error="skip").save(directory)
        terms = len(pyke.load(directory))
        rows = under_load(directory, terms, connections, seconds)
        names, seen = search_names(), page(directory)
        predicted = predictions(directory) if given.predictions else []
    misses = [f"{row['requests']}: {row['5xx']} answers 5xx" for row in rows if row.get("5xx")]
    misses += [f"{row['requests']}: memory grew" for row in rows if row.get("growth", 1) > 1.1]
    misses += ["memory ≥ 1 GB"] * (rows[-1]["peak MB"] >= 1000)
    misses += [
        f"{row['computation']}: memory of the server ≥ 1 GB"
        for row in predicted
        if row["server MB"] >= 1000
    ]
    misses += ["search ≥ 50 ms"] * (names["max ms"] >= 50)
    if seen and seen["first picture ms"] >= 2000:
        misses.append("first picture after 2 s")
    if given.json:
        finish({}, [*rows, names, seen, *predicted], misses, True)
    table(LOAD, rows)
    table(dict.fromkeys(names, ",.1f"), [names])
    if seen:
        table({name: "" if name == "renderer" else ",.0f" for name in seen}, [seen])
    if predicted:
        table({name: ",.0f" if name != "computation" else "" for name in predicted[1]}, predicted)
    finish({}, [], misses, False)


if __name__ == "__main__":
    main()
