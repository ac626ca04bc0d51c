"""Graphs, random statements and embeddings that several test files use."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import oracle
from oracle import RDF_TYPE, Particle, Triple
from pyke.config import Config
from pyke.core.arrays import BLOCK_ROWS, Matrix, Repellers
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.graph import batches, build
from pyke.graph.graph import LITERAL, Census, Graph
from pyke.graph.terms import Terms, Texts
from pyke.read import _kernels as read_kernels
from pyke.read import _scanners, tokenize

# The same examples in every run, or new ones: `make fuzz`.
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "deterministic")
settings.register_profile("deterministic", max_examples=30, derandomize=True, deadline=None)
settings.register_profile("random", derandomize=False, deadline=None, print_blob=True)
settings.load_profile(PROFILE)

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"

FAMILY = f"""<http://e/stefan> {TYPE} <http://e/male> .
<http://e/stefan> <http://e/hasChild> <http://e/markus> .
<http://e/markus> {TYPE} <http://e/male> .
<http://e/markus> <http://e/hasChild> <http://e/anna> .
<http://e/anna> {TYPE} <http://e/female> .
<http://e/anna> <http://e/hasChild> <http://e/heinz> .
<http://e/heinz> {TYPE} <http://e/male> .
<http://e/michelle> {TYPE} <http://e/female> .
<http://e/anna> <http://www.w3.org/2000/01/rdf-schema#label> "Anna"@en .
<http://e/anna> <http://www.w3.org/2000/01/rdf-schema#label> "Anne"@fr .
"""

CRAFTS = ("baker", "smith", "weaver")


def crafts(members: int = 20) -> str:
    """Members of a craft know each other and use its tools. The hermit has only a type."""
    lines = [f"<http://e/hermit> {TYPE} <http://e/baker> .\n"]
    for craft in CRAFTS:
        for m in range(members):
            who = f"<http://e/{craft}/{m}>"
            lines.append(f"{who} {TYPE} <http://e/{craft}> .\n")
            lines.append(f"{who} <http://e/uses> <http://e/{craft}/tool{m % 4}> .\n")
            lines.append(f"{who} <http://e/knows> <http://e/{craft}/{(7 * m + 1) % members}> .\n")
    return "".join(lines)


LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
PREF_LABEL = "http://www.w3.org/2004/02/skos/core#prefLabel"

# Few nodes: predicates are also subjects and objects, and statements repeat.
NODES = ["e:a", "e:b", "e:c", "e:d", "e:e", "e:f", "e:p", "e:q", RDF_TYPE]
BLANKS = ["_:x", "_:y"]

# Each literal as it is written, and its canonical form.
LITERALS = {
    '"1"': '"1"',
    '"1"^^<http://www.w3.org/2001/XMLSchema#string>': '"1"',
    '"\\u0031"': '"1"',
    '"1"@en': '"1"@en',
    '"1"@EN': '"1"@en',
    '"1"^^<e:a>': '"1"^^<e:a>',
}

WAYS = [
    {"count_literals": count, "keep_duplicates": keep}
    for count, keep in product((False, True), repeat=2)
]

SMALL = [*product(NODES + BLANKS, ["e:p", "e:q", "e:a", RDF_TYPE], NODES + BLANKS + list(LITERALS))]

# Statements as they are written. Some graphs have a hub, connected to nearly every term.
GRAPHS = st.tuples(
    st.lists(st.sampled_from(SMALL), max_size=30), st.sampled_from(["", "e:hub", "e:a"])
).map(lambda drawn: drawn[0] + [(s, p, drawn[1]) for s, p, _ in drawn[0] if drawn[1]])

# Six subjects with types; half of them have another statement.
TYPED = [(f"e:t{i}", RDF_TYPE, "e:c" if i % 2 else "e:d") for i in range(6)]
TYPED += [(f"e:t{i}", "e:p", "e:b") for i in range(3)]
MIN_EXAMPLES = 20


def many(examples: int) -> settings:
    """Check a quarter of this many examples in every run, ten times as many in `make fuzz`."""
    return settings(
        max_examples=10 * examples if PROFILE == "random" else max(examples // 4, MIN_EXAMPLES)
    )


def as_meant(triples: Sequence[Triple], document: int | None = None) -> list[Triple]:
    """Statements for the oracle: canonical literals, blank nodes with their document's prefix."""

    def name(node: str) -> str:
        return (
            f"_:d{document}_{node[2:]}" if node.startswith("_:") and document is not None else node
        )

    return [(name(s), p, LITERALS.get(o, name(o))) for s, p, o in triples]


