"""Malicious documents are refused quickly with an error; reading never uses the network."""

from __future__ import annotations

import json
import re
import socket
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
from pyke.graph.graph import Census
from pyke.read import find, parse, tokenize
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
    monkeypatch.setattr(parse, "SANDBOX_MEMORY", MEMORY)
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
    monkeypatch.setattr(parse, "SANDBOX_MEMORY", memory)
    content = (
        xml(about("x" * (64 << 20)))
        if extension == ".rdf"
        else json.dumps({"@id": "http://e/a", "http://e/p": "x" * (64 << 20)})
    )
    path = written(tmp_path / f"x{extension}", content)
    with pytest.raises(DataError, match=re.escape(str(path))):
        read(path)


def test_no_child_process_remains_after_reading(tmp_path: Path) -> None:
    path = written(
        tmp_path / "x.rdf",
        xml("".join(f'<e:C rdf:about="http://e/{i}"/>\n' for i in range(200_000))),
    )
    batches = tokenize.read_batches(find.find_documents([path]), Config(), Census(), Progress())
    assert next(batches) is not None
    assert _children()
    batches.close()  # type: ignore[attr-defined]
    assert not _children()


def _children() -> list[str]:
    return [
        child
        for path in Path("/proc/self/task").glob("*/children")
        for child in path.read_text().split()
    ]


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
    monkeypatch.setattr(inputs, "RATIO_APPLIES_FROM", 1 << 16)
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
    monkeypatch.setattr(inputs, "RATIO_APPLIES_FROM", 1 << 20)
    path = written(tmp_path / f"x{suffix}", PACK[suffix](bytes(64 << 20)))
    sizes: list[int] = []
    with (
        inputs.Input(str(path), suffix) as source,
        pytest.raises(DataError, match="decompression bomb"),
    ):
        sizes.extend(iter(lambda: len(source.read(1 << 16)), 0))
    assert sum(sizes) <= max(1 << 20, inputs.MAX_RATIO * path.stat().st_size) + (1 << 16)


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
