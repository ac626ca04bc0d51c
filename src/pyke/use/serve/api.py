"""Answers about terms: names, triples, types and neighbours."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from starlette.responses import Response

from pyke import __version__
from pyke.core.arrays import Ids
from pyke.graph.graph import LITERAL
from pyke.use.serve import limits
from pyke.use.serve.answers import Refused, json_answer
from pyke.use.serve.costs import costs
from pyke.use.serve.explorer import Explorer

_EXTENSIONS = re.compile(
    r"(\.(nt|nq|ttl|trig|n3|rdf|xml|owl|jsonld|json|csv|tsv|gz|bz2|xz|zst))+$", re.IGNORECASE
)


def info(explorer: Explorer) -> Response:
    """What is explored: counts, settings, the course of the simulation, and limits."""
    e = explorer.embedding
    return json_answer(
        {
            "title": title(explorer),
            "program": __version__,
            **explorer.census,
            "dimensions": e.dimensions,
            "literals": e.manifest.get("census", {}).get("literals", 0),
            "history": e.manifest.get("history", []),
            "updated": bool(e.manifest.get("updates")),
            "compared": explorer.other is not None,
            "indexed": explorer.is_indexed,
            "costs": costs(explorer),
            "limits": {
                "neighbours": limits.MAX_NEIGHBOURS,
                "page": limits.MAX_PAGE,
                "query": limits.MAX_QUERY,
                "points": limits.MAX_POINTS,
            },
        }
    )


def title(explorer: Explorer) -> str:
    """The name of the first file that was embedded, without its folder and extension."""
    inputs = explorer.embedding.manifest.get("inputs") or ["graph"]
    name = str(inputs[0]).replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    more = f" and {len(inputs) - 1:,} more" if len(inputs) > 1 else ""
    return (_EXTENSIONS.sub("", name) or "graph") + more


def find(explorer: Explorer, q: str, limit: int) -> Response:
    """Terms whose names contain a text, the best first."""
    found = explorer.search_index.result().find(q, limit)
    terms = explorer.named(found.ids)
    for one, term in zip(terms, found.ids.tolist(), strict=True):
        one["types"] = [kind["name"] for kind in explorer.named(explorer.types_of(term)[:3])]
    return json_answer({"query": q, "matches": found.matches, "terms": terms})


def names(explorer: Explorer, ids: list[int]) -> Response:
    """Names and types of some terms."""
    for term in ids:
        explorer.check_term(term)
    terms = explorer.named(ids)
    for one in terms:
        one["types"] = [kind["name"] for kind in explorer.named(explorer.types_of(one["id"])[:3])]
    return json_answer({"terms": terms})


def term(explorer: Explorer, id: int, limit: int) -> Response:  # noqa: A002
    """One term: names, types, and its first triples on both sides."""
    explorer.check_term(id)
    (named,) = explorer.named([id])
    return json_answer(
        named
        | {
            "types": explorer.named(explorer.types_of(id)),
            "out": _triples(explorer, id, "out", 0, limit),
            "in": _triples(explorer, id, "in", 0, limit),
        }
    )


def triples(explorer: Explorer, id: int, side: str, offset: int, limit: int) -> Response:  # noqa: A002
    """A page of the triples with a term as subject (out) or object (in)."""
    return json_answer(_triples(explorer, explorer.check_term(id), side, offset, limit))


def _triples(explorer: Explorer, term: int, side: str, offset: int, limit: int) -> dict[str, Any]:
    if side == "out":
        begin, end = np.searchsorted(explorer.subjects, [term, term + 1]).tolist()
        rows = explorer.triples[begin + offset : min(begin + offset + limit, end)]
        others: Ids = rows[:, 2]
    else:
        objects, order = explorer.by_object
        begin, end = np.searchsorted(objects, [term, term + 1]).tolist()
        rows = explorer.triples[order[begin + offset : min(begin + offset + limit, end)]]
        others = rows[:, 0]
    shown = explorer.named(np.maximum(others, 0))  # literals are not stored
    return {
        "total": end - begin,
        "offset": offset,
        "triples": [
            {"predicate": predicate, "term": None if other == LITERAL else name}
            for predicate, other, name in zip(
                explorer.named(rows[:, 1]), others.tolist(), shown, strict=True
            )
        ],
    }


def nearest(explorer: Explorer, term: int, k: int, among: int | None) -> Response:
    """The terms closest to a term, with their distances."""
    chosen = None
    if among is not None:
        chosen = explorer.types[explorer.types[:, 1] == explorer.check_term(among), 0]
        if not len(chosen):
            raise Refused(404, "unknown_class", "No subject has this type.")
    ids, distances = explorer.nearest(explorer.check_term(term), k, chosen)
    neighbours = explorer.named(ids)
    for one, distance in zip(neighbours, distances.astype(str).astype(float), strict=True):
        one["distance"] = distance
    return json_answer({"term": explorer.named([term])[0], "neighbours": neighbours})
