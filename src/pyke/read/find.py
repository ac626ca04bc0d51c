"""Find the documents to read, and determine their syntax and compression."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyke.core.inputs import COMPRESSIONS, compression_of, extension_of
from pyke.errors import NoInput, UsageError

TYPICAL_RATIO = 12  # text to compressed text


@dataclass(frozen=True)
class Syntax:
    """A syntax: its file extensions, and how its documents become lines.

    The kind is "lines" (tokenized directly), "parsed" (by pyoxigraph in a child process) or "table"
    (CSV and TSV).
    """

    name: str
    extensions: tuple[str, ...]
    kind: str
    oxigraph: str = ""  # name of the pyoxigraph.RdfFormat


SYNTAXES = (
    Syntax("ntriples", (".nt", ".ntriples"), "lines", "N_TRIPLES"),
    Syntax("nquads", (".nq", ".nquads"), "lines", "N_QUADS"),
    Syntax("turtle", (".ttl", ".turtle"), "parsed", "TURTLE"),
    Syntax("trig", (".trig",), "parsed", "TRIG"),
    Syntax("rdfxml", (".rdf", ".owl", ".xml", ".rdfs"), "parsed", "RDF_XML"),
    Syntax("jsonld", (".jsonld", ".json"), "parsed", "JSON_LD"),
    Syntax("tsv", (".tsv",), "table"),
    Syntax("csv", (".csv",), "table"),
)

_BY_EXTENSION = {extension: syntax for syntax in SYNTAXES for extension in syntax.extensions}
_BY_NAME = {syntax.name: syntax for syntax in SYNTAXES} | {
    extension[1:]: syntax for extension, syntax in _BY_EXTENSION.items()
}
_NAMES = ", ".join(syntax.name for syntax in SYNTAXES)


@dataclass(frozen=True)
class Document:
    """One input to read."""

    name: str
    syntax: Syntax
    compression: str | None
    size: int


def find_documents(
    inputs: Sequence[str | os.PathLike[str]], syntax_name: str | None = None
) -> list[Document]:
    """Documents of files, directories, globs and `-`, in the given order.

    The regular files of a directory are sorted by name. `syntax_name` overrides file extensions.
    """
    syntax = named_syntax(syntax_name)
    documents: list[Document] = []
    for name in [os.fspath(given) for given in inputs]:
        if name == "-":
            if syntax is None:
                raise UsageError(
                    "standard input has no file extension; name its syntax, "
                    'for example `format="ntriples"`'
                )
            documents.append(Document("-", syntax, None, 0))
        elif os.path.isdir(name):
            documents.extend(_document(file, syntax) for file in _rdf_files_in(name))
        elif os.path.exists(name):
            documents.append(_document(name, syntax))
        elif matches := sorted(glob.glob(name, recursive=True)):
            documents.extend(_document(match, syntax) for match in matches if os.path.isfile(match))
        else:
            raise NoInput(f"{name}: no such file or directory")
    if not documents:
        raise NoInput("no input: pass a file, a directory, a glob, or - for standard input")
    return documents


def text_bytes(documents: Sequence[Document]) -> int:
    """Estimated size of the decompressed documents."""
    return sum(doc.size * (TYPICAL_RATIO if doc.compression else 1) for doc in documents)


def count_skipped_files(inputs: Sequence[str | os.PathLike[str]]) -> int:
    """Number of files in the given directories that are not read."""
    files = [
        name for given in inputs if os.path.isdir(given) for name in _files_in(os.fspath(given))
    ]
    return sum(not _is_rdf(name) for name in files)


def syntax_of(name: str, syntax: Syntax | None = None) -> Syntax:
    """The given syntax, or that of the file extension."""
    syntax = syntax or _BY_EXTENSION.get(extension_of(name))
    if syntax is None:
        raise UsageError(f"{name}: unknown file extension; set `format` to one of: {_NAMES}")
    return syntax


def named_syntax(name: str | None) -> Syntax | None:
    """The syntax of this name, such as "turtle" or "ttl"."""
    if name is not None and name.lower() not in _BY_NAME:
        raise UsageError(f"`format` is {name!r}; it must be one of: {_NAMES}")
    return None if name is None else _BY_NAME[name.lower()]


def _document(name: str, syntax: Syntax | None) -> Document:
    syntax = syntax_of(name, syntax)
    try:
        return Document(name, syntax, compression_of(name), os.path.getsize(name))
    except OSError as error:
        raise NoInput(f"cannot open {name}: {error.strerror}") from None


def _rdf_files_in(directory: str) -> list[str]:
    def fail(error: OSError) -> None:
        raise NoInput(f"cannot read the directory {error.filename}: {error.strerror}")

    files = [name for name in sorted(_files_in(directory, fail)) if _is_rdf(name)]
    if not files:
        raise NoInput(
            f"{directory}: the directory has no RDF file. RDF files end in "
            f"{', '.join(_BY_EXTENSION)}, or these followed by {', '.join(COMPRESSIONS)}."
        )
    return files


def _is_rdf(name: str) -> bool:
    """Whether to read a file of a directory. Most .json files are not JSON-LD.

    Reading a pipe or a device may wait or continue without end. Users can name them.
    """
    extension = extension_of(name)
    if extension not in _BY_EXTENSION or extension == ".json":
        return False
    try:
        return stat.S_ISREG(os.stat(name).st_mode)
    except OSError:
        return True  # opening it raises the error


def _files_in(directory: str, fail: Callable[[OSError], None] | None = None) -> Iterator[str]:
    """Files in a directory and below it, without hidden files and embedding directories."""
    for top, directories, files in os.walk(directory, onerror=fail):
        directories[:] = [
            name
            for name in directories
            if name[0] != "." and not os.path.exists(os.path.join(top, name, "vectors.npy"))
        ]
        yield from (os.path.join(top, name) for name in files if name[0] != ".")
