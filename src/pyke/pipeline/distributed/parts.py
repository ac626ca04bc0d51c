"""Cut the inputs into parts that are read on their own.

N-Triples and N-Quads are cut at line breaks. A compressed file, or one in another syntax, is one
part.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from pyke.core.inputs import COMPRESSIONS, extension_of
from pyke.errors import NoInput, UsageError
from pyke.pipeline.partitions.storage import filesystem, is_url, local_path
from pyke.read.find import SYNTAXES, Document, find_documents, named_syntax, syntax_of

MIN_BYTES = 4 << 20  # of a part
_EXTENSIONS = {extension for syntax in SYNTAXES for extension in syntax.extensions} - {".json"}


@dataclass(frozen=True)
class Part:
    """The lines of a document that begin in some of its bytes, or all of it."""

    document: Document
    path: str  # the document, from any working directory
    number: int | None  # of the document, if there are several
    begin: int
    end: int
    whole: bool  # the document is read as one part, whatever its syntax


def find_inputs(inputs: Sequence[str], syntax_name: str | None) -> list[Document]:
    """Documents of paths, globs, directories and URLs, in the given order."""
    documents: list[Document] = []
    for name in inputs:
        if name == "-":
            raise UsageError("workers cannot read standard input. Save the input to a file first")
        if is_url(name) and local_path(name) is None:
            documents += _remote_documents(name, syntax_name)
        else:
            documents += find_documents(
                [str(local_path(name)) if is_url(name) else name], syntax_name
            )
    if not documents:
        raise NoInput("no input: pass a file, a directory, a glob or a URL")
    return documents


def _remote_documents(url: str, syntax_name: str | None) -> list[Document]:
    """Documents of a URL: a file, a folder or a glob."""
    system, path = filesystem(url)
    try:
        if any(mark in path for mark in "*?["):
            found = sorted(system.glob(path))
        elif system.isdir(path):
            found = [one for one in sorted(system.find(path)) if extension_of(one) in _EXTENSIONS]
        else:
            found = [path]
        sizes = [system.size(one) for one in found]
    except OSError as error:
        raise NoInput(f"cannot read {url}: {error.strerror or error or 'not found'}") from None
    if not found:
        raise NoInput(f"{url}: there is no RDF file")
    syntax = named_syntax(syntax_name)
    names = [system.unstrip_protocol(one) for one in found]
    return [
        Document(name, syntax_of(name, syntax), _compression(name), int(size or 0))
        for name, size in zip(names, sizes, strict=True)
    ]


def _compression(name: str) -> str | None:
    return next((one for one in COMPRESSIONS if name.lower().endswith(one)), None)


def cut(documents: Sequence[Document], partitions: int) -> list[Part]:
    """Parts of about the same size, several per partition if the inputs are large."""
    total = sum(document.size for document in documents)
    size = max(MIN_BYTES, -(-total // (2 * partitions)))
    parts = []
    for number, document in enumerate(documents):
        numbered = number if len(documents) > 1 else None
        path = str(local_path(document.name) or document.name)
        whole = document.syntax.kind != "lines" or document.compression is not None
        whole |= not is_url(path) and not os.path.isfile(path)
        count = 1 if whole else max(1, -(-document.size // size))
        for i in range(count):
            begin, end = document.size * i // count, document.size * (i + 1) // count
            parts.append(Part(document, path, numbered, begin, end, whole))
    return parts


class Lines:
    """A source with the lines that begin at the bytes begin … end of a file."""

    def __init__(self, file: BinaryIO, begin: int, end: int) -> None:
        self._file, self._end = file, end
        self._at, self._rest = begin, b""
        if begin:  # the line of the byte before belongs to the part before
            self._at = begin - 1
            file.seek(self._at)
            self._skip_line()
        self._done = self._at >= end

    def _skip_line(self) -> None:
        while data := self._file.read(1 << 16):
            cut = data.find(b"\n") + 1
            self._at += cut or len(data)
            if cut:
                self._rest = data[cut:]
                return

    def read(self, size: int = -1, /) -> bytes:
        """At most about `size` bytes; none after the last line."""
        if self._done:
            return b""
        data, self._rest = self._rest or self._file.read(size), b""
        last = max(0, self._end - 1 - self._at)  # the line of this byte is the last
        cut = data.find(b"\n", last) + 1
        if cut:
            data, self._done = data[:cut], True
        self._at += len(data)
        return data
