"""Pages and figures: well-formed, self-contained and the same in every run."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from pyke.errors import UsageError, WriteError
from pyke.use import figures
from pyke.use.reports import Table, page, write_report

SCORES = {
    "in-graph": {"PYKE": {1: 0.9, 10: 0.8}, "SVD": {1: 0.5, 10: 0.4}},
    "held-out": {"PYKE": {1: 0.7, 5: 0.6}, "SVD": {1: 0.1}},
}
TRIALS: list[dict[str, Any]] = [
    {"k": 5, "omega": 0.5, "score": 0.5},
    {"k": 50, "omega": 1.5, "score": None},
    {"k": 99, "omega": 2.5, "score": 0.7},
]
EVIL = '<script>alert("1")</script> & <b>'
TABLE = Table(
    f"title {EVIL}",
    ["method", f"column {EVIL}"],
    [["a", f"cell {EVIL}"], ["b", "0.5"]],
    f"note {EVIL}",
    frozenset({(1, 1)}),
)

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Read(HTMLParser):
    """Parses a page; every tag must be closed in the right order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.best: list[str] = []
        self._bold = False
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs
        self._bold = ("class", "best") in attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._bold:
            self.best.append(data)
            self._bold = False


FIGURES = {
    "scores": lambda: figures.scores_over_mu(SCORES),
    "one line": lambda: figures.scores_over_mu({"in-graph": {"x": {1: 0.5}}}),
    "no line": lambda: figures.scores_over_mu({"in-graph": {}, "held-out": {}}),
    "trials": lambda: figures.trials_figure(TRIALS, ["k", "omega"], 0.4),
    "no trial": lambda: figures.trials_figure([{**TRIALS[0], "score": None}], ["k", "omega"], None),
}


def test_a_page_is_well_formed_and_contains_its_texts() -> None:
    text = page(f"Report {EVIL}", [TABLE, TABLE], figures.scores_over_mu(SCORES))
    read = Read(text)
    assert "script" not in read.seen
    assert "b" not in read.seen
    assert read.seen.count("table") == 2
    assert read.seen.count("svg") == 1
    for words in (f"Report {EVIL}", TABLE.title, TABLE.note, TABLE.columns[1], TABLE.rows[0][1]):
        assert words in read.texts
    assert read.best == ["0.5"] * 2


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_a_page_needs_no_other_file(figure: Any) -> None:
    text = page("Report", [TABLE], figure())
    read = Read(text)
    assert not {"script", "link", "iframe", "img", "image", "object", "embed"} & set(read.seen)
    for name, value in read.attributes:
        if name in ("src", "href", "xlink:href", "data", "poster", "action"):
            assert (value or "").startswith(("#", "data:")), (name, value)
    assert not re.findall(r"url\((?!['\"]?#)|@import", text)
    # Names of vocabularies only: a browser opens none of them.
    addresses = {
        value
        for name, value in read.attributes
        if value and "://" in value and not name.startswith("xmlns")
    }
    assert addresses <= {"http://purl.org/dc/dcmitype/StillImage"}


@pytest.mark.parametrize("name", ["scores", "trials"])
@pytest.mark.parametrize("form", figures.FORMATS)
def test_a_figure_is_the_same_in_every_run(
    name: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also at another time: matplotlib takes the date from SOURCE_DATE_EPOCH if it is set."""
    drawn = []
    for clock in ("1000000000", "1500000000"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", clock)
        drawn.append(figures.drawn(FIGURES[name](), form))
    assert drawn[0] == drawn[1]
    assert drawn[0].startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[form])


def test_drawing_does_not_change_the_settings_of_matplotlib() -> None:
    before = dict(mpl.rcParams.items())
    figures.drawn(figures.scores_over_mu(SCORES), "svg")
    assert {name: value for name, value in mpl.rcParams.items() if name != "backend"} == {
        k: v for k, v in before.items() if k != "backend"
    }


def test_the_lines_of_a_figure_are_the_scores() -> None:
    figure = figures.scores_over_mu(SCORES)
    first, second = figure.axes
    assert [list(line.get_ydata()) for line in first.lines] == [[0.9, 0.8], [0.5, 0.4]]
    assert [label.get_text() for label in second.get_xticklabels()] == ["1", "5"]
    assert [list(line.get_xdata()) for line in second.lines] == [[0, 1], [0]]
    assert [text.get_text() for text in second.get_legend().get_texts()] == ["PYKE", "SVD"]


def test_thirteen_methods_have_distinct_lines() -> None:
    lines = {f"method {number}": {1: 0.5} for number in range(13)}
    axes = figures.scores_over_mu({"in-graph": lines}).axes[0]
    assert len({(line.get_color(), line.get_marker()) for line in axes.lines}) == 13


def test_the_figure_of_trials_skips_those_that_diverged() -> None:
    figure = figures.trials_figure(TRIALS, ["k", "omega"], 0.4)
    assert [axes.collections[0].get_offsets().tolist() for axes in figure.axes] == [
        [[5, 0.5], [99, 0.7]],
        [[0.5, 0.5], [2.5, 0.7]],
    ]
    assert [list(axes.lines[0].get_ydata()) for axes in figure.axes] == [[0.4, 0.4]] * 2


@pytest.mark.parametrize("name", ["a.html", "a.HTM", "a.png", "a.SVG", "a.pdf"])
def test_the_extension_determines_the_format(tmp_path: Path, name: str) -> None:
    write_report(tmp_path / "new folder" / name, "Report", [TABLE], figures.scores_over_mu(SCORES))
    begin = (tmp_path / "new folder" / name).read_bytes()[:9]
    assert begin.startswith(
        {
            "html": b"<!doctype",
            "htm": b"<!doctype",
            "png": b"\x89PNG",
            "svg": b"<?xml",
            "pdf": b"%PDF",
        }[name[2:].lower()]
    )


def test_a_report_on_a_file_whose_name_is_not_utf8_is_written(tmp_path: Path) -> None:
    title = os.fsdecode(b"gr\xfcn.nt")
    write_report(tmp_path / "a.html", title, [TABLE], figures.scores_over_mu(SCORES))
    assert r"gr\udcfcn.nt" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize("name", ["a.xyz", "a.jpg", "a.json"])
def test_unknown_extensions_are_errors(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="png, svg, pdf"):
        write_report(tmp_path / name, "Report", [TABLE], figures.scores_over_mu(SCORES))
    assert not list(tmp_path.iterdir())


def test_the_error_of_a_failed_write_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=r"a\.html"):
        write_report(
            tmp_path / "file" / "a.html", "Report", [TABLE], figures.scores_over_mu(SCORES)
        )
