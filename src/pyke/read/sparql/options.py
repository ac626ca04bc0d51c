"""The options of `fetch`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from pyke.errors import UsageError
from pyke.read.sparql.endpoint import USER_AGENT
from pyke.read.sparql.queries import ORDERS, check_iri

_RANGES: dict[str, tuple[float, float | None]] = {
    "page_size": (1, 1_000_000),
    "max_triples": (1, None),
    "timeout": (0.001, 86_400),
    "retries": (0, 1000),
    "pause": (0, 86_400),
}
_CHOICES = {"order": ORDERS, "on_error": ("stop", "skip")}


@dataclass(frozen=True, kw_only=True)
class FetchOptions:
    """What to fetch, and how."""

    # What: a fetch resumes only with the same values.
    query: str | None = None  # CONSTRUCT { … } WHERE { … }, or a file; None for all triples
    graphs: tuple[str, ...] = ()
    literals: bool = True
    order: str | None = None  # by default "query" for a user's query, else "none"
    keep_blank_labels: bool = False

    # How: a fetch may resume with other values.
    page_size: int = 10_000
    max_triples: int | None = None
    on_error: str = "stop"
    user_agent: str = USER_AGENT
    timeout: float = 120.0
    retries: int = 5
    pause: float = 0.0

    def __post_init__(self) -> None:
        graphs = (self.graphs,) if isinstance(self.graphs, str) else tuple(self.graphs)
        object.__setattr__(self, "graphs", graphs)
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value is not None and value not in choices:
                raise UsageError(f"`{name}` is {value!r}; it must be one of: {', '.join(choices)}")
        for name, (minimum, maximum) in _RANGES.items():
            number = getattr(self, name)
            if number is None or (number >= minimum and (maximum is None or number <= maximum)):
                continue
            upper = "" if maximum is None else f" and at most {maximum:,}"
            raise UsageError(f"`{name}` is {number}; it must be at least {minimum}{upper}")
        for graph in graphs:
            check_iri(graph)
        if self.query is not None and (not self.literals or self.order == "subquery"):
            raise UsageError(
                '`literals=False` and `order="subquery"` apply only to the query for all triples; '
                "write the filter or the subquery into your own query"
            )

    @classmethod
    def of(cls, options: dict[str, Any]) -> FetchOptions:
        """Options from a dictionary of names and values."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise UsageError(f"unknown option {name!r}; the options are: {', '.join(known)}")
        return cls(**options)
