"""10^5 mutations of real lines: the tokenizer accepts the same lines as pyoxigraph."""

from __future__ import annotations

import gzip
import os
import random
from itertools import islice
from pathlib import Path

import pyoxigraph
import pytest
from pyoxigraph import Quad, RdfFormat

from conftest import DATA
from documents import LINES, QUADS, REFUSED, assert_agrees, read, written
from pyke.read import problems

MUTATIONS = 100_000  # in each syntax
SEED = int(os.environ.get("PYKE_SEED") or 20_240_229)

# Bytes and characters with a meaning in the grammar, or at the limits of UTF-8 and Unicode
BYTES = [
    bytes([c])
    for c in b"<>\"\\'@^_:.#%/?[](){}|`~-+, \t\r\n\x00\x0b\x0c\x1f\x7f"
    b"\x80\xbf\xc2\xe0\xed\xf0\xf4\xffeEuU09aAzZ"
]
CHARACTERS = (
    "éÿ\x80\x9f\xa0·\u037e\u0300\u2028\u3000漢\ud7ff\ud800\ue000\ufdcf\ufdd0\ufdef\ufeff\uffef\ufffe"
    "😀\U0001fffe\U000e0001\U0010ffff"
)
PIECES = r"""
\u00e9 \u0020 \u003e \ud800 \U0001F600 \U00110000 \u00 \t \n \" \q
@en @EN-gb @zh-Hant-TW @x @e1 @en--ltr ^^ ^^<a:> <<( )>> << >>
^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>
^^<http://www.w3.org/2001/XMLSchema#string>
_: _:b _:b. _:é <g:> <> <a> http:// :// //[::1] :80 %20 %zz %C3 # . .. <a:><b:><c:>.
"""
SPECIAL = [
    *BYTES,
    *(c.encode("utf-8", "surrogatepass") for c in CHARACTERS),
    *(piece.encode() for piece in PIECES.split()),
]


def mutated(line: bytes, rng: random.Random) -> bytes:
    """The line with one small change."""
    i, j = sorted((rng.randrange(len(line) + 1), rng.randrange(len(line) + 1)))
    near = min(len(line), i + rng.randrange(1, 4))
    return (
        lambda: (
            line[:i] + bytes([(line[i : i + 1] or b" ")[0] ^ 1 << rng.randrange(8)]) + line[i + 1 :]
        ),  # one bit is flipped
        lambda: line[:i] + line[near:],  # some bytes are removed
        lambda: line[:i] + rng.choice(SPECIAL) + line[i:],  # a special piece is inserted
        lambda: line[:i] + rng.choice(SPECIAL) + line[near:],  # a special piece replaces bytes
        lambda: (
            line[:i]
            + line[near : near + 1]
            + line[i + 1 : near]
            + line[i : i + 1]
            + line[near + 1 :]
        ),  # two bytes are swapped
        lambda: line[:i],  # the end is removed
        lambda: line[:j] + line[i:],  # a slice is repeated
    )[rng.randrange(7)]()


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
) -> None:
    monkeypatch.setattr(problems, "PROBLEMS_KEPT", MUTATIONS * 10)
    rng = random.Random(f"{SEED} {extension}")
    originals = lines_to_mutate(texts)
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

    path = written(tmp_path / f"x.{extension}", b"\n".join(lines))
    reading = read(path, on_error="skip")
    ours = {int(problem.place.rpartition(":")[2]) for problem in reading.census.problems}
    different = sorted(ours ^ set(invalid))[:3]
    shown = [(lines[number - 1], number in ours) for number in different]
    assert not different, f"seed {SEED}: (line, refused by us): {shown}"
    assert len(ours) == reading.census.errors
    assert_agrees(reading, quads, f"seed {SEED}")
    # The mutations are useful only if many lines are valid and many are invalid.
    assert 0.1 < len(invalid) / len(lines) < 0.9
