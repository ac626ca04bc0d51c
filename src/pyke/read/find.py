"""Find input documents and their syntaxes."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyke.core.inputs import COMPRESSIONS, compression_of, extension_of
from pyke.errors import NoInput, UsageError


@dataclass(frozen=True)
class Syntax:
    """A syntax: its extensions, and the way its documents become lines."""

    name: str
    extensions: tuple[str, ...]
    kind: str  # "lines": tokenized as they are; "parsed": by pyoxigraph; "sandboxed": by pyoxigraph in a child; "table": columns
    oxigraph: str = ""  # name of the pyoxigraph.RdfFormat


SYNTAXES = (
    Syntax("ntriples", (".nt", ".ntriples"), "lines", "N_TRIPLES"),
    Syntax("nquads", (".nq", ".nquads"), "lines", "N_QUADS"),
    Syntax("turtle", (".ttl", ".turtle"), "parsed", "TURTLE"),
    Syntax("trig", (".trig",), "parsed", "TRIG"),
    Syntax("rdfxml", (".rdf", ".owl", ".xml", ".rdfs"), "sandboxed", "RDF_XML"),
    Syntax("jsonld", (".jsonld", ".json"), "sandboxed", "JSON_LD"),
    Syntax("tsv", (".tsv",), "table"),
    Syntax("csv", (".csv",), "table"),
)

_BY_EXTENSION = {extension: syntax for syntax in SYNTAXES for extension in syntax.extensions}

_BY_NAME = {syntax.name: syntax for syntax in SYNTAXES} | {
    ext[1:]: syntax for ext, syntax in _BY_EXTENSION.items()
}


@dataclass(frozen=True)
class Document:
    """One input to be read."""

    name: str
    syntax: Syntax
    compression: str | None
    size: int


def find_documents(
    inputs: Sequence[str | os.PathLike[str]], form: str | None = None
) -> list[Document]:
    """Files, directories, globs and `-` → documents, in the order given; a directory's files by name."""
    if form is not None and form.lower() not in _BY_NAME:
        raise UsageError(
            f"there is no format {form!r}; there are: {', '.join(syntax.name for syntax in SYNTAXES)}"
        )
    documents: list[Document] = []
    for name in [os.fspath(given) for given in inputs]:
        if name == "-":
            if form is None:
                raise UsageError(
                    "standard input has no name that tells its syntax; say --format, for example --format ntriples"
                )
            documents.append(Document("-", _BY_NAME[form.lower()], None, 0))
        elif os.path.isdir(name):
            documents.extend(_documents_below(name, form))
        elif os.path.exists(name):
            documents.append(_document(name, form))
        elif matches := sorted(glob.glob(name, recursive=True)):
            documents.extend(_document(match, form) for match in matches if os.path.isfile(match))
        else:
            raise NoInput(f"{name}: there is no such file or directory")
    if not documents:
        raise NoInput(
            "no input: name at least one file, directory or glob, or - for standard input"
        )
    return documents


def _documents_below(directory: str, form: str | None) -> list[Document]:
    def fail(error: OSError) -> None:
        raise NoInput(f"cannot read the directory {error.filename}: {error.strerror}")

    known = [
        name
        for name in sorted(_files_below(directory, fail))
        if extension_of(name) in _BY_EXTENSION and extension_of(name) != ".json"
    ]
    if not known:
        raise NoInput(
            f"{directory}: no file in it has an extension of RDF ({', '.join(_BY_EXTENSION)}, also with {', '.join(COMPRESSIONS)})"
        )
    return [_document(name, form) for name in known]


def _files_below(directory: str, fail: Callable[[OSError], None] | None = None) -> Iterator[str]:
    """The files in a directory, without hidden ones and without embeddings that were written there."""
    for top, directories, files in os.walk(directory, onerror=fail):
        directories[:] = [
            name
            for name in directories
            if name[0] != "." and not os.path.exists(os.path.join(top, name, "vectors.npy"))
        ]
        yield from (os.path.join(top, name) for name in files if name[0] != ".")


def count_skipped_files(inputs: Sequence[str | os.PathLike[str]]) -> int:
    """The files in directories that are not read, because their extension is not one of RDF (.json says too little)."""
    found = [
        name for given in inputs if os.path.isdir(given) for name in _files_below(os.fspath(given))
    ]
    return sum(
        extension_of(name) not in _BY_EXTENSION or extension_of(name) == ".json" for name in found
    )


def _document(name: str, form: str | None) -> Document:
    syntax = _BY_NAME[form.lower()] if form else _BY_EXTENSION.get(extension_of(name))
    if syntax is None:
        raise UsageError(
            f"{name}: its extension tells no syntax; say --format with one of: {', '.join(syntax.name for syntax in SYNTAXES)}"
        )
    try:
        return Document(name, syntax, compression_of(name), os.path.getsize(name))
    except OSError as error:
        raise NoInput(f"cannot open {name}: {error.strerror}") from None
