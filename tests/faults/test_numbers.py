"""Random and degenerate graphs have finite vectors, whatever the order of their lines."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from faults.conftest import Figure, times
from faults.runs import content, run
from graphs import random_graph
from pyke.config import Config
from pyke.pipeline import Run, embed_graph


def _random_lines(rng: random.Random) -> list[str]:
    """A graph of one of several shapes: dense, sparse, a star, a chain, separate pairs, loops."""
    size = rng.randrange(1, 30)
    draw = rng.choice(
        (
            lambda i: (rng.randrange(size), rng.randrange(3), rng.randrange(size)),
            lambda i: (0, rng.randrange(3), i),
            lambda i: (i, 0, i + 1),
            lambda i: (2 * i, i % 2, 2 * i + 1),
            lambda i: (i, i, i),
        )
    )
    return [
        "<http://e/{}> <http://p/{}> <http://e/{}> .\n".format(*draw(i))
        for i in range(rng.randrange(1, 60))
    ]


@pytest.mark.parametrize("similarity", ["context", "ppmi"])
def test_vectors_of_random_graphs_are_finite_and_ignore_the_order_of_lines(
    similarity: str, tmp_path: Path, rng: random.Random, figure: Figure
) -> None:
    graphs = times(40, 5000)
    config = Config(dimensions=3, similarity=similarity, threads=1)
    path = tmp_path / "graph.nt"
    for number in range(graphs):
        lines = _random_lines(rng)
        path.write_text("".join(lines))
        graph = Run(path, config).read()
        embedding = embed_graph(graph, config)
        assert np.isfinite(embedding.vectors).all(), "".join(lines)
        rng.shuffle(lines)
        path.write_text("".join(lines))
        again = Run(path, config).read()
        assert sorted(map(str, again.terms)) == sorted(map(str, graph.terms))
        assert len(again) == len(graph), number
    figure(
        "F14", f"{graphs} random graphs, {similarity}: all vectors finite, same terms and triples"
    )


def test_threads_and_budgets_do_not_change_a_bit(tmp_path: Path, figure: Figure) -> None:
    graph = tmp_path / "graph.nt"
    graph.write_text(random_graph(5000))
    results = set()
    for threads in (1, 2, 4, 8):
        out = tmp_path / str(threads)
        assert run("embed", graph, "-o", out, "--threads", str(threads), "--dimensions", "8") == 0
        results.add(content(out))
    assert len(results) == 1
    figure("F10", "1, 2, 4 and 8 threads: the same SHA-256")
