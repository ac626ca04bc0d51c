"""Predicted facts: who is asked, what is offered, how it is measured, written and refused."""

from __future__ import annotations

import json
import random
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyke
from graphs import GRAPHS, TYPE, Recorded, as_text, graph_of, many
from oracle import RDF_TYPE, Triple
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import NothingToScore, UnknownTerm, UsageError
from pyke.graph.roles import SUBJECT, states_type
from pyke.pipeline import embed_graph
from pyke.use.facts.complete import complete
from pyke.use.facts.explain import explain_facts
from pyke.use.facts.facts import Facts, Reason
from pyke.use.facts.space import Groups, Space
from pyke.use.facts.trial import PARTS, withhold

TOWNS, PEOPLE, HOMELESS = 4, 30, 3


def towns(seed: int = 0) -> str:
    """People live in a town, and shop in it, usually. The first three of each lack a home.

    A marriage is stated on both sides. Everyone has an own mail box, and a colour of four.
    """
    draw = random.Random(seed)
    lines = []
    for town in range(TOWNS):
        for n in range(PEOPLE):
            who = f"<http://e/p{town}_{n}>"
            lines += [f"{who} {TYPE} <http://e/Person> .\n"]
            for _ in range(3):
                of = town if draw.random() < 0.9 else draw.randrange(TOWNS)
                lines.append(f"{who} <http://e/shops> <http://e/shop{of}_{draw.randrange(5)}> .\n")
            if n >= HOMELESS:
                lines.append(f"{who} <http://e/lives> <http://e/town{town}> .\n")
            lines.append(f"{who} <http://e/married> <http://e/p{town}_{n ^ 1}> .\n")
            lines.append(f"{who} <http://e/box> <http://e/box{town}_{n}> .\n")
            lines.append(f"{who} <http://e/colour> <http://e/colour{draw.randrange(4)}> .\n")
    return "".join([*lines, "<http://e/town0> <http://e/twin> <http://e/town1> .\n"])


@pytest.fixture(scope="module")
def embedding(tmp_path_factory: pytest.TempPathFactory) -> Embedding:
    path = tmp_path_factory.mktemp("facts") / "towns.nt"
    path.write_text(towns())
    return pyke.embed(path, dimensions=10, seed=3)


@pytest.fixture(scope="module")
def found(embedding: Embedding) -> Facts:
    return complete(embedding, min_confidence=0)


def test_entities_get_the_object_of_their_like(found: Facts) -> None:
    homes = {(f.term, f.object) for f in found if f.predicate == "http://e/lives"}
    assert len(homes) == TOWNS * HOMELESS
    right = {(f"http://e/p{t}_{n}", f"http://e/town{t}") for t in range(TOWNS) for n in range(3)}
    assert len(homes & right) >= 0.9 * len(right)
    lives = next(one for one in found.by_predicate() if one.predicate == "http://e/lives")
    assert lives.lacking == TOWNS * HOMELESS
    assert lives.functional, "at most one home is offered"
    assert lives.precision is not None
    assert lives.precision > 0.7
    assert lives.tested == TOWNS * (PEOPLE - HOMELESS) // PARTS


def test_nothing_is_offered_that_the_graph_states_or_that_only_others_have(found: Facts) -> None:
    stated = {tuple(triple) for triple in found.embedding.triples[:, :2].tolist()}
    pairs = zip(found.subjects.tolist(), found.predicates.tolist(), strict=True)
    assert not stated & set(pairs)
    assert not {f.term for f in found} & {f"http://e/town{t}" for t in range(TOWNS)}


def test_every_predicate_has_facts_or_a_reason(found: Facts) -> None:
    sure = found.select(0.99)
    reasons = {one.predicate.rsplit("/")[-1]: one.reason for one in sure.by_predicate()}
    assert reasons["box"] == Reason.DIFFERENT
    assert reasons["twin"] == Reason.FEW
    assert reasons["colour"] == Reason.NOBODY
    assert reasons["lives"] in (None, Reason.UNSURE)
    assert "type" not in reasons, "pyke types predicts types"
    for one in sure.by_predicate():
        assert (one.facts == 0) == (one.reason is not None)


def test_a_link_in_the_other_direction_is_a_candidate(tmp_path: Path) -> None:
    path = tmp_path / "one_side.nt"
    lost = [f"<http://e/p{t}_4> <http://e/married>" for t in range(TOWNS)]
    lines = towns().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith(tuple(lost))))
    found = complete(pyke.embed(path, dimensions=10), ["married"], min_confidence=0.5)
    assert {(f.term, f.object) for f in found} == {
        (f"http://e/p{t}_4", f"http://e/p{t}_5") for t in range(TOWNS)
    }
    assert all(fact.link > 0.9 for fact in found)


