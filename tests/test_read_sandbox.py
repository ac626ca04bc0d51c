"""Malicious documents are refused quickly with an error; reading never uses the network."""

from __future__ import annotations

import io
import json
import re
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from documents import PACK, read, written
from pyke.config import Config
from pyke.core import inputs, system
from pyke.core.progress import Progress
from pyke.errors import DataError, SyntaxProblem
from pyke.graph.batches import TRIPLES
from pyke.graph.graph import Census
from pyke.read import child, find, tokenize
from pyke.read.oxigraph import MAX_DEPTH
from pyke.read.sandbox import MAX_JSON_DEPTH, MAX_XML_DEPTH, Refused, check_json

MEMORY = 512 << 20  # bytes: the limit must not be the reason for a refusal
SOON = 10.0  # seconds: each takes less than one, unless the machine is very busy
PORT_OF_NOBODY = "http://127.0.0.1:9"


def xml(body: str, doctype: str = "") -> str:
    declared = f"<!DOCTYPE rdf:RDF {doctype}>" if doctype else ""
    names = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"'
    return f'<?xml version="1.0"?>\n{declared}\n<rdf:RDF {names}>\n{body}\n</rdf:RDF>\n'


def about(text: str) -> str:
    return f'<rdf:Description rdf:about="http://e/a"><e:p>{text}</e:p></rdf:Description>'


LAUGHS = '<!ENTITY l0 "ha">' + "".join(
    f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12)
)
LONG, SHORT = (f'[<!ENTITY a "{"x" * length}">]' for length in (100_000, 4_000))

