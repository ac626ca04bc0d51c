"""Missing types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyke.cli import terminal
from pyke.cli.options import AsJson, Directory, Force, Threads, app

if TYPE_CHECKING:
    from pyke.use.types.explain import Explanation, Shared
    from pyke.use.types.predictions import Predictions

SHOWN = 20  # classes that were predicted


@app.command()
def types(
    directory: Directory,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write them: .nt; .ttl or .trig with confidence; or .csv, .tsv, .jsonl, .parquet.",
        ),
    ] = None,
    min_confidence: Annotated[
        float | None,
        typer.Option(help="Leave out predictions that are less likely to be right. [0.8]"),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(help="Instead: as many predictions as there can be, this part of them right."),
    ] = None,
    only_untyped: Annotated[
        bool,
        typer.Option(
            "--only-untyped/--also-typed",
            help="Ask subjects without a type only, or those with types for further ones.",
        ),
    ] = True,
    mu: Annotated[int, typer.Option(help="Neighbours that vote.")] = 10,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="TERM",
            help="Tell which neighbours and what in common speak for the types of a term.",
        ),
    ] = None,
    prefix: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=IRI", help="A prefix for --explain beside the well-known ones."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write how often predictions are right to .html, or the figure to .png, .svg or .pdf."
        ),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Exact neighbours, however many points there are.")
    ] = False,
    threads: Threads = None,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Predict missing types, each with the chance that it is right, and write them as RDF."""
    from pyke.embedding.embedding import load
    from pyke.errors import UsageError

    if min_confidence is not None and precision is not None:
        raise UsageError("--min-confidence or --precision: one of them")
    if explain is not None and (output or report):
        raise UsageError(
            "--explain tells about one term and writes nothing: leave out --output and --report"
        )
    embedding = load(directory)
    if explain is not None:
        from pyke.embedding.lookup import parse_prefixes
        from pyke.use.types.explain import explain as tell

        term = embedding.terms[embedding.lookup(parse_prefixes(prefix or [])).find(explain)]
        _show_explanation(tell(embedding, f"<{term}>", mu), json_)
        return
    from pyke.use.reports import check_report
    from pyke.use.types.predict import predict_types
    from pyke.use.types.predictions import check_target

    if output:  # before the work
        check_target(output, force)
    if report:
        check_report(report, force)
    with terminal.Shown() as progress:
        found = predict_types(
            embedding, mu=mu, min_confidence=0.8 if min_confidence is None else min_confidence, precision=precision, only_untyped=only_untyped,
            exact=exact or None, threads=threads, progress=progress,
        )  # fmt: skip
        if output:
            found.write(output, force)
        if str(output) == "-":
            progress.note("\n".join(_in_sentences(found, output)))
    if str(output) == "-":
        pass  # where the table is, nothing else may be
    elif json_:
        terminal.print_json({"output": output and str(output), **found.as_dict()})
    else:
        _show(found, output)
    if report:
        from pyke.use.reports import write_report
        from pyke.use.types.calibration import reliability_figure, reliability_table

        write_report(
            report,
            f"Predicted types of {directory.name}",
            [reliability_table(found.calibration)],
            reliability_figure(found.calibration),
        )


def _show(found: Predictions, output: Path | None) -> None:
    from pyke.use.types.calibration import reliability_table

    terminal.show_tables([reliability_table(found.calibration)])
    classes = found.by_class()
    names = _short_names(
        {one.type: one.label for one in classes}
        | {one.example: one.example_label for one in classes}
    )
    _print_rows("Predicted types", ("type", "predictions", "should be right", "for example"), [
        (names[one.type], f"{one.predictions:,}", f"{one.expected_right:.3f}", names[one.example]) for one in classes[:SHOWN]
    ], right=(1, 2))  # fmt: skip
    for line in _in_sentences(found, output):
        terminal.out().print(terminal.inert(line), highlight=False)


