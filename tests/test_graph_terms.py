"""Terms: many strings in one blob, and finding one of them."""

from __future__ import annotations

import numpy as np
import pytest

from pyke.errors import UnknownTerm
from pyke.graph.terms import Terms, Texts

TEXTS = ["http://e/a", "", "é€😀", "_:b", "http://e/b", "line"]


def test_texts_are_packed_with_a_line_break_each() -> None:
    texts = Texts.of(["ab", "", "é"])
    assert texts.blob.tobytes() == b"ab\n\n\xc3\xa9\n"
    assert texts.offsets.tolist() == [0, 3, 4, 7]
    assert texts.offsets.dtype == np.int64
    assert texts.blob.dtype == np.uint8
    assert texts.blob.flags.writeable  # kernels take writable arrays


def test_no_texts_are_a_valid_blob() -> None:
    none = Texts.of([])
    assert (len(none), list(none), none.offsets.tolist()) == (0, [], [0])


def test_texts_are_read_by_position_from_both_ends_and_by_slice() -> None:
    texts = Texts.of(iter(TEXTS))
    assert len(texts) == 6
    assert list(texts) == TEXTS
    assert [texts[i] for i in range(6)] == TEXTS
    assert [texts[np.int32(-1)], texts[-6]] == ["line", "http://e/a"]
    assert (texts[1:4], texts[::-2], texts[4:99]) == (TEXTS[1:4], TEXTS[::-2], TEXTS[4:])
    for position in (6, -7):
        with pytest.raises(IndexError):
            _ = texts[position]


def test_invalid_utf8_is_replaced() -> None:
    assert Texts(np.frombuffer(b"a\xff\n", np.uint8), np.array([0, 3]))[0] == "a�"


def test_the_text_form_shows_three_texts() -> None:
    assert repr(Texts.of([])) == "<Texts: 0>"
    assert repr(Terms.of(["a", "b", "c"])) == "<Terms: 3, 'a', 'b', 'c'>"
    assert repr(Texts.of("abcd")) == "<Texts: 4, 'a', 'b', 'c', …>"
    assert repr(Texts.of(["x"] * 1000)).startswith("<Texts: 1,000, ")


def test_every_term_is_found_at_its_position() -> None:
    terms = Terms.of(TEXTS)
    for position, text in enumerate(TEXTS):
        if text:
            assert terms.find(text) == terms.id(text) == position
            assert text in terms


def test_the_empty_term_is_found() -> None:
    assert Terms.of(["a", "", "b"]).find("") == 1
    assert Terms.of(["a", "b"]).find("") == -1


@pytest.mark.parametrize(
    "term", ["http://e/c", "http://e/", "xttp://e/a", "a", "lin", "lines", "😀"]
)
def test_a_term_that_differs_anywhere_is_not_found(term: str) -> None:
    terms = Terms.of(TEXTS)
    assert terms.find(term) == -1
    assert term not in terms


def test_the_first_term_counts_if_it_occurs_at_position_zero() -> None:
    terms = Terms.of(["a", "b"])
    assert "a" in terms
    assert terms.id("a") == 0
    assert "c" not in terms


def test_an_iri_may_be_written_in_angle_brackets() -> None:
    terms = Terms.of([*TEXTS, "<x", "y>"])
    assert terms.find("<http://e/b>") == 4
    assert (terms.find("<x"), terms.find("y>")) == (6, 7)
    assert (terms.find("<line"), terms.find("line>")) == (-1, -1)


def test_a_lone_surrogate_is_not_found() -> None:
    assert Terms.of(TEXTS).find("\udcff") == -1


def test_other_objects_are_no_terms() -> None:
    for other in (0, None, b"line"):
        assert other not in Terms.of(TEXTS)


def test_nothing_is_found_among_no_terms() -> None:
    assert Terms.of([]).find("a") == -1


def test_an_unknown_term_is_an_error_with_advice() -> None:
    with pytest.raises(UnknownTerm) as caught:
        Terms.of(["a"]).id("b")
    assert str(caught.value) == (
        "the graph has no term 'b'. Write IRIs in full. Terms that occur only with literals have "
        "no vector unless `count_literals=True`."
    )
