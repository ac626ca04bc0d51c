"""`pyke types`: predict missing types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyke.cli import predictions, terminal
from pyke.cli.messages import counted
from pyke.cli.names import short_names
from pyke.cli.options import AsJson, Directory, Force, Prefixes, Threads
from pyke.cli.tables import print_table

if TYPE_CHECKING:
    from pyke.embedding.embedding import Embedding
    from pyke.use.types.explain import Explanation
    from pyke.use.types.predictions import Predictions, Unmeasured

MIN_CONFIDENCE = 0.8
SHOWN_CLASSES = 20
SHOWN_GROUPS = 8  # reasons why terms are not measured


_Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Write the types as .nt, as .ttl or .trig with confidence, or as a table: "
        ".csv, .tsv, .jsonl, .parquet.",
    ),
]
_MinConfidence = Annotated[
    float | None, typer.Option(help="Skip predictions with a lower confidence. [0.8]")
]
_Precision = Annotated[
    float | None,
    typer.Option(help="Instead: the most predictions with this expected precision."),
]
_OnlyUntyped = Annotated[
    bool,
    typer.Option(
        "--only-untyped/--also-typed",
        help="Predict types of untyped subjects, or further types of typed ones too.",
    ),
]
_Mu = Annotated[
    int | None, typer.Option(help="Number of neighbours that vote (μ). [30, if there are as many]")
]
_Unmeasured = Annotated[
    bool,
    typer.Option(
        "--unmeasured",
        help="Also predict types of terms that are unlike all typed subjects.",
    ),
]
_Explain = Annotated[
    str | None,
    typer.Option(metavar="TERM", help="Explain the predicted types of one term."),
]
_Report = Annotated[
    Path | None,
    typer.Option(help="Write the measured precision to .html, .png, .svg or .pdf."),
]
_Exact = Annotated[bool, typer.Option("--exact", help="Exact neighbours, also on large graphs.")]


def types(
    directory: Directory,
    output: _Output = None,
    min_confidence: _MinConfidence = None,
    precision: _Precision = None,
    only_untyped: _OnlyUntyped = True,
    unmeasured: _Unmeasured = False,
    mu: _Mu = None,
    explain: _Explain = None,
    prefix: Prefixes = None,
    report: _Report = None,
    exact: _Exact = False,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Predict missing types, each with a measured confidence, and write them as RDF."""
    from pyke.embedding.embedding import load
    from pyke.errors import UsageError

    predictions.check_threshold(min_confidence, precision)
    if explain is not None:
        others = {"also_typed": not only_untyped, "unmeasured": unmeasured, "exact": exact}
        others |= {"force": force, "output": bool(output), "report": bool(report)}
        predictions.check_alone("explain", min_confidence, precision, others)
        _explain(load(directory), explain, prefix or [], mu, threads, as_json)
        return
    if prefix:
        raise UsageError("`prefix` is for names in `explain`; omit it")
    from pyke.use.reports import check_report
    from pyke.use.types.predict import predict_types
    from pyke.use.types.write import check_target

    if output:  # before the work
        check_target(output, force)
    if report:
        check_report(report, force)
    with terminal.ShownProgress() as progress:
        found = predict_types(
            load(directory),
            mu=mu,
            min_confidence=0,
            unmeasured=True,
            only_untyped=only_untyped,
            exact=exact or None,
            threads=threads,
            progress=progress,
        ).select(
            MIN_CONFIDENCE if min_confidence is None else min_confidence,
            precision,
            unmeasured,
            predictions.is_rdf(output),
        )
        sentences = _sentences(found, output, unmeasured)
        predictions.write(found, output, force, progress, sentences)
    predictions.show(found, output, as_json, lambda: _show(found, sentences, unmeasured))
    if report:  # after the rest is printed: a full disk must not lose it
        _write_report(found, report, f"Predicted types of {directory.name}")
        if not (as_json or str(output) == "-"):
            terminal.say(f"Wrote the measured precision to {report}.")


def _write_report(found: Predictions, report: Path, title: str) -> None:
    from pyke.use.reports import write_report
    from pyke.use.types.report import reliability_figure, reliability_table

    table, figure = reliability_table(found.calibration), reliability_figure(found.calibration)
    write_report(report, title, [table], figure)


def _show(found: Predictions, sentences: Sequence[str], unmeasured: bool) -> None:
    from pyke.use.types.report import reliability_table

    if found.calibration.measured.subjects:
        terminal.show_tables([reliability_table(found.calibration)])
    classes = found.by_class()
    labels = {one.type: one.label for one in classes}
    names = short_names(labels | {one.example: one.example_label for one in classes})
    rows = [
        (
            names[one.type],
            f"{one.predictions:,}",
            *([f"{one.measured:,}"] if unmeasured else []),
            "–" if one.expected_right is None else f"{one.expected_right:.3f}",
            names[one.example],
        )
        for one in classes[:SHOWN_CLASSES]
    ]
    if rows:
        measured = ("measured", "their expected precision")
        numbers = ("predictions", *(measured if unmeasured else ("expected precision",)))
        columns, right = ("type", *numbers, "example"), range(1, 1 + len(numbers))
        print_table(columns, rows, right=right, title="Predicted types")
    if len(classes) > SHOWN_CLASSES:
        more = counted(len(classes) - SHOWN_CLASSES, "more type")
        terminal.say(f"{more}: see --json.\n", dim=True)
    _show_not_measured(found, unmeasured)
    for line in sentences:
        terminal.say(line)


