"""Tables on the terminal: their width, their words, and text that comes from strangers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyke.cli import tables
from pyke.cli.tables import print_table

IRI = "http://example.com/" + "a-long-name/" * 12


def printed(capsys: pytest.CaptureFixture[str], *arguments: object, **options: object) -> list[str]:
    print_table(*arguments, **options)  # type: ignore[arg-type]
    return capsys.readouterr().out.split("\n")


def test_columns_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, ("term", "count"), [("anna", "7"), ("bert", "1,000")], right=(1,))
    assert lines[0] == "term  count"
    assert lines[2:4] == ["anna      7", "bert  1,000"]


def test_a_table_fits_80_columns_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    words = " ".join(["word"] * 60)
    lines = printed(capsys, ("a long header of a column", "text"), [(words, words)])
    assert max(map(len, lines)) <= 80
    assert sum(line.count("word") for line in lines) == 120


def test_an_iri_that_does_not_fit_beside_the_others_has_its_own_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    rows = [("0.1", "Anna and Bert", "http://e.com/anna-and-bert"), ("0.2", "", "http://e.com/c")]
    lines = printed(capsys, ("distance", "label", "term"), rows, right=(0,), bold={(1, 2)})
    assert lines[:2] == ["distance  label", "          term"]
    assert lines[3:5] == ["     0.1  Anna and Bert", "          http://e.com/anna-and-bert"]
    assert lines[5:7] == ["     0.2", "          http://e.com/c"]
    assert max(map(len, lines)) <= 40


def test_an_iri_longer_than_the_terminal_stays_in_one_piece(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    rows = [("0.1", IRI), ("0.2", "http://e.com/c")]
    lines = printed(capsys, ("distance", "term"), rows, right=(0,))
    assert lines[2:5] == ["     0.1", IRI, "     0.2  http://e.com/c"]
    assert len(lines[1]) < 40, "the line below the header is as wide as the terminal at most"


def test_if_the_words_of_a_row_do_not_fit_the_last_cell_is_below(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    rows = [("1", "OneVeryLongWord", "AnotherVeryLongWord", "a text of several short words")]
    lines = printed(capsys, ("n", "name", "types", "exemplar"), rows, right=(0,))
    assert max(map(len, lines)) <= 40
    assert lines[3:5] == ["1  OneVeryLongWord  AnotherVeryLongWord", " " * 20 + "a text of several"]


def test_titles_before_a_last_column_with_a_long_word_are_wrapped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Neighbours in an explanation: numbers stand before the types, which are below."""
    headers = ("neighbour", "distance", "overlap", "shared", "types")
    title = "Proceedings of the 11th International Conference on Semantics in Boston"
    rows = [(title, "0.047", "0.75", "5", "Class" * 12), ("short", "0.1", "1.00", "12", "A")]
    lines = printed(capsys, headers, rows, right=(1, 2, 3))
    assert max(map(len, lines)) <= 80
    assert any(line.strip() == "Class" * 12 for line in lines)
    assert " ".join("".join(lines).split()).count("Boston") == 1


def test_a_long_iri_does_not_move_the_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    long = "http://example.com/thirty/five/chars"
    rows = [("0.1", "Anna and Bert", long), ("0.2", "Carl", "http://e.com/carl")]
    lines = printed(capsys, ("distance", "label", "term"), rows, right=(0,))
    assert lines[4].strip() == long
    assert len(lines[4]) == 40
    assert lines[6] == "          http://e.com/carl"


def test_labels_have_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, ("label",), [("\x1b[31mred\r\u009b",)])
    assert lines[2] == "\\u001b[31mred\\u000d\\u009b"


def test_a_label_of_a_million_words_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, ("label", "term"), [("word " * 1_000_000, IRI)])
    assert sum(line.count("word") for line in lines) == tables.MAX_CELL // 5
    assert sum(line.count("…") for line in lines) == 1


def test_wide_characters_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, ("label", "n"), [("東京", "1"), ("abcd", "2")])
    assert lines[2:4] == ["東京   1", "abcd   2"]


@given(rows=st.lists(st.tuples(st.text(max_size=60), st.text(max_size=60)), max_size=5))
def test_every_word_of_every_cell_is_printed(rows: list[tuple[str, str]]) -> None:
    layout = tables._layout(["a", "b"], [list(row) for row in rows], 30)
    for row in rows:
        text = " ".join(tables._lines(list(row), layout, ()))
        assert all(word in text for cell in row for word in cell.split())
