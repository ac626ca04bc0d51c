"""Reading as the tests see it: documents → strings, and lines that are valid or invalid."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pyoxigraph
import zstandard
from pyoxigraph import BlankNode, Literal, NamedNode, Quad

from pyke.config import Config
from pyke.core.progress import Progress
from pyke.graph import batches
from pyke.graph.graph import Census
from pyke.read import find, tokenize

Statement = tuple[str, str, str]


class Reading(NamedTuple):
    """What our reader made of some documents; a literal is a quotation mark and its key."""

    nodes: list[Statement]
    literals: list[Statement]
    triple_terms: int
    census: Census

    @property
    def statements(self) -> list[Statement]:
        return self.nodes + self.literals


def read(*inputs: str | Path, **parameters: Any) -> Reading:
    """Read inputs as strings, with our reader."""
    reading = Reading([], [], 0, Census())
    config = Config(**parameters)
    triple_terms = 0
    for batch in tokenize.read_batches(
        find.find_documents(inputs, config.format), config, reading.census, Progress()
    ):
        count, offsets, state = int(batch.terms.size[0]), batch.terms.offsets, batch.state
        terms = [
            batch.terms.blob[offsets[i] : offsets[i + 1] - 1].tobytes().decode()
            for i in range(count)
        ]
        reading.nodes.extend(
            (terms[s], terms[p], terms[o]) for s, p, o in batch.triples[: state[batches.TRIPLES]]
        )
        count = int(state[batches.LITERALS])
        reading.literals.extend(
            (terms[s], terms[p], f'"{key:x}')
            for (s, p), key in zip(batch.literals[:count], batch.literal_keys[:count], strict=True)
        )
        triple_terms += int(state[batches.TRIPLE_TERMS])
    return reading._replace(triple_terms=triple_terms)


def as_text(node: Any) -> str:
    """A node of pyoxigraph as our dictionaries have it."""
    return f"_:{node.value}" if isinstance(node, BlankNode) else str(node.value)


def assert_agrees(reading: Reading, quads: Iterable[Quad], seed: object = "") -> None:
    """Check that statements and their order agree, and that keys identify literals."""
    found = list(quads)
    plain = [quad for quad in found if isinstance(quad.object, NamedNode | BlankNode)]
    literal = [quad for quad in found if isinstance(quad.object, Literal)]
    assert reading.nodes == [
        (as_text(quad.subject), as_text(quad.predicate), as_text(quad.object)) for quad in plain
    ], seed
    assert [row[:2] for row in reading.literals] == [
        (as_text(quad.subject), as_text(quad.predicate)) for quad in literal
    ], seed
    pairs = {(row[2], quad.object) for row, quad in zip(reading.literals, literal, strict=True)}
    assert len(pairs) == len({key for key, _ in pairs}) == len({value for _, value in pairs}), seed
    assert reading.triple_terms == len(found) - len(plain) - len(literal), seed


def canonical(statements: Iterable[Statement]) -> set[Quad]:
    """Statements as a set in which blank nodes have names that do not depend on their labels."""

    blank: dict[str, BlankNode] = defaultdict(BlankNode)

    def node(text: str) -> Any:
        return (
            blank[text]
            if text.startswith("_:")
            else Literal(text)
            if text.startswith('"')
            else NamedNode(text)
        )

    dataset = pyoxigraph.Dataset(Quad(node(s), node(p), node(o)) for s, p, o in statements)
    dataset.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    return set(dataset)


def written(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: zstandard.ZstdCompressor().compress(content),
}


LINES = {
    "plain": "<http://e/a> <http://e/p> <http://e/b> .\n_:x <http://e/p> _:y.z .\n"
    "_:x<http://e/p>_:0.\n",
    "comments": "# one\n  \t# two\n<a:> <b:> <c:> . # three\n<a:> <b:> <d:>.#four <x:>\n# ünï\n\n"
    "   \n<a:> <b:> <e:> . # ünï\n",
    "crlf": '<a:> <b:> <c:> .\r\n\r\n# c\r\n<a:> <b:> "x" .\r\n<a:> <b:> <d:> . # c\r\n',
    "cr alone": "<a:> <b:> <c:> .\r<a:> <b:> <d:> .\r\r# c\r<a:> <b:> <e:> .\r",
    "tabs": '\t<a:>\t<b:>\t<c:>\t.\t\n<a:>\t\t <b:> \t"x"\t@en .\n'.replace("\t@", "@"),
    "no blanks": '<a:><b:><c:>.\n<a:><b:>"x"@en.\n<a:><b:>"x"^^<d:>.\n_:a<b:>_:c.\n_:a<b:>"".\n',
    "no last line break": "<a:> <b:> <c:> .\n<a:> <b:> <d:> .",
    "escapes in IRIs": "<http://e/\\u00e9> <http://e/\\U0001F600> <http://e/é> .\n"
    "<http://e/é> <http://e/😀> <http://e/\\u00E9> .\n",
    "escapes in literals": r'<a:> <b:> "\t\b\n\r\f\"\'\\ \u00e9 \U0001F600 \u0041" .'
    '\n<a:> <b:> "é" .\n<a:> <b:> "\\u00E9" .\n<a:> <b:> "\t\'\x00\x7f" .\n',
    "languages": "".join(
        f'<a:> <b:> "x"@{tag} .\n'
        for tag in [
            "en",
            "EN",
            "en-GB",
            "en-gb",
            "zh-Hans",
            "zh-Hant-TW",
            "de-CH-1996",
            "sl-rozaj-biske",
            "x-private",
            "i-klingon",
            "en-a-bbb",
            "de-1901",
            "es-419",
            "gsw",
            "aaaa",
            "und-x-y",
        ]
    ),
    "datatypes": "".join(
        f'<a:> <b:> "1"{kind} .\n'
        for kind in (
            "",
            "^^<http://www.w3.org/2001/XMLSchema#string>",
            "^^<http://www.w3.org/2001/XMLSchema#integer>",
            "^^<x:y>",
            "^^<x:\\u0079>",
            "@en",
        )
    ),
    "value and tag do not run together": '<a:> <b:> "x@en" .\n<a:> <b:> "x"@en .\n'
    '<a:> <b:> "xen" .\n'
    '<a:> <b:> "x"^^<en:> .\n<a:> <b:> "" .\n',
    "characters of 2, 3 and 4 bytes": "<http://e/é> <http://e/漢字> <http://e/😀> .\n"
    "<http://é/> <http://漢/> <http://😀/> .\n",
    "borders of Unicode": "".join(
        f'<a:> <b:> "{chr(c)}" .\n'
        for c in (0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x10FFFF)
    ),
    "borders of IRIs": "".join(
        f"<a:{chr(c)}> <b:> <c:> .\n"
        for c in (0xA0, 0xD7FF, 0xF900, 0xFDCF, 0xFDF0, 0xFFEF, 0x10000, 0x1FFFD, 0xEFFFD)
    ),
    "private characters in a query": "<a:?\ue000> <b:> <c:?\U0010fffd> .\n",
    "ports and users": "<http://e:80/> <http://e:/p> <http://u@e:8080/x> .\n"
    "<http://e:80> <http://[::1]:80/> <http://u:p@[::1]/> .\n"
    "<http://e:80?q> <http://e:80#f> <x://e:1> .\n",
    "percent signs": "<http://e/%20> <http://e/%C3%A9> <http://e%2e/?%aF#%00> .\n",
    "odd schemes": "<a:> <A+b-c.1:> <urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6> .\n"
    "<mailto:a@e> <tel:+1-2> <file:///x> .\n"
    "<data:,x> <a:/b//c> <a:b?c?d#e?f/g> .\n",
    "dots and empty parts": "<http://e/../a/./b> <http://e> <http://e?> .\n"
    "<http://e/#> <http://e//> <http:a> .\n<http:/a> <http:> <http://e/;,!$&'()*+=@:~_-.> .\n",
    "blank nodes": "_:a <b:> _:a.b .\n_:A_-1 <b:> _:0 .\n_:é <b:> _:a·b .\n_:_ <b:> _:__ .\n"
    "_:a..b <b:> _:c. \n_:漢 <b:> _:😀 .\n",
    "triple terms": "<a:> <b:> <<( <c:> <d:> <e:> )>> .\n"
    '<a:> <b:> <c:> .\n<a:> <b:> <<( _:x <d:> "y>>"@en )>> .\n'
    "<a:> <b:> <<( <c:> <d:> <<( <e:> <f:> <g:> )>> )>> .\n",
    "directions": '<a:> <b:> "x"@en--ltr .\n<a:> <b:> "x"@en--rtl .\n<a:> <b:> "x"@en .\n',
    "labels": '<a:> <http://www.w3.org/2000/01/rdf-schema#label> "A\\u00e9"@en .\n'
    '<a:> <http://www.w3.org/2004/02/skos/core#prefLabel> "\\"" .\n',
    "nothing": "",
    "only a comment": "# no triples",
    "bad UTF-8 in a comment": "# \udcff\n<a:> <b:> <c:> . # \udcff\n",
}


QUADS = {
    "graph names": "<a:> <b:> <c:> <g:> .\n"
    '<a:> <b:> <c:> _:g .\n<a:> <b:> "x" <g:> .\n<a:> <b:> "x"@en <g:é> .\n'
    '<a:> <b:> "x"^^<d:> _:g.\n<a:> <b:> <c:>.\n',
    "graph names without blanks": "<a:><b:><c:><g:>.\n<a:><b:>_:c<g:>.\n"
    '<a:><b:>"x"_:g.\n<a:><b:>"x"@en_:g.\n'
    '<a:><b:>"x"^^<d:><g:>.\n',
    "triple terms in graphs": "<a:> <b:> <<( <c:> <d:> <e:> )>> <g:> .\n<a:> <b:> <c:> <g:> .\n",
}


REFUSED: dict[str, str | bytes] = {
    "relative IRI": "<a> <b:> <c:> .",
    "space in an IRI": "<a:b c> <b:> <c:> .",
    "bad escape in an IRI": "<a:\\n> <b:> <c:> .",
    "escaped space in an IRI": "<a:\\u0020> <b:> <c:> .",
    "bad percent": "<a:%2> <b:> <c:> .",
    "bad port": "<http://e:8a/> <b:> <c:> .",
    "two fragments": "<a:#b#c> <b:> <c:> .",
    "scheme with a digit": "<1a:> <b:> <c:> .",
    "private character": "<a:\ue000> <b:> <c:> .",
    "noncharacter": "<a:\ufdd0> <b:> <c:> .",
    "control character": "<a:\x80> <b:> <c:> .",
    "surrogate": b"<a:\xed\xa0\x80> <b:> <c:> .",
    "overlong": b"<a:\xc0\xaf> <b:> <c:> .",
    "overlong string": b'<a:> <b:> "\xe0\x80\xaf" .',
    "over the end of Unicode": b'<a:> <b:> "\xf4\x90\x80\x80" .',
    "cut character": b'<a:> <b:> "\xe2\x82" .',
    "colon in a label": "_:a:b <b:> <c:> .",
    "scheme with é": "<é:> <b:> <c:> .",
    "escaped surrogate": '<a:> <b:> "\\ud800" .',
    "escape over the end": '<a:> <b:> "\\U00110000" .',
    "short escape": '<a:> <b:> "\\u00e" .',
    "unknown escape": '<a:> <b:> "\\q" .',
    "open string": '<a:> <b:> "x .',
    "open IRI": "<a:> <b:> <c: .",
    "no dot": "<a:> <b:> <c:>",
    "two dots": "<a:> <b:> <c:> ..",
    "text behind the dot": "<a:> <b:> <c:> . x",
    "two statements on a line": "<a:> <b:> <c:> . <a:> <b:> <c:> .",
    "literal as subject": '"a" <b:> <c:> .',
    "blank node as predicate": "<a:> _:b <c:> .",
    "literal as predicate": '<a:> "b" <c:> .',
    "language too long": '<a:> <b:> "x"@abcdefghi .',
    "language with a digit": '<a:> <b:> "x"@e1 .',
    "empty subtag": '<a:> <b:> "x"@en- .',
    "no language": '<a:> <b:> "x"@ .',
    "langString without a language": '<a:> <b:> "x"^^'
    "<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> .",
    "dirLangString without a direction": '<a:> <b:> "x"^^'
    "<http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString> .",
    "prefixed name": "a:b a:c a:d .",
    "directive": "@prefix a: <b:> .",
    "single quotes": "<a:> <b:> 'x' .",
    "triple term as subject": "<<( <a:> <b:> <c:> )>> <b:> <c:> .",
    "reified triple": "<a:> <b:> << <c:> <d:> <e:> >> .",
    "byte order mark inside": "\ufeff<a:> <b:> <c:> .",
    "form feed": "<a:> <b:>\f<c:> .",
    "label ends with a dot": "_:a. <b:> <c:> .",
    "empty label": "_: <b:> <c:> .",
    "label starts with a dash": "_:-a <b:> <c:> .",
}
