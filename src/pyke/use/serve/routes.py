"""The table of all addresses of the API: parameters, limits and answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from starlette.responses import Response

from pyke.use.serve import api, comparison, limits, maps, physics, predicted
from pyke.use.serve.groups import GROUPINGS
from pyke.use.serve.parameters import Choice, Number, Numbers, Parameter, Text

TERM = Number("term", "The id of a term.", required=True)
ID = Number("id", "The id of a term.", required=True)
BY = Choice("by", "What the colours show.", default="type", words=GROUPINGS)
LAYOUT = Choice(
    "layout",
    "Principal components, or the simulation in two or three dimensions.",
    default="components",
    words=maps.LAYOUTS,
)
DIMENSIONS = Number("dimensions", "2 or 3.", default=2, low=2, high=3)
BOX = Numbers("box", "left,low,right,high: only this part.", least=4, most=4, whole=False)


def _page(default: int = 20) -> Number:
    text = f"How many, up to {limits.MAX_PAGE}."
    return Number("limit", text, default=default, low=1, high=limits.MAX_PAGE)


@dataclass(frozen=True)
class Route:
    """An address of the API. `binary` describes an answer that is not JSON."""

    path: str
    summary: str
    answer: Callable[..., Response]
    parameters: Sequence[Parameter] = field(default=())
    binary: str = ""
    computes: bool = False  # 202 until the result is there


ROUTES = (
    Route("/api/info", "What is explored: counts, settings, limits.", api.info),
    Route(
        "/api/search",
        "Terms whose label, local name or IRI contains a text, the best first.",
        api.find,
        (
            Text("q", f"Up to {limits.MAX_QUERY} characters.", True, longest=limits.MAX_QUERY),
            Number("limit", f"Up to {limits.MAX_FOUND}.", default=10, low=1, high=limits.MAX_FOUND),
        ),
        computes=True,
    ),
    Route(
        "/api/names",
        "Names and types of some terms.",
        api.names,
        (Numbers("ids", f"Up to {limits.MAX_NAMES} ids.", True, most=limits.MAX_NAMES, least=1),),
    ),
    Route(
        "/api/terms/{id}",
        "One term: names, types, and its first triples on both sides.",
        api.term,
        (ID, _page()),
    ),
    Route(
        "/api/terms/{id}/triples",
        "A page of the triples with this term as subject (out) or object (in).",
        api.triples,
        (
            ID,
            Choice("side", "out or in.", default="out", words=("out", "in")),
            Number("offset", "How many to skip.", default=0),
            _page(),
        ),
    ),
    Route(
        "/api/nearest",
        "The terms closest to a term, with Euclidean distances.",
        api.nearest,
        (
            TERM,
            Number(
                "k",
                f"Up to {limits.MAX_NEIGHBOURS}.",
                default=10,
                low=1,
                high=limits.MAX_NEIGHBOURS,
            ),
            Number("among", "The id of a class: only terms of this type."),
        ),
    ),
    Route(
        "/api/types",
        "Types that the nearest typed subjects vote for, with measured confidence, and why.",
        predicted.types,
        (TERM,),
        computes=True,
    ),
    Route(
        "/api/facts",
        "Facts that a term lacks though its like have them, with measured confidence, and why.",
        predicted.facts,
        (TERM,),
        computes=True,
    ),
    Route(
        "/api/forces",
        "The springs and repellers of a term, and where they are on the map.",
        physics.forces,
        (TERM, LAYOUT, DIMENSIONS),
        computes=True,
    ),
    Route(
        "/api/film",
        "Some terms after each iteration of the simulation, on the principal axes of its end.",
        physics.film,
        (DIMENSIONS,),
        binary="uint32 frames, uint32 points, uint32 dimensions; uint32 iteration of each frame; "
        "uint32 ids; float32 coordinates, frame by frame",
        computes=True,
    ),
    Route(
        "/api/compare",
        "Another embedding of the same graph: which terms moved most.",
        comparison.moved,
        (Number("offset", "How many to skip.", default=0), _page(50)),
        computes=True,
    ),
    Route(
        "/api/compare/points",
        "Coordinates of the other embedding, turned and scaled to fit this one.",
        comparison.points,
        (DIMENSIONS,),
        binary="as /api/points; the ids are those of this embedding",
        computes=True,
    ),
    Route(
        "/api/points",
        "Coordinates of the map.",
        maps.points,
        (
            LAYOUT,
            DIMENSIONS,
            BOX,
            Number(
                "limit",
                "If there are more points, a random sample.",
                default=limits.MAX_POINTS,
                low=1,
                high=limits.MAX_POINTS,
            ),
        ),
        binary="uint32 count, uint32 dimensions, then uint32 ids, then float32 coordinates",
        computes=True,
    ),
    Route("/api/legend", "The groups of the map.", maps.legend, (BY,), computes=True),
    Route(
        "/api/groups",
        "The group of each term.",
        maps.groups,
        (BY,),
        binary="uint8 per term: a position in the legend",
        computes=True,
    ),
    Route(
        "/api/labels",
        "The best-connected terms of a part of the map.",
        maps.labels,
        (
            LAYOUT,
            DIMENSIONS,
            BOX,
            BY,
            Numbers("hide", "Groups without labels.", default=[], most=64),
        ),
        computes=True,
    ),
)
