"""What an endpoint is asked: CONSTRUCT queries that can be cut into pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pyke.errors import NoInput, UsageError

MARK = "urn:pyke:row"  # the predicate that marks rows
ORDERS = ("query", "subquery", "none")

# Whatever may hide a brace or a keyword: IRIs, texts, comments; then variables, braces and words.
_TOKEN = re.compile(
    r"""<[^<>"{}|^`\\\s]*> | \"{3}.*?\"{3} | '{3}.*?'{3} | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' | \#[^\n]*
        | (?P<variable>[?$]\w+) | (?P<brace>[{}]) | (?P<word>[^\s{}()<>"'#?$]+)""",
    re.VERBOSE | re.DOTALL,
)
_FORMS = (
    "SELECT",
    "ASK",
    "DESCRIBE",
    "INSERT",
    "DELETE",
    "LOAD",
    "CLEAR",
    "DROP",
    "CREATE",
    "ADD",
    "MOVE",
    "COPY",
)


@dataclass(frozen=True)
class Query:
    """A CONSTRUCT query without LIMIT and OFFSET, whether its rows are sorted or marked, and queries that count its rows, if there are any."""

    text: str
    sorted: bool
    marked: bool
    counting: str | None = None
    counting_different: str | None = None
    counting_shapes: str | None = None  # of triples that differ in more than their blank nodes

    def page(self, limit: int, offset: int) -> str:
        """The query for one page."""
        return f"{self.text}\nLIMIT {limit} OFFSET {offset}"

    @classmethod
    def own(cls, literals: bool, order: str) -> Query:
        """All triples, or all without literals."""
        pattern = "?s ?p ?o" if literals else "?s ?p ?o FILTER(!isLiteral(?o))"
        ordered = "ORDER BY ?s ?p ?o"
        shape = "(IF(isBlank(?s), 0, ?s) AS ?from) ?p (IF(isBlank(?o), 0, ?o) AS ?to)"
        where = (
            f"{{ {{ SELECT ?s ?p ?o WHERE {{ {pattern} }} {ordered} }} }}"
            if order == "subquery"
            else f"{{ {pattern} }}"
        )
        return cls(
            text=f"CONSTRUCT {{ ?s ?p ?o }} WHERE {where}{f' {ordered}' if order == 'query' else ''}",
            sorted=order != "none",
            marked=False,
            counting=f"SELECT (COUNT(*) AS ?rows) WHERE {{ {pattern} }}",
            counting_different=f"SELECT (COUNT(*) AS ?rows) WHERE {{ SELECT DISTINCT ?s ?p ?o WHERE {{ {pattern} }} }}",
            counting_shapes=f"SELECT (COUNT(*) AS ?rows) WHERE {{ SELECT DISTINCT {shape} WHERE {{ {pattern} }} }}",
        )

    @classmethod
    def given(cls, text: str, order: str) -> Query:
        """A user's query: its rows marked, and sorted by what its triples are made of, unless it has an order of its own."""
        begin, variables, ordered = _scan(text)
        marked = f"{text[:begin]} _:pykeRow <{MARK}> <{MARK}> . {text[begin:]}"
        if order == "query" and not ordered and variables:
            marked += f"\nORDER BY {' '.join(variables)}"  # on a line of its own: the last one may be a comment
        return cls(marked, sorted=ordered or order == "query", marked=True)


def read_query(given: str) -> str:
    """A query, or that in a file: a text with a brace in it is no file."""
    if "{" in given:
        return given
    try:
        return Path(given).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise NoInput(
            f"cannot read a query from {given}: {getattr(error, 'strerror', None) or error}"
        ) from None


def _scan(text: str) -> tuple[int, list[str], bool]:
    """Where the template of a CONSTRUCT query begins, the variables in it, and if the query has an ORDER BY."""
    begin, depth, ordered = 0, 0, False
    construct = in_template = False
    variables: list[str] = []
    for token in _TOKEN.finditer(text):
        word = (token["word"] or "").upper()
        if token["brace"]:
            depth += 1 if token["brace"] == "{" else -1
            if construct and not begin:
                begin, in_template = token.end(), True
            in_template = in_template and depth > 0
        elif token["variable"] and in_template and token["variable"] not in variables:
            variables.append(token["variable"])
        elif depth == 0 and word:
            if word in _FORMS:
                raise UsageError(
                    f"the query must be a CONSTRUCT, which gives triples; this is a {word}"
                )
            if word in ("LIMIT", "OFFSET", "VALUES"):
                raise UsageError(
                    f"the query ends with {word}, where pages are cut off it. Put that into a subquery: WHERE {{ SELECT … {word} … }}."
                )
            if construct and not begin:
                raise UsageError(
                    "the query has no template; write CONSTRUCT { … } WHERE { … } in full"
                )
            construct, ordered = construct or word == "CONSTRUCT", ordered or word == "ORDER"
    if not begin or depth:
        raise UsageError(
            "the query must be of the form CONSTRUCT { … } WHERE { … }, with as many { as }"
        )
    return begin, variables, ordered


def check_iri(iri: str) -> None:
    """Refuses what cannot be an IRI."""
    if not re.fullmatch(r"""[A-Za-z][\w+.-]*:[^<>"{}|^`\\\s]*""", iri):
        raise UsageError(f"{iri!r} is no IRI; write it in full, without < and >")
