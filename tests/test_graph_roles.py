"""Roles and contexts: one encoding, compared with plain loops."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphs import GRAPHS, as_text, graph_of, many
from oracle import RDF_TYPE, Triple
from pyke.graph.graph import LITERAL
from pyke.graph.roles import (
    ANY,
    OBJECT,
    SIDES,
    SUBJECT,
    contexts,
    decode_context,
    decode_role,
    have_type_predicate,
    occurrences,
    role_counts_by_term,
    roles_by_term,
    states_type,
)


@given(
    predicate=st.integers(0, 2**31 - 2),
    side=st.sampled_from(SIDES),
    terms=st.integers(1, 2**31 - 1),
    data=st.data(),
)
@many(200)
def test_a_context_is_decoded_to_what_was_encoded(
    predicate: int, side: int, terms: int, data: st.DataObject
) -> None:
    predicate %= min(terms, 2**30)  # a context of 2³¹ terms and 2³¹ predicates needs 64 bits
    other = data.draw(st.integers(ANY, terms - 1))
    role = np.array([2 * predicate + side])
    number = int(contexts(role, other, terms)[0])
    assert decode_context(number, terms) == (predicate, side, other)
    assert decode_role(int(role[0])) == (predicate, side)


@given(GRAPHS, st.booleans())
@many(150)
def test_roles_by_term_and_their_counts_equal_those_of_a_plain_loop(
    triples: list[Triple], count_literals: bool
) -> None:
    triples = [(s, RDF_TYPE if n % 3 == 0 else p, o) for n, (s, p, o) in enumerate(triples)]
    graph = graph_of(as_text(triples), count_literals=count_literals)
    expected: dict[int, Counter[tuple[int, int]]] = {x: Counter() for x in range(len(graph.terms))}
    for subject, predicate, other in graph.triples().tolist():
        if graph.terms[predicate] == RDF_TYPE and other != LITERAL:
            continue
        expected[subject][predicate, SUBJECT] += 1
        if other != LITERAL:
            expected[other][predicate, OBJECT] += 1
    offsets, roles, counts = role_counts_by_term(graph, RDF_TYPE)
    assert [column.tolist() for column in roles_by_term(graph, RDF_TYPE)] == [
        offsets.tolist(),
        roles.tolist(),
    ]
    for term, theirs in expected.items():
        found = roles[offsets[term] : offsets[term + 1]].tolist()
        assert found == sorted(found)
        names = [(int(graph.predicates[p]), side) for p, side in map(decode_role, found)]
        decoded = dict(zip(names, counts[offsets[term] : offsets[term + 1]].tolist(), strict=True))
        assert decoded == theirs


def test_occurrences_of_objects_skip_literals() -> None:
    columns = [np.array(column, np.int32) for column in ([0, 1], [5, 6], [3, LITERAL])]
    subjects, objects = (occurrences(columns, side) for side in SIDES)
    assert (subjects.terms.tolist(), subjects.others.tolist()) == ([0, 1], [3, ANY])
    assert (objects.terms.tolist(), objects.others.tolist()) == ([3], [0])
    assert subjects.roles.tolist() == [10, 12]
    assert objects.roles.tolist() == [11]


def test_a_graph_without_the_type_predicate_states_no_types() -> None:
    graph = graph_of("<e:a> <e:p> <e:b> .\n")
    assert not states_type(graph, RDF_TYPE).any()


def test_a_literal_is_not_a_type() -> None:
    predicates, objects = np.array([4, 4, 5], np.int32), np.array([1, LITERAL, 1], np.int32)
    assert have_type_predicate(predicates, objects, 4).tolist() == [True, False, False]
