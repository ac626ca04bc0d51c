"""A map or an animation as one HTML page that needs no other file."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Sequence
from importlib import resources
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrays import Floats, Ids
from pyke.embedding.embedding import Embedding
from pyke.embedding.lookup import texts_at
from pyke.use.maps.layout import ELEVATION, TURN
from pyke.use.maps.selection import Selection, sampled

MAX_NAMED = 200_000  # points of a page that have their terms in it


def named_points(selection: Selection, seed: int) -> NDArray[np.int64]:
    """The points whose terms are in the page, ascending: all, or those with labels and a sample."""
    count = len(selection.ids)
    if count <= MAX_NAMED:
        return np.arange(count)
    order = np.random.default_rng(seed).permutation(count)
    return np.sort(sampled(order, [row for row, _ in selection.labels], MAX_NAMED))


def page(
    embedding: Embedding,
    selection: Selection,
    title: str,
    frames: Floats,
    iterations: Sequence[int],
    named: NDArray[np.int64],
) -> bytes:
    """The page. `frames` are coordinates after each of `iterations`: (frames, points, 2 or 3).

    Terms are untrusted: they are in JSON or packed, and the script of the page writes them as text
    only. The browser runs no other script.
    """
    parts = {name: _part(f"map.{name}") for name in ("html", "css")}
    parts["js"] = _part("canvas.js").replace("export function", "function") + _part("map.js")
    data = _data(embedding, selection, frames, iterations, named)
    text = Template(parts["html"]).substitute(
        title=html.escape(title),
        summary=html.escape(_summary(selection, len(named))),
        style=parts["css"],
        script=parts["js"],
        style_hash=_hash(parts["css"]),
        script_hash=_hash(parts["js"]),
        data=json.dumps(data).replace("<", "\\u003c"),
    )
    return text.encode()


def _part(name: str) -> str:
    """A file of the page. The explorer imports canvas.js; here it is in the same script."""
    return (resources.files("pyke.use.maps") / "page" / name).read_text("utf-8")


def _summary(selection: Selection, named: int) -> str:
    """How many points the page shows."""
    count = len(selection.ids)
    summary = f"{count:,} points"
    if selection.left_out:
        summary += f", a sample of {count + selection.left_out:,}"
    if named < count:
        summary += f"; the page contains the terms of {named:,} of them"
    return summary


def _data(
    embedding: Embedding,
    selection: Selection,
    frames: Floats,
    iterations: Sequence[int],
    named: NDArray[np.int64],
) -> dict[str, Any]:
    """What the script of the page reads."""
    names = json.dumps(_names(embedding, selection.ids[named])).encode()
    return {
        "dimensions": frames.shape[2],
        "frames": iterations,
        "points": len(selection.ids),
        "coordinates": _packed(np.ascontiguousarray(frames, "<f4")),
        "groups": _packed(selection.groups),
        "legend": [
            {"name": group.name, "colour": group.colour, "count": group.count}
            for group in selection.legend
        ],
        "labels": selection.labels,
        "highlighted": selection.highlighted,
        "named": None if len(named) == len(selection.ids) else _packed(named.astype("<i4")),
        "names": base64.b64encode(gzip.compress(names, mtime=0)).decode(),
        "view": [ELEVATION, TURN],
    }


def _names(embedding: Embedding, ids: Ids) -> dict[str, Any]:
    """Terms, labels and types; types are positions in the list of classes."""
    lookup = embedding.lookup()
    classes, positions = np.unique(embedding.types[:, 1], return_inverse=True)
    begins, ends = (np.searchsorted(embedding.types[:, 0], ids, side) for side in ("left", "right"))
    types = positions.tolist()
    return {
        "terms": texts_at(embedding.terms, ids),
        "labels": lookup.labels_of(ids),
        "types": [
            types[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
        ],
        "classes": [lookup.readable(term) for term in classes.tolist()],
    }


def _packed(array: NDArray[Any]) -> str:
    """The memory of an array in base64."""
    return base64.b64encode(array.tobytes()).decode()


def _hash(text: str) -> str:
    """The hash by which a browser allows an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
