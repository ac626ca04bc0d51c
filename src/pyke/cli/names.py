"""Short names of terms in tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyke.use.types.explain import Shared


def context_text(shared: Shared, names: Mapping[str, str]) -> str:
    """A role or context as it is shown: `predicate → other`, or `other → predicate`."""
    predicate = names[shared.predicate]
    other = "…" if shared.other is None else names[shared.other]
    return f"{predicate} → {other}" if shared.is_subject else f"{other} → {predicate}"


def short_names(labels: Mapping[str, str | None]) -> dict[str, str]:
    """Labels, prefixed names or local names of terms; the term itself where two would be equal."""
    from pyke.embedding.lookup import local_name

    short = {term: label or _prefixed(term) or local_name(term) for term, label in labels.items()}
    counts = Counter(short.values())
    return {term: name if counts[name] == 1 else term for term, name in short.items()}


def _prefixed(term: str) -> str | None:
    from pyke.embedding.lookup import PREFIXES

    spaces = ((prefix, space) for prefix, both in PREFIXES.items() for space in both.split())
    found = ((p, space) for p, space in spaces if term.startswith(space) and term != space)
    return next((f"{p}:{term.removeprefix(space)}" for p, space in found), None)
