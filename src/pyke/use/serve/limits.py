"""Limits of the server. Each is checked before any work is done."""

from __future__ import annotations

MAX_QUERY = 200  # characters of a search
MAX_FOUND = 50  # terms that a search returns
MAX_NEIGHBOURS = 200
MAX_PAGE = 200  # triples, or rows of a list
MAX_NAMES = 1_000  # terms whose names are requested at once
MAX_POINTS = 1_000_000  # points in one answer; maps with more have levels of detail
MAX_TARGET = 8_000  # bytes of the path and the query of a request
MAX_HEADERS = 16_384  # bytes

MAX_CONNECTIONS = 1_200
MAX_WAITING = 1_000  # requests that are answered or wait; more are refused with 429
THREADS = 4  # requests that are computed at the same time
SECONDS = 10.0  # for one answer
HEADER_SECONDS = 10.0  # for a client to send a request
KEEP_ALIVE_SECONDS = 20
IDLE_SECONDS = 600.0  # until a process with predictions ends that nobody asks any more
PATIENCE_SECONDS = 30.0  # until a long computation is stopped that nobody asks for any more