def test_selection_keeps_confident_facts_or_the_expected_precision(found: Facts) -> None:
    some = found.select(0.5)
    assert 0 < len(some) <= len(found)
    assert some.confidences.min() >= 0.5
    assert found.select(precision=0.7).expected_right >= 0.7
    for value in (-0.1, 1.1):
        with pytest.raises(UsageError, match="from 0 to 1"):
            found.select(value)


def few_voters() -> str:
    """Of 22 people who shop in one of two towns, 20 vote there: 4 of these facts are withheld."""
    lines = []
    for n in range(22):
        who, town = f"<http://e/p{n}>", n % 2
        lines += [f"{who} {TYPE} <http://e/Person> .\n"]
        lines += [f"{who} <http://e/shops> <http://e/shop{town}> .\n"]
        lines += [f"{who} <http://e/lives> <http://e/town{town}> .\n"]
        if n < 20:
            lines.append(f"{who} <http://e/votes> <http://e/town{town}> .\n")
    return "".join(lines)


def test_facts_are_offered_only_if_their_precision_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "voters.nt"
    path.write_text(few_voters())
    embedding = pyke.embed(path, dimensions=5)
    found = complete(embedding, ["votes"], min_confidence=0)
    (votes,) = found.by_predicate()
    assert (len(found), votes.facts, votes.reason) == (0, 0, Reason.UNMEASURED)
    every = complete(embedding, ["votes"], min_confidence=0, unmeasured=True)
    assert {(f.term, f.measured) for f in every} == {(f"http://e/p{n}", False) for n in (20, 21)}
    assert every.by_predicate()[0].reason is None
    assert len(every.select(0, unmeasured=False)) == 0
    every.write(tmp_path / "facts.ttl")
    assert (tmp_path / "facts.ttl").read_text().count("pyke:measured false") == len(every)


def test_facts_are_measured_at_the_confidence_that_is_asked_for(found: Facts) -> None:
    """No table has facts of a predicate without a measured precision."""
    for least in (0, 0.3, 0.5, 0.7, 0.9, 0.99):
        some = found.select(least)
        assert some.measured.all()
        rows = [one for one in some.by_predicate() if one.facts]
        assert all(one.precision is not None for one in rows)
        every = found.select(least, unmeasured=True)
        assert every.measured.sum() == len(some)
    for precision in (0.3, 0.6, 0.9):
        assert found.select(precision=precision).measured.all()


def test_threads_and_the_saved_directory_change_no_bit(
    embedding: Embedding, found: Facts, tmp_path: Path
) -> None:
    embedding.save(tmp_path / "out")
    again = complete(pyke.load(tmp_path / "out"), min_confidence=0, threads=1)
    for name in ("subjects", "predicates", "objects", "confidences", "likelihoods", "links"):
        assert np.array_equal(getattr(again, name), getattr(found, name)), name


def test_some_predicates_get_the_facts_that_they_get_among_all(
    embedding: Embedding, found: Facts
) -> None:
    some = complete(embedding, ["lives"], min_confidence=0)
    own = [fact for fact in found if fact.predicate == "http://e/lives"]
    assert list(some) == own
    assert [one.predicate for one in some.by_predicate()] == ["http://e/lives"]


def test_progress_never_runs_backwards(embedding: Embedding) -> None:
    progress = Recorded()
    complete(embedding, ["lives"], progress=progress)


def test_rows_tables_and_files_have_the_same_facts(found: Facts, tmp_path: Path) -> None:
    some = found.select(0.3)
    rows = list(some)
    assert some[0] == rows[0]
    assert list(some.to_pandas()["object"]) == [row.object for row in rows]
    triples = {(row.term, row.predicate, row.object) for row in rows}
    for name, form in ((".nt", ox.RdfFormat.N_TRIPLES), (".trig", ox.RdfFormat.TRIG)):
        some.write(tmp_path / f"facts{name}")
        quads = list(ox.parse((tmp_path / f"facts{name}").read_bytes(), form))
        stated = {(q.subject.value, q.predicate.value, q.object.value) for q in quads}
        assert triples <= stated
        assert any("likelihood" in q.predicate.value for q in quads) == (name == ".trig")
    some.write(tmp_path / "facts.ttl")
    assert (tmp_path / "facts.ttl").read_text().count("{| pyke:confidence") == len(rows)
    some.write(tmp_path / "facts.csv")
    assert len((tmp_path / "facts.csv").read_text().splitlines()) == len(rows) + 1
    assert repr(some).startswith(f"<Facts: {len(rows):,} of ")
    assert "likelihood" in some._repr_html_()
    assert some.as_dict()["facts"] == len(rows)
    assert not some.not_in_rdf


