"""Explanations: the votes of the predictions, and shared roles counted by plain loops."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import oracle
import pyke
from conftest import ROOT
from graphs import FAMILY, TYPE, partly_typed, triples_in
from oracle import Triple
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import NothingToScore, UnknownTerm, UsageError
from pyke.graph.terms import Terms, Texts
from pyke.use.types.explain import (
    MAX_SHARED,
    Explanation,
    Shared,
    Vote,
    Voter,
    _contexts_of,
    _holders,
    _triples_of,
)
from pyke.use.types.folds import Folds
from pyke.use.types.votes import NEARNESS, OVERLAP_POWER

MU = 4

LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"


@pytest.fixture(scope="module")
def embedding(tmp_path_factory: pytest.TempPathFactory) -> Embedding:
    path = tmp_path_factory.mktemp("explained") / "partly.nt"
    path.write_text(
        partly_typed()
        + f'<http://e/baker/0> {LABEL} "Berta" .\n<http://e/baker/5> {LABEL} "Anna" .\n'
    )
    return pyke.embed(path, dimensions=5)


def statements_in(embedding: Embedding) -> list[Triple]:
    return list(triples_in(embedding.graph()))


def read_out(embedding: Embedding, name: str) -> tuple[dict[str, list[float]], list[str]]:
    """Vectors of the evidence without the types of a term's fold, and the typed subjects left."""
    graph = embedding.graph()
    folds = Folds.of(graph, embedding.config(), MU, None, Progress())
    voters = folds.voters_for(int(folds.fold_of(np.array([graph.terms.find(name)]))[0]))
    known = [graph.terms[int(x)] for x in voters.known.subjects]
    return dict(zip(graph.terms, voters.evidence.vectors.tolist(), strict=True)), known


def contexts(graph: list[Triple], term: str) -> set[tuple[str, str | None, bool]]:
    """Roles and contexts of a term: predicate, other term or None, whether it is the subject."""
    ordinary = [triple for triple in graph if triple[1] != oracle.RDF_TYPE]
    as_subject = {(p, other, True) for s, p, o in ordinary if s == term for other in (o, None)}
    return as_subject | {
        (p, other, False) for s, p, o in ordinary if o == term for other in (s, None)
    }


def as_context(shared: Shared) -> tuple[str, str | None, bool]:
    return shared.predicate, shared.other, shared.is_subject


@pytest.mark.parametrize(
    "name",
    [
        "http://e/baker/0",
        "http://e/smith/7",
        "http://e/smith/tool0",
        "http://e/weaver/tool1",
        "http://e/smith",
        "http://e/uses",
    ],
)
def test_typed_neighbours_that_share_a_role_vote(embedding: Embedding, name: str) -> None:
    """For a term without a type, one with a type, tools, a class and a predicate."""
    graph = statements_in(embedding)
    why = embedding.explain(name, MU)
    vectors, typed = read_out(embedding, name)
    ballots = oracle.weighted_votes(graph, vectors, typed, name, MU)
    assert {vote.type: vote.votes for vote in why.votes} == {
        kind: ballot.votes for kind, ballot in ballots.items()
    }
    assert {vote.type: vote.share for vote in why.votes} == pytest.approx(
        {kind: ballot.share for kind, ballot in ballots.items()}, abs=1e-4
    )
    assert [vote.share for vote in why.votes] == sorted(
        (vote.share for vote in why.votes), reverse=True
    )
    assert {vote.type for vote in why.votes if vote.stated} <= {
        kind for subject, kind in oracle.types(graph) if subject == name
    }


def test_votes_and_confidence_equal_those_of_the_predictions(embedding: Embedding) -> None:
    found = embedding.predict_types(mu=MU, min_confidence=0, unmeasured=True)
    names = ["http://e/baker/0", "http://e/weaver/2", "http://e/smith/tool3"]
    predicted = {
        (one.term, one.type): (one.votes, one.share, one.confidence, one.measured)
        for one in found
        if one.term in names
    }
    told = {}
    for name in names:
        why = embedding.explain(name, MU)
        for vote in why.votes:
            figures = (vote.votes, vote.share, vote.confidence, why.status == "measured")
            told[name, vote.type] = figures
    assert told == predicted


@pytest.mark.parametrize("name", ["http://e/baker/0", "http://e/smith/7"])
def test_an_explanation_shows_the_predictions_that_the_confidence_comes_from(
    embedding: Embedding, name: str
) -> None:
    why = embedding.explain(name, MU)
    assert why.status == "measured"
    for vote in why.votes:
        every, same_class, same_kind = vote.alike
        assert every.made >= same_class.made >= same_kind.made >= same_kind.right


