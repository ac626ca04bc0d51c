"""A real server in a thread of the tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyke.embedding.embedding import Embedding
from pyke.use.serve import run
from pyke.use.serve.explorer import Explorer
from pyke.use.serve.maps import warm_up
from pyke.use.serve.run import Address


@contextmanager
def serving(embedding: Embedding, other: Embedding | None = None) -> Iterator[int]:
    """The port of a server of an embedding."""
    listening = Address(port=0).listen()
    port = int(listening.getsockname()[1])
    explorer = Explorer(embedding, other)
    server = run.server(explorer, Address().access(port))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    warm_up(explorer)
    try:
        yield port
    finally:
        server.should_exit = True
        explorer.stop()
        thread.join(20)
        listening.close()
