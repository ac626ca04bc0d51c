"""Documents as batches: their lines, problems, blank nodes, and how much of them was read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from documents import written
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.errors import SyntaxProblem, UsageError
from pyke.graph import batches
from pyke.graph.graph import Census
from pyke.read import _literals, lines, tokenize
from pyke.read.find import find_documents

LINE = "<e:s> <e:p> <e:o> .\n"


class Steps(Progress):
    """Keeps the bytes that were read."""

    def __init__(self) -> None:
        self.done: list[int] = []

    def advance(self, done: int) -> None:
        self.done.append(done)


def read(*paths: Path, share: float = 1.0, **settings: Any) -> tuple[list[batches.Batch], Census]:
    census = Census()
    config = Config(threads=1, **settings)
    found = tokenize.read_batches(find_documents(paths), config, census, Progress(), share)
    return list(found), census


def terms_of(found: list[batches.Batch]) -> list[str]:
    blobs = (bytes(batch.terms.blob[: batch.terms.size[1]]).decode() for batch in found)
    return "".join(blobs).split("\n")[:-1]


def total(found: list[batches.Batch], what: int) -> int:
    return sum(int(batch.state[what]) for batch in found)


# -- documents ------------------------------------------------------------------------------------


def test_blank_nodes_of_several_documents_have_the_number_of_their_document(
    tmp_path: Path,
) -> None:
    paths = [written(tmp_path / name, "_:x <e:p> _:é .\n") for name in ("a.nt", "b.nt")]
    names = ["_:d0_x", "e:p", "_:d0_é", "_:d1_x", "e:p", "_:d1_é"]
    assert terms_of(read(*paths)[0]) == names
    assert terms_of(read(paths[0])[0]) == ["_:x", "e:p", "_:é"]


def test_the_bytes_of_all_documents_are_counted(tmp_path: Path) -> None:
    paths = [written(tmp_path / f"{n}.nt", LINE * n) for n in (1, 2, 3)]
    census, steps = Census(), Steps()
    found = tokenize.read_batches(find_documents(paths), Config(threads=1), census, steps)
    assert total(list(found), batches.TRIPLES) == 6
    assert census.bytes == 6 * len(LINE)
    assert steps.done == [len(LINE), 3 * len(LINE), 6 * len(LINE)]


def test_a_share_reads_the_start_of_each_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK_SIZE", len(LINE))
    paths = [written(tmp_path / f"{n}.nt", LINE * 100) for n in range(2)]
    assert total(read(*paths)[0], batches.TRIPLES) == 200
    assert total(read(*paths, share=1.5)[0], batches.TRIPLES) == 200
    half = total(read(*paths, share=0.5)[0], batches.TRIPLES)
    assert 2 <= half < 150


@pytest.mark.parametrize("base", ["a", "http://e/ b"])
def test_the_error_of_an_invalid_base_says_what_it_must_be(tmp_path: Path, base: str) -> None:
    with pytest.raises(UsageError, match=f"^`base` is '{base}'; it must be an absolute IRI: "):
        read(written(tmp_path / "a.nt", LINE), base=base)
    assert read(written(tmp_path / "a.nt", LINE), base="http://e/")[1].errors == 0


SKIP = '. Fix the file, or use `on_error="skip"` to skip such lines and count them'
LENIENT = f"{SKIP}, or `lenient=True` to keep such IRIs"


@pytest.mark.parametrize(
    ("name", "text", "settings", "advice"),
    [
        ("a.nt", '<e:s> <e:p> "a', {}, SKIP),
        ("a.nt", "<e:a b> <e:p> <e:o> .", {}, LENIENT),
        ("a.nt", "<e:a", {"lenient": True}, SKIP),
        ("a.nt", "<a> <e:p> <e:o> .", {}, LENIENT),
        ("a.ttl", "<a> <e:p> <e:o> .", {}, ". Set `base` to resolve relative IRIs"),
    ],
)
def test_the_error_of_a_line_has_advice(
    name: str, text: str, settings: dict[str, Any], advice: str, tmp_path: Path
) -> None:
    path = written(tmp_path / name, f"{LINE}{text}\n")
    with pytest.raises(SyntaxProblem) as caught:
        read(path, **settings)
    assert str(caught.value).startswith(f"{path}:2: ")
    syntax = {".nt": "ntriples", ".ttl": "turtle"}[path.suffix]
    end = f". (Read as {syntax}; set `format` if it has another syntax.)"
    assert str(caught.value).endswith(advice + end)


# -- blocks ---------------------------------------------------------------------------------------


def problems_of(blocks: list[str], name: str = "a.nt", **settings: Any) -> list[tuple[int, str]]:
    """The problems of some blocks."""
    document = find_documents([name])[0]
    found: list[tuple[int, str]] = []

    def report(line: int, message: str, count: int = 1, /) -> None:
        found.append((line, message))

    def arrays() -> Iterator[Any]:
        for block in blocks:
            yield np.frombuffer(bytearray(block.encode()), np.uint8)

    config = Config(threads=1, **settings)
    list(tokenize.read_blocks(document, arrays(), config, report))
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("a.nt", "a.nq", "a.ttl"):
        written(tmp_path / name, LINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_problems_have_their_line_in_the_document() -> None:
    blocks = [LINE + "x\n" + LINE, "# note\n", LINE + "\n" + "y\nz\n"]
    found = problems_of(blocks, on_error="skip")
    assert [line for line, _ in found] == [2, 7, 8]


@pytest.mark.usefixtures("folder")
def test_a_block_is_read_up_to_its_first_problem_if_that_stops_the_run() -> None:
    block = LINE + "x\ny\n"
    assert len(problems_of([block], on_error="stop")) == 1
    assert len(problems_of([block], on_error="skip")) == 2


@pytest.mark.usefixtures("folder")
def test_triple_terms_that_are_nested_too_deeply_are_a_problem() -> None:
    line = "<e:s> <e:p> " + "<<( <e:s> <e:p> " * 101 + "<e:o>" + " )>>" * 101 + " .\n"
    message = "triple terms are nested deeper than 100"
    assert problems_of([line], on_error="skip") == [(1, message)]
    assert problems_of([line], "a.nq", on_error="skip") == [(1, message)]


@pytest.mark.usefixtures("folder")
def test_a_line_that_pyoxigraph_did_not_write_is_a_problem_where_it_should_have() -> None:
    line = "<e:s> <e:p> " + "x" * 100 + "\n"
    found = problems_of([LINE, line], "a.ttl")
    assert found == [(2, f"cannot read {line[:80].encode()!r}")]


@pytest.mark.usefixtures("folder")
def test_graph_names_are_valid_in_quads_only() -> None:
    line = "<e:s> <e:p> <e:o> <e:g> .\n"
    assert problems_of([line], "a.nq") == []
    assert problems_of([line], "a.ttl") == []
    assert len(problems_of([line], "a.nt")) == 1


@pytest.mark.usefixtures("folder")
def test_lenient_reading_refuses_only_iris_that_cannot_be_written() -> None:
    assert problems_of(["<e:{> <e:p> <e:o> .\n"], lenient=True) == []
    assert len(problems_of(["<e:{> <e:p> <e:o> .\n"], lenient=False)) == 1
    ((line, message),) = problems_of(["<e:\\u003E> <e:p> <e:o> .\n"], lenient=True)
    assert line == 1
    assert "IRI" in message


def test_lines_that_pyoxigraph_reads_are_lines_of_their_batch(tmp_path: Path) -> None:
    text = LINE + "<e:é\U0001f600> <e:p> <e:o> .\n" + "# é\n" + LINE
    found, census = read(written(tmp_path / "a.nt", text))
    assert total(found, batches.LINES) == 4
    assert total(found, batches.TRIPLES) == 3
    assert census.errors == 0


def test_a_full_batch_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokenize, "_SLOTS", 32)
    rows = [f"<e:{n}> <e:p{n}> <e:o{n}{'é' * (n % 2)}> ." for n in range(40)]
    rows[7] = "<e:7> <e:p7> <e:o7\U0001f600> ."
    found, _ = read(written(tmp_path / "a.nt", "\n".join(rows) + "\n"))
    assert len(found) > 5
    assert total(found, batches.TRIPLES) == total(found, batches.LINES) == 40
    assert len(set(terms_of(found))) == 120


# -- dialects and batches -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "kinds"),
    [
        ("", 0),
        ("values", _literals.VALUES),
        ("words", _literals.WORDS),
        ("numbers", _literals.NUMBERS),
        ("values,words,numbers", 7),
    ],
)
def test_the_kinds_of_features_follow_the_setting(setting: str, kinds: int) -> None:
    options = tokenize.dialect(1, False, False, literals=setting).literals
    assert options.kinds == kinds
    assert len(options.number_types) == 16
    assert len(options.date_types) == 5


def test_a_batch_has_space_for_the_features_of_literals_only_if_asked() -> None:
    without, with_features = (tokenize.new_batch(1000, literals=flag) for flag in (False, True))
    assert len(without.events.keys) == len(without.events.text) == 0
    assert len(with_features.events.keys) > 500
    assert len(with_features.events.text) == 1000
    assert (without.guesses == -1).all()
    assert (without.terms.table == -1).all()