def test_a_term_that_is_unlike_all_typed_subjects_is_not_measured(embedding: Embedding) -> None:
    assert embedding.explain("http://e/baker/tool1", MU).status == "no twins"


def test_a_term_in_a_new_namespace_is_not_measured(tmp_path: Path) -> None:
    path = tmp_path / "external.nt"
    path.write_text(
        partly_typed()
        + "".join(f"<http://x/{n}> <http://e/uses> <http://e/baker/tool1> .\n" for n in range(12))
    )
    why = pyke.embed(path, dimensions=5).explain("http://x/3", MU)
    assert why.status == "new namespace"
    assert why.votes


def test_weights_are_those_of_the_votes(embedding: Embedding) -> None:
    why = embedding.explain("http://e/baker/0", MU)
    for vote in why.votes:
        own = [voter.weight for voter in why.voters if vote.type in voter.types]
        assert sum(own) == pytest.approx(vote.share)
    squares = [voter.distance**2 for voter in why.voters]
    assert [voter.weight for voter in why.voters] == pytest.approx(
        oracle.neighbour_weights(squares), rel=1e-4
    )


def test_voters_are_the_nearest_typed_subjects_with_their_types(embedding: Embedding) -> None:
    graph = statements_in(embedding)
    why = embedding.explain("http://e/baker/0", MU)
    vectors, typed = read_out(embedding, "http://e/baker/0")
    own = vectors["http://e/baker/0"]
    nearest = sorted(typed, key=lambda name: oracle.distance(vectors[name], own))
    assert [voter.term for voter in why.voters] == nearest[:MU]
    assert [voter.distance for voter in why.voters] == sorted(
        voter.distance for voter in why.voters
    )
    for voter in why.voters:
        assert set(voter.types) == {
            kind for subject, kind in oracle.types(graph) if subject == voter.term
        }
        assert voter.shared == len(
            contexts(graph, voter.term) & contexts(graph, "http://e/baker/0")
        )


@pytest.mark.parametrize("name", ["http://e/baker/0", "http://e/smith/7", "http://e/smith/tool0"])
def test_shared_roles_and_contexts_are_counted(embedding: Embedding, name: str) -> None:
    graph = statements_in(embedding)
    why = embedding.explain(name, MU)
    voters = [contexts(graph, voter.term) & contexts(graph, name) for voter in why.voters]
    common = set.union(*voters)
    assert {as_context(shared) for shared in why.shared} == common
    for shared in why.shared:
        assert shared.voters == sum(as_context(shared) in own for own in voters)
        assert shared.terms == sum(
            as_context(shared) in contexts(graph, term) for term in embedding.terms
        )