ATTACKS = {
    "billion laughs.rdf": (
        xml(about("&l11;"), f"[{LAUGHS}]"),
        "'l1' is too long or contains other entities",
    ),
    "billion laughs in an attribute.rdf": (
        xml('<rdf:Description rdf:about="http://e/&l11;"/>', f"[{LAUGHS}]"),
        "'l1' is too long or contains",
    ),
    "quadratic blow-up.rdf": (xml(about("&a;" * 100_000), LONG), "'a' is too long or contains"),
    "quadratic blow-up of a shorter entity.rdf": (
        xml(about("&a;" * 200_000), SHORT),
        "amplification",
    ),
    "quadratic blow-up in an attribute.rdf": (
        xml(f'<rdf:Description rdf:about="http://e/{"&a;" * 200_000}"/>', SHORT),
        "amplification",
    ),
    "quadratic blow-up over many lines.rdf": (
        xml(f"{about('&a;' * 100)}\n" * 2_000, SHORT),
        "amplification",
    ),
    "parameter entities.rdf": (
        xml(about("x"), '[<!ENTITY % a "x"> <!ENTITY % b "%a;%a;">]'),
        "parameter entity",
    ),
    "file as entity.rdf": (
        xml(about("&x;"), '[<!ENTITY x SYSTEM "file:///etc/passwd">]'),
        "ENTITY",
    ),
    "address as entity.rdf": (
        xml(about("&x;"), f'[<!ENTITY x SYSTEM "{PORT_OF_NOBODY}/x">]'),
        "ENTITY",
    ),
    "external parameter entity.rdf": (
        xml(about("x"), f'[<!ENTITY % x SYSTEM "{PORT_OF_NOBODY}/x"> %x;]'),
        "ENTITY",
    ),
    "entity of an external definition.rdf": (
        xml(about("&x;"), f'SYSTEM "{PORT_OF_NOBODY}/x.dtd"'),
        "entity 'x'",
    ),
    "entities in a comment.rdf": (
        xml(about("&l11;"), f"[<!-- {LAUGHS} -->]"),
        "<!ENTITY occurs 12 times but declares 0 entities",
    ),
    "entities in a comment over many lines.rdf": (
        xml(about("&l11;"), '[<!ENTITY a "x">\n<!--\n' + LAUGHS.replace("><", ">\n<") + "\n-->]"),
        "<!ENTITY occurs 13 times but declares 1 entities",
    ),
    "entities in a processing instruction.rdf": (
        xml(about("&l11;"), f"[<?x {LAUGHS} ?>]"),
        "<!ENTITY occurs 12 times but declares 0 entities",
    ),
    "entities in a system identifier.rdf": (
        xml(about("&l11;"), f"SYSTEM '{LAUGHS}'"),
        "<!ENTITY occurs 12 times but declares 0 entities",
    ),
    "entities in an entity.rdf": (
        xml(about("&l0;"), "[<!ENTITY a '<!ENTITY l0 \"ha\">'>]"),
        "<!ENTITY occurs 2 times but declares 1 entities",
    ),
    "entities in a second document type inside a comment.rdf": (
        xml(about("&l11;"), f"[<!-- ]> <!DOCTYPE x [{LAUGHS}]> -->]"),
        "<!ENTITY occurs 12 times but declares 0 entities",
    ),
    "entities after an open bracket in a comment.rdf": (
        xml(f"<!-- {LAUGHS} > -->\n{about('&l11;')}", "[<!-- < -->]"),
        "<!ENTITY occurs 12 times but declares 0 entities",
    ),
    "entities after an entity that is cut in two.rdf": (
        xml(about("&l11;"), f"[{' ' * 8_100}{'<!-- <!ENTITY -->' * 100}]"),
        "<!ENTITY occurs 100 times but declares 0 entities",
    ),
    "entities in another encoding.rdf": (
        f'<?xml version="1.0" encoding="cp037"?>{xml(about("&l11;"))[21:]}',
        "the encoding is 'cp037'; only UTF-8 is supported",
    ),
    "a very long document type.rdf": (
        xml(about("x"), "[" + "<!-- x -->\n" * 200_000 + "]"),
        "the root element is not in the first 1 MiB",
    ),
    "deep elements.rdf": (
        xml("<e:C><e:p>" * 50_000 + "</e:p></e:C>" * 50_000),
        f"deeper than {MAX_XML_DEPTH}",
    ),
    "deep elements, open.rdf": (xml("<e:C><e:p>" * 50_000), f"deeper than {MAX_XML_DEPTH}"),
    "deep literal.rdf": (
        xml(f'<e:C><e:p rdf:parseType="Literal">{"<a>" * 100_000}</e:p></e:C>'),
        f"deeper than {MAX_XML_DEPTH}",
    ),
    "deep arrays.jsonld": ("[" * 100_000, f"deeper than {MAX_JSON_DEPTH}"),
    "deep objects.jsonld": (
        '{"http://e/p":' * 100_000 + "1" + "}" * 100_000,
        f"deeper than {MAX_JSON_DEPTH}",
    ),
    "deep contexts.jsonld": (
        '{"@context":' * 3_500 + "{}" + "}" * 3_500,
        f"deeper than {MAX_JSON_DEPTH}",
    ),
    "deep after strings.jsonld": (
        '["]", "\\"]", ' * 100_000,
        f"deeper than {MAX_JSON_DEPTH}",
    ),
    "remote context.jsonld": (
        f'{{"@context": "{PORT_OF_NOBODY}/c", "name": "x"}}',
        "remote context",
    ),
    "file as context.jsonld": ('{"@context": "file:///etc/passwd", "name": "x"}', "remote context"),
    "imported context.jsonld": (
        f'{{"@context": {{"@version": 1.1, "@import": "{PORT_OF_NOBODY}/c"}}, "name": "x"}}',
        "remote context",
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused_with_its_reason(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "MAX_MEMORY", MEMORY)
    text, reason = ATTACKS[name]
    path = written(tmp_path / name, text)
    began = time.perf_counter()
    with pytest.raises(SyntaxProblem, match=re.escape(str(path))) as caught:
        read(path)
    assert time.perf_counter() - began < SOON
    assert reason in str(caught.value)
    census = read(path, written(tmp_path / "good.nt", "<a:> <b:> <c:> ."), on_error="skip").census
    # The problem is counted, and the next document is read.
    assert (census.errors, census.problems[0].message.count(reason)) == (1, 1)


# --------------------------------------------------------------------------------------------------
# Long abbreviated IRIs
# --------------------------------------------------------------------------------------------------

IRI = f"http://e/{'x' * (1 << 17)}"
NAMES = [f"p:{i}" for i in range(3_000)]
LONG_IRIS = {
    "prefix.ttl": f"@prefix p: <{IRI}> .\n" + "".join(f"{x} {x} {x} .\n" for x in NAMES),
    "prefix of objects.ttl": f"PREFIX p: <{IRI}>\n p: p: {','.join(NAMES)} .",
    "late prefix.ttl": "".join(f"<a:{i}> <a:p> <a:o> .\n" for i in range(50_000))
    + f"@prefix p: <{IRI}> .\n"
    + "".join(f"{x} {x} {x} .\n" for x in NAMES),
    "base.ttl": f"@base <{IRI}> .\n" + "".join(f"<#{x}> <#{x}> <#{x}> .\n" for x in NAMES),
    "prefix of a datatype.ttl": f"@prefix p: <{IRI}> .\n" + '<a:a> <a:p> "x"^^p:,1 .\n' * 9_000,
    "prefix in a triple term.ttl": f"@prefix p: <{IRI}> .\n" + "<< p: p: p: >> p: p: .\n" * 2_000,
    "graph.trig": f"@prefix p: <{IRI}> .\n" + "".join(f"{x} {{ {x} {x} p:o }}\n" for x in NAMES),
    "context.jsonld": json.dumps(
        {"@context": {"p": f"{IRI}/"}, "@graph": [{"@id": x, x: {"@id": "p:o"}} for x in NAMES]}
    ),
    "vocabulary.jsonld": json.dumps(
        {"@context": {"@vocab": IRI}, "@graph": [{"@id": "a:b", x[2:]: "o"} for x in NAMES * 3]}
    ),
    "base.jsonld": json.dumps(
        {"@context": {"@base": IRI}, "@graph": [{"@id": x[2:], "a:b": "o"} for x in NAMES * 3]}
    ),
    "namespace.rdf": xml(
        f'<rdf:Description xmlns:p="{IRI}">' + "<p:p>x</p:p>\n" * 6_000 + "</rdf:Description>"
    ),
    "base.rdf": xml(
        f'<rdf:Description xml:base="{IRI}">'
        + "".join(f'<e:p rdf:resource="#{x[2:]}"/>\n' for x in NAMES * 3)
        + "</rdf:Description>"
    ),
    "entity.rdf": xml(
        "".join(f'<e:C rdf:about="http://e/&a;{x[2:]}"/>\n' for x in NAMES * 8), SHORT
    ),
}


@pytest.mark.parametrize("name", LONG_IRIS)
def test_long_abbreviated_iris_are_refused_in_little_memory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name.endswith(".jsonld") and not system.is_linux():
        pytest.skip("elsewhere a thread looks at the memory now and then and may miss a peak")
    monkeypatch.setattr(child, "FREE_BYTES", 1 << 20)
    path = written(tmp_path / name, LONG_IRIS[name])
    # The parser of JSON-LD expands all IRIs before it returns the first one. Its memory is limited
    # in proportion to the document.
    if path.suffix != ".jsonld":
        monkeypatch.setattr(child, "MAX_MEMORY", MEMORY)
    reason = "needs too much memory" if path.suffix == ".jsonld" else "times as long|amplification"
    with pytest.raises(DataError, match=f"{re.escape(str(path))}.*({reason})"):
        read(path)
    census = read(path, written(tmp_path / "good.nt", "<a:> <b:> <c:> ."), on_error="skip").census
    assert (census.errors, len(census.problems)) == (1, 1)


def test_the_limit_of_long_iris_applies_to_all_documents_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "FREE_BYTES", 5 << 20)
    monkeypatch.setattr(child, "MAX_EXPANSION", 10)
    text = f"@prefix p: <http://e/{'x' * 10_000}> .\n" + "p:a p:a p:a .\n" * 100
    paths = [written(tmp_path / f"{i}.ttl", text) for i in range(3)]
    assert len(read(paths[0]).nodes) == 100  # 3 MB
    with pytest.raises(DataError, match=re.escape(str(paths[1]))):
        read(*paths)


def test_usual_abbreviations_are_far_from_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "FREE_BYTES", 0)
    numbers = f"<http://example.com/numbers> <http://example.com/list> ({' 123' * 10_000} ) ."
    assert len(read(written(tmp_path / "list.ttl", numbers)).statements) == 20_001
    prefix = "@prefix : <http://www.example.com/a/usual/namespace/of/50/letters#> .\n"
    assert len(read(written(tmp_path / "short.ttl", prefix + ":a :a :a.\n" * 10_000)).nodes)


