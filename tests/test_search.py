"""Nearest neighbours, beside a plain double loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from pyke import search
from test_ids import many

# Small whole numbers: their distances are exact, and many are equal.
NUMBERS = st.integers(-2, 2)
VECTORS = st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(NUMBERS, min_size=n, max_size=n), min_size=1, max_size=20))


@pytest.mark.parametrize("at_once", [1, 3, 1 << 16])
@given(drawn=VECTORS, k=st.integers(1, 25), own=st.booleans())
@many(150)
def test_nearest_is_the_plain_double_loop(at_once: int, drawn: list[list[float]], k: int, own: bool) -> None:
    query, *vectors = drawn
    without = len(vectors) // 2 if own and vectors else -1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "ROWS_AT_ONCE", at_once)
        ids, distances = search.nearest(np.array(vectors, np.float32).reshape(-1, len(query)), np.array(query, np.float32), k, without)
    assert ids.tolist() == oracle.nearest(vectors, query, k, without)
    assert distances.tolist() == pytest.approx([oracle.distance(vectors[y], query) for y in ids], rel=1e-6)


def test_nearest_finds_the_same_among_many_real_vectors() -> None:
    vectors = np.random.default_rng(1).normal(size=(500, 20)).astype(np.float32)
    plain = vectors.tolist()
    for x in range(0, 500, 50):
        ids, distances = search.nearest(vectors, vectors[x], 10, x)
        assert ids.tolist() == oracle.nearest(plain, plain[x], 10, x)
        assert (np.diff(distances) >= 0).all()


def test_the_oracle_predicts_types_as_computed_by_hand() -> None:
    """Four members of S on a line. The nearest of the first two are each other; those of the last two, too."""
    vectors, types = [[0.0], [1.0], [10.0], [11.0]], [{"a"}, {"a", "b"}, {"c"}, {"a"}]
    assert oracle.type_prediction(vectors, types, 1) == pytest.approx((2 * 0.5**0.5 + 0 + 0) / 4)
    # All three others: 2a + b + c, 2a + c, 3a + b, 2a + b + c.
    cosines = [2 / 6**0.5, 2 / 10**0.5, 0, 2 / 6**0.5]
    assert oracle.type_prediction(vectors, types, 3) == pytest.approx(sum(cosines) / 4)