def test_blocks_of_triples_do_not_change_the_explanation(
    embedding: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = embedding.explain("http://e/baker/0", MU)
    monkeypatch.setattr("pyke.use.types.explain.TRIPLES_AT_ONCE", 7)
    assert embedding.explain("http://e/baker/0", MU) == whole


def test_a_hub_among_the_voters_needs_little_memory() -> None:
    """A hub in nearly all triples: contexts that it does not share with the term are not stored."""
    count = 100_000
    asked, hub, uses = range(count, count + 3)
    terms = Terms.of([f"e:{i}" for i in range(count + 3)])
    triples = np.array([*((hub, uses, i) for i in range(count)), (asked, uses, 0)], np.int32)
    made = Embedding(
        np.zeros((len(terms), 2), np.float32),
        terms,
        np.zeros((0, 2), np.int32),
        triples,
        Texts.of([]),
        np.zeros(0, np.int32),
        {"config": {}},
    )
    tracemalloc.start()
    own = _contexts_of(made, asked)
    held, holders = _holders(made, _triples_of(made, [hub]), own)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(own) == len(np.unique(held)) == 2
    assert set(holders.tolist()) == {hub}
    assert most < 100 * count


def test_the_most_specific_context_comes_first(embedding: Embedding) -> None:
    """Few terms use this tool, and many use any tool."""
    why = embedding.explain("http://e/baker/0", 20)
    with_tool, any_tool = (
        next(shared for shared in why.shared if (shared.other is None) == is_role)
        for is_role in (False, True)
    )
    assert any_tool.voters > with_tool.voters
    alike = [shared for shared in why.shared if shared.voters == with_tool.voters]
    assert [shared.terms for shared in alike] == sorted(shared.terms for shared in alike)


def test_the_number_of_shared_contexts_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "many.nt"
    lines = [f"<e:{who}> <e:p{n}> <e:o> .\n" for who in "abc" for n in range(MAX_SHARED + 5)]
    path.write_text("".join(lines) + f"<e:b> {TYPE} <e:B> .\n<e:c> {TYPE} <e:C> .\n")
    assert len(pyke.embed(path, dimensions=3).explain("e:a", 1).shared) == MAX_SHARED


@pytest.mark.parametrize("name", ["http://e/baker/0", "<http://e/baker/0>", "berta"])
def test_a_term_is_found_by_iri_or_label(embedding: Embedding, name: str) -> None:
    why = embedding.explain(name, MU)
    assert (why.term, why.label) == ("http://e/baker/0", "Berta")


def test_an_unknown_term_is_refused_with_similar_ones(
    embedding: Embedding,
) -> None:
    with pytest.raises(UnknownTerm, match="Did you mean <http://e/baker/tool11>"):
        embedding.explain("http://e/baker/tool111")


def test_too_many_or_too_few_neighbours_are_refused(embedding: Embedding) -> None:
    with pytest.raises(NothingToScore, match="only 52 typed subjects"):
        embedding.explain("http://e/baker/0", 54)
    with pytest.raises(UsageError, match="at least 1"):
        embedding.explain("http://e/baker/0", 0)


def test_a_graph_without_types_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "untyped.nt"
    path.write_text("<e:a> <e:p> <e:b> .\n")
    with pytest.raises(NothingToScore, match="no subject has a type"):
        pyke.embed(path, dimensions=3).explain("e:a")


def test_weights_follow_from_distances_overlaps_and_the_power(embedding: Embedding) -> None:
    found = embedding.explain("http://e/baker/0", MU)
    assert found.power == OVERLAP_POWER, "the graph is too small to choose another one"
    squares = np.array([voter.distance**2 for voter in found.voters])
    overlaps = np.array([voter.overlap for voter in found.voters])
    near = 1 / (squares / squares[-1] + NEARNESS)
    weights = near * overlaps**found.power
    expected = weights / weights.sum() * near[overlaps > 0].sum() / near.sum()
    assert [voter.weight for voter in found.voters] == pytest.approx(expected, rel=1e-5)


def test_a_term_without_evidence_has_no_voters() -> None:
    """Michelle has only a type."""
    father = pyke.embed(ROOT / "examples" / "father.ttl", dimensions=5)
    why = father.explain("http://example.com/father#michelle", 3)
    assert why.status == "no evidence"
    assert (why.votes, why.voters, why.shared) == ((), (), ())


def test_neighbours_without_a_shared_role_do_not_vote(embedding: Embedding) -> None:
    """The predicate itself has neighbours, but no role."""
    why = embedding.explain("http://e/uses", MU)
    assert len(why.voters) == MU
    assert {voter.weight for voter in why.voters} == {0.0}
    assert (why.votes, why.shared, why.status) == ((), (), "no twins")


def test_a_shared_literal_is_a_role_but_not_a_context(tmp_path: Path) -> None:
    path = tmp_path / "family.nt"
    path.write_text(f'{FAMILY}<http://e/michelle> {LABEL} "Michelle" .\n')
    why = pyke.embed(path, dimensions=3, count_literals=True).explain("http://e/michelle", 3)
    assert [(shared.other, shared.is_subject, shared.voters) for shared in why.shared] == [
        (None, True, 1)
    ]
    assert [voter.term for voter in why.voters if voter.shared] == ["http://e/anna"]


def test_an_explanation_shows_its_votes(embedding: Embedding) -> None:
    found = embedding.explain("http://e/baker/3", 4)
    first = found.votes[0]
    assert repr(found).startswith(
        f"<Explanation of http://e/baker/3: {first.label or first.type} ({first.votes} of 4 votes)"
    )


def test_notebooks_show_an_explanation_with_escaped_names() -> None:
    hostile = "<script>alert(1)</script>"
    found = Explanation(
        "e:a",
        hostile,
        "measured",
        (Vote("e:C", hostile, 2, 0.5, 0.75, (), True),),
        (Voter("e:b", hostile, 0.5, 0.75, 0.25, ("e:C",), 3),),
        (Shared("e:p", hostile, None, True, 2, 7), Shared("e:q", None, None, False, 1, 2)),
    )
    shown = found._repr_html_()
    assert "<script>" not in shown
    assert shown.count("&lt;script&gt;") == 4
    assert shown.count("<table>") == 3
    assert "<td>this term</td><td>&lt;script&gt;alert(1)&lt;/script&gt;</td><td>e:p</td>" in shown
    assert "<td>…</td><td>this term</td><td>e:q</td>" in shown


def test_an_explanation_without_votes_says_so() -> None:
    assert (
        repr(Explanation("e:a", None, "no twins", (), (), ())) == "<Explanation of e:a: no votes>"
    )
