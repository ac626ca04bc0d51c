"""Evidence: terms at the mean of their contexts in the graph without types, against the oracle."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import (
    FAMILY,
    GRAPHS,
    TYPE,
    WAYS,
    Recorded,
    as_meant,
    as_text,
    crafts,
    graph_of,
    many,
    noisy_crafts,
    particles_of,
)
from oracle import RDF_TYPE, Triple
from pyke.config import Config
from pyke.core.arrays import Floats, Matrix
from pyke.core.progress import Progress
from pyke.errors import NothingToScore
from pyke.graph.changes import remove_triples
from pyke.graph.graph import NO_CLUSTERS, Graph
from pyke.graph.roles import states_type
from pyke.pipeline import embed_graph
from pyke.springs.contexts import context_roles
from pyke.use.types import evidence as module
from pyke.use.types.evidence import Evidence, find_evidence, read_out

CONFIG = Config(dimensions=3, max_iterations=5, threads=1)


def without_types(graph: Graph) -> Graph:
    stated = states_type(graph, RDF_TYPE)
    return remove_triples(graph, stated, RDF_TYPE, keep_all_terms=True)[0]


def evidence_of(text: str, **settings: Any) -> Evidence:
    return find_evidence(graph_of(text), Config(dimensions=3, **settings), Progress())


def typed_at_random(triples: list[Triple]) -> list[Triple]:
    """Every third statement states a type, and there is at least one other."""
    changed = [(s, RDF_TYPE if n % 3 == 0 else p, o) for n, (s, p, o) in enumerate(triples)]
    return [*changed, ("e:a", "e:p", "e:b"), ("e:c", "e:p", "e:b")]


@given(GRAPHS, st.sampled_from(WAYS))
@many(150)
def test_the_role_of_each_context_equals_the_oracle(
    triples: list[Triple], way: dict[str, Any]
) -> None:
    graph = graph_of(as_text(triples), **way)
    truth = oracle.counted(as_meant(triples), **way)
    named = [
        (graph.terms[int(graph.predicates[role >> 1])], ("subject", "object")[role & 1])
        for role in context_roles(graph).tolist()
    ]
    contexts = particles_of(graph, truth)[len(graph.terms) :]
    assert named == [oracle.role_of(context) for context in contexts]


@given(GRAPHS, st.sampled_from(WAYS), st.integers(1, 6))
@many(60)
def test_the_read_out_equals_the_oracle(triples: list[Triple], way: dict[str, Any], k: int) -> None:
    triples = typed_at_random(triples)
    graph = graph_of(as_text(triples), **way)
    truth = oracle.counted(as_meant(triples), **way)
    config = Config(dimensions=2, max_iterations=3, k=k, threads=1)
    typeless = without_types(graph)
    vectors = embed_graph(typeless, config).vectors
    found = read_out(typeless, vectors, NO_CLUSTERS, config)

    names = particles_of(typeless, oracle.without_types(truth))
    positions = dict(zip(names[: len(graph.terms)], vectors.tolist(), strict=True))
    expected = oracle.read_out(truth, positions, names, k)

    terms = len(graph.terms)
    assert len(found.places) == len(names) - terms
    for x, name in enumerate(graph.terms):
        begin, end = found.contexts.offsets[x : x + 2]
        row = {
            names[terms + context]: sigma
            for context, sigma in zip(
                found.contexts.columns[begin:end].tolist(),
                found.contexts.values[begin:end].tolist(),
                strict=True,
            )
        }
        assert row == pytest.approx(expected.contexts.get(name, {}), rel=1e-6)
        assert bool(found.has_vector(np.array([x]))[0]) == (name in expected.vectors)
        vector = expected.vectors.get(name, [0.0, 0.0])
        assert found.vectors[x].tolist() == pytest.approx(vector, rel=1e-4, abs=1e-5)
    for context, place in zip(names[terms:], found.places.tolist(), strict=True):
        if context in expected.places:
            assert place == pytest.approx(expected.places[context], rel=1e-4, abs=1e-5)


@given(GRAPHS, st.sampled_from(WAYS))
@many(60)
def test_roles_and_their_numbers_of_triples_equal_the_oracle(
    triples: list[Triple], way: dict[str, Any]
) -> None:
    triples = typed_at_random(triples)
    graph = graph_of(as_text(triples), **way)
    truth = oracle.counted(as_meant(triples), **way)
    found = find_evidence(graph, CONFIG, Progress())
    assert found.number_of_roles == 2 * len(oracle.predicates(oracle.without_types(truth)))
    assert int(found.is_role.sum()) == found.number_of_roles
    for x, name in enumerate(graph.terms):
        own = slice(*found.role_offsets[x : x + 2].tolist())
        counted = {
            (graph.terms[int(found.predicates[role >> 1])], ("subject", "object")[role & 1]): n
            for role, n in zip(
                found.roles[own].tolist(), found.role_counts[own].tolist(), strict=True
            )
        }
        assert counted == oracle.role_counts(truth, name)


def classes_in_contexts(graph: Graph, found: Evidence, name: str) -> set[str]:
    """Classes of the contexts that a term has: the members of a context have such neighbours."""
    begin, end = found.contexts.offsets[(x := graph.terms.find(name)) : x + 2]
    own = found.contexts.columns[begin:end]
    return {str(context) for context in own[found.is_of_class[own]].tolist()}


def test_a_term_has_the_classes_of_other_terms_as_contexts_but_not_its_own() -> None:
    """Two owners of cats and two of dogs; their own types do not matter, even if they are linked
    with themselves."""
    owns = "<e:{0}> <e:owns> <e:{1}> .\n<e:{1}> " + TYPE + " <e:{2}> .\n"
    pets = (
        ("ann", "tom", "Cat"),
        ("bob", "kit", "Cat"),
        ("cid", "rex", "Dog"),
        ("dan", "fox", "Dog"),
    )
    text = "".join(owns.format(*pet) for pet in pets)
    selves = "".join(f"<e:{name}> <e:likes> <e:{name}> .\n" for name, _, _ in pets)
    own = "".join(f"<e:{name}> {TYPE} <e:Owner{name[0] in 'ac'}> .\n" for name, _, _ in pets)
    for more in ("", selves, selves + own):
        graph = graph_of(text + more)
        found = find_evidence(graph, CONFIG, Progress())
        ann, bob, cid, dan = (
            classes_in_contexts(graph, found, f"e:{n}") for n in ("ann", "bob", "cid", "dan")
        )
        assert ann == bob != cid == dan
        assert len(ann) == 1


def test_typed_and_untyped_terms_with_the_same_statements_have_the_same_vector() -> None:
    same = "<http://e/{0}> <http://e/uses> <http://e/baker/tool1> .\n"
    text = crafts(6) + "".join(same.format(name) for name in ("typed", "untyped"))
    graph = graph_of(text + f"<http://e/typed> {TYPE} <http://e/baker> .\n")
    found = find_evidence(graph, CONFIG, Progress())
    typed, untyped = (graph.terms.find(f"http://e/{name}") for name in ("typed", "untyped"))
    assert (found.vectors[typed] == found.vectors[untyped]).all()


def test_coarse_contexts_follow_the_others_and_have_their_roles() -> None:
    """Each coarse context has the role of its members, and lies at their weighted mean."""
    typeless = without_types(graph_of(noisy_crafts(8)))
    rng, terms = np.random.default_rng(1), len(typeless.terms)
    clusters = rng.integers(3, size=terms, dtype=np.int32)
    vectors = rng.normal(size=(terms, 2)).astype(np.float32)
    without, found = (
        read_out(typeless, vectors, chosen, CONFIG) for chosen in (NO_CLUSTERS, clusters)
    )
    assert found.first_coarse == len(without.places) < len(found.places)
    assert found.context_roles[: found.first_coarse].tolist() == without.context_roles.tolist()
    columns = (typeless.subjects, typeless.predicate_positions, typeless.objects)
    expected: dict[tuple[int, int], set[int]] = {}
    for s, p, o in zip(*(column.tolist() for column in columns), strict=True):
        expected.setdefault((2 * p, clusters[o]), set()).add(s)
        expected.setdefault((2 * p + 1, clusters[s]), set()).add(o)
    roles = [role for (role, _), members in sorted(expected.items()) if len(members) > 1]
    assert found.context_roles[found.first_coarse :].tolist() == roles


def test_a_term_with_nothing_but_types_has_no_vector() -> None:
    graph = graph_of(crafts(6))
    found = find_evidence(graph, CONFIG, Progress())
    ids = np.array([graph.terms.find(f"http://e/{name}") for name in ("hermit", "baker/1")])
    assert found.has_vector(ids).tolist() == [False, True]
    assert not found.vectors[ids[0]].any()


def test_a_graph_with_nothing_but_types_is_refused() -> None:
    with pytest.raises(NothingToScore, match="all triples state types"):
        evidence_of("".join(f"<e:s{n}> {TYPE} <e:c{n % 2}> .\n" for n in range(4)))


@pytest.mark.parametrize("similarity", ["context", "ppmi"])
def test_any_number_of_threads_gives_the_same_bits(similarity: str) -> None:
    one, three = (
        evidence_of(noisy_crafts(20), similarity=similarity, threads=threads) for threads in (1, 3)
    )
    for name, array in vars(one).items():
        if name != "contexts":
            assert np.array_equal(array, getattr(three, name))
    for name, array in vars(one.contexts).items():
        assert (array == getattr(three.contexts, name)).all()


@pytest.mark.parametrize("dimensions", [1, 2, 17])
def test_vectors_have_the_dimensions_of_the_embedding(dimensions: int) -> None:
    found = find_evidence(graph_of(FAMILY), Config(dimensions=dimensions), Progress())
    assert found.vectors.shape[1] == found.places.shape[1] == dimensions


def evidence_with(places: Floats, members: Floats, masses: Floats) -> Evidence:
    """Evidence of nothing but places of contexts, and who they come from."""
    nothing = np.zeros(0, np.int32)
    empty = Matrix(np.zeros(1, np.int64), nothing, places[:0, 0])
    more = (nothing, 6, 6, nothing, empty.offsets, nothing, empty.offsets[:0])
    return Evidence(places[:0], empty, places, members, masses, *more)


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 8), st.integers(0, 5)), st.sampled_from([0.5, 1.0, 2.0])
    )
)
@many(60)
def test_a_term_can_be_left_out_of_its_own_contexts(sigma: dict[tuple[int, int], float]) -> None:
    """The mean of the other members of all contexts; context 5 has an infinite mass.

    What the mean weighs by, here twice σ, does not change what the term had in its contexts.
    """
    vectors = np.random.default_rng(1).normal(size=(9, 2)).astype(np.float32)
    places, masses = np.zeros((6, 2), np.float32), np.zeros(6, np.float32)
    for (x, c), weight in sigma.items():
        places[c] += np.float32(weight) * vectors[x]
        masses[c] += weight
    places /= np.maximum(masses, 1e-9)[:, None]
    masses[5] = np.inf
    rows = sorted(sigma)
    owners, contexts = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    weights = np.array([sigma[row] for row in rows], np.float32)
    found = evidence_with(places, vectors, masses).mean_places(
        owners, contexts.astype(np.int32), 2 * weights, 9, (np.arange(9, dtype=np.int32), weights)
    )
    for x in {x for x, _ in rows}:
        total, mass = np.zeros(2), 0.0
        for c in [c for y, c in rows if y == x]:
            members = {y: sigma[y, c] for y, d in rows if d == c}
            others = {y: w for y, w in members.items() if y != x or c == 5 or len(members) == 1}
            for y, w in others.items():
                total += sigma[x, c] * w / sum(members.values()) * vectors[y]
                mass += sigma[x, c] * w / sum(members.values())
        assert found[x] == pytest.approx(total / mass, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("k", [3, 45])
def test_a_context_has_all_its_members_and_a_term_its_strongest_contexts(k: int) -> None:
    """The role of nine subjects has nine members, also if terms keep three contexts."""
    text = "".join(f"<e:s{n}> <e:p> <e:o{n % 3}> .\n" for n in range(9))
    graph = graph_of(text + "".join(f"<e:s{n}> {TYPE} <e:c{n % 2}> .\n" for n in range(9)))
    few, all_ = (find_evidence(graph, Config(dimensions=2, k=one), Progress()) for one in (k, 45))
    assert np.diff(few.contexts.offsets).max() <= k
    assert few.masses == pytest.approx(all_.masses)
    sums = np.bincount(all_.contexts.columns, all_.contexts.values, len(all_.places))
    assert all_.masses == pytest.approx(sums, rel=1e-5)


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 5), st.sampled_from([0.5, 1.0, 2.0]))),
    st.integers(1, 4),
)
@many(60)
def test_means_of_places_equal_plain_loops(
    rows: list[tuple[int, int, float]], at_once: int
) -> None:
    """Also for owners without contexts, and if owners are taken a few at a time."""
    rows.sort()
    places = np.random.default_rng(1).normal(size=(6, 2)).astype(np.float32)
    made = evidence_with(places, places[:0], places[:, 0])
    owners, contexts = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    sigma = np.array([row[2] for row in rows], np.float32)
    with patch.object(module, "TERMS_AT_ONCE", at_once):
        found = made.mean_places(owners, contexts.astype(np.int32), sigma, 9)
    for owner in range(9):
        own = [row for row in rows if row[0] == owner]
        total = sum(weight for _, _, weight in own)
        mean = sum((weight * places[c] for _, c, weight in own), np.zeros(2)) / (total or 1)
        assert found[owner].tolist() == pytest.approx(mean.tolist(), rel=1e-5, abs=1e-6)


def test_progress_says_that_the_graph_is_embedded_without_types() -> None:
    notes: list[str] = []

    class Noted(Recorded):
        def note(self, message: str) -> None:
            notes.append(message)

    progress = Noted()
    find_evidence(graph_of(FAMILY), CONFIG, progress)
    assert "without its types" in notes[0]
    assert progress.stages
