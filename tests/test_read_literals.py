"""Features of literals while they are read, compared with the oracle."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import as_text, collect, many
from oracle import Triple
from pyke.config import Config
from pyke.graph.batches import Batch
from pyke.graph.graph import Graph
from pyke.pipeline import Run
from pyke.read import _kernels as read_kernels
from pyke.read import _numbers, tokenize

KINDS = ("values", "words", "numbers")
XSD = oracle.XSD
WORDS = """Ada|ada|ÄDA|x|東京|a-b|“Ada”|\\n|\\u0041da|\\"|Ada\\\\n|. | |…|9|\u3000|\u00a0"""
TEXTS = st.one_of(
    st.lists(st.sampled_from([*WORDS.split("|"), "é" * 33, "w" * 64, "w" * 65])).map("".join),
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='"\\'), max_size=8),
)
NUMBERS = st.sampled_from(
    """1|01|1.0|10e-1|+1|-1|0|-0|.5|5.|1e400|1e-400|-2.5E+3|INF|NaN|1x|1e|.|e1|-|| 1 |1 2
    """.strip().split("|")
)
DATED = st.sampled_from(
    """2007|2007-05|2007-05-01|2007-05-01T00:00:00|2007-05-01T00:00:00Z|2007-05-01T02:00:00+02:00|
    2007-04-30T23:30:00-00:30|2007-05:00|2007Z|-0044-03-15|12007|207|2007-13|2007-5|2007-05-32|
    2007-05-01T25:00:00|2007-05-01T00:00|2007-05-01T00:00:00.25|2007-05-01T00:00:00.|2007-02-31|
    2007-05-01T24:00:00|2007-00|2007-05-01T00:00:00+15:00|x|
    """.replace("|\n    ", "|").split("|")
)
LITERALS = st.one_of(
    TEXTS.flatmap(
        lambda text: st.sampled_from(["", "@en", "@EN", "@de", f"^^<{XSD}string>", "^^<e:t>"]).map(
            lambda kind: f'"{text}"{kind}'
        )
    ),
    st.tuples(NUMBERS, st.sampled_from(oracle.DECIMALS)).map(lambda x: f'"{x[0]}"^^<{XSD}{x[1]}>'),
    st.tuples(DATED, st.sampled_from(oracle.DATES)).map(lambda x: f'"{x[0]}"^^<{XSD}{x[1]}>'),
)
# Two thirds of the subjects are terms of the graph; the others occur only with literals.
LINKS: list[Triple] = [(f"e:{i}", "e:p", "e:o") for i in range(4)]
SUBJECTS, PREDICATES = [f"e:{i}" for i in range(6)], ["e:p", "e:q"]
STATEMENTS = st.lists(LITERALS, min_size=1, max_size=4).flatmap(  # few, so that they repeat
    lambda pool: st.lists(
        st.tuples(st.sampled_from(SUBJECTS), st.sampled_from(PREDICATES), st.sampled_from(pool)),
        max_size=20,
    ).map(lambda drawn: LINKS + drawn)
)


def read(triples: list[Triple], literals: str, parts: int = 1) -> Graph:
    """Read statements, in one or several batches."""

    def each() -> Iterator[Batch]:
        for part in range(parts):
            data = np.frombuffer(bytearray(as_text(triples[part::parts]).encode()), np.uint8)
            dialect = tokenize.dialect(20, False, False, b"", literals)
            batch = tokenize.new_batch(len(data), 0, literals=True)
            assert read_kernels.tokenize(data, 0, len(data), dialect, batch) == len(data)
            yield batch

    return collect(each(), literals=literals)


def members(graph: Graph) -> Counter[frozenset[str]]:
    """The terms of each feature."""
    found: dict[int, set[str]] = {}
    for term, feature in graph.features.rows.tolist():
        found.setdefault(feature, set()).add(graph.terms[term])
    assert sorted(found) == list(range(len(graph.features)))
    return Counter(map(frozenset, found.values()))


def expected(triples: list[Triple], literals: str) -> Counter[frozenset[str]]:
    found = oracle.literal_features(triples, literals.split(","), {f"e:{i}" for i in range(4)})
    return Counter(map(frozenset, oracle.members_of(found).values()))


@given(
    triples=STATEMENTS,
    kinds=st.sets(st.sampled_from(KINDS), min_size=1),
    parts=st.integers(1, 3),
)
@many(500)
def test_features_equal_the_oracle(triples: list[Triple], kinds: set[str], parts: int) -> None:
    literals = ",".join(sorted(kinds))
    graph = read(triples, literals, parts)
    assert members(graph) == expected(triples, literals)
    assert graph.census.features == len(graph.features)
    rows = graph.features.rows.tolist()
    assert rows == sorted(map(list, {tuple(row) for row in rows}))
    assert len(set(graph.features.keys.tolist())) == len(graph.features)


