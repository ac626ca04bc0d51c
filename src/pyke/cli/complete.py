"""`pyke complete`: predict missing facts."""

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
    from pyke.use.facts.explain import Candidate, FactExplanation
    from pyke.use.facts.facts import Facts

MIN_CONFIDENCE = 0.9
SHOWN_PREDICATES = 20
SHOWN_CANDIDATES = 10


_Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Write the facts as .nt, as .ttl or .trig with confidence, or as a table: "
        ".csv, .tsv, .jsonl, .parquet.",
    ),
]
_Predicates = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Only this predicate; repeat the option for more. [all]"),
]
_MinConfidence = Annotated[
    float | None, typer.Option(help="Skip facts with a lower confidence. [0.9]")
]
_Precision = Annotated[
    float | None,
    typer.Option(help="Instead: the most facts with this expected precision."),
]
_Mu = Annotated[
    int | None, typer.Option(help="Number of neighbours that vote (μ). [20, if there are as many]")
]
_Unmeasured = Annotated[
    bool,
    typer.Option(
        "--unmeasured",
        help="Also predict facts of predicates whose precision could not be measured.",
    ),
]
_Explain = Annotated[
    str | None, typer.Option(metavar="TERM", help="Explain the predicted facts of one term.")
]
_Suggest = Annotated[
    str | None,
    typer.Option(
        metavar="TERM", help="List the predicates that a term lacks but similar terms have."
    ),
]
_Exact = Annotated[bool, typer.Option("--exact", help="Exact neighbours, also on large graphs.")]