def test_a_long_list_in_json_ld_has_enough_memory(tmp_path: Path) -> None:
    """Lists of numbers with one digit need the most memory per byte."""
    term = {"@id": "http://e/v", "@container": "@list"}
    document = {"@context": {"v": term}, "@id": "http://e/x", "v": [1] * 400_000}
    text = json.dumps(document, separators=(",", ":"))
    assert len(read(written(tmp_path / "list.jsonld", text)).statements) == 800_001


# --------------------------------------------------------------------------------------------------
# Documents that need hours
# --------------------------------------------------------------------------------------------------

NAMESPACES = " ".join(f'xmlns:n{i}="http://e/{i}"' for i in range(900))
NEEDS_HOURS = {
    "bases relative to bases.ttl": "@base <http://e/> .\n" + "@base <aaaaaaa/> .\n" * 100_000,
    "an XML literal below many namespaces.rdf": xml(
        f'<e:C {NAMESPACES}><e:p rdf:parseType="Literal">{"<e:a/>" * 30_000}</e:p></e:C>'
    ),
    "many contexts.jsonld": json.dumps(
        {
            "@context": {f"t{i}": f"http://e/{i}" for i in range(9_000)},
            "@graph": [{"@context": {"z": "http://e/z"}, "z": i} for i in range(9_000)],
        }
    ),
}


