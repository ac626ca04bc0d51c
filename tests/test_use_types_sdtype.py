"""SDType and the class prior, compared with plain loops over fractions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import GRAPHS, TYPED, as_meant, as_text, crafts, graph_of, many
from oracle import RDF_TYPE, Triple
from pyke.core.arrays import Matrix
from pyke.graph.graph import Graph
from pyke.use.types import sdtype
from pyke.use.types.sdtype import RoleTypes, class_prior
from pyke.use.types.votes import TypeTable


def rows_of(graph: Graph, found: Matrix) -> list[dict[str, float]]:
    """Score by class, for each row."""
    names = [graph.terms[int(x)] for x in TypeTable.of(graph.types).class_ids]
    return [
        {names[found.columns[at]]: float(found.values[at]) for at in range(begin, end)}
        for begin, end in pairwise(found.offsets.tolist())
    ]


def learned(graph: Graph) -> RoleTypes:
    return RoleTypes.of(graph, TypeTable.of(graph.types), RDF_TYPE)


def all_terms(graph: Graph) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.arange(len(graph.terms), dtype=np.int32)


@given(GRAPHS, st.booleans(), st.sampled_from([1, 7, 1 << 20]))
@many(100)
def test_scores_of_typed_and_untyped_terms_equal_those_of_plain_loops(
    triples: list[Triple], count_literals: bool, block: int
) -> None:
    """The types of a typed subject itself do not count; blocks do not matter."""
    triples = triples + TYPED
    meant = oracle.counted(as_meant(triples), count_literals)
    graph = graph_of(as_text(triples), count_literals=count_literals)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sdtype, "BLOCK_CELLS", block)
        found = rows_of(graph, learned(graph).scores(all_terms(graph)))
    for name, row in zip(graph.terms, found, strict=True):
        assert row == pytest.approx(oracle.sdtype(meant, name), abs=1e-6), name


@given(GRAPHS)
@many(40)
def test_the_prior_equals_that_of_plain_loops(triples: list[Triple]) -> None:
    triples = triples + TYPED
    meant, graph = oracle.counted(as_meant(triples)), graph_of(as_text(triples))
    found = rows_of(graph, class_prior(TypeTable.of(graph.types), all_terms(graph)))
    for name, row in zip(graph.terms, found, strict=True):
        shares = oracle.class_shares(meant, oracle.typed_subjects(meant) - {name})
        assert row == pytest.approx({kind: float(share) for kind, share in shares.items()})


def test_the_highest_scores_are_kept_and_ties_have_the_smaller_class() -> None:
    graph = graph_of(crafts(6))
    terms = all_terms(graph)
    complete, best = (rows_of(graph, learned(graph).scores(terms, top)) for top in (None, 2))
    order = {name: i for i, name in enumerate(graph.terms)}
    for row, kept in zip(complete, best, strict=True):
        ranked = sorted(row, key=lambda kind: (-row[kind], order[kind]))
        assert kept == {kind: row[kind] for kind in ranked[:2]}
    assert any(len(row) > 2 for row in complete)


def test_a_term_that_is_not_in_the_graph_has_no_scores() -> None:
    graph = graph_of(crafts(3))
    found = learned(graph).scores(np.array([0, -1, 1], np.int32))
    assert np.diff(found.offsets)[1] == 0
    alone = learned(graph).scores(np.array([0, 1], np.int32))
    assert (found.values == alone.values).all()
    prior = class_prior(TypeTable.of(graph.types), np.array([-1, 0], np.int32))
    assert (np.diff(prior.offsets) > 0).tolist() == [False, True]


def test_no_terms_give_no_rows() -> None:
    graph = graph_of(crafts(3))
    assert learned(graph).scores(np.empty(0, np.int32)).rows == 0