def as_text(triples: Sequence[Triple]) -> str:
    """Statements as N-Triples."""
    return "".join(
        " ".join(node if node[0] in '_"' else f"<{node}>" for node in triple) + " .\n"
        for triple in triples
    )


@cache
def _dialect(prefix: bytes) -> _scanners.Dialect:
    return tokenize.dialect(20, False, False, prefix)


def batches_of(*texts: str) -> Iterator[batches.Batch]:
    """Tokenize N-Triples documents without files; the tokenizer must accept all lines."""
    for number, text in enumerate(texts):
        data = np.frombuffer(bytearray(text.encode()), np.uint8)
        dialect = _dialect(b"d%d_" % number if len(texts) > 1 else b"")
        batch = tokenize.new_batch(len(data), len(dialect.blank_prefix))
        assert read_kernels.tokenize(data, 0, len(data), dialect, batch) == len(data)
        yield batch


def collect(batches: Iterable[batches.Batch], **parameters: Any) -> Graph:
    collector = build.Collector()
    for batch in batches:
        collector.add(batch)
    return collector.finish(Config(threads=1, **parameters), Census())


def graph_of(*texts: str, **parameters: Any) -> Graph:
    """The graph in some N-Triples documents."""
    return collect(batches_of(*texts), **parameters)


def triples_in(graph: Graph) -> Counter[Triple]:
    """The graph's triples as strings; every literal is a quotation mark."""
    columns = (graph.subjects, graph.predicate_ids, graph.objects)
    named = (
        (graph.terms[s], graph.terms[p], '"' if o == LITERAL else graph.terms[o])
        for s, p, o in zip(*columns, strict=True)
    )
    return Counter(named)


def particles_of(
    graph: Graph, truth: Sequence[Triple], similarity: str = "context"
) -> list[Particle]:
    """The oracle's names of all particles by id: terms, then roles, then contexts."""
    terms: list[Particle] = list(graph.terms)
    if similarity == "ppmi":
        return terms
    number = {term: i for i, term in enumerate(graph.terms)}
    shared = [name for name in oracle.context_particles(truth) if name[0] == "context"]
    for side in ("subject", "object"):
        terms += [("role", graph.terms[p], side) for p in graph.predicates]
    for side in ("object", "subject"):
        terms += sorted(
            (name for name in shared if name[2] == side),
            key=lambda name: (number[name[3]], number[name[1]]),
        )
    return terms


def random_graph(lines: int = 3000, seed: int = 1) -> str:
    """N-Triples with hubs, literals, repeated triples and types."""
    rng = random.Random(seed)
    statements = []
    for _ in range(lines):
        s, p, o = (
            int(rng.paretovariate(0.6)) % 800,
            int(rng.paretovariate(1.0)) % 12,
            rng.randrange(800),
        )
        target = (
            f'"{o}"'
            if rng.random() < 0.1
            else f"<http://e/c{o % 9}>"
            if p == 0
            else f"<http://e/{o}>"
        )
        statements.append(f"<http://e/{s}> {TYPE if p == 0 else f'<http://e/p{p}>'} {target} .\n")
    return "".join(statements)


def noisy_crafts(members: int, seed: int = 0, homepages: int = 0) -> str:
    """Crafts whose members also use tools of other crafts; some members have home pages."""
    draw = random.Random(seed)
    lines = []
    for craft in CRAFTS:
        for m in range(members):
            who = f"<http://e/{craft}/{m}>"
            lines.append(f"{who} {TYPE} <http://e/{craft}> .\n")
            for _ in range(3):
                of = craft if draw.random() < 2 / 3 else draw.choice(CRAFTS)
                lines.append(f"{who} <http://e/uses> <http://e/{of}/tool{draw.randrange(12)}> .\n")
            if m < homepages:
                lines.append(f"{who} <http://e/homepage> <http://e/{craft}/{m}.html> .\n")
    return "".join(lines)


