"""Answers about two embeddings of the same graph."""

from __future__ import annotations

import numpy as np
from starlette.responses import Response

from pyke.use.alignment import Alignment, align
from pyke.use.neighbours import search
from pyke.use.serve.answers import json_answer, numbers_answer
from pyke.use.serve.child import Impossible
from pyke.use.serve.explorer import Explorer

KEPT_OF = 10  # nearest neighbours that are compared


def _alignment(explorer: Explorer) -> Alignment:
    other = explorer.other
    if other is None:
        raise Impossible("This server has one embedding. Start it with `compare` to see two.")
    found: Alignment = explorer.job(
        "alignment", lambda _: align(explorer.embedding, other)
    ).result()
    return found


def moved(explorer: Explorer, offset: int, limit: int) -> Response:
    """The terms that moved most, and how many of their nearest neighbours stayed the same."""
    found, other = _alignment(explorer), explorer.other
    assert other is not None
    order = np.argsort(-found.moved, kind="stable")[offset : offset + limit]
    terms = explorer.named(found.ids[order])
    here = np.full(len(other), -1, np.int64)
    here[found.other_ids] = found.ids
    for one, at in zip(terms, order.tolist(), strict=True):
        own, _ = explorer.nearest(one["id"], KEPT_OF)
        there = int(found.other_ids[at])
        near, _ = search.nearest(other.vectors, other.vectors[there], KEPT_OF, there)
        one["moved"] = float(found.moved[at])
        one["kept"] = len(set(own.tolist()) & set(here[near].tolist()))
    return json_answer(
        {
            "common": len(found.ids),
            "only_here": found.only_here,
            "only_there": found.only_there,
            "error": found.error,
            "neighbours": KEPT_OF,
            "moved": terms,
        }
    )


def points(explorer: Explorer, dimensions: int) -> Response:
    """The aligned vectors of the other embedding on the principal axes of this one."""
    found = _alignment(explorer)
    axes = search.principal_axes(explorer.vectors, dimensions)
    places = search.project_on(found.vectors, *axes)
    head = np.array([len(places), dimensions], np.uint32)
    return numbers_answer(head, found.ids.astype(np.uint32), places)