@pytest.mark.parametrize("name", NEEDS_HOURS)
def test_a_document_that_needs_hours_is_refused_also_if_errors_are_skipped(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "FREE_SECONDS", 0.05)
    path = written(tmp_path / name, NEEDS_HOURS[name])
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}: .* much more time than usual"):
        read(path, on_error="skip")


def test_usual_documents_are_far_from_the_limit_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "FREE_SECONDS", 0.2)  # also to load the parser
    usual = {
        "x.ttl": "@prefix : <http://e/> .\n" + ":a :b :c .\n" * 20_000,
        "x.rdf": xml(f"{about('x')}\n" * 5_000),
        "x.jsonld": json.dumps([{"@id": f"http://e/{i}", "http://e/p": i} for i in range(9_000)]),
    }
    paths = [written(tmp_path / name, text) for name, text in usual.items()]
    assert len(read(*paths, lenient=True).statements) == 34_000


# --------------------------------------------------------------------------------------------------
# Nested triple terms
# --------------------------------------------------------------------------------------------------

NESTED = {
    "closed": "<a:> <p:> " + "<<( <a:> <p:> " * 30_000 + "<o:>" + " )>>" * 30_000 + " .\n",
    "open": "<a:> <p:> " + "<<( <a:> <p:> " * 30_000 + "\n",
    "in the middle": "<a:> <p:> <o:> .\n<a:> <p:> "
    + "<<(<a:><p:>" * 30_000
    + "<o:>"
    + ")>>" * 30_000
    + " .\n<a:> <p:> <o:> .\n",
    "with strings": "<a:> <p:> " + '<<( <a:"> <p:> ' * 30_000 + "<o:>" + " )>>" * 30_000 + " .\n",
    "after a carriage return": "<a:> <p:> <o:> . # \r<a:> <p:> "
    + "<<( <a:> <p:> " * 30_000
    + "<o:>"
    + " )>>" * 30_000
    + " .\n",
}


