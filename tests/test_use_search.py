"""Search by parts of names, compared with plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import LABEL, crafts, graph_of, many
from pyke.config import Config
from pyke.embedding.embedding import Embedding
from pyke.pipeline.embed import embed_graph
from pyke.use.search import SearchIndex
from pyke.use.search.index import _Blob, folded

TEXT = crafts() + "".join(
    f'<http://e/{name}> <{LABEL}> "{label}" .\n'
    for name, label in (
        ("baker/1", "Kurt Gödel"),
        ("baker/2", "Kurt"),
        ("smith/1", "Ursula K. Le\\nGuin"),
        ("smith/2", "Le Guin\\tUrsula"),
    )
)
TEXT += "<http://e/San_Jos%C3%A9> <http://e/knows> <http://e/baker/1> .\n"
TEXT += "<http://xmlns.com/foaf/0.1/Person> <http://e/knows> <http://e/baker/1> .\n"


@pytest.fixture(scope="module")
def embedding() -> Embedding:
    return embed_graph(graph_of(TEXT), Config(dimensions=4))


@pytest.fixture(scope="module")
def index(embedding: Embedding) -> SearchIndex:
    return SearchIndex(embedding)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("kurt", "http://e/baker/2"),  # the whole name before a part of one
        ("gödel", "http://e/baker/1"),
        ("GODEL", "http://e/baker/1"),
        ("kurt g", "http://e/baker/1"),
        ("san josé", "http://e/San_Jos%C3%A9"),
        ("san_jose", "http://e/San_Jos%C3%A9"),
        ("le guin", "http://e/smith/2"),  # at the start before a word within
        ("guin ursula", "http://e/smith/2"),  # a tab is a space
        ("http://e/smith/7", "http://e/smith/7"),
        ("<http://e/smith/7>", "http://e/smith/7"),
        ("e/weaver/1", "http://e/weaver/1"),
        ("foaf:pers", "http://xmlns.com/foaf/0.1/Person"),
        ("foaf:", "http://xmlns.com/foaf/0.1/Person"),
    ],
)
def test_the_best_term_comes_first(
    embedding: Embedding, index: SearchIndex, query: str, first: str
) -> None:
    assert embedding.terms[int(index.find(query, 5).ids[0])] == first


def test_among_equal_names_the_best_connected_come_first(
    embedding: Embedding, index: SearchIndex
) -> None:
    found = index.find("tool", 50).ids
    triples = embedding.triples
    degrees = [int((triples[:, [0, 2]] == term).sum()) for term in found]
    assert len(found) == 12
    assert degrees == sorted(degrees, reverse=True)


@pytest.mark.parametrize("query", ["", "  ", "\t\n", "zzz", "\0", "é" * 3000, "\ud800"])
def test_a_query_without_a_match_finds_nothing(index: SearchIndex, query: str) -> None:
    assert len(index.find(query, 5).ids) == 0


def _rank(text: str, query: str) -> int | None:
    """The rank of a query in one line of names, by plain string functions."""
    ranks = []
    start = text.find(query)
    while start >= 0:
        before = text[start - 1] if start else "\t"
        after = text[start + len(query)] if start + len(query) < len(text) else "\t"
        if before == "\t":
            ranks.append(0 if after == "\t" else 1)
        else:
            is_word = (before.isascii() and before.isalnum()) or not before.isascii()
            ranks.append(3 if is_word else 2)
        start = text.find(query, start + 1)
    return min(ranks, default=None)


WORDS = st.text("ab -\té", max_size=12)


@given(st.lists(WORDS, max_size=40), st.text("ab -é", min_size=1, max_size=4), st.integers(1, 5))
@many(200)
def test_the_kernel_finds_what_plain_loops_find(texts: list[str], query: str, limit: int) -> None:
    texts += ["x" * 70] * 3  # longer than a block
    found, count = _Blob.of([f"{text}\n" for text in texts]).find(query, limit)
    ranks = [_rank(text, query) for text in texts]
    assert count == len(texts) - ranks.count(None)
    ranked = [at for wanted in range(4) for at, rank in enumerate(ranks) if rank == wanted]
    assert found.tolist() == ranked[:limit]


def test_folding_removes_case_and_accents() -> None:
    texts = ("ÀÉîø", "Straße", "ﬁ", "ABC")
    assert [folded(text) for text in texts] == ["aeiø", "strasse", "fi", "abc"]


def test_an_empty_blob_has_no_texts() -> None:
    found, count = _Blob.of([]).find("a", 3)
    assert (found.tolist(), count) == (np.zeros(0).tolist(), 0)
