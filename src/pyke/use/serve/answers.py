"""Answers of the server: JSON, raw numbers, and errors with fixed texts."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.responses import Response

_JSON = "application/json; charset=utf-8"
_NUMBERS = "application/octet-stream"


class Refused(Exception):
    """A request that is not answered. The texts are fixed: they never contain details."""

    def __init__(
        self, status: int, code: str, message: str, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers


def json_answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer in JSON."""
    return Response(json_bytes(value), status, headers, media_type=_JSON)


def json_bytes(value: Any) -> bytes:
    """JSON; numbers that are not finite would be an error."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def finished_json(body: bytes) -> Response:
    """An answer that `json_bytes` made."""
    return Response(body, media_type=_JSON)


def numbers_answer(*arrays: NDArray[Any]) -> Response:
    """Arrays one after another."""
    return finished_numbers(number_bytes(*arrays))


def number_bytes(*arrays: NDArray[Any]) -> bytes:
    """Arrays one after another, with the lowest byte of each number first."""
    parts = [array.astype(array.dtype.newbyteorder("<"), copy=False) for array in arrays]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


def finished_numbers(body: bytes) -> Response:
    """An answer that `number_bytes` made."""
    return Response(body, media_type=_NUMBERS)


def error_answer(refused: Refused) -> Response:
    """An error in JSON: a code for programs, a sentence for people."""
    value = {"error": {"code": refused.code, "message": refused.message}}
    return json_answer(value, refused.status, dict(refused.headers))