@pytest.mark.parametrize("extension", [".nt", ".nq", ".ttl", ".trig"])
@pytest.mark.parametrize("name", NESTED)
def test_deeply_nested_triple_terms_are_refused(name: str, extension: str, tmp_path: Path) -> None:
    path = written(tmp_path / f"x{extension}", NESTED[name])
    for lenient in (False, True):
        with pytest.raises(SyntaxProblem, match=re.escape(str(path))):
            read(path, lenient=lenient)
    good = written(tmp_path / "good.nt", "<a:> <b:> <c:> .\n")
    reading = read(path, good, on_error="skip")
    assert reading.census.errors >= 1
    assert reading.nodes[-1] == ("a:", "b:", "c:")


@pytest.mark.parametrize("name", ["tsv", "csv"])
def test_a_cell_with_triple_terms_is_invalid(name: str, tmp_path: Path) -> None:
    cell = "<<( <a:> <p:> " * 30_000 + "<o:>" + " )>>" * 30_000
    separator = {"tsv": "\t", "csv": ","}[name]
    with pytest.raises(SyntaxProblem, match="invalid name '<"):
        read(written(tmp_path / f"x.{name}", separator.join(("a:", "p:", cell)) + "\n"))


def test_triple_terms_in_usual_numbers_and_depths_are_read(tmp_path: Path) -> None:
    def nested(depth: int) -> str:
        return "<a:> <p:> " + "<<( <a:> <p:> " * depth + "<o:>" + " )>>" * depth + " ."

    lines = [nested(1)] * 500 + [nested(MAX_DEPTH)]
    for end, extension in (("\n", ".nt"), ("\r", ".nt"), ("\n", ".ttl")):
        path = written(tmp_path / f"x{extension}", end.join([*lines, ""]))
        assert read(path).triple_terms == 501
    with pytest.raises(SyntaxProblem, match=f"nested deeper than {MAX_DEPTH}"):
        read(written(tmp_path / "deep.nt", nested(MAX_DEPTH + 1)))
    # A literal and an IRI may contain any number of these characters.
    shifts = '<a:#> <p:> "' + '<< \\" <<( ' * 500 + '"@de-1996 . # ' + "<<" * 500 + "\n"
    assert len(read(written(tmp_path / "text.nt", shifts)).literals) == 1


SLOW = {
    "one long comment": xml(f"<!-- {'x' * (4 << 20)} -->"),
    "one long attribute": xml(f'<rdf:Description rdf:about="http://e/{"x" * (4 << 20)}"/>'),
    "many attributes": xml(
        "<rdf:Description " + " ".join(f'e:a{i}="x"' for i in range(60_000)) + "/>"
    ),
}


@pytest.mark.parametrize("text", SLOW.values(), ids=SLOW)
def test_a_long_token_does_not_take_quadratic_time(text: str, tmp_path: Path) -> None:
    path = written(tmp_path / "x.rdf", text)
    began = time.perf_counter()
    with suppress(DataError):  # it may be read or refused
        read(path)
    assert time.perf_counter() - began < 4


