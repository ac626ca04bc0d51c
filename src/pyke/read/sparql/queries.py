"""CONSTRUCT queries that can be read page by page."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyke.errors import NoInput, UsageError

MARK = "urn:pyke:row"  # predicate of the triples that mark rows
MAX_QUERY = 1 << 20  # characters
ORDERS = ("query", "subquery", "none")

# First what may contain braces or keywords: IRIs, strings, comments.
_TOKEN = re.compile(
    r"""<[^<>"{}|^`\\\s]*> | \#[^\n]*
        | \"{3}.*?\"{3} | '{3}.*?'{3} | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
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
    """A CONSTRUCT query without LIMIT and OFFSET, and queries that count its rows."""

    text: str
    sorted: bool
    marked: bool  # each row adds a triple with the predicate MARK
    count: str | None = None
    count_distinct: str | None = None
    count_shapes: str | None = None  # of distinct triples if all blank nodes were equal

    def page(self, limit: int, offset: int) -> str:
        """The query for one page."""
        return f"{self.text}\nLIMIT {limit} OFFSET {offset}"

    @classmethod
    def own(cls, literals: bool, order: str) -> Query:
        """The query for all triples, or all without literal objects."""
        pattern = "?s ?p ?o" if literals else "?s ?p ?o FILTER(!isLiteral(?o))"
        ordered = "ORDER BY ?s ?p ?o"
        shape = "(IF(isBlank(?s), 0, ?s) AS ?from) ?p (IF(isBlank(?o), 0, ?o) AS ?to)"
        where = (
            f"{{ {{ SELECT ?s ?p ?o WHERE {{ {pattern} }} {ordered} }} }}"
            if order == "subquery"
            else f"{{ {pattern} }}"
        )
        count = "SELECT (COUNT(*) AS ?rows) WHERE"
        return cls(
            text=f"CONSTRUCT {{ ?s ?p ?o }} WHERE {where}"
            + (f" {ordered}" if order == "query" else ""),
            sorted=order != "none",
            marked=False,
            count=f"{count} {{ {pattern} }}",
            count_distinct=f"{count} {{ SELECT DISTINCT ?s ?p ?o WHERE {{ {pattern} }} }}",
            count_shapes=f"{count} {{ SELECT DISTINCT {shape} WHERE {{ {pattern} }} }}",
        )

    @classmethod
    def given(cls, text: str, order: str) -> Query:
        """A user's query with marked rows, sorted by its template's variables if not sorted."""
        begin, variables, ordered = _scan(text)
        marked = f"{text[:begin]} _:pykeRow <{MARK}> <{MARK}> . {text[begin:]}"
        if order == "query" and not ordered and variables:
            # On its own line, as the last line may be a comment.
            marked += f"\nORDER BY {' '.join(variables)}"
        return cls(marked, sorted=ordered or order == "query", marked=True)


def read_query(given: str) -> str:
    """The query itself, or the content of a file. Text with a brace is a query."""
    if "{" in given:
        return given
    try:
        with open(given, encoding="utf-8") as file:
            text = file.read(MAX_QUERY + 1)
        if len(text) > MAX_QUERY:
            raise ValueError("it is too large for a query")
        return text
    except (OSError, ValueError) as error:
        raise NoInput(
            f"cannot read a query from {given}: {getattr(error, 'strerror', None) or error}"
        ) from None


def _scan(text: str) -> tuple[int, list[str], bool]:
    """Start of a CONSTRUCT query's template, its variables, and whether there is an ORDER BY."""
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
                    f"the query is a {word}; it must be a CONSTRUCT, which returns triples"
                )
            if word in ("LIMIT", "OFFSET", "VALUES"):
                raise UsageError(
                    f"the query has a {word} at its end, where pages need LIMIT and OFFSET. "
                    f"Move it to a subquery: WHERE {{ SELECT … {word} … }}."
                )
            if construct and not begin:
                raise UsageError(
                    "the query has no template; write CONSTRUCT { … } WHERE { … } in full"
                )
            construct, ordered = construct or word == "CONSTRUCT", ordered or word == "ORDER"
    if not begin or depth:
        raise UsageError(
            "the query must have the form CONSTRUCT { … } WHERE { … }, with balanced braces"
        )
    return begin, variables, ordered


def check_iri(iri: str) -> None:
    """Raise UsageError if the text is not an absolute IRI."""
    if not re.fullmatch(r"""[A-Za-z][\w+.-]*:[^<>"{}|^`\\\s]*""", iri):
        raise UsageError(f"{iri!r} is not an absolute IRI; write it in full, without < and >")
