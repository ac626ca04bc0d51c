"""Folds: typed subjects are predicted as if they and their fold had no types."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from graphs import CRAFTS, TYPE, graph_of, noisy_crafts
from oracle import RDF_TYPE
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.graph.changes import remove_triples
from pyke.graph.graph import Graph
from pyke.graph.roles import states_type
from pyke.use.neighbours.search import Neighbours
from pyke.use.types import folds as module
from pyke.use.types.folds import FOLDS, POWERS, TRIED_FOLDS, Folds
from pyke.use.types.numbers import informative_numbers
from pyke.use.types.votes import (
    OVERLAP_POWER,
    ClassVotes,
    Queries,
    TypeTable,
    Voters,
    agreement,
)

CONFIG = Config(dimensions=5, threads=1)


def linked_crafts(members: int = 12) -> str:
    """Members of a craft know each other; one of them has no type."""
    typed = noisy_crafts(members) + "".join(
        f"<http://e/{craft}/{n}> <http://e/knows> <http://e/{craft}/{(n + step) % members}> .\n"
        for craft in CRAFTS
        for n in range(members)
        for step in (1, 4)
    )
    return typed.replace(f"<http://e/baker/0> {TYPE} <http://e/baker> .\n", "")


def folds_of(graph: Graph, seed: int = 1) -> Folds:
    config = Config(dimensions=5, threads=1, seed=seed)
    return Folds.of(graph, config, None, None, Progress())


def by_name(graph: Graph, folds: Folds, votes: ClassVotes) -> list[tuple[int, str, float]]:
    """Query, class and share."""
    names = [graph.terms[int(x)] for x in folds.voters.known.class_ids[votes.classes]]
    return list(zip(votes.queries.tolist(), names, votes.shares.tolist(), strict=True))


def test_every_typed_subject_is_in_one_fold_of_about_the_same_size() -> None:
    graph = graph_of(linked_crafts())
    folds = folds_of(graph)
    everyone = np.arange(len(graph.terms), dtype=np.int32)
    of_terms = folds.fold_of(everyone)
    assert (np.flatnonzero(of_terms >= 0) == folds.voters.known.subjects).all()
    sizes = np.bincount(of_terms[of_terms >= 0])
    assert len(sizes) == FOLDS
    assert sizes.max() - sizes.min() <= 1
    assert (of_terms != folds_of(graph, seed=2).fold_of(everyone)).any()


@pytest.mark.parametrize("fold", range(FOLDS))
def test_a_fold_is_predicted_as_if_the_graph_did_not_state_its_types(fold: int) -> None:
    """Bit for bit: in the graph without these types, its subjects are untyped terms."""
    graph = graph_of(linked_crafts(16))  # as many subjects vote with and without a fold
    folds = folds_of(graph)
    own = folds.voters.known.subjects[folds.of_voters == fold]
    dropped = states_type(graph, RDF_TYPE) & np.isin(graph.subjects, own)
    smaller, _ = remove_triples(graph, dropped, RDF_TYPE, keep_all_terms=True)
    without = folds_of(smaller)
    assert (without.fold_of(own) == -1).all()
    found, expected = (
        by_name(graph, one, one.votes(own, Progress())[0]) for one in (folds, without)
    )
    assert found == expected
    assert found


def test_the_types_of_the_others_do_matter() -> None:
    """The classes of other folds are contexts: the test above is not true of no classes at all."""
    graph = graph_of(linked_crafts())
    folds = folds_of(graph)
    vectors = [folds.voters_for(fold).evidence.vectors for fold in range(-1, FOLDS)]
    assert all((one != other).any() for one, other in pairwise(vectors))


def test_votes_on_typed_and_untyped_terms_are_in_the_order_of_the_terms() -> None:
    graph = graph_of(linked_crafts())
    folds = folds_of(graph)
    terms = np.append(folds.voters.known.subjects, np.int32(graph.terms.find("http://e/baker/0")))
    terms = np.sort(terms)
    votes, _ = folds.votes(terms, Progress())
    together = by_name(graph, folds, votes)
    assert sorted(together, key=lambda one: one[0]) == together
    for at, term in enumerate(terms.tolist()):
        alone, _ = folds.votes(np.array([term], np.int32), Progress())
        expected = [(at, *rest) for _, *rest in by_name(graph, folds, alone)]
        assert [one for one in together if one[0] == at] == expected


def test_some_folds_are_enough_if_there_are_many_typed_subjects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folds = folds_of(graph_of(linked_crafts()))
    assert (folds.candidates == folds.voters.known.subjects).all()
    subjects, limit = len(folds.voters.known), 20
    assert subjects > limit
    monkeypatch.setattr(module, "MAX_MEASURED", limit)
    measured = folds.fold_of(folds.candidates)
    first = range(len(set(measured.tolist())))
    assert set(measured.tolist()) == set(first), "the first folds, complete"
    assert len(measured) == np.isin(folds.of_voters, first).sum()
    assert limit / 2 <= len(measured) < limit / 2 + 2 * subjects / FOLDS


# -- The power of the overlap -----------------------------------------------------------------


def writers(number: int, by_output: bool) -> str:
    """Writers of two genres: either those of one write three times as much, or their topics differ.

    Otherwise, both are random.
    """
    draw = random.Random(number)
    lines = []
    for n in range(number):
        genre = n % 2
        texts = draw.choice((2, 6)) if not by_output else 6 if genre else 2
        lines.append(f"<e:s{n}> {TYPE} <e:g{genre}> .\n")
        lines += [f"<e:s{n}> <e:wrote> <e:t{n}-{i}> .\n" for i in range(texts)]
        for _ in range(3):
            topic = draw.randrange(6) if by_output else 3 * genre + draw.randrange(3)
            lines.append(f"<e:s{n}> <e:on> <e:topic{topic}> .\n")
    return "".join(lines)


def test_the_power_is_high_where_numbers_of_triples_tell_the_classes_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MIN_TRIED", 100)
    powers = {
        by_output: folds_of(graph_of(writers(600, by_output))).voters.power
        for by_output in (True, False)
    }
    assert powers[True] == max(POWERS)
    assert powers[False] < max(POWERS)


def quoted_writers(number: int) -> str:
    """Those of one genre write three times as much; how often they are quoted is random."""
    draw = random.Random(7)
    return writers(number, by_output=True) + "".join(
        f"<e:q{n}-{i}> <e:quotes> <e:s{n}> .\n"
        for n in range(number)
        for i in range(draw.choice((1, 3, 9, 27)))
    )


def test_numbers_count_as_far_as_they_tell_classes_apart_if_this_helps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MIN_TRIED", 100)
    graph = graph_of(quoted_writers(600))
    folds = folds_of(graph)
    voters = folds.voters
    assert voters.counting is not None
    told = dict(zip(graph.terms, np.zeros(len(graph.terms)), strict=True))
    for role, value in enumerate(voters.counting.tolist()):
        name = graph.terms[int(voters.evidence.predicates[role >> 1])]
        told[name] = max(told[name], value)
    assert told["e:wrote"] > 0.9
    assert told["e:quotes"] < 0.1

    def right(some: Voters) -> float:
        votes, _ = some.votes(some.queries(some.known.subjects), Progress())
        return agreement(votes, some.known)

    assert right(voters) > right(replace(voters, counting=None)) + 0.005


def test_a_fold_decides_nothing_about_the_numbers_that_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MIN_TRIED", 100)
    graph = graph_of(quoted_writers(600))
    folds = folds_of(graph)
    own = folds.voters.known.subjects[folds.of_voters == 3]
    dropped = states_type(graph, RDF_TYPE) & np.isin(graph.subjects, own)
    smaller, _ = remove_triples(graph, dropped, RDF_TYPE, keep_all_terms=True)
    without, every = folds.voters_for(3), folds.voters
    assert without.counting is not None
    assert every.counting is not None
    expected = informative_numbers(every.evidence, TypeTable.of(smaller.types))
    assert without.counting.tolist() == expected.tolist()
    assert (without.counting != every.counting).any()


def test_few_typed_subjects_keep_the_usual_power(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(writers(200, by_output=True))
    assert folds_of(graph).voters.power == OVERLAP_POWER
    monkeypatch.setattr(module, "MIN_TRIED", 40)
    assert folds_of(graph).voters.power > OVERLAP_POWER


def test_another_power_must_be_better_by_more_than_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(writers(600, by_output=True))
    monkeypatch.setattr(module, "MIN_TRIED", 100)
    monkeypatch.setattr(module, "MIN_GAIN", 0.9)
    voters = folds_of(graph).voters
    assert voters.power == OVERLAP_POWER
    assert voters.counting is None


def test_the_power_is_chosen_by_withheld_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """Subjects that are tried do not vote, and their types are not in the evidence."""
    graph = graph_of(linked_crafts(30))
    seen = []

    def nearest(voters: Voters, queries: Queries, progress: Progress) -> Neighbours:
        seen.append((voters, queries))
        return original(voters, queries, progress)

    original = Voters.nearest
    monkeypatch.setattr(Voters, "nearest", nearest)
    monkeypatch.setattr(module, "MIN_TRIED", 5)
    monkeypatch.setattr(module, "MAX_TRIED", 8)
    folds = folds_of(graph)
    [(voters, queries)] = seen
    withheld = folds.voters.known.subjects[folds.of_voters < TRIED_FOLDS]
    assert 4 <= len(queries) <= 8 < len(withheld)
    assert set(queries.own.tolist()) <= set(withheld.tolist())
    assert not set(voters.known.subjects.tolist()) & set(withheld.tolist())
    dropped = states_type(graph, RDF_TYPE) & np.isin(graph.subjects, withheld)
    smaller, _ = remove_triples(graph, dropped, RDF_TYPE, keep_all_terms=True)
    expected = folds.typeless.evidence(smaller.types).vectors
    assert (voters.evidence.vectors == expected).all()


@pytest.mark.parametrize("typed", [2, 3])
def test_a_few_typed_subjects_have_folds_of_one(typed: int) -> None:
    text = "".join(f"<e:s{n}> <e:p> <e:o{n % 2}> .\n" for n in range(6))
    graph = graph_of(text + "".join(f"<e:s{n}> {TYPE} <e:c{n % 2}> .\n" for n in range(typed)))
    folds = folds_of(graph)
    assert folds.voters.mu == typed - 1
    votes, _ = folds.votes(folds.voters.known.subjects, Progress())
    assert set(votes.queries.tolist()) <= set(range(typed))
    assert all(folds.voters_for(fold).mu <= typed for fold in range(typed))