def test_harmless_documents_near_the_limits_are_read(tmp_path: Path) -> None:
    owl = "http://www.w3.org/2002/07/owl#"
    # Protégé writes such entities.
    protege = f'[\n<!ENTITY owl "{owl}" >\n<!ENTITY xsd "http://www.w3.org/2001/XMLSchema#" >]'
    text = xml(
        '<rdf:Description rdf:about="http://e/a"><rdf:type rdf:resource="&owl;Class"/>'
        "</rdf:Description>",
        protege,
    )
    assert read(written(tmp_path / "x.owl", text)).nodes == [
        ("http://e/a", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", owl + "Class")
    ]
    assert len(read(written(tmp_path / "x.rdf", xml(about("&lt;&amp;&#233;")))).literals) == 1
    depth = MAX_XML_DEPTH // 2 - 1
    assert (
        len(
            read(
                written(tmp_path / "deep.rdf", xml("<e:C><e:p>" * depth + "</e:p></e:C>" * depth))
            ).nodes
        )
        == 2 * depth - 1
    )
    depth = MAX_JSON_DEPTH - 1
    nested = '{"http://e/p":' * depth + '{"@id": "http://e/x"}' + "}" * depth
    assert len(read(written(tmp_path / "deep.jsonld", nested)).nodes) == depth
    brackets = json.dumps({"@id": "http://e/a", "http://e/p": '[{"\\' * 10_000})
    assert len(read(written(tmp_path / "brackets.jsonld", brackets)).literals) == 1
    # The external definition is not needed.
    assert (
        len(
            read(
                written(tmp_path / "dtd.rdf", xml(about("x"), f'SYSTEM "{PORT_OF_NOBODY}/x.dtd"'))
            ).literals
        )
        == 1
    )


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("[" * 200 + "]" * 200, True),
        ("[" * 201, False),
        ("[]" * 1000, True),
        ('"' + "[" * 999 + '"', True),
        ("[{" * 101, False),
    ],
)
def test_the_depth_of_json_ignores_strings(text: str, fine: bool) -> None:
    if fine:
        check_json(text.encode())
    else:
        with pytest.raises(Refused, match="nested deeper"):
            check_json(text.encode())


@pytest.mark.skipif(
    sys.platform == "linux" and not system.is_linux(),
    reason="without /proc, a child on Linux cannot tell its memory from that of the test process",
)
@pytest.mark.parametrize("memory", [1 << 20, 40 << 20, 120 << 20])
@pytest.mark.parametrize("extension", [".rdf", ".jsonld"])
def test_a_parser_out_of_memory_is_an_error_however_it_stops(
    memory: int, extension: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "MAX_MEMORY", memory)
    content = (
        xml(about("x" * (64 << 20)))
        if extension == ".rdf"
        else json.dumps({"@id": "http://e/a", "http://e/p": "x" * (64 << 20)})
    )
    path = written(tmp_path / f"x{extension}", content)
    with pytest.raises(DataError, match=re.escape(str(path))):
        read(path)


def test_one_child_process_reads_all_documents_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[str] = []
    start = child.ParserProcess._start

    def counted(parser: child.ParserProcess) -> subprocess.Popen[bytes]:
        starts.append("")
        return start(parser)

    monkeypatch.setattr(child.ParserProcess, "_start", counted)
    good = "<http://e/a> <http://e/b> <http://e/c> ."
    texts = {"1.ttl": good, "2.rdf": "<", "3.jsonld": "[}", "4.rdf": xml(about("x")), "5.trig": "{"}
    paths = [written(tmp_path / name, text) for name, text in texts.items()]
    paths += [written(tmp_path / "6.rdf", xml("<e:C><e:p>" * 9_000)), tmp_path / "1.ttl"]
    reading = read(*paths, on_error="skip")
    triple = ("http://e/a", "http://e/b", "http://e/c")
    assert (len(starts), reading.census.errors, reading.nodes.count(triple)) == (1, 4, 2)
    crash = written(tmp_path / "7.ttl", NESTED["closed"])
    large = written(tmp_path / "8.rdf", xml("<e:C><e:p>" * 900_000))
    assert read(crash, large, *paths, on_error="skip").nodes.count(triple) == 2
    assert len(starts) == 4


