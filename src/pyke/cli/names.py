"""Short names of terms in tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyke.use.types.explain import Shared


def context_text(shared: Shared, names: Mapping[str, str]) -> str:
    """A role or context as it is shown: `predicate → other`, or `other → predicate`."""
    predicate = names[shared.predicate]
    other = "…" if shared.other is None else names[shared.other]
    return f"{predicate} → {other}" if shared.is_subject else f"{other} → {predicate}"


def short_names(labels: Mapping[str, str | None]) -> dict[str, str]:
    """Labels, prefixed names or local names of terms, with the ends of IRIs where two are equal.

    Examples
    --------
    >>> names = short_names({"http://e.com/tag#AHU": "AHU", "http://e.com/brick#AHU": "AHU"})
    >>> list(names.values())
    ['AHU (…/tag#AHU)', 'AHU (…/brick#AHU)']
    """
    from pyke.embedding.lookup import local_name

    short = {term: label or _prefixed(term) or local_name(term) for term, label in labels.items()}
    by_name: dict[str, list[str]] = {}
    for term, name in short.items():
        by_name.setdefault(name, []).append(term)
    for name, terms in by_name.items():
        for term in terms if len(terms) > 1 else ():
            end = _end_of(term, terms)
            short[term] = f"{name} ({end})" if labels[term] else end
    return short


def _end_of(term: str, others: Sequence[str]) -> str:
    """The end of a term, from a separator on, that no other term has; the term if it is short."""
    starts = [i for i, letter in enumerate(term) if letter in "/#:" and i > len("https://")]
    for start in reversed(starts):
        end = term[start:]
        if sum(other.endswith(end) for other in others) == 1:
            return f"…{end}"
    return term


def _prefixed(term: str) -> str | None:
    from pyke.embedding.lookup import PREFIXES

    spaces = ((prefix, space) for prefix, both in PREFIXES.items() for space in both.split())
    found = ((p, space) for p, space in spaces if term.startswith(space) and term != space)
    return next((f"{p}:{term.removeprefix(space)}" for p, space in found), None)
