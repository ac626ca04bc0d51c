"""Parameters of requests: declared once, checked by the server and shown in the documentation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from pyke.use.serve.answers import Refused


@dataclass(frozen=True)
class Parameter:
    """A parameter of a request."""

    name: str
    text: str

    required: bool = False
    default: Any = None

    def parse(self, value: str) -> Any:
        """Return the value, or raise ValueError."""
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        """What OpenAPI says about the value."""
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Parameter):
    """A whole number in a range."""

    low: int = 0
    high: int = 2**31 - 1

    def parse(self, value: str) -> int:
        """Return the number. Only plain digits are one."""
        if not (value.isascii() and value.isdigit() and len(value) <= 10):
            raise ValueError
        number = int(value)
        if not self.low <= number <= self.high:
            raise ValueError
        return number

    def schema(self) -> dict[str, Any]:
        """A range of integers."""
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True)
class Text(Parameter):
    """A text of limited length."""

    longest: int = 200

    def parse(self, value: str) -> str:
        """Return the text."""
        if len(value) > self.longest:
            raise ValueError
        return value

    def schema(self) -> dict[str, Any]:
        """A string."""
        return {"type": "string", "maxLength": self.longest}


@dataclass(frozen=True)
class Choice(Parameter):
    """One of some words."""

    words: tuple[str, ...] = ()

    def parse(self, value: str) -> str:
        """Return the word."""
        if value not in self.words:
            raise ValueError
        return value

    def schema(self) -> dict[str, Any]:
        """The words."""
        return {"type": "string", "enum": list(self.words)}


@dataclass(frozen=True)
class Numbers(Parameter):
    """Numbers, separated by commas."""

    most: int = 100
    least: int = 0
    whole: bool = True

    def parse(self, value: str) -> list[float]:
        """Return the numbers."""
        parts = value.split(",") if value else []
        if not self.least <= len(parts) <= self.most:
            raise ValueError
        if self.whole:
            return [Number(self.name, "").parse(part) for part in parts]
        found = [float(part) for part in parts if len(part) <= 40]
        if len(found) != len(parts) or not all(map(math.isfinite, found)):
            raise ValueError
        return found

    def schema(self) -> dict[str, Any]:
        """An array."""
        kind = "integer" if self.whole else "number"
        return {
            "type": "array",
            "items": {"type": kind},
            "minItems": self.least,
            "maxItems": self.most,
        }


def parse(declared: Sequence[Parameter], query: bytes) -> dict[str, Any]:
    """Return the values of all parameters; raise Refused for unknown, repeated or invalid ones."""
    given: dict[str, str] = {}
    by_name = {parameter.name: parameter for parameter in declared}
    for pair in query.split(b"&") if query else []:
        name, _, value = (_text(part) for part in pair.partition(b"="))
        if name not in by_name or name in given:
            names = ", ".join(by_name) or "none"
            raise Refused(400, "unknown_parameter", f"The parameters are: {names}; each once.")
        given[name] = value
    return {name: _value(parameter, given.get(name)) for name, parameter in by_name.items()}


def _value(parameter: Parameter, given: str | None) -> Any:
    if given is None and not parameter.required:
        return parameter.default
    try:
        return parameter.parse(given or "")
    except ValueError:
        message = f"`{parameter.name}` is missing or invalid. {parameter.text}"
        raise Refused(400, "invalid_parameter", message) from None


def _text(part: bytes) -> str:
    """Decode a part of a query; bytes that are not UTF-8 are refused."""
    try:
        return unquote_to_bytes(part.replace(b"+", b" ")).decode()
    except UnicodeDecodeError:
        raise Refused(400, "invalid_parameter", "Parameters are in UTF-8.") from None