@pytest.mark.parametrize("share", [0.001, 0.5])
def test_a_sample_of_a_document_ends_its_child_process(share: float, tmp_path: Path) -> None:
    before = _children()
    line = "<http://e/a> <http://e/b> <http://e/c> .\n"
    paths = [written(tmp_path / f"{i}.ttl", line * count) for i, count in enumerate((90_000, 9))]
    documents = find.find_documents(paths)
    found = sum(
        int(batch.state[TRIPLES])
        for batch in tokenize.read_batches(documents, Config(), Census(), Progress(), share)
    )
    assert 9 < found < 90_009
    assert _children() == before


def test_time_to_receive_a_long_line_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys; write = sys.stdout.buffer.write; text = b'x' * 65536\n"
        "for _ in range(1000): write(b'T' + len(text).to_bytes(4) + text)\n"
        "write(b'T' + (1).to_bytes(4) + b'\\n' + b'E' + bytes(4))"
    )

    def start(_: child.ParserProcess) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-I", "-c", code]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    monkeypatch.setattr(child.ParserProcess, "_start", start)
    with child.ParserProcess(Config()) as parser:
        began = time.process_time()
        blocks = list(parser.parse(io.BytesIO(), "it", "TURTLE", lambda *_: None))
        assert time.process_time() - began < 2
    assert [len(block) for block in blocks] == [1000 * 65536 + 1]


def test_no_child_process_remains_after_reading(tmp_path: Path) -> None:
    before = _children()
    path = written(
        tmp_path / "x.rdf",
        xml("".join(f'<e:C rdf:about="http://e/{i}"/>\n' for i in range(200_000))),
    )
    batches = tokenize.read_batches(find.find_documents([path]), Config(), Census(), Progress())
    assert next(batches) is not None
    assert _children() > before
    batches.close()  # type: ignore[attr-defined]
    assert _children() == before


def _children() -> set[str]:
    """The child processes of this process; other tests may have started some."""
    return {
        child
        for path in Path("/proc/self/task").glob("*/children")
        for child in path.read_text().split()
    }


BOMBS = {
    ".nt": "",
    ".ttl": "",
    ".trig": "",
    ".tsv": "",
    ".rdf": "<?xml version='1.0'?>",
    ".jsonld": '[{"@id": "a:"',
}


@pytest.mark.parametrize("suffix", [suffix for suffix in PACK if suffix])
@pytest.mark.parametrize("extension", BOMBS)
def test_a_decompression_bomb_is_refused(
    extension: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "FREE_BYTES", 1 << 16)
    monkeypatch.setattr(inputs, "MAX_RATIO", 50)
    path = written(
        tmp_path / f"x{extension}{suffix}",
        PACK[suffix](BOMBS[extension].encode() + b"\n" * (8 << 20)),
    )
    with pytest.raises(DataError, match=re.escape(str(path)) + ".*decompression bomb") as caught:
        read(path)
    assert not isinstance(caught.value, SyntaxProblem)  # skipping lines does not help


@pytest.mark.parametrize("suffix", [suffix for suffix in PACK if suffix])
def test_a_decompression_bomb_stops_at_the_limit(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "FREE_BYTES", 1 << 20)
    path = written(tmp_path / f"x{suffix}", PACK[suffix](bytes(64 << 20)))
    sizes: list[int] = []
    with (
        inputs.Input(str(path), suffix) as source,
        pytest.raises(DataError, match="decompression bomb"),
    ):
        sizes.extend(iter(lambda: len(source.read(1 << 16)), 0))
    assert sum(sizes) <= (1 << 20) + inputs.MAX_RATIO * path.stat().st_size


