"""10^5 mutations of real lines: the tokenizer accepts the same lines as pyoxigraph.

`make faults` checks 10^7.
"""

from __future__ import annotations

import gzip
import random
from itertools import islice
from pathlib import Path

import pyoxigraph
import pytest
from pyoxigraph import Quad, RdfFormat

from conftest import DATA
from documents import LINES, QUADS, REFUSED, assert_agrees, read, written
from faults.conftest import SEED, Figure, times
from mutations import mutated
from pyke.read import problems

MUTATIONS = 50_000  # at once


def lines_to_mutate(texts: dict[str, str]) -> list[bytes]:
    """Lines of the tests, and lines of real files if they are available."""
    lines = [
        line
        for text in [*map(_encoded, texts.values()), *map(_encoded, REFUSED.values())]
        for line in text.splitlines()
    ]
    lines = [line for line in lines if line] * 10
    for path in sorted(DATA.glob("*.nt.gz")):
        with gzip.open(path) as file:
            lines.extend(line.rstrip() for line in islice(file, 0, 20_000, 20))
    return lines


def _encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode(errors="surrogateescape")


def parsed(line: bytes, form: RdfFormat) -> list[Quad] | None:
    """Statements by pyoxigraph in a line, or None if the line is invalid."""
    try:
        return list(pyoxigraph.parse(line, format=form))
    except SyntaxError:
        return None


@pytest.mark.parametrize(
    ("form", "extension", "texts"),
    [(RdfFormat.N_TRIPLES, "nt", LINES), (RdfFormat.N_QUADS, "nq", LINES | QUADS)],
)
def test_mutated_lines_are_accepted_or_refused_as_by_pyoxigraph(
    form: RdfFormat,
    extension: str,
    texts: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rng: random.Random,
    figure: Figure,
) -> None:
    monkeypatch.setattr(problems, "PROBLEMS_KEPT", MUTATIONS * 10)
    originals = lines_to_mutate(texts)
    rounds = times(1, 100)
    for _ in range(rounds):
        _compare(originals, form, tmp_path / f"x.{extension}", rng)
    figure("T1", f"{rounds * MUTATIONS:,} mutated lines, {extension}: as pyoxigraph")


def _compare(originals: list[bytes], form: RdfFormat, path: Path, rng: random.Random) -> None:
    """Mutate some lines, and compare what we read with what pyoxigraph reads."""
    invalid: list[int] = []
    quads: list[Quad] = []
    lines = [b"# a first line, as a mutation must not become a byte order mark"]
    for _ in range(MUTATIONS):
        line = rng.choice(originals)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            line = mutated(line, rng)
        for part in line.split(b"\n"):
            lines.append(part)
            found = parsed(part, form)
            if found is None:
                invalid.append(len(lines))
            else:
                quads.extend(found)

    reading = read(written(path, b"\n".join(lines)), on_error="skip")
    ours = {int(problem.place.rpartition(":")[2]) for problem in reading.census.problems}
    different = sorted(ours ^ set(invalid))[:3]
    shown = [(lines[number - 1], number in ours) for number in different]
    assert not different, f"seed {SEED}: (line, refused by us): {shown}"
    assert len(ours) == reading.census.errors
    assert_agrees(reading, quads, f"seed {SEED}")
    # The mutations are useful only if many lines are valid and many are invalid.
    assert 0.1 < len(invalid) / len(lines) < 0.9
