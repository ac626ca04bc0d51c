"""Standard output and error that are closed, full, or cannot encode every character.

A result that cannot be printed is a WriteError. Messages and progress on standard error are dropped
instead: they never end a run. Characters that an encoding lacks are replaced.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import typer

from pyke.core.text import escaped
from pyke.errors import Interrupted, WriteError

_REPLACE = "pyke-replace"  # the name of our error handler
_ASCII_FORMS = {"─": "-", "−": "-", "…": "...", "→": "->", "←": "<-", "“": '"', "”": '"', "×": "x"}


class _Output(io.FileIO):
    """Standard output; an error has the exit code of a failed write or of a closed pipe."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:  # the reader, such as `head`, has stopped
            raise Interrupted(signal.SIGPIPE) from None
        except OSError as error:
            reasons = {errno.ENOSPC: "the disk is full", errno.EBADF: "it is closed"}
            reason = reasons.get(error.errno or 0, error.strerror)
            raise WriteError(f"cannot write to standard output: {reason}") from None


class _Messages(io.FileIO):
    """Standard error; what cannot be written is dropped."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Context manager: replace standard output and error by streams that fail as described above.

    The streams of Python are None if they were closed when the process started.
    """
    _occupy_closed_descriptors()
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = before[0] or io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    sys.stdout = _stream(_Output(1, "w", closefd=False), before[1])
    sys.stderr = _stream(_Messages(2, "w", closefd=False), before[2])
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def _occupy_closed_descriptors() -> None:
    """Open the descriptors 0 to 2: the next file would get a free one, and receive messages."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # gets the lowest number; writing to it still fails


def _stream(file: io.FileIO, before: TextIO | None) -> TextIO:
    encoding = before.encoding if before else "utf-8"
    return io.TextIOWrapper(io.BufferedWriter(file), encoding, _REPLACE, line_buffering=True)


def echo(text: str, **style: Any) -> None:
    """Print a line; `style` is that of typer.style."""
    text = encodable(text)
    # Without `file`, typer would ignore an ASCII encoding and write UTF-8.
    typer.echo(typer.style(text, **style) if style and text else text, file=sys.stdout)


def encodable(text: str) -> str:
    """Replace the characters that standard output cannot encode."""
    encoding = sys.stdout.encoding
    return text.encode(encoding, _REPLACE).decode(encoding)


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(_ASCII_FORMS.get(c) or escaped(c) for c in characters), error.end


codecs.register_error(_REPLACE, _replace)