@pytest.mark.parametrize("suffix", [suffix for suffix in PACK if suffix])
def test_the_limit_of_decompression_applies_to_all_files_together(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "FREE_BYTES", 5 << 20)
    monkeypatch.setattr(inputs, "MAX_RATIO", 50)
    packed = PACK[suffix](b"\n" * (2 << 20))
    paths = [written(tmp_path / f"{i}.nt{suffix}", packed) for i in range(4)]
    read(*paths[:2])
    with pytest.raises(DataError, match=re.escape(str(paths[2])) + ".*decompression bomb"):
        read(*paths)


def test_a_large_valid_file_allows_no_larger_bomb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "FREE_BYTES", 1 << 20)
    monkeypatch.setattr(inputs, "MAX_RATIO", 50)
    valid = written(tmp_path / "a.nt.gz", PACK[".gz"](b"# " + secrets.token_hex(1 << 20).encode()))
    bomb = written(tmp_path / "b.nt.gz", PACK[".gz"](b"\n" * (4 << 20)))
    read(valid)
    with pytest.raises(DataError, match=re.escape(str(bomb)) + ".*decompression bomb"):
        read(valid, bomb)


# --------------------------------------------------------------------------------------------------
# No network
# --------------------------------------------------------------------------------------------------

_recorded: list[str] | None = None


def _record(event: str, arguments: tuple[object, ...]) -> None:
    if _recorded is not None and event.startswith(("socket.", "urllib.", "http.", "ftplib.")):
        _recorded.append(event)


sys.addaudithook(_record)  # permanent; does nothing outside listening()


@contextmanager
def listening() -> Iterator[list[str]]:
    """Record all socket events of Python."""
    global _recorded  # noqa: PLW0603
    _recorded = []
    try:
        yield _recorded
    finally:
        _recorded = None


def test_reading_opens_no_network_connection(tmp_path: Path) -> None:
    # A server notices what an audit hook does not: the child process, and native code.
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        here = f"http://127.0.0.1:{server.getsockname()[1]}"
        contents = {
            "entity.rdf": xml(about("&x;"), f'[<!ENTITY x SYSTEM "{here}/x">]'),
            "parameter.rdf": xml(about("x"), f'[<!ENTITY % x SYSTEM "{here}/x"> %x;]'),
            "definition.rdf": xml(about("x"), f'SYSTEM "{here}/x.dtd"'),
            "public.rdf": xml(about("x"), f'PUBLIC "-//X//X" "{here}/x.dtd"'),
            "import.rdf": xml(
                f'<rdf:Description rdf:about="{here}/"><e:imports rdf:resource="{here}/x"/>'
                "</rdf:Description>"
            ),
            "context.jsonld": f'{{"@context": "{here}/c", "name": "x"}}',
            "import.jsonld": (
                f'{{"@context": {{"@version": 1.1, "@import": "{here}/c"}}, "name": "x"}}'
            ),
            "base.ttl": f"@base <{here}/> . @prefix x: <{here}/x#> . "
            "<> <http://www.w3.org/2002/07/owl#imports> x:y .",
            "plain.nt": f"<{here}/a> <{here}/b> <{here}/c> .",
            "plain.nq": f"<{here}/a> <{here}/b> <{here}/c> <{here}/g> .",
            "plain.trig": f"<{here}/g> {{ <{here}/a> <{here}/b> <{here}/c> }}",
            "plain.csv": f"{here}/a,{here}/b,{here}/c\n",
        }
        paths = [written(tmp_path / name, text) for name, text in contents.items()]
        with listening() as events:
            assert read(*paths, on_error="skip", base=f"{here}/").nodes
        assert events == []
        with pytest.raises(BlockingIOError):
            server.accept()
        # The hook and the server do notice a connection.
        with listening() as events, socket.create_connection(server.getsockname()):
            server.accept()[0].close()
        assert "socket.connect" in events


def test_a_url_is_not_a_valid_input() -> None:
    with listening() as events, pytest.raises(FileNotFoundError):
        read(f"{PORT_OF_NOBODY}/x.nt")
    assert events == []
