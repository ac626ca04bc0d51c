"""The springs and repellers of a term, with the names of what they lead to."""

from __future__ import annotations

import pytest
from hypothesis import given

from graphs import GRAPHS, as_text, crafts, graph_of, many
from oracle import Triple
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.graph.graph import LITERAL
from pyke.pipeline.embed import embed_graph
from pyke.use.physics import find_physics


def check(embedding: Embedding) -> int:
    """Every spring to a context stands for a triple of the term; return how many there are."""
    physics = find_physics(embedding, Progress())
    triples = {tuple(row) for row in embedding.triples.tolist()}
    roles = {(s, p, True) for s, p, _ in triples} | {
        (o, p, False) for _, p, o in triples if o != LITERAL
    }
    predicates = {p for _, p, _ in triples}
    named = 0
    for term in range(len(embedding)):
        for force in physics.springs(term):
            assert force.sigma > 0
            assert force.term is None
            assert force.predicate is not None
            named += 1
            if force.other is None:  # a predicate is in its own roles
                is_own = term in predicates and force.predicate == term
                assert is_own or (term, force.predicate, force.is_subject) in roles
            elif force.is_subject:
                assert (term, force.predicate, force.other) in triples
            else:
                assert (force.other, force.predicate, term) in triples
        for force in physics.repellers(term):
            assert force.sigma == 0
            assert term not in force.members.tolist()
    return named


def test_springs_lead_to_what_a_term_has_in_common_with_others() -> None:
    embedding = embed_graph(graph_of(crafts()), Config(dimensions=4))
    assert check(embedding) > 200


@given(GRAPHS)
@many(20)
def test_every_spring_is_named_after_a_triple(triples: list[Triple]) -> None:
    graph = graph_of(as_text(triples))
    if len(graph):
        check(embed_graph(graph, Config(dimensions=2, clusters=0)))


@pytest.mark.parametrize("settings", [{"similarity": "ppmi"}])
def test_springs_of_ppmi_lead_to_terms(settings: dict[str, str]) -> None:
    embedding = embed_graph(graph_of(crafts()), Config(dimensions=4, **settings))  # type: ignore[arg-type]
    springs = find_physics(embedding, Progress()).springs(0)
    assert springs
    assert all(force.term is not None for force in springs)