@given(triples=STATEMENTS, data=st.data())
@many(100)
def test_the_order_of_statements_does_not_change_the_features(
    triples: list[Triple], data: st.DataObject
) -> None:
    shuffled = read(data.draw(st.permutations(triples)), "values,words,numbers", 2)
    graph = read(triples, "values,words,numbers")
    assert members(shuffled) == members(graph)
    assert set(shuffled.features.keys.tolist()) == set(graph.features.keys.tolist())
    assert np.array_equal(shuffled.features.bins, graph.features.bins)


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_setting_there_are_no_features(kind: str) -> None:
    triples = [*LINKS, ("e:0", "e:q", f'"1"^^<{XSD}int>'), ("e:1", "e:q", f'"1"^^<{XSD}int>')]
    assert len(read(triples, "").features) == 0
    assert len(read(triples, kind).features) == (0 if kind == "words" else 1)


def test_a_long_text_has_its_first_words_only() -> None:
    text = " ".join(f"w{i}" for i in range(100)) + " w0"
    triples = [*LINKS, ("e:0", "e:q", f'"{text}"'), ("e:1", "e:q", f'"{text}"')]
    assert len(read(triples, "words").features) == 64


def test_many_numbers_fall_into_ranges_of_about_the_same_size() -> None:
    rows = [(f"e:{i}", "e:p", "e:o") for i in range(1600)]
    rows += [(f"e:{i}", "e:q", f'"{i * i}"^^<{XSD}integer>') for i in range(1600)]
    graph = read(rows, "numbers")
    assert np.bincount(graph.features.rows[:, 1]).tolist() == [100] * 16
    assert graph.features.edges.tolist() == [float((100 * i) ** 2) for i in range(16)]


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.one_of(FINITE.map(repr), FINITE.map("{:.6f}".format), st.integers().map(str)))
@many(1000)
def test_numbers_are_parsed_like_those_of_python(text: str) -> None:
    data = np.frombuffer(bytearray(text.encode() + b"9"), np.uint8)
    wanted = float(text)
    found = float(_numbers.parse_number(data, len(text)))
    if abs(wanted) == math.inf or abs(wanted) > 1e308:
        return
    assert found == pytest.approx(wanted, rel=1e-14, abs=1e-320)


def seconds(text: str) -> float:
    data = np.frombuffer(bytearray(text.encode() + b"9"), np.uint8)
    return float(_numbers.parse_date(data, len(text)))


@given(st.datetimes())
@many(500)
def test_dates_are_parsed_like_those_of_python(when: datetime) -> None:
    since = (when - datetime(1970, 1, 1)).total_seconds()
    assert seconds(when.isoformat()) == pytest.approx(since, abs=1e-4)


DOCUMENTS = {
    "a.nt": (
        '<http://e/a> <http://e/p> "Ada"@EN .\n<http://e/a> <http://e/n> '
        f'"5"^^<{XSD}integer> .\n<http://e/a> <http://e/q> <http://e/o> .\n'
        '<http://e/b> <http://e/p> "Ada"@en .\n<http://e/b> <http://e/n> '
        f'"5"^^<{XSD}integer> .\n<http://e/b> <http://e/q> <http://e/o> .\n'
    ),
    "a.ttl": (
        "@prefix : <http://e/> .\n"
        ':a :p "Ada"@EN ; :n 5 ; :q :o .\n:b :p """Ad\\u0061"""@en ; :n 5 ; :q :o .\n'
    ),
    "a.rdf": (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://e/">'
        + "".join(
            f'<rdf:Description rdf:about="http://e/{name}"><p xml:lang="en">Ada</p>'
            f'<n rdf:datatype="{XSD}integer">5</n><q rdf:resource="http://e/o"/>'
            "</rdf:Description>"
            for name in "ab"
        )
        + "</rdf:RDF>"
    ),
    "a.tsv": "".join(
        f'<http://e/{name}>\t<http://e/p>\t"Ada"@en\n<http://e/{name}>\t<http://e/n>\t'
        f'"5"^^<{XSD}integer>\n<http://e/{name}>\t<http://e/q>\t<http://e/o>\n'
        for name in "ab"
    ),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_syntax_gives_the_same_features(tmp_path: Path, name: str, threads: int) -> None:
    path = tmp_path / name
    path.write_text(DOCUMENTS[name], encoding="utf-8")
    config = Config(literals="values,words,numbers", threads=threads)
    graph = Run(path, config).read()
    assert members(graph) == Counter({frozenset({"http://e/a", "http://e/b"}): 4})
    rows = [line.split("\t") for line in DOCUMENTS["a.tsv"].splitlines()]
    other = Run(pd.DataFrame(rows), config).read()
    assert set(graph.features.keys.tolist()) == set(other.features.keys.tolist())


def test_a_line_for_pyoxigraph_gives_the_same_features(tmp_path: Path) -> None:
    """The tokenizer passes characters beyond U+D7FF in IRIs to pyoxigraph."""
    odd = "http://e/\U00020000"
    text = f'<{odd}> <http://e/p> "Ada" .\n<{odd}> <http://e/q> <http://e/o> .\n'
    text += '<http://e/a> <http://e/p> "Ada" .\n<http://e/a> <http://e/q> <http://e/o> .\n'
    path = tmp_path / "a.nt"
    path.write_text(text, encoding="utf-8")
    graph = Run(path, Config(literals="values,words")).read()
    assert members(graph) == Counter({frozenset({odd, "http://e/a"}): 2})