UNTYPED = 9


def partly_typed(members: int = 20) -> str:
    """Noisy crafts whose first members have no types; one tool and one class have types."""
    lost = [
        f"<http://e/{craft}/{m}> {TYPE}"
        for craft in ("baker", "smith", "weaver")
        for m in range(UNTYPED // 3)
    ]
    lines = [
        line
        for line in noisy_crafts(members).splitlines(keepends=True)
        if not line.startswith(tuple(lost))
    ]
    more = [
        f"<http://e/smith/tool0> {TYPE} <http://e/Tool> .\n",
        f"<http://e/smith> {TYPE} <http://e/Craft> .\n",
    ]
    return "".join(lines + more)


# Terms and labels that some export format cannot represent exactly.
SPECIAL_TERMS = [
    'http://e/a b"c,d',
    "http://e/Zürich/東京/🙂",
    "http://e/tab\tnew\nline\rend",
    "_:b0",
    "http://e/100%25",
    "",
    "http://e/'--;",
]

SPECIAL_LABELS = {
    0: 'said "no", twice',
    1: "two\nlines\tand a tab",
    3: "東京🙂",
    4: "nul\0here",
    5: "",
}


def made_up(rows: int = 60, longest: int = 3_000, extreme: bool = True) -> Embedding:
    """An artificial embedding: special terms first, one very long; terms have 0 to 2 types."""
    random = np.random.default_rng(rows)
    names = [*SPECIAL_TERMS, "http://e/" + "".join(map(chr, random.integers(97, 123, longest)))]
    names += [f"http://e/{i}" for i in range(len(names), rows)]
    vectors = random.normal(size=(rows, 7)).astype(np.float32)
    if extreme:
        vectors[0] = [0.0, -0.0, 1e-45, 3.4028235e38, 16777216, 1 / 3, -1e-7]
    classes = [rows - 3, rows - 2]
    types = sorted(
        {(i, classes[i % 3 - 1]) for i in range(rows - 5) if i % 3}
        | {(i, classes[0]) for i in range(0, rows - 5, 5)}
    )
    triples = [(i, rows - 1 - i % 2 * 3, (i + 1) % rows) for i in range(rows - 5)]
    labels = SPECIAL_LABELS | {i: f"label {i}" for i in range(10, rows, 2)}
    return Embedding(
        vectors, Terms.of(names), np.array(types, np.int32), np.array(triples, np.int32),
        Texts.of(labels.values()), np.array(list(labels), np.int32), {"census": {}, "config": {}},
    )  # fmt: skip


class Recorded(Progress):
    """Records stages, and fails if progress within a stage runs backwards."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        self.stages.append(name)
        self.done, self.total = 0, total

    def advance(self, done: int) -> None:
        assert self.done <= done <= (self.total or done)
        self.done = done

    def iteration(self, number: int, energy: float, objective: float, displacement: float) -> None:
        self.advance(number)


def random_forces(particles: int, wanted: int, seed: int) -> tuple[Matrix, Repellers]:
    """Random springs, some particles without any, and random repellers."""
    rng = np.random.default_rng(seed)
    degrees = rng.integers(0, 6, particles)
    offsets = np.append(0, np.cumsum(degrees)).astype(np.int64)
    columns = rng.integers(0, particles, offsets[-1]).astype(np.int32)
    springs = Matrix(offsets, columns, rng.random(offsets[-1], np.float32) + np.float32(0.1))
    blocks, size = -(-particles // BLOCK_ROWS), min(particles, 40)
    pool = np.concatenate([rng.permutation(particles)[:size] for _ in range(blocks)])
    repellers = Repellers(
        np.arange(blocks + 1, dtype=np.int64) * size,
        pool.astype(np.int32),
        rng.integers(0, size, (particles, wanted)).astype(np.uint16),
        rng.integers(0, wanted + 1, particles).astype(np.uint16),
    )
    return springs, repellers