def test_errors_say_what_is_wrong(embedding: Embedding, tmp_path: Path) -> None:
    with pytest.raises(UnknownTerm, match=r"no triple has the predicate 'livez'.*Frequent"):
        complete(embedding, ["livez"])
    with pytest.raises(UnknownTerm, match="no triple has the predicate 'town0'"):
        complete(embedding, ["town0"])
    with pytest.raises(UsageError, match="states types"):
        complete(embedding, ["rdf:type"])
    with pytest.raises(NothingToScore, match=r"fewer than 10 subjects \(twin\)"):
        complete(embedding, ["twin"])
    with pytest.raises(UsageError, match="`mu` is 0"):
        complete(embedding, mu=0)
    with pytest.raises(NothingToScore, match=r"only [0-9]+ entities can be neighbours"):
        complete(embedding, mu=10_000)
    for name, what in (("http://e/Person", "class"), ("lives", "predicate")):
        with pytest.raises(NothingToScore, match=f"is a {what}, and facts are predicted for"):
            explain_facts(embedding, name)
    text = "".join(f'<http://e/{n}> <http://e/name> "{n}" .\n' for n in range(20))
    (tmp_path / "names.nt").write_text(text)
    named = pyke.embed(tmp_path / "names.nt", dimensions=3, count_literals=True)
    with pytest.raises(NothingToScore, match="all objects are literals"):
        complete(named)
    (tmp_path / "types.nt").write_text(f"<http://e/a> {TYPE} <http://e/A> .\n")
    with pytest.raises(NothingToScore, match="all triples state types"):
        complete(pyke.embed(tmp_path / "types.nt", dimensions=3))


def test_suggestions_are_the_predicates_that_it_lacks(embedding: Embedding) -> None:
    suggested = embedding.suggest("http://e/p0_0")
    first = suggested.predicates[0]
    assert first.predicate == "http://e/lives"
    assert first.likelihood > 0.8
    assert 10 < first.votes <= suggested.mu == 20
    assert "lives" in repr(suggested)
    assert "lives" in suggested._repr_html_()
    assert suggested.as_dict()["predicates"][0]["predicate"] == "http://e/lives"
    assert not {one.predicate for one in suggested.predicates} & {"http://e/shops", RDF_TYPE}


