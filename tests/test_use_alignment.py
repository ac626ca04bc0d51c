"""Two embeddings of one graph, turned and scaled to fit each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphs import crafts, graph_of
from pyke.config import Config
from pyke.embedding.embedding import Embedding
from pyke.errors import DataError
from pyke.graph.terms import Terms
from pyke.pipeline.embed import embed_graph
from pyke.use.alignment import align


@pytest.fixture(scope="module")
def embedding() -> Embedding:
    return embed_graph(graph_of(crafts()), Config(dimensions=6))


def test_a_turned_mirrored_and_scaled_embedding_is_the_same(embedding: Embedding) -> None:
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    turn[:, 0] *= -1
    other = replace(embedding, vectors=(3 * embedding.vectors @ turn + 7).astype(np.float32))
    found = align(embedding, other)
    assert found.error < 1e-5
    assert np.allclose(found.vectors, embedding.vectors, atol=1e-4)


def test_a_term_that_moves_alone_moves_most(embedding: Embedding) -> None:
    vectors = np.array(embedding.vectors)
    vectors[5] += 4
    found = align(embedding, replace(embedding, vectors=vectors))
    assert found.moved.argmax() == 5
    assert found.moved[5] > 5 * np.median(found.moved)


def test_terms_are_matched_by_name(embedding: Embedding) -> None:
    order = np.random.default_rng(1).permutation(len(embedding))
    names = [embedding.terms[at] for at in order[:-4].tolist()] + ["http://e/new"]
    vectors = np.concatenate([embedding.vectors[order[:-4]], np.ones((1, 6), np.float32)])
    other = replace(embedding, vectors=vectors, terms=Terms.of(names))
    found = align(embedding, other)
    assert (found.only_here, found.only_there) == (4, 1)
    assert [embedding.terms[at] for at in found.ids] == [names[at] for at in found.other_ids]
    assert found.error < 1e-5


def test_other_dimensions_can_be_compared(embedding: Embedding) -> None:
    other = embed_graph(graph_of(crafts()), Config(dimensions=4, seed=2))
    for one, two in ((embedding, other), (other, embedding)):
        found = align(one, two)
        assert found.vectors.shape == one.vectors.shape
        assert 0 < found.error < 2


def test_embeddings_of_different_graphs_are_an_error(embedding: Embedding) -> None:
    other = embed_graph(
        graph_of("<http://a/x> <http://a/y> <http://a/z> .\n"), Config(dimensions=4)
    )
    with pytest.raises(DataError, match="0 terms in common"):
        align(embedding, other)
