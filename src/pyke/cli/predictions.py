"""What both `pyke types` and `pyke complete` print: a summary, and the tables of an explanation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyke.cli import terminal
from pyke.cli.messages import counted
from pyke.cli.names import context_text
from pyke.cli.tables import print_table
from pyke.core.text import cut

if TYPE_CHECKING:
    from pyke.core.progress import Progress
    from pyke.use.facts.explain import FactExplanation
    from pyke.use.facts.facts import Facts
    from pyke.use.types.calibration import Like
    from pyke.use.types.explain import Explanation
    from pyke.use.types.predictions import Predictions

MAX_LABEL = 200  # characters in a heading


def check_threshold(min_confidence: float | None, precision: float | None) -> None:
    """Refuse two thresholds, and those that are no shares: before the work."""
    from pyke.errors import UsageError
    from pyke.use.types.predictions import check_selection

    if min_confidence is not None and precision is not None:
        raise UsageError("use either `min_confidence` or `precision`")
    check_selection(0 if min_confidence is None else min_confidence, precision)


def check_alone(
    option: str,
    min_confidence: float | None,
    precision: float | None,
    others: Mapping[str, bool],
) -> None:
    """Refuse thresholds and other options beside one with which they do nothing."""
    from pyke.errors import UsageError

    thresholds = {"min_confidence": min_confidence, "precision": precision}
    is_given = {name: value is not None for name, value in thresholds.items()} | {**others}
    given = [f"`{name}`" for name, value in is_given.items() if value]
    if given:
        verb, them = ("has", "it") if len(given) == 1 else ("have", "them")
        raise UsageError(
            f"{', '.join(given)} {verb} no effect with `{option}`, which prints to the terminal; "
            f"omit {them}"
        )


def is_rdf(output: Path | None) -> bool:
    """Whether an output is an RDF file, and not a table."""
    from pyke.use.types.write import syntax_of

    return output is not None and syntax_of(output) is not None


def write(
    found: Predictions | Facts,
    output: Path | None,
    force: bool,
    progress: Progress,
    sentences: Sequence[str],
) -> None:
    """Write predictions if there is an output. Beside those on standard output, say how many."""
    if output:
        found.write(output, force)
    if str(output) == "-":
        progress.note("\n".join(sentences))


def show(
    found: Predictions | Facts, output: Path | None, as_json: bool, tables: Callable[[], None]
) -> None:
    """Print JSON or tables, unless the predictions are on standard output."""
    if str(output) == "-":
        return
    if as_json:
        written: dict[str, Any] = {"output": output and str(output)}
        if is_rdf(output):
            written["expected_precision_in_rdf"] = found.expected_precision(for_rdf=True)
        terminal.print_json(written | found.as_dict())
    else:
        tables()


def summary(found: Predictions | Facts, output: Path | None, noun: str, examined: str) -> list[str]:
    """Sentences about what was predicted, written and skipped."""
    for_rdf = is_rdf(output)
    skipped = found.not_in_rdf if for_rdf else 0
    what = counted(len(found) - skipped, noun)
    to_file = output and str(output) != "-"
    line = f"Wrote {what} to {output}." if to_file else f"Predicted {what}."
    line += f" {examined} examined."
    lines, unmeasured = [line], int((~found.measured).sum())
    if (expected := found.expected_precision(for_rdf)) is not None:
        lines[0] += f" Expected precision: {expected:.1%}."
    if unmeasured:
        without = f"{counted(unmeasured, noun)} {_was(unmeasured)} not measured"
        lines.append(f"{without}: the expected precision excludes them. Check them by hand.")
    if skipped:
        without = f"{counted(skipped, noun)} {_was(skipped)} skipped"
        lines.append(f"{without}: RDF files cannot name blank nodes or invalid IRIs. Tables can.")
    return lines


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def heading(label: str | None, term: str) -> str:
    """The label and the IRI of an explained term; long labels are cut. Blank nodes have no IRI."""
    name = term if term.startswith("_:") else f"<{term}>"
    return f"{cut(label or '', MAX_LABEL)} {name}".strip()


def measured(alike: Sequence[Like], *names: str) -> str:
    """Measured predictions that a confidence comes from, the most similar ones first."""
    if not any(one.made for one in alike):
        return "not measured"
    counts = (f"{one.right:,} of {one.made:,}" for one in reversed(alike))
    return "; ".join(f"{count} {name}" for count, name in zip(counts, names, strict=True))


def confidence_text(confidence: float, alike: Sequence[Like]) -> str:
    """A confidence; none if nothing at all was measured."""
    return f"{confidence:.3f}" if any(one.made for one in alike) else "–"


def show_neighbours(
    found: Explanation | FactExplanation, names: Mapping[str, str], kind: str, votes_for: str
) -> None:
    """Print the neighbours of an explanation, and what they share with the term."""
    voters = [
        (
            names[one.term],
            f"{one.distance:.3f}",
            f"{one.overlap:.2f}",
            f"{one.weight:.3f}",
            str(one.shared),
            ", ".join(names[term] for term in one.types),
        )
        for one in found.voters
        if one.overlap
    ]
    title = f"Voters: nearest {kind} that share a predicate, on the same side"
    headers = ("neighbour", "distance", "overlap", "weight", "shared", votes_for)
    print_table(headers, voters, right=(1, 2, 3, 4), title=title)
    if others := len(found.voters) - len(voters):
        share = "shares" if others == 1 else "share"
        terminal.say(f"{counted(others, 'other near subject')} {share} no predicate.\n", dim=True)
    shared = [(context_text(one, names), str(one.voters), f"{one.terms:,}") for one in found.shared]
    title = "What it shares with them, the most specific first"
    print_table(("shared", "neighbours", "terms that have it"), shared, right=(1, 2), title=title)


def labels_in(found: Explanation | FactExplanation) -> dict[str, str | None]:
    """Labels of the neighbours of an explanation, and of all terms that they share or vote for."""
    labels: dict[str, str | None] = {term: None for one in found.voters for term in one.types}
    labels |= {one.term: one.label for one in found.voters}
    labels |= {one.other: one.label for one in found.shared if one.other is not None}
    return labels | {one.predicate: None for one in found.shared}