def complete(
    directory: Directory,
    output: _Output = None,
    predicates: _Predicates = None,
    min_confidence: _MinConfidence = None,
    precision: _Precision = None,
    unmeasured: _Unmeasured = False,
    mu: _Mu = None,
    explain: _Explain = None,
    suggest: _Suggest = None,
    prefix: Prefixes = None,
    exact: _Exact = False,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Predict facts that entities lack but similar entities have, and write them as RDF."""
    from pyke.embedding.embedding import load
    from pyke.embedding.lookup import parse_prefixes
    from pyke.use.facts.complete import complete as predict
    from pyke.use.types.write import check_target

    predictions.check_threshold(min_confidence, precision)
    others = {"unmeasured": unmeasured, "exact": exact, "force": force, "output": bool(output)}
    if explain:
        others["suggest"] = bool(suggest)
        predictions.check_alone("explain", min_confidence, precision, others)
    elif suggest:
        others["predicates"] = bool(predicates)
        predictions.check_alone("suggest", min_confidence, precision, others)
    embedding = load(directory)
    prefixes = parse_prefixes(prefix or [])
    names = _names_of(embedding, predicates or None, prefixes)
    if asked := explain or suggest:
        term = _written(embedding, embedding.lookup(prefixes).find(asked))
        if suggest:
            _suggest(embedding, term, mu, threads, as_json)
        else:
            _explain(embedding, term, names, mu, threads, as_json)
        return
    if output:  # before the work
        check_target(output, force)
    with terminal.ShownProgress() as progress:
        found = predict(
            embedding,
            names,
            mu=mu,
            min_confidence=0,
            unmeasured=True,
            exact=exact or None,
            threads=threads,
            progress=progress,
        ).select(
            MIN_CONFIDENCE if min_confidence is None else min_confidence,
            precision,
            unmeasured,
            predictions.is_rdf(output),
        )
        predictions.write(found, output, force, progress, _sentences(found, output))
    predictions.show(found, output, as_json, lambda: _show(found, output))


def _names_of(
    embedding: Embedding, predicates: list[str] | None, prefixes: dict[str, str]
) -> list[str] | None:
    """The names of predicates that only they have; None for all."""
    from pyke.use.facts.complete import find_predicates

    chosen = find_predicates(embedding, predicates, prefixes)
    return None if chosen is None else [_written(embedding, one) for one in chosen]


def _written(embedding: Embedding, term: int) -> str:
    """The name of a term that only this term has."""
    text = embedding.terms[term]
    return text if text.startswith("_:") else f"<{text}>"


def _show(found: Facts, output: Path | None) -> None:
    every = found.by_predicate()
    names = short_names({one.predicate: one.label for one in every})
    offered = [one for one in every if one.facts]
    rows = [
        (
            names[one.predicate],
            f"{one.lacking:,}",
            _share(one.precision),
            _share(one.recall),
            f"{one.facts:,}",
        )
        for one in offered
    ]
    title = f"Facts with a confidence of {found.min_confidence:.2f} and more"
    columns = ("predicate", "missing", "precision", "recall", "facts")
    _print_some(columns, rows, right=(1, 2, 3, 4), title=title)
    if rows:
        terminal.say(
            "missing: entities that lack the predicate, while similar entities have it. Precision "
            "and recall were measured on withheld facts. Whether an entity should have the "
            "predicate at all cannot be measured.\n",
            dim=True,
        )
    others = [
        (names[one.predicate], f"{one.subjects:,}", f"{one.lacking:,}", str(one.reason))
        for one in every
        if not one.facts
    ]
    headers = ("predicate", "subjects", "missing", "reason")
    _print_some(headers, others, right=(1, 2), title="Predicates without facts")
    for line in _sentences(found, output):
        terminal.say(line)


def _print_some(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int], title: str
) -> None:
    """Print the first rows of a table; none if it is empty."""
    if rows:
        print_table(columns, rows[:SHOWN_PREDICATES], right=right, title=title)
    if len(rows) > SHOWN_PREDICATES:
        more = counted(len(rows) - SHOWN_PREDICATES, "more predicate")
        terminal.say(f"{more}: see --json.\n", dim=True)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _sentences(found: Facts, output: Path | None) -> list[str]:
    are = "entity was" if found.entities == 1 else "entities were"
    lines = predictions.summary(found, output, "fact", f"{found.entities:,} {are}")
    if not len(found):
        lines[0] += " No fact reached the confidence."
    return lines


def _suggest(
    embedding: Embedding, term: str, mu: int | None, threads: int | None, as_json: bool
) -> None:
    from pyke.use.facts.suggest import suggest

    with terminal.ShownProgress() as progress:
        found = suggest(embedding, term, mu=mu, threads=threads, progress=progress)
    if as_json:
        terminal.print_json(found.as_dict())
        return
    terminal.say(predictions.heading(found.label, found.term))
    if not found.predicates:
        terminal.say(
            "No suggestion: of the predicates that it lacks, none is frequent among its nearest "
            "entities."
        )
        return
    names = short_names({one.predicate: one.label for one in found.predicates})
    rows = [
        (names[one.predicate], f"{one.votes} of {found.mu}", f"{one.likelihood:.3f}")
        for one in found.predicates
    ]
    title = "Predicates that it lacks"
    print_table(
        ("predicate", "similar entities with it", "likelihood"), rows, right=(1, 2), title=title
    )
    terminal.say(
        "likelihood: the measured share of entities with such neighbours that have the predicate "
        "in the graph.",
        dim=True,
    )


def _explain(
    embedding: Embedding,
    term: str,
    predicates: list[str] | None,
    mu: int | None,
    threads: int | None,
    as_json: bool,
) -> None:
    from pyke.use.facts.explain import explain_facts
    from pyke.use.facts.trial import MIN_LIKELIHOOD

    with terminal.ShownProgress() as progress:
        found = explain_facts(
            embedding, term, predicates, mu=mu, threads=threads, progress=progress
        )
    if as_json:
        terminal.print_json([one.as_dict() for one in found])
        return
    if not found:
        terminal.say(
            "No prediction: each predicate that it lacks is too rare among similar entities "
            f"(likelihood below {MIN_LIKELIHOOD:g}), or cannot be predicted. --suggest lists them; "
            "--predicates explains one anyway."
        )
    for one in found:
        _show_explanation(one)


def _show_explanation(found: FactExplanation) -> None:
    names = _names_in(found)
    terminal.say(f"{predictions.heading(found.label, found.term)} {names[found.predicate]}")
    if found.likelihood is not None:
        terminal.say(
            f"{found.likelihood:.1%} of the entities similar to it have {names[found.predicate]}."
        )
    candidates = [
        (
            names[one.object],
            f"{one.votes} of {len(found.voters)}",
            "" if one.link is None else f"{_link(one, names)} ({one.link.strength:.3f})",
            predictions.confidence_text(one.confidence, one.alike),
            "stated in the graph"
            if one.stated
            else predictions.measured(one.alike, "same object", "same predicate", "all"),
        )
        for one in found.candidates[:SHOWN_CANDIDATES]
    ]
    headers = (
        "object",
        "votes",
        "link (strength)",
        "confidence",
        "correct among similar predictions",
    )
    print_table(headers, candidates, right=(1, 3), title="Objects")
    predictions.show_neighbours(found, names, "subjects", "objects")


def _link(candidate: Candidate, names: Mapping[str, str]) -> str:
    link = candidate.link
    if link is None:
        return ""
    name = names[link.predicate]
    return f"{name} → it" if link.is_subject else f"it → {name}"


def _names_in(found: FactExplanation) -> dict[str, str]:
    """Short names of all terms in an explanation."""
    labels = predictions.labels_in(found) | {one.object: one.label for one in found.candidates}
    labels[found.term] = found.label  # an object with the same label is another term
    labels |= {one.link.predicate: None for one in found.candidates if one.link}
    return short_names(labels | {found.predicate: found.predicate_label})