def _in_sentences(found: Predictions, output: Path | None) -> list[str]:
    from pyke.use.types.predictions import syntax_of

    left_out = found.not_in_rdf if output and syntax_of(output) else 0
    where = f" are in {output}" if output and str(output) != "-" else " are predicted"
    right = (
        f"{found.expected_right:.1%} of all {len(found):,} should be right."
        if len(found)
        else "None was confident enough."
    )
    if not found.asked - found.without_voters:
        right = ""
    lines = [
        f"{len(found) - left_out:,} types{where}; {found.asked:,} subjects were asked. {right}".rstrip()
    ]
    if left_out:
        lines.append(
            f"{left_out:,} more have blank nodes or names that are no IRIs, which an RDF file cannot name: a table has them."
        )
    if found.of_typed:
        lines.append(
            f"{found.of_typed:,} are of subjects that have a type already, which confidence does not know: further types, or doubts."
        )
    if found.without_voters:
        lines.append(
            f"Of {found.without_voters:,} nothing can be said: no typed neighbour has a predicate, on the same side of it, in common with them."
        )
    if not found.exact:
        lines.append(
            f"Neighbours were found by an index, with a recall of {found.recall:.3f}; --exact finds them all."
        )
    return lines


def _show_explanation(found: Explanation, json_: bool) -> None:
    if json_:
        terminal.print_json(found.as_dict())
        return
    kinds = {kind: None for voter in found.voters for kind in voter.types} | {
        vote.type: vote.label for vote in found.votes
    }
    others = {one.other: one.label for one in found.shared if one.other is not None}
    names = _short_names(
        kinds
        | {voter.term: voter.label for voter in found.voters}
        | others
        | {one.predicate: None for one in found.shared}
    )
    terminal.out().print(
        terminal.inert(f"{found.label or ''} <{found.term}>".strip()), highlight=False
    )
    if not found.votes:
        terminal.out().print(
            "Nothing can be said: no typed neighbour has a predicate, on the same side of it, in common with it."
        )
    _print_rows("Votes", ("type", "votes", ""), [
        (names[vote.type], f"{vote.votes} of {len(found.voters)}", "stated in the graph" if vote.stated else "") for vote in found.votes
    ], right=(1,))  # fmt: skip
    _print_rows("Its nearest typed neighbours; those with something in common vote", ("neighbour", "distance", "in common", "types"), [
        (names[voter.term], f"{voter.distance:.3f}", str(voter.shared), ", ".join(names[kind] for kind in voter.types)) for voter in found.voters
    ], right=(1, 2))  # fmt: skip
    _print_rows("What it has in common with them, the most telling first", ("in common", "neighbours", "terms that have it"), [
        (_in_words(shared, names), str(shared.voters), f"{shared.terms:,}") for shared in found.shared
    ], right=(1, 2))  # fmt: skip


def _in_words(shared: Shared, names: Mapping[str, str]) -> str:
    predicate, other = names[shared.predicate], "…" if shared.other is None else names[shared.other]
    return f"{predicate} → {other}" if shared.is_subject else f"{other} → {predicate}"


def _short_names(labels: Mapping[str, str | None]) -> dict[str, str]:
    """Terms as people read them: labels, prefixed names, or local names; in full where two would be called the same."""
    from pyke.embedding.lookup import local_name

    short = {term: label or _prefixed(term) or local_name(term) for term, label in labels.items()}
    bearers = Counter(short.values())
    return {term: name if bearers[name] == 1 else term for term, name in short.items()}


def _prefixed(term: str) -> str | None:
    from pyke.embedding.lookup import PREFIXES

    spaces = (
        (prefix, space)
        for prefix, both in PREFIXES.items()
        for space in both.split()
        if term.startswith(space) and term != space
    )
    return next((f"{prefix}:{term.removeprefix(space)}" for prefix, space in spaces), None)


def _print_rows(
    title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]], right: tuple[int, ...]
) -> None:
    if not rows:
        return
    table = terminal.new_table(*columns, right=right)
    table.title, table.title_justify = terminal.inert(title), "left"
    for row in rows:
        table.add_row(*map(terminal.inert, row))
    terminal.out().print(table)