def _show_not_measured(found: Predictions, unmeasured: bool) -> None:
    """Terms that are unlike all typed subjects, by the reason."""
    groups = found.not_measured()
    names = short_names({predicate: None for one in groups for predicate, _ in one.roles})
    rows = [(f"{one.terms:,}", _reason(one, names), one.example) for one in groups[:SHOWN_GROUPS]]
    if len(groups) > SHOWN_GROUPS:
        rest = groups[SHOWN_GROUPS:]
        terms = sum(one.terms for one in rest)
        other = "another reason" if len(rest) == 1 else f"{len(rest):,} other reasons: see --json"
        rows.append((f"{terms:,}", other, rest[0].example))
    if rows:
        hint = "" if unmeasured else " --unmeasured predicts them if it can."
        title = f"Not measured: unlike nearly all typed subjects.{hint}"
        print_table(("terms", "reason", "example"), rows, right=(0,), title=title)


def _reason(group: Unmeasured, names: Mapping[str, str]) -> str:
    from pyke.use.types.kinds import MIN_ALIKE

    if group.namespace is not None:
        return f"nearly all untyped: {group.namespace}"
    sides = [
        f"{names[p]} → …" if is_subject else f"… → {names[p]}" for p, is_subject in group.roles
    ]
    return f"fewer than {MIN_ALIKE} typed subjects alike: {' and '.join(sides)}"


def _sentences(found: Predictions, output: Path | None, unmeasured: bool) -> list[str]:
    examined = f"{counted(found.asked, 'subject')} {'was' if found.asked == 1 else 'were'}"
    lines = predictions.summary(found, output, "type", examined)
    if not found.asked:
        lines[0] = (
            f"Nothing to predict: all {len(found.embedding.entities):,} entities have a type. "
            "Use --also-typed to predict further types."
        ) + (f" Wrote {output} without predictions." if output and str(output) != "-" else "")
    if not len(found) and found.asked > found.without_voters:
        lines[0] += " No prediction reached the confidence."
        if unmeasured and not found.calibration.measured.subjects:
            lines[0] += " Nothing could be measured; --min-confidence 0 keeps all predictions."
    if found.without_voters:
        share = "shares" if found.without_voters == 1 else "share"
        lines.append(
            f"{counted(found.without_voters, 'subject')} {share} no predicate with a typed "
            "neighbour."
        )
    if found.of_typed:
        lines.append(
            f"{found.of_typed:,} predictions are for subjects that already have a type; "
            "their confidence is not calibrated."
        )
    if not found.exact:
        lines.append(f"Neighbours are approximate: recall {found.recall:.3f}. Use --exact for all.")
    return lines


def _explain(
    embedding: Embedding,
    name: str,
    prefixes: list[str],
    mu: int | None,
    threads: int | None,
    as_json: bool,
) -> None:
    from pyke.embedding.lookup import parse_prefixes
    from pyke.use.types.explain import explain

    term = embedding.terms[embedding.lookup(parse_prefixes(prefixes)).find(name)]
    with terminal.ShownProgress() as progress:
        found = explain(embedding, f"<{term}>", mu, threads=threads, progress=progress)
    if as_json:
        terminal.print_json(found.as_dict())
    else:
        _show_explanation(found)


def _show_explanation(found: Explanation) -> None:
    names = _names_in(found)
    terminal.say(predictions.heading(found.label, found.term))
    if not found.votes:
        terminal.say(f"No prediction: {_NO_VOTES.get(found.status, _NO_SHARED_ROLE)}")
        return
    votes = [
        (
            names[vote.type],
            f"{vote.votes} of {len(found.voters)}",
            f"{vote.share:.3f}",
            predictions.confidence_text(vote.confidence, vote.alike),
            "stated in the graph"
            if vote.stated
            else predictions.measured(vote.alike, "same kind", "same class", "all"),
        )
        for vote in found.votes
    ]
    headers = ("type", "votes", "share", "confidence", "correct among similar predictions")
    print_table(headers, votes, right=(1, 2, 3), title="Votes")
    if found.status != "measured":
        terminal.say(f"{_NOT_MEASURED[found.status]}, so the confidence was not measured for it.\n")
    predictions.show_neighbours(found, names, "typed neighbours", "types")


_NO_SHARED_ROLE = "none of its nearest neighbours shares a predicate with it."
_NO_VOTES = {"no evidence": "only its types are known, or what it has in common with all terms."}
_NOT_MEASURED = {
    "new namespace": "Hardly any entity of its namespace has a type",
    "no twins": "Too few typed subjects with its predicates are in namespaces as large as its own",
}


def _names_in(found: Explanation) -> dict[str, str]:
    """Short names of all terms in an explanation."""
    return short_names(
        predictions.labels_in(found) | {vote.type: vote.label for vote in found.votes}
    )
