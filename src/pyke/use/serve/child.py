"""Long computations in a process of their own.

The server stays small and quick meanwhile, and a process that ends returns all of its memory. The
process opens the directory again, computes what `tasks` has under a name, and then answers
questions about it. A message from it is a line of JSON, and after an answer its bytes.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import select
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pyke.core.children import folders_of, isolated_python_with_packages
from pyke.core.progress import Progress
from pyke.use.serve import limits
from pyke.use.serve.answers import Refused

Answer = Callable[[int], bytes]  # the body of an answer about a term
LOOK_SECONDS = 0.3  # between two checks whether someone still waits
PIECE = 1 << 20  # bytes that are read at once
_LOG = logging.getLogger("pyke.use.serve")


class Impossible(Exception):
    """There is no result. The text says why; it contains no names of files."""


class Child:
    """A process that has computed something and answers questions about it.

    It ends when nobody has asked for long, and when the server ends.
    """

    def __init__(
        self, task: str, argument: int, directory: Path, manifest: Mapping[str, Any]
    ) -> None:
        self._task = task
        self._rest = b""
        self._lock = threading.RLock()  # of the pipes
        self._idle: threading.Timer | None = None
        arguments = [task, str(argument), str(directory), fingerprint(manifest)]
        command = isolated_python_with_packages(
            "pyke.use.serve.tasks", arguments, folders_of("pyke")
        )
        # In its own session, Ctrl+C does not reach the child; the server ends it.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone, for whatever reason."""
        return self._process.poll() is not None

    def compute(self, progress: Progress) -> None:
        """Wait until the child is ready. Raises Impossible, or what `progress` raises."""
        report: dict[str, Any] = {"stage": "", "done": 0}
        with self._lock:
            try:
                while True:
                    message = self._message(partial(progress.advance, report["done"]))
                    if message["kind"] == "ready":
                        break
                    if message["stage"] != report["stage"]:
                        progress.stage(message["stage"], message["total"])
                    report = message
            except BaseException:
                self.end()
                raise
            self._wait_for_questions()

    def __call__(self, term: int) -> bytes:
        """Ask about a term."""
        if not self._lock.acquire(timeout=limits.SECONDS):
            raise Refused(429, "too_slow", "The server is busy. Try again later.", _LATER)
        try:
            if self._idle:
                self._idle.cancel()
            if self.has_ended:
                raise Refused(429, "too_slow", "This is computed again. Ask again.", _LATER)
            assert self._process.stdin
            with suppress(BrokenPipeError):
                self._process.stdin.write(b"%d\n" % term)
            size = self._message()["bytes"]
            while len(self._rest) < size:
                self._read()
            body, self._rest = self._rest[:size], self._rest[size:]
        except Impossible:
            self.end()
            raise
        else:
            self._wait_for_questions()
            return body
        finally:
            self._lock.release()

    def end(self) -> None:
        """End the process; its memory is free afterwards."""
        self._process.kill()
        self._process.wait()
        with self._lock:  # who reads from it notices its end
            if self._idle:
                self._idle.cancel()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe:
                    pipe.close()

    def _wait_for_questions(self) -> None:
        self._idle = threading.Timer(limits.IDLE_SECONDS, self.end)
        self._idle.daemon = True
        self._idle.start()

    def _message(self, look: Callable[[], None] = lambda: None) -> Any:
        """The next message; `look` is called every now and then, and may raise an error."""
        while b"\n" not in self._rest:
            self._read(look)
        line, self._rest = self._rest.split(b"\n", 1)
        message = json.loads(line)
        if message["kind"] == "impossible":
            raise Impossible(message["text"])
        return message

    def _read(self, look: Callable[[], None] = lambda: None) -> None:
        look()
        assert self._process.stdout
        descriptor = self._process.stdout.fileno()
        if not select.select([descriptor], [], [], LOOK_SECONDS)[0]:
            return
        data = os.read(descriptor, PIECE)
        if not data:
            look()  # it was ended on purpose
            code = self._process.wait()
            _LOG.error("the process of %s ended with exit code %d", self._task, code)
            raise Impossible(_KILLED if code < 0 else _FAILED)
        self._rest += data


_LATER = (("retry-after", "1"),)
_FAILED = "This could not be computed: an error in PYKE"
_KILLED = "This could not be computed: its process was ended, as a system does without free memory"


def fingerprint(manifest: Mapping[str, Any]) -> str:
    """Names the content of an embedding directory."""
    text = json.dumps(manifest, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
