"""Parse documents with pyoxigraph in a child process, which `sandbox` runs."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import IO

from pyke.config import Config
from pyke.core.children import folders_of, isolated_python, minimal_environment
from pyke.core.inputs import Allowance, ByteSource
from pyke.errors import DataError
from pyke.read.oxigraph import clean_message
from pyke.read.problems import Report
from pyke.read.sandbox import END, LENGTH, PROBLEM

MAX_MEMORY = 4 << 30  # bytes of a child
MIN_MEMORY = 256 << 20
PIECE = 1 << 16  # bytes that the child gets at once

# N-Quads repeat namespaces that other syntaxes abbreviate: usually 2 to 10 bytes per byte, 65 for
# lists of short numbers, and thousands if a prefix stands for a very long IRI.
MAX_EXPANSION = 100
FREE_BYTES = 64 << 20  # of N-Quads above this ratio; small documents may be very repetitive
FREE_SECONDS = 1.0  # of CPU time for a document, besides those in proportion to its size


class ParserProcess:
    """Context manager: a child process that parses the documents of a run, one at a time.

    A large document that it refuses, and one that crashes it, ends the child. The next document
    starts another one. All documents share an allowance for the length of their N-Quads.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._child: subprocess.Popen[bytes] | None = None
        self._allowance = Allowance(MAX_EXPANSION, FREE_BYTES)
        self._sent = 0  # bytes of the current document

    def __enter__(self) -> ParserProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def parse(self, source: ByteSource, name: str, form: str, report: Report) -> Iterator[bytes]:
        """N-Quads of a document in blocks of complete lines; `form` is a pyoxigraph.RdfFormat.

        A document that needs too much CPU time is a DataError, also if errors are skipped: how much
        of it was read would depend on the speed of the machine.
        """
        child = self._child = self._child or self._start()
        failures: list[BaseException] = []
        feeder = threading.Thread(
            target=self._feed, args=(source, form, child.stdin, failures), daemon=True
        )
        self._sent = received = 0
        feeder.start()
        block, unfinished = b"", [b""]  # lines, and the start of one that continues
        ended = reusable = False
        try:
            for kind, content in _frames(child.stdout):
                ended = kind == END
                reusable = ended and not content
                if block:  # one frame late: a caller that stops at the last block keeps the child
                    yield block
                    block = b""
                if ended:
                    break
                if kind == PROBLEM:
                    problem = json.loads(content)
                    report(problem["line"], clean_message(problem["message"]), problem["count"])
                    continue
                received += len(content)
                if not self._allowance.allows(self._sent, received):
                    report(0, _TOO_LARGE)
                    ended = True
                    break
                cut = content.rfind(b"\n") + 1
                if cut:
                    block = b"".join((*unfinished, content[:cut]))
                    unfinished = []
                unfinished.append(content[cut:])
            if block:
                yield block
        finally:
            self._allowance.next_part()
            if not reusable:
                self._stop(feeder)
        if failures:
            raise failures[0]
        if child.returncode == -signal.SIGPROF:
            raise DataError(f"{name}: {_TOO_SLOW}")
        if not ended:
            report(0, f"the parser crashed (exit code {child.returncode}), {_CRASHED}")

    def _start(self) -> subprocess.Popen[bytes]:
        memory = min(MAX_MEMORY, max(MIN_MEMORY, self._config.memory or MAX_MEMORY))
        folders = folders_of("pyke", "pyoxigraph")
        return subprocess.Popen(
            isolated_python("pyke.read.sandbox", [str(memory), str(FREE_SECONDS)], folders),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=minimal_environment(),
            cwd="/",
            start_new_session=True,  # Ctrl-C does not reach the child; this process stops it
        )

    def _stop(self, feeder: threading.Thread | None = None) -> None:
        """Stop the child and the thread that writes to it."""
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        child.wait()
        if feeder is not None:
            # It may wait for its source. As a daemon it ends with the process.
            feeder.join(1.0)
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _feed(
        self, source: ByteSource, form: str, pipe: IO[bytes], failures: list[BaseException]
    ) -> None:
        """Write a document to the child. If the source fails, close the pipe before its end."""
        settings = {"form": form, "base": self._config.base, "lenient": self._config.lenient}
        try:
            pipe.write(json.dumps(settings).encode() + b"\n")
            while data := source.read(PIECE):
                self._sent += len(data)
                pipe.write(len(data).to_bytes(LENGTH) + data)
            pipe.write(bytes(LENGTH))
            pipe.flush()
        except BrokenPipeError:
            pass  # the child stopped early and reported why
        except BaseException as error:
            failures.append(error)
            with suppress(BrokenPipeError):
                pipe.close()


_TOO_LARGE = (
    f"the document is refused: its statements are more than {MAX_EXPANSION} times as long as the "
    "document, as it abbreviates very long IRIs. If you trust it, convert it to N-Quads"
)
_TOO_SLOW = (
    "the document is refused: it needs much more time than usual documents of its size, as those "
    "with very long namespaces or contexts do. If you trust it, convert it to N-Quads"
)
_CRASHED = (
    "as the document is nested too deeply or needs too much memory; the document cannot be read "
    "after this"
)


def _frames(pipe: IO[bytes] | None) -> Iterator[tuple[bytes, bytes]]:
    """Frames of the child's standard output, up to one that is cut off as the child crashed."""
    assert pipe is not None
    while len(head := pipe.read(1 + LENGTH)) == 1 + LENGTH:
        size = int.from_bytes(head[1:])
        content = pipe.read(size)
        if len(content) < size:
            return
        yield head[:1], content
