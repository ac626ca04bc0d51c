"""Missing types."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyke import terminal
from pyke.cli.options import AsJson, Directory, Force, Threads, app

if TYPE_CHECKING:
    from pyke.explanation import Explanation
    from pyke.predictions import Predictions

SHOWN = 10  # predictions, as a sample


@app.command()
def types(
    directory: Directory,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write them: .nt; .ttl or .trig with confidence; or .csv, .tsv, .jsonl, .parquet.")
    ] = None,
    min_confidence: Annotated[float, typer.Option(help="Leave out predictions that are less likely to be right.")] = 0.8,
    precision: Annotated[float | None, typer.Option(help="Instead: as many predictions as there can be, this part of them right.")] = None,
    only_untyped: Annotated[
        bool, typer.Option("--only-untyped/--also-typed", help="Ask subjects without a type only, or those with types for further ones.")
    ] = True,
    mu: Annotated[int, typer.Option(help="Neighbours that vote.")] = 10,
    explain: Annotated[
        str | None, typer.Option(metavar="TERM", help="Tell which neighbours and what in common speak for the types of a term.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write how often predictions are right to .html, or the figure to .png, .svg or .pdf.")] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Exact neighbours, however many points there are.")] = False,
    threads: Threads = None,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Predict missing types, each with the chance that it is right, and write them as RDF."""
    from pyke.embedding import load

    embedding = load(directory)
    if explain is not None:
        from pyke.explanation import explain as tell

        _show_explanation(tell(embedding, explain, mu), json_)
        return
    from pyke.prediction import predict_types
    from pyke.predictions import check_target
    from pyke.reports import check_report

    if output:  # before the work
        check_target(output, force)
    if report:
        check_report(report)
    with terminal.Shown() as progress:
        found = predict_types(
            embedding, mu=mu, min_confidence=min_confidence, precision=precision, only_untyped=only_untyped, exact=exact or None, threads=threads,
            progress=progress,
        )  # fmt: skip
    if output:
        found.write(output, force)
    if json_:
        terminal.print_json({"output": output and str(output), **found.as_dict()})
    else:
        _show(found, output)
    if report:
        from pyke.calibration import reliability_figure, reliability_table
        from pyke.reports import write_report

        write_report(report, f"Predicted types of {directory.name}", [reliability_table(found.calibration)], reliability_figure(found.calibration))


def _show(found: Predictions, output: Path | None) -> None:
    from pyke.calibration import reliability_table

    terminal.show_tables([reliability_table(found.calibration)])
    table = terminal.new_table("subject", "predicted type", "votes", "confidence", right=(2, 3))
    for prediction in found.surest(SHOWN):
        names = (prediction.label or prediction.term, prediction.type_label or prediction.type)
        table.add_row(*map(terminal.inert, names), f"{prediction.votes} of {found.calibration.mu}", f"{prediction.confidence:.3f}")
    if len(found):
        terminal.out().print(table)
    lines = [
        f"{len(found):,} types of {found.predicted_subjects:,} subjects{f' in {output}' if output else ''}; {found.asked:,} were asked. "
        + (f"{found.expected_right:.1%} of them should be right." if len(found) else "None was confident enough.")
    ]
    if found.without_voters:
        lines.append(f"Of {found.without_voters:,} nothing can be said: no typed neighbour has a predicate in common with them.")
    if output and found.blank_nodes:
        lines.append(f"{found.blank_nodes:,} are of blank nodes, which another RDF file cannot name: they are in tables only.")
    if not found.exact:
        lines.append(f"Neighbours were found by an index, with a recall of {found.recall:.3f}; --exact finds them all.")
    for line in lines:
        terminal.out().print(terminal.inert(line), highlight=False)


def _show_explanation(found: Explanation, json_: bool) -> None:
    if json_:
        terminal.print_json(found.as_dict())
        return
    _print_rows(f"{found.label or ''} <{found.term}>".strip(), ("class", "votes", ""), [
        (vote.label or vote.type, f"{vote.votes} of {len(found.voters)}", "stated in the graph" if vote.stated else "") for vote in found.votes
    ])  # fmt: skip
    _print_rows("its nearest typed neighbours; those with something in common vote", ("neighbour", "distance", "in common", "types"), [
        (voter.label or voter.term, f"{voter.distance:.3f}", str(voter.shared), ", ".join(voter.types)) for voter in found.voters
    ])  # fmt: skip
    _print_rows("what it has in common with them, the most telling first", ("in common", "voters", "terms that have it"), [
        (_in_words(shared), str(shared.voters), f"{shared.terms:,}") for shared in found.shared
    ])  # fmt: skip


def _in_words(shared: Any) -> str:
    other = "…" if shared.other is None else shared.label or shared.other
    return f"{shared.predicate} → {other}" if shared.is_subject else f"{other} → {shared.predicate}"


def _print_rows(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    table = terminal.new_table(*columns, right=(1,))
    table.title, table.title_justify = terminal.inert(title), "left"
    for row in rows:
        table.add_row(*map(terminal.inert, row))
    terminal.out().print(table)
