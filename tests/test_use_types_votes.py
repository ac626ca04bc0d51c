"""Votes of neighbours: who votes, with which weight, compared with the oracle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import (
    GRAPHS,
    TYPE,
    TYPED,
    as_meant,
    as_text,
    crafts,
    graph_of,
    many,
    noisy_crafts,
)
from oracle import RDF_TYPE, Ballot, Triple
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.errors import NothingToScore, UsageError
from pyke.graph.graph import Graph
from pyke.use.neighbours.search import Neighbours
from pyke.use.types.evidence import find_evidence
from pyke.use.types.votes import (
    VOTERS,
    ClassVotes,
    TypeTable,
    Voters,
    agreement,
    has_class,
    vote,
)

CONFIG = Config(dimensions=3, max_iterations=3, threads=1)


def voters_of(graph: Graph, mu: int | None = None, threads: int = 1) -> Voters:
    evidence = find_evidence(graph, CONFIG, Progress())
    return Voters.of(evidence, TypeTable.of(graph.types), mu, threads)


def with_vectors(voters: Voters, vectors: np.ndarray) -> Voters:
    return replace(voters, evidence=replace(voters.evidence, vectors=vectors.astype(np.float32)))


def all_terms(graph: Graph) -> np.ndarray:
    return np.arange(len(graph.terms), dtype=np.int32)


def by_name(
    graph: Graph, voters: Voters, counted: ClassVotes, terms: np.ndarray
) -> dict[str, dict[str, Ballot]]:
    found: dict[str, dict[str, Ballot]] = {graph.terms[int(x)]: {} for x in terms}
    for who, kind, votes, share in zip(*(column.tolist() for column in counted), strict=True):
        name = graph.terms[int(voters.known.class_ids[kind])]
        found[graph.terms[int(terms[who])]][name] = Ballot(votes, share)
    return found


def check(
    found: dict[str, dict[str, Ballot]], expected: dict[str, dict[str, Ballot]], error: float
) -> None:
    assert found.keys() == expected.keys()
    for name, ballots in expected.items():
        assert {kind: one.votes for kind, one in found[name].items()} == {
            kind: one.votes for kind, one in ballots.items()
        }
        assert {kind: one.share for kind, one in found[name].items()} == pytest.approx(
            {kind: one.share for kind, one in ballots.items()}, abs=error
        )


@given(GRAPHS, st.integers(1, 4), st.booleans(), st.integers(1, 9))
@many(80)
def test_the_nearest_typed_subjects_that_share_a_role_vote(
    triples: list[Triple], mu: int, count_literals: bool, places: int
) -> None:
    """Also if many terms are at the same place: the smaller id is nearer."""
    triples = [(s, RDF_TYPE if n % 3 == 0 else p, o) for n, (s, p, o) in enumerate(triples)]
    triples += [*TYPED, *((f"e:t{i}", "e:q", f"e:o{i % 2}") for i in range(6))]
    graph = graph_of(as_text(triples), count_literals=count_literals)
    meant = oracle.counted(as_meant(triples), count_literals=count_literals)
    rng = np.random.default_rng(len(triples))
    drawn = rng.normal(size=(places, 4)).astype(np.float32)
    vectors = drawn[rng.integers(places, size=len(graph.terms))]
    voters = with_vectors(voters_of(graph, mu), vectors)
    terms = all_terms(graph)
    counted, _ = voters.votes(voters.queries(terms), Progress())
    named = dict(zip(graph.terms, vectors.tolist(), strict=True))
    typed = [graph.terms[int(x)] for x in voters.known.subjects]
    assert set(typed) <= oracle.typed_subjects(meant)
    check(
        by_name(graph, voters, counted, terms),
        {name: oracle.weighted_votes(meant, named, typed, name, mu) for name in graph.terms},
        1e-5,
    )


def test_weights_fall_with_the_distance_and_add_up_to_1() -> None:
    graph = graph_of(noisy_crafts(10))
    voters = voters_of(graph, 8)
    queries = voters.queries(voters.known.subjects)
    _, found = voters.votes(queries, Progress())
    overlaps = voters.overlaps(queries, found)
    weights = voters.weights(found, overlaps)
    assert weights.sum(axis=1) == pytest.approx(1), "all members use something"
    near = np.array([oracle.neighbour_weights(row) for row in found.squares.tolist()])
    assert (np.diff(near, axis=1) <= 0).all()
    expected = near * overlaps**3 / (near * overlaps**3).sum(axis=1, keepdims=True)
    assert weights == pytest.approx(expected, rel=1e-5)


def test_neighbours_with_other_roles_or_other_numbers_of_triples_weigh_less() -> None:
    """All voters are at the same place."""
    uses = {"query": "12", "alike": "13", "more": "1234", "also": "12"}
    lines = [f"<e:{name}> <e:p> <e:o{n}> ." for name, used in uses.items() for n in used]
    lines += ["<e:also> <e:q> <e:o4> ."]
    lines += [f"<e:{name}> <e:q> <e:o1> ." for name in ("other", "far")]
    typed = ("alike", "more", "also", "other", "far")
    lines += [f"<e:{name}> {TYPE} <e:{name}s> ." for name in typed]
    graph = graph_of("\n".join(lines) + "\n")
    vectors = np.ones((len(graph.terms), 3))
    vectors[graph.terms.id("e:far")] = 5
    voters = with_vectors(voters_of(graph, 4), vectors)
    queries = voters.queries(np.array([graph.terms.id("e:query")], np.int32))
    counted, found = voters.votes(queries, Progress())
    names = [graph.terms[int(x)] for x in voters.known.subjects[found.ids[0]]]
    found_overlaps = voters.overlaps(queries, found)
    overlaps = dict(zip(names, found_overlaps[0].tolist(), strict=True))
    expected = {
        "e:alike": 1.0,
        "e:more": np.log(3) / np.log(5),
        "e:also": np.log(3) / (np.log(3) + np.log(2)),
        "e:other": 0.0,
    }
    assert overlaps == pytest.approx(expected)
    weights = dict(zip(names, voters.weights(found, found_overlaps)[0].tolist(), strict=True))
    total = sum(value**3 for value in expected.values())
    assert weights == pytest.approx(
        {name: 3 / 4 * value**3 / total for name, value in expected.items()}
    ), "three of four near neighbours share a role"
    assert len(counted.classes) == 3, "a neighbour without a shared role does not vote"


def test_a_number_of_triples_counts_as_much_as_it_should() -> None:
    """One voter has p once as the query, and q thrice; the other has q once and p thrice."""
    lines = ["<e:query> <e:p> <e:o1> .\n<e:query> <e:q> <e:o1> ."]
    for name, role, other in (("one", "p", "q"), ("two", "q", "p")):
        lines += [f"<e:{name}> <e:{role}> <e:o1> .", f"<e:{name}> {TYPE} <e:{name}s> ."]
        lines += [f"<e:{name}> <e:{other}> <e:o{n}> ." for n in range(3)]
    graph = graph_of("\n".join(lines) + "\n")
    voters = voters_of(graph, 1)
    predicates = [graph.terms[int(x)] for x in voters.evidence.predicates]
    counting = np.zeros(2 * len(predicates))
    counting[2 * predicates.index("e:p")] = 0.5
    queries = voters.queries(np.array([graph.terms.id("e:query")], np.int32))
    found = Neighbours(np.array([[0, 1]], np.int32), np.ones((1, 2), np.float32), True, 1.0)
    names = [graph.terms[int(x)] for x in voters.known.subjects]
    plain = voters.overlaps(queries, found)[0]
    assert plain == pytest.approx(2 * np.log(2) / np.log(2 * 4))
    counted = replace(voters, counting=counting).overlaps(queries, found)[0]
    of_two = 2 * np.log(2) / (2 * np.log(2) + 0.5 * np.log(4 / 2))
    assert dict(zip(names, counted.tolist(), strict=True)) == pytest.approx(
        {"e:one": 1.0, "e:two": of_two}
    )


def test_neighbours_at_the_same_place_have_equal_finite_weights() -> None:
    graph = graph_of(noisy_crafts(10))
    voters = with_vectors(voters_of(graph, 5), np.ones((len(graph.terms), 3)))
    queries = voters.queries(all_terms(graph)[:4])
    _, found = voters.votes(queries, Progress())
    assert not found.squares.any()
    overlaps = voters.overlaps(queries, found)
    weights = voters.weights(found, overlaps)
    assert np.isfinite(weights).all()
    assert weights.sum(axis=1) == pytest.approx((overlaps > 0).sum(axis=1) / 5)
    for row, own in zip(weights, overlaps, strict=True):
        same = row[own == own.max()]
        assert same == pytest.approx(same[0])


def test_a_neighbour_at_distance_0_has_a_finite_weight() -> None:
    """Its weight is 1 / 0.02, that of the last voter 1 / 1.02."""
    graph = graph_of(noisy_crafts(10))
    voters = voters_of(graph, 2)
    vectors = np.zeros((len(graph.terms), 3))
    vectors[voters.known.subjects[2:], 0] = 5
    vectors[voters.known.subjects[2], 0] = 1
    voters = with_vectors(voters, vectors)
    queries = voters.queries(voters.known.subjects[:1])
    _, found = voters.votes(queries, Progress())
    assert found.squares.tolist() == [[0, 1]]
    overlaps = voters.overlaps(queries, found)
    first, last = voters.weights(found, overlaps)[0] / overlaps[0] ** 3
    assert first / last == pytest.approx(1.02 / 0.02)


def test_a_subject_does_not_vote_on_itself() -> None:
    graph = graph_of(noisy_crafts(4))
    voters = voters_of(graph)
    _, found = voters.votes(voters.queries(voters.known.subjects), Progress())
    assert voters.mu == len(voters.known) - 1
    assert not (found.ids == np.arange(len(voters.known))[:, None]).any()


def test_30_neighbours_vote_if_there_are_as_many() -> None:
    assert voters_of(graph_of(noisy_crafts(11))).mu == VOTERS == 30
    assert voters_of(graph_of(noisy_crafts(10))).mu == 29
    assert voters_of(graph_of(noisy_crafts(6))).mu == 17


def test_subjects_with_nothing_but_types_do_not_vote() -> None:
    graph = graph_of(crafts(8))
    hermit = graph.terms.find("http://e/hermit")
    voters = voters_of(graph)
    assert hermit in graph.types[:, 0]
    assert hermit not in voters.known.subjects
    assert len(voters.known) == 24


def test_two_typed_subjects_are_enough_and_one_is_not() -> None:
    types = f"<e:a> {TYPE} <e:c> .\n<e:b> {TYPE} <e:d> .\n<e:x> <e:p> <e:o> .\n"
    assert voters_of(graph_of(f"{types}<e:a> <e:p> <e:o> .\n<e:b> <e:p> <e:o> .\n")).mu == 1
    for mu in (None, 1):
        with pytest.raises(NothingToScore, match="only one typed subject occurs in triples"):
            voters_of(graph_of(f"{types}<e:a> <e:p> <e:o> .\n"), mu)
    with pytest.raises(NothingToScore, match="only in triples that state their types"):
        voters_of(graph_of(types))


def test_too_many_or_too_few_neighbours_are_refused() -> None:
    graph = graph_of(noisy_crafts(4))
    assert voters_of(graph, 11).mu == 11
    with pytest.raises(NothingToScore, match="only 11 typed subjects can be neighbours"):
        voters_of(graph, 12)
    with pytest.raises(UsageError, match="at least 1"):
        voters_of(graph, 0)


def test_no_queries_have_no_votes() -> None:
    voters = voters_of(graph_of(noisy_crafts(4)))
    counted, found = voters.votes(voters.queries(np.zeros(0, np.int32)), Progress())
    assert [len(column) for column in counted] == [0, 0, 0, 0]
    assert found.ids.shape == (0, 11)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    graph = graph_of(noisy_crafts(120))
    one, three = (voters_of(graph, threads=threads) for threads in (1, 3))
    terms = all_terms(graph)
    votes = [some.votes(some.queries(terms), Progress())[0] for some in (one, three)]
    for first, second in zip(*votes, strict=True):
        assert first.tolist() == second.tolist()


def test_votes_without_weights_count_alike() -> None:
    known = TypeTable.of(np.array([(0, 7), (1, 7), (1, 8), (2, 9)], np.int32))
    found = vote(np.array([[0, 1], [2, 2]], np.int32), known)
    assert found.queries.tolist() == [0, 0, 1]
    assert known.class_ids[found.classes].tolist() == [7, 8, 9]
    assert found.votes.tolist() == [2, 1, 2]
    assert found.shares.tolist() == [1.0, 0.5, 1.0]


def test_neighbours_with_a_weight_of_0_do_not_vote() -> None:
    known = TypeTable.of(np.array([(0, 7), (1, 8)], np.int32))
    found = vote(np.array([[0, 1]], np.int32), known, np.array([[0.0, 0.25]]))
    assert known.class_ids[found.classes].tolist() == [8]
    assert (found.votes.tolist(), found.shares.tolist()) == ([1], [0.25])


def test_rows_know_their_classes() -> None:
    truth = TypeTable.of(np.array([(0, 7), (1, 7), (1, 8)], np.int32))
    rows, classes = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1], np.int32)
    assert has_class(truth, rows, classes).tolist() == [True, False, True, True]


def test_agreement_is_the_cosine_of_shares_and_types() -> None:
    """(3, 4) and (1, 1), no votes, and votes for another class."""
    truth = TypeTable.of(np.array([(0, 7), (0, 8), (1, 7), (2, 8)], np.int32))
    queries, classes = np.array([0, 0, 2]), np.array([0, 1, 0], np.int32)
    found = ClassVotes(queries, classes, np.ones(3, np.int64), np.array([0.3, 0.4, 1.0]))
    assert agreement(found, truth) == pytest.approx((7 / (5 * np.sqrt(2)) + 0 + 0) / 3)


def test_a_share_never_exceeds_one() -> None:
    """Twenty times a twentieth is a little more than 1 in binary."""
    known = TypeTable.of(np.array([[n, 100] for n in range(20)], np.int32))
    found = vote(np.arange(20, dtype=np.int32)[None, :], known)
    assert sum([1 / 20] * 20) > 1
    assert found.shares.tolist() == [1.0]