def test_a_graph_without_entities_has_no_suggestions(tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    path.write_text("<e:a> <e:a> <e:a> .\n")
    with pytest.raises(
        NothingToScore, match="is a predicate, and facts are predicted for entities only"
    ):
        pyke.embed(path, dimensions=4).suggest("e:a")


def test_an_explanation_agrees_with_the_prediction(embedding: Embedding, found: Facts) -> None:
    (why,) = explain_facts(embedding, "http://e/p1_1", ["lives"])
    fact = next(f for f in found if (f.term, f.predicate) == (why.term, "http://e/lives"))
    best = why.candidates[0]
    assert (best.object, best.votes, best.link) == (fact.object, fact.votes, None)
    assert (best.share, best.confidence) == (fact.share, fact.confidence)
    assert why.likelihood == fact.likelihood
    weights = sum(voter.weight for voter in why.voters if best.object in voter.types)
    assert weights == pytest.approx(best.share)
    assert [like.level for like in best.alike] == ["all", "class", "kind"]
    assert "town1" in repr(why)
    (known,) = explain_facts(embedding, "http://e/p1_9", ["lives"])
    assert known.likelihood is None, "it has a home"
    assert [one.object for one in known.candidates if one.stated] == ["http://e/town1"]
    assert "http://e/p1_9" not in {voter.term for voter in known.voters}
    assert {why.predicate for why in explain_facts(embedding, "p1_1")} == {"http://e/lives"}


@many(40)
@given(GRAPHS, st.integers(2, 5))
def test_a_part_of_the_subjects_of_each_predicate_is_withheld(
    drawn: list[Triple], parts: int
) -> None:
    graph = graph_of(as_text(drawn))
    if not len(graph):
        return
    withheld = withhold(graph, RDF_TYPE, 5, parts)
    assert list(withheld.graph.terms) == list(graph.terms)
    assert withheld.graph.predicates.tolist() == graph.predicates.tolist()
    subjects = defaultdict(set)
    is_type = states_type(graph, RDF_TYPE)
    for s, p, stated in zip(
        graph.subjects.tolist(), graph.predicate_positions.tolist(), is_type, strict=True
    ):
        if not stated:
            subjects[p].add(s)
    lost = defaultdict(set)
    for s, p in zip(withheld.subjects.tolist(), withheld.predicates.tolist(), strict=True):
        lost[p].add(s)
    for p, every in subjects.items():
        assert len(lost[p]) == len(every) // parts
        if lost[p]:
            assert abs(withheld.times[p] - len(every) / len(lost[p])) <= 0.5
        assert lost[p] <= every
    kept = [
        (s, p, o)
        for (s, p, o), stated in zip(graph.triples().tolist(), is_type, strict=True)
        if stated or s not in lost[int(np.searchsorted(graph.predicates, p))]
    ]
    assert withheld.graph.triples().tolist() == [list(triple) for triple in kept]


def test_a_subject_is_placed_at_the_mean_of_its_other_contexts(embedding: Embedding) -> None:
    graph, config = embedding.graph(), embedding.config(threads=1)
    space = Space.of(graph, embedding.entities, config, None, None, Progress())
    e = space.evidence
    lives = int(np.searchsorted(graph.predicates, embedding.lookup().find("lives")))
    terms = np.array([embedding.lookup().find(f"p2_{n}") for n in (0, 5)], np.int32)
    vectors, usable = e.vectors_without(2 * lives + SUBJECT, terms)
    assert usable.all()
    for term, vector in zip(terms.tolist(), vectors, strict=True):
        total, weight = np.zeros(vectors.shape[1]), 0.0
        for at in range(e.contexts.offsets[term], e.contexts.offsets[term + 1]):
            context, sigma = int(e.contexts.columns[at]), float(e.contexts.values[at])
            if e.context_roles[context] != 2 * lives + SUBJECT:
                total, weight = total + sigma * e.places[context], weight + sigma
        assert np.allclose(vector, total / weight, atol=1e-5)
    assert np.allclose(vectors[0], e.vectors[terms[0]], atol=1e-5), "it has no home"
    assert not np.allclose(vectors[1], e.vectors[terms[1]], atol=1e-5)


def test_the_only_subject_of_a_predicate_does_not_vote_for_itself(tmp_path: Path) -> None:
    path = tmp_path / "one.nt"
    owners = ["p0", *(f"q{n}" for n in range(9))]  # the others have no other triples
    owned = [f"<http://e/{who}> <http://e/owns> <http://e/shop0> .\n" for who in owners]
    path.write_text(few_voters() + "".join(owned))
    embedding = pyke.embed(path, dimensions=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (why,) = explain_facts(embedding, "http://e/p0", ["owns"])
    assert why.voters == ()
    assert all(one.votes == 0 and one.share == 0 for one in why.candidates)
    json.dumps(why.as_dict(), allow_nan=False)


def test_groups_are_the_positions_of_equal_numbers() -> None:
    numbers = np.array([3, 1, 3, 0, 1])
    assert [Groups(numbers).of(n).tolist() for n in range(5)] == [[3], [1, 4], [], [0, 2], []]


def test_the_expected_precision_holds_on_withheld_facts(tmp_path: Path) -> None:
    made, right, stated = 0, 0, 0.0
    for seed in range(3):
        path = tmp_path / f"{seed}.nt"
        path.write_text(towns(seed))
        whole = pyke.embed(path, dimensions=10, seed=seed)
        graph, config = whole.graph(), whole.config()
        withheld = withhold(graph, config.type_predicate, 100 + seed)
        found = complete(embed_graph(withheld.graph, config), min_confidence=0.3)
        facts = {tuple(triple) for triple in graph.triples().tolist()}
        pairs = set(
            zip(withheld.subjects.tolist(), graph.predicates[withheld.predicates].tolist(),
                strict=True)
        )  # fmt: skip
        for s, p, o, confidence in zip(
            found.subjects.tolist(), found.predicates.tolist(), found.objects.tolist(),
            found.confidences, strict=True,
        ):  # fmt: skip
            if (s, p) in pairs:
                made, stated = made + 1, stated + confidence
                right += (s, p, o) in facts
    assert made > 100
    error = 3 * np.sqrt(0.25 / made)
    assert abs(stated / made - right / made) < 0.05 + error
