"""How much numbers of triples tell about classes, against plain loops."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import graph_of
from oracle import RDF_TYPE
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.use.types import numbers
from pyke.use.types.evidence import find_evidence
from pyke.use.types.numbers import STEPS, informative_numbers
from pyke.use.types.votes import TypeTable

TYPE = f"<{RDF_TYPE}>"

# For each subject: how many books it has written, how often it was quoted, and its classes.
SUBJECTS = st.lists(
    st.tuples(
        st.integers(0, 9), st.integers(0, 5), st.sets(st.integers(0, 2), min_size=1, max_size=2)
    ),
    min_size=2,
    max_size=30,
)
Subjects = list[tuple[int, int, set[int]]]


def text_of(subjects: Subjects) -> str:
    lines = []
    for n, (written, quoted, classes) in enumerate(subjects):
        lines += [f"<e:s{n}> {TYPE} <e:c{c}> .\n" for c in sorted(classes)]
        lines += [f"<e:s{n}> <e:wrote> <e:b{n}-{i}> .\n" for i in range(written)]
        lines += [f"<e:q{n}-{i}> <e:quotes> <e:s{n}> .\n" for i in range(quoted)]
    return "".join([*lines, "<e:x> <e:wrote> <e:y> .\n<e:x> <e:quotes> <e:y> .\n"])


def told_by(text: str) -> dict[tuple[str, int], float]:
    """What `informative_numbers` finds, by predicate and side."""
    graph = graph_of(text)
    evidence = find_evidence(graph, Config(dimensions=2, threads=1), Progress())
    found = informative_numbers(evidence, TypeTable.of(graph.types))
    names = [graph.terms[int(x)] for x in evidence.predicates]
    return {(names[r // 2], r % 2): value for r, value in enumerate(found.tolist())}


def expected(counted: list[tuple[int, frozenset[int]]]) -> float:
    """The corrected mutual information of numbers and sets of classes, by their entropy."""
    some = [(math.floor(STEPS * math.log2(1 + n)), classes) for n, classes in counted if n]
    size = len(some)
    if not size:
        return 0.0
    both, groups = Counter(some), Counter(group for group, _ in some)
    labels = Counter(classes for _, classes in some)
    information = sum(
        n / size * math.log(n * size / (groups[group] * labels[classes]))
        for (group, classes), n in both.items()
    ) - (len(groups) - 1) * (len(labels) - 1) / (2 * size)
    entropy = -sum(n / size * math.log(n / size) for n in labels.values())
    return min(1.0, max(0.0, information / entropy)) if len(labels) > 1 else 0.0


@given(SUBJECTS)
def test_information_equals_that_of_plain_loops(subjects: Subjects) -> None:
    found = told_by(text_of(subjects))
    written = [(number, frozenset(classes)) for number, _, classes in subjects]
    quoted = [(number, frozenset(classes)) for _, number, classes in subjects]
    assert found["e:wrote", 0] == pytest.approx(expected(written), abs=1e-9)
    assert found["e:quotes", 1] == pytest.approx(expected(quoted), abs=1e-9)


@pytest.mark.parametrize("subjects", [22, 23, 39, 43])
def test_numbers_tell_nothing_where_all_have_the_same_class(subjects: int) -> None:
    """The entropy of one class is 0; with 23, 39 or 43 subjects, rounding makes it larger."""
    some = [(1 + n % 7, 0, {0}) for n in range(subjects)]
    found = told_by(text_of([*some, (0, 1, {1}), (0, 2, {1})]))
    assert found["e:wrote", 0] == 0


def test_a_sample_of_the_subjects_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second subject counts: each of these has written one book."""
    classes = [n // 2 % 2 for n in range(80)]
    text = text_of([(6 if n % 2 and c else 1, 1, {c}) for n, c in enumerate(classes)])
    every = told_by(text)["e:wrote", 0]
    monkeypatch.setattr(numbers, "MAX_SUBJECTS", 40)
    assert every > told_by(text)["e:wrote", 0] == 0


def test_a_number_that_decides_the_class_tells_nearly_all_and_another_nothing() -> None:
    draw = np.random.default_rng(1)
    subjects = [(9 if n % 2 else 1, int(draw.integers(1, 5)), {n % 2}) for n in range(400)]
    found = told_by(text_of(subjects))
    assert found["e:wrote", 0] > 0.99
    assert found["e:quotes", 1] < 0.02
