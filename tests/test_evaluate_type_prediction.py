"""Type prediction compared with plain loops: the paper's score, withheld types, votes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import many
from pyke.core.arrays import Floats, Ids, Matrix
from pyke.errors import NothingToScore, UsageError
from pyke.evaluate.type_prediction import score, score_classes
from pyke.use.types.votes import MU, TypeTable, require_classes, usable_mu

CLASSES = "abcde"
Member = tuple[list[float], set[str]]  # where it is, and its types


def members(least: int, most: int) -> st.SearchStrategy[list[Member]]:
    """Subjects at small integer positions: distances are exact, and many are equal."""
    types = st.sets(st.sampled_from(CLASSES), min_size=1, max_size=4)

    def at(dimensions: int) -> st.SearchStrategy[list[Member]]:
        place = st.lists(st.integers(-2, 2), min_size=dimensions, max_size=dimensions)
        return st.lists(st.tuples(place, types), min_size=least, max_size=most)

    return st.integers(1, 5).flatmap(at)


def vectors_of(people: list[Member]) -> Floats:
    """Subject i is term 2i + 1. The terms between have no types, and the same positions."""
    own = np.array([place for place, _ in people], np.float32)
    vectors = np.zeros((2 * len(own) + 1, own.shape[1]), np.float32)
    vectors[1::2] = own
    vectors[2::2] = own
    return vectors


def types_of(people: list[Member]) -> Ids:
    """Classes are terms too. Their ids are in alphabetical order."""
    pairs = sorted(
        (2 * x + 1, 1000 + CLASSES.index(name)) for x, (_, own) in enumerate(people) for name in own
    )
    return np.array(pairs, np.int32).reshape(-1, 2)


def plain(people: list[Member]) -> tuple[list[list[float]], list[set[str]]]:
    return [place for place, _ in people], [own for _, own in people]


@given(members(2, 15))
@many(100)
def test_the_score_equals_the_papers_formula_at_every_mu(people: list[Member]) -> None:
    table, others = TypeTable.of(types_of(people)), range(1, len(people))
    results = [
        score(vectors_of(people), table, mu=list(others), threads=threads) for threads in (1, 3)
    ]
    places, types = plain(people)
    assert list(results[0].scores) == list(others)
    for mu, found in results[0].scores.items():
        assert found == pytest.approx(oracle.type_prediction(places, types, mu), abs=1e-12)
    assert results[0] == results[1], "the result does not depend on threads"
    assert (results[0].asked, results[0].without_vector, results[0].votes) == (
        len(people),
        0,
        None,
    )


@given(members(3, 15), st.integers(1, 20))
@many(100)
def test_evenly_spaced_subjects_are_predicted_from_all_others(
    people: list[Member], most: int
) -> None:
    table = TypeTable.of(types_of(people))
    found = score(vectors_of(people), table, mu=[1, 2], most=most)
    few = min(most, len(people))
    asked = sorted({int(x) for x in np.linspace(0, len(people) - 1, few)})
    assert found.asked == few == len(asked)
    for mu in (1, 2):
        each = [oracle.type_prediction(*plain(people), mu, only=x) for x in asked]
        assert found.scores[mu] == pytest.approx(sum(each) / few, abs=1e-12)


@given(members(12, 16))
@many(60)
def test_ties_between_the_tenth_and_eleventh_neighbour_are_counted(people: list[Member]) -> None:
    table = TypeTable.of(types_of(people))
    for mu in ([1], None):
        assert score(vectors_of(people), table, mu=mu).ties == oracle.ties(plain(people)[0], 10)


@given(members(3, 20), st.data())
@many(120)
def test_scores_of_withheld_types_equal_those_of_plain_loops(
    people: list[Member], data: st.DataObject
) -> None:
    """Also where a subject has no vector, and where there are fewer than ten neighbours."""
    is_asked = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(people), max_size=len(people)))
    )
    is_asked[:2] = True, False
    gone = (
        np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(people), max_size=len(people))))
        == 0
    )
    whole = TypeTable.of(types_of(people))
    known, asked = whole.rows(np.flatnonzero(~is_asked)), whole.rows(np.flatnonzero(is_asked))
    subjects = np.where(gone[is_asked], np.int32(-1), asked.subjects)
    asked = TypeTable(subjects.astype(np.int32), asked.offsets, asked.classes, asked.class_ids)
    truth = oracle.Withheld(
        points=[place for x, (place, _) in enumerate(people) if not is_asked[x]],
        known=[own for x, (_, own) in enumerate(people) if not is_asked[x]],
        queries=[None if gone[x] else place for x, (place, _) in enumerate(people) if is_asked[x]],
        truth=[own for x, (_, own) in enumerate(people) if is_asked[x]],
    )
    found = score(vectors_of(people), known, asked, mu=range(1, len(known) + 1))
    for mu, value in found.scores.items():
        assert value == pytest.approx(truth.score(mu), abs=1e-12)
    assert (found.asked, found.without_vector) == (is_asked.sum(), (gone & is_asked).sum())
    voters = min(10, len(known))
    assert found.votes is not None
    assert found.votes.top_1 == pytest.approx(truth.top_1(voters), abs=1e-12)
    assert (found.votes.micro_f1, found.votes.macro_f1) == pytest.approx(
        truth.f1(voters), abs=1e-12
    )
    assert found == score(
        vectors_of(people), known, asked, mu=range(1, len(known) + 1), threads=4
    ), "the result does not depend on threads"


def test_the_oracle_equals_a_computation_by_hand() -> None:
    """Two subjects: one next to two members of a, and one without a vector."""
    case = oracle.Withheld(
        [[0.0], [1.0], [9.0]], [{"a"}, {"a", "b"}, {"c"}], [[0.0], None], [{"a"}, {"b"}]
    )
    assert case.score(1) == pytest.approx((1 + 0) / 2)
    assert case.score(2) == pytest.approx((2 / 5**0.5 + 0) / 2)
    assert case.top_1(2) == 1 / 2
    # Predicted for the first: a and b, which half of the neighbours have. True: a of the first,
    # b of the second. One prediction of two is right, and one true type of two is found.
    assert case.f1(2) == pytest.approx((0.5, (1 + 0) / 2))


def test_a_score_from_an_index_is_close_and_reports_its_recall() -> None:
    rng = np.random.default_rng(1)
    people: list[Member] = [
        (rng.normal(size=6).tolist(), set(rng.choice(list(CLASSES), 2).tolist()))
        for _ in range(600)
    ]
    exact, by_index = (
        score(vectors_of(people), TypeTable.of(types_of(people)), exact=exact)
        for exact in (True, False)
    )
    assert (exact.exact, exact.recall, by_index.exact) == (True, 1.0, False)
    assert 0.98 < by_index.recall <= 1
    assert list(exact.scores.values()) == pytest.approx(list(by_index.scores.values()), abs=0.01)


# --------------------------------------------------------------------------------------------------
# Parameters
# --------------------------------------------------------------------------------------------------


def test_rows_of_a_table_are_in_the_given_order() -> None:
    table = TypeTable.of(np.array([[3, 10], [3, 12], [5, 11], [9, 10]], np.int32))
    chosen = table.rows(np.array([2, 0, 0]))
    assert chosen.subjects.tolist() == [9, 3, 3]
    assert [
        chosen.class_ids[chosen.classes[a:b]].tolist()
        for a, b in zip(chosen.offsets, chosen.offsets[1:], strict=False)
    ] == [
        [10],
        [10, 12],
        [10, 12],
    ]
    assert len(table.rows(np.zeros(0, np.int64))) == 0


@pytest.mark.parametrize("others", [1, 2, 3, 9, 10, 99, 100, 10_000])
def test_the_default_mu_are_those_of_the_paper_up_to_the_number_of_neighbours(others: int) -> None:
    assert usable_mu(None, others) == tuple(mu for mu in MU if mu <= others)


def test_mu_is_sorted_without_duplicates() -> None:
    assert usable_mu([5, 1, 5, 3], 5) == (1, 3, 5)


@pytest.mark.parametrize(
    ("wanted", "error", "words"),
    [
        ([], UsageError, "missing"),
        ([0], UsageError, "least 1"),
        ([3, -1], UsageError, "`mu` is -1"),
        ([6], NothingToScore, "only 5 typed subjects"),
    ],
)
def test_an_invalid_mu_is_rejected(wanted: list[int], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        usable_mu(wanted, 5)


def test_a_single_subject_cannot_be_predicted() -> None:
    with pytest.raises(NothingToScore, match="one typed subject"):
        usable_mu(None, 0)


@pytest.mark.parametrize(
    ("types", "words"),
    [
        ([], "no subject has a type.*`type_predicate`"),
        ([(0, 5), (1, 5)], "all 2 typed subjects have the same class"),
    ],
)
def test_missing_types_and_a_single_class_are_rejected(
    types: list[tuple[int, int]], words: str
) -> None:
    with pytest.raises(NothingToScore, match=words):
        require_classes(TypeTable.of(np.array(types, np.int32).reshape(-1, 2)))


def test_two_classes_are_enough() -> None:
    for pairs in product([(0, 5)], [(0, 6), (1, 6)]):
        require_classes(TypeTable.of(np.array(pairs, np.int32)))


SCORED = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(CLASSES), st.sampled_from([0.25, 0.5, 0.75, 1.0])),
        st.sets(st.sampled_from(CLASSES), min_size=1),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@given(SCORED)
@many(100)
def test_scores_of_classes_without_neighbours_equal_those_of_plain_loops(
    people: list[tuple[dict[str, float], set[str], bool]],
) -> None:
    """A subject that is not in the graph has no scores, and counts as 0."""
    pairs = sorted(
        (x, 1000 + CLASSES.index(c)) for x, (_, own, _) in enumerate(people) for c in own
    )
    pairs += [(len(people), 1000 + c) for c in range(len(CLASSES))]
    whole = TypeTable.of(np.array(pairs, np.int32)).rows(np.arange(len(people)))
    gone = np.array([is_gone for _, _, is_gone in people])
    truth = replace(whole, subjects=np.where(gone, np.int32(-1), whole.subjects).astype(np.int32))
    rows = [sorted(scores.items()) for scores, _, is_gone in people if not is_gone]
    found = Matrix(
        np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int64),
        np.array([1000 + CLASSES.index(name) for row in rows for name, _ in row], np.int32),
        np.array([value for row in rows for _, value in row], np.float32),
    )
    result = score_classes(found, truth)
    own = [types for _, types, _ in people]
    guessed = [{} if is_gone else scores for scores, _, is_gone in people]
    cosines = [oracle.cosine_of_types(a, Counter(b)) for a, b in zip(own, guessed, strict=True)]
    assert result.score == pytest.approx(np.mean(cosines), abs=1e-12)
    assert (result.asked, result.without_scores) == (len(own), sum(not one for one in guessed))
    first = [min(one, key=lambda c: (-one[c], c)) if one else None for one in guessed]
    top_1 = np.mean([a in b for a, b in zip(first, own, strict=True)])
    assert result.votes.top_1 == pytest.approx(top_1)
    likely = {(x, c) for x, one in enumerate(guessed) for c in one if one[c] >= 0.5}
    true = {(x, c) for x, types in enumerate(own) for c in types}
    f1 = 2 * len(likely & true) / (len(likely) + len(true))
    assert result.votes.micro_f1 == pytest.approx(f1)
