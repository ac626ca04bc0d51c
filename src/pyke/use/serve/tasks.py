"""The process of a long computation: `python -m pyke.use.serve.tasks TASK ARGUMENT DIRECTORY …`.

`child` starts it. It writes how far it is, and then answers terms that it reads from its input.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from pyke.core import system
from pyke.core.progress import Progress
from pyke.embedding.embedding import load
from pyke.errors import NothingToScore, PykeError
from pyke.use.serve import maps, physics, predicted
from pyke.use.serve.child import Answer, Impossible, fingerprint
from pyke.use.serve.explorer import Explorer

TASKS: dict[str, Callable[[Explorer, int, Progress], Answer]] = {
    "types": predicted.prepare_types,
    "facts": predicted.prepare_facts,
    "film": physics.prepare_film,
    "clusters": maps.prepare_clusters,
}
REPORT_SECONDS = 0.1  # between two reports of one stage


class _Reports(Progress):
    """Writes how far a computation is."""

    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        self._stage, self._total, self._written = "", 0, 0.0

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:  # noqa: ARG002
        """Write the stage."""
        self._stage, self._total, self._written = name, total or 0, 0.0
        self.advance(0)

    def advance(self, done: int) -> None:
        """Write how much is done, unless this was written just now."""
        if time.monotonic() - self._written > REPORT_SECONDS:
            self._written = time.monotonic()
            _send(self._output, "progress", stage=self._stage, total=self._total, done=int(done))

    def iteration(self, number: int, energy: float, objective: float, displacement: float) -> None:  # noqa: ARG002
        """Write the iteration."""
        self.advance(number)


def _send(output: BinaryIO, kind: str, body: bytes = b"", **more: object) -> None:
    output.write(json.dumps({"kind": kind, **more}).encode() + b"\n" + body)
    output.flush()


def _questions() -> queue.Queue[int]:
    """The terms that the server asks about. The process ends with its input, so with the server."""
    asked: queue.Queue[int] = queue.Queue()

    def read() -> None:
        for line in sys.stdin:
            asked.put(int(line))
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return asked


def main(task: str, argument: str, directory: str, wanted: str) -> None:
    """Compute a task on an embedding directory, and answer questions until the input ends."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else is written between the messages
    asked = _questions()
    try:
        embedding = load(Path(directory))
        if fingerprint(embedding.manifest) != wanted:
            raise Impossible("The embedding directory was replaced: start the server again")
        answer = TASKS[task](Explorer(embedding), int(argument), _Reports(output))
        system.release_free_memory()
        _send(output, "ready")
        while True:
            body = answer(asked.get())
            _send(output, "answer", body, bytes=len(body))
    except (NothingToScore, Impossible) as reason:
        _send(output, "impossible", text=str(reason))
    except (PykeError, MemoryError) as error:
        _send(output, "impossible", text=f"This could not be computed ({type(error).__name__})")
    except BrokenPipeError:
        pass  # the server has ended
    except Exception:
        traceback.print_exc()  # into the log of the server
        _send(output, "impossible", text="This could not be computed: an error in PYKE")


if __name__ == "__main__":
    main(*sys.argv[1:])
