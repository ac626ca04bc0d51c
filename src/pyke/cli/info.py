"""`pyke info`: count what RDF files contain."""

from __future__ import annotations

from typing import Any

from pyke.cli import terminal
from pyke.cli.options import READING_SETTINGS, AsJson, Inputs, Settings, with_settings
from pyke.cli.tables import print_table


@with_settings([*READING_SETTINGS, "threads"])
def info(inputs: Inputs, settings: Settings, as_json: AsJson = False) -> None:
    """Count what RDF files contain, without embedding them."""
    config = settings.config()
    from pyke.pipeline import read_census

    with terminal.ShownProgress() as progress:
        census = read_census(inputs, config, progress).as_dict()
    if as_json:
        terminal.print_json(census)
    else:
        show_census(census)


_ONLY_IF_ANY = ("files_passed_over", "features")


def show_census(census: dict[str, Any]) -> None:
    """Print what was read and what was skipped."""
    counted = census["triples"] + census["duplicates"] + census["triple_terms"]
    is_counted = census["statements"] <= counted
    literals = "counted" if is_counted else "as contexts" if census.get("features") else "skipped"
    rows = [
        ("statements", "statements"),
        ("  triples (|G|)", "triples"),
        (f"  triples with literals, {literals}", "literals"),
        ("  duplicates, skipped", "duplicates"),
        ("  triples about triples, skipped", "triple_terms"),
        ("invalid lines, skipped", "errors"),
        ("other files, skipped", "files_passed_over"),
        ("terms (|V|)", "terms"),
        ("  blank nodes", "blank_nodes"),
        ("  predicates", "predicates"),
        ("terms that occur only with literals, skipped", "terms_only_with_literals"),
        ("typed subjects (|S|)", "typed_subjects"),
        ("classes (|C|)", "classes"),
        ("features of literals", "features"),
    ]
    shown = [
        (title, f"{census.get(key, 0):,}")
        for title, key in rows
        if census.get(key) or not (title.startswith(" ") or key in _ONLY_IF_ANY)
    ]
    print_table(("input", "count"), shown, right=(1,))
    terminal.show_skipped(census["first_errors"])
