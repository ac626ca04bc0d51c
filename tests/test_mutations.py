"""The fast path under 10^5 mutations of real lines: the same verdict and the same statement as pyoxigraph, line by line."""

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
from pyke.read import tokenize

MUTATIONS = 100_000  # in each syntax
SEED = int(os.environ.get("PYKE_SEED") or 20_240_229)

# What means something to the grammar, or is at a border of it: also control characters, bad UTF-8 and the borders of Unicode.
BYTES = [
    bytes([c])
    for c in b"<>\"\\'@^_:.#%/?[](){}|`~-+, \t\r\n\x00\x0b\x0c\x1f\x7f\x80\xbf\xc2\xe0\xed\xf0\xf4\xffeEuU09aAzZ"
]
CHARACTERS = "éÿ\x80\x9f\xa0·\u037e\u0300\u2028\u3000漢\ud7ff\ud800\ue000\ufdcf\ufdd0\ufdef\ufeff\uffef\ufffe😀\U0001fffe\U000e0001\U0010ffff"
PIECES = r"""
\u00e9 \u0020 \u003e \ud800 \U0001F600 \U00110000 \u00 \t \n \" \q
@en @EN-gb @zh-Hant-TW @x @e1 @en--ltr ^^ ^^<a:> <<( )>> << >>
^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> ^^<http://www.w3.org/2001/XMLSchema#string>
_: _:b _:b. _:é <g:> <> <a> http:// :// //[::1] :80 %20 %zz %C3 # . .. <a:><b:><c:>.
"""
SPECIAL = [
    *BYTES,
    *(c.encode("utf-8", "surrogatepass") for c in CHARACTERS),
    *(piece.encode() for piece in PIECES.split()),
]


def mutated(line: bytes, rng: random.Random) -> bytes:
    """One small change."""
    i, j = sorted((rng.randrange(len(line) + 1), rng.randrange(len(line) + 1)))
    near = min(len(line), i + rng.randrange(1, 4))
    return (
        lambda: (
            line[:i] + bytes([(line[i : i + 1] or b" ")[0] ^ 1 << rng.randrange(8)]) + line[i + 1 :]
        ),  # a bit flips
        lambda: line[:i] + line[near:],  # some bytes are lost
        lambda: line[:i] + rng.choice(SPECIAL) + line[i:],  # something special is added
        lambda: line[:i] + rng.choice(SPECIAL) + line[near:],  # or put in the place of something
        lambda: (
            line[:i]
            + line[near : near + 1]
            + line[i + 1 : near]
            + line[i : i + 1]
            + line[near + 1 :]
        ),  # two bytes swap places
        lambda: line[:i],  # the end is lost
        lambda: line[:j] + line[i:],  # a slice is doubled
    )[rng.randrange(7)]()


def lines_to_mutate(texts: dict[str, str]) -> list[bytes]:
    """Lines written in the tests, and lines of real files where these are at hand."""
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


def judged(line: bytes, form: RdfFormat) -> list[Quad] | None:
    """What pyoxigraph finds in a line as a document, or None if it refuses it."""
    try:
        return list(pyoxigraph.parse(line, format=form))
    except SyntaxError:
        return None


@pytest.mark.parametrize(
    ("form", "extension", "texts"),
    [(RdfFormat.N_TRIPLES, "nt", LINES), (RdfFormat.N_QUADS, "nq", LINES | QUADS)],
)
def test_mutated_lines_are_judged_as_pyoxigraph_judges_them(
    form: RdfFormat,
    extension: str,
    texts: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tokenize, "PROBLEMS_KEPT", MUTATIONS * 10)
    rng = random.Random(f"{SEED} {extension}")
    originals = lines_to_mutate(texts)
    bad: list[int] = []
    quads: list[Quad] = []
    lines = [b"# a first line, so that no mutation becomes the byte order mark of the document"]
    for _ in range(MUTATIONS):
        line = rng.choice(originals)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            line = mutated(line, rng)
        for part in line.split(b"\n"):
            lines.append(part)
            found = judged(part, form)
            if found is None:
                bad.append(len(lines))
            else:
                quads.extend(found)

    path = written(tmp_path / f"x.{extension}", b"\n".join(lines))
    reading = read(path, on_error="skip")
    ours = {int(problem.place.rpartition(":")[2]) for problem in reading.census.problems}
    different = sorted(ours ^ set(bad))[:3]
    assert not different, (
        f"seed {SEED}: {[(lines[number - 1], number in ours) for number in different]} (line, refused by us)"
    )
    assert len(ours) == reading.census.errors
    assert_agrees(reading, quads, f"seed {SEED}")
    # Both verdicts are frequent, or the mutations show nothing.
    assert 0.1 < len(bad) / len(lines) < 0.9
