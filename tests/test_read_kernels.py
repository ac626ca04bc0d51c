"""The tokenizer and its scanners, line by line: what they accept, refuse and return."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from graphs import LABEL, PREF_LABEL
from pyke.graph import batches
from pyke.graph.batches import Batch
from pyke.read import _kernels, tokenize

SEED = 20
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
S, P, O = "<e:s>", "<e:p>", "<e:o>"  # noqa: E741


def read(text: str | bytes, **ways: Any) -> tuple[int, Batch]:
    """The position after the lines that the tokenizer accepts, and what it read."""
    data = text.encode() if isinstance(text, str) else text
    array = np.frombuffer(bytearray(data + b"\n"), np.uint8)
    dialect = tokenize.dialect(SEED, ways.pop("quads", False), ways.pop("trusted", False), **ways)
    batch = tokenize.new_batch(len(array), len(dialect.blank_prefix))
    return _kernels.tokenize(array, 0, len(array), dialect, batch), batch


def terms_of(batch: Batch) -> list[str]:
    return bytes(batch.terms.blob[: batch.terms.size[1]]).decode().splitlines()


def triples_of(batch: Batch) -> list[tuple[str, ...]]:
    terms = terms_of(batch)
    rows = batch.triples[: batch.state[batches.TRIPLES]]
    return [tuple(terms[i] for i in row) for row in rows]


def labels_of(batch: Batch) -> list[tuple[str, int, str]]:
    """Term, rank of the language, and text of each label."""
    rows = batch.labels[: batch.state[batches.LABELS]].tolist()
    begins = [0, *(end for _, _, end in rows)]
    texts = [
        bytes(batch.label_blob[begin:end]).decode()
        for begin, (_, _, end) in zip(begins, rows, strict=False)
    ]
    terms = terms_of(batch)
    return [(terms[s], rank, text) for (s, rank, _), text in zip(rows, texts, strict=True)]


def accepts(line: str | bytes, **ways: Any) -> Batch:
    """Read a line, and expect that the tokenizer accepts it."""
    at, batch = read(line, **ways)
    assert at == len(line.encode() if isinstance(line, str) else line) + 1, line
    return batch


def refuses(line: str | bytes, **ways: Any) -> None:
    """Expect that pyoxigraph has to read a line, and that it changes nothing."""
    at, batch = read(line, **ways)
    assert (at, batch.terms.size.tolist(), batch.state.tolist()) == (0, [0, 0], [0] * 6), line


# The hashes in plain numbers.


def fnv(data: bytes, h: int = SEED) -> int:
    for c in data:
        h = (h ^ c) * 0x100000001B3 % 2**64
    return h


def mixed(z: int) -> int:
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def literal_key(text: str, kind: int = 0) -> int:
    return mixed((fnv(text.encode()) + mixed(kind)) % 2**64)


# -- IRIs -----------------------------------------------------------------------------------------

IRIS = [
    "e:", "e:a", "E+-.7:a", "http://e", "http://e/a", "http://e?a", "http://e#a", "http://e:80/a",
    "http://e:80", "http://e:/", "http://e.f-g_h~1!/", "e:/a", "e:a//b", "e:a#b", "e:#",
    "e:a%4f%Fa", "e:é", "e:\u00a0", "e:߿", "e:ࠀ€", "e:\ud7ff", "e:a?b=c&d", "urn:isbn:1-2:3@4",
    "http://e/é€#ü",
]  # fmt: skip
BAD_IRIS = [
    b"", b"a", b"7:a", b":a", b"a/b:c", b"http://", b"http:///a", b"http://:80", b"http://e:8a/",
    b"http://e[1]", b"http://\xc3\xa9", b"e:a#b#c", b"e:%", b"e:%4", b"e:%4g", b"e:%g4", b"e:a b",
    b"e:a<b", b'e:a"b', b"e:a\\b", b"e:{", b"e:\x01", b"e:\x7f", b"e:\xc2\x9f", b"e:\xc2\x80",
    b"e:\xc1\xa0", b"e:\xee\x80\x80", b"e:\xf0\x9f\x98\x80", b"e:\xc3", b"e:\xe2\x82",
    b"e:\xed\xa0\x80", b"e:\x80", b"e:a", b"e:\xff",
]  # fmt: skip


@pytest.mark.parametrize("iri", IRIS)
@pytest.mark.parametrize("trusted", [False, True])
def test_an_iri_is_read_with_its_hash(iri: str, trusted: bool) -> None:
    batch = accepts(f"<{iri}> {P} <{iri}> .\n{S} <{iri}> <{iri}> .", trusted=trusted)
    assert triples_of(batch) == [(iri, "e:p", iri), ("e:s", iri, iri)]
    expected = [mixed(fnv(term.encode())) for term in terms_of(batch)]
    assert batch.terms.hashes[: len(expected)].tolist() == expected


@pytest.mark.parametrize("iri", BAD_IRIS)
def test_an_iri_that_may_be_invalid_is_left_to_pyoxigraph(iri: bytes) -> None:
    closed = b"<" + iri + (b"" if iri == b"e:a" else b">")
    refuses(closed + b" <e:p> <e:o> .")
    refuses(b"<e:s> " + closed + b" <e:o> .")
    refuses(b"<e:s> <e:p> " + closed + b" .")
    refuses(b'<e:s> <e:p> "x"^^' + closed + b" .")


@pytest.mark.parametrize("iri", ["<a b>", "<>", "<e:\\u0041>", "<e:#a#b>", "<é>"])
def test_an_iri_that_pyoxigraph_wrote_is_not_validated(iri: str) -> None:
    batch = accepts(f"{iri} {P} {O} .", trusted=True)
    assert terms_of(batch)[0] == iri[1:-1]
    refuses(f"{iri[:-1]}\n{P} {O} .", trusted=True)


# -- blank nodes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["a", "7", "_", "a.b", "a..b", "a-b", "A_9", "a-"])
@pytest.mark.parametrize("prefix", [b"", b"d1_"])
@pytest.mark.parametrize("trusted", [False, True])
def test_a_blank_node_is_read_with_its_hash(label: str, prefix: bytes, trusted: bool) -> None:
    batch = accepts(f"_:{label} {P} _:{label}x .", trusted=trusted, blank_prefix=prefix)
    name = f"_:{prefix.decode()}{label}"
    assert triples_of(batch) == [(name, "e:p", f"{name}x")]
    expected = [mixed(fnv(term.encode())) for term in terms_of(batch)]
    assert batch.terms.hashes[: len(expected)].tolist() == expected


def test_the_dot_after_a_blank_node_ends_the_statement() -> None:
    assert triples_of(accepts(f"{S} {P} _:a.")) == [("e:s", "e:p", "_:a")]
    refuses(f"{S} {P} _:a..")


@pytest.mark.parametrize("label", ["_:", "_:-a", "_:.a", "_:é", "_:aé", "_:a:b", "_a", "__:a", "_"])
def test_a_blank_node_that_may_be_invalid_is_left_to_pyoxigraph(label: str) -> None:
    refuses(f"{label} {P} {O} .")
    refuses(f"{S} {P} {label} .")


@pytest.mark.parametrize("label", ["·7f", "é", "a:b", "-a"])
def test_a_blank_node_that_pyoxigraph_wrote_is_not_validated(label: str) -> None:
    assert terms_of(accepts(f"_:{label} {P} {O} .", trusted=True))[0] == f"_:{label}"


def test_a_blank_node_without_a_label_is_refused_also_from_pyoxigraph() -> None:
    refuses(f"_: {P} {O} .", trusted=True)
    refuses(f"_:. {P} {O} .", trusted=True)


def test_a_blank_node_is_no_predicate() -> None:
    refuses(f"{S} _:p {O} .")


# -- literals -------------------------------------------------------------------------------------

LITERALS = [
    ('""', "", 0), ('"a b"', "a b", 0), (f'"a"^^<{XSD}string>', "a", 0),
    (f'"1"^^<{XSD}integer>', "1", fnv(f"{XSD}integer".encode())),
    ('"a"@en', "a", fnv(b"@en", 1)), ('"a"@EN', "a", fnv(b"@en", 1)),
    ('"a"@deu', "a", fnv(b"@deu", 1)), ('"a"@de-Latn', "a", fnv(b"@de-latn", 1)),
    ('"a"@de-Latn-CH', "a", fnv(b"@de-latn-ch", 1)), ('"a"@de-CH', "a", fnv(b"@de-ch", 1)),
    (r'"\t\n\r\b\f\"\'\\"', "\t\n\r\b\f\"'\\", 0), (r'"\u00e9\U00000041\u007A"', "éAz", 0),
    ('"é€😀\x7f\t"', "é€😀\x7f\t", 0), ('"a@b^^c.d#<e>"', "a@b^^c.d#<e>", 0),
]  # fmt: skip


@pytest.mark.parametrize(("written", "text", "kind"), LITERALS)
@pytest.mark.parametrize("trusted", [False, True])
def test_a_literal_is_read_with_the_key_of_its_value(
    written: str, text: str, kind: int, trusted: bool
) -> None:
    batch = accepts(f"{S} {P} {written} .", trusted=trusted)
    assert batch.state.tolist() == [1, 0, 1, 0, 0, 0]
    assert batch.literals[0].tolist() == [0, 1]
    assert terms_of(batch) == ["e:s", "e:p"]
    assert int(batch.literal_keys[0]) == literal_key(text, kind)


@pytest.mark.parametrize(
    "literal",
    [
        '"a', '"a\n"', '"a\r"', r'"\x"', r'"\u12"', b'"\xff"', b'"\xc3"', '"a"@e',
        '"a"@deut', '"a"@de-abc', '"a"@de-', '"a"@de-7', '"a"@de7', '"a"@', '"a"^<e:t>', '"a"^^e:t',
        '"a"^^"b"', f'"a"^^<{RDF}langString>', f'"a"^^<{RDF}dirLangString>', "a", "7", "'a'",
        '"a"@de-CH-Latn', '"a"@de-Latn-Latn',
    ],
)  # fmt: skip
def test_a_literal_that_may_be_invalid_is_left_to_pyoxigraph(literal: str | bytes) -> None:
    text = literal.encode() if isinstance(literal, str) else literal
    refuses(b"<e:s> <e:p> " + text + b" .")


@pytest.mark.skipif(
    not hasattr(_kernels.tokenize, "py_func"), reason="bytes overflow without the compiler"
)
def test_escapes_of_all_characters_are_read_but_not_of_surrogates() -> None:
    batch = accepts(rf'{S} {P} "\u20AC\U0001f600" .')
    assert int(batch.literal_keys[0]) == literal_key("€😀")
    refuses(rf'{S} {P} "\ud800" .')


def test_a_literal_that_pyoxigraph_wrote_may_have_any_tag_and_type() -> None:
    for end in ("@x-7-private", "@de-1996", f"^^<{RDF}dirLangString>", "^^<t>"):
        assert accepts(f'{S} {P} "a"{end} .', trusted=True).state[batches.LITERALS] == 1


def test_a_literal_is_only_an_object() -> None:
    refuses(f'"a" {P} {O} .')
    refuses(f'{S} "a" {O} .')


@pytest.mark.parametrize("predicate", [LABEL, PREF_LABEL])
@pytest.mark.parametrize(
    ("literal", "rank", "text"),
    [
        ('"a"', 1, "a"), ('"a"@en', 0, "a"), ('"a"@EN', 0, "a"), ('"a"@en-GB', 0, "a"),
        ('"a"@eng', 2, "a"), ('"a"@de', 2, "a"), ('"a"@fr-en', 2, "a"), ('"a"@es', 2, "a"),
        ('"a"@an', 2, "a"), ('"x@en"', 1, "x@en"), ('"@en"', 1, "@en"), ('""', 1, ""),
        (r'"\u00e9\n€"@de', 2, "é\n€"), (f'"a"^^<{XSD}string>', 1, "a"), ('"en"', 1, "en"),
    ],
)  # fmt: skip
def test_labels_are_kept_with_the_rank_of_their_language(
    predicate: str, literal: str, rank: int, text: str
) -> None:
    batch = accepts(
        f'{S} <{LABEL}> "first" .\n{O} <{predicate}> {literal} .\n{S} <{LABEL}x> "no" .\n'
        f'<e:t> <{predicate}> "last" .'
    )
    assert labels_of(batch) == [("e:s", 1, "first"), ("e:o", rank, text), ("e:t", 1, "last")]
    assert batch.state[batches.LITERALS] == 4


# -- lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    ["", "  \t ", "# note", " # <e:a>", "\r", "# note\r", f"{S}{P}{O}.", f"\t{S} \t{P} {O}\t. ",
     f"{S} {P} {O} .\r", f"{S} {P} {O} . # note", f"{S} {P} {O} .# note\r", f'{S}{P}"a"@en.'],
)  # fmt: skip
def test_spaces_comments_and_empty_lines_are_read(line: str) -> None:
    batch = accepts(line)
    full = line.strip().startswith("<")
    assert batch.state[batches.LINES] == 1
    assert batch.state[[batches.TRIPLES, batches.LITERALS]].sum() == full
    assert len(terms_of(batch)) == ((3 if O in line else 2) if full else 0)
    assert triples_of(accepts(f"{line}\n{S} {P} <e:x> ."))[-1] == ("e:s", "e:p", "e:x")


@pytest.mark.parametrize(
    "line",
    ["x", ".", "# é", b"# \x80", f"{S} {P} {O}",
     f"{S} {P} {O} . x", f"{S} {P} {O} .. ", f"{S} {P} .",
     f"{S} {P} {O} . # é", f"{S} {P} {O} .\r#", f"{S} {P} {O} {S} .", f"{S} {P} {O} _:g .", f"{S}",
     f"{S} {P} {O} ;", f"<<{S} {P} {O}>> {P} {O} .", f"{S} {P} <<{S} {P} {O}>> .", "\r\r"],
)  # fmt: skip
def test_other_lines_are_left_to_pyoxigraph(line: str | bytes) -> None:
    refuses(line)


@pytest.mark.parametrize("graph", ["", "<e:g>", "_:g ", " <http://e/g>\t"])
@pytest.mark.parametrize("trusted", [False, True])
def test_graph_names_of_quads_are_skipped(graph: str, trusted: bool) -> None:
    batch = accepts(f"{S} {P} {O} {graph}.", quads=True, trusted=trusted)
    assert terms_of(batch) == ["e:s", "e:p", "e:o"]
    assert triples_of(batch) == [("e:s", "e:p", "e:o")]


@pytest.mark.parametrize("graph", ['"g"', "<g", "g", "<e:g> <e:h>", "_:", "<7:g>"])
def test_other_graph_names_are_left_to_pyoxigraph(graph: str) -> None:
    refuses(f"{S} {P} {O} {graph} .", quads=True)


def test_reading_stops_before_the_first_line_that_is_not_accepted() -> None:
    first = f"{S} {P} {O} .\n# note\n"
    at, batch = read(f"{first}{S} {P} <bad> .\n{S} {P} {O} .")
    assert at == len(first)
    assert batch.state.tolist() == [2, 1, 0, 0, 0, 0]


def test_triple_terms_that_pyoxigraph_wrote_are_counted_and_skipped() -> None:
    text = f"{S} {P} <<( {S} {P} {O} )>> .\n{S} {P} <e:x> ."
    batch = accepts(text, trusted=True)
    assert batch.state.tolist() == [2, 1, 0, 0, 0, 1]
    assert triples_of(batch) == [("e:s", "e:p", "e:x")]


def test_reading_begins_and_ends_where_it_is_told() -> None:
    lines = [f"<e:{n}> {P} <e:{n}{n}> .\n".encode() for n in range(3)]
    array = np.frombuffer(bytearray(b"".join(lines)), np.uint8)
    dialect = tokenize.dialect(SEED, False, False)
    batch = tokenize.new_batch(len(array))
    begin, end = len(lines[0]), len(lines[0] + lines[1])
    assert _kernels.tokenize(array, begin, end, dialect, batch) == end
    assert triples_of(batch) == [("e:1", "e:p", "e:11")]
    assert _kernels.tokenize(array, end, len(array), dialect, batch) == len(array)
    assert triples_of(batch) == [("e:1", "e:p", "e:11"), ("e:2", "e:p", "e:22")]


def test_reading_stops_when_half_of_the_table_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenize, "_SLOTS", 32)
    lines = [f"<e:s{n}> <e:p{n}> <e:o{n}> .\n" for n in range(9)]
    at, batch = read("".join(lines))
    assert batch.terms.size[0] == 15  # 13 would be full; a line has at most three terms
    assert at == len("".join(lines[:5]))


@pytest.mark.parametrize("subject", ["e:s", "e:p"])
def test_what_followed_a_predicate_last_time_is_compared_and_not_validated_again(
    subject: str,
) -> None:
    """The IRIs `a b` and `c d`, which only trusted text can have, show that guesses were used."""
    known, other = f"<{subject}> <e:p> <a b> .\n", f"<{subject}> <c d> <e:o> .\n"
    first = (known + other + known).encode()
    rest = f'<{subject}> <e:p> "x" .\n{other}{known}'.encode()
    array = np.frombuffer(bytearray(first + rest), np.uint8)
    batch = tokenize.new_batch(len(array))
    trusted, plain = (tokenize.dialect(SEED, False, trust) for trust in (True, False))
    assert _kernels.tokenize(array, 0, len(first), trusted, batch) == len(first)
    assert _kernels.tokenize(array, len(first), len(array), plain, batch) == len(array)
    assert triples_of(batch)[3:] == [(subject, "c d", "e:o"), (subject, "e:p", "a b")]
    refuses(known)
    refuses(other)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("prefix", [b"", b"d3_"])
def test_lines_that_resemble_each_other_are_read_as_single_lines_are(
    seed: int, prefix: bytes
) -> None:
    """Subjects, predicates and objects repeat, differ in their end, or continue each other."""
    draw = random.Random(seed)
    nodes = ["e:a", "e:b", "e:ab", "e:aa", "e:abc", "http://e/a", "http://e/ab"]
    nodes += ["_:a", "_:ab", "_:b"]
    lines = []
    s, p = "e:a", "e:p"
    for _ in range(60):
        if draw.random() < 0.6:
            s = draw.choice(nodes)
        if draw.random() < 0.6:
            p = draw.choice([node for node in nodes if node[0] != "_"])
        lines.append((s, p, draw.choice([*nodes, *nodes, '"a"', '"ab"'])))

    def written(node: str) -> str:
        return node if node[0] in '_"' else f"<{node}>"

    batch = accepts(
        "\n".join(" ".join(map(written, line)) + " ." for line in lines), blank_prefix=prefix
    )

    def named(node: str) -> str:
        return f"_:{prefix.decode()}{node[2:]}" if node[0] == "_" else node

    expected = [tuple(map(named, line)) for line in lines]
    assert triples_of(batch) == [line for line in expected if line[2][0] != '"']
    in_order = dict.fromkeys(node for line in expected for node in line if node[0] != '"')
    assert terms_of(batch) == list(in_order)
    literals = [line for line in expected if line[2][0] == '"']
    rows = batch.literals[: batch.state[batches.LITERALS]]
    found = [(terms_of(batch)[s], terms_of(batch)[p]) for s, p in rows]
    assert found == [line[:2] for line in literals]
    keys = batch.literal_keys[: len(literals)].tolist()
    assert keys == [literal_key(line[2].strip('"')) for line in literals]
    assert batch.state[batches.LINES] == len(lines)
